/* A plan as read from a file, checked, before it is compiled onto a board. All memory belongs to
 * the plan and is freed by plan_free. Errors go to a `struct complaints`, each with file, line and
 * what to do.
 */
#ifndef HOLDPOINT_PLAN_H
#define HOLDPOINT_PLAN_H

#include "board/board.h"
#include "complaints.h"

struct plan_filter {
    enum attr_id attr;
    char *text;
    int64_t number;
};

struct plan_point {
    char *name; /* "role NAME" for the point that holds a role's `at` */
    enum hook_id hook;
    char *module, *function, *from; /* of call: and its names */
    enum side side;
    int rank;   /* -1: any */
    int role;   /* index into roles, -1: none */
    int within; /* index into points, -1: none */
    unsigned nth;
    char *caller, *stack;
    int object_of; /* index into points, -1: none */
    bool object_differs;
    bool crowd_hold, same;
    char
        *after; /* a step's text or number as written, NULL: armed from the start; see plan_after */
    int after_line, after_column;
    struct plan_filter filter[8];
    int n_filters;
    int line, column;
};
struct plan_step {
    enum step_kind kind;
    int point;
    char *text; /* "reach at_exit", one space */
    int line, column;
};
struct plan_role {
    char *name;
    int point; /* the unnamed point that holds `at` with its filters */
    int line, column;
};
struct plan_fault {
    int point, until; /* until: -1: none */
    enum fault_action action;
    int rank;
    bool has_return, return_is_arg;
    int64_t ret; /* return_is_arg: which argument, from arg0; -1 when only errno is given */
    int error_number, signal_number;
    uint64_t ns;
    unsigned times, nth, every, from, to;
    unsigned bytes;           /* SHORT, SEVER */
    bool has_bytes, is_place; /* is_place: written byte:, not bytes: */
    double prob;              /* 0 and has_prob false: unset */
    bool has_prob, has_seed;
    bool seed_rises; /* `seed: 7..`: another one in each trial, see plan_for_trial */
    uint64_t seed;
    char *text; /* one line for people */
    int line, column;
};
struct plan_env {
    int rank; /* -1: all */
    char *assignment;
    int line, column;
};

/* One run for each function in the place of a point's own, for each arrival of a fault, or for each
 * byte at which a fault cuts a stream. */
enum sweep_kind { SWEEP_NONE, SWEEP_OVER, SWEEP_NTH, SWEEP_BYTE };
enum { SWEEP_MOST_FUNCTIONS = 256, SWEEP_MOST_RUNS = 1000 };
struct plan_sweep {
    enum sweep_kind kind;
    int point;       /* OVER: whose function is replaced */
    int fault;       /* NTH, BYTE: whose nth or byte goes up */
    unsigned stride; /* BYTE: 1, 1 + stride, 1 + 2 * stride, ... */
    char *function[SWEEP_MOST_FUNCTIONS];
    int n_functions;
    int element; /* from 1: the plan is this one run of its sweep, see sweep.h; 0: it is all */
    int line, column;
};

struct plan_heap {
    char *from;         /* glob of the allocating module; NULL: not given */
    uint64_t low, high; /* bytes, both inclusive */
    int line, column;
};

struct plan_frames {
    int guard; /* the point whose call runs on a guarded stack; -1: none */
    int line, column;
};

struct plan {
    char *file, *name;
    uint64_t hash; /* FNV-1a 64 of the file's bytes; of the element too when the plan is one */
    bool scope_rank;
    bool heal;                                  /* a completion whose owner is dead is dropped */
    int ranks[BOARD_MAX_RANKS], n_ranks_listed; /* `ranks:` of scope rank */
    uint64_t timeout_ns;                        /* unscaled; default 5 s */
    unsigned detectors;                         /* enum detector bits */
    struct plan_heap heap;                      /* what detector `heap` guards */
    struct plan_frames frames;                  /* what detector `frames` guards */
    enum follow_policy follow;
    char *follow_program;
    struct plan_point point[BOARD_MAX_POINTS];
    struct plan_step step[BOARD_MAX_STEPS];
    struct plan_role role[BOARD_MAX_ROLES];
    struct plan_fault fault[BOARD_MAX_FAULTS];
    struct plan_env env[BOARD_MAX_ENV];
    struct plan_sweep sweep;
    int n_points, n_steps, n_roles, n_faults, n_env;
};

/* NULL on any error (complained about). Reads at most 256 KiB; a larger file is refused. */
struct plan *plan_read(const char *file, struct complaints *c);
void plan_free(struct plan *p);

/* Makes a plan that was read that of one trial, from 1: seeds that rise have its number added. */
void plan_for_trial(struct plan *p, int number);

/* A fault in one line for people: "fail init_step rank 0 return -1"; the caller's to free. */
char *plan_fault_text(const struct plan *p, const struct plan_fault *f);

/* What `within:` says for this point: the hook where a hook is named itself, else the point. */
const char *plan_outer_name(const struct plan_point *outer);

/* The step (index) that a point's `after:` names, by its number from 1, its text, or text and "#2"
 * for the second of that text; -1: no such step. */
int plan_after(const struct plan *p, const char *after);

/* Rule 17 and all else that can be known beforehand. n_ranks 0: unknown yet. `program`: path of the
 * program that will run, or NULL when unknown. False: complained. */
bool plan_check(const struct plan *p, int n_ranks, const char *program, struct complaints *c);

/* What is probably a mistake but may come true while the program runs, because it can load more
 * modules: functions of `call:` that nothing of the program exports, with the nearest names that it
 * does. Warnings, never a refusal. */
void plan_doubts(const struct plan *p, const char *program, struct complaints *c);

/* Fills the constant part of `b` (all of it zero before) from the plan: everything except node,
 * ranks, names of the trial, offsets and sums. False: a table is too small for the plan;
 * complained. */
bool plan_compile(const struct plan *p, double time_scale, struct board *b, struct complaints *c);
/* Adds a text once to the board's strings; false: they are full, *at is 0. */
bool board_add_string(struct board *b, const char *text, uint32_t *at);

/* Creates DIR/board (mode 0600, allocated in full), compiles the plan onto it, maps it shared.
 * NULL: complained. When DIR lies on a network file system the board is made in a private folder of
 * /dev/shm or /tmp and DIR/board links to it. `shim_path` may be NULL. */
struct board *board_create(const char *dir, const struct plan *p, int n_ranks, double time_scale,
                           const char *trial_name, const char *shim_path, struct complaints *c);
/* Maps an existing board read-write; NULL: complained (damaged, truncated, other version). */
struct board *board_open(const char *path, struct complaints *c);
void board_close(struct board *b);
/* Removes DIR/board, also where board_create had to put it on a local disk elsewhere. */
void board_remove(const char *dir);

#endif
