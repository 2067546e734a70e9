/* The engine: an arrival is matched against the plan, counted, claimed, held, and given its faults
 * (semantics.md, Steps and Faults). Runs on any thread of a rank, also in signal handlers. May not
 * lock, allocate or call anything that is not async-signal-safe. */
#include "engine.h"
#include "code_ranges.h"
#include "events.h"
#include "guarded_stack.h"
#include "idle.h"
#include "kernel.h"
#include "lock_table.h"
#include "match.h"
#include "probe.h"
#include "process.h"
#include "steps.h"
#include "thread.h"
#include "unwind_stack.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

uint16_t engine_hook_index[HOOK_COUNT] = {[0 ... HOOK_COUNT - 1] = BOARD_NONE};

/* Per hook of the plan, for this process: what may come of an arrival. Constant after engine_start.
 */
static struct {
    uint64_t points; /* bit per point with this hook */
    bool wants_return;
} plan_hook[BOARD_MAX_HOOKS];
static uint64_t extents;     /* points that some other point is `within` of */
static uint64_t until;       /* points that a hold waits for */
static uint64_t role_points; /* points that hold a role's `at` */
static uint64_t objects;     /* points that another compares its object with */
static struct { uint64_t faults; } at_point[BOARD_MAX_POINTS];
/* The points, those first whose object others compare with: an arrival at both is the same for
 * both, wherever they stand in the plan. */
static uint16_t in_order[BOARD_MAX_POINTS];

/* Arrivals of a point counted for the whole process: high half the number of the count, low half
 * the count. */
static _Atomic uint64_t process_nth[BOARD_MAX_POINTS];
static _Atomic uint32_t fault_arrivals[BOARD_MAX_FAULTS];

#define BIT(i) ((uint64_t)1 << (i))

static unsigned comparisons_of(const struct board *b, uint16_t i) {
    unsigned n = 0;
    for (; b->point[i].object_of != BOARD_NONE && n < b->n_points; n++)
        i = b->point[i].object_of;
    return n;
}

static void put_in_order(const struct board *b) {
    uint16_t n = 0;
    for (unsigned comparisons = 0; n < b->n_points; comparisons++)
        for (uint16_t i = 0; i < b->n_points; i++)
            if (comparisons_of(b, i) == comparisons)
                in_order[n++] = i;
}

void engine_start(void) {
    const struct board *b = process->board;
    memset(plan_hook, 0, sizeof plan_hook);
    memset(at_point, 0, sizeof at_point);
    extents = until = role_points = objects = 0;
    match_start();
    put_in_order(b);
    for (uint16_t i = 0; i < b->n_points; i++) {
        const struct board_point *p = &b->point[i];
        if (p->rank >= 0 && p->rank != process->rank)
            continue; /* nothing of this point can happen here: its hook may stay unused */
        plan_hook[p->hook].points |= BIT(i);
        plan_hook[p->hook].wants_return |= p->side != SIDE_ENTER;
        atomic_store(&process_nth[i], 0);
        if (p->within != BOARD_NONE)
            extents |= BIT(p->within);
        if (p->object_of != BOARD_NONE)
            objects |= BIT(p->object_of);
        code_ranges_want(p->caller);
        code_ranges_want(p->stack);
        for (uint16_t f = 0; f < p->n_filters; f++)
            if (match_is_code(b->filter[p->first_filter + f].attr))
                code_ranges_want(b->filter[p->first_filter + f].text);
    }
    for (uint16_t i = 0; i < b->n_points; i++)
        if (extents & BIT(i))
            plan_hook[b->point[i].hook].wants_return = true;
    for (uint16_t i = 0; i < b->n_roles; i++)
        role_points |= BIT(b->role[i].point);
    for (uint16_t i = 0; i < b->n_faults; i++) {
        at_point[b->fault[i].point].faults |= BIT(i);
        atomic_store(&fault_arrivals[i], 0);
        if (b->fault[i].until != BOARD_NONE)
            until |= BIT(b->fault[i].until);
    }
    for (uint16_t i = 0; i < b->n_hooks; i++) {
        idle_hook[i].points = plan_hook[i].points;
        idle_hook[i].never = plan_hook[i].points & (extents | role_points | objects);
    }
    for (uint16_t i = 0; i < b->n_hooks; i++)
        if (!b->hook[i].function && plan_hook[i].points)
            __atomic_store_n(&engine_hook_index[b->hook[i].id], i, __ATOMIC_RELAXED);
}

