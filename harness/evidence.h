/* DIR/evidence.txt: what the whole tree of a trial was doing when it was given up. Runner, one
 * thread. */
#ifndef HOLDPOINT_EVIDENCE_H
#define HOLDPOINT_EVIDENCE_H

#include "board/board.h"
#include "tree.h"

/* Takes at most about 10 s. `why`: one sentence. What stood in the file comes after it. */
void evidence_write(const char *dir, const char *why, const struct board *b, const struct tree *t);

/* The thread that waits and the held one that it waits for: fills the stacks of `found`, and writes
 * what both processes do. Called before the sequence ends, while both still stand there. */
void evidence_blocked(const struct board *b, struct board_blocked *found, const char *sentence);

#endif
