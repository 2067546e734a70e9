/* The lock table: who owns and who waits for what, on the board, so that it outlives every party.
 * Each thread writes its own entry and nobody else's, save that a lock released by a stranger and a
 * condition that is destroyed are taken out. Any thread, signal handlers too; never locks, never
 * allocates. A table that is too small is TABLE_LOCKS. */
#ifndef HOLDPOINT_LOCK_TABLE_H
#define HOLDPOINT_LOCK_TABLE_H

#include "board.h"

/* Why hooks of locks have anything to do; 0: nothing, which costs a program one relaxed load. */
enum lock_interest { LOCKS_TRACKED = 1, LOCKS_HOOKED = 2 };
extern uint32_t lock_interest_bits;
static inline uint32_t lock_interest(void) {
    return __atomic_load_n(&lock_interest_bits, __ATOMIC_RELAXED);
}

/* At check-in, after engine_start. */
void lock_table_start(void);
void lock_table_thread_ends(void);

/* A call that asks for a lock or waits for something, between its beginning and its end. */
enum lock_waiting { WAIT_NEVER, WAIT_TIMED, WAIT_FOREVER };
struct lock_call {
    const void *object; /* lock, condition variable, or the thread that is joined */
    enum lock_kind kind;
    enum lock_waiting waiting;
    const void *mutex; /* condition variables: the mutex */
    const void
        *frame; /* of the exported function that the program called; NULL: no stack is kept */
    /* the table's own notes */
    struct board_thread *thread; /* NULL: not tracked */
    bool released;               /* the mutex was released for the wait */
    enum lock_kind mutex_kind;
    /* what a call waits for that a signal handler interrupted */
    uint64_t object_before, mutex_before;
    uint32_t kind_before, timed_before;
    uint64_t pc[BOARD_LOCK_FRAMES];
};

/* The thread is about to ask. */
void lock_table_asks(struct lock_call *c);
/* The call is over; the thread owns the lock now, or does not. */
void lock_table_answered(struct lock_call *c, bool acquired);

/* The thread is about to give a lock back, one level of it. True: it was its own. */
bool lock_table_release(const void *lock);

/* A wait on a condition variable: the mutex is released while it lasts and comes back with its end.
 */
void lock_table_waits(struct lock_call *c);
void lock_table_woke(struct lock_call *c, bool mutex_is_back);

/* The thread is about to signal the condition, to one or to all: it is remembered as one that does,
 * until it has signalled too many others since, or the condition is destroyed. */
void lock_table_signals(const void *condition);
void lock_table_condition_ends(const void *condition);

/* This thread's own entry for the lock; NULL: it does not own it, as far as the table knows. */
struct board_held *lock_table_own(const void *lock);
/* An owner of the lock in this process and its entry; `but_me`: another thread than this. NULL: the
 * table knows none. `n`: how many there are, may be NULL. */
struct board_held *lock_table_owner(const void *lock, bool but_me, board_party *owner, uint32_t *n);
/* A lock in these bytes that a thread of this process owns, those whose memory was freed before
 * left out; or else (`asked`) one that a thread asks for. Cheap while nobody owns much. */
struct lock_inside {
    uint64_t address;
    enum lock_kind kind;
    board_party party;
    struct board_held *held; /* NULL: it is asked for */
};
bool lock_table_inside(const void *from, size_t bytes, bool asked, struct lock_inside *found);
/* The live test of detector `deadlock`, whose other half reads this table in the runner: that a
 * private lock is owned and waited for stands in it, and goes again. */
bool lock_table_self_test(void);
/* Takes the lock out of every entry of this process: it is initialized, or its memory is new. */
void lock_table_forget(const void *lock);

#endif
