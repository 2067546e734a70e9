/* Hooks lock.acquire, lock.release and lock.destroy (way 1): mutexes, rwlocks and spinlocks before
 * the originals, and what they tell the lock table. On any thread, in signal handlers, and before
 * our constructor.
 *
 * The originals are looked up by the constructor, which runs before every other one. That look-up
 * is not free of locks itself: up to glibc 2.33 dlsym allocates its error buffer by calloc, in
 * which a preloaded allocator may lock, and so come here. (The loader's own lock never does: the
 * loader calls the mutex functions by internal names.) What comes while the look-up runs on this
 * very thread, locks and unlocks alike, is let through undone; there is no second thread so early.
 */
#include "engine.h"
#include "lock_misuse.h"
#include "lock_table.h"
#include "original.h"
#include "process.h"
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))

/* Newer than the oldest C library that we build with. */
int pthread_mutex_clocklock(pthread_mutex_t *, clockid_t, const struct timespec *);
int pthread_rwlock_clockrdlock(pthread_rwlock_t *, clockid_t, const struct timespec *);
int pthread_rwlock_clockwrlock(pthread_rwlock_t *, clockid_t, const struct timespec *);

/* X(function, kind of lock, how it waits, parameters, arguments); `l` is the lock. */
#define ACQUIRING(X)                                                                               \
    X(pthread_mutex_lock, kind_of(l), WAIT_FOREVER, (pthread_mutex_t * l), (l))                    \
    X(pthread_mutex_trylock, kind_of(l), WAIT_NEVER, (pthread_mutex_t * l), (l))                   \
    X(pthread_mutex_timedlock, kind_of(l), WAIT_TIMED,                                             \
      (pthread_mutex_t * l, const struct timespec *until), (l, until))                             \
    X(pthread_mutex_clocklock, kind_of(l), WAIT_TIMED,                                             \
      (pthread_mutex_t * l, clockid_t clock, const struct timespec *until), (l, clock, until))     \
    X(pthread_rwlock_rdlock, LOCK_RWLOCK_READ, WAIT_FOREVER, (pthread_rwlock_t * l), (l))          \
    X(pthread_rwlock_tryrdlock, LOCK_RWLOCK_READ, WAIT_NEVER, (pthread_rwlock_t * l), (l))         \
    X(pthread_rwlock_timedrdlock, LOCK_RWLOCK_READ, WAIT_TIMED,                                    \
      (pthread_rwlock_t * l, const struct timespec *until), (l, until))                            \
    X(pthread_rwlock_clockrdlock, LOCK_RWLOCK_READ, WAIT_TIMED,                                    \
      (pthread_rwlock_t * l, clockid_t clock, const struct timespec *until), (l, clock, until))    \
    X(pthread_rwlock_wrlock, LOCK_RWLOCK_WRITE, WAIT_FOREVER, (pthread_rwlock_t * l), (l))         \
    X(pthread_rwlock_trywrlock, LOCK_RWLOCK_WRITE, WAIT_NEVER, (pthread_rwlock_t * l), (l))        \
    X(pthread_rwlock_timedwrlock, LOCK_RWLOCK_WRITE, WAIT_TIMED,                                   \
      (pthread_rwlock_t * l, const struct timespec *until), (l, until))                            \
    X(pthread_rwlock_clockwrlock, LOCK_RWLOCK_WRITE, WAIT_TIMED,                                   \
      (pthread_rwlock_t * l, clockid_t clock, const struct timespec *until), (l, clock, until))    \
    X(pthread_spin_lock, LOCK_SPIN, WAIT_FOREVER, (pthread_spinlock_t * l), (l))                   \
    X(pthread_spin_trylock, LOCK_SPIN, WAIT_NEVER, (pthread_spinlock_t * l), (l))

#define RELEASING(X)                                                                               \
    X(pthread_mutex_unlock, kind_of(l), (pthread_mutex_t * l), (l))                                \
    X(pthread_rwlock_unlock, kind_held(l), (pthread_rwlock_t * l), (l))                            \
    X(pthread_spin_unlock, LOCK_SPIN, (pthread_spinlock_t * l), (l))

