/* What the shim knows of one thread. Lies in static TLS: reading it never allocates and is safe in
 * signal handlers. A fork child starts with a copy of its parent's, which the process page makes
 * void. */
#ifndef HOLDPOINT_THREAD_H
#define HOLDPOINT_THREAD_H

#include "board.h"
#include <sys/syscall.h>
#include <unistd.h>

enum { THREAD_MAX_BRACKETS = 16 };

struct thread {
    uint32_t tid; /* 0: not known yet */
    uint32_t pid;
    uint32_t engaged;  /* > 0: inside the engine, re-entry is ignored */
    uint32_t sleeping; /* entries of the board's sleeper table that this thread holds */
    int32_t top_probe; /* 1 + index of the innermost return probe, 0: none */
    uintptr_t stack_low, stack_high; /* 0: not known yet */
    struct board_ring *ring;
    struct board_thread *locks; /* its entry of the lock table, NULL: none; void unless: */
    uint32_t locks_pid;         /* ... it is the process's */
    uint32_t makes_own;         /* > 0: it creates a thread of ours, which is nobody's arrival */
    uint32_t in_locks;          /* > 0: inside the lock table, re-entry is not tracked */
    struct {
        uintptr_t sp;                   /* 0: outside, or: */
        const _Atomic uint32_t *extent; /* open while *extent is `generation`; NULL: by sp */
        uint32_t generation;
        uint32_t entry;
    } inside[BOARD_MAX_POINTS]; /* `within`: extent of point i */
    struct {
        const _Atomic uint32_t *extent; /* NULL: free */
        uint32_t generation;
        uint16_t point;
    } also[THREAD_MAX_BRACKETS]; /* brackets that began while one of the same point was open */
    struct {
        uint32_t epoch, count;
    } nth[BOARD_MAX_POINTS]; /* arrivals counted for this thread alone */
};
extern __thread struct thread thread_self;

/* Layout known to arch/x86_64/vfork.S. child: a vfork child runs on this thread's stack and memory.
 */
struct vfork_state {
    uint32_t child, pad;
    void *return_address;
};
extern __thread struct vfork_state vfork_state;

static inline uint32_t thread_id(void) {
    return (uint32_t)syscall(SYS_gettid);
}

/* This thread on the board. Its state is made new at its first use in a process that checked in: a
 * fork child that `follow` lets in starts with a copy of its parent's. */
board_party thread_party(void);

/* This thread's stack, as [low, high); low is generous for the main thread, whose stack grows. */
void thread_stack(uintptr_t *low, uintptr_t *high);

#endif
