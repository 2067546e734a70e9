/* This process, as a rank of the trial: the board, the slot, whether it takes part.
 * The state lies on a page that the kernel zeroes in a fork child, so that no path into a child,
 * not even a raw clone, leaves it armed (semantics.md, Steps 12). */
#ifndef HOLDPOINT_PROCESS_H
#define HOLDPOINT_PROCESS_H

#include "board.h"

struct process {
    _Atomic uint32_t armed; /* 1: checked in; 0: not a rank, or a fork child */
    uint32_t pid;
    uint16_t slot, incarnation;
    int32_t rank;
    uint32_t exiting; /* process.exit was reported */
    struct board *board;
    struct board_seq *seq; /* NULL: this rank has no sequence */
};
extern struct process *process; /* never NULL after the constructor; before: an all-zero page */

static inline bool process_armed(void) {
    return atomic_load_explicit(&process->armed, memory_order_relaxed) != 0;
}
static inline struct board_slot *process_slot(void) {
    return &board_slots(process->board)[process->slot];
}

/* Idempotent. Called by the constructor, and by hooks that run before it. */
void process_start(void);

/* Is a sanitizer's runtime in this process? Then the heap is its own. */
bool process_has_sanitizer(void);

/* Once: the slot says "ended by exit with this status". */
void process_record_exit(int status);

/* Puts one sentence into the slot, for the verdict's reason. */
void process_problem(const char *sentence);
void process_table_full(enum board_table table);

/* True when a child of this process may keep the preload. */
bool process_children_follow(void);

/* Copies `envp` without what holdpoint put there, into `out` (room for n_out pointers and, for
 * LD_PRELOAD with entries of the user's own, preload_bytes of `preload`). Returns out, or envp when
 * it does not fit. */
char *const *process_clean_environment(char *const *envp, char **out, size_t n_out, char *preload,
                                       size_t preload_bytes);
/* The user's own entries of an LD_PRELOAD value; false: none are left. */
bool process_clean_preload(const char *preload, char *out, size_t room);
size_t process_count_environment(char *const *envp);

#endif
