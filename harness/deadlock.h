/* Detector `deadlock`: a cycle of threads that wait for each other becomes a finding on the board.
 * Runner only; stops the threads for the moment of a stack walk. */
#ifndef HOLDPOINT_DEADLOCK_H
#define HOLDPOINT_DEADLOCK_H

#include "cycle.h"

/* Writes the finding, with the stacks of the first two threads: where they wait, and where they
 * took what the one before waits for. */
void deadlock_report(struct board *b, const struct cycle *cycle);

#endif
