/* A program and the modules that the loader will map with it (DT_NEEDED, and theirs), read from the
 * files: which functions they have. A module that is loaded later is not in it. Runner only; runs
 * the program's loader, and nothing of the program. */
#ifndef HOLDPOINT_CLOSURE_H
#define HOLDPOINT_CLOSURE_H

#include <stdbool.h>
#include <stddef.h>

struct closure;

/* NULL: `program` (a path, or a name on PATH) is no ELF file of this machine, or cannot be read. */
struct closure *closure_read(const char *program);
void closure_free(struct closure *c);

/* A needed module was not found, or the program may execute another in its own place, so what is
 * missing here may be there. */
bool closure_has_gaps(const struct closure *c);
/* Some module of it asks for dlopen. (libc itself does not count.) */
bool closure_loads_more(const struct closure *c);
/* Whether the file name or the path of some module matches the glob; PROGRAM is the program. */
bool closure_has_module(const struct closure *c, const char *module_glob);
/* The path of one that matches and has no symbols but those it exports, or NULL. */
const char *closure_stripped(const struct closure *c, const char *module_glob);

enum closure_which { CLOSURE_EXPORTED, CLOSURE_ALL_FUNCTIONS };
/* Names of functions defined in the modules that match; *names is freed by the caller, the texts
 * belong to the closure. */
size_t closure_functions(const struct closure *c, const char *module_glob, enum closure_which which,
                         const char ***names);

#endif
