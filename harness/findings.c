/* The list of findings, and which of them are one and the same event. Runs in the collector. */
#include "findings.h"

#include <stdlib.h>
#include <string.h>

#include "allocate.h"

static const char *const kind_names[] = {
#define FINDING(id, name) name,
#include "board/finding_kinds.def"
#undef FINDING
};

const char *finding_kind_name(enum finding_kind k) {
    return (unsigned)k < FINDING_COUNT ? kind_names[k] : "unknown";
}

bool finding_kind_from_name(const char *name, enum finding_kind *k) {
    for (int i = 0; i < FINDING_COUNT; i++)
        if (strcmp(kind_names[i], name) == 0) {
            *k = (enum finding_kind)i;
            return true;
        }
    return false;
}

struct finding *findings_add(struct finding_list *l, enum finding_kind kind, const char *source) {
    l->finding = allocate_again(l->finding, (size_t)l->n + 1, sizeof *l->finding);
    struct finding *f = &l->finding[l->n++];
    memset(f, 0, sizeof *f);
    f->kind = kind;
    f->rank = -1;
    f->source = copy_text(source);
    return f;
}

struct finding_stack *finding_stack_add(struct finding *f, const char *role) {
    if (f->n_stacks == (int)(sizeof f->stack / sizeof *f->stack))
        return NULL;
    struct finding_stack *s = &f->stack[f->n_stacks++];
    memset(s, 0, sizeof *s);
    s->role = copy_text(role);
    return s;
}

struct finding_frame *finding_frame_add(struct finding_stack *s) {
    s->frame = allocate_again(s->frame, (size_t)s->n + 1, sizeof *s->frame);
    memset(&s->frame[s->n], 0, sizeof *s->frame);
    return &s->frame[s->n++];
}

const struct finding_stack *finding_stack_of(const struct finding *f, const char *role) {
    for (int i = 0; i < f->n_stacks; i++)
        if (strcmp(f->stack[i].role, role) == 0)
            return &f->stack[i];
    return NULL;
}

static void stack_clear(struct finding_stack *s) {
    for (int i = 0; i < s->n; i++) {
        free(s->frame[i].module);
        free(s->frame[i].function);
        free(s->frame[i].source);
    }
    free(s->frame);
    free(s->role);
}

void finding_clear(struct finding *f) {
    for (int i = 0; i < f->n_stacks; i++)
        stack_clear(&f->stack[i]);
    free(f->source);
    free(f->text);
    free(f->file);
    free(f->signature);
    free(f->known_id);
}

void findings_remove(struct finding_list *l, int i) {
    finding_clear(&l->finding[i]);
    l->n--;
    memmove(&l->finding[i], &l->finding[i + 1], (size_t)(l->n - i) * sizeof *l->finding);
}

void findings_clear(struct finding_list *l) {
    for (int i = 0; i < l->n; i++)
        finding_clear(&l->finding[i]);
    free(l->finding);
    l->finding = NULL;
    l->n = 0;
}

/* ---- one event, one finding ---- */

static bool source_is(const struct finding *f, const char *source) {
    return strcmp(f->source, source) == 0;
}

static bool same_process(const struct finding *a, const struct finding *b) {
    return a->rank == b->rank && (a->pid == b->pid || !a->pid || !b->pid);
}

/* How much a finding tells of the end of a process; 0: the process lived on after it. */
static int death_weight(const struct finding *f) {
    if (source_is(f, "glibc"))
        return 5;
    if (source_is(f, "assert"))
        return 4;
    bool by_signal = f->kind == FINDING_CRASH || f->kind == FINDING_ABORT;
    if (by_signal && (source_is(f, "asan") || source_is(f, "tsan")))
        return 3;
    if (source_is(f, "signal"))
        return f->n_stacks ? 2 : 1;
    return 0;
}

/* A report after which the sanitizer itself ends the process. */
static bool ends_process(const struct finding *f) {
    return source_is(f, "asan") || source_is(f, "ubsan");
}

static bool better_primary(const struct finding *a, const struct finding *b) {
    int wa = death_weight(a), wb = death_weight(b);
    return (wa ? wa : 9) >= (wb ? wb : 9);
}

static bool one_event(const struct finding *a, const struct finding *b) {
    if (!same_process(a, b))
        return false;
    if (strcmp(a->signature, b->signature) == 0 && source_is(a, b->source))
        return true;
    int wa = death_weight(a), wb = death_weight(b);
    if (wa && wb)
        return true;
    const struct finding *report = wa ? b : a, *death = wa ? a : b;
    return (wa || wb) && ends_process(report) && source_is(death, "signal");
}

/* Folds `other` into `kept`: the stacks, process and file that `kept` has not. */
static void fold(struct finding *kept, struct finding *other) {
    if (!kept->n_stacks) {
        memcpy(kept->stack, other->stack, sizeof kept->stack);
        kept->n_stacks = other->n_stacks;
        other->n_stacks = 0;
    }
    if (!kept->pid)
        kept->pid = other->pid;
    if (!kept->tid)
        kept->tid = other->tid;
}

void findings_merge(struct finding_list *l) {
    for (int i = 0; i < l->n; i++)
        for (int k = i + 1; k < l->n; k++) {
            struct finding *a = &l->finding[i], *b = &l->finding[k];
            if (!one_event(a, b))
                continue;
            if (!better_primary(a, b)) {
                struct finding swap = *a;
                *a = *b;
                *b = swap;
            }
            fold(a, b);
            findings_remove(l, k);
            k = i; /* what was kept may now belong to one that was passed over */
        }
}
