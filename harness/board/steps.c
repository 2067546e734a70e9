/* The rules of steps on the board. Runs in the ranks (in any thread, also in a signal handler) and
 * in the runner. May not lock, allocate or print.
 */
#include "steps.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t steps_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct board_seq *steps_sequence(const struct board *b, int32_t rank) {
    struct board_seq *all = board_seqs(b);
    if (!b->scope_rank)
        return b->n_seqs ? &all[0] : NULL;
    for (uint32_t i = 0; i < b->n_seqs; i++)
        if (all[i].rank == rank)
            return &all[i];
    return NULL;
}

bool steps_armed(const struct board *b, const struct board_seq *s, uint16_t point) {
    return steps_armed_at(&b->point[point],
                          board_seq_next(atomic_load_explicit(&s->state, memory_order_acquire)));
}

static bool passed(const struct board *b, const struct board_seq *s, uint16_t claim) {
    uint64_t state = atomic_load_explicit(&s->state, memory_order_acquire);
    return board_seq_next(state) > b->claim[claim].pass_step;
}

uint16_t steps_open_claim(const struct board *b, const struct board_seq *s, uint16_t point) {
    const struct board_point *p = &b->point[point];
    for (uint16_t i = 0; i < p->n_claims; i++)
        if (!passed(b, s, (uint16_t)(p->first_claim + i)))
            return (uint16_t)(p->first_claim + i);
    return BOARD_NONE;
}

bool steps_claim(struct board_seq *s, uint16_t claim, board_party party, uint32_t arrival,
                 uint64_t now) {
    board_party nobody = 0;
    if (!atomic_compare_exchange_strong(&s->claim[claim].owner, &nobody, party))
        return false;
    s->claim[claim].arrival = arrival;
    atomic_store(&s->claim[claim].since_ns, now);
    return true;
}

/* Moves the sequence past step `i`, if that is where it stands. */
static bool complete(const struct board *b, struct board_seq *s, uint32_t i, board_party party,
                     uint32_t arrival, uint64_t now) {
    uint64_t expected = i; /* running */
    if (i >= b->n_steps || atomic_load(&s->state) != expected)
        return false;
    /* Before the step is done, so that nobody who still waits finds its time over meanwhile. */
    atomic_store(&s->progress_ns, now);
    if (!atomic_compare_exchange_strong(&s->state, &expected, (uint64_t)i + 1))
        return false;
    s->done[i].party = party;
    s->done[i].arrival = arrival;
    atomic_store(&s->done[i].ns, now);
    steps_wake(s);
    return true;
}

/* Completes every step whose turn it is and whose claimant already stands. */
static void advance(const struct board *b, struct board_seq *s, uint64_t now) {
    for (;;) {
        uint64_t state = atomic_load(&s->state);
        uint32_t i = board_seq_next(state);
        if (board_seq_end(state) != SEQ_RUNNING || i >= b->n_steps)
            return;
        uint16_t claim = b->step[i].claim;
        if (claim == BOARD_NONE || !atomic_load(&s->claim[claim].standing))
            return;
        complete(b, s, i, atomic_load(&s->claim[claim].owner), s->claim[claim].arrival, now);
    }
}

void steps_stand(const struct board *b, struct board_seq *s, uint16_t claim, uint64_t now) {
    atomic_store(&s->claim[claim].standing, 1);
    advance(b, s, now);
    steps_wake(s);
}

uint16_t steps_mark(const struct board *b, struct board_seq *s, uint16_t point, board_party party,
                    uint32_t arrival, uint64_t now) {
    for (;;) {
        uint64_t state = atomic_load(&s->state);
        uint32_t i = board_seq_next(state);
        if (board_seq_end(state) == SEQ_RUNNING && i < b->n_steps && b->step[i].point == point &&
            b->step[i].kind == STEP_REACH) {
            if (!complete(b, s, i, party, arrival, now))
                continue; /* another arrival was quicker: the step after it may be this one's */
            advance(b, s, now);
            return (uint16_t)i;
        }
        atomic_fetch_add_explicit(&s->point[point].early, 1, memory_order_relaxed);
        return BOARD_NONE;
    }
}

bool steps_released(const struct board *b, const struct board_seq *s, uint16_t claim) {
    return passed(b, s, claim) ||
           board_seq_end(atomic_load_explicit(&s->state, memory_order_acquire)) != SEQ_RUNNING;
}

bool steps_end(const struct board *b, struct board_seq *s, enum seq_end why, const char *detail,
               uint64_t now) {
    uint64_t state = atomic_load(&s->state);
    do {
        if (board_seq_end(state) != SEQ_RUNNING || board_seq_next(state) >= b->n_steps)
            return false;
    } while (!atomic_compare_exchange_weak(&s->state, &state,
                                           (state & UINT32_MAX) | ((uint64_t)why << 32)));
    board_copy_text(s->detail, sizeof s->detail, detail);
    atomic_store(&s->ended_ns, now);
    steps_wake(s);
    return true;
}

bool steps_complete(const struct board *b, const struct board_seq *s) {
    return board_seq_next(atomic_load(&s->state)) >= b->n_steps;
}

void steps_wake(struct board_seq *s) {
    int saved = errno;
    atomic_fetch_add(&s->epoch, 1);
    syscall(SYS_futex, &s->epoch, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    errno = saved;
}

void steps_wait(struct board_seq *s, uint32_t epoch, uint64_t ns) {
    int saved = errno;
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    syscall(SYS_futex, &s->epoch, FUTEX_WAIT, epoch, &t, NULL, 0);
    errno = saved;
}
