/* scenario.yaml: component variants, workloads, plans and what each plan must bring out. All memory
 * belongs to the scenario and is freed by scenario_free. */
#ifndef HOLDPOINT_SCENARIO_H
#define HOLDPOINT_SCENARIO_H

#include "trial.h"

enum { SCENARIO_MAX = 24, SCENARIO_MAX_PLANS = 64, SCENARIO_MAX_RANKS = 8, SCENARIO_MAX_ENV = 32 };

struct scenario_variant {
    char *name;
    char *find;      /* "open-mpi": what the distribution installed */
    char *make;      /* file that the build makes, as written: below the scenario's folder */
    char *needs;     /* what the build needs for `make`, for whoever lacks it; NULL: nothing */
    char *sanitizer; /* "address", "thread" or NULL */
    int line, column;
};
struct outcomes {
    struct outcome of[SCENARIO_MAX];
    int n;
};
struct scenario_workload {
    char *name;
    char *program; /* program and arguments, split like a shell without expansion; {component} is
                      replaced */
    char *needs;   /* what the build needs for the program, for whoever lacks it; NULL: nothing */
    enum launcher launcher;
    int ranks[SCENARIO_MAX_RANKS], n_ranks;
    char *for_variant[SCENARIO_MAX]; /* none: every variant */
    int n_for;
    struct plan_env env[SCENARIO_MAX_ENV];
    int n_env;
    uint64_t timeout_ns;          /* its own, else the scenario's */
    uint64_t timeout_per_rank_ns; /* added for each rank */
    struct outcomes outcome;      /* its own, else the scenario's; n 0: every rank exits with 0 */
    bool needs_mark;
    int line, column;
};
struct scenario_expect {
    char *variant, *verdict; /* verdict: as results.json writes it, or CLOSED_BY_FIX "STEP" */
    double rate;             /* with reproduced: the share of trials, default 1 */
};
struct scenario_plan {
    char *name, *file;            /* file: as written, below the scenario's folder; it exists */
    char *workload[SCENARIO_MAX]; /* none: any that fits */
    int n_workloads;
    struct scenario_expect expect[SCENARIO_MAX];
    int n_expect;
    char *signature; /* a known id or a kind of finding; NULL: any known one */
    int ranks[SCENARIO_MAX_RANKS], n_ranks; /* instead of the workload's, if n_ranks > 0 */
    struct outcomes outcome;                /* instead of the workload's, if n > 0 */
    int trials;                             /* instead of the scenario's, if > 0 */
    bool in_default;                        /* part of plain `holdpoint run SCENARIO` */
    int line, column;
};
struct scenario {
    char *dir, *file, *name, *title, *component_kind,
        *component_what, /* title and component_*: may be NULL */
        *component_file; /* `file:` of component: which library of the workload is the component */
    struct scenario_variant variant[SCENARIO_MAX];
    int n_variants;
    struct scenario_workload workload[SCENARIO_MAX];
    int n_workloads;
    struct scenario_plan plan[SCENARIO_MAX_PLANS];
    int n_plans;
    int trials;                    /* default 1 */
    uint64_t timeout_ns, stall_ns; /* default 60 s, 30 s */
};

/* Reads DIR/scenario.yaml; NULL: complained. Each workload, variant, plan file and known signature
 * that it names exists; the programs that it names are the build's, and are looked for by whoever
 * runs them. */
struct scenario *scenario_read(const char *dir, struct complaints *c);
void scenario_free(struct scenario *s);

/* The three indices by name, -1: none. */
int scenario_variant_named(const struct scenario *s, const char *name);
int scenario_workload_named(const struct scenario *s, const char *name);
int scenario_plan_named(const struct scenario *s, const char *name);
/* Whether a workload runs with a variant. */
bool scenario_fits(const struct scenario_workload *w, const char *variant);

/* Whether a plan is for a workload. */
bool scenario_plan_takes(const struct scenario_plan *p, const char *workload);

/* The folder of a scenario, by its path or by its name in a folder `scenarios`: below the working
 * folder, beside the program's folder, or where it was installed. NULL: complained, with the
 * nearest name. The caller frees it. */
char *scenario_find(const char *name_or_path, struct complaints *c);
/* The names that scenario_find knows, sorted; each and the array are freed by the caller. */
char **scenario_names(size_t *n);

#endif
