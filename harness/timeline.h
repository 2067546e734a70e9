/* The events of all rings of a board as one list in order of time. */
#ifndef HOLDPOINT_TIMELINE_H
#define HOLDPOINT_TIMELINE_H

#include <jansson.h>

#include "board/board.h"

enum { TIMELINE_MOST = 400 };

/* At most TIMELINE_MOST events; plain arrivals are left out first, then the oldest. `note` (the
 * caller's to free) says what is missing, "" when nothing is. */
json_t *timeline_json(const struct board *b, uint64_t begin, char **note);

/* Milliseconds since `begin`, to a microsecond; JSON null for 0. */
json_t *timeline_ms(uint64_t ns, uint64_t begin);

#endif
