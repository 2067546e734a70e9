/* The lock table's side in the ranks. Runs on any thread of a rank, also in signal handlers: a
 * handler that interrupts the table on its own thread is not tracked meanwhile. */
#include "lock_table.h"
#include "engine.h"
#include "process.h"
#include "steps.h"
#include "thread.h"
#include "thread_exit.h"
#include "unwind_stack.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

uint32_t lock_interest_bits;

/* Entries that threads of this process took once: most are other ranks', in a large job. */
enum { MOST_ENTRIES = 8 * BOARD_MAX_RANKS };
static _Atomic uint64_t taken[MOST_ENTRIES / 64];

static void forget_thread(struct board_thread *e) {
    atomic_store(&e->wait.address, 0);
    for (int i = 0; i < BOARD_HELD_LOCKS; i++)
        atomic_store(&e->held[i].address, 0);
    for (int i = 0; i < BOARD_SIGNALLED; i++)
        atomic_store(&e->signalled[i], 0);
    atomic_store(&e->n_used, 0);
    atomic_store(&e->n_forgotten, 0);
    atomic_store(&e->party, 0);
}

void lock_table_start(void) {
    static const enum hook_id hooks[] = {HOOK_LOCK_ACQUIRE, HOOK_LOCK_RELEASE, HOOK_LOCK_DESTROY,
                                         HOOK_COND_WAIT, HOOK_COND_SIGNAL};
    const struct board *b = process->board;
    uint32_t bits = b->track_locks ? LOCKS_TRACKED : 0;
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
        if (engine_hook(hooks[i]) != BOARD_NONE)
            bits |= LOCKS_HOOKED;
    /* What the program left that this process ran before it executed this one. */
    for (uint32_t i = 0; i < b->n_threads; i++) {
        struct board_thread *e = &board_threads(b)[i];
        board_party party = atomic_load(&e->party);
        if (party && board_party_slot(party) == process->slot)
            forget_thread(e);
    }
    __atomic_store_n(&lock_interest_bits, bits, __ATOMIC_RELAXED);
}

/* ---- a thread's entry ---- */

static struct board_thread *take_free(board_party me) {
    const struct board *b = process->board;
    for (uint32_t i = 0; i < b->n_threads; i++) {
        struct board_thread *e = &board_threads(b)[i];
        board_party nobody = 0;
        if (!atomic_load_explicit(&e->party, memory_order_relaxed) &&
            atomic_compare_exchange_strong(&e->party, &nobody, me)) {
            e->self = (uint64_t)pthread_self();
            atomic_fetch_or(&taken[i / 64], (uint64_t)1 << (i % 64));
            return e;
        }
    }
    return NULL;
}

/* Entries of threads of this process that ended without our knowing: those that made a system call
 * to do so, and those that locked something after their end was seen. */
static void free_ended(void) {
    const struct board *b = process->board;
    int saved = errno;
    for (uint32_t i = 0; i < b->n_threads; i++) {
        struct board_thread *e = &board_threads(b)[i];
        board_party party = atomic_load(&e->party);
        if (party && board_party_slot(party) == process->slot &&
            syscall(SYS_tgkill, process->pid, board_party_tid(party), 0) < 0 && errno == ESRCH)
            forget_thread(e);
    }
    errno = saved;
}

static struct board_thread *self(void) {
    struct thread *t = &thread_self;
    if (!(lock_interest() & LOCKS_TRACKED) || !process_armed() || vfork_state.child || t->in_locks)
        return NULL;
    if (t->locks_pid == process->pid)
        return t->locks;
    board_party me = board_party_make(process->slot, process->incarnation, thread_id());
    t->locks = take_free(me);
    if (!t->locks) {
        free_ended();
        t->locks = take_free(me);
    }
    if (!t->locks)
        process_table_full(TABLE_LOCKS);
    t->locks_pid = process->pid;
    thread_exit_prepare();
    return t->locks;
}

void lock_table_thread_ends(void) {
    struct thread *t = &thread_self;
    if (t->locks_pid == process->pid && t->locks)
        forget_thread(t->locks);
    t->locks = NULL;
    t->locks_pid = 0;
}

/* ---- owning ---- */

static struct board_held *find(struct board_thread *e, uint64_t address) {
    for (int i = 0; i < BOARD_HELD_LOCKS; i++)
        if (atomic_load_explicit(&e->held[i].address, memory_order_relaxed) == address)
            return &e->held[i];
    return NULL;
}

