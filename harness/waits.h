/* Who waits for whom, as the lock table and the kernel say it: what the searches for holds that
 * cannot end (blocked.h) and for deadlocks (cycle.h) are made of. Reads the board and /proc,
 * changes nothing. Runner only; one thread, the watch's. */
#ifndef HOLDPOINT_WAITS_H
#define HOLDPOINT_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "board/board.h"

/* Since when a thread has been in the same wait. */
struct waits_look {
    board_party party;
    uint64_t number, ns;
};
struct waits {
    const struct board *b;
    struct waits_look *look; /* n_threads of the board, or NULL */
};
void waits_begin(struct waits *w, const struct board *b);
void waits_free(struct waits *w);

/* One look at every thread of the lock table. How long a wait has lasted is counted from the look
 * that saw it first. */
void waits_look(struct waits *w, uint64_t now);

/* This thread's entry in the table, or NULL. */
const struct board_thread *waits_thread(const struct waits *w, board_party party);
/* The thread has been in one and the same wait for at least `ns`. Asks the table only. */
bool waits_last(const struct waits *w, const struct board_thread *t, uint64_t ns);

struct wait {
    uint64_t address; /* lock, condition variable, pthread_t */
    uint32_t kind;    /* enum lock_kind */
};
/* What the thread has waited for during at least `ns`, asleep, and cannot give up by itself; false:
 * nothing. A thread that was told to wake from a condition waits for the mutex. */
bool waits_for(const struct waits *w, const struct board_thread *t, uint64_t ns, struct wait *wait);
/* Does the thread stand in the way of `waiter`, who waits so? It owns the lock, or is the thread
 * whose end is waited for. Nobody stands in the way of a condition. */
bool waits_in_the_way(const struct board_thread *t, const struct wait *wait, board_party waiter);

/* How the owner holds the lock; NULL: it does not. */
const struct board_held *waits_held(const struct board *b, board_party owner, uint64_t address);

/* Is it so of every thread that the process has now, in the table or not? */
typedef bool waits_about(board_party, void *data);
bool waits_every_thread(const struct waits *w, uint16_t slot, waits_about *is_so, void *data);

#endif
