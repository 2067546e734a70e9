/* Who waits for whom, from the lock table; see blocked.h. Runs in the runner's one thread; changes
 * nothing.
 */
#include "blocked.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "board/steps.h"
#include "tree.h"

#define SAME_WAIT_NS 100000000ull

enum { MOST_OTHERS = 16 }; /* threads between the one that the step needs and a held one */

void blocked_begin(struct blocked_looks *l, const struct board *b) {
    l->look = b->n_threads ? allocate(b->n_threads, sizeof *l->look) : NULL;
}

void blocked_free(struct blocked_looks *l) {
    free(l->look);
    l->look = NULL;
}

void blocked_look(struct blocked_looks *l, const struct board *b, uint64_t now) {
    for (uint32_t i = 0; l->look && i < b->n_threads; i++) {
        const struct board_thread *t = &board_threads(b)[i];
        board_party party = atomic_load(&t->party);
        uint64_t number = atomic_load(&t->wait.number);
        if (!party || !atomic_load(&t->wait.address))
            l->look[i] = (struct blocked_look){0};
        else if (l->look[i].party != party || l->look[i].number != number)
            l->look[i] = (struct blocked_look){party, number, now};
    }
}

/* ---- one wait ---- */

struct query {
    const struct blocked_looks *looks;
    const struct board *b;
    const struct board_seq *s;
    uint64_t now;
};

static const struct board_thread *thread_of(const struct board *b, board_party party) {
    for (uint32_t i = 0; i < b->n_threads; i++)
        if (atomic_load(&board_threads(b)[i].party) == party)
            return &board_threads(b)[i];
    return NULL;
}

static pid_t process_of(const struct board *b, board_party party) {
    uint16_t slot = board_party_slot(party);
    return slot < b->n_slots ? (pid_t)atomic_load(&board_slots(b)[slot].pid) : 0;
}

/* A thread that was told to wake from a condition variable, and now sleeps for the mutex: the
 * kernel says on what it sleeps. A mutex's first word is what it sleeps on. */
static bool sleeps_on(const struct board *b, board_party party, uint64_t address) {
    char path[64];
    unsigned long call, word = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%u/syscall", process_of(b, party),
             board_party_tid(party));
    FILE *f = fopen(path, "re");
    bool read = f && fscanf(f, "%lu %lx", &call, &word) == 2;
    if (f)
        fclose(f);
    return read && word == address;
}

static bool is_asleep(const struct board *b, board_party party) {
    struct tree_process thread;
    return tree_read(process_of(b, party), (pid_t)board_party_tid(party), &thread) &&
           thread.state == 'S';
}

struct wait {
    uint64_t address;
    uint32_t kind;
};

/* What the thread waits for and cannot give up by itself; false: nothing, or not long enough. */
static bool waits_for(const struct query *q, const struct board_thread *t, struct wait *wait) {
    const struct blocked_look *l = &q->looks->look[t - board_threads(q->b)];
    board_party party = atomic_load(&t->party);
    *wait = (struct wait){atomic_load(&t->wait.address), t->wait.kind};
    uint64_t mutex = t->wait.mutex;
    bool timed = t->wait.timed;
    if (!party || l->party != party || l->number != atomic_load(&t->wait.number) ||
        q->now - l->ns < SAME_WAIT_NS || !wait->address)
        return false;
    if (wait->kind == LOCK_SPIN)
        return true;
    if (wait->kind == LOCK_CONDITION) {
        if (!sleeps_on(q->b, party, mutex))
            return false;
        *wait = (struct wait){mutex, LOCK_MUTEX};
        return true;
    }
    return !timed && is_asleep(q->b, party);
}

/* ---- held threads ---- */

/* The point at which the thread is held by this sequence, or BOARD_NONE. */
static uint16_t held_at(const struct query *q, board_party party) {
    for (uint16_t c = 0; c < q->b->n_claims; c++)
        if (atomic_load(&q->s->claim[c].owner) == party &&
            atomic_load(&q->s->claim[c].standing) == 1 && !steps_released(q->b, q->s, c))
            return q->b->claim[c].point;
    return BOARD_NONE;
}

