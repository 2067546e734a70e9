/* The pool of return probes. Any thread, signal handlers too; survives fork (the child's frames
 * return through its own copy of the pool). */
#include "probe.h"
#include "process.h"
#include "thread.h"

/* The layout is known to arch/x86_64/probe.S: the return address first, 48 bytes. */
struct probe {
    void *returns_to;
    uintptr_t sp_after;
    probe_function *function;
    void *data;
    _Atomic uint32_t taken;
    int32_t below; /* 1 + index of this thread's next outer probe */
    uint64_t pad;
};
_Static_assert(sizeof(struct probe) == 48, "probe.S");

extern char probe_stubs[] __attribute__((visibility("hidden")));
struct probe probe_table[PROBE_COUNT] __attribute__((visibility("hidden")));
enum { STUB_BYTES = 32 };

uintptr_t probe_returned(uint64_t index, struct probe_result *r, uintptr_t sp_after)
    __attribute__((visibility("hidden")));

static void *stub(int32_t index) {
    return probe_stubs + (size_t)index * STUB_BYTES;
}

/* Frees the innermost probes of this thread whose frames are gone without having returned (longjmp,
 * an exception): they lie below `sp` on the same stack. Probes of other stacks (coroutines) stay.
 */
static void drop_stale(struct thread *t, uintptr_t sp) {
    uintptr_t low, high;
    thread_stack(&low, &high);
    while (t->top_probe) {
        struct probe *p = &probe_table[t->top_probe - 1];
        bool on_this_stack = low <= p->sp_after && p->sp_after <= high;
        if (!on_this_stack || p->sp_after >= sp)
            return;
        t->top_probe = p->below;
        atomic_store(&p->taken, 0);
    }
}

static int32_t take(void) {
    static _Atomic uint32_t hint;
    uint32_t start = atomic_fetch_add_explicit(&hint, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < PROBE_COUNT; i++) {
        uint32_t at = (start + i) % PROBE_COUNT, no = 0;
        if (!atomic_load_explicit(&probe_table[at].taken, memory_order_relaxed) &&
            atomic_compare_exchange_strong(&probe_table[at].taken, &no, 1))
            return (int32_t)at;
    }
    return -1;
}

/* Probes of the same return slot are one behind the other when the slot holds the stub of the
 * first; otherwise their frames are gone and another call has taken the place. */
static void drop_replaced(int32_t *link, uintptr_t sp_after, const void *now) {
    if (*link && now == stub(*link - 1))
        return;
    while (*link && probe_table[*link - 1].sp_after == sp_after) {
        struct probe *p = &probe_table[*link - 1];
        *link = p->below;
        atomic_store(&p->taken, 0);
    }
}

bool probe_set(void **return_slot, uintptr_t dead_below, probe_function *function, void *data) {
    struct thread *t = &thread_self;
    uintptr_t sp_after = (uintptr_t)(return_slot + 1);
    drop_stale(t, dead_below);
    int32_t *link = &t->top_probe;
    while (*link && probe_table[*link - 1].sp_after < sp_after)
        link = &probe_table[*link - 1].below;
    drop_replaced(link, sp_after, *return_slot);
    int32_t index = take();
    if (index < 0) {
        process_table_full(TABLE_RETURN_PROBES);
        return false;
    }
    struct probe *p = &probe_table[index];
    p->returns_to =
        *return_slot; /* may be another probe's stub: the two then return one after the other */
    p->sp_after = sp_after;
    p->function = function;
    p->data = data;
    p->below = *link;
    *link = index + 1;
    *return_slot = stub(index);
    return true;
}

uintptr_t probe_returned(uint64_t index, struct probe_result *r, uintptr_t sp_after) {
    struct thread *t = &thread_self;
    struct probe p = probe_table[index];
    int32_t *link = &t->top_probe;
    while (*link && *link != (int32_t)index + 1) {
        int32_t inner = *link; /* deeper frames that never returned */
        if (probe_table[inner - 1].sp_after > sp_after) {
            link = &probe_table[inner - 1].below;
            continue;
        }
        *link = probe_table[inner - 1].below;
        atomic_store(&probe_table[inner - 1].taken, 0);
    }
    if (*link)
        *link = probe_table[index].below;
    atomic_store(&probe_table[index].taken, 0);
    p.function(p.data, sp_after, p.returns_to, r);
    return (uintptr_t)p.returns_to;
}

void probe_thread_ends(void) {
    struct thread *t = &thread_self;
    while (t->top_probe) {
        struct probe *p = &probe_table[t->top_probe - 1];
        t->top_probe = p->below;
        atomic_store(&p->taken, 0);
    }
}
