/* Hooks pmix.fence_nb and pmix.fence_nb.callback: PMIx_Fence_nb before the original (way 1), its
 * callback wrapped (way 4). A held callback waits on a helper thread; PMIx's only progress thread
 * never does. Source of the signatures: the PMIx standard, chapter on synchronization. */
#include "engine.h"
#include "events.h"
#include "frames.h"
#include "original.h"
#include "process.h"
#include "thread.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

typedef int pmix_status;
typedef void (*fence_callback)(pmix_status, void *);
typedef pmix_status (*fence_function)(const void *, size_t, const void *, size_t, fence_callback,
                                      void *);

pmix_status PMIx_Fence_nb(const void *procs, size_t n_procs, const void *info, size_t n_info,
                          fence_callback callback, void *data)
    __attribute__((visibility("default")));

/* One fence between its registration and the death of its owner's frame. */
struct fence {
    _Atomic uint32_t turn; /* odd: it is under way */
    uint32_t over;         /* what `turn` becomes when it was delivered, dropped or never begun */
    fence_callback callback;
    void *data;
    pmix_status status;
    uint64_t n_info;
    struct arrival arrival; /* of its callback */
    struct frames_watch watch;
};
enum { MAX_FENCES = 64, HELPER_STACK = 256 * 1024 };
static struct fence fences[MAX_FENCES];

/* A probe still points into the entry until the frame it watches has returned. */
static bool is_probed(const struct fence *f) {
    for (uint32_t i = 0; i < f->watch.n; i++)
        if (f->watch.target[i].probed && !atomic_load(&f->watch.target[i].dead))
            return true;
    return false;
}

static struct fence *take_fence(void) {
    for (int i = 0; i < MAX_FENCES; i++) {
        struct fence *f = &fences[i];
        uint32_t turn = atomic_load(&f->turn);
        if (turn & 1 || is_probed(f) ||
            !atomic_compare_exchange_strong(&f->turn, &turn, turn + 1)) /* nobody had it since */
            continue;
        f->watch.n = 0;
        f->over = turn + 2;
        return f;
    }
    process_table_full(TABLE_CALLBACKS);
    return NULL;
}

static void fence_is_over(struct fence *f) {
    atomic_store(&f->turn, f->over);
}

static void set_attributes(struct arrival *a, const struct fence *f) {
    a->attr[0] = (struct arrival_attr){.id = ATTR_NINFO, .number = (int64_t)f->n_info};
    a->attr[1] = (struct arrival_attr){.id = ATTR_CBDATA, .text = frames_data_kind(&f->watch)};
    a->n_attrs = 2;
}

/* Runs the callback, as often as the plan wants, with the detector looking on. */
static void deliver(struct fence *f) {
    struct arrival *a = &f->arrival;
    struct frames_evidence evidence;
    if (process->board->heal && !a->dropped && frames_owner_is_dead(&f->watch)) {
        frames_healed(&f->watch, (const void *)(uintptr_t)f->callback);
        a->dropped = true;
    }
    void *data = f->data;
    f->data = NULL; /* who owns it may lose it in the callback, and a leak must stay one */
    for (unsigned i = 0; !a->dropped && i < a->times; i++) {
        bool looking = process->board->detectors & DETECT_FRAMES;
        if (looking)
            frames_before(&f->watch, &evidence, (const void *)(uintptr_t)f->callback);
        f->callback(f->status, data);
        if (looking)
            frames_after(&f->watch, &evidence);
    }
    atomic_fetch_add(a->dropped ? &process_slot()->dropped : &process_slot()->delivered, 1);
    event_write(EVENT_DELIVERED, BOARD_NONE, BOARD_NONE, BOARD_NONE, (uint64_t)f->status,
                a->dropped);
    struct arrival back = ARRIVAL(f->arrival.hook, SIDE_RETURN);
    set_attributes(&back, f);
    back.sp = (uintptr_t)__builtin_frame_address(0);
    if (f->arrival.hook != BOARD_NONE && engine_takes_part())
        engine_arrive(&back);
    fence_is_over(f);
}

