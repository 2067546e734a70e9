/* A process's way onto the board: mapping the file, taking a slot. Async-signal-safe; says nothing
 * to anybody. */
#ifndef HOLDPOINT_JOIN_H
#define HOLDPOINT_JOIN_H

#include "board.h"

/* Maps the board at `path` for reading and writing. NULL: *problem says why, and errno is set where
 * `path` could not be opened, else 0. */
struct board *join_board(const char *path, const char **problem);

/* Takes slot `i` for this process as a part of the rank; false: it is taken. */
bool join_slot(struct board *b, uint32_t i, int32_t rank, bool is_follower);
/* The same with the first free slot that is not numbered like a rank; -1: all are taken (noted on
 * the board). */
int join_spare_slot(struct board *b, int32_t rank, bool is_follower);

#endif
