/* What the runner sees of the ranks. Runs in the runner's one thread.
 * May not block: a round reads a few small files of /proc and the board.
 */
#include "watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "allocate.h"
#include "blocked.h"
#include "board/steps.h"
#include "deadlock.h"
#include "evidence.h"
#include "tree.h"

#define MILLISECOND 1000000ull

enum {
    ROUND_MS = 20,
    SLEEPER_ROUND_MS = 2, /* while it matters whether a thread sleeps */
    SETTLE_MS = 50,       /* a fork's child may check in just after its parent ended */
    BACKSTOP_MS = 1000,   /* held threads end their own holds; we only if they could not */
};

void watch_begin(struct watch *w, struct board *b) {
    *w = (struct watch){.b = b};
    w->slot = allocate(b->n_slots + 1, sizeof *w->slot);
    w->rank_ended = allocate(b->n_ranks + 1, sizeof *w->rank_ended);
    waits_begin(&w->waits, b);
}

void watch_free(struct watch *w) {
    free(w->slot);
    free(w->rank_ended);
    waits_free(&w->waits);
    *w = (struct watch){0};
}

/* ---- processes ---- */

static bool is_taken(const struct board_slot *s) {
    return atomic_load(&s->state) != SLOT_FREE && atomic_load(&s->pid) != 0;
}

static void mark_gone(struct board_slot *s, int exit_code, uint64_t now) {
    uint32_t state = atomic_load(&s->state);
    if (state == SLOT_EXITED || state == SLOT_GONE)
        return;
    atomic_store(&s->exit_code, exit_code);
    atomic_store(&s->ended_ns, now);
    /* A process that is gone changes its state no more: nobody else writes it. */
    atomic_store(&s->state, SLOT_GONE);
}

