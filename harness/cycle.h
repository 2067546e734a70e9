/* Threads that wait for each other, each for the next, the last for the first: what only the end of
 * their process ends. Runner only; one thread, the watch's. */
#ifndef HOLDPOINT_CYCLE_H
#define HOLDPOINT_CYCLE_H

#include "waits.h"

enum { CYCLE_MOST = 8 };
struct cycle {
    uint32_t n;
    board_party thread[CYCLE_MOST];
    struct wait wait[CYCLE_MOST]; /* of that thread */
    /* Of a condition: how many other threads have signalled it, the next of the cycle among them;
     * 0: nobody is left to. `forgotten`: or more, who have signalled too many others since. */
    uint32_t signallers[CYCLE_MOST];
    bool forgotten[CYCLE_MOST];
};

/* False: there is none, or a longer one. Owners of locks and threads that are joined are looked for
 * first; their waits count once they were the same for 100 ms. Then processes that are at rest.
 *
 * Who would end a wait on a condition, nobody can know: a thread that never signalled it could be
 * the first to do so. So a cycle with such a wait counts only in a process *all* of whose threads
 * (the kernel's list, in the lock table or not) have been asleep, in the same wait, for a second,
 * without a limit, each for a condition that no other process can signal, for a lock that another
 * of them owns, or for the end of another. In that process a wait on a condition is one for the
 * threads that have signalled it before, each of which must be stuck in the cycle or behind it.
 * Where that leads to none (nobody ever signalled it, say), the cycle is one of two: a thread that
 * waits for a lock, and the lock's owner, who waits on a condition that nobody is left to signal.
 */
bool cycle_find(const struct waits *w, struct cycle *c);

#endif
