/* A growing list of findings, and the names of their kinds. One owner; freed as a whole. */
#ifndef HOLDPOINT_FINDINGS_H
#define HOLDPOINT_FINDINGS_H

#include "collect.h"

struct finding_list {
    struct finding *finding;
    int n;
};

const char *finding_kind_name(enum finding_kind k);
bool finding_kind_from_name(const char *name, enum finding_kind *k);

/* A new entry at the end, rank unknown. The pointer is valid until the next call. */
struct finding *findings_add(struct finding_list *l, enum finding_kind kind, const char *source);
/* A new empty stack, or NULL when the finding has as many as it can hold. `role` lives for ever. */
struct finding_stack *finding_stack_add(struct finding *f, const char *role);
struct finding_frame *finding_frame_add(struct finding_stack *s);
const struct finding_stack *finding_stack_of(const struct finding *f, const char *role);
void findings_remove(struct finding_list *l, int i);
void finding_clear(struct finding *f);
void findings_clear(struct finding_list *l);

/* One death of one process is one finding: the abort that follows a sanitizer's report, the signal
 * that follows an abort text, the launcher's line about it and the status are folded into the most
 * telling one. Needs signatures; equal findings of one process are folded too. */
void findings_merge(struct finding_list *l);

#endif
