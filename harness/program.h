/* What a file is that somebody wants to run: can a library be preloaded into it, and which
 * sanitizer runtime must come first then. libc alone: holdpoint-rank uses it too. Reads files, and
 * runs the program's own loader to list its libraries; never runs the program.
 */
#ifndef HOLDPOINT_PROGRAM_H
#define HOLDPOINT_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum program_kind {
    PROGRAM_DYNAMIC, /* a dynamically linked x86-64 program: the shim can be preloaded */
    PROGRAM_SCRIPT,  /* runs by `interpreter` */
    PROGRAM_STATIC,
    PROGRAM_OTHER_ARCHITECTURE,
    PROGRAM_MISSING,
    PROGRAM_NOT_EXECUTABLE, /* no permission to execute it, or a folder */
};

struct program {
    enum program_kind kind;
    bool
        privileged; /* setuid, setgid or file capabilities that make the loader ignore LD_PRELOAD */
    char path[PATH_MAX];        /* as found by PATH; the command itself when missing */
    char interpreter[PATH_MAX]; /* the loader of a dynamic program, the first word after #! of a
                                   script */
};

/* `command` as execvp would find it. */
void program_look(const char *command, struct program *p);

/* Why the shim will not be active in it, one sentence with what to do; false: it will be. */
bool program_problem(const struct program *p, char *sentence, size_t size);

/* One line of the loader's list of libraries. `path` is "" for a library that was not found. */
typedef void program_library(const char *name, const char *path, void *data);

/* The program's libraries, those of its libraries included, as its own loader finds them with the
 * present LD_LIBRARY_PATH. Works for a shared library too. False: the loader could not be run. */
bool program_libraries(const struct program *p, program_library *each, void *data);

/* Path of the sanitizer runtime that the program (or shared library) or one of its libraries needs
 * and that must be first in LD_PRELOAD; "" when none, or when it is linked into the program itself.
 */
void program_runtime(const struct program *p, char *path, size_t size);

/* True when a sanitizer's runtime is linked into the program itself: it accepts no second one. */
bool program_has_static_runtime(const struct program *p);

/* The sanitizer that the program was built with, "address" or "thread" as -fsanitize= takes it;
 * NULL: neither. */
const char *program_sanitizer(const struct program *p);

/* Runtime that the component under test needs though the program does not: set by the launcher. */
#define PROGRAM_ENV_RUNTIME "HOLDPOINT_RUNTIME"

#endif