#define DESTROYING(X)                                                                              \
    X(pthread_mutex_destroy, kind_of(l), (pthread_mutex_t * l), (l))                               \
    X(pthread_rwlock_destroy, LOCK_RWLOCK_WRITE, (pthread_rwlock_t * l), (l))                      \
    X(pthread_spin_destroy, LOCK_SPIN, (pthread_spinlock_t * l), (l))

#define BEGINNING(X)                                                                               \
    X(pthread_mutex_init, LOCK_MUTEX, (pthread_mutex_t * l, const pthread_mutexattr_t *a), (l, a)) \
    X(pthread_rwlock_init, LOCK_RWLOCK_WRITE,                                                      \
      (pthread_rwlock_t * l, const pthread_rwlockattr_t *a), (l, a))                               \
    X(pthread_spin_init, LOCK_SPIN, (pthread_spinlock_t * l, int shared), (l, shared))

static enum lock_kind kind_of(const pthread_mutex_t *m) {
    return lock_misuse_mutex_kind(m);
}

static enum lock_kind kind_held(const pthread_rwlock_t *l) {
    const struct board_held *h = lock_table_own(l);
    return h ? (enum lock_kind)h->kind : LOCK_RWLOCK_READ;
}

/* ---- the three things that happen to a lock ---- */

struct asking {
    struct lock_call call;
    bool seen;
    const void *caller;
    uintptr_t sp;
};

static struct arrival arrival_at(enum hook_id hook, enum side side, const void *lock,
                                 enum lock_kind kind, const void *caller, uintptr_t sp) {
    struct arrival a = ARRIVAL(engine_hook(hook), (uint16_t)side);
    a.object = (uintptr_t)lock;
    a.caller = caller;
    a.sp = sp;
    a.attr[0] = (struct arrival_attr){.id = ATTR_KIND, .text = board_lock_name(kind)};
    a.n_attrs = 1;
    return a;
}

/* True: the plan makes the call fail with *result. */
static bool asks(struct asking *k, int *result) {
    struct arrival a =
        arrival_at(HOOK_LOCK_ACQUIRE, SIDE_ENTER, k->call.object, k->call.kind, k->caller, k->sp);
    k->seen = a.hook != BOARD_NONE && engine_takes_part();
    if (k->seen) {
        engine_arrive(&a);
        *result = a.error_number ? a.error_number : (int)a.result;
    }
    if (!a.fails) {
        lock_misuse_asks(k->call.object, k->call.kind, k->call.waiting);
        lock_table_asks(&k->call);
    } else if (*result == EDEADLK) {
        lock_misuse_refused(k->call.object);
    }
    return a.fails;
}

static int answered(struct asking *k, int result) {
    bool acquired = result == 0 || result == EOWNERDEAD;
    lock_table_answered(&k->call, acquired);
    if (acquired)
        lock_misuse_acquired(k->call.object);
    else if (result == EDEADLK)
        lock_misuse_refused(k->call.object);
    if (!k->seen || !engine_wants_return(engine_hook(HOOK_LOCK_ACQUIRE)) || !engine_takes_part())
        return result;
    struct arrival back =
        arrival_at(HOOK_LOCK_ACQUIRE, SIDE_RETURN, k->call.object, k->call.kind, k->caller, k->sp);
    engine_arrive(&back);
    return !back.fails ? result : back.error_number ? back.error_number : (int)back.result;
}

static void releases(const void *lock, enum lock_kind kind, const void *caller, uintptr_t sp) {
    struct arrival a = arrival_at(HOOK_LOCK_RELEASE, SIDE_ENTER, lock, kind, caller, sp);
    if (a.hook != BOARD_NONE && engine_takes_part())
        engine_arrive(&a);
    lock_misuse_releases(lock, kind);
    lock_table_release(lock);
}

