/* How a trial's ranks are launched. Runs in the runner, before the guard is forked.
 * May not put LD_PRELOAD into a launcher's environment: it is set for the ranks only.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"
#include "leftovers.h"
#include "parts.h"
#include "program.h"

extern char **environ;

struct list {
    char **item; /* NULL-terminated */
    size_t n;
};

static void list_add(struct list *l, const char *text) {
    l->item = allocate_again(l->item, l->n + 2, sizeof *l->item);
    l->item[l->n++] = copy_text(text);
    l->item[l->n] = NULL;
}

static void list_free(char **item) {
    for (size_t i = 0; item && item[i]; i++)
        free(item[i]);
    free(item);
}

/* Sets, or with value NULL removes, NAME in an environment. */
static void env_set(struct list *env, const char *name, const char *value) {
    size_t length = strlen(name), kept = 0;
    for (size_t i = 0; i < env->n; i++) {
        if (strncmp(env->item[i], name, length) == 0 && env->item[i][length] == '=')
            free(env->item[i]);
        else
            env->item[kept++] = env->item[i];
    }
    env->n = kept;
    env->item[kept] = NULL;
    if (!value)
        return;
    AUTO_TEXT assignment = format_text("%s=%s", name, value);
    list_add(env, assignment);
}

int launch_open_mpi_version(const char *line) {
    int major, minor;
    const char *name = line ? strstr(line, "(Open MPI) ") : NULL;
    return name && sscanf(name, "(Open MPI) %d.%d", &major, &minor) == 2 ? major * 100 + minor : 0;
}

const char *launch_mpirun_version(void) {
    static char line[256], *asked; /* asked: the PATH that was searched */
    const char *set = getenv("PATH"), *path = set ? set : "";
    if (!asked || strcmp(asked, path)) {
        free(asked);
        asked = copy_text(path);
        FILE *f = popen("mpirun --version 2>/dev/null </dev/null", "re");
        if (!f || !fgets(line, sizeof line, f))
            *line = '\0';
        line[strcspn(line, "\n")] = '\0';
        if (f)
            pclose(f);
    }
    return *line ? line : NULL;
}

/* What all launchers' environments have in common. */
static struct list base_environment(const struct trial *t, const char *temp_dir) {
    struct list env = {NULL, 0};
    char path[PATH_MAX + 16], board[PATH_MAX];
    for (char **e = environ; *e; e++)
        list_add(&env, *e);
    snprintf(path, sizeof path, "%s/board", t->dir);
    env_set(&env, BOARD_ENV_PATH, realpath(path, board) ? board : path);
    env_set(&env, BOARD_ENV_RANK, NULL);
    env_set(&env, BOARD_ENV_SLOT, NULL);
    env_set(&env, PROGRAM_ENV_RUNTIME, NULL);
    env_set(&env, "TMPDIR", temp_dir);
    if (t->component_file) {
        /* A component that is a sanitized plugin needs its runtime in a program that does not. */
        struct program component;
        char runtime[PATH_MAX];
        program_look(t->component_file, &component);
        if (component.kind == PROGRAM_NOT_EXECUTABLE)
            component.kind = PROGRAM_STATIC; /* a library need not be executable to be listed */
        program_runtime(&component, runtime, sizeof runtime);
        env_set(&env, PROGRAM_ENV_RUNTIME, *runtime ? runtime : NULL);
    }
    return env;
}

static void add_command(struct launch *l, struct list *argv, struct list *env, int rank) {
    l->command[l->n++] = (struct launch_command){argv->item, env->item, rank};
}

static void add_workload(const struct trial *t, const char *rank_program, struct list *argv) {
    list_add(argv, rank_program);
    list_add(argv, "--");
    for (char **a = t->argv; *a; a++)
        list_add(argv, *a);
}

static void prepare_local(const struct trial *t, const char *rank_program, struct launch *l) {
    struct list base = base_environment(t, l->temp_dir);
    for (int rank = 0; rank < t->ranks; rank++) {
        struct list argv = {NULL, 0}, env = {NULL, 0};
        char number[16];
        for (size_t i = 0; i < base.n; i++)
            list_add(&env, base.item[i]);
        snprintf(number, sizeof number, "%d", rank);
        env_set(&env, BOARD_ENV_RANK, number);
        add_workload(t, rank_program, &argv);
        add_command(l, &argv, &env, rank);
    }
    list_free(base.item);
}

