/* Proves: `holdpoint plan check` ends with 0 on a good plan and 129 on a refused one or wrong
 * usage. What it prints is looked at by the tests of its parts and by the end-to-end tests. */
#include "commands.h"

#include <fcntl.h>

#include "test_files.h"

/* The status of `plan WORDS…`, with its output thrown away. */
static int run(char *const *words) {
    char *argv[8] = {"plan"};
    int argc = 1;
    for (; *words; words++)
        argv[argc++] = *words;
    fflush(NULL);
    int out = dup(1), err = dup(2), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    int status = cmd_plan(argc, argv);
    fflush(NULL);
    dup2(out, 1);
    dup2(err, 2);
    close(out);
    close(err);
    close(nowhere);
    return status;
}
#define RUN(...) run((char *[]){__VA_ARGS__, NULL})

int main(void) {
    char *folder = test_folder();
    AUTO_TEXT good = test_write_text(
        folder, "good.yaml", "plan: a\npoints: {p: {hook: thread.exit}}\nsteps: [pass p]\n");
    AUTO_TEXT bad = test_write_text(folder, "bad.yaml", "plan: a\nsteps: [pass q]\n");
    CHECK(RUN("check", good) == 0, "a good plan");
    CHECK(RUN("check", good, "--ranks", "1") == 0, "a good plan on one rank");
    CHECK(RUN("check", good, "--ranks", "2") == 129, "a gate on two ranks");
    CHECK(RUN("--ranks=2", "check", good) == 129, "the option before the file");
    CHECK(RUN("check", good, "--program", "/bin/cat") == 0, "with a program");
    CHECK(RUN("check", bad) == 129, "a bad plan");
    CHECK(RUN("check", "/nonexistent.yaml") == 129, "no plan");
    CHECK(RUN("--help") == 0, "help");
    CHECK(RUN("check") == 129, "no file");
    CHECK(RUN("chekc", good) == 129, "another word");
    CHECK(RUN("check", good, bad) == 129, "two files");
    CHECK(RUN("check", good, "--ranks", "0") == 129, "no ranks");
    CHECK(RUN("check", good, "--ranks", "2x") == 129, "ranks that are no number");
    CHECK(RUN("check", good, "--ranks") == 129, "an option without its value");
    CHECK(RUN("check", good, "--rnaks", "2") == 129, "an unknown option");
    unlink(good);
    unlink(bad);
    rmdir(folder);
    free(folder);
    if (!test_failures)
        puts("cmd_plan: statuses of good and refused plans and of wrong usage");
    return test_failures != 0;
}
