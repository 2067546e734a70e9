/* Proves: a quoted word comes back from a shell as it was, and the command of a rank is found in
 * launch lines. */
#include "command_line.h"

#include <stdint.h>

#include "test_files.h"

static void test_words(void) {
    static const char *const words[] = {
        "plain-1.2/3",  "",      "two words", "it's",   "$HOME `id` $(id)",
        "a\\b\"c",      "~",     "#no",       "a*?[x]", "line\nline",
        "(a);b&c|d<e>", "{a,b}", "''",        "\t",     "é"};
    AUTO_TEXT line = copy_text("printf %s.");
    AUTO_TEXT wanted = copy_text("");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        command_line_add(&line, words[i]);
        char *longer = format_text("%s%s.", wanted, words[i]);
        free(wanted);
        wanted = longer;
    }
    char got[400] = "";
    FILE *shell = popen(line, "r");
    size_t n = shell ? fread(got, 1, sizeof got - 1, shell) : 0;
    CHECK(shell && pclose(shell) == 0 && n == strlen(wanted) && strcmp(got, wanted) == 0,
          "%s gave:\n%s\nnot:\n%s", line, got, wanted);
    AUTO_TEXT plain = command_line_word("--plan=a/b.yaml");
    CHECK(strcmp(plain, "--plan=a/b.yaml") == 0, "quoted without need: %s", plain);
}

static void test_launch_lines(void) {
    static const struct {
        char *argv[7], *rank;
    } lines[] = {
        {{"mpirun", "-np", "2", "holdpoint", "rank", "./app", NULL}, "./app"},
        {{"srun", "/opt/bin/holdpoint-rank", "./app", "x", NULL}, "./app"},
        {{"srun", "holdpoint-rank", "--", "./app", NULL}, "./app"},
        {{"./app", "rank", "holdpoint", NULL}, NULL},
        {{"holdpoint", "rank", "./app", NULL}, NULL}, /* a rank by itself launches none */
        {{"./app", NULL}, NULL},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char **found = command_line_of_rank((char **)(uintptr_t)lines[i].argv);
        const char *name = found ? *found : NULL;
        CHECK(name == lines[i].rank || (name && lines[i].rank && !strcmp(name, lines[i].rank)),
              "line %zu: found %s", i, name ? name : "none");
    }
}

int main(void) {
    test_words();
    test_launch_lines();
    if (!test_failures)
        puts("command_line: words through a shell, ranks in launch lines");
    return test_failures != 0;
}
