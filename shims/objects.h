/* The ELF objects mapped in this process, found at start and each time the loader says that the
 * list changed. Changed only under the loader's lock (constructor, loader notice); read by any
 * thread. */
#ifndef HOLDPOINT_OBJECTS_H
#define HOLDPOINT_OBJECTS_H

#include "board.h"
#include <elf.h>
#include <link.h>

struct object {
    _Atomic uint32_t live;
    uint32_t seen;       /* number of the scan that saw it last */
    uintptr_t base;      /* l_addr */
    uintptr_t low, high; /* of all its segments */
    uintptr_t text_low, text_high;
    uintptr_t relro_low, relro_high;
    uintptr_t sanitizer_low, sanitizer_high; /* of a sanitizer's runtime, linked into it */
    const ElfW(Dyn) * dynamic;
    uint16_t module;                                  /* on the board, or BOARD_NONE */
    bool is_program, is_ours, is_sanitizer, at_start; /* at_start: loaded before main */
    char path[232];
    const char *file; /* last part of path */
};

/* The dynamic tables of an object, as addresses. */
struct object_tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash;
    const uint32_t *hash;
    const ElfW(Half) * versions;
    const ElfW(Rela) * plt, *rela;
    size_t n_plt, n_rela;
};

/* Looks at what is mapped now; calls `added` for each object not seen before. Those that are gone
 * are forgotten. */
void objects_scan(bool at_start, void (*added)(struct object *));
struct object *objects_at(uintptr_t address);
/* Is this code of the shim's or of a sanitizer's, wherever its runtime is? */
bool object_stands_between(const struct object *o, uintptr_t code);
/* For i = 0, 1, … in load order until NULL; skips those that are gone. */
struct object *objects_next(unsigned *i);

void object_tables(const struct object *o, struct object_tables *t);
/* Symbols in its table, from 1 on, those that it only asks for counted in. */
uint32_t object_count_symbols(const struct object_tables *t);
/* Default-version definition of an exported function in this object, or NULL. */
const ElfW(Sym) * object_symbol(const struct object *o, const char *name);
/* Does the glob name this object ("PROGRAM" names the program)? */
bool object_matches(const struct object *o, const char *glob);

struct board_frame objects_frame(const void *address);

bool glob_matches(const char *glob, const char *text);

#endif
