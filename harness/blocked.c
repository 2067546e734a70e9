/* Holds that cannot end by their pass; see blocked.h. Runs in the runner's one thread; changes
 * nothing.
 */
#include "blocked.h"

#include <stdio.h>

#include "board/steps.h"

#define SAME_WAIT_NS 100000000ull

enum { MOST_OTHERS = 16 }; /* threads between the one that the step needs and a held one */

struct query {
    const struct waits *waits;
    const struct board *b;
    const struct board_seq *s;
    struct board_blocked *found;
};

/* ---- held threads ---- */

/* The point at which the thread is held by this sequence, or BOARD_NONE. */
static uint16_t held_at(const struct query *q, board_party party) {
    for (uint16_t c = 0; c < q->b->n_claims; c++)
        if (atomic_load(&q->s->claim[c].owner) == party &&
            atomic_load(&q->s->claim[c].standing) == 1 && !steps_released(q->b, q->s, c))
            return q->b->claim[c].point;
    return BOARD_NONE;
}

/* From this thread, along the locks that it and others wait for, to one that a held thread owns:
 * that is *q->found. True, too, when it waits for the end of a held thread, without any lock. */
static bool follow(const struct query *q, board_party from, uint32_t others) {
    const struct board_thread *waiter = waits_thread(q->waits, from), *all = board_threads(q->b);
    struct wait wait;
    if (!waiter || others > MOST_OTHERS || !waits_for(q->waits, waiter, SAME_WAIT_NS, &wait))
        return false;
    for (uint32_t i = 0; i < q->b->n_threads; i++) {
        if (!waits_in_the_way(&all[i], &wait, from))
            continue;
        board_party owner = atomic_load(&all[i].party);
        uint16_t point = held_at(q, owner);
        if (point == BOARD_NONE && follow(q, owner, others + 1))
            return true;
        if (point == BOARD_NONE)
            continue;
        if (wait.kind == LOCK_JOIN)
            return true;
        *q->found = (struct board_blocked){.waiter = from,
                                           .owner = owner,
                                           .address = wait.address,
                                           .kind = wait.kind,
                                           .others = others,
                                           .point = point};
        return true;
    }
    return false;
}

/* ---- whom the next step needs ---- */

/* The one thread that can do it; 0: any thread of its rank can. */
static board_party needed(const struct query *q, const struct board_step *step) {
    const struct board_point *p = &q->b->point[step->point];
    uint16_t before = step->claim == BOARD_NONE ? BOARD_NONE : q->b->claim[step->claim].previous;
    if (step->claim != BOARD_NONE && atomic_load(&q->s->claim[step->claim].owner))
        return atomic_load(&q->s->claim[step->claim].owner);
    if (p->same && before != BOARD_NONE)
        return atomic_load(&q->s->claim[before].owner);
    if (p->role == BOARD_NONE)
        return 0;
    uint64_t bound = atomic_load(&q->s->role[p->role]);
    return bound == BOARD_ROLE_GONE ? 0 : bound;
}

/* The rank whose threads can do it, or -1. */
static int32_t rank_of(const struct query *q, const struct board_step *step) {
    const struct board_point *p = &q->b->point[step->point];
    if (q->s->rank >= 0 || p->rank >= 0)
        return q->s->rank >= 0 ? q->s->rank : p->rank;
    if (p->role != BOARD_NONE && q->b->point[q->b->role[p->role].point].rank >= 0)
        return q->b->point[q->b->role[p->role].point].rank;
    return q->b->n_ranks == 1 ? 0 : -1;
}

/* It is held, or is kept by a held one. */
static bool is_kept(board_party party, void *query) {
    return held_at(query, party) != BOARD_NONE || follow(query, party, 0);
}

static bool all_of_rank(struct query *q, int32_t rank) {
    bool all = rank >= 0;
    for (uint32_t i = 0; all && i < q->b->n_slots; i++) {
        const struct board_slot *s = &board_slots(q->b)[i];
        uint32_t state = atomic_load(&s->state);
        if (s->rank == rank && (state == SLOT_STARTED || state == SLOT_EXECING))
            all = false; /* its program is still to come */
        else if (s->rank == rank && state == SLOT_ALIVE)
            all = waits_every_thread(q->waits, (uint16_t)i, is_kept, q);
    }
    return all && q->found->owner;
}

/* ---- the sentence ---- */

static void describe(const struct board *b, const struct board_step *step,
                     const struct board_blocked *f, char *text, unsigned size) {
    char through[48] = "";
    if (f->others)
        snprintf(through, sizeof through, ", through %u other%s,", f->others,
                 f->others == 1 ? "" : "s");
    int32_t rank = board_slots(b)[board_party_slot(f->waiter)].rank;
    snprintf(text, size,
             "`%.50s` (line %u) is blocked%s: rank %d, thread %u waits for the %s 0x%lx, "
             "which thread %u owns, held at `%.40s`",
             board_string(b, step->text), step->line, through, rank, board_party_tid(f->waiter),
             board_lock_name(f->kind), (unsigned long)f->address, board_party_tid(f->owner),
             board_string(b, b->point[f->point].name));
}

bool blocked_find(const struct waits *w, const struct board_seq *s, struct board_blocked *found,
                  char *sentence, unsigned size) {
    struct query q = {w, w->b, s, found};
    uint32_t next = board_seq_next(atomic_load(&s->state));
    *found = (struct board_blocked){0};
    if (!w->look || next >= w->b->n_steps)
        return false;
    const struct board_step *step = &w->b->step[next];
    board_party one = needed(&q, step);
    if (one ? held_at(&q, one) != BOARD_NONE || !follow(&q, one, 0) || !found->owner
            : !all_of_rank(&q, rank_of(&q, step)))
        return false;
    describe(w->b, step, found, sentence, size);
    return true;
}