static int exit_code_of(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void look_at_slot(struct watch *w, uint32_t i, uint64_t now) {
    struct board_slot *s = &board_slots(w->b)[i];
    struct watch_slot *known = &w->slot[i];
    struct tree_process p;
    if (known->gone || !is_taken(s) || s->node != w->b->node)
        return;
    known->pid = (pid_t)atomic_load(&s->pid);
    bool lives = tree_read(known->pid, 0, &p);
    if (lives && !known->seen) {
        known->seen = true;
        known->start = p.start;
    }
    if (lives && p.state != 'Z' && p.start == known->start)
        return;
    known->gone = true;
    /* Its parent may not have collected it yet; then the kernel still tells how it ended. */
    bool zombie = lives && p.start == known->start && p.zombie_status != 0;
    mark_gone(s, zombie ? exit_code_of(p.zombie_status) : -1, now);
}

void watch_rank_ended(struct watch *w, int rank, pid_t pid, int status, uint64_t now) {
    struct board_slot *slots = board_slots(w->b);
    for (uint32_t i = 0; i < w->b->n_slots; i++) {
        struct board_slot *s = &slots[i];
        if (!is_taken(s) || s->rank != rank || (pid_t)atomic_load(&s->pid) != pid)
            continue;
        w->slot[i].gone = true;
        /* The wait status is the truth: an exit handler may have crashed after the good-bye. */
        if (WIFSIGNALED(status) && atomic_load(&s->state) == SLOT_EXITED)
            atomic_store(&s->state, SLOT_GONE);
        mark_gone(s, exit_code_of(status), now);
        atomic_store(&s->exit_code, exit_code_of(status));
    }
}

static void look_at_ranks(struct watch *w, uint64_t now) {
    struct board_slot *slots = board_slots(w->b);
    for (uint32_t r = 0; r < w->b->n_ranks; r++) {
        bool began = w->nothing_lives, lives = false;
        for (uint32_t i = 0; i < w->b->n_slots; i++) {
            if (!is_taken(&slots[i]) || slots[i].rank != (int32_t)r)
                continue;
            began = true;
            lives |= !w->slot[i].gone;
        }
        if (!began || lives)
            w->rank_ended[r] = 0;
        else if (!w->rank_ended[r])
            w->rank_ended[r] = now;
    }
}

static bool rank_has_ended(const struct watch *w, int32_t rank, uint64_t now) {
    uint64_t since = rank >= 0 && (uint32_t)rank < w->b->n_ranks ? w->rank_ended[rank] : 0;
    return since && (w->nothing_lives || now - since >= SETTLE_MS * MILLISECOND);
}

static bool all_have_ended(const struct watch *w, uint64_t now) {
    for (uint32_t r = 0; r < w->b->n_ranks; r++)
        if (!rank_has_ended(w, (int32_t)r, now))
            return false;
    return true;
}

/* Why this thread is no more what it was on the board; NULL: it is still there. */
static const char *party_lost(const struct watch *w, board_party party) {
    uint16_t i = board_party_slot(party);
    struct tree_process thread;
    if (i >= w->b->n_slots)
        return NULL;
    const struct board_slot *s = &board_slots(w->b)[i];
    if (s->node != w->b->node)
        return NULL;
    if (w->slot[i].gone)
        return "its process has ended";
    if ((uint16_t)atomic_load(&s->incarnation) != board_party_incarnation(party))
        return "its process has executed another program";
    if (!tree_read((pid_t)atomic_load(&s->pid), (pid_t)board_party_tid(party), &thread) ||
        thread.state == 'Z')
        return "that thread has ended";
    return NULL;
}

/* ---- steps that can never be done ---- */

static void describe_party(const struct watch *w, board_party party, char *text, size_t size) {
    uint16_t i = board_party_slot(party);
    const struct board_slot *s = &board_slots(w->b)[i < w->b->n_slots ? i : 0];
    snprintf(text, size, "rank %d, process %u, thread %u", s->rank, atomic_load(&s->pid),
             board_party_tid(party));
}

static bool claim_is_held(const struct watch *w, const struct board_seq *s, uint32_t claim) {
    uint32_t next = board_seq_next(atomic_load(&s->state));
    return atomic_load(&s->claim[claim].owner) != 0 &&
           atomic_load(&s->claim[claim].standing) != 2 && next <= w->b->claim[claim].pass_step;
}

static bool end_lost_claims(struct watch *w, struct board_seq *s, uint64_t now) {
    for (uint32_t c = 0; c < w->b->n_claims; c++) {
        if (!claim_is_held(w, s, c))
            continue;
        board_party owner = atomic_load(&s->claim[c].owner);
        const char *why = party_lost(w, owner);
        char who[80], detail[sizeof s->detail];
        if (!why || !claim_is_held(w, s, c))
            continue; /* or it was passed while we looked, and the thread went its way */
        const struct board_step *pass = &w->b->step[w->b->claim[c].pass_step];
        describe_party(w, owner, who, sizeof who);
        snprintf(detail, sizeof detail,
                 "`%.60s` (line %u) can never be done: %s had claimed it and %s",
                 board_string(w->b, pass->text), pass->line, who, why);
        steps_end(w->b, s, SEQ_LOST, detail, now);
        return true;
    }
    return false;
}

/* A role whose thread was killed, or whose process executed another program, has nobody to say so.
 */
static void end_lost_roles(struct watch *w, struct board_seq *s) {
    for (uint32_t r = 0; r < w->b->n_roles; r++) {
        uint64_t party = atomic_load(&s->role[r]);
        if (party && party != BOARD_ROLE_GONE && party_lost(w, party))
            atomic_compare_exchange_strong(&s->role[r], &party, BOARD_ROLE_GONE);
    }
}

/* The rank that an arrival at this point must be of; -1: any. */
static int32_t needed_rank(const struct watch *w, const struct board_seq *s,
                           const struct board_point *p) {
    if (s->rank >= 0)
        return s->rank;
    if (p->rank >= 0 || p->role == BOARD_NONE)
        return p->rank;
    return w->b->point[w->b->role[p->role].point].rank;
}

/* The claim before this one at the same point, whose thread must come again (`same: true`). */
static board_party needed_party(const struct watch *w, const struct board_seq *s,
                                const struct board_step *step) {
    uint16_t before = step->claim == BOARD_NONE ? BOARD_NONE : w->b->claim[step->claim].previous;
    bool same = w->b->point[step->point].same && before != BOARD_NONE;
    return same ? atomic_load(&s->claim[before].owner) : 0;
}

/* Why nobody can arrive at the point of `step` any more; false: somebody can. */
static bool is_unreachable(const struct watch *w, const struct board_seq *s,
                           const struct board_step *step, uint64_t now, char *why, size_t size) {
    const struct board_point *p = &w->b->point[step->point];
    int32_t rank = needed_rank(w, s, p);
    board_party same = needed_party(w, s, step);
    const char *lost = same ? party_lost(w, same) : NULL;
    if (p->role != BOARD_NONE && atomic_load(&s->role[p->role]) == BOARD_ROLE_GONE)
        snprintf(why, size, "the thread that had the role `%.40s` has ended",
                 board_string(w->b, w->b->role[p->role].name));
    else if (lost)
        snprintf(why, size, "it must be the same thread as before (`same: true`), and %s", lost);
    else if (rank >= 0 && rank_has_ended(w, rank, now))
        snprintf(why, size, "every process of rank %d has ended", rank);
    else if (rank < 0 && all_have_ended(w, now))
        snprintf(why, size, "every rank has ended");
    else
        return false;
    return true;
}

static void end_unreachable(struct watch *w, struct board_seq *s, uint64_t now) {
    uint32_t next = board_seq_next(atomic_load(&s->state));
    const struct board_step *step = &w->b->step[next];
    char why[120], detail[sizeof s->detail];
    if (next >= w->b->n_steps || (step->claim != BOARD_NONE && claim_is_held(w, s, step->claim)))
        return;
    if (!is_unreachable(w, s, step, now, why, sizeof why))
        return;
    if (board_seq_next(atomic_load(&s->state)) != next)
        return; /* it was done while we looked */
    snprintf(detail, sizeof detail, "`%.60s` (line %u) can never be done: %s",
             board_string(w->b, step->text), step->line, why);
    steps_end(w->b, s, SEQ_LOST, detail, now);
}

static void end_overdue(struct watch *w, struct board_seq *s, uint64_t now) {
    for (uint32_t c = 0; c < w->b->n_claims; c++) {
        if (!claim_is_held(w, s, c) || atomic_load(&s->claim[c].standing) != 1)
            continue;
        uint64_t since = atomic_load(&s->claim[c].since_ns);
        uint64_t progress = atomic_load(&s->progress_ns);
        uint64_t from = since > progress ? since : progress;
        if (now < from || now - from <= w->b->timeout_ns + BACKSTOP_MS * MILLISECOND)
            continue;
        char who[80], detail[sizeof s->detail];
        uint32_t next = board_seq_next(atomic_load(&s->state));
        describe_party(w, atomic_load(&s->claim[c].owner), who, sizeof who);
        snprintf(detail, sizeof detail,
                 "no step was done for %.1f s while %s was held; the runner ended the hold; "
                 "`%.60s` was next",
                 (double)(now - from) / 1e9, who,
                 next < w->b->n_steps ? board_string(w->b, w->b->step[next].text) : "");
        steps_end(w->b, s, SEQ_TIMEOUT, detail, now);
        return;
    }
}

/* A thread that stands at a gate of this sequence. */
static bool anybody_is_held(const struct watch *w, const struct board_seq *s) {
    for (uint32_t c = 0; c < w->b->n_claims; c++)
        if (claim_is_held(w, s, c) && atomic_load(&s->claim[c].standing) == 1)
            return true;
    return false;
}

static void end_blocked(struct watch *w, struct board_seq *s) {
    struct board_blocked found;
    char detail[sizeof s->detail];
    uint32_t next = board_seq_next(atomic_load(&s->state));
    if (!anybody_is_held(w, s) || !blocked_find(&w->waits, s, &found, detail, sizeof detail))
        return;
    evidence_blocked(w->b, &found, detail);
    if (board_seq_next(atomic_load(&s->state)) != next)
        return; /* it was done while we looked */
    s->blocked = found;
    if (!steps_end(w->b, s, SEQ_BLOCKED, detail, steps_now()))
        s->blocked = (struct board_blocked){0}; /* its time was over meanwhile */
}

static bool is_running(const struct watch *w, const struct board_seq *s) {
    return board_seq_end(atomic_load(&s->state)) == SEQ_RUNNING && !steps_complete(w->b, s);
}

static void look_at_sequence(struct watch *w, struct board_seq *s, uint64_t now) {
    if (!is_running(w, s))
        return;
    end_lost_roles(w, s);
    if (!end_lost_claims(w, s, now))
        end_unreachable(w, s, now);
    end_blocked(w, s);
    end_overdue(w, s, now);
}

/* ---- threads that sleep inside a call ---- */

static bool read_switches(pid_t pid, pid_t tid, uint64_t *switches) {
    char path[64], line[256];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, tid);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f))
        found = sscanf(line, "voluntary_ctxt_switches: %lu", switches) == 1;
    if (f)
        fclose(f);
    return found;
}

