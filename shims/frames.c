/* Detector `frames`. frames_register runs in the registering call; frames_before and frames_after
 * around the callback, on whichever thread runs it. */
#include "frames.h"
#include "events.h"
#include "arch/x86_64/arch.h"
#include "fault_signals.h"
#include "findings.h"
#include "guarded_stack.h"
#include "kernel.h"
#include "objects.h"
#include "peer_thread.h"
#include "probe.h"
#include "process.h"
#include "steps.h"
#include "thread.h"
#include "unwind_stack.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    SCAN_BYTES = 1024, /* of what the data points to: Open MPI 4.1 keeps its pointer at 736 */
    RED_ZONE = 256,    /* 128 of the ABI's, and as much again */
    PATTERN = 0xa5,
    ASLEEP_WAIT_MS = 500,
    FRAMES = 12
};

/* What this thread calls back just now. */
static __thread struct frames_watch *watched;
static __thread struct frames_evidence *evidence;
static __thread volatile bool testing, test_saw; /* volatile: a fault comes between */

static void owner_returned(void *data, uint64_t number, uintptr_t sp_after, const void *returns_to,
                           struct probe_result *r) {
    struct frames_target *t = data;
    (void)number;
    (void)sp_after;
    (void)returns_to;
    (void)r;
    atomic_store(&t->dead, 1);
    event_write(EVENT_FRAME_DEAD, BOARD_NONE, BOARD_NONE, BOARD_NONE, (uint64_t)t->address, 0);
}

static void add_target(struct frames_watch *w, uintptr_t address, bool direct, uint32_t offset) {
    struct frame_owner owner;
    if (w->n == FRAMES_CANDIDATES || !unwind_find_owner(address, &owner))
        return;
    struct frames_target *t = &w->target[w->n++];
    *t = (struct frames_target){.address = address,
                                .direct = direct,
                                .offset = offset,
                                .owner_code = owner.code,
                                .owner_returns_to = owner.returns_to};
    /* Only where the unwinder and the stack agree on what lies in the slot. */
    if (*owner.return_slot == owner.returns_to)
        t->probed = probe_set(owner.return_slot, (uintptr_t)__builtin_frame_address(0),
                              owner_returned, t, 0);
}

void frames_register(struct frames_watch *w, const void *data) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), low, high;
    thread_stack(&low, &high);
    w->tid = thread_id();
    w->n = 0;
    w->n_initiator = unwind_stack(w->initiator, BOARD_MAX_FRAMES);
    if ((uintptr_t)data > here && (uintptr_t)data < high) {
        add_target(w, (uintptr_t)data, true, 0);
        return;
    }
    uintptr_t word[SCAN_BYTES / sizeof(uintptr_t)];
    const void *from = (const void *)((uintptr_t)data & ~(uintptr_t)7);
    /* By system call, so that data near the end of a mapping, or that is no pointer at all, is no
     * fault. */
    ssize_t got = data ? kernel_copy(word, from, sizeof word) : -1;
    for (size_t i = 0; got > 0 && i < (size_t)got / sizeof *word; i++)
        if (word[i] > here && word[i] < high)
            add_target(w, word[i], false, (uint32_t)(i * sizeof *word));
}

const char *frames_data_kind(const struct frames_watch *w) {
    return !w->n ? "other" : w->target[0].direct ? "stack" : "heap-with-stack-pointer";
}

/* Waits until the registering thread sleeps, so that what lies below its stack pointer is known to
 * be dead and stays as it is. */
static bool wait_asleep(uint32_t tid, uintptr_t *sp, uint64_t *switches) {
    for (int ms = 0; ms < ASLEEP_WAIT_MS; ms++) {
        if (peer_thread_asleep(tid, sp, switches))
            return true;
        struct timespec t = {0, 1000000};
        kernel_sleep(&t);
    }
    return false;
}

