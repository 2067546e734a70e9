/* The engine, as the hook families see it: an arrival is reported, the engine matches it against
 * the plan, holds the thread, and says which fault the family must carry out.
 *
 * Everything here may be called from any thread and from signal handlers once the process has
 * checked in; errno is kept. Before check-in, after fork, and in processes that are no rank every
 * call is a no-op.
 */
#ifndef HOLDPOINT_ENGINE_H
#define HOLDPOINT_ENGINE_H

#include "board.h"

struct arrival_attr {
    enum attr_id id;
    int64_t number;
    const char *text;
    const void *code;
};

struct arrival {
    /* in */
    uint16_t hook;      /* index of the hook on the board, engine_hook() */
    uint16_t side;      /* SIDE_ENTER or SIDE_RETURN */
    const void *caller; /* return address of the hooked call, or NULL */
    uintptr_t sp;       /* the caller's stack pointer: what it is once the call has returned */
    const int64_t *args;
    unsigned n_args;
    struct arrival_attr attr[8];
    unsigned n_attrs;
    bool deferrable; /* the family can go on from another thread: do not hold this one */
    /* What the call is about, never 0 where the hook has the trait O: the address of a lock, the
     * number of a connection (`object_of`). */
    uint64_t object;
    /* An extent that is not one stack frame's: it is open on this thread while *extent is
     * `generation`. Whoever bumps *extent, on any thread, closes it. NULL: it ends with the call.
     */
    const _Atomic uint32_t *extent;
    uint32_t generation;
    /* A stream (trait S): bytes that passed in this direction before, and that may pass now. */
    uint64_t position, length;
    /* out */
    bool must_wait; /* only when deferrable: call engine_wait from another thread */
    bool fails; /* return `result`, with errno `error_number` when it is not 0, without the call */
    int64_t result;
    int error_number;
    bool dropped;   /* callbacks: never call it */
    unsigned times; /* callbacks: call it so often; 1 when nothing was asked */
    uint64_t limit; /* streams: move so many bytes at most; UINT64_MAX when nothing was asked */
    bool severs;    /* streams: cut the connection now, before the call or after it */
    bool guards;    /* calls: run it on a guarded stack */
    /* the engine's own notes between engine_arrive and engine_wait */
    uint16_t claim, crowd_claim;
    uint16_t severing; /* the fault that cuts this stream further on, or BOARD_NONE */
    uint64_t faults;
    uint64_t could_shorten, shortens; /* faults that count this call, and those that limit it */
};

/* Index of a hook that the plan uses, or BOARD_NONE: one relaxed load, the whole cost of a hook
 * that no plan names. */
extern uint16_t engine_hook_index[HOOK_COUNT];
static inline uint16_t engine_hook(enum hook_id id) {
    uint16_t *index = &engine_hook_index[id];
    return __atomic_load_n(index, __ATOMIC_RELAXED);
}

/* True when this thread of this process takes part: checked in, no fork or vfork child, not inside
 * the engine. */
bool engine_takes_part(void);

/* Does the plan look at the end of this call (a return side, an extent for `within`, a sleeper)? */
bool engine_wants_return(uint16_t hook);

/* One side of a call. Fill the in part, zero the rest (ARRIVAL). */
void engine_arrive(struct arrival *a);
/* The deferred rest of an arrival whose must_wait is set; blocks. */
void engine_wait(struct arrival *a);
/* A stream's call has moved so many bytes, or none; sets a->severs when the connection is to be cut
 * here. */
void engine_passed(struct arrival *a, uint64_t bytes);

/* The thread has left the call without coming back from it: it was cancelled in it. */
void engine_left(struct arrival *a);

#define ARRIVAL(hook_index, which_side)                                                            \
    ((struct arrival){.hook = (hook_index),                                                        \
                      .side = (which_side),                                                        \
                      .times = 1,                                                                  \
                      .limit = UINT64_MAX,                                                         \
                      .severing = BOARD_NONE,                                                      \
                      .claim = BOARD_NONE,                                                         \
                      .crowd_claim = BOARD_NONE})

/* Indexes the plan of process->board for this process. */
void engine_start(void);

/* This thread is about to end: its roles are gone, its ring is free for the next. */
void engine_thread_ends(void);

#endif