/* True: two looks, at least 1 ms apart, found it sleeping and it did not wake between them. */
static bool is_asleep(struct watch *w, const struct board_sleeper *s, struct watch_look *l,
                      uint64_t now) {
    board_party party = atomic_load(&s->party);
    uint32_t inside = atomic_load(&s->inside);
    uint16_t slot = board_party_slot(party);
    struct tree_process thread;
    struct watch_look looked = {.party = party, .inside = inside, .ns = now};
    if (!party || !(inside & 1) || slot >= w->b->n_slots) {
        *l = (struct watch_look){0};
        return false;
    }
    pid_t pid = (pid_t)atomic_load(&board_slots(w->b)[slot].pid);
    pid_t tid = (pid_t)board_party_tid(party);
    looked.asleep = tree_read(pid, tid, &thread) && thread.state == 'S' &&
                    read_switches(pid, tid, &looked.switches);
    bool same_entry = l->party == party && l->inside == inside;
    bool confirmed = same_entry && l->asleep && looked.asleep && l->switches == looked.switches &&
                     now - l->ns >= MILLISECOND && atomic_load(&s->inside) == inside &&
                     atomic_load(&s->party) == party;
    looked.counted_early = same_entry && l->counted_early;
    /* Keep the first of equal looks: its age is what counts. */
    if (!(same_entry && l->asleep && looked.asleep && l->switches == looked.switches))
        *l = looked;
    return confirmed;
}

