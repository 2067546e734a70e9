/* Rule 13 of the steps (semantics.md), its third arm: a hold that cannot end by its pass, because
 * the thread which the next step needs waits for a lock that a held thread owns. A wait on a
 * condition is none for a lock: the lock table does not show who would end it. Runner only. */
#ifndef HOLDPOINT_BLOCKED_H
#define HOLDPOINT_BLOCKED_H

#include "waits.h"

/* Is the running sequence blocked? Fills *found, all but the stacks, and says so in one sentence. A
 * wait counts once it was the same at two looks at least 100 ms apart. */
bool blocked_find(const struct waits *w, const struct board_seq *s, struct board_blocked *found,
                  char *sentence, unsigned size);

#endif
