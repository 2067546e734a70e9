/* The client library, in variants; see client.h. Without a switch it is `fixed`: the object lies on
 * the heap, and of callback and initialisation the one that comes second frees it. `faulty` is
 * built with FLAG_ON_STACK: a flag on the stack of the initialising function; `half-fixed` with
 * CALLBACK_KEEPS: only the initialisation frees. */
#include "client.h"

#include <pmix.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

int client_open_transport(void) {
    return 0;
}
int client_select_modules(void) {
    return 0;
}
int client_add_peers(void) {
    return 0;
}

static void doze(void) {
    nanosleep(&(struct timespec){0, 200000}, NULL);
}

static int run_steps(void) {
    int failed = client_open_transport();
    if (!failed)
        failed = client_select_modules();
    return failed ? failed : client_add_peers();
}

#ifdef FLAG_ON_STACK

static void fence_over(pmix_status_t status, void *data) {
    (void)status;
    *(volatile bool *)data = false;
}

static __attribute__((noinline)) int run(void) {
    volatile bool active = true;
    int failed = PMIx_Fence_nb(NULL, 0, NULL, 0, fence_over, (void *)&active);
    if (!failed)
        failed = run_steps();
    while (!failed && active)
        doze();
    return failed;
}

#else

enum fence_state { PENDING, COMPLETE, ABANDONED };
struct fence {
    _Atomic int state; /* enum fence_state */
    pmix_status_t status;
};

void client_free_in_callback(struct fence *f) {
    free(f);
}
void client_free_in_init(struct fence *f) {
    free(f);
}

static void fence_over(pmix_status_t status, void *data) {
    struct fence *f = data;
    f->status = status;
    if (atomic_exchange(&f->state, COMPLETE) != ABANDONED)
        return;
#ifndef CALLBACK_KEEPS
    client_free_in_callback(f);
#endif
}

static bool is_pending(struct fence *f) {
    return atomic_load(&f->state) == PENDING;
}

static __attribute__((noinline)) int run(void) {
    struct fence *f = calloc(1, sizeof *f);
    if (!f)
        return PMIX_ERR_NOMEM;
    int failed = PMIx_Fence_nb(NULL, 0, NULL, 0, fence_over, f);
    if (failed) {
        client_free_in_init(f);
        return failed;
    }
    failed = run_steps();
    while (!failed && is_pending(f))
        doze();
    if (atomic_exchange(&f->state, ABANDONED) == COMPLETE)
        client_free_in_init(f);
    return failed;
}

#endif

int client_init(void) {
    pmix_proc_t me;
    int failed = PMIx_Init(&me, NULL, 0);
    return failed ? failed : run();
}

void client_finalize(void) {
    PMIx_Finalize(NULL, 0);
}
