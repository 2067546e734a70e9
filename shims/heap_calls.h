/* The allocating and freeing functions, as the detectors `heap` and `locks` see them (way 2): those
 * that allocate in the modules that the plan names, those that free in all, since a block may be
 * freed anywhere. Never under a sanitizer, whose own the heap is then. */
#ifndef HOLDPOINT_HEAP_CALLS_H
#define HOLDPOINT_HEAP_CALLS_H
#include "slots.h"
extern const struct slot_user heap_slots;
/* At check-in, before the first slot is looked at. */
void heap_calls_start(void);
/* The live test of detector `heap`. */
bool heap_calls_self_test(void);
#endif