void frames_before(struct frames_watch *w, struct frames_evidence *e, const void *code) {
    memset(e, 0, sizeof *e);
    e->code = code;
    bool any = false;
    for (uint32_t i = 0; i < w->n; i++) {
        e->dead[i] = atomic_load(&w->target[i].dead) != 0;
        e->stack[i] = e->dead[i] ? guarded_stack_at(w->target[i].address) : NULL;
        any |= e->dead[i] && !e->stack[i]; /* a closed stack sees the store by itself */
    }
    e->outer_watched = watched;
    e->outer_evidence = evidence;
    watched = w;
    evidence = e;
    uintptr_t sp;
    if (!any || w->tid == thread_id() || !wait_asleep(w->tid, &sp, &e->switches))
        return;
    for (uint32_t i = 0; i < w->n; i++) {
        unsigned char *at = (unsigned char *)(w->target[i].address & ~(uintptr_t)7);
        if (!e->dead[i] || e->stack[i])
            continue;
        /* Below the stack pointer nothing is alive: a pattern there shows any store. Above it,
         * where the stack is in use again, only a store that changes something shows. */
        if ((uintptr_t)at + sizeof e->before[i] <= sp - RED_ZONE)
            memset(at, PATTERN, sizeof e->before[i]);
        memcpy(e->before[i], at, sizeof e->before[i]);
        e->read[i] = true;
    }
}

/* Which byte the callback changed, or -1. Only while the registering thread slept throughout: its
 * stack was nobody else's to change. */
static int changed_byte(const struct frames_watch *w, const struct frames_evidence *e, uint32_t i,
                        unsigned char *now) {
    uintptr_t sp;
    uint64_t switches;
    if (!e->read[i] || !peer_thread_asleep(w->tid, &sp, &switches) || switches != e->switches)
        return -1;
    const volatile unsigned char *at =
        (const unsigned char *)(w->target[i].address & ~(uintptr_t)7);
    for (int k = 0; k < (int)sizeof e->before[i]; k++)
        if ((*now = at[k]) != e->before[i][k])
            return k;
    return -1;
}

/* `seen`: what the callback did there, in words; `use`: where, or NULL. */
static void report(struct frames_watch *w, uint32_t i, const void *code, const uint64_t *use,
                   const char *seen, bool suspect, bool healed) {
    struct frames_target *t = &w->target[i];
    struct board_finding *f = finding_begin(FINDING_STACK_USE_AFTER_RETURN);
    if (!f)
        return;
    char where[96];
    if (t->direct)
        snprintf(where, sizeof where, "the callback's data is");
    else
        snprintf(where, sizeof where, "the callback's data holds, at offset %u,", t->offset);
    snprintf(f->note, sizeof f->note, "%s the address 0x%lx in a frame that had returned; %s",
             where, (unsigned long)t->address, seen);
    f->address = t->address;
    f->suspect = suspect;
    f->healed = healed;
    struct board_frame owner[2] = {objects_frame((const char *)t->owner_code - 1),
                                   objects_frame((const char *)t->owner_returns_to - 1)};
    struct board_frame callback = objects_frame(code);
    if (use)
        finding_addresses(f, STACK_USE, use, FRAMES);
    finding_stack(f, STACK_INITIATOR, w->initiator, w->n_initiator);
    finding_stack(f, STACK_DEAD_FRAME, owner, 2);
    finding_stack(f, STACK_CALLBACK, &callback, 1);
    finding_end(f);
}

void frames_after(struct frames_watch *w, struct frames_evidence *e) {
    for (uint32_t i = 0; i < w->n; i++) {
        unsigned char now = 0;
        int changed = e->dead[i] ? changed_byte(w, e, i, &now) : -1;
        char seen[140] = "no store was seen";
        if (changed >= 0)
            snprintf(seen, sizeof seen,
                     "the callback stored there: byte 0x%lx went from 0x%02x to 0x%02x",
                     (unsigned long)((w->target[i].address & ~(uintptr_t)7) + (uintptr_t)changed),
                     e->before[i][changed], now);
        if (e->stack[i])
            guarded_stack_close_again(e->stack[i]); /* for the next one */
        if (e->dead[i] && !e->caught[i])
            report(w, i, e->code, NULL, seen, !w->target[i].direct && changed < 0, false);
    }
    watched = e->outer_watched;
    evidence = e->outer_evidence;
}

/* ---- guarded stacks ---- */