static void own(struct board_thread *e, const struct lock_call *c, const void *lock,
                enum lock_kind kind) {
    struct board_held *h = find(e, (uint64_t)(uintptr_t)lock);
    bool again = h && !atomic_load_explicit(&h->freed, memory_order_relaxed);
    if (again) {
        h->depth++;
        return;
    }
    h = h ? h : find(e, 0);
    if (!h) {
        process_table_full(TABLE_LOCKS);
        return;
    }
    h->kind = (uint32_t)kind;
    h->depth = 1;
    atomic_store_explicit(&h->freed, 0, memory_order_relaxed);
    if ((uint32_t)(h - e->held) >= atomic_load_explicit(&e->n_used, memory_order_relaxed))
        atomic_store(&e->n_used, (uint32_t)(h - e->held) + 1);
    memcpy(h->pc, c->pc, sizeof h->pc);
    atomic_store_explicit(&h->address, (uint64_t)(uintptr_t)lock, memory_order_release);
}

/* Whoever holds it: a stranger may give a normal mutex back. */
static void disown_anywhere(uint64_t address) {
    const struct board *b = process->board;
    for (uint32_t i = 0; i < b->n_threads; i++) {
        struct board_thread *e = &board_threads(b)[i];
        board_party party = atomic_load_explicit(&e->party, memory_order_relaxed);
        struct board_held *h =
            party && board_party_slot(party) == process->slot ? find(e, address) : NULL;
        if (!h)
            continue;
        atomic_compare_exchange_strong(&h->address, &address, 0);
        return;
    }
}

bool lock_table_release(const void *lock) {
    struct board_thread *e = self();
    struct board_held *h = e ? find(e, (uint64_t)(uintptr_t)lock) : NULL;
    if (h && --h->depth == 0)
        atomic_store_explicit(&h->address, 0, memory_order_release);
    if (e && !h)
        disown_anywhere((uint64_t)(uintptr_t)lock);
    return h != NULL;
}

struct board_held *lock_table_own(const void *lock) {
    struct board_thread *e = self();
    return e ? find(e, (uint64_t)(uintptr_t)lock) : NULL;
}

struct board_held *lock_table_owner(const void *lock, bool but_me, board_party *owner,
                                    uint32_t *n) {
    const struct board *b = process->board;
    struct board_thread *me = self();
    struct board_held *found = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->n_threads; i++) {
        struct board_thread *e = &board_threads(b)[i];
        board_party party = atomic_load(&e->party);
        struct board_held *h =
            party && board_party_slot(party) == process->slot && (e != me || !but_me)
                ? find(e, (uint64_t)(uintptr_t)lock)
                : NULL;
        if (!h)
            continue;
        count++;
        *owner = party;
        found = h;
    }
    if (n)
        *n = count;
    return found;
}

void lock_table_forget(const void *lock) {
    const struct board *b = process->board;
    if (!self())
        return;
    for (uint32_t i = 0; i < b->n_threads; i++) {
        struct board_thread *e = &board_threads(b)[i];
        board_party party = atomic_load_explicit(&e->party, memory_order_relaxed);
        struct board_held *h = party && board_party_slot(party) == process->slot
                                   ? find(e, (uint64_t)(uintptr_t)lock)
                                   : NULL;
        if (h)
            atomic_store(&h->address, 0);
    }
}

/* ---- waiting ---- */

static void set_wait(struct board_wait *w, uint64_t object, uint64_t mutex, uint32_t kind,
                     uint32_t timed) {
    atomic_store(&w->address, 0);
    atomic_fetch_add(&w->number, 1);
    w->mutex = mutex;
    w->kind = kind;
    w->timed = timed;
    w->since_ns = object ? steps_now() : 0;
    atomic_store(&w->address, object);
}

static void begin_wait(struct lock_call *c) {
    struct board_wait *w = &c->thread->wait;
    c->object_before = atomic_load_explicit(&w->address, memory_order_relaxed);
    c->mutex_before = w->mutex;
    c->kind_before = w->kind;
    c->timed_before = w->timed;
    set_wait(w, (uint64_t)(uintptr_t)c->object, (uint64_t)(uintptr_t)c->mutex, (uint32_t)c->kind,
             c->waiting == WAIT_TIMED);
}

static void end_wait(const struct lock_call *c) {
    set_wait(&c->thread->wait, c->object_before, c->mutex_before, c->kind_before, c->timed_before);
}

_Static_assert((int)UNWIND_REMEMBERED == (int)BOARD_LOCK_FRAMES, "one stack");
static void note_stack(struct lock_call *c) {
    if (!c->frame)
        return;
    thread_self.in_locks++;
    unwind_remembered(c->pc, c->frame);
    thread_self.in_locks--;
}

void lock_table_asks(struct lock_call *c) {
    c->thread = self();
    if (!c->thread)
        return;
    note_stack(c);
    if (c->waiting != WAIT_NEVER)
        begin_wait(c);
}

void lock_table_answered(struct lock_call *c, bool acquired) {
    if (!c->thread)
        return;
    if (c->waiting != WAIT_NEVER)
        end_wait(c);
    if (acquired)
        own(c->thread, c, c->object, c->kind);
}