static void pass_on(struct list *argv, const struct list *env, const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < env->n; i++) {
        if (strncmp(env->item[i], name, length) == 0 && env->item[i][length] == '=') {
            list_add(argv, "-x");
            list_add(argv, name);
        }
    }
}

static bool prepare_mpirun(const struct trial *t, const char *rank_program, struct launch *l,
                           char *problem, size_t size) {
    const char *line = launch_mpirun_version();
    if (!launch_open_mpi_version(line)) {
        snprintf(
            problem, size,
            line ? "mpirun says \"%s\", which is not Open MPI: use --launcher local, or `holdpoint "
                   "exec --plan FILE -- YOUR-LAUNCHER holdpoint rank COMMAND`"
                 : "there is no mpirun in PATH: install openmpi-bin, or use --launcher local%s",
            line ? line : "");
        return false;
    }
    struct list argv = {NULL, 0}, env = base_environment(t, l->temp_dir);
    char number[16];
    snprintf(number, sizeof number, "%d", t->ranks);
    list_add(&argv, "mpirun");
    list_add(&argv, "--oversubscribe");
    list_add(&argv, "-np");
    list_add(&argv, number);
    if (geteuid() == 0) {
        /* 4.1 asks for the first two, 5.0 and later for the others as well. */
        env_set(&env, "OMPI_ALLOW_RUN_AS_ROOT", "1");
        env_set(&env, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        env_set(&env, "PRTE_ALLOW_RUN_AS_ROOT", "1");
        env_set(&env, "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    const char *preload = getenv("LD_PRELOAD");
    if (preload) { /* the user's, for the ranks alone */
        AUTO_TEXT assignment = format_text("LD_PRELOAD=%s", preload);
        list_add(&argv, "-x");
        list_add(&argv, assignment);
        env_set(&env, "LD_PRELOAD", NULL);
    }
    pass_on(&argv, &env, BOARD_ENV_PATH);
    pass_on(&argv, &env, PROGRAM_ENV_RUNTIME);
    add_workload(t, rank_program, &argv);
    add_command(l, &argv, &env, -1);
    return true;
}

/* The user's own line finds `holdpoint rank` through PATH, and the board in the environment. */
static void prepare_user(const struct trial *t, struct launch *l) {
    struct list argv = {NULL, 0}, env = base_environment(t, l->temp_dir);
    AUTO_TEXT folder = parts_folder();
    const char *old = getenv("PATH");
    if (folder) {
        AUTO_TEXT path = format_text("%s%s%s", folder, old ? ":" : "", old ? old : "");
        env_set(&env, "PATH", path);
    }
    for (char **a = t->argv; *a; a++)
        list_add(&argv, *a);
    add_command(l, &argv, &env, -1);
}

static int open_log(const char *dir, const char *name) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

bool launch_prepare(const struct trial *t, struct launch *l, char *problem, size_t size) {
    *l = (struct launch){.out = -1, .err = -1};
    AUTO_TEXT rank_program = parts_find("holdpoint-rank");
    l->command = allocate((size_t)t->ranks + 1, sizeof *l->command);
    l->out = open_log(t->dir, "launcher.out");
    l->err = open_log(t->dir, "launcher.err");
    l->temp_dir = leftovers_make_temp(t->dir);
    if (l->out < 0 || l->err < 0 || !l->temp_dir) {
        snprintf(problem, size, "cannot prepare the trial's folder %s: %s", t->dir,
                 strerror(errno));
        return false;
    }
    if (!rank_program && t->launcher != LAUNCHER_USER) {
        snprintf(problem, size,
                 "holdpoint-rank is neither beside this program nor in "
                 "../lib/holdpoint: build or install it (make, make install)");
        return false;
    }
    if (t->launcher == LAUNCHER_LOCAL)
        prepare_local(t, rank_program, l);
    else if (t->launcher == LAUNCHER_USER)
        prepare_user(t, l);
    else
        return prepare_mpirun(t, rank_program, l, problem, size);
    return true;
}

void launch_free(struct launch *l) {
    for (int i = 0; i < l->n; i++) {
        list_free(l->command[i].argv);
        list_free(l->command[i].env);
    }
    free(l->command);
    free(l->temp_dir);
    if (l->out >= 0)
        close(l->out);
    if (l->err >= 0)
        close(l->err);
    *l = (struct launch){.out = -1, .err = -1};
}
