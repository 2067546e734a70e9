/* Proves: what each launcher is started with: the rank's number, the board, a TMPDIR of its own,
 * and never LD_PRELOAD in a launcher's own environment.
 */
#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"

static int failures;
static char folder[] = "/tmp/holdpoint-test.XXXXXX";

static void expect(bool good, const char *what) {
    if (!good) {
        printf("launch: %s\n", what);
        failures++;
    }
}

static const char *value_of(char **env, const char *name) {
    size_t n = strlen(name);
    for (; *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

static bool has_pair(char **argv, const char *first, const char *second) {
    for (; *argv && argv[1]; argv++)
        if (strcmp(*argv, first) == 0 && strcmp(argv[1], second) == 0)
            return true;
    return false;
}

static bool is_value(char **env, const char *name, const char *wanted) {
    const char *value = value_of(env, name);
    return value && wanted && strcmp(value, wanted) == 0;
}

static void versions(void) {
    expect(launch_open_mpi_version("mpirun (Open MPI) 4.1.4") == 401, "4.1.4 is not understood");
    expect(launch_open_mpi_version("mpirun (Open MPI) 5.0.7rc1") == 500,
           "5.0.7rc1 is not understood");
    expect(launch_open_mpi_version("HYDRA build details:") == 0, "MPICH is taken for Open MPI");
    expect(launch_open_mpi_version(NULL) == 0, "no mpirun is taken for Open MPI");
}

static void local(struct trial *t) {
    struct launch l;
    char problem[400] = "";
    t->launcher = LAUNCHER_LOCAL;
    if (!launch_prepare(t, &l, problem, sizeof problem)) {
        expect(false, problem);
        launch_free(&l);
        return;
    }
    AUTO_TEXT board = format_text("%s/board", folder);
    expect(l.n == 3, "not one command a rank");
    for (int i = 0; i < l.n; i++) {
        AUTO_TEXT rank = format_text("%d", i);
        expect(l.command[i].rank == i && is_value(l.command[i].env, "HOLDPOINT_RANK", rank),
               "a rank does not get its number");
        expect(is_value(l.command[i].env, "HOLDPOINT_BOARD", board),
               "a rank does not get the board");
        expect(is_value(l.command[i].env, "TMPDIR", l.temp_dir), "a rank has no TMPDIR of its own");
        expect(!value_of(l.command[i].env, "HOLDPOINT_SLOT"), "a stale slot is passed on");
        expect(strcmp(l.command[i].argv[1], "--") == 0 &&
                   strcmp(l.command[i].argv[2], "./app") == 0 && !l.command[i].argv[4],
               "the command is another");
    }
    launch_free(&l);
}

static void by_mpirun(struct trial *t) {
    struct launch l;
    char problem[400] = "";
    t->launcher = LAUNCHER_MPIRUN;
    setenv("LD_PRELOAD", "", 1); /* the user's; empty, so that the test itself can go on */
    if (!launch_prepare(t, &l, problem, sizeof problem)) {
        expect(strstr(problem, "mpirun"), problem);
        printf("launch: skipped: mpirun: %s\n", problem);
        launch_free(&l);
        return;
    }
    char **argv = l.command[0].argv, **env = l.command[0].env;
    expect(l.n == 1 && strcmp(argv[0], "mpirun") == 0 && has_pair(argv, "-np", "3"),
           "mpirun is not asked for the ranks");
    expect(has_pair(argv, "-x", "HOLDPOINT_BOARD"), "mpirun does not pass the board on");
    expect(!value_of(env, "LD_PRELOAD") && has_pair(argv, "-x", "LD_PRELOAD="),
           "LD_PRELOAD is in mpirun's environment, or not in the ranks'");
    if (geteuid() == 0)
        expect(is_value(env, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1") &&
                   is_value(env, "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
               "root is not confirmed");
    unsetenv("LD_PRELOAD");
    launch_free(&l);
}

static void by_user(struct trial *t) {
    struct launch l;
    char problem[400] = "";
    t->launcher = LAUNCHER_USER;
    expect(launch_prepare(t, &l, problem, sizeof problem), problem);
    char own[4096] = "";
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    expect(n > 0, "this program has no path");
    *strrchr(own, '/') = '\0';
    const char *path = value_of(l.command[0].env, "PATH");
    expect(path && strncmp(path, own, strlen(own)) == 0 && path[strlen(own)] == ':',
           "holdpoint is not found by PATH");
    expect(l.n == 1 && strcmp(l.command[0].argv[0], "./app") == 0 && !l.command[0].argv[2],
           "the user's own line is changed");
    expect(value_of(l.command[0].env, "HOLDPOINT_BOARD") != NULL, "the board is not passed");
    launch_free(&l);
}

/* A component that is a sanitized library needs its runtime first in a program that is not
 * sanitized. */
static void sanitized_component(struct trial *t) {
    struct launch l;
    char problem[400] = "";
    AUTO_TEXT library = format_text("%s/l.so", folder);
    AUTO_TEXT command =
        format_text("echo 'int f;' | gcc -shared -fPIC -fsanitize=address -x c - -o '%s'", library);
    if (system(command) != 0) {
        expect(false, "the test's library cannot be built");
        return;
    }
    t->launcher = LAUNCHER_LOCAL;
    t->component_file = library;
    expect(launch_prepare(t, &l, problem, sizeof problem), problem);
    const char *runtime = l.n ? value_of(l.command[0].env, "HOLDPOINT_RUNTIME") : NULL;
    expect(runtime && *runtime == '/' && strstr(runtime, "libasan.so"),
           "the component's sanitizer runtime is not arranged");
    t->component_file = NULL;
    launch_free(&l);
}

int main(void) {
    char *argv[] = {"./app", "argument", NULL};
    struct trial t = {.dir = folder, .argv = argv, .ranks = 3};
    if (!mkdtemp(folder))
        return 1;
    AUTO_TEXT board = format_text("%s/board", folder);
    fclose(fopen(board, "w"));
    setenv("HOLDPOINT_SLOT", "9", 1);
    versions();
    local(&t);
    by_mpirun(&t);
    by_user(&t);
    sanitized_component(&t);
    AUTO_TEXT command = format_text("rm -rf '%s'", folder);
    if (system(command) != 0)
        failures++;
    printf("launch: versions, local, mpirun, the user's own line: %s\n",
           failures ? "FAILED" : "good");
    return failures != 0;
}
