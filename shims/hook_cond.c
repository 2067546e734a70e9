/* Hooks cond.wait and cond.signal, and lock.destroy of a condition variable (way 1). A wait gives
 * its mutex back and takes it again, also when the thread is cancelled in it. The originals are
 * looked up by version: these names have an older meaning too (facts: conventions). How the look-up
 * may be interrupted: see hook_lock.c. */
#include "engine.h"
#include "lock_table.h"
#include "original.h"
#include "process.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))
#define VERSION  "GLIBC_2.3.2"

/* Newer than the oldest C library that we build with. */
int pthread_cond_clockwait(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);

/* X(function, version, how it waits, parameters, arguments); `c` is the condition, `m` the mutex.
 */
#define WAITING(X)                                                                                 \
    X(pthread_cond_wait, VERSION, WAIT_FOREVER, (pthread_cond_t * c, pthread_mutex_t * m), (c, m)) \
    X(pthread_cond_timedwait, VERSION, WAIT_TIMED,                                                 \
      (pthread_cond_t * c, pthread_mutex_t * m, const struct timespec *until), (c, m, until))      \
    X(pthread_cond_clockwait, NULL, WAIT_TIMED,                                                    \
      (pthread_cond_t * c, pthread_mutex_t * m, clockid_t clock, const struct timespec *until),    \
      (c, m, clock, until))
#define TELLING(X)                                                                                 \
    X(pthread_cond_signal, VERSION, HOOK_COND_SIGNAL, (pthread_cond_t * c), (c))                   \
    X(pthread_cond_broadcast, VERSION, HOOK_COND_SIGNAL, (pthread_cond_t * c), (c))                \
    X(pthread_cond_destroy, VERSION, HOOK_LOCK_DESTROY, (pthread_cond_t * c), (c))

/* ---- originals ---- */

static __thread bool looking;
static void find_originals(void);

#define LOOKED_FOR(name, version, what, parameters, arguments)                                     \
    ORIGINAL_LOOKED_FOR(name, parameters, arguments)
WAITING(LOOKED_FOR)
TELLING(LOOKED_FOR)

static void find_originals(void) {
#define ONE(name, version, ...) ORIGINAL_ENTRY(name, version),
    struct original all[] = {WAITING(ONE) TELLING(ONE)};
    looking = true;
    original_find_all(all, sizeof all / sizeof *all);
    looking = false;
}

__attribute__((constructor)) static void constructor(void) {
    find_originals();
}

/* ---- waiting ---- */

struct waiting {
    struct lock_call call;
    bool seen;
    const void *caller;
    uintptr_t sp;
};

/* What another process signals is unknown here, so that such a wait is none without a limit. */
static bool is_shared(const pthread_cond_t *c) {
    enum { SHARED = 1 }; /* glibc's, in the flags of the count of waiters */
    return __atomic_load_n(&c->__data.__wrefs, __ATOMIC_RELAXED) & SHARED;
}

static void waits(struct waiting *w) {
    struct arrival a = ARRIVAL(engine_hook(HOOK_COND_WAIT), SIDE_ENTER);
    w->seen = a.hook != BOARD_NONE && engine_takes_part();
    a.object = (uintptr_t)w->call.object;
    a.caller = w->caller;
    a.sp = w->sp;
    if (w->seen)
        engine_arrive(&a);
    if (is_shared(w->call.object))
        w->call.waiting = WAIT_TIMED;
    lock_table_waits(&w->call);
}

/* The C library has the mutex again before it runs the cleanup of a thread that is cancelled in a
 * wait. */
static void cancelled(void *waiting) {
    lock_table_woke(&((struct waiting *)waiting)->call, true);
}

static void woke(struct waiting *w, int result) {
    lock_table_woke(&w->call, result != ENOTRECOVERABLE);
    struct arrival back = ARRIVAL(engine_hook(HOOK_COND_WAIT), SIDE_RETURN);
    back.object = (uintptr_t)w->call.object;
    back.caller = w->caller;
    back.sp = w->sp;
    if (w->seen && engine_takes_part())
        engine_arrive(&back);
}

#define DEFINE_WAITING(name, version, how, parameters, arguments)                                  \
    EXPORTED int name parameters {                                                                 \
        if (!lock_interest())                                                                      \
            return name##_original arguments;                                                      \
        struct waiting w = {.call = {.object = c,                                                  \
                                     .kind = LOCK_CONDITION,                                       \
                                     .waiting = how,                                               \
                                     .mutex = m,                                                   \
                                     .frame = __builtin_frame_address(0)},                         \
                            .caller = __builtin_return_address(0),                                 \
                            .sp = (uintptr_t)__builtin_frame_address(0)};                          \
        int result;                                                                                \
        waits(&w);                                                                                 \
        pthread_cleanup_push(cancelled, &w);                                                       \
        result = name##_original arguments;                                                        \
        pthread_cleanup_pop(0);                                                                    \
        woke(&w, result);                                                                          \
        return result;                                                                             \
    }
WAITING(DEFINE_WAITING)

/* ---- signalling, destroying ---- */

static void tells(enum hook_id hook, const void *condition, const void *caller, uintptr_t sp) {
    struct arrival a = ARRIVAL(engine_hook(hook), SIDE_ENTER);
    a.object = (uintptr_t)condition;
    a.caller = caller;
    a.sp = sp;
    a.attr[0] = (struct arrival_attr){.id = ATTR_KIND, .text = board_lock_name(LOCK_CONDITION)};
    a.n_attrs = 1;
    if (a.hook != BOARD_NONE && engine_takes_part())
        engine_arrive(&a);
    if (hook == HOOK_COND_SIGNAL)
        lock_table_signals(condition);
    else
        lock_table_condition_ends(condition);
}

#define DEFINE_TELLING(name, version, hook, parameters, arguments)                                 \
    EXPORTED int name parameters {                                                                 \
        if (lock_interest())                                                                       \
            tells(hook, c, __builtin_return_address(0), (uintptr_t)__builtin_frame_address(0));    \
        return name##_original arguments;                                                          \
    }
TELLING(DEFINE_TELLING)
