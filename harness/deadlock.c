/* A deadlock's finding; see deadlock.h. Runs in the runner's one thread.
 */
#include "deadlock.h"

#include <stdio.h>
#include <string.h>

#include "board/finding_kind.h"
#include "board/steps.h"
#include "stacks.h"

struct one {
    struct board_frame at[BOARD_MAX_FRAMES], acquired[BOARD_LOCK_FRAMES];
    uint32_t n_at, n_acquired;
};

/* Thread `i` of the cycle. What it took is what the thread before it waits for. */
static void take_side(const struct board *b, struct stacks *s, const struct cycle *c, uint32_t i,
                      struct one *side) {
    uint64_t wanted = c->wait[(i + c->n - 1) % c->n].address;
    const struct board_held *held = waits_held(b, c->thread[i], wanted);
    side->n_at = stacks_walk(s, (pid_t)board_party_tid(c->thread[i]), side->at, BOARD_MAX_FRAMES);
    uint32_t n = 0;
    for (; held && n < BOARD_LOCK_FRAMES && held->pc[n]; n++)
        side->acquired[n] = stacks_frame(s, held->pc[n]);
    side->n_acquired = n;
}

static bool comes_before(const struct one *x, const struct one *y) {
    uint32_t n = x->n_at < y->n_at ? x->n_at : y->n_at;
    for (uint32_t i = 0; i < n; i++)
        if (x->at[i].module != y->at[i].module || x->at[i].offset != y->at[i].offset)
            return x->at[i].module != y->at[i].module ? x->at[i].module < y->at[i].module
                                                      : x->at[i].offset < y->at[i].offset;
    return x->n_at < y->n_at;
}

static void add_stack(struct board_finding *f, enum stack_role role,
                      const struct board_frame *frame, uint32_t n) {
    if (!n || f->n_stacks == BOARD_MAX_STACKS)
        return;
    f->stack[f->n_stacks].role = (uint32_t)role;
    f->stack[f->n_stacks].n = n;
    memcpy(f->stack[f->n_stacks++].frame, frame, n * sizeof *frame);
}

/* "of thread 12", or who could have ended a wait on a condition. */
static void write_whose(const struct cycle *c, uint32_t k, char *text, size_t size) {
    uint32_t next = board_party_tid(c->thread[(k + 1) % c->n]);
    if (c->wait[k].kind != LOCK_CONDITION)
        snprintf(text, size, " of thread %u", next);
    else if (!c->signallers[k])
        snprintf(text, size, " and nobody is left to signal it");
    else if (c->signallers[k] == 1)
        snprintf(text, size, ", which %sthread %u has signalled", c->forgotten[k] ? "" : "only ",
                 next);
    else
        snprintf(text, size, ", which thread %u has signalled, and %u more that wait too", next,
                 c->signallers[k] - 1);
}

static void write_note(const struct cycle *c, uint32_t first, char *note, size_t size) {
    size_t n = 0;
    for (uint32_t i = 0; i < c->n && n < size; i++) {
        uint32_t k = (first + i) % c->n;
        char whose[80];
        write_whose(c, k, whose, sizeof whose);
        n += (size_t)snprintf(note + n, size - n, "%sthread %u waits for the %s 0x%lx%s",
                              i ? "; " : "", board_party_tid(c->thread[k]),
                              board_lock_name(c->wait[k].kind), (unsigned long)c->wait[k].address,
                              whose);
    }
}

static struct board_finding *take_finding(struct board *b) {
    for (int i = 0; i < BOARD_MAX_FINDINGS; i++) {
        uint32_t free_entry = 0;
        if (atomic_compare_exchange_strong(&b->finding[i].state, &free_entry, 1))
            return &b->finding[i];
    }
    atomic_fetch_or(&b->table_full, TABLE_FINDINGS);
    return NULL;
}

/* Which thread comes first must not be chance: the finding's signature is made of it. */
static uint32_t choose_first(const struct one *side, uint32_t n) {
    uint32_t first = 0;
    for (uint32_t i = 1; i < n; i++)
        if (comes_before(&side[i], &side[first]))
            first = i;
    return first;
}

void deadlock_report(struct board *b, const struct cycle *c) {
    if (!c->n)
        return;
    struct board_slot *slot = &board_slots(b)[board_party_slot(c->thread[0])];
    struct stacks *s = stacks_open((pid_t)atomic_load(&slot->pid), b);
    struct one side[CYCLE_MOST];
    memset(side, 0, sizeof side);
    for (uint32_t i = 0; s && i < c->n; i++)
        take_side(b, s, c, i, &side[i]);
    stacks_close(s);
    struct board_finding *f = take_finding(b);
    if (!f)
        return;
    const struct board_seq *seq = steps_sequence(b, slot->rank);
    uint32_t first = choose_first(side, c->n), second = (first + 1) % c->n;
    f->kind = FINDING_DEADLOCK;
    f->node = b->node;
    f->rank = slot->rank;
    f->pid = atomic_load(&slot->pid);
    f->tid = board_party_tid(c->thread[first]);
    f->ns = steps_now();
    f->address = c->wait[first].address;
    f->steps_done = seq ? board_seq_next(atomic_load(&seq->state)) : 0;
    f->faults_fired = (uint32_t)atomic_load(&b->faults_fired);
    write_note(c, first, f->note, sizeof f->note);
    add_stack(f, STACK_USE, side[first].at, side[first].n_at);
    add_stack(f, STACK_ACQUISITION, side[first].acquired, side[first].n_acquired);
    add_stack(f, STACK_PREVIOUS, side[second].at, side[second].n_at);
    add_stack(f, STACK_ACQUISITION, side[second].acquired, side[second].n_acquired);
    atomic_store(&f->state, 2);
}
