/* The pool of return probes. Any thread, signal handlers too; survives fork (the child's frames
 * return through its own copy of the pool). */
#include "probe.h"
#include "process.h"
#include "thread.h"

#include <errno.h>
#include <signal.h>

/* Stacks are many: coroutines have their own, several on one mapping, and go from thread to thread.
 * So where a frame lies does not tell whether it is alive; whether its return slot still leads to
 * the probe does. */
enum probe_state {
    PROBE_FREE,
    PROBE_LISTED,   /* in the list of the thread that set it */
    PROBE_LOOSE,    /* in no list: its frame may still return, or was left without a return */
    PROBE_RETURNED, /* its frame returned on another thread than the one whose list it is in */
};

/* The layout is known to arch/x86_64/probe.S: the two return addresses first, `returning` at 48, 64
 * bytes. Probes of the same slot return one after the other, and to unwinders, which tell frames
 * apart by their stack pointers, they are one frame: that of the last. */
struct probe {
    void *truly_to;   /* where the frame returns without any probe */
    void *returns_to; /* what lay in the slot: that, or another probe's stub */
    uintptr_t sp_after;
    probe_function *function;
    void *data;
    _Atomic uint32_t state;
    int32_t below;              /* 1 + index of this thread's next outer probe */
    _Atomic uint32_t returning; /* set before the return slot is restored */
    uint32_t pad;
    uint64_t number;
};
_Static_assert(sizeof(struct probe) == 64 && offsetof(struct probe, returns_to) == 8 &&
                   offsetof(struct probe, returning) == 48,
               "probe.S");

extern char probe_stubs[] __attribute__((visibility("hidden")));
struct probe probe_table[PROBE_COUNT] __attribute__((visibility("hidden")));
enum { STUB_BYTES = 32 };

uintptr_t probe_returned(uint64_t index, struct probe_result *r, uintptr_t sp_after)
    __attribute__((visibility("hidden")));

static void *stub(int32_t index) {
    return probe_stubs + (size_t)index * STUB_BYTES;
}

/* ---- is the frame of a probe still there? ---- */

/* A return address that leads to the probe, at once or through others on the same slot. */
static bool leads_to(const void *address, int32_t index) {
    for (int i = 0; i < PROBE_COUNT; i++) {
        size_t offset = (size_t)((uintptr_t)address - (uintptr_t)probe_stubs);
        if (address == stub(index))
            return true;
        if (offset % STUB_BYTES || offset / STUB_BYTES >= PROBE_COUNT)
            return false;
        address = probe_table[offset / STUB_BYTES].returns_to;
    }
    return false;
}

/* The kernel reads the set before it looks at what to do with it, which is nothing it knows. */
static bool is_readable(uintptr_t address) {
    int saved = errno;
    bool readable =
        syscall(SYS_rt_sigprocmask, -1, address & ~(uintptr_t)7, NULL, 8) && errno != EFAULT;
    errno = saved;
    return readable;
}

static bool may_return(int32_t index) {
    const struct probe *p = &probe_table[index];
    uintptr_t slot = p->sp_after - sizeof(void *);
    if (!is_readable(slot)) /* the stack was given back */
        return false;
    const void *now = __atomic_load_n((void *const *)slot, __ATOMIC_ACQUIRE);
    /* The stub puts its index there first. */
    return leads_to(now, index) || (uintptr_t)now == (uintptr_t)index || atomic_load(&p->returning);
}

/* The thread in whose list it was has taken it out. */
static void let_go(int32_t index) {
    struct probe *p = &probe_table[index];
    uint32_t listed = PROBE_LISTED;
    if (!atomic_compare_exchange_strong(&p->state, &listed,
                                        may_return(index) ? PROBE_LOOSE : PROBE_FREE))
        atomic_store(&p->state, PROBE_FREE); /* returned meanwhile, elsewhere */
}

/* ---- the list of a thread, by address ---- */

/* Takes out what lies below `sp` on the same mapping: frames that are gone without having returned
 * (longjmp, an exception), or a coroutine's. */
static void drop_below(struct thread *t, uintptr_t sp) {
    uintptr_t low, high;
    int32_t *link = &t->top_probe;
    if (!*link || probe_table[*link - 1].sp_after >= sp)
        return;
    thread_stack(&low, &high);
    while (*link && probe_table[*link - 1].sp_after < sp) {
        int32_t index = *link - 1;
        struct probe *p = &probe_table[index];
        if (low <= p->sp_after && p->sp_after <= high) {
            *link = p->below;
            let_go(index);
        } else {
            link = &p->below;
        }
    }
}

