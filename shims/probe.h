/* Return probes: the return address of one live frame is replaced, so that we get control at the
 * instant the frame dies (design.md, way 6; also the return side of way 2). Unwinders see through
 * it: arch/x86_64/probe.S. A bounded pool for the process; each thread keeps its own in order of
 * depth. Signal-safe. */
#ifndef HOLDPOINT_PROBE_H
#define HOLDPOINT_PROBE_H

#include <stdbool.h>
#include <stdint.h>

enum { PROBE_COUNT = 1024 };

/* What the returning function left in the registers that carry results; changes are seen by the
 * caller. */
struct probe_result {
    int64_t rax, rdx;
};

/* Called on the thread whose frame returned; `data` and `number` as given to probe_set. */
typedef void probe_function(void *data, uint64_t number, uintptr_t sp_after, const void *returns_to,
                            struct probe_result *r);

/* Replaces *return_slot. dead_below: no frame of this stack below it is alive any more, apart from
 * the shim's own. False: the pool is full (reported on the board); the call is then not seen
 * returning. */
bool probe_set(void **return_slot, uintptr_t dead_below, probe_function *function, void *data,
               uint64_t number);

/* May the frame still return to a probe with this function and data, on any thread? False also when
 * the frame was left (a jump, an exception), once something else lies in its return slot. */
bool probe_may_return(probe_function *function, const void *data);

/* No frame of this thread that lies in [low, high) is alive any more. */
void probe_stack_is_gone(uintptr_t low, uintptr_t high);

/* The thread is about to end: frees its probes. */
void probe_thread_ends(void);

#endif
