/* A rank's place on the board: mapping the board, taking a slot. Used by holdpoint-rank. */
#ifndef HOLDPOINT_SLOT_H
#define HOLDPOINT_SLOT_H

#include "board.h"

/* Maps the board at `path` for reading and writing. NULL: said on stderr. */
struct board *slot_map_board(const char *path);

/* Takes a free slot for this process and rank: the one numbered like the rank if it is free.
 * -1: all are taken (noted on the board). */
int slot_take(struct board *b, int32_t rank);

/* This process will end by itself with `status` without ever becoming the program. */
void slot_leave(struct board *b, int slot, int status);

#endif
