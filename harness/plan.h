/* A plan as read from a file, checked, before it is compiled onto a board. All memory belongs to the
 * plan and is freed by plan_free. Errors go to a `struct complaints`, each with file, line and what to do.
 */
#ifndef HOLDPOINT_PLAN_H
#define HOLDPOINT_PLAN_H

#include "board/board.h"
#include "complaints.h"

struct plan_filter { enum attr_id attr; char *text; int64_t number; };

struct plan_point {
    char *name; /* "role NAME" for the point that holds a role's `at` */
    enum hook_id hook;
    char *module, *function, *from; /* call: hooks */
    enum side side;
    int rank; /* -1: any */
    int role; /* index into roles, -1: none */
    int within; /* index into points, -1: none */
    unsigned nth;
    char *caller;
    bool crowd_hold, same;
    char *after; /* a step's text or number as written, NULL: armed from the start */
    struct plan_filter filter[8];
    int n_filters;
    int line, column;
};
struct plan_step { enum step_kind kind; int point; int line; char *text; };
struct plan_role { char *name; int point; int line; };
struct plan_fault {
    int point, until; /* until: -1: none */
    enum fault_action action;
    int rank;
    bool return_is_arg;
    int64_t ret;
    int error_number, signal_number;
    uint64_t ns;
    unsigned times, nth, every, from, to;
    double prob; /* 0: unset */
    uint64_t seed;
    int line;
    char *text;
};
struct plan_env { int rank; char *assignment; };

struct plan {
    char *file, *name;
    uint64_t hash; /* FNV-1a 64 of the file's bytes */
    bool scope_rank;
    int ranks[BOARD_MAX_RANKS], n_ranks_listed; /* `ranks:` of scope rank */
    uint64_t timeout_ns;                        /* unscaled; default 5 s */
    unsigned detectors;                         /* enum detector bits */
    enum follow_policy follow;
    char *follow_program;
    struct plan_point point[BOARD_MAX_POINTS];
    struct plan_step step[BOARD_MAX_STEPS];
    struct plan_role role[BOARD_MAX_ROLES];
    struct plan_fault fault[BOARD_MAX_FAULTS];
    struct plan_env env[BOARD_MAX_ENV];
    int n_points, n_steps, n_roles, n_faults, n_env;
};

/* NULL on any error (complained about). Reads at most 256 KiB; a larger file is refused. */
struct plan *plan_read(const char *file, struct complaints *c);
void plan_free(struct plan *p);

/* Rule 17 and all else that can be known beforehand. n_ranks 0: unknown yet. `program`: path of the program
 * that will run, or NULL when unknown. False: complained. */
bool plan_check(const struct plan *p, int n_ranks, const char *program, struct complaints *c);

/* Creates DIR/board (mode 0600, allocated in full), compiles the plan onto it, maps it shared. NULL: complained. */
struct board *board_create(const char *dir, const struct plan *p, int n_ranks, double time_scale,
                           const char *trial_name, const char *shim_path, struct complaints *c);
/* Maps an existing board read-write; NULL: complained (damaged, truncated, other version). */
struct board *board_open(const char *path, struct complaints *c);
void board_close(struct board *b);

#endif
