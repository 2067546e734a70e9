/* Hooks thread.start and thread.exit: pthread_create before the original, its start routine wrapped
 * (ways 1, 4). pthread_join, so that the lock table knows who waits for whose end. */
#include "engine.h"
#include "fault_signals.h"
#include "lock_table.h"
#include "original.h"
#include "process.h"
#include "thread.h"

#include <errno.h>
#include <pthread.h>

ORIGINAL(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)
ORIGINAL(int, pthread_join, pthread_t, void **)

/* Between pthread_create and the first instruction of the new thread. */
struct start {
    _Atomic uint32_t taken;
    uint32_t blocked; /* of the fault signals, by its creator */
    void *(*routine)(void *);
    void *argument;
};
enum { MAX_STARTING = 256 };
static struct start starting[MAX_STARTING];

static struct start *take_start(void *(*routine)(void *), void *argument) {
    for (int i = 0; i < MAX_STARTING; i++) {
        uint32_t no = 0;
        if (atomic_load_explicit(&starting[i].taken, memory_order_relaxed) ||
            !atomic_compare_exchange_strong(&starting[i].taken, &no, 1))
            continue;
        starting[i].routine = routine;
        starting[i].argument = argument;
        starting[i].blocked = fault_signals_blocked();
        return &starting[i];
    }
    process_table_full(TABLE_THREADS);
    return NULL;
}

static void arrive(enum hook_id id, void *(*routine)(void *)) {
    struct arrival a = ARRIVAL(engine_hook(id), SIDE_ENTER);
    a.sp = (uintptr_t)__builtin_frame_address(0);
    a.attr[0] = (struct arrival_attr){.id = ATTR_START, .code = (const void *)(uintptr_t)routine};
    a.n_attrs = 1;
    if (a.hook != BOARD_NONE && engine_takes_part())
        engine_arrive(&a);
}

/* Runs when the routine has returned, and when the thread was cancelled or left it by pthread_exit.
 */
static void thread_ends(void *routine) {
    arrive(HOOK_THREAD_EXIT, (void *(*)(void *))(uintptr_t)routine);
    engine_thread_ends();
}

static void *run(void *data) {
    struct start *s = data;
    void *(*routine)(void *) = s->routine;
    void *argument = s->argument, *result;
    fault_signals_inherit(s->blocked);
    atomic_store(&s->taken, 0);
    pthread_cleanup_push(thread_ends, (void *)(uintptr_t)routine);
    arrive(HOOK_THREAD_START, routine);
    result = routine(argument);
    pthread_cleanup_pop(1);
    return result;
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread,
                                                          const pthread_attr_t *attributes,
                                                          void *(*routine)(void *),
                                                          void *argument) {
    process_start();
    struct start *s = process_armed() ? take_start(routine, argument) : NULL;
    if (!s)
        return get_pthread_create()(thread, attributes, routine, argument);
    atomic_fetch_add_explicit(&process_slot()->threads_seen, 1, memory_order_relaxed);
    int failed = get_pthread_create()(thread, attributes, run, s);
    if (failed)
        atomic_store(&s->taken, 0);
    return failed;
}

static void joined(void *call) {
    lock_table_answered(call, false);
}

__attribute__((visibility("default"))) int pthread_join(pthread_t thread, void **result) {
    if (!lock_interest())
        return get_pthread_join()(thread, result);
    struct lock_call c = {
        .object = (const void *)thread, .kind = LOCK_JOIN, .waiting = WAIT_FOREVER};
    int failed;
    lock_table_asks(&c);
    pthread_cleanup_push(joined, &c);
    failed = get_pthread_join()(thread, result);
    pthread_cleanup_pop(1);
    return failed;
}
