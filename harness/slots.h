/* The relocation slots of one module's file: through which of them it calls functions of others.
 * Reads ELF by libelf. Runner only. */
#ifndef HOLDPOINT_SLOTS_H
#define HOLDPOINT_SLOTS_H

#include <stdbool.h>
#include <stddef.h>

struct slot_import {
    char *name;
    unsigned slots;
};
struct module_slots {
    char *path;
    const char *file;           /* the last part of `path` */
    struct slot_import *import; /* sorted by name */
    size_t n_imports;
    char **exported; /* functions defined for others, sorted by name */
    size_t n_exported;
};

/* False: the file is no ELF file, or cannot be read. */
bool slots_read(const char *path, struct module_slots *m);
void slots_free(struct module_slots *m);

bool slots_exports(const struct module_slots *m, const char *function);

#endif
