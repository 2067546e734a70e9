/* Detector `heap`: blocks in pages of their own. A guarded block ends, as its alignment allows,
 * where an unreadable page begins; once it is freed its pages are closed, contents and all, and lie
 * in quarantine until there is no other room, the oldest first. A fault there is a finding, after
 * which the page is opened and the program goes on as it would have gone.
 *
 * Any thread, signal handlers too: no lock, no allocation, errno kept. A fork child may free and
 * use what it inherited; nothing more is guarded or found there, unless it is let in as a rank. */
#ifndef HOLDPOINT_HEAP_GUARD_H
#define HOLDPOINT_HEAP_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At check-in. False: there is no memory for it, or faults cannot be had; complained. */
bool heap_guard_start(void);

/* All blocks lie in here; 0, 0 before the start. */
extern uintptr_t heap_guard_low, heap_guard_high;
/* Is it an address of a guarded block? */
static inline bool heap_guard_has(const void *p) {
    return (uintptr_t)p >= heap_guard_low && (uintptr_t)p < heap_guard_high;
}

/* A block of the size class that the plan names; NULL: it is none, or the table is full. Its
 * contents are not defined. `alignment`: a power of two, at most a page. */
void *heap_guard_allocate(size_t size, size_t alignment);
/* Of an address that heap_guard_has. A second free, and a free of what is no block's start, is a
 * finding and nothing else. */
void heap_guard_free(void *p);
size_t heap_guard_size(const void *p);

/* The kernel is to load from these bytes, or to store there, for a system call, which would fail
 * with EFAULT where the program's own access faults. Before the call, and after an EFAULT: true: a
 * closed page was opened, with its finding, and the call is to be made again. */
bool heap_guard_opens(const void *bytes, size_t n, bool store);
static inline bool heap_guard_kernel(const void *bytes, size_t n, bool store) {
    return __builtin_expect(heap_guard_has(bytes), 0) && heap_guard_opens(bytes, n, store);
}

/* The live test: a private block is freed and read, and that must be seen. */
bool heap_guard_self_test(void);

#endif
