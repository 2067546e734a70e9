/* A queue of the places of a table, the oldest first. Each place stands in it at most once, so that
 * it never overflows. On any thread, also in signal handlers: no lock, and nobody waits for a
 * thread that was stopped in the midst of it. */
#ifndef HOLDPOINT_QUARANTINE_H
#define HOLDPOINT_QUARANTINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { QUARANTINE_MOST = (1 << 20) - 1 }; /* places */
struct quarantine {
    _Atomic uint64_t *entry; /* n of them, all 0 at first; each says which turn it is of */
    uint32_t n;
    _Atomic uint64_t in, out; /* turns, 1 at first */
};

/* Puts a place in that is not in it. */
void quarantine_put(struct quarantine *q, uint32_t place);
/* False: it is empty, or those in it are still being put in. */
bool quarantine_take(struct quarantine *q, uint32_t *place);
/* Forgets all, and those who were in the midst of it: in a fork child, alone. */
void quarantine_empty(struct quarantine *q);

#endif
