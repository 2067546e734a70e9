/* Detector `locks`: what a program may not do with a lock. Called by the hooks of locks before or
 * after the original, on the thread that does it; nothing when the plan does not ask for it. A
 * finding needs what the lock table knows and what stands in the lock itself to agree, so that
 * memory that was used again without our knowing is no finding. Never locks, never allocates. */
#ifndef HOLDPOINT_LOCK_MISUSE_H
#define HOLDPOINT_LOCK_MISUSE_H

#include "lock_table.h"

#include <pthread.h>

enum lock_kind lock_misuse_mutex_kind(const pthread_mutex_t *m);

/* Before: use after destroy; asked for by the thread that owns it. */
void lock_misuse_asks(const void *lock, enum lock_kind kind, enum lock_waiting waiting);
/* After: it was refused with EDEADLK; the thread owns it now. */
void lock_misuse_refused(const void *lock);
void lock_misuse_acquired(const void *lock);
/* Before, and before the lock table forgets the owner: use after destroy; nobody owns it, somebody
 * else does, its memory was freed or overwritten while it was owned, or an EDEADLK was ignored. */
void lock_misuse_releases(const void *lock, enum lock_kind kind);
/* Before: somebody owns it; it was destroyed before. */
void lock_misuse_destroys(const void *lock, enum lock_kind kind);
/* After it was destroyed; before it is initialized. */
void lock_misuse_destroyed(void *lock, enum lock_kind kind);
void lock_misuse_begins(const void *lock);

/* A block of the heap is about to be freed, the allocator's bytes of it: a lock in it is owned or
 * waited for. Called for every free, when it has anything to look for. */
bool lock_misuse_looks_at_frees(void);
void lock_misuse_frees(const void *block, size_t bytes);

/* The live test: a private mutex is destroyed while it is owned, and that must be seen. */
bool lock_misuse_self_test(void);

#endif
