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

/* The thread is about to end: frees its probes. */
void probe_thread_ends(void);

#endif