static int32_t take_if(enum probe_state state) {
    static _Atomic uint32_t hint;
    uint32_t start = atomic_fetch_add_explicit(&hint, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < PROBE_COUNT; i++) {
        uint32_t at = (start + i) % PROBE_COUNT, was = state;
        if (atomic_load_explicit(&probe_table[at].state, memory_order_relaxed) != was ||
            (state == PROBE_LOOSE && may_return((int32_t)at)) ||
            !atomic_compare_exchange_strong(&probe_table[at].state, &was, PROBE_LISTED))
            continue;
        return (int32_t)at;
    }
    return -1;
}

/* Probes of the same return slot are one behind the other when the slot leads to the first;
 * otherwise their frames are gone and another call has taken the place. */
static void drop_replaced(int32_t *link, uintptr_t sp_after, const void *now) {
    while (*link && probe_table[*link - 1].sp_after == sp_after && !leads_to(now, *link - 1)) {
        struct probe *p = &probe_table[*link - 1];
        *link = p->below;
        atomic_store(&p->state, PROBE_FREE);
    }
}

bool probe_set(void **return_slot, uintptr_t dead_below, probe_function *function, void *data,
               uint64_t number) {
    struct thread *t = &thread_self;
    uintptr_t sp_after = (uintptr_t)(return_slot + 1);
    drop_below(t, dead_below);
    int32_t *link = &t->top_probe;
    while (*link && probe_table[*link - 1].sp_after < sp_after)
        link = &probe_table[*link - 1].below;
    drop_replaced(link, sp_after, *return_slot);
    int32_t index = take_if(PROBE_FREE);
    if (index < 0 && (index = take_if(PROBE_LOOSE)) < 0) {
        process_table_full(TABLE_RETURN_PROBES);
        return false;
    }
    struct probe *p = &probe_table[index];
    p->returns_to = *return_slot;
    size_t offset = (size_t)((uintptr_t)p->returns_to - (uintptr_t)probe_stubs);
    p->truly_to = offset % STUB_BYTES || offset / STUB_BYTES >= PROBE_COUNT
                      ? p->returns_to
                      : probe_table[offset / STUB_BYTES].truly_to;
    p->sp_after = sp_after;
    p->function = function;
    p->data = data;
    p->number = number;
    atomic_store(&p->returning, 0);
    p->below = *link;
    *link = index + 1;
    __atomic_store_n(return_slot, stub(index), __ATOMIC_RELEASE);
    return true;
}

uintptr_t probe_returned(uint64_t index, struct probe_result *r, uintptr_t sp_after) {
    struct thread *t = &thread_self;
    struct probe p = probe_table[index];
    drop_below(t, sp_after);
    int32_t *link = &t->top_probe;
    while (*link && *link != (int32_t)index + 1 && probe_table[*link - 1].sp_after <= sp_after)
        link = &probe_table[*link - 1].below;
    bool own = *link == (int32_t)index + 1;
    if (own)
        *link = p.below;
    uint32_t listed = PROBE_LISTED;
    if (own || !atomic_compare_exchange_strong(&probe_table[index].state, &listed, PROBE_RETURNED))
        atomic_store(&probe_table[index].state, PROBE_FREE);
    p.function(p.data, p.number, sp_after, p.truly_to, r);
    return (uintptr_t)p.returns_to;
}

bool probe_may_return(probe_function *function, const void *data) {
    for (int32_t i = 0; i < PROBE_COUNT; i++) {
        uint32_t state = atomic_load(&probe_table[i].state);
        if ((state == PROBE_LISTED || state == PROBE_LOOSE) &&
            probe_table[i].function == function && probe_table[i].data == data && may_return(i))
            return true;
    }
    return false;
}

void probe_stack_is_gone(uintptr_t low, uintptr_t high) {
    int32_t *link = &thread_self.top_probe;
    while (*link) {
        struct probe *p = &probe_table[*link - 1];
        if (low <= p->sp_after && p->sp_after <= high) {
            *link = p->below;
            atomic_store(&p->state, PROBE_FREE);
        } else {
            link = &p->below;
        }
    }
}

void probe_thread_ends(void) {
    struct thread *t = &thread_self;
    while (t->top_probe) {
        int32_t index = t->top_probe - 1;
        t->top_probe = probe_table[index].below;
        let_go(index);
    }
}