/* Of the callback that runs on this thread: the data that lies nearest, on the same stack. */
static bool find_target(const struct guarded_stack *s, uintptr_t address, uint32_t *target) {
    uintptr_t nearest = UINTPTR_MAX;
    for (uint32_t i = 0; watched && i < watched->n; i++) {
        uintptr_t at = watched->target[i].address,
                  away = at < address ? address - at : at - address;
        if (evidence->stack[i] == s && away < nearest) {
            nearest = away;
            *target = i;
        }
    }
    return nearest != UINTPTR_MAX;
}

/* By no callback that we know of. */
static void report_stranger(const struct guarded_stack *s, uintptr_t address, const uint64_t *use,
                            const char *what) {
    struct board_finding *f =
        finding_is_new(what, use) ? finding_begin(FINDING_STACK_USE_AFTER_RETURN) : NULL;
    if (!f)
        return;
    struct board_frame function =
        objects_frame((const char *)s->function + 1); /* as if it called */
    f->note[0] = '\0';
    finding_say(f, what);
    finding_say(f, " at 0x");
    finding_say_number(f, address, 16);
    finding_say(f, ", on the stack of a call that had returned");
    f->address = address;
    finding_addresses(f, STACK_USE, use, FRAMES);
    finding_stack(f, STACK_DEAD_FRAME, &function, 1);
    finding_end(f);
}

static void report_caught(const struct guarded_stack *s, uintptr_t address,
                          const ucontext_t *context) {
    uint64_t use[FRAMES];
    uint32_t i = 0;
    bool store = arch_fault_is_store(context);
    thread_self.in_locks++;
    unwind_interrupted(use, FRAMES, arch_faulting_instruction(context));
    thread_self.in_locks--;
    if (!find_target(s, address, &i)) {
        report_stranger(s, address, use, store ? "a store" : "a load");
    } else if (!evidence->caught[i]) {
        evidence->caught[i] = true;
        report(watched, i, evidence->code, use,
               store ? "a store there was caught at its instruction"
                     : "a load from there was caught at its instruction",
               false, false);
    }
}

static bool take_fault(const siginfo_t *info, const ucontext_t *context) {
    uintptr_t address = (uintptr_t)info->si_addr;
    struct guarded_stack *s = guarded_stack_at(address);
    if (!s)
        return false;
    if (testing)
        test_saw = true;
    else if (process_armed() && !vfork_state.child && guarded_stack_is_closed(s))
        report_caught(s, address, context);
    return guarded_stack_open(s);
}

bool frames_owner_is_dead(const struct frames_watch *w) {
    for (uint32_t i = 0; i < w->n; i++)
        if (atomic_load(&w->target[i].dead))
            return true;
    return false;
}

void frames_healed(struct frames_watch *w, const void *code) {
    for (uint32_t i = 0; i < w->n; i++)
        if (atomic_load(&w->target[i].dead))
            report(w, i, code, NULL, "the callback was dropped (heal)", false, true);
}

static __attribute__((noinline)) void private_frame(struct frames_watch *w) {
    volatile char flag[32];
    flag[8] = 1;
    frames_register(w, (const void *)&flag[8]);
    __asm__ volatile("" ::"r"(flag)
                     : "memory"); /* no tail call: the frame lives across the registration */
}

static bool guard_self_test(struct frames_watch *w) {
    struct guarded_stack *s = guarded_stack_take((const void *)(uintptr_t)private_frame, NULL);
    if (!s)
        return false;
    arch_call_on_stack(
        w, arch_prepare_stack(s->high, (const void *)(uintptr_t)private_frame, NULL, 0));
    guarded_stack_close(s);
    testing = true;
    test_saw = false;
    if (w->n == 1)
        *(volatile char *)w->target[0].address = 2;
    testing = false;
    return test_saw;
}

bool frames_self_test(void) {
    static struct frames_watch on_own_stack, guarded;
    private_frame(&on_own_stack);
    bool dies = on_own_stack.n == 1 && on_own_stack.target[0].direct &&
                on_own_stack.target[0].probed && atomic_load(&on_own_stack.target[0].dead);
    if (!dies || process->board->guarded_point == BOARD_NONE)
        return dies;
    return fault_signals_take(take_fault) && guard_self_test(&guarded);
}
