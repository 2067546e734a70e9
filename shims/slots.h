/* Relocation slots (design.md, way 2): every place through which an object reaches a function of
 * another one. Those who want to stand in between are asked about each slot in turn, so that a hook
 * and a detector of the same function live together in one chain. Under the loader's lock. */
#ifndef HOLDPOINT_SLOTS_H
#define HOLDPOINT_SLOTS_H
#include "objects.h"

struct slot {
    struct object *object; /* that calls through it */
    const char *name;
    uintptr_t value;        /* what stands in it */
    bool unrelocated;       /* the loader has yet to fill it */
    const void *in_between; /* what was put before the function already, or NULL */
};

/* The function that the slot leads to or would lead to, past what stands in between, and the object
 * that defines it. NULL: it cannot be known. */
const void *slot_target(const struct slot *s, const struct object **definer);

/* The function that a slot of this name would lead to from this object, once that can be told. */
const void *slot_definition(const struct object *user, const char *name);

/* What is to stand in a slot: the function, and another that returns its address (the resolver of
 * an IFUNC). Both NULL: nothing of mine. */
struct slot_end {
    const void *function, *resolver;
};
struct slot_user {
    /* The slot leads to s->in_between when that is not NULL: the answer must go on to there. */
    struct slot_end (*look)(const struct slot *s);
    void (*patched)(const struct slot *s); /* the last answer stands in the slot now */
};

/* Asks all users (at most SLOT_USERS, then NULL) about each slot of the object; those that come
 * later stand in front. */
enum { SLOT_USERS = 4 };
void slots_patch_object(struct object *o, const struct slot_user *const *user);
#endif