static bool is_next(const struct watch *w, const struct board_seq *s, uint16_t point) {
    uint32_t next = board_seq_next(atomic_load(&s->state));
    return is_running(w, s) && w->b->step[next].point == point;
}

static bool sleeper_is_next(const struct watch *w, const struct board_sleeper *s) {
    return s->seq < w->b->n_seqs && s->point < w->b->n_points &&
           is_next(w, &board_seqs(w->b)[s->seq], s->point);
}

static void look_at_sleepers(struct watch *w, uint64_t now) {
    for (int i = 0; i < BOARD_MAX_SLEEPERS; i++) {
        struct board_sleeper *s = &w->b->sleeper[i];
        struct watch_look *l = &w->look[i];
        bool was_next = sleeper_is_next(w, s);
        if (!is_asleep(w, s, l, now) || s->seq >= w->b->n_seqs || s->point >= w->b->n_points)
            continue;
        struct board_seq *seq = &board_seqs(w->b)[s->seq];
        bool next = is_next(w, seq, s->point);
        if (!is_running(w, seq) || (next ? !was_next : l->counted_early))
            continue; /* a step that came up while we looked is for the next look */
        l->counted_early = true;
        steps_mark(w->b, seq, s->point, l->party, s->arrival, now);
    }
}

static bool sleep_matters(const struct watch *w) {
    for (int i = 0; i < BOARD_MAX_SLEEPERS; i++)
        if (atomic_load(&w->b->sleeper[i].party))
            return true;
    const struct board_seq *all = board_seqs(w->b);
    for (uint32_t i = 0; i < w->b->n_seqs; i++) {
        uint32_t next = board_seq_next(atomic_load(&all[i].state));
        if (is_running(w, &all[i]) && w->b->point[w->b->step[next].point].side == SIDE_ASLEEP)
            return true;
    }
    return false;
}