static void destroys(const void *lock, enum lock_kind kind, const void *caller, uintptr_t sp) {
    struct arrival a = arrival_at(HOOK_LOCK_DESTROY, SIDE_ENTER, lock, kind, caller, sp);
    if (a.hook != BOARD_NONE && engine_takes_part())
        engine_arrive(&a);
    lock_misuse_destroys(lock, kind);
}

static int destroyed(void *lock, enum lock_kind kind, int result) {
    if (!result) {
        lock_misuse_destroyed(lock, kind);
        lock_table_forget(lock);
    }
    return result;
}

/* ---- originals ---- */

static __thread bool looking;
static void find_originals(void);

#define ACQUIRING_ORIGINAL(name, kind, waiting, parameters, arguments)                             \
    ORIGINAL_LOOKED_FOR(name, parameters, arguments)
#define OTHER_ORIGINAL(name, kind, parameters, arguments)                                          \
    ORIGINAL_LOOKED_FOR(name, parameters, arguments)
ACQUIRING(ACQUIRING_ORIGINAL)
RELEASING(OTHER_ORIGINAL)
DESTROYING(OTHER_ORIGINAL)
BEGINNING(OTHER_ORIGINAL)

/* All of them together: a lock that was let through undone must not meet a real unlock. */
static void find_originals(void) {
#define ONE(name, ...) ORIGINAL_ENTRY(name, NULL),
    struct original all[] = {ACQUIRING(ONE) RELEASING(ONE) DESTROYING(ONE) BEGINNING(ONE)};
    looking = true;
    original_find_all(all, sizeof all / sizeof *all);
    looking = false;
}

__attribute__((constructor)) static void constructor(void) {
    find_originals();
}

/* ---- what programs call ---- */

#define DEFINE_ACQUIRING(name, lock_kind, how, parameters, arguments)                              \
    EXPORTED int name parameters {                                                                 \
        if (!lock_interest())                                                                      \
            return name##_original arguments;                                                      \
        struct asking k = {.call = {.object = (const void *)(uintptr_t)l,                          \
                                    .kind = lock_kind,                                             \
                                    .waiting = how,                                                \
                                    .frame = __builtin_frame_address(0)},                          \
                           .caller = __builtin_return_address(0),                                  \
                           .sp = (uintptr_t)__builtin_frame_address(0)};                           \
        int result;                                                                                \
        return asks(&k, &result) ? result : answered(&k, name##_original arguments);               \
    }
ACQUIRING(DEFINE_ACQUIRING)

#define DEFINE_RELEASING(name, kind, parameters, arguments)                                        \
    EXPORTED int name parameters {                                                                 \
        if (lock_interest())                                                                       \
            releases((const void *)(uintptr_t)l, kind, __builtin_return_address(0),                \
                     (uintptr_t)__builtin_frame_address(0));                                       \
        return name##_original arguments;                                                          \
    }
RELEASING(DEFINE_RELEASING)

#define DEFINE_DESTROYING(name, kind, parameters, arguments)                                       \
    EXPORTED int name parameters {                                                                 \
        if (!lock_interest())                                                                      \
            return name##_original arguments;                                                      \
        enum lock_kind was = kind;                                                                 \
        destroys((const void *)(uintptr_t)l, was, __builtin_return_address(0),                     \
                 (uintptr_t)__builtin_frame_address(0));                                           \
        return destroyed((void *)(uintptr_t)l, was, name##_original arguments);                    \
    }
DESTROYING(DEFINE_DESTROYING)

#define DEFINE_BEGINNING(name, kind, parameters, arguments)                                        \
    EXPORTED int name parameters {                                                                 \
        if (lock_interest()) {                                                                     \
            lock_table_forget((const void *)(uintptr_t)l);                                         \
            lock_misuse_begins((const void *)(uintptr_t)l);                                        \
        }                                                                                          \
        return name##_original arguments;                                                          \
    }
BEGINNING(DEFINE_BEGINNING)
