/* DIR/evidence.txt: what the whole tree of a trial was doing when it was given up. Runner, one
 * thread. */
#ifndef HOLDPOINT_EVIDENCE_H
#define HOLDPOINT_EVIDENCE_H

#include "board/board.h"
#include "tree.h"

/* Takes at most about 10 s. `why`: one sentence. */
void evidence_write(const char *dir, const char *why, const struct board *b, const struct tree *t);

#endif
