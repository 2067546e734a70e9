/* shims/hooks.def for the runner: hooks and attributes by name, and what a hook can do. No state.
 */
#ifndef HOLDPOINT_HOOK_NAMES_H
#define HOLDPOINT_HOOK_NAMES_H

#include "board/board.h"

struct hook_name {
    const char *name, *sides, *traits, *attributes, *what, *way,
        *function; /* as in shims/hooks.def */
};
/* A hook that is a name for call:MODULE!FUNCTION; function NULL: it is none. */
struct call_name {
    const char *module, *function;
    unsigned object; /* 1 + the number of the argument that it is about; 0: none */
};
struct attribute_name {
    const char *name;
    enum attr_type type;
    const char *what;
};

/* Indexed by enum hook_id and enum attr_id. */
extern const struct hook_name hook_names[HOOK_COUNT];
extern const struct call_name call_names[HOOK_COUNT];
extern const struct attribute_name attribute_names[ATTR_COUNT];

/* HOOK_COUNT and ATTR_COUNT: there is none of that name. "call:" is found by any name that begins
 * with it. */
enum hook_id hook_by_name(const char *name);
enum attr_id attribute_by_name(const char *name);

bool hook_has_side(enum hook_id hook, enum side side);
bool hook_has_trait(enum hook_id hook, char trait); /* 'C', 'F', 'B' */
bool hook_has_attribute(enum hook_id hook, enum attr_id attribute);

const char *side_name(enum side side);

#endif
