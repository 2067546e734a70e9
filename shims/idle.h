/* Can anything come of an arrival at this hook now? Asked before vector registers are saved, so
 * idle.c is compiled to touch general registers only and calls nothing. Answers true only when it
 * is certain. */
#ifndef HOLDPOINT_IDLE_H
#define HOLDPOINT_IDLE_H

#include "board.h"

/* Filled by engine_start. */
struct idle_hook {
    uint64_t points; /* bit per point with this hook that this rank can match */
    bool never; /* some point must be looked at whatever the steps say: a role's `at`, a `within` */
};
extern struct idle_hook idle_hook[BOARD_MAX_HOOKS];

bool idle_now(uint16_t hook);

#endif
