/* Cycles of waits; see cycle.h. Runs in the runner's one thread; changes nothing.
 */
#include "cycle.h"

#include <stdlib.h>

#include "allocate.h"

#define SAME_WAIT_NS 100000000ull
#define AT_REST_NS   1000000000ull

/* ---- cycles of owners ---- */

/* Extends the path whose last thread is `from`; true: it came back to its first. */
static bool extend(const struct waits *w, board_party from, struct cycle *c) {
    const struct board_thread *waiter = waits_thread(w, from), *all = board_threads(w->b);
    struct wait wait;
    if (!waiter || c->n == CYCLE_MOST || !waits_for(w, waiter, SAME_WAIT_NS, &wait))
        return false;
    c->thread[c->n] = from;
    c->wait[c->n++] = wait;
    for (uint32_t i = 0; i < w->b->n_threads; i++) {
        board_party next = atomic_load(&all[i].party);
        if (waits_in_the_way(&all[i], &wait, from) && (next == c->thread[0] || extend(w, next, c)))
            return true;
    }
    c->n--;
    return false;
}

/* ---- a process at rest ---- */

struct stuck {
    const struct board_thread *thread;
    board_party party;
    struct wait wait;
    bool doomed; /* whoever could end its wait is doomed, too */
};
struct rest {
    const struct waits *w;
    struct stuck *thread;
    uint32_t n;
};

static bool note_stuck(board_party party, void *data) {
    struct rest *r = data;
    const struct board_thread *t = waits_thread(r->w, party);
    struct wait wait;
    if (!t || r->n == r->w->b->n_threads || !waits_for(r->w, t, AT_REST_NS, &wait))
        return false;
    r->thread[r->n++] = (struct stuck){t, party, wait, true};
    return true;
}

static bool has_signalled(const struct board_thread *t, uint64_t condition) {
    for (int i = 0; i < BOARD_SIGNALLED; i++)
        if (atomic_load(&t->signalled[i]) == condition)
            return true;
    return false;
}

/* Thread i waits for thread k. */
static bool leads_to(const struct rest *r, uint32_t i, uint32_t k) {
    const struct stuck *s = &r->thread[i];
    if (s->wait.kind == LOCK_CONDITION)
        return i != k && has_signalled(r->thread[k].thread, s->wait.address);
    return waits_in_the_way(r->thread[k].thread, &s->wait, s->party);
}

/* Every thread is stuck, and a thread of the process is in its way; a lock that none of them owns
 * may be another process's, which gives it back. */
static bool is_at_rest(struct rest *r, uint16_t slot) {
    if (!waits_every_thread(r->w, slot, note_stuck, r))
        return false;
    for (uint32_t i = 0; i < r->n; i++) {
        bool kept = r->thread[i].wait.kind == LOCK_CONDITION;
        for (uint32_t k = 0; !kept && k < r->n; k++)
            kept = leads_to(r, i, k);
        if (!kept)
            return false;
    }
    return true;
}

/* ---- who is doomed in it ---- */

static bool may_have_signalled(const struct stuck *s) {
    return atomic_load(&s->thread->n_forgotten) != 0;
}

/* One thread that stands in the way keeps a lock or a join waiting, but every one that has
 * signalled a condition could do it again. */
static bool stays_doomed(const struct rest *r, uint32_t i) {
    bool condition = r->thread[i].wait.kind == LOCK_CONDITION, led = false;
    for (uint32_t k = 0; k < r->n; k++) {
        bool leads = leads_to(r, i, k);
        if (leads && !condition && r->thread[k].doomed)
            return true;
        if (condition && i != k && !r->thread[k].doomed &&
            (leads || may_have_signalled(&r->thread[k])))
            return false;
        led |= leads;
    }
    return condition && led;
}

static void find_doomed(struct rest *r) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < r->n; i++)
            if (r->thread[i].doomed && !stays_doomed(r, i)) {
                r->thread[i].doomed = false;
                changed = true;
            }
    }
}

/* A thread is doomed only because another one is. */
static uint32_t next_doomed(const struct rest *r, uint32_t i) {
    for (uint32_t k = 0; k < r->n; k++)
        if (r->thread[k].doomed && leads_to(r, i, k))
            return k;
    return i;
}

static void add(const struct rest *r, uint32_t i, struct cycle *c) {
    c->thread[c->n] = r->thread[i].party;
    c->wait[c->n] = r->thread[i].wait;
    c->signallers[c->n] = 0;
    c->forgotten[c->n] = false;
    for (uint32_t k = 0; k < r->n; k++) {
        c->signallers[c->n] += leads_to(r, i, k);
        c->forgotten[c->n] |= i != k && may_have_signalled(&r->thread[k]);
    }
    c->n++;
}

/* From any doomed thread the way leads into a cycle, after as many steps as there are threads at
 * most. */
static bool find_among_doomed(const struct rest *r, struct cycle *c) {
    uint32_t at = 0;
    while (at < r->n && !r->thread[at].doomed)
        at++;
    if (at == r->n)
        return false;
    for (uint32_t step = 0; step < r->n; step++)
        at = next_doomed(r, at);
    uint32_t first = at;
    do {
        add(r, at, c);
        at = next_doomed(r, at);
    } while (at != first && c->n < CYCLE_MOST);
    return at == first;
}

/* A lock's owner who waits on a condition, and one who waits for the lock. */
static bool find_unsignalled(const struct rest *r, struct cycle *c) {
    for (uint32_t i = 0; i < r->n; i++)
        for (uint32_t k = 0; k < r->n; k++) {
            uint32_t kind = r->thread[i].wait.kind;
            if (kind == LOCK_CONDITION || kind == LOCK_JOIN || !leads_to(r, i, k) ||
                r->thread[k].wait.kind != LOCK_CONDITION)
                continue;
            add(r, i, c);
            add(r, k, c);
            c->signallers[1] = 0;
            return true;
        }
    return false;
}

static bool find_at_rest(const struct waits *w, uint16_t slot, struct cycle *c) {
    struct rest r = {w, allocate(w->b->n_threads, sizeof *r.thread), 0};
    bool found = false;
    if (is_at_rest(&r, slot)) {
        find_doomed(&r);
        c->n = 0;
        found = find_among_doomed(&r, c);
        if (!found) {
            c->n = 0;
            found = find_unsignalled(&r, c);
        }
    }
    free(r.thread);
    return found;
}

/* Only a process with a thread that waits on a condition for so long is worth a look at its
 * threads. */
static bool find_standstill(const struct waits *w, struct cycle *c) {
    bool *seen = allocate(w->b->n_slots, sizeof *seen), found = false;
    for (uint32_t i = 0; !found && i < w->b->n_threads; i++) {
        const struct board_thread *t = &board_threads(w->b)[i];
        uint16_t slot = board_party_slot(atomic_load(&t->party));
        if (t->wait.kind != LOCK_CONDITION || !waits_last(w, t, AT_REST_NS) ||
            slot >= w->b->n_slots || seen[slot])
            continue;
        seen[slot] = true;
        found = find_at_rest(w, slot, c);
    }
    free(seen);
    return found;
}

bool cycle_find(const struct waits *w, struct cycle *c) {
    for (uint32_t i = 0; w->look && i < w->b->n_threads; i++) {
        board_party first = atomic_load(&board_threads(w->b)[i].party);
        *c = (struct cycle){0};
        if (first && extend(w, first, c))
            return true;
    }
    return w->look && find_standstill(w, c);
}
