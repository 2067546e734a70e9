/* Proves: logs are copied whole while they grow, with each line's rank before it, and are closed by
 * an end mark that tells how many bytes were the rank's own.
 */
#include "follow.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"

static int failures;
static char folder[] = "/tmp/holdpoint-test.XXXXXX";

static void append(const char *name, const char *text) {
    AUTO_TEXT path = format_text("%s/%s", folder, name);
    FILE *f = fopen(path, "a");
    fputs(text, f);
    fclose(f);
}

static void expect_file(const char *name, const char *wanted) {
    AUTO_TEXT path = format_text("%s/%s", folder, name);
    char text[4096] = "(none)";
    FILE *f = fopen(path, "r");
    if (f) {
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        fclose(f);
    }
    if (strcmp(text, wanted) != 0) {
        printf("follow: %s is \"%s\", wanted \"%s\"\n", name, text, wanted);
        failures++;
    }
}

/* Our stdout becomes a file, and comes back. */
static int redirect(const char *name) {
    AUTO_TEXT path = format_text("%s/%s", folder, name);
    int old = dup(STDOUT_FILENO), fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    fflush(stdout);
    dup2(fd, STDOUT_FILENO);
    close(fd);
    return old;
}

static void restore(int old) {
    dup2(old, STDOUT_FILENO);
    close(old);
}

static void two_ranks(void) {
    int old = redirect("copy");
    struct follow *f = follow_begin(folder, 2, 1);
    append("rank.0.out", "one\ntw");
    append("launcher.out", "from the launcher\n");
    uint64_t bytes = follow_round(f);
    append("rank.0.out", "o\nthree");
    append("rank.1.out", "");
    follow_end(f);
    restore(old);
    if (bytes != 24) {
        printf("follow: %lu bytes in all, wanted 24\n", (unsigned long)bytes);
        failures++;
    }
    expect_file("copy", "from the launcher\n[rank 0] one\n[rank 0] two\n[rank 0] three");
    expect_file("rank.0.out", "one\ntwo\nthree\n--- holdpoint: end of log, rank 0, 13 bytes ---\n");
    expect_file("rank.1.out", "--- holdpoint: end of log, rank 1, 0 bytes ---\n");
    expect_file("launcher.out", "from the launcher\n");
    expect_file("rank.1.err", "(none)"); /* a log that was never opened is not made complete */
}

static void one_rank(void) {
    int old = redirect("copy");
    append("rank.0.out", "plain\n");
    struct follow *f = follow_begin(folder, 1, 1);
    follow_end(f);
    restore(old);
    expect_file("copy", "plain\n");
    old = redirect("copy");
    f = follow_begin(folder, 1, 0);
    follow_end(f);
    restore(old);
    expect_file("copy", "");
}

static void remove_folder(void) {
    AUTO_TEXT command = format_text("rm -rf '%s'", folder);
    if (system(command) != 0)
        failures++;
}

int main(void) {
    if (!mkdtemp(folder))
        return 1;
    two_ranks();
    remove_folder();
    if (!mkdtemp(strcpy(folder, "/tmp/holdpoint-test.XXXXXX")))
        return 1;
    one_rank();
    remove_folder();
    printf("follow: copies, prefixes and end marks: %s\n", failures ? "FAILED" : "good");
    return failures != 0;
}
