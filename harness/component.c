/* What is under test in a row of a scenario; see component.h. */
#include "component.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"
#include "launch.h"
#include "parts.h"
#include "program.h"

static bool is_open_mpi(const struct scenario_variant *v) {
    return v->find && strcmp(v->find, "open-mpi") == 0;
}

/* A file that the build makes for the scenario; NULL: it is not there. */
static char *built_file(const struct scenario *s, const char *name) {
    AUTO_TEXT path = format_text("scenarios/%s/%s", s->name, name);
    return parts_find(path);
}

/* The folder or file that {component} stands for; NULL: this machine lacks it, *missing says what.
 */
static char *find_path(const struct scenario *s, const struct scenario_variant *v,
                       const char *given, char **missing) {
    char *found = NULL;
    if (given && !v->name)
        found = realpath(given, NULL);
    else if (v->make)
        found = built_file(s, v->make);
    else if (is_open_mpi(v) && launch_mpirun_version())
        found = copy_text(""); /* its programs are on PATH */
    if (found)
        return found;
    if (v->make && v->needs)
        *missing = copy_text(v->needs);
    else if (v->make)
        *missing = format_text("scenarios/%s/%s (not built: run `make`)", s->name, v->make);
    else if (is_open_mpi(v))
        *missing = copy_text("Open MPI (install openmpi-bin and libopenmpi-dev)");
    else
        *missing = copy_text("the component");
    return NULL;
}

static char *name_of(const struct scenario_variant *v, const char *path) {
    const char *line = launch_mpirun_version();
    const char *digits = line ? strpbrk(line, "0123456789") : NULL;
    if (!is_open_mpi(v))
        return copy_text(v->name ? v->name : path);
    if (!launch_open_mpi_version(line) || !digits)
        return copy_text("Open MPI");
    return format_text("Open MPI %.*s", (int)strcspn(digits, " \n"), digits);
}

/* ---- the command ---- */

static char *replace_component(const char *word, const char *path) {
    static const char place[] = "{component}";
    const char *at = strstr(word, place);
    return at ? format_text("%.*s%s%s", (int)(at - word), word, path, at + strlen(place))
              : copy_text(word);
}

/* A relative program lies in the scenario's build folder. */
static char **command(const struct scenario *s, const struct scenario_workload *w,
                      const char *path) {
    AUTO_TEXT line = copy_text(w->program);
    char **argv = allocate(strlen(line) / 2 + 2, sizeof *argv), *rest = line;
    int n = 0;
    for (char *word; (word = strsep(&rest, " \t"));)
        if (*word)
            argv[n++] = replace_component(word, path);
    char *built = n && argv[0][0] != '/' ? built_file(s, argv[0]) : NULL;
    if (built) {
        free(argv[0]);
        argv[0] = built;
    }
    return argv;
}

/* ---- what must be seen in the ranks ---- */

struct wanted_library {
    const char *name;
    char *path;
};

static void look_for_library(const char *name, const char *path, void *data) {
    struct wanted_library *w = data;
    if (!w->path && *path && strcmp(name, w->name) == 0)
        w->path = copy_text(path);
}

/* The scenario's `component: {file: NAME}` among the program's libraries, or the program itself. */
static char *mapped_file(const struct scenario *s, const char *program) {
    struct wanted_library w = {s->component_file, NULL};
    struct program p;
    if (w.name) {
        program_look(program, &p);
        if (p.kind == PROGRAM_DYNAMIC)
            program_libraries(&p, look_for_library, &w);
    }
    return w.path ? w.path : copy_text(program);
}

/* The variant says it; of a user's own build, the one that its program was built with, so that
 * nobody takes a silent sanitizer for a clean run. */
static const char *sanitizer_of(const struct scenario_variant *v, const char *program) {
    struct program p;
    if (v->name)
        return v->sanitizer;
    program_look(program, &p);
    return program_sanitizer(&p);
}

bool component_find(const struct scenario *s, const struct scenario_variant *v, const char *given,
                    const struct scenario_workload *w, enum launcher launcher,
                    struct component *c) {
    *c = (struct component){.name = copy_text("")};
    AUTO_TEXT path = find_path(s, v, given, &c->missing);
    c->argv = command(s, w, path ? path : "");
    if (!c->missing && launcher == LAUNCHER_MPIRUN && !launch_mpirun_version())
        c->missing = copy_text("mpirun (install openmpi-bin)");
    if (!c->missing && c->argv[0] && access(c->argv[0], X_OK) != 0)
        c->missing =
            w->needs ? copy_text(w->needs) : format_text("%s (not built: run `make`)", c->argv[0]);
    if (c->missing)
        return false;
    free(c->name);
    c->name = name_of(v, path);
    c->file = mapped_file(s, c->argv[0]);
    c->sanitizer = sanitizer_of(v, c->argv[0]);
    return true;
}

void component_clear(struct component *c) {
    for (char **word = c->argv; word && *word; word++)
        free(*word);
    free(c->argv);
    free(c->missing);
    free(c->name);
    free(c->file);
    *c = (struct component){0};
}
