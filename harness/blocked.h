/* Rule 13 of the steps (semantics.md), its third arm: a hold that cannot end by its pass, because
 * the thread which the next step needs waits for a lock that a held thread owns. Reads the lock
 * table and /proc; one thread, the watch's. */
#ifndef HOLDPOINT_BLOCKED_H
#define HOLDPOINT_BLOCKED_H

#include <stdbool.h>
#include <stdint.h>

#include "board/board.h"

/* Since when a thread has been in the same wait. */
struct blocked_look {
    board_party party;
    uint64_t number, ns;
};
struct blocked_looks {
    struct blocked_look *look; /* n_threads of the board, or NULL */
};
void blocked_begin(struct blocked_looks *l, const struct board *b);
void blocked_free(struct blocked_looks *l);

/* One look at every thread of the lock table. A wait counts once it was the same at two looks at
 * least 100 ms apart, and only if it does not end by itself. */
void blocked_look(struct blocked_looks *l, const struct board *b, uint64_t now);

/* Is the running sequence blocked? Fills *found, all but the stacks, and says so in one sentence.
 */
bool blocked_find(const struct blocked_looks *l, const struct board *b, const struct board_seq *s,
                  struct board_blocked *found, char *sentence, unsigned size);

/* How the owner holds the lock; NULL: it does not. */
const struct board_held *blocked_held(const struct board *b, board_party owner, uint64_t address);

/* Threads that wait for each other's locks or ends, each for the next, the last for the first. */
enum { BLOCKED_CYCLE = 8 };
struct blocked_cycle {
    uint32_t n;
    board_party thread[BLOCKED_CYCLE];
    uint64_t address[BLOCKED_CYCLE]; /* what that thread waits for */
    uint32_t kind[BLOCKED_CYCLE];
};
/* A cycle, which only the end of its process ends; false: there is none, or a longer one. Where no
 * cycle of owners is: two threads of a process all of whose threads wait for each other, one for a
 * lock of the second, which waits on a condition (LOCK_CONDITION) that nobody is left to signal. */
bool blocked_find_cycle(const struct blocked_looks *l, const struct board *b,
                        struct blocked_cycle *cycle);

#endif
