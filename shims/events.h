/* The timeline: one ring of records a thread on the board. A ring that wrapped only shortens it; no
 * verdict depends on it. */
#ifndef HOLDPOINT_EVENTS_H
#define HOLDPOINT_EVENTS_H
#include "board.h"
void event_write(enum event_kind kind, uint16_t point, uint16_t step, uint16_t fault, uint64_t a,
                 uint64_t b);
void event_thread_ends(void);
#endif
