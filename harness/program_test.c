/* Proves: what kind a program is, and which sanitizer runtime it needs, on programs that the test
 * builds.
 */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;
static char folder[] = "/tmp/holdpoint-test.XXXXXX";

static void run(const char *command) {
    if (system(command) != 0) {
        printf("program: `%s` failed, so the test cannot be made\n", command);
        failures++;
    }
}

static void expect_kind(const char *name, enum program_kind kind, const char *problem) {
    struct program p;
    char sentence[5000] = "";
    program_look(name, &p);
    bool any = program_problem(&p, sentence, sizeof sentence);
    if (p.kind != kind || any != (problem != NULL) || (problem && !strstr(sentence, problem))) {
        printf("program: %s: kind %d, problem \"%s\"; wanted kind %d, \"%s\"\n", name, p.kind,
               sentence, kind, problem ? problem : "");
        failures++;
    }
}

static void expect_runtime(const char *name, const char *part) {
    struct program p;
    char runtime[PATH_MAX];
    program_look(name, &p);
    program_runtime(&p, runtime, sizeof runtime);
    if (*part ? (*runtime != '/' || !strstr(runtime, part)) : *runtime != '\0') {
        printf("program: %s: runtime \"%s\", wanted \"%s\"\n", name, runtime, part);
        failures++;
    }
}

static void expect_interpreter(const char *name, const char *interpreter) {
    struct program p;
    program_look(name, &p);
    if (strcmp(p.interpreter, interpreter) != 0) {
        printf("program: %s: interpreter \"%s\", wanted \"%s\"\n", name, p.interpreter,
               interpreter);
        failures++;
    }
}

static void kinds(void) {
    run("echo 'int main(void) { return 0; }' > p.c && cc p.c -o dynamic");
    run("cc -static p.c -o static && cc -static-pie p.c -o static-pie");
    run("printf '#! /bin/bash -e\\n' > script && chmod +x script");
    run("printf 'true\\n' > no-hash && chmod +x no-hash && echo text > text");
    run("head -c 20 dynamic > short && chmod +x short && cp dynamic other");
    run("printf '\\267\\000' | dd of=other bs=1 seek=18 conv=notrunc status=none"); /* aarch64 */
    expect_kind("./dynamic", PROGRAM_DYNAMIC, NULL);
    expect_kind("true", PROGRAM_DYNAMIC, NULL); /* by PATH */
    expect_kind("./static", PROGRAM_STATIC, "statically linked");
    expect_kind("./static-pie", PROGRAM_STATIC, "statically linked");
    expect_kind("./script", PROGRAM_SCRIPT, NULL);
    expect_kind("./no-hash", PROGRAM_SCRIPT, NULL);
    expect_kind("./text", PROGRAM_NOT_EXECUTABLE, "chmod +x");
    expect_kind("/tmp", PROGRAM_NOT_EXECUTABLE, "not an executable file");
    expect_kind("./short", PROGRAM_OTHER_ARCHITECTURE, "not an x86-64 program");
    expect_kind("./other", PROGRAM_OTHER_ARCHITECTURE, "not an x86-64 program");
    expect_kind("./missing", PROGRAM_MISSING, "does not exist");
    expect_kind("no-such-program-in-path", PROGRAM_MISSING, "does not exist");
    expect_kind("", PROGRAM_MISSING, "does not exist");
    expect_interpreter("./script", "/bin/bash");
    expect_interpreter("./no-hash", "/bin/sh");
    expect_interpreter("./dynamic", "/lib64/ld-linux-x86-64.so.2");
}

/* Only a bit that changes who we are makes the loader ignore LD_PRELOAD. */
static void privileges(void) {
    run("cp dynamic setuid && chmod u+s setuid");
    expect_kind("./setuid", PROGRAM_DYNAMIC, NULL);
    if (geteuid() != 0) {
        printf("program: skipped: a setuid program of somebody else can only be made by root\n");
        return;
    }
    run("chown 65534 setuid && chmod u+s setuid");
    expect_kind("./setuid", PROGRAM_DYNAMIC, "setuid");
}

static void expect_sanitizer(const char *command, const char *sanitizer) {
    struct program p;
    program_look(command, &p);
    const char *found = program_sanitizer(&p);
    if (!found != !sanitizer || (found && strcmp(found, sanitizer) != 0)) {
        printf("program: %s: sanitizer %s, expected %s\n", command, found ? found : "none",
               sanitizer ? sanitizer : "none");
        failures++;
    }
}

static void runtimes(void) {
    run("gcc -fsanitize=address p.c -o asan 2> link.log && gcc -fsanitize=thread p.c -o tsan");
    run("echo 'int f(void) { return 1; }' > l.c && gcc -shared -fPIC -fsanitize=address l.c -o "
        "l.so "
        "&& "
        "echo 'int f(void); int main(void) { return f(); }' > u.c && gcc u.c ./l.so -o user 2> "
        "link.log");
    expect_runtime("./dynamic", "");
    expect_runtime("./asan", "libasan.so");
    expect_runtime("./tsan", "libtsan.so");
    expect_runtime("./l.so", "libasan.so");
    expect_runtime("./user", "libasan.so");
    expect_runtime("./static", "");
    expect_runtime("./script", "");
    expect_sanitizer("./dynamic", NULL);
    expect_sanitizer("./asan", "address");
    expect_sanitizer("./tsan", "thread");
    expect_sanitizer("./user", "address");
    if (system("clang --version > /dev/null 2>&1") != 0) {
        printf("program: skipped: clang's static runtime, as there is no clang\n");
        return;
    }
    struct program p;
    run("clang -fsanitize=address p.c -o clang-asan && clang -fsanitize=thread p.c -o clang-tsan");
    expect_sanitizer("./clang-asan", "address");
    expect_sanitizer("./clang-tsan", "thread");
    expect_runtime("./clang-asan", "");
    program_look("./clang-asan", &p);
    if (!program_has_static_runtime(&p)) {
        printf("program: clang's static runtime is not seen\n");
        failures++;
    }
    program_look("./asan", &p);
    if (program_has_static_runtime(&p)) {
        printf("program: a shared runtime is taken for a static one\n");
        failures++;
    }
}

int main(void) {
    char command[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    kinds();
    privileges();
    runtimes();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (chdir("/") != 0 || system(command) != 0)
        failures++;
    printf("program: kinds, privileges and sanitizer runtimes: %s\n", failures ? "FAILED" : "good");
    return failures != 0;
}
