/* Hook thread.exit (way 4): the end of a thread and its destructors. Those of C++ thread_local
 * objects are wrapped when they are registered (__cxa_thread_atexit_impl), those of pthread keys
 * when the key is made. On the thread that ends; registrations on any thread, and before our
 * constructor.
 *
 * glibc runs the thread_local destructors first, the last registered first, and then those of the
 * keys, in rounds, in each round from the lowest key up (nptl: __call_tls_dtors,
 * __nptl_deallocate_tsd). A key of our own is destroyed in every round; in the last one the exit is
 * over when no key behind it has a value. */
#include "engine.h"
#include "objects.h"
#include "original.h"
#include "process.h"
#include "thread.h"
#include "thread_exit.h"

#include <limits.h>
#include <pthread.h>

#define EXPORTED __attribute__((visibility("default")))

typedef void destructor(void *);
int __cxa_thread_atexit_impl(destructor *, void *, void *);
ORIGINAL(int, __cxa_thread_atexit_impl, destructor *, void *, void *)
ORIGINAL(int, pthread_key_create, pthread_key_t *, destructor *)
ORIGINAL(int, pthread_key_delete, pthread_key_t)
ORIGINAL(int, pthread_setspecific, pthread_key_t, const void *)

/* ---- arrivals ---- */

static struct arrival arrival_at(enum side side, enum attr_id id, const void *code, uintptr_t sp) {
    struct arrival a = ARRIVAL(engine_hook(HOOK_THREAD_EXIT), (uint16_t)side);
    a.object = (uint64_t)pthread_self();
    a.sp = sp;
    a.attr[0] = (struct arrival_attr){.id = id, .code = code};
    a.n_attrs = 1;
    return a;
}

static void arrive(struct arrival *a) {
    if (a->hook != BOARD_NONE && engine_takes_part())
        engine_arrive(a);
}

static bool is_sanitizers(destructor *run) {
    const struct object *o = objects_at((uintptr_t)run);
    return o && object_stands_between(o, (uintptr_t)run); /* also one that clang linked in */
}

/* One destructor, an extent of its own. A sanitizer's are its own business. */
static void run_destructor(destructor *run, void *value) {
    const void *code = (const void *)(uintptr_t)run;
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    if (engine_hook(HOOK_THREAD_EXIT) == BOARD_NONE || !engine_takes_part()) {
        run(value);
        return;
    }
    if (is_sanitizers(run)) {
        run(value);
        return;
    }
    struct arrival enter = arrival_at(SIDE_ENTER, ATTR_DTOR, code, sp);
    arrive(&enter);
    run(value);
    struct arrival back = arrival_at(SIDE_RETURN, ATTR_DTOR, code, sp);
    arrive(&back);
}

/* ---- the exit of a thread ---- */

/* The C library keeps the values of so many keys in the thread itself: setting one is safe in a
 * signal handler. Ours is made before any other. */
enum { KEYS_IN_THE_THREAD = 32 };
static pthread_key_t exit_key;
static _Atomic uint32_t has_exit_key;
static __thread struct {
    _Atomic uint32_t exits; /* raised when the exit is over: the generation of its extent */
    uint32_t rounds;        /* of key destructors, so far */
    bool is_seen;           /* our key has a value on this thread */
    bool begun, is_over;
    void *(*routine)(void *);
} exiting;

static void arrive_exit(enum side side) {
    struct arrival a = arrival_at(side, ATTR_START, (const void *)(uintptr_t)exiting.routine,
                                  (uintptr_t)__builtin_frame_address(0));
    a.extent = &exiting.exits;
    a.generation = atomic_load(&exiting.exits);
    arrive(&a);
}

static void exit_ends(void) {
    if (exiting.begun)
        arrive_exit(SIDE_RETURN);
    exiting.is_over = true;
    atomic_fetch_add(&exiting.exits, 1);
    engine_thread_ends();
}

static bool more_follow(pthread_key_t key);

/* The destructor of this key has run. */
static void destroyed(pthread_key_t key) {
    if (exiting.rounds == PTHREAD_DESTRUCTOR_ITERATIONS && !exiting.is_over && !more_follow(key))
        exit_ends();
}

