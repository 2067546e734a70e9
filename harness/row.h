/* One row of the results: n trials of one workload under one plan. */
#ifndef HOLDPOINT_ROW_H
#define HOLDPOINT_ROW_H

#include "collect.h"
#include "exit_status.h"

struct row {
    struct verdict_row
        head; /* head.plan_read is filled in by row_run, and head.plan when it is NULL */
    const char *plan_file, *signature, *known_file; /* see struct trial */
    const struct known_list *known;                 /* as read from known_file */
    char **argv; /* the workload's command, owned by the caller */
    enum launcher launcher;
    int trials;
    bool trials_given; /* by the user, who may not for a sweep: it runs each element once */
    bool gated;        /* of a gate, its baseline or its component: see head.gate */
    bool live;         /* copy the ranks' output as it comes */
    bool keep;         /* keep the boards of all trials */
    double time_scale;
    uint64_t limit_ns, stall_ns; /* unscaled */
    bool needs_mark;
    const char *sanitizer, *component_file;
    const struct outcome *outcome;
    int n_outcomes;
    const struct plan_env *env; /* of the workload */
    int n_env;
    const char *out; /* folder of the results */
    const char *id;  /* file name, unique in `out` */
};

/* Runs them, adds them to `rs`, prints the row's line to stdout. Returns an exit
 * status: EXIT_USAGE when the plan was refused (complained), EXIT_INTERRUPTED after Ctrl-C. */
int row_run(const struct row *r, struct results *rs, struct complaints *c);

/* Makes a folder and those above it; true as well when it was there. False: complained. */
bool make_folder(const char *path, struct complaints *c);

#endif
