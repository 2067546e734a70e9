/* An object with a reference count. Callable from any thread that holds a reference. */
#include "tiny.h"

#include <stdatomic.h>
#include <stdlib.h>

struct object_kind {
    int (*value)(const struct object *);
};

struct object {
    const struct object_kind *kind;
    atomic_int references;
    int value;
};

static int plain_value(const struct object *o) {
    return o->value;
}
static const struct object_kind plain = {plain_value};

struct object *object_new(int value) {
    struct object *o = malloc(sizeof *o);
    if (!o)
        abort();
    o->kind = &plain;
    atomic_init(&o->references, 1);
    o->value = value;
    return o;
}

void object_get(struct object *o) {
    atomic_fetch_add(&o->references, 1);
}

void object_put(struct object *o) {
    if (atomic_fetch_sub(&o->references, 1) == 1)
        free(o);
}

int object_value(const struct object *o) {
    return o->kind->value(o);
}