static const struct board_held *held_by(const struct board_thread *t, uint64_t address) {
    for (int i = 0; i < BOARD_HELD_LOCKS; i++)
        if (atomic_load(&t->held[i].address) == address)
            return &t->held[i];
    return NULL;
}

const struct board_held *blocked_held(const struct board *b, board_party owner, uint64_t address) {
    const struct board_thread *t = thread_of(b, owner);
    return t ? held_by(t, address) : NULL;
}

/* Does the thread stand in the way of whoever waits so? It owns the lock, or is the thread whose
 * end is waited for. */
static bool stands_in_the_way(const struct board_thread *t, const struct wait *wait,
                              board_party waiter) {
    board_party party = atomic_load(&t->party);
    if (!party || party == waiter || board_party_slot(party) != board_party_slot(waiter))
        return false;
    return wait->kind == LOCK_JOIN ? t->self == wait->address : held_by(t, wait->address) != NULL;
}

/* From this thread, along the locks that it and others wait for, to one that a held thread owns:
 * that is *found. True, too, when it waits for the end of a held thread, without any lock. */
static bool follow(const struct query *q, board_party from, uint32_t others,
                   struct board_blocked *found) {
    const struct board_thread *waiter = thread_of(q->b, from), *all = board_threads(q->b);
    struct wait wait;
    if (!waiter || others > MOST_OTHERS || !waits_for(q, waiter, &wait))
        return false;
    for (uint32_t i = 0; i < q->b->n_threads; i++) {
        if (!stands_in_the_way(&all[i], &wait, from))
            continue;
        board_party owner = atomic_load(&all[i].party);
        uint16_t point = held_at(q, owner);
        if (point == BOARD_NONE && follow(q, owner, others + 1, found))
            return true;
        if (point == BOARD_NONE)
            continue;
        if (wait.kind == LOCK_JOIN)
            return true;
        *found = (struct board_blocked){.waiter = from,
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

typedef bool about_thread(const struct query *, board_party, void *data);

/* Is it so of every thread that the process has now? */
static bool every_thread(const struct query *q, uint16_t slot, about_thread *is_so, void *data) {
    const struct board_slot *s = &board_slots(q->b)[slot];
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/task", atomic_load(&s->pid));
    DIR *d = opendir(path);
    bool all = d != NULL;
    for (struct dirent *e; all && (e = readdir(d)) != NULL;) {
        uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);
        board_party party = board_party_make(slot, (uint16_t)atomic_load(&s->incarnation), tid);
        all = !tid || is_so(q, party, data);
    }
    if (d)
        closedir(d);
    return all;
}

/* It is held, or is kept by a held one: that is *data, a struct board_blocked. */
static bool is_kept(const struct query *q, board_party party, void *data) {
    return held_at(q, party) != BOARD_NONE || follow(q, party, 0, data);
}

static bool all_of_rank(const struct query *q, int32_t rank, struct board_blocked *found) {
    bool all = rank >= 0;
    for (uint32_t i = 0; all && i < q->b->n_slots; i++) {
        const struct board_slot *s = &board_slots(q->b)[i];
        uint32_t state = atomic_load(&s->state);
        if (s->rank == rank && (state == SLOT_STARTED || state == SLOT_EXECING))
            all = false; /* its program is still to come */
        else if (s->rank == rank && state == SLOT_ALIVE)
            all = every_thread(q, (uint16_t)i, is_kept, found);
    }
    return all && found->owner;
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

bool blocked_find(const struct blocked_looks *l, const struct board *b, const struct board_seq *s,
                  struct board_blocked *found, char *sentence, unsigned size) {
    struct query q = {l, b, s, steps_now()};
    uint32_t next = board_seq_next(atomic_load(&s->state));
    *found = (struct board_blocked){0};
    if (!l->look || next >= b->n_steps)
        return false;
    const struct board_step *step = &b->step[next];
    board_party one = needed(&q, step);
    if (one ? held_at(&q, one) != BOARD_NONE || !follow(&q, one, 0, found) || !found->owner
            : !all_of_rank(&q, rank_of(&q, step), found))
        return false;
    describe(b, step, found, sentence, size);
    return true;
}

/* ---- cycles ---- */

/* Extends the path whose last thread is `from`; true: it came back to its first. */
static bool extend(const struct query *q, board_party from, struct blocked_cycle *c) {
    const struct board_thread *waiter = thread_of(q->b, from), *all = board_threads(q->b);
    struct wait wait;
    if (!waiter || c->n == BLOCKED_CYCLE || !waits_for(q, waiter, &wait))
        return false;
    c->thread[c->n] = from;
    c->address[c->n] = wait.address;
    c->kind[c->n++] = wait.kind;
    for (uint32_t i = 0; i < q->b->n_threads; i++) {
        board_party owner = atomic_load(&all[i].party);
        if (stands_in_the_way(&all[i], &wait, from) &&
            (owner == c->thread[0] || extend(q, owner, c)))
            return true;
    }
    c->n--;
    return false;
}

/* ---- standstill ---- */

/* It waits, without a limit, for something that only a thread of its process ends. */
static bool is_stuck(const struct query *q, const struct board_thread *t) {
    const struct blocked_look *l = &q->looks->look[t - board_threads(q->b)];
    board_party party = atomic_load(&t->party);
    if (!party || l->party != party || l->number != atomic_load(&t->wait.number) ||
        q->now - l->ns < SAME_WAIT_NS || !atomic_load(&t->wait.address))
        return false;
    return t->wait.kind == LOCK_SPIN || (!t->wait.timed && is_asleep(q->b, party));
}

static bool is_stuck_too(const struct query *q, board_party party, void *unused) {
    const struct board_thread *t = thread_of(q->b, party);
    (void)unused;
    return t && is_stuck(q, t);
}

static bool is_lock(uint32_t kind) {
    return kind != LOCK_CONDITION && kind != LOCK_JOIN;
}

/* A condition variable has no owner: who would signal it, nobody can know. But when every thread of
 * a process waits for another of them, nobody is left to do it; and when one of them waits for a
 * lock whose owner waits on a condition, the two keep each other. (A condition that another process
 * signals, or a signal handler, is taken for one that nobody does.) */
static bool find_standstill(const struct query *q, struct blocked_cycle *c) {
    const struct board_thread *all = board_threads(q->b);
    for (uint32_t i = 0; i < q->b->n_threads; i++) {
        struct wait wait = {atomic_load(&all[i].wait.address), all[i].wait.kind};
        board_party waiter = atomic_load(&all[i].party);
        if (!waiter || !wait.address || !is_lock(wait.kind) || !is_stuck(q, &all[i]))
            continue;
        for (uint32_t k = 0; k < q->b->n_threads; k++) {
            if (!stands_in_the_way(&all[k], &wait, waiter) || all[k].wait.kind != LOCK_CONDITION ||
                !every_thread(q, board_party_slot(waiter), is_stuck_too, NULL))
                continue;
            *c =
                (struct blocked_cycle){.n = 2,
                                       .thread = {waiter, atomic_load(&all[k].party)},
                                       .address = {wait.address, atomic_load(&all[k].wait.address)},
                                       .kind = {wait.kind, LOCK_CONDITION}};
            return true;
        }
    }
    return false;
}

bool blocked_find_cycle(const struct blocked_looks *l, const struct board *b,
                        struct blocked_cycle *cycle) {
    struct query q = {l, b, NULL, steps_now()};
    for (uint32_t i = 0; l->look && i < b->n_threads; i++) {
        board_party first = atomic_load(&board_threads(b)[i].party);
        cycle->n = 0;
        if (first && extend(&q, first, cycle))
            return true;
    }
    return l->look && find_standstill(&q, cycle);
}
