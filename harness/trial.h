/* One launch of a workload under one plan: what was asked for, and how it ended.
 * The folder of a trial holds: board, trial.json, rank.N.out, rank.N.err, launcher.out,
 * launcher.err, sanitizer.rankN.PID, evidence.txt. */
#ifndef HOLDPOINT_TRIAL_H
#define HOLDPOINT_TRIAL_H

#include "complaints.h"
#include "plan.h"

enum launcher { LAUNCHER_LOCAL, LAUNCHER_MPIRUN, LAUNCHER_USER }; /* USER: exec's own launch line */
const char *launcher_name(enum launcher launcher);                /* as results.json has it */

enum verdict {
    VERDICT_REPRODUCED,
    VERDICT_OTHER_FINDING,
    VERDICT_ERROR,
    VERDICT_NOT_EXERCISED,
    VERDICT_CLEAN
};

struct outcome_attr {
    char *key, *value;
};
/* How a rank must end for the trial to count. */
struct outcome {
    int rank;        /* -1: every rank that no other entry names */
    int exit_status; /* default 0; -1: any */
    bool cut_off;    /* the launcher may end this rank midway: nothing of its end is asked */
    struct outcome_attr
        attr[8]; /* on the line "holdpoint-workload: done key=value …" that the rank prints */
    int n_attrs;
};

struct trial {
    char *dir, *id, *name; /* id: a file name; name: for people */
    char **argv;           /* the workload's command, NULL-terminated */
    int ranks;
    enum launcher launcher;
    bool keep_output_live; /* copy ranks' output to our stdout and stderr as it comes (exec) */
    double time_scale;
    uint64_t limit_ns; /* whole trial, already scaled */
    uint64_t stall_ns; /* no thread of the tree ran and nothing moved for so long: hang; 0: off */
    bool needs_mark;   /* the workload prints the done line */
    char
        *sanitizer; /* "address", "thread" or NULL: that its runtime must be active in every rank */
    char *component_file; /* must be seen mapped in every rank; NULL: not asked for */
    struct outcome outcome[16];
    int n_outcomes;
    char *signature;  /* what the plan must bring out: a known id, a kind, or NULL (any known
                         signature;  when nothing is known, any finding of memory, lock or deadlock
                         kind) */
    char *known_file; /* known.yaml of the scenario, which may not exist; NULL: nothing is known */
    struct plan *plan;
    struct board *board;
};

struct ending {
    bool started;        /* the launcher could be started */
    int launcher_status; /* as from waitpid; -1: unknown */
    bool timed_out, stalled, interrupted, guard_died;
    uint64_t wall_ns;
    char problem[400]; /* why it could not be started, for people */
};

/* Starts the guard, launches, watches, stops what is left of the tree, closes the logs with their
 * end marks. Returns when nothing of the trial lives. The board must be in t->board. */
void trial_run(struct trial *t, struct ending *e, struct complaints *c);

/* DIR/trial.json, and copies of the plan and of what is known: enough for `holdpoint collect DIR`
 * after the runner died. */
bool trial_save(const struct trial *t, struct complaints *c);
struct trial *trial_load(const char *dir, struct complaints *c);
void trial_free(struct trial *t);

#endif
