/* A sweep: one run of the same plan for each function in the place of a point's own, or for each
 * arrival of a fault. What one element is, when the runs end, and which of them count
 * (semantics.md, Verdicts 5). */
#ifndef HOLDPOINT_SWEEP_H
#define HOLDPOINT_SWEEP_H

#include "collect.h"

/* ---- one element; elements are counted from 1 ---- */

/* How many runs at most; 0: the plan is no sweep, or one element of one. */
int sweep_most(const struct plan *p);
/* "ompi_group_init", "nth 3"; the caller's to free. */
char *sweep_element_name(const struct plan *p, int element);
/* Changes a plan that was read into one element of its sweep; its hash becomes the element's.
 * False: it has no such element, and nothing was changed. */
bool sweep_to_element(struct plan *p, int element);
/* For a plan that is an element: a fault that is swept fired, and not only after the plan's steps
 * had ended by a timeout, or lost or blocked: then the call came when the plan's window was over.
 */
bool sweep_fired(const struct plan *p, const struct board *b);

/* ---- all of them: the results of the first `n` runs, in order ---- */

enum sweep_end {
    SWEEP_GOES_ON,
    SWEEP_COMPLETE,
    SWEEP_TOO_LONG, /* nth: it still fired in the last run that is allowed */
    SWEEP_STUCK,    /* nth: several runs in a row neither let it fire nor ended normally */
};
enum sweep_end sweep_end(const struct plan *p, const struct trial_result *trial, int n);

/* It says something about its element: the fault fired; or nobody knows whether it did. */
bool sweep_counts(const struct trial_result *trial);
/* What there is to say of a sweep that is not complete, or ""; the caller's to free. */
char *sweep_note(const struct plan *p, const struct trial_result *trial, int n);
/* The row's `sweep` in results.json; null when the plan is none. */
json_t *sweep_json(const struct plan *p, const struct trial_result *trial, int n);

#endif
