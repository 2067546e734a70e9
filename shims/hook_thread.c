/* Hooks thread.create, thread.start and thread.join: pthread_create before the original, its start
 * routine wrapped (ways 1, 4); pthread_join and its like, which the lock table hears of as well, so
 * that it knows who waits for whose end. */
#include "engine.h"
#include "fault_signals.h"
#include "lock_table.h"
#include "original.h"
#include "process.h"
#include "thread.h"
#include "thread_exit.h"

#include <errno.h>
#include <pthread.h>

#define EXPORTED __attribute__((visibility("default")))

ORIGINAL(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)

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

static struct arrival arrival_at(enum hook_id id, enum side side, void *(*routine)(void *),
                                 const void *caller, uintptr_t sp) {
    struct arrival a = ARRIVAL(engine_hook(id), (uint16_t)side);
    a.caller = caller;
    a.sp = sp;
    a.attr[0] = (struct arrival_attr){.id = ATTR_START, .code = (const void *)(uintptr_t)routine};
    a.n_attrs = routine ? 1 : 0;
    return a;
}

static bool arrive(struct arrival *a) {
    bool seen = a->hook != BOARD_NONE && engine_takes_part();
    if (seen)
        engine_arrive(a);
    return seen;
}

/* Runs when the routine has returned, and when the thread was cancelled or left it by pthread_exit.
 */
static void routine_ends(void *routine) {
    thread_exit_begins((void *(*)(void *))(uintptr_t)routine);
}

static void *run(void *data) {
    struct start *s = data;
    void *(*routine)(void *) = s->routine;
    void *argument = s->argument, *result;
    fault_signals_inherit(s->blocked);
    atomic_store(&s->taken, 0);
    thread_exit_prepare();
    struct arrival start = arrival_at(HOOK_THREAD_START, SIDE_ENTER, routine, NULL,
                                      (uintptr_t)__builtin_frame_address(0));
    start.object = (uint64_t)pthread_self();
    pthread_cleanup_push(routine_ends, (void *)(uintptr_t)routine);
    arrive(&start);
    result = routine(argument);
    pthread_cleanup_pop(1);
    return result;
}

/* ---- creating ---- */

static int create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                  void *argument) {
    struct start *s = take_start(routine, argument);
    if (!s)
        return get_pthread_create()(thread, attributes, routine, argument);
    atomic_fetch_add_explicit(&process_slot()->threads_seen, 1, memory_order_relaxed);
    int failed = get_pthread_create()(thread, attributes, run, s);
    if (failed)
        atomic_store(&s->taken, 0);
    return failed;
}

EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                            void *(*routine)(void *), void *argument) {
    process_start();
    if (!process_armed() || thread_self.makes_own)
        return get_pthread_create()(thread, attributes, routine, argument);
    const void *caller = __builtin_return_address(0);
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    struct arrival a = arrival_at(HOOK_THREAD_CREATE, SIDE_ENTER, routine, caller, sp);
    bool seen = arrive(&a);
    if (a.fails)
        return a.error_number ? a.error_number : (int)a.result;
    int failed = create(thread, attributes, routine, argument);
    if (!seen || !engine_wants_return(a.hook))
        return failed;
    struct arrival back = arrival_at(HOOK_THREAD_CREATE, SIDE_RETURN, routine, caller, sp);
    /* Not looked at unasked: a thread that is done already may have freed the memory. */
    back.object = failed ? 0 : (uint64_t)*thread;
    arrive(&back);
    return back.fails ? back.error_number ? back.error_number : (int)back.result : failed;
}

/* ---- joining ---- */

struct joining {
    struct lock_call call;
    bool seen;
    const void *caller;
    uintptr_t sp;
};

static struct arrival at_join(const struct joining *j, enum side side) {
    struct arrival a = arrival_at(HOOK_THREAD_JOIN, side, NULL, j->caller, j->sp);
    a.object = (uint64_t)(uintptr_t)j->call.object;
    return a;
}

static void joins(struct joining *j) {
    struct arrival a = at_join(j, SIDE_ENTER);
    j->seen = arrive(&a);
    if (lock_interest())
        lock_table_asks(&j->call);
}

static void joined(void *data) {
    struct joining *j = data;
    if (lock_interest())
        lock_table_answered(&j->call, false);
    struct arrival back = at_join(j, SIDE_RETURN);
    if (j->seen && engine_wants_return(back.hook))
        arrive(&back);
}

/* X(function, how it waits, parameters, arguments); `t` is the thread. */
#define JOINING(X)                                                                                 \
    X(pthread_join, WAIT_FOREVER, (pthread_t t, void **r), (t, r))                                 \
    X(pthread_tryjoin_np, WAIT_NEVER, (pthread_t t, void **r), (t, r))                             \
    X(pthread_timedjoin_np, WAIT_TIMED, (pthread_t t, void **r, const struct timespec *until),     \
      (t, r, until))                                                                               \
    X(pthread_clockjoin_np, WAIT_TIMED,                                                            \
      (pthread_t t, void **r, clockid_t clock, const struct timespec *until),                      \
      (t, r, clock, until))

/* Newer than the oldest C library that we build with. */
int pthread_clockjoin_np(pthread_t, void **, clockid_t, const struct timespec *);

#define DEFINE_JOINING(name, how, parameters, arguments)                                           \
    ORIGINAL_WITH(int, name, parameters)                                                           \
    EXPORTED int name parameters {                                                                 \
        if (!lock_interest() && engine_hook(HOOK_THREAD_JOIN) == BOARD_NONE)                       \
            return get_##name() arguments;                                                         \
        struct joining j = {                                                                       \
            .call = {.object = (const void *)t, .kind = LOCK_JOIN, .waiting = how},                \
            .caller = __builtin_return_address(0),                                                 \
            .sp = (uintptr_t)__builtin_frame_address(0)};                                          \
        int failed;                                                                                \
        joins(&j);                                                                                 \
        pthread_cleanup_push(joined, &j);                                                          \
        failed = get_##name() arguments;                                                           \
        pthread_cleanup_pop(1);                                                                    \
        return failed;                                                                             \
    }
JOINING(DEFINE_JOINING)
