/* Matching an arrival against a point's filters. Any thread; no locks. */
#include "match.h"
#include "code_ranges.h"
#include "objects.h"
#include "process.h"
#include "thread.h"
#include "unwind_stack.h"

#include <string.h>

bool match_inside(uint16_t point, uintptr_t sp) {
    uintptr_t outer = thread_self.inside[point].sp;
    /* An extent ends with its return; one that was left by longjmp or an exception shows by its
     * stack pointer. */
    return sp < outer;
}

static bool match_caller(uint32_t pattern, const struct arrival *a) {
    const struct object *o = a->caller ? objects_at((uintptr_t)a->caller) : NULL;
    const void *caller = a->caller;
    if (!caller || (o && (o->is_sanitizer || o->is_ours)))
        caller = unwind_caller_outside_sanitizer();
    /* A return address may lie just past a function that ends in a call. */
    return caller && code_ranges_match(pattern, (const char *)caller - 1);
}

static bool match_attribute(const struct board *b, const struct board_filter *f,
                            const struct arrival *a) {
    static const enum attr_type type[] = {
#define HOOK(name, id, sides, traits, attrs, what, way, function)
#define ATTR(name, id, type, what) type,
#include "hooks.def"
#undef HOOK
#undef ATTR
    };
    for (unsigned i = 0; i < a->n_attrs; i++) {
        const struct arrival_attr *v = &a->attr[i];
        if ((unsigned)v->id != f->attr)
            continue;
        switch (type[f->attr]) {
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
    return !p->caller || match_caller(p->caller, a);
}