bool engine_takes_part(void) {
    const struct thread *t = &thread_self;
    return process_armed() && !t->engaged && !vfork_state.child;
}

bool engine_wants_return(uint16_t hook) {
    return plan_hook[hook].wants_return;
}

/* ---- counting ---- */

/* The number of this arrival in its count. A count belongs to one claim of a gate: it starts again
 * after each pass. With a role or `within` it is this thread's, with `within` of one entry (Steps
 * 9). */
static uint32_t count(uint16_t point, uint16_t claim) {
    const struct board_point *p = &process->board->point[point];
    uint32_t epoch = claim == BOARD_NONE ? BOARD_MAX_CLAIMS + 1u : claim + 1u; /* only rises */
    if (p->role != BOARD_NONE || p->within != BOARD_NONE) {
        struct thread *t = &thread_self;
        if (p->within != BOARD_NONE)
            epoch = epoch << 20 | (t->inside[p->within].entry & 0xfffff);
        if (t->nth[point].epoch != epoch) {
            t->nth[point].epoch = epoch;
            t->nth[point].count = 0;
        }
        return ++t->nth[point].count;
    }
    uint64_t old = atomic_load(&process_nth[point]), new;
    do {
        if (old >> 32 > epoch)
            return 0; /* it was passed while this thread looked: an arrival of no count any more */
        new = old >> 32 == epoch ? old + 1 : ((uint64_t)epoch << 32) + 1;
    } while (!atomic_compare_exchange_weak(&process_nth[point], &old, new));
    return (uint32_t) new;
}

/* ---- roles ---- */

static void bind_roles(const struct arrival *a, uint64_t candidates) {
    const struct board *b = process->board;
    uint32_t number[BOARD_MAX_ROLES] = {0}; /* of this arrival, for roles that count together */
    for (uint16_t r = 0; process->seq && r < b->n_roles; r++) {
        const struct board_point *p = &b->point[b->role[r].point];
        board_party nobody = 0, me = thread_party();
        if (!(candidates & BIT(b->role[r].point)) || p->side != a->side ||
            atomic_load_explicit(&process->seq->role[r], memory_order_relaxed) ||
            !match_filters(b, b->role[r].point, a))
            continue;
        uint16_t counter = b->role[r].counts_with;
        if (p->nth && !number[counter])
            number[counter] = count(b->role[counter].point, BOARD_NONE);
        if (p->nth && number[counter] != p->nth)
            continue;
        if (atomic_compare_exchange_strong(&process->seq->role[r], &nobody, me))
            event_write(EVENT_ROLE, b->role[r].point, BOARD_NONE, BOARD_NONE, r, 0);
    }
}

static bool has_role(uint16_t role) {
    return role == BOARD_NONE ||
           (process->seq && atomic_load_explicit(&process->seq->role[role], memory_order_relaxed) ==
                                thread_party());
}

/* ---- faults ---- */