void lock_table_waits(struct lock_call *c) {
    c->thread = self();
    if (!c->thread)
        return;
    note_stack(c);
    struct board_held *h = find(c->thread, (uint64_t)(uintptr_t)c->mutex);
    /* A recursive mutex that was taken more than once stays with the thread, which then sleeps with
     * it. */
    c->released = h && h->depth == 1;
    if (c->released) {
        c->mutex_kind = (enum lock_kind)h->kind;
        atomic_store_explicit(&h->address, 0, memory_order_release);
    }
    begin_wait(c);
}

void lock_table_woke(struct lock_call *c, bool mutex_is_back) {
    if (!c->thread)
        return;
    end_wait(c);
    if (c->released && mutex_is_back)
        own(c->thread, c, c->mutex, c->mutex_kind);
}

/* ---- signalling ---- */

void lock_table_signals(const void *condition) {
    struct board_thread *e = self();
    uint64_t address = (uint64_t)(uintptr_t)condition;
    if (!e)
        return;
    for (int i = 0; i < BOARD_SIGNALLED; i++)
        if (atomic_load_explicit(&e->signalled[i], memory_order_relaxed) == address)
            return;
    for (int i = 0; i < BOARD_SIGNALLED; i++) {
        uint64_t nothing = 0;
        if (atomic_compare_exchange_strong(&e->signalled[i], &nothing, address))
            return;
    }
    uint32_t n = atomic_fetch_add(&e->n_forgotten, 1);
    atomic_store(&e->signalled[n % BOARD_SIGNALLED], address);
}

/* A newer one may be in its place by now. */
static void forget_signalled(struct board_thread *e, uint64_t address) {
    for (int i = 0; i < BOARD_SIGNALLED; i++) {
        uint64_t expected = address;
        if (atomic_load_explicit(&e->signalled[i], memory_order_relaxed) == address)
            atomic_compare_exchange_strong(&e->signalled[i], &expected, 0);
    }
}

void lock_table_condition_ends(const void *condition) {
    const struct board *b = process->board;
    if (!self())
        return;
    for (uint32_t i = 0; i < b->n_threads; i++) {
        struct board_thread *e = &board_threads(b)[i];
        board_party party = atomic_load_explicit(&e->party, memory_order_relaxed);
        if (party && board_party_slot(party) == process->slot)
            forget_signalled(e, (uint64_t)(uintptr_t)condition);
    }
}

/* ---- what lies in memory that is about to be freed ---- */

static bool owned_inside(struct board_thread *e, uint64_t low, uint64_t bytes,
                         struct lock_inside *found) {
    uint32_t n = atomic_load_explicit(&e->n_used, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++) {
        struct board_held *h = &e->held[i];
        uint64_t address = atomic_load_explicit(&h->address, memory_order_acquire);
        if (address - low >= bytes || atomic_load_explicit(&h->freed, memory_order_relaxed))
            continue;
        *found = (struct lock_inside){address, (enum lock_kind)h->kind, e->party, h};
        return true;
    }
    return false;
}

static bool asked_inside(struct board_thread *e, uint64_t low, uint64_t bytes,
                         struct lock_inside *found) {
    uint64_t address = atomic_load_explicit(&e->wait.address, memory_order_acquire);
    /* A condition variable may be destroyed while those whom it woke are on their way. */
    if (address - low >= bytes || e->wait.kind >= LOCK_CONDITION)
        return false;
    *found = (struct lock_inside){address, (enum lock_kind)e->wait.kind, e->party, NULL};
    return true;
}

bool lock_table_inside(const void *from, size_t bytes, bool asked, struct lock_inside *found) {
    const struct board *b = process->board;
    bool (*look)(struct board_thread *, uint64_t, uint64_t, struct lock_inside *) =
        asked ? asked_inside : owned_inside;
    for (uint32_t word = 0; word * 64 < b->n_threads; word++)
        for (uint64_t left = atomic_load_explicit(&taken[word], memory_order_relaxed); left;
             left &= left - 1) {
            struct board_thread *e = &board_threads(b)[word * 64 + (uint32_t)__builtin_ctzll(left)];
            board_party party = atomic_load_explicit(&e->party, memory_order_relaxed);
            if (party && board_party_slot(party) == process->slot &&
                look(e, (uint64_t)(uintptr_t)from, bytes, found))
                return true;
        }
    return false;
}

bool lock_table_self_test(void) {
    static const char lock;
    struct lock_call c = {.object = &lock, .kind = LOCK_MUTEX, .waiting = WAIT_FOREVER};
    lock_table_asks(&c);
    if (!c.thread)
        return false;
    bool waited = atomic_load(&c.thread->wait.address) == (uint64_t)(uintptr_t)&lock;
    lock_table_answered(&c, true);
    bool owned = lock_table_own(&lock) && atomic_load(&c.thread->wait.address) == 0;
    lock_table_release(&lock);
    return waited && owned && !lock_table_own(&lock);
}