static void *helper(void *data) {
    struct fence *f = data;
    engine_wait(&f->arrival);
    deliver(f);
    engine_thread_ends();
    return NULL;
}

/* False: no thread could be had; the callback then runs at once, unheld, and the trial is an error.
 */
static bool deliver_on_helper(struct fence *f) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (pthread_attr_init(&attributes))
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, HELPER_STACK);
    sigfillset(&all); /* the program's handlers run on its own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    /* By the name that the program would use, so that a sanitizer hears of the thread, which is to
     * run code that it instrumented. */
    thread_self.makes_own++;
    int failed = pthread_create(&thread, &attributes, helper, f);
    thread_self.makes_own--;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failed)
        process_table_full(TABLE_THREADS);
    return !failed;
}

/* Runs on PMIx's progress thread. */
static void completed(pmix_status status, void *data) {
    struct fence *f = data;
    f->status = status;
    f->arrival = ARRIVAL(engine_hook(HOOK_PMIX_FENCE_CALLBACK), SIDE_ENTER);
    f->arrival.deferrable = true;
    f->arrival.caller = __builtin_return_address(0);
    f->arrival.sp = (uintptr_t)__builtin_frame_address(0);
    set_attributes(&f->arrival, f);
    if (f->arrival.hook != BOARD_NONE && engine_takes_part())
        engine_arrive(&f->arrival);
    if (!f->arrival.must_wait || !deliver_on_helper(f))
        deliver(f);
}

static pmix_status fence_watched(fence_function original, const void *procs, size_t n_procs,
                                 const void *info, size_t n_info, struct fence *f) {
    atomic_fetch_add(&process_slot()->promised, 1);
    event_write(EVENT_PROMISED, BOARD_NONE, BOARD_NONE, BOARD_NONE, n_info, 0);
    pmix_status status = original(procs, n_procs, info, n_info, completed, f);
    if (status) { /* an error, or completed at once: PMIx will not call back */
        atomic_fetch_sub(&process_slot()->promised, 1);
        fence_is_over(f);
    }
    return status;
}

pmix_status PMIx_Fence_nb(const void *procs, size_t n_procs, const void *info, size_t n_info,
                          fence_callback callback, void *data) {
    static fence_function original;
    if (!original)
        original = (fence_function)(uintptr_t)original_find("PMIx_Fence_nb", "libpmix.so.2");
    bool in_plan = engine_hook(HOOK_PMIX_FENCE_NB) != BOARD_NONE ||
                   engine_hook(HOOK_PMIX_FENCE_CALLBACK) != BOARD_NONE;
    if (!in_plan || !callback || !engine_takes_part())
        return original(procs, n_procs, info, n_info, callback, data);
    struct fence *f = take_fence();
    if (!f)
        return original(procs, n_procs, info, n_info, callback, data);
    f->callback = callback;
    f->data = data;
    f->n_info = n_info;
    frames_register(&f->watch, data);
    struct arrival a = ARRIVAL(engine_hook(HOOK_PMIX_FENCE_NB), SIDE_ENTER);
    a.caller = __builtin_return_address(0);
    a.sp = (uintptr_t)__builtin_frame_address(0);
    set_attributes(&a, f);
    if (a.hook != BOARD_NONE)
        engine_arrive(&a);
    if (a.fails) {
        fence_is_over(f);
        return (pmix_status)a.result;
    }
    pmix_status status = fence_watched(original, procs, n_procs, info, n_info, f);
    struct arrival back = ARRIVAL(a.hook, SIDE_RETURN);
    back.caller = a.caller;
    back.sp = a.sp;
    set_attributes(&back, f);
    if (a.hook != BOARD_NONE && engine_takes_part())
        engine_arrive(&back);
    return back.fails ? (pmix_status)back.result : status;
}
