/* Matching an arrival against a point's filters. Any thread; no locks. */
#include "match.h"
#include "code_ranges.h"
#include "objects.h"
#include "process.h"
#include "thread.h"
#include "unwind_stack.h"

#include <string.h>

/* The object of the last arrival at each point, in this process. */
static _Atomic uint64_t last_object[BOARD_MAX_POINTS];

void match_start(void) {
    for (int i = 0; i < BOARD_MAX_POINTS; i++)
        atomic_store(&last_object[i], 0);
}

void match_saw_object(uint16_t point, uint64_t object) {
    atomic_store(&last_object[point], object);
}

static bool match_object(const struct board_point *p, const struct arrival *a) {
    uint64_t last = atomic_load(&last_object[p->object_of]);
    return last && a->object && (last == a->object) != p->object_differs;
}

static bool inside_another(const struct thread *t, uint16_t point) {
    for (int i = 0; i < THREAD_MAX_BRACKETS; i++)
        if (t->also[i].extent && t->also[i].point == point &&
            atomic_load(t->also[i].extent) == t->also[i].generation)
            return true;
    return false;
}

bool match_inside(uint16_t point, uintptr_t sp) {
    const struct thread *t = &thread_self;
    if (t->inside[point].extent &&
        atomic_load(t->inside[point].extent) == t->inside[point].generation)
        return true;
    if (inside_another(t, point))
        return true;
    /* An extent ends with its return; one that was left by longjmp or an exception shows by its
     * stack pointer. */
    return sp < t->inside[point].sp;
}

static bool match_caller(uint32_t pattern, const struct arrival *a) {
    const struct object *o = a->caller ? objects_at((uintptr_t)a->caller) : NULL;
    const void *caller = a->caller;
    if (!caller || (o && object_stands_between(o, (uintptr_t)caller)))
        caller = unwind_caller_outside_sanitizer();
    /* A return address may lie just past a function that ends in a call. */
    return caller && code_ranges_match(pattern, (const char *)caller - 1);
}

/* One of the innermost callers, bounded: walking a whole stack costs microseconds. */
static bool match_stack(uint32_t pattern) {
    enum { DEPTH = 16 };
    uint64_t pc[DEPTH];
    unwind_addresses(pc, DEPTH);
    for (int i = 0; i < DEPTH && pc[i]; i++)
        if (code_ranges_match(pattern, (const void *)(uintptr_t)pc[i]))
            return true;
    return false;
}

/* The types of attributes, as enum attr_type. */
static const enum attr_type attribute_type[] = {
#define HOOK(name, id, sides, traits, attrs, what, way, function)
#define ATTR(name, id, type, what) type,
#include "hooks.def"
#undef HOOK
#undef ATTR
};

bool match_is_code(uint16_t attribute) {
    return attribute_type[attribute] == ATTR_CODE;
}

static bool match_attribute(const struct board *b, const struct board_filter *f,
                            const struct arrival *a) {
    for (unsigned i = 0; i < a->n_attrs; i++) {
        const struct arrival_attr *v = &a->attr[i];
        if ((unsigned)v->id != f->attr)
            continue;
        switch (attribute_type[f->attr]) {
        case ATTR_INT:
            return v->number == f->number;
        case ATTR_TEXT:
            return v->text && glob_matches(board_string(b, f->text), v->text);
        case ATTR_CODE:
            return v->code && code_ranges_match(f->text, v->code);
        }
    }
    return false;
}

bool match_filters(const struct board *b, uint16_t point, const struct arrival *a) {
    const struct board_point *p = &b->point[point];
    if (p->rank >= 0 && p->rank != process->rank)
        return false;
    if (p->within != BOARD_NONE && !match_inside(p->within, a->sp))
        return false;
    for (uint16_t i = 0; i < p->n_filters; i++)
        if (!match_attribute(b, &b->filter[p->first_filter + i], a))
            return false;
    if (p->object_of != BOARD_NONE && !match_object(p, a))
        return false;
    return (!p->caller || match_caller(p->caller, a)) && (!p->stack || match_stack(p->stack));
}
