/* Mapping a board so that the runner survives a rank that truncates its file. Main thread of the
 * runner. */
#ifndef HOLDPOINT_BOARD_MAP_H
#define HOLDPOINT_BOARD_MAP_H

#include <stdbool.h>
#include <stddef.h>

/* Maps `bytes` of the file, shared; NULL with errno. Several boards may be mapped at once. Where
 * the file has been cut off the mapping turns to zeros instead of killing the process; what is read
 * from the file later shows the damage. */
void *board_map(int fd, size_t bytes);
/* Replaces the whole pages of the first `bytes` by a copy of the caller's own: what ranks have no
 * business to change, and would lead the caller astray if they did. False: see errno. */
bool board_own_head(void *mapped, size_t bytes);
void board_unmap(void *mapped);

#endif