static uint64_t
mix(uint64_t x) { /* splitmix64's finalizer: the same seed, rank and arrival give the same answer */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static bool fault_fires(const struct board_fault *f, uint32_t n) {
    if (f->nth && n != f->nth)
        return false;
    if (f->every && n % f->every)
        return false;
    if ((f->from && n < f->from) || (f->to && n > f->to))
        return false;
    uint64_t key = f->seed + ((uint64_t)(uint32_t)process->rank << 32) + n;
    return !f->prob_ppm ||
           mix(key * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u) % 1000000u < f->prob_ppm;
}

/* The first firing of a fault: who, and at which arrival. */
static void sign_fault(uint16_t i, uint32_t arrival) {
    struct board_fault_count *c = &process->board->fault_count[i];
    board_party nobody = 0;
    if (!atomic_compare_exchange_strong(&c->party, &nobody, thread_party()))
        return;
    c->rank = process->rank;
    c->arrival = arrival;
}

/* Whether the stream is cut before this call; if it is only further on, the call stops there. */
static bool severs_now(uint16_t i, struct arrival *a) {
    uint32_t at = process->board->fault[i].bytes;
    if (a->position >= at)
        return a->position == at;
    if (at - a->position < a->limit) {
        a->limit = at - a->position;
        a->severing = i;
    }
    return false;
}

/* A short call is one of those that move more than the fault lets through: whether there was more
 * is known after the call. */
static void shorten(uint16_t i, bool fires, struct arrival *a) {
    uint32_t most = process->board->fault[i].bytes;
    a->could_shorten |= BIT(i);
    if (!fires)
        return;
    a->shortens |= BIT(i);
    a->limit = most < a->limit ? most : a->limit;
}

/* What the moment and the stream have to say; delays and holds never happen in signal handlers. */
static bool fault_is_possible(uint16_t point, uint16_t i, struct arrival *a) {
    const struct board_fault *f = &process->board->fault[i];
    if (f->action == FAULT_SEVER)
        return severs_now(i, a);
    if ((f->action != FAULT_DELAY && f->action != FAULT_HOLD) || !unwind_in_signal_handler())
        return true;
    if (process->seq)
        atomic_fetch_add(&process->seq->point[point].in_handler, 1);
    return false;
}

static void choose_faults(uint16_t point, struct arrival *a) {
    struct board *b = process->board;
    for (uint16_t i = 0; i < b->n_faults; i++) {
        const struct board_fault *f = &b->fault[i];
        if (!(at_point[point].faults & BIT(i)) || (f->rank >= 0 && f->rank != process->rank))
            continue;
        atomic_fetch_add_explicit(&b->fault_count[i].arrivals, 1, memory_order_relaxed);
        if (f->action == FAULT_SHORT && a->length <= f->bytes)
            continue; /* none of the calls that it counts */
        uint32_t n = atomic_fetch_add(&fault_arrivals[i], 1) + 1;
        bool fires = fault_fires(f, n);
        if (f->action == FAULT_SHORT) {
            shorten(i, fires, a);
        } else if (fires && fault_is_possible(point, i, a)) {
            sign_fault(i, n);
            a->faults |= BIT(i);
        }
    }
}

/* ---- one arrival: what comes of it ---- */

static void at_gate(uint16_t point, uint16_t claim, uint32_t n, struct arrival *a) {
    const struct board *b = process->board;
    const struct board_point *p = &b->point[point];
    struct board_seq *s = process->seq;
    board_party me = thread_party();
    if (board_seq_end(atomic_load(&s->state)) != SEQ_RUNNING || claim == BOARD_NONE)
        return;
    board_party owner = atomic_load(&s->claim[claim].owner);
    uint16_t previous = b->claim[claim].previous;
    if (p->same && previous != BOARD_NONE && atomic_load(&s->claim[previous].owner) != me)
        return;
    if ((!owner || p->crowd_hold) && unwind_in_signal_handler()) {
        atomic_fetch_add(&s->point[point].in_handler, 1);
        return;
    }
    if (!owner && a->claim == BOARD_NONE && steps_claim(s, claim, me, n, steps_now())) {
        a->claim = claim;
        event_write(EVENT_CLAIM, point, BOARD_NONE, BOARD_NONE, n, claim);
    } else {
        atomic_fetch_add(&s->point[point].bystanders, 1);
        event_write(EVENT_BYSTANDER, point, BOARD_NONE, BOARD_NONE, n, claim);
        /* Nobody's claim has no pass to wait for; it may have been taken a moment ago. */
        if (p->crowd_hold && atomic_load(&s->claim[claim].owner))
            a->crowd_claim = claim;
    }
}

static void at_mark(uint16_t point, uint32_t n) {
    uint16_t done = steps_mark(process->board, process->seq, point, thread_party(), n, steps_now());
    if (done != BOARD_NONE)
        event_write(EVENT_STEP, point, done, BOARD_NONE, n, 0);
}

/* The thread is about to enter the call: the runner shall watch whether it falls asleep in it, from
 * begin_sleep on. */
static void watch_sleep(uint16_t point, uint32_t n) {
    struct board *b = process->board;
    for (int i = 0; i < BOARD_MAX_SLEEPERS; i++) {
        struct board_sleeper *s = &b->sleeper[i];
        board_party nobody = 0;
        if (atomic_load(&s->party) ||
            !atomic_compare_exchange_strong(&s->party, &nobody, thread_party()))
            continue;
        s->point = point;
        s->seq = (uint16_t)(process->seq - board_seqs(b));
        s->arrival = n;
        thread_self.sleeping++;
        return;
    }
    process_table_full(TABLE_SLEEPERS);
}

/* All holds and delays of this arrival are over, the call itself comes next or goes on. */
static void begin_sleep(void) {
    struct board *b = process->board;
    board_party me = thread_party();
    for (int i = 0; i < BOARD_MAX_SLEEPERS; i++)
        if (atomic_load(&b->sleeper[i].party) == me)
            atomic_fetch_or(&b->sleeper[i].inside, 1);
}

/* A hold or a delay of ours inside the call is no sleep of the program's. */
static void interrupt_sleep(void) {
    struct board *b = process->board;
    board_party me = thread_party();
    for (int i = 0; thread_self.sleeping && i < BOARD_MAX_SLEEPERS; i++)
        if (atomic_load(&b->sleeper[i].party) == me && atomic_load(&b->sleeper[i].inside) & 1)
            atomic_fetch_add(&b->sleeper[i].inside, 1);
}

static void end_sleep(uint16_t hook) {
    struct board *b = process->board;
    board_party me = thread_party();
    for (int i = 0; thread_self.sleeping && i < BOARD_MAX_SLEEPERS; i++) {
        struct board_sleeper *s = &b->sleeper[i];
        if (atomic_load(&s->party) != me || (hook != BOARD_NONE && b->point[s->point].hook != hook))
            continue;
        atomic_store(&s->inside,
                     (atomic_load(&s->inside) | 1) + 1); /* even, and never the same again */
        atomic_store(&s->party, 0);
        thread_self.sleeping--;
    }
}

/* Ends the holds that wait `until` this point, after its own step was counted: whoever is let go
 * must find that done. */
static void reached(uint16_t point) {
    struct board *b = process->board;
    atomic_fetch_add(&board_ranks(b)[process->rank].reached[point], 1);
    for (uint32_t k = 0; (until & BIT(point)) && k < b->n_seqs; k++)
        steps_wake(&board_seqs(b)[k]);
}

static void at_point_of_plan(uint16_t i, struct arrival *a) {
    struct board *b = process->board;
    const struct board_point *p = &b->point[i];
    struct board_seq *s = process->seq;
    unsigned side = p->side == SIDE_ASLEEP ? SIDE_ENTER : p->side;
    if ((role_points & BIT(i)) || side != a->side || (s && !steps_armed(b, s, i)) ||
        !has_role(p->role) || !match_filters(b, i, a))
        return;
    uint16_t claim = s && p->is_gate ? steps_open_claim(b, s, i) : BOARD_NONE;
    uint32_t n = count(i, claim);
    if (p->nth && n != p->nth)
        return;
    if (p->side == SIDE_ASLEEP) {
        if (s)
            watch_sleep(i, n);
        return;
    }
    event_write(EVENT_ARRIVAL, i, BOARD_NONE, BOARD_NONE, n, 0);
    a->guards |= i == b->guarded_point;
    if (objects & BIT(i))
        match_saw_object(i, a->object);
    if (s)
        atomic_fetch_add_explicit(&s->point[i].arrivals, 1, memory_order_relaxed);
    if (at_point[i].faults)
        choose_faults(i, a);
    if (s && p->in_steps && p->is_gate)
        at_gate(i, claim, n, a);
    else if (s && p->in_steps)
        at_mark(i, n);
    if (a->claim == BOARD_NONE || b->claim[a->claim].point != i)
        reached(i);
}

/* A bracket that begins within one of the same point outlasts it perhaps. */
static void enter_another(uint16_t point, const struct arrival *a) {
    struct thread *t = &thread_self;
    for (int i = 0; i < THREAD_MAX_BRACKETS; i++) {
        const _Atomic uint32_t *open = t->also[i].extent;
        if (open && atomic_load(open) == t->also[i].generation)
            continue;
        t->also[i].extent = a->extent;
        t->also[i].generation = a->generation;
        t->also[i].point = point;
        return;
    }
    process_table_full(TABLE_BRACKETS);
}

/* Extents are kept for points that others are `within` of, whether or not the point is armed
 * itself. */
static void enter_extents(uint64_t points, const struct arrival *a) {
    struct thread *t = &thread_self;
    for (uint16_t i = 0; i < BOARD_MAX_POINTS; i++) {
        if (!(points & extents & BIT(i)))
            continue;
        bool inside = match_inside(i, a->sp);
        if ((inside && !a->extent) || !has_role(process->board->point[i].role) ||
            !match_filters(process->board, i, a))
            continue;
        if (inside) {
            enter_another(i, a);
            continue;
        }
        t->inside[i].sp = a->extent ? 0 : a->sp;
        t->inside[i].extent = a->extent;
        t->inside[i].generation = a->generation;
        t->inside[i].entry++;
    }
}

static void leave_extents(uint64_t points, const struct arrival *a) {
    struct thread *t = &thread_self;
    for (uint16_t i = 0; i < BOARD_MAX_POINTS; i++) {
        if (!(points & extents & BIT(i)))
            continue;
        if (a->extent ? t->inside[i].extent == a->extent
                      : t->inside[i].sp && t->inside[i].sp <= a->sp) {
            t->inside[i].sp = 0;
            t->inside[i].extent = NULL;
        }
    }
}

/* ---- holding ---- */

/* How long this hold may still last: no step was done for the plan's timeout (Steps 13). */
static uint64_t time_left(const struct board_seq *s, uint64_t since, uint64_t now) {
    uint64_t progress = atomic_load(&s->progress_ns);
    uint64_t end = (progress > since ? progress : since) + process->board->timeout_ns;
    return end > now ? end - now : 0;
}

static bool stopping(void) {
    return atomic_load(&process->board->phase) == PHASE_STOPPING;
}

static void end_by_timeout(struct board_seq *s) {
    const struct board *b = process->board;
    uint32_t next = board_seq_next(atomic_load(&s->state));
    char text[200];
    snprintf(text, sizeof text, "no step was done for %.1f s while `%s` was waited for",
             (double)b->timeout_ns / 1e9,
             next < b->n_steps ? board_string(b, b->step[next].text) : "?");
    steps_end(b, s, SEQ_TIMEOUT, text, steps_now());
}

/* Waits until the claim is passed, the sequence has ended, or the trial ends. */
static void wait_for_pass(struct board_seq *s, uint16_t claim, uint64_t since) {
    for (;;) {
        uint32_t epoch = atomic_load(&s->epoch);
        if (steps_released(process->board, s, claim) || stopping())
            return;
        uint64_t left = time_left(s, since, steps_now());
        if (!left) {
            end_by_timeout(s);
            return;
        }
        steps_wait(s, epoch, left < 100000000u ? left : 100000000u);
    }
}

static void hold_at_gate(struct arrival *a) {
    struct board_seq *s = process->seq;
    uint16_t claim = a->claim;
    if (claim != BOARD_NONE) {
        uint64_t now = steps_now();
        atomic_store(&s->claim[claim].owner,
                     thread_party()); /* a deferred arrival stands on another thread */
        steps_stand(process->board, s, claim, now);
        reached(process->board->claim[claim].point);
        wait_for_pass(s, claim, now);
        atomic_store(&s->claim[claim].standing, 2);
        event_write(EVENT_RELEASE, process->board->claim[claim].point, BOARD_NONE, BOARD_NONE,
                    claim, 0);
    }
    if (a->crowd_claim != BOARD_NONE)
        wait_for_pass(s, a->crowd_claim, steps_now());
}

static void sleep_ns(uint64_t ns) {
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (!stopping() && !kernel_sleep(&t))
        ;
}

static void hold_until(const struct board_fault *f, struct board_fault_count *c) {
    const struct board *b = process->board;
    uint64_t start = steps_now(), limit = f->ns ? f->ns : b->timeout_ns;
    int32_t rank = f->until == BOARD_NONE ? -1 : b->point[f->until].rank;
    struct board_rank *r = &board_ranks(b)[rank >= 0 ? rank : process->rank];
    for (;;) {
        uint32_t epoch = process->seq ? atomic_load(&process->seq->epoch) : 0;
        uint64_t now = steps_now();
        if (f->until != BOARD_NONE && atomic_load(&r->reached[f->until])) {
            atomic_fetch_add(&c->released, 1);
            return;
        }
        if (stopping() || now - start >= limit) {
            atomic_fetch_add(f->until == BOARD_NONE || f->ns ? &c->released : &c->timed_out, 1);
            return;
        }
        uint64_t left = limit - (now - start), step = left < 100000000u ? left : 100000000u;
        if (process->seq)
            steps_wait(process->seq, epoch, step);
        else
            sleep_ns(step < 1000000u ? step : 1000000u);
    }
}

static void die(int signal_number) {
    struct sigaction act = {.sa_handler = SIG_DFL};
    sigset_t set;
    sigaction(signal_number, &act, NULL);
    sigemptyset(&set);
    sigaddset(&set, signal_number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    syscall(SYS_tgkill, getpid(), thread_id(), signal_number);
}

/* A fault has fired when it is carried out: after the hold at a gate of the same point. */
static void record_firing(uint16_t i) {
    struct board *b = process->board;
    uint64_t not_yet = 0;
    atomic_compare_exchange_strong(&b->fault_count[i].ns, &not_yet, steps_now());
    atomic_fetch_add(&b->fault_count[i].fired, 1);
    atomic_fetch_add(&b->faults_fired, 1);
    event_write(EVENT_FAULT, b->fault[i].point, BOARD_NONE, i, 0, 0);
}

/* The plan's own signal: a death by it is no finding. */
static void note_signal(int signal_number) {
    if (signal_number > 0 && signal_number < 64)
        atomic_fetch_or(&process_slot()->plan_signals, BIT(signal_number));
}

static void carry_out(uint16_t i, struct arrival *a) {
    struct board *b = process->board;
    const struct board_fault *f = &b->fault[i];
    record_firing(i);
    switch ((enum fault_action)f->action) {
    case FAULT_DELAY:
        sleep_ns(f->ns);
        break;
    case FAULT_HOLD:
        hold_until(f, &b->fault_count[i]);
        break;
    case FAULT_FAIL:
        a->fails = true;
        a->result = !f->return_is_arg ? f->ret : f->ret < a->n_args ? a->args[f->ret] : 0;
        a->error_number = f->error_number;
        break;
    case FAULT_DROP:
        a->dropped = true;
        break;
    case FAULT_REPEAT:
        a->times = f->times;
        break;
    case FAULT_CRASH:
        note_signal(SIGSEGV);
        die(SIGSEGV);
        break;
    case FAULT_SIGNAL:
        note_signal(f->signal_number);
        syscall(SYS_tgkill, getpid(), thread_id(), f->signal_number);
        break;
    case FAULT_STOP:
        note_signal(SIGSTOP);
        kill(getpid(), SIGSTOP);
        break;
    case FAULT_SHORT:
        break; /* it has kept back what it was to keep back */
    case FAULT_SEVER:
        a->severs = true;
        break;
    }
    event_write(EVENT_FAULT_END, f->point, BOARD_NONE, i, 0, 0);
}

/* The part that may block. The thread is not `engaged` meanwhile: a signal handler that runs on top
 * of a hold is seen and counted, and never held itself. */
void engine_wait(struct arrival *a) {
    int saved = errno;
    interrupt_sleep();
    hold_at_gate(a);
    for (uint16_t i = 0; a->faults && i < process->board->n_faults; i++)
        if (a->faults & BIT(i))
            carry_out(i, a);
    errno = saved;
}

/* Does a hold or a delay wait for this arrival? */
static bool would_block(const struct arrival *a) {
    if (a->claim != BOARD_NONE || a->crowd_claim != BOARD_NONE)
        return true;
    for (uint16_t i = 0; i < process->board->n_faults; i++)
        if ((a->faults & BIT(i)) && (process->board->fault[i].action == FAULT_DELAY ||
                                     process->board->fault[i].action == FAULT_HOLD))
            return true;
    return false;
}

void engine_left(struct arrival *a) {
    end_sleep(a->hook);
    leave_extents(plan_hook[a->hook].points, a);
}

void engine_arrive(struct arrival *a) {
    struct thread *t = &thread_self;
    uint64_t points = plan_hook[a->hook].points;
    if (idle_now(a->hook))
        return;
    int saved = errno;
    t->engaged++;
    thread_party();
    atomic_fetch_add_explicit(&process_slot()->heartbeat, 1, memory_order_relaxed);
    if (a->side == SIDE_RETURN && t->sleeping)
        end_sleep(a->hook);
    if (points & role_points)
        bind_roles(a, points);
    if (a->side == SIDE_ENTER)
        enter_extents(points, a);
    for (uint16_t i = 0; i < process->board->n_points; i++)
        if (points & BIT(in_order[i]))
            at_point_of_plan(in_order[i], a);
    if (a->side == SIDE_RETURN)
        leave_extents(points, a);
    t->engaged--;
    errno = saved;
    if (a->deferrable && would_block(a))
        a->must_wait = true;
    else if (a->claim != BOARD_NONE || a->crowd_claim != BOARD_NONE || a->faults)
        engine_wait(a);
    if (a->side == SIDE_ENTER && a->fails) { /* the call is not made: it will not return either */
        engine_left(a);
    } else if (t->sleeping && !a->must_wait) {
        begin_sleep();
    }
}

/* In the call, not before it. */
static void fires_late(uint16_t i, struct arrival *a) {
    sign_fault(i, atomic_load(&fault_arrivals[i]));
    carry_out(i, a);
}

/* A call that had no more to move is none of those that the fault counts: the next one is. */
static void has_shortened(uint16_t i, uint64_t bytes, struct arrival *a) {
    uint32_t most = process->board->fault[i].bytes;
    if (a->shortens & BIT(i) && bytes == most)
        fires_late(i, a);
    else if (bytes <= most)
        atomic_fetch_sub(&fault_arrivals[i], 1);
}

void engine_passed(struct arrival *a, uint64_t bytes) {
    const struct board_fault *f = process->board->fault;
    int saved = errno;
    a->position += bytes; /* past the place only where a message arrives whole */
    for (uint16_t i = 0; a->could_shorten && i < process->board->n_faults; i++)
        if (a->could_shorten & BIT(i))
            has_shortened(i, bytes, a);
    if (bytes && a->severing != BOARD_NONE && a->position >= f[a->severing].bytes)
        fires_late(a->severing, a);
    a->could_shorten = 0;
    a->severing = BOARD_NONE;
    errno = saved;
}

void engine_thread_ends(void) {
    const struct board *b = process->board;
    if (!process_armed() || vfork_state.child)
        return;
    board_party me = thread_party();
    for (uint16_t r = 0; process->seq && r < b->n_roles; r++) {
        board_party expected = me;
        if (atomic_compare_exchange_strong(&process->seq->role[r], &expected, BOARD_ROLE_GONE))
            steps_wake(process->seq);
    }
    end_sleep(BOARD_NONE);
    event_write(EVENT_THREAD_END, BOARD_NONE, BOARD_NONE, BOARD_NONE, 0, 0);
    lock_table_thread_ends();
    guarded_stack_thread_ends();
    event_thread_ends();
    probe_thread_ends();
}
