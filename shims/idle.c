/* The quick look at a hook. Any thread; general registers only (see the Makefile), so nothing of
 * the C library. */
#include "idle.h"
#include "call.h"
#include "process.h"
#include "steps.h"
#include "thread.h"

struct idle_hook idle_hook[BOARD_MAX_HOOKS];

static bool is_someone_elses(uint16_t role) {
    const struct thread *t = &thread_self;
    if (role == BOARD_NONE || t->pid != process->pid)
        return false;
    return atomic_load_explicit(&process->seq->role[role], memory_order_relaxed) !=
           board_party_make(process->slot, process->incarnation, t->tid);
}

/* A call must be seen to return also when its point is armed, or its role bound, only inside it. */
static bool may_match(const struct board_point *p, uint32_t next) {
    if (p->side == SIDE_RETURN)
        return steps_needed_at(p, next);
    return steps_armed_at(p, next) && !is_someone_elses(p->role);
}

bool idle_now(uint16_t hook) {
    const struct idle_hook *h = &idle_hook[hook];
    if (!process_armed() || !h->points)
        return true;
    if (h->never || !process->seq || thread_self.sleeping)
        return false;
    uint32_t next =
        board_seq_next(atomic_load_explicit(&process->seq->state, memory_order_acquire));
    for (uint64_t left = h->points; left; left &= left - 1) {
        const struct board_point *p = &process->board->point[__builtin_ctzll(left)];
        if (may_match(p, next))
            return false;
    }
    return true;
}

int call_is_idle(struct call_registers *r, void **frame) {
    const struct call_site *s = &call_site[(uintptr_t)frame[1]];
    r->original = s->original;
    return idle_now(s->hook);
}
