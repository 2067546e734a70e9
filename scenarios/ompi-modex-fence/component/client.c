/* The client library, in variants; see client.h. Without a switch it is `fixed`: the fence's object
 * lies on the heap, and of callback and initialisation the one that comes second frees it. The
 * others, each with its switch: `faulty` (FLAG_ON_STACK): a flag on the stack of the initialising
 * function; `static` (FLAG_IS_STATIC): the flag of all initialisations is one; `drain`
 * (FLAG_ON_STACK, DRAINS): an error, too, waits for the fence; `half-fixed` (CALLBACK_KEEPS): only
 * the initialisation frees. */
#include "client.h"

#include <assert.h>
#include <pmix.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
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

/* ---- addresses ---- */

static pmix_proc_t me;
static char address_key[PMIX_MAX_KEYLEN + 1]; /* of this initialisation */

static int publish(void) {
    static int initialisations;
    char address[32];
    pmix_value_t value = {.type = PMIX_STRING, .data.string = address};
    snprintf(address_key, sizeof address_key, "client.address.%d", ++initialisations);
    snprintf(address, sizeof address, "rank %u", me.rank);
    int failed = PMIx_Put(PMIX_GLOBAL, address_key, &value);
    return failed ? failed : PMIx_Commit();
}

/* What the fence has brought. */
static bool has_address_of(pmix_rank_t rank) {
    pmix_proc_t peer = me;
    pmix_value_t *found = NULL;
    pmix_info_t only_here;
    bool yes = true;
    peer.rank = rank;
    PMIX_INFO_LOAD(&only_here, PMIX_OPTIONAL, &yes, PMIX_BOOL);
    int failed = PMIx_Get(&peer, address_key, &only_here, 1, &found);
    if (!failed)
        PMIX_VALUE_RELEASE(found);
    PMIX_INFO_DESTRUCT(&only_here);
    return !failed;
}

static pmix_rank_t job_size(void) {
    pmix_proc_t job = me;
    pmix_value_t *found = NULL;
    job.rank = PMIX_RANK_WILDCARD;
    if (PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &found))
        return 0;
    pmix_rank_t size = found->data.uint32;
    PMIX_VALUE_RELEASE(found);
    return size;
}

static void connect_peers(void) {
    pmix_rank_t size = job_size();
    for (pmix_rank_t rank = 0; rank < size; rank++) {
        bool is_known = has_address_of(rank);
        assert(is_known && "behind the fence every address is known");
    }
}

static int start_fence(pmix_op_cbfunc_t over, void *data) {
    static pmix_info_t collect; /* PMIx reads it until the fence is over */
    bool yes = true;
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    return PMIx_Fence_nb(NULL, 0, &collect, 1, over, data);
}

#ifdef FLAG_IS_STATIC
#define FLAG_ON_STACK
#define FLAG_STORAGE static
#else
#define FLAG_STORAGE
#endif
#ifdef DRAINS
enum { WAITS_AFTER_ERROR = true };
#else
enum { WAITS_AFTER_ERROR = false };
#endif

#ifdef FLAG_ON_STACK

static void fence_over(pmix_status_t status, void *data) {
    (void)status;
    *(volatile bool *)data = false;
}

static __attribute__((noinline)) int run(void) {
    FLAG_STORAGE volatile bool active;
    active = true;
    int failed = start_fence(fence_over, (void *)&active);
    if (failed)
        return failed;
    failed = run_steps();
    while ((!failed || WAITS_AFTER_ERROR) && active)
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
    int failed = start_fence(fence_over, f);
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
    int failed = PMIx_Init(&me, NULL, 0);
    if (!failed)
        failed = publish();
    if (!failed)
        failed = run();
    if (!failed)
        connect_peers();
    return failed;
}

void client_finalize(void) {
    PMIx_Finalize(NULL, 0);
}
