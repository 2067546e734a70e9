/* What /proc tells of another thread of this process. No allocation. */
#ifndef HOLDPOINT_PEER_THREAD_H
#define HOLDPOINT_PEER_THREAD_H
#include <stdbool.h>
#include <stdint.h>
/* The thread sleeps in a system call: its stack pointer there and how often it was switched out so
 * far. The same count later means that it has not run in between. False: it runs, is gone, or the
 * kernel does not say. */
bool peer_thread_asleep(uint32_t tid, uintptr_t *sp, uint64_t *switches);
#endif
