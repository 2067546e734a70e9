/* The gate: how many clean trials a fix owes, by how often the bug showed without it (semantics.md,
 * Verdicts 6). Pure arithmetic, for the runner. */
#ifndef HOLDPOINT_GATE_H
#define HOLDPOINT_GATE_H

/* As many as --trials may ask for: a gate that needs more is not run. */
enum { GATE_MOST_TRIALS = 100000 };

struct gate {
    double confidence;
    int baseline_reproduced, baseline_trials;
    double rate_at_least; /* lower bound of the baseline's rate at this confidence; 0: nothing
                             reproduced */
    long trials_needed;   /* of the component, all of them clean; 0: no number would do */
};

/* `reproduced` of `trials` of the baseline; confidence above 0.5 and below 1. */
struct gate gate_after(double confidence, int reproduced, int trials);

#endif
