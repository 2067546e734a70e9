/* What the runner sees of the ranks while a trial runs: which process is gone, which step can never
 * be done any more, which thread sleeps inside a call that the plan waits for. Reads /proc and the
 * board, writes the board's states; signals nobody. Called by one thread, again and again. */
#ifndef HOLDPOINT_WATCH_H
#define HOLDPOINT_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "board/board.h"
#include "waits.h"

/* One look at a sleeper's thread; two alike that are at least 1 ms apart mean that it sleeps. */
struct watch_look {
    board_party party;
    uint32_t inside;
    uint64_t switches; /* voluntary context switches */
    uint64_t ns;
    bool asleep;
    bool counted_early; /* for this `inside` */
};
struct watch_slot {
    pid_t pid;
    uint64_t start; /* of the process, to know it again */
    bool seen, gone;
};
struct watch {
    struct board *b;
    struct watch_slot *slot; /* n_slots */
    uint64_t *rank_ended; /* n_ranks: since when no process of the rank lives; 0: one does or may */
    struct watch_look look[BOARD_MAX_SLEEPERS];
    struct waits waits;
    bool deadlocked;    /* detector `deadlock` has reported: nothing more will come of the trial */
    bool nothing_lives; /* set by the runner when the whole tree has ended */
};

void watch_begin(struct watch *w, struct board *b);
void watch_free(struct watch *w);

/* One round. Returns after how many nanoseconds the next is due. */
uint64_t watch_round(struct watch *w, uint64_t now);

/* The wait status of the process that rank `rank` was started as (launcher local). */
void watch_rank_ended(struct watch *w, int rank, pid_t pid, int status, uint64_t now);

/* Has anything moved that only a live program moves? A number that changes when it has. */
uint64_t watch_activity(const struct watch *w);

/* Does a thread stand at a gate or in a hold of ours? Then nothing moves because we want it so, and
 * that ends by the plan's own timeout. */
bool watch_is_holding(const struct watch *w);

/* Ends every sequence that is still running as lost: the runner stops the trial because of `why`.
 */
void watch_end_all(struct watch *w, const char *why, uint64_t now);

/* Every hold ends: the board's phase, and everybody who waits, woken. */
void watch_release_all(struct watch *w);

#endif
