/* What is under test in one row of a scenario, and the command that tests it. Runner only; starts
 * nothing but `mpirun --version` and a loader that lists libraries. */
#ifndef HOLDPOINT_COMPONENT_H
#define HOLDPOINT_COMPONENT_H

#include "scenario.h"

struct component {
    char *missing;         /* what this machine lacks, and where that comes from; NULL: nothing */
    char *name;            /* what the results call it; "" while something is missing */
    char **argv;           /* the workload's command with {component} replaced, NULL-terminated */
    char *file;            /* must be seen mapped in every rank */
    const char *sanitizer; /* must be alive in every rank; NULL: none */
};

/* `given`: the user's own build, which takes the place of a variant without a name. What is in `c`
 * is freed by component_clear. False: something is missing. */
bool component_find(const struct scenario *s, const struct scenario_variant *v, const char *given,
                    const struct scenario_workload *w, enum launcher launcher, struct component *c);
void component_clear(struct component *c);

#endif