static void one_round(void *value) {
    if (++exiting.rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
        get_pthread_setspecific()(exit_key, value);
    destroyed(exit_key);
}

__attribute__((constructor)) static void constructor(void) {
    get_pthread_key_delete();
    get___cxa_thread_atexit_impl();
    if (get_pthread_setspecific() && !get_pthread_key_create()(&exit_key, one_round) &&
        exit_key < KEYS_IN_THE_THREAD)
        atomic_store(&has_exit_key, 1);
}

void thread_exit_prepare(void) {
    if (exiting.is_seen || !atomic_load(&has_exit_key))
        return;
    exiting.is_seen = true;
    get_pthread_setspecific()(exit_key, &exiting);
}

void thread_exit_begins(void *(*routine)(void *)) {
    exiting.routine = routine;
    exiting.begun = true;
    arrive_exit(SIDE_ENTER);
    if (!atomic_load(&has_exit_key)) /* no key was left: the destructors are not waited for */
        exit_ends();
}

/* ---- thread_local objects ---- */

/* From registration to destruction. */
struct registered {
    _Atomic uint32_t taken;
    destructor *run;
    void *object;
};
enum { MAX_REGISTERED = 4096 };
static struct registered registered[MAX_REGISTERED];
static _Atomic uint32_t next_registered;

static struct registered *take_registered(destructor *run, void *object) {
    for (uint32_t i = 0, at = atomic_load(&next_registered); i < MAX_REGISTERED; i++, at++) {
        struct registered *r = &registered[at % MAX_REGISTERED];
        uint32_t no = 0;
        if (atomic_load(&r->taken) || !atomic_compare_exchange_strong(&r->taken, &no, 1))
            continue;
        atomic_store(&next_registered, at + 1);
        r->run = run;
        r->object = object;
        return r;
    }
    process_table_full(TABLE_DESTRUCTORS);
    return NULL;
}

static void destroy_registered(void *data) {
    struct registered *r = data;
    destructor *run = r->run;
    void *object = r->object;
    atomic_store(&r->taken, 0);
    run_destructor(run, object);
}

EXPORTED int __cxa_thread_atexit_impl(destructor *run, void *object, void *dso) {
    process_start();
    struct registered *r = engine_hook(HOOK_THREAD_EXIT) != BOARD_NONE && engine_takes_part()
                               ? take_registered(run, object)
                               : NULL;
    /* With the program's own dso: its library stays loaded until the destructor has run. */
    if (!r)
        return get___cxa_thread_atexit_impl()(run, object, dso);
    int failed = get___cxa_thread_atexit_impl()(destroy_registered, r, dso);
    if (failed)
        atomic_store(&r->taken, 0);
    return failed;
}

/* ---- keys ---- */

/* Keys are wrapped whether or not a plan looks: one may be made before the process checks in. */
static struct {
    _Atomic uint32_t taken;
    _Atomic uint32_t key;
    destructor *_Atomic run;
} key_slot[THREAD_KEYS];
static _Atomic uint32_t slot_of_key[THREAD_KEYS]; /* + 1; 0: none */

/* In this round a destructor of the program's will run after this key's. Not after a sanitizer's:
 * it takes leave of the thread in the last round. */
static bool more_follow(pthread_key_t key) {
    for (uint32_t k = key + 1; k < THREAD_KEYS; k++) {
        uint32_t slot = atomic_load(&slot_of_key[k]);
        destructor *run = slot ? atomic_load(&key_slot[slot - 1].run) : NULL;
        if (run && pthread_getspecific(k) && !is_sanitizers(run))
            return true;
    }
    return false;
}

void thread_key_destroy(void *value, unsigned slot) {
    destructor *run = atomic_load(&key_slot[slot].run);
    if (!run)
        return;
    run_destructor(run, value);
    destroyed(atomic_load(&key_slot[slot].key));
}

static void free_slot(uint32_t slot) {
    atomic_store(&key_slot[slot].run, NULL);
    atomic_store(&key_slot[slot].taken, 0);
}

EXPORTED int pthread_key_create(pthread_key_t *key, destructor *run) {
    uint32_t slot = 0, no = 0;
    while (run && slot < THREAD_KEYS &&
           !atomic_compare_exchange_strong(&key_slot[slot].taken, &no, 1)) {
        no = 0;
        slot++;
    }
    if (!run || slot == THREAD_KEYS) /* as many as there can be keys: all are in use */
        return get_pthread_key_create()(key, run);
    atomic_store(&key_slot[slot].key, UINT32_MAX);
    atomic_store(&key_slot[slot].run, run);
    destructor *entry =
        (destructor *)(uintptr_t)(thread_key_entries + (size_t)slot * THREAD_KEY_ENTRY_BYTES);
    int failed = get_pthread_key_create()(key, entry);
    if (failed || *key >= THREAD_KEYS) {
        free_slot(slot);
        return failed;
    }
    atomic_store(&key_slot[slot].key, *key);
    atomic_store(&slot_of_key[*key], slot + 1);
    return failed;
}

EXPORTED int pthread_key_delete(pthread_key_t key) {
    int failed = get_pthread_key_delete()(key);
    uint32_t slot = failed || key >= THREAD_KEYS ? 0 : atomic_exchange(&slot_of_key[key], 0);
    if (slot)
        free_slot(slot - 1);
    return failed;
}