/* ---- threads that wait for each other ---- */

static void look_for_deadlock(struct watch *w) {
    struct cycle cycle;
    if (w->deadlocked || !(w->b->detectors & DETECT_DEADLOCK) || !cycle_find(&w->waits, &cycle))
        return;
    deadlock_report(w->b, &cycle);
    w->deadlocked = true;
}

/* ---- a round ---- */

uint64_t watch_round(struct watch *w, uint64_t now) {
    for (uint32_t i = 0; i < w->b->n_slots; i++)
        look_at_slot(w, i, now);
    look_at_ranks(w, now);
    look_at_sleepers(w, now);
    waits_look(&w->waits, now);
    look_for_deadlock(w);
    for (uint32_t i = 0; i < w->b->n_seqs; i++)
        look_at_sequence(w, &board_seqs(w->b)[i], now);
    return (sleep_matters(w) ? SLEEPER_ROUND_MS : ROUND_MS) * MILLISECOND;
}

uint64_t watch_activity(const struct watch *w) {
    uint64_t sum = atomic_load(&w->b->faults_fired);
    for (uint32_t i = 0; i < w->b->n_slots; i++)
        sum +=
            atomic_load(&board_slots(w->b)[i].heartbeat) + atomic_load(&board_slots(w->b)[i].state);
    for (uint32_t i = 0; i < w->b->n_seqs; i++)
        sum += board_seq_next(atomic_load(&board_seqs(w->b)[i].state));
    return sum;
}

static bool is_fault_holding(const struct watch *w, uint32_t i) {
    const struct board_fault_count *c = &w->b->fault_count[i];
    uint32_t ended = atomic_load(&c->released) + atomic_load(&c->timed_out);
    return w->b->fault[i].action == FAULT_HOLD && atomic_load(&c->fired) > ended &&
           !party_lost(w, atomic_load(&c->party));
}

bool watch_is_holding(const struct watch *w) {
    for (uint32_t i = 0; i < w->b->n_seqs; i++)
        if (is_running(w, &board_seqs(w->b)[i]) && anybody_is_held(w, &board_seqs(w->b)[i]))
            return true;
    for (uint32_t i = 0; i < w->b->n_faults; i++)
        if (is_fault_holding(w, i))
            return true;
    return false;
}

void watch_end_all(struct watch *w, const char *why, uint64_t now) {
    for (uint32_t i = 0; i < w->b->n_seqs; i++) {
        struct board_seq *s = &board_seqs(w->b)[i];
        uint32_t next = board_seq_next(atomic_load(&s->state));
        char detail[sizeof s->detail];
        if (!is_running(w, s) || next >= w->b->n_steps)
            continue;
        snprintf(detail, sizeof detail,
                 "`%.60s` (line %u) was not done when the trial was stopped: %s",
                 board_string(w->b, w->b->step[next].text), w->b->step[next].line, why);
        steps_end(w->b, s, SEQ_LOST, detail, now);
    }
}

void watch_release_all(struct watch *w) {
    atomic_store(&w->b->phase, PHASE_STOPPING);
    for (uint32_t i = 0; i < w->b->n_seqs; i++)
        steps_wake(&board_seqs(w->b)[i]);
}
