/* Guarded stacks: address space, states, protection. Any thread, signal handlers too. */
#include "guarded_stack.h"
#include "probe.h"
#include "process.h"
#include "thread.h"

#include <errno.h>
#include <sys/mman.h>

enum { MOST_STACKS = 64, PAGE = 4096, MOST_TRIES = 64 };
enum { BYTES = GUARDED_STACK_BYTES + 2 * PAGE };
/* The low byte of `turn`; above it the number of the use. Whoever ends a use names it, since the
 * stack may be another call's by then. */
enum {
    NONE,
    MAPPING, /* one thread's, which makes it */
    IN_USE,
    CLOSING, /* to a fault it is closed already, but it is nobody's to use */
    CLOSED,
    OPENED
};
enum { STATES = 256 };
static struct guarded_stack stack[MOST_STACKS];
static _Atomic uint32_t oldest; /* turns through the table when every place was used */

static unsigned state_of(uint64_t turn) {
    return (unsigned)(turn % STATES);
}

static bool go_on(struct guarded_stack *s, uint64_t from, unsigned state) {
    return atomic_compare_exchange_strong(&s->turn, &from, from - state_of(from) + state);
}

static bool protect(const struct guarded_stack *s, int how) {
    int saved = errno;
    bool ok = !mprotect((void *)s->low, s->high - s->low, how);
    errno = saved;
    return ok;
}

/* An unreadable page on either side: the lower ends an overflow, the upper keeps the kernel from
 * making one mapping of two. */
static bool map(struct guarded_stack *s) {
    int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, saved = errno;
    uintptr_t low, high, here = (uintptr_t)__builtin_frame_address(0);
    char *p = mmap(NULL, BYTES, PROT_NONE, how, -1, 0);
    thread_stack(&low, &high);
    for (int i = 1; p != MAP_FAILED && (uintptr_t)p > here && i < MOST_TRIES; i++) {
        munmap(p, BYTES);
        low -= (uintptr_t)i * BYTES; /* ever further: other stacks are in the way */
        p = mmap((void *)(low & ~(uintptr_t)(PAGE - 1)), BYTES, PROT_NONE, how, -1, 0);
    }
    errno = saved;
    if (p == MAP_FAILED)
        return false;
    s->low = (uintptr_t)p + PAGE;
    s->high = s->low + GUARDED_STACK_BYTES;
    return true;
}

bool guarded_stack_is_here(void) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    for (int i = 0; i < MOST_STACKS; i++)
        if (state_of(atomic_load(&stack[i].turn)) == IN_USE && stack[i].low <= here &&
            here < stack[i].high)
            return true;
    return false;
}

static bool is_below(const struct guarded_stack *s) {
    return s->high < (uintptr_t)__builtin_frame_address(0);
}

/* A place that is this thread's to make ready: a new one, or else the one that was closed first. */
static struct guarded_stack *find_place(void) {
    for (int i = 0; i < MOST_STACKS; i++)
        if (!atomic_load(&stack[i].turn) && go_on(&stack[i], 0, MAPPING))
            return &stack[i];
    for (int i = 0; i < MOST_STACKS; i++) {
        struct guarded_stack *s = &stack[atomic_fetch_add(&oldest, 1) % MOST_STACKS];
        uint64_t turn = atomic_load(&s->turn);
        if ((state_of(turn) == CLOSED || state_of(turn) == OPENED) && go_on(s, turn, MAPPING))
            return s;
    }
    return NULL;
}

static bool make_ready(struct guarded_stack *s) {
    if (s->low && !is_below(s)) {
        munmap((void *)(s->low - PAGE), BYTES);
        s->low = 0;
    }
    return (s->low || map(s)) && protect(s, PROT_READ | PROT_WRITE);
}

static void close_from(struct guarded_stack *s, uint64_t turn) {
    if (!go_on(s, turn, CLOSING))
        return;
    bool closed = protect(s, PROT_NONE);
    go_on(s, turn - state_of(turn) + CLOSING, CLOSED);
    if (!closed)
        process_problem("the kernel refuses to close a stack: detector `frames` does not see who "
                        "stores there");
}

static void returned(void *data, uint64_t turn, uintptr_t sp_after, const void *returns_to,
                     struct probe_result *r) {
    struct guarded_stack *s = data;
    (void)sp_after;
    (void)returns_to;
    (void)r;
    if (!process_armed()) /* a fork child's goes with it */
        return;
    probe_stack_is_gone(s->low, s->high);
    close_from(s, turn);
}

/* The calls of this thread that a jump or an exception has left. */
static void close_left(void) {
    for (int i = 0; i < MOST_STACKS; i++) {
        struct guarded_stack *s = &stack[i];
        uint64_t turn = atomic_load(&s->turn);
        if (state_of(turn) != IN_USE || s->tid != thread_id() || !s->return_slot ||
            probe_may_return(returned, s))
            continue;
        probe_stack_is_gone(s->low, s->high);
        close_from(s, turn);
    }
}

struct guarded_stack *guarded_stack_take(const void *function, void **return_slot) {
    close_left();
    struct guarded_stack *s = find_place();
    if (!s) {
        process_table_full(TABLE_GUARDED_STACKS);
        return NULL;
    }
    uint64_t turn = atomic_load(&s->turn) + STATES; /* the next use */
    bool ready = make_ready(s);
    s->function = function;
    s->return_slot = return_slot;
    s->tid = thread_id();
    turn += (uint64_t)(ready ? IN_USE : CLOSED) - MAPPING;
    atomic_store(&s->turn, turn);
    if (!ready)
        process_problem("no room for a guarded stack: detector `frames` needs address space");
    if (!ready || !return_slot ||
        probe_set(return_slot, (uintptr_t)(return_slot + 1), returned, s, turn))
        return ready ? s : NULL;
    close_from(s, turn);
    return NULL;
}

void guarded_stack_thread_ends(void) {
    uintptr_t low, high;
    thread_stack(&low, &high);
    for (int i = 0; i < MOST_STACKS; i++) {
        struct guarded_stack *s = &stack[i];
        uint64_t turn = atomic_load(&s->turn);
        if (state_of(turn) == IN_USE && s->tid == thread_id() && low <= (uintptr_t)s->return_slot &&
            (uintptr_t)s->return_slot < high)
            close_from(s, turn);
    }
}

void guarded_stack_close(struct guarded_stack *s) {
    close_from(s, atomic_load(&s->turn));
}

void guarded_stack_close_again(struct guarded_stack *s) {
    uint64_t turn = atomic_load(&s->turn);
    if (state_of(turn) == OPENED)
        close_from(s, turn);
}

struct guarded_stack *guarded_stack_at(uintptr_t address) {
    for (int i = 0; i < MOST_STACKS; i++)
        if (state_of(atomic_load(&stack[i].turn)) > MAPPING && stack[i].low <= address &&
            address < stack[i].high)
            return &stack[i];
    return NULL;
}

bool guarded_stack_is_closed(const struct guarded_stack *s) {
    unsigned state = state_of(atomic_load(&s->turn));
    return state == CLOSING || state == CLOSED;
}

bool guarded_stack_open(struct guarded_stack *s) {
    uint64_t turn = atomic_load(&s->turn);
    if (state_of(turn) == CLOSED && go_on(s, turn, OPENED))
        return protect(s, PROT_READ | PROT_WRITE);
    /* Else it is open now or soon, or closed soon: the fault comes again if it must. */
    return state_of(turn) != OPENED || protect(s, PROT_READ | PROT_WRITE);
}
