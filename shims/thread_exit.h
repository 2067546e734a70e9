/* The end of a thread, between hook_thread.c, which knows where threads start, and
 * hook_thread_exit.c, which knows their destructors. */
#ifndef HOLDPOINT_THREAD_EXIT_H
#define HOLDPOINT_THREAD_EXIT_H

/* The end of this thread will be seen. For one whose start was: before its start routine; for
 * others (the main thread, those that the C library makes for itself) as soon as there is anything
 * that must end with the thread. Signal-safe. */
void thread_exit_prepare(void);
/* The start routine has returned, or it was cancelled or left by pthread_exit: the exit begins,
 * and lasts until the last destructor of the thread has run. */
void thread_exit_begins(void *(*routine)(void *));

/* Layout known to arch/x86_64/key.S: one entry for each key that a process may have. */
enum { THREAD_KEYS = 1024 };
extern const char thread_key_entries[] __attribute__((visibility("hidden")));
enum { THREAD_KEY_ENTRY_BYTES = 16 };
void thread_key_destroy(void *value, unsigned key) __attribute__((visibility("hidden")));

#endif
