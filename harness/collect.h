/* From what a trial left behind (board, logs, statuses) to findings and a verdict. */
#ifndef HOLDPOINT_COLLECT_H
#define HOLDPOINT_COLLECT_H

#include <jansson.h>

#include "board/finding_kind.h"
#include "gate.h"
#include "trial.h"

struct finding_frame {
    char *module, *function, *source; /* source: "file:line" or NULL */
    uint64_t offset;
};
struct finding_stack {
    char *role; /* use, previous (the other access of a race), free, alloc, initiator, dead-frame,
                   callback */
    struct finding_frame *frame;
    int n;
};
struct finding {
    enum finding_kind kind;
    int rank; /* -1: unknown */
    unsigned node, pid, tid;
    uint64_t ns;  /* when, on the clock of the board; 0: a log does not tell */
    char *source; /* "shim", "asan", "tsan", "ubsan", "lsan", "glibc", "assert", "signal",
                     "watchdog" */
    char *text;   /* the evidence: a line or a few of the log, or the shim's note */
    char *file;   /* log it was read from, or NULL */
    struct finding_stack stack[4];
    int n_stacks;
    bool suspect, healed;
    bool before_plan; /* seen before the plan's first step or fault */
    bool by_plan;     /* the end of a rank that the plan itself ended: never decides a verdict */
    char *signature;  /* "KIND:role=module!f1<f2<f3;…", see signature_of */
    char *known_id;   /* public id of the known signature that it matches, or NULL */
};

/* known.yaml beside a scenario: list of {id, kind, title?, frames: {ROLE: [globs, innermost
 * first]}} */
struct known {
    char *id, *title;
    enum finding_kind kind;
    struct {
        char *role;
        char **glob;
        int n;
    } stack[4];
    int n_stacks;
};
struct known_list {
    struct known *known;
    int n;
};
bool known_read(const char *file, struct known_list *k,
                struct complaints *c); /* a missing file: an empty list */
void known_free(struct known_list *k);

struct trial_result {
    enum verdict verdict;
    char *reason; /* one sentence: why this verdict */
    struct finding *finding;
    int n_findings;
    bool exercised;   /* every rank checked in, every step is done, every fault fired */
    int blocked_step; /* not-exercised for no other reason than that this step, counted from 1, was
                         blocked; or 0 */
    bool ended;       /* by itself: neither stopped nor interrupted */
    bool fired;       /* of an element of a sweep: its fault fired */
    json_t *json;     /* this trial's entry of results.json "trials" */
};

void collect_trial(const struct trial *t, const struct ending *e, const struct known_list *known,
                   struct trial_result *r, struct complaints *c);
void trial_result_free(struct trial_result *r);
const char *verdict_name(enum verdict v);

/* Expected of a variant whose fix closes the window: STEP was blocked in every trial, and the same
 * plan was reproduced on BASELINE_VARIANT before, in the same results (semantics.md, Verdicts 3).
 */
#define CLOSED_BY_FIX    "closed-by-fix: "
#define BASELINE_VARIANT "faulty"
/* Its STEP; NULL: something else is expected, or nothing (NULL). */
const char *verdict_closing_step(const char *expected);
/* Expected of a plan that only counts how often the bug shows, a rate to stand beside another:
 * every trial was exercised, and found it or nothing. */
#define EXPECT_MEASURED "measured"

/* results.json. results_new fills machine, version, start. results_add adds one verdict row with
 * its trials. */
struct results;
struct verdict_row {
    const char *scenario, *variant, *component, *workload, *plan, *launcher, *gpu;
    int ranks;
    const char *expected; /* "reproduced", "clean", …, CLOSED_BY_FIX "STEP", EXPECT_MEASURED, or
                             NULL: nothing */
    double rate;       /* with expected reproduced: share of trials that must reproduce; 1: all */
    const char *again; /* the command line that repeats it */
    const struct plan *plan_read;
    const struct gate *gate; /* of the component that a gate judges; else NULL */
};
struct results *results_new(void);
/* The verdict of n trials: the first in order of precedence that any of them has. Returns whether
 * as expected, as an exit status. */
int results_add(struct results *rs, const struct verdict_row *row, const struct trial_result *trial,
                int n);
/* A row that could not run because the machine lacks `missing` (named for people): reported as
 * skipped. */
void results_skip(struct results *rs, const struct verdict_row *row, const char *missing);
bool results_write(const struct results *rs, const char *file,
                   struct complaints *c); /* temporary file, then rename */
json_t *results_json(struct results *rs);
void results_free(struct results *rs);

#endif
