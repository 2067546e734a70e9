/* One launch of a workload under one plan. Runs in the runner's one thread; everything that it
 * starts is a descendant of the guard, and nothing else is ever signalled.
 */
#include "trial.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocate.h"
#include "board/steps.h"
#include "evidence.h"
#include "follow.h"
#include "guard.h"
#include "launch.h"
#include "leftovers.h"
#include "progress.h"
#include "trial_file.h"
#include "watch.h"

#define MILLISECOND 1000000ull
#define SECOND      1000000000ull

enum { LEFT_BEHIND_MS = 1000, SLOW_ROUND_MS = 500, STOP_LIMIT_S = 8 };

struct run {
    struct trial *t;
    struct ending *e;
    struct launch launch;
    struct guard guard;
    bool guard_ended;
    struct watch watch;
    struct follow *follow;
    struct leftovers leftovers;
    struct tree before; /* our descendants that are no part of the trial */
    int signals;
    sigset_t old_mask;
    int running; /* commands that have not ended */
    int failed;  /* commands that could not be started */
    uint64_t begun_ns, all_ended_ns, slow_ns;
    /* since when nothing has moved */
    uint64_t still_ns, still_cpu, still_activity;
};

const char *launcher_name(enum launcher launcher) {
    static const char *const names[] = {
        [LAUNCHER_LOCAL] = "local", [LAUNCHER_MPIRUN] = "mpirun", [LAUNCHER_USER] = "own"};
    return names[launcher];
}

/* ---- signals ---- */

/* Ctrl-C and its like become readable instead of ending us; what was ignored stays so (nohup, a
 * shell's &). */
static void take_signals(struct run *r) {
    static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof stopping / sizeof *stopping; i++) {
        struct sigaction a;
        if (sigaction(stopping[i], NULL, &a) == 0 && a.sa_handler != SIG_IGN)
            sigaddset(&set, stopping[i]);
    }
    sigprocmask(SIG_BLOCK, &set, &r->old_mask);
    r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool was_interrupted(const struct run *r) {
    struct signalfd_siginfo info;
    bool any = false;
    while (r->signals >= 0 && read(r->signals, &info, sizeof info) == (ssize_t)sizeof info)
        any = true;
    return any;
}

static void give_signals_back(struct run *r) {
    r->e->interrupted |= was_interrupted(r);
    if (r->signals >= 0)
        close(r->signals);
    sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
}

/* ---- reports of the guard ---- */

static void command_ended(struct run *r, const struct guard_report *report, uint64_t now) {
    const struct launch_command *c = &r->launch.command[report->command];
    r->running--;
    /* Of many ranks, the first bad ending stands for all. */
    if (r->e->launcher_status <= 0)
        r->e->launcher_status = report->value;
    if (c->rank >= 0)
        watch_rank_ended(&r->watch, c->rank, report->pid, report->value, now);
}

static void command_not_started(struct run *r, const struct guard_report *report) {
    r->running--;
    r->failed++;
    snprintf(r->e->problem, sizeof r->e->problem, "cannot start %.200s: %s",
             r->launch.command[report->command].argv[0], strerror(report->value));
}

static void take_reports(struct run *r, uint64_t now) {
    struct guard_report report;
    while (!r->guard_ended && guard_next_report(&r->guard, &report, &r->guard_ended)) {
        if (report.kind == GUARD_ENDED)
            command_ended(r, &report, now);
        else if (report.kind == GUARD_NOT_STARTED)
            command_not_started(r, &report);
    }
}

/* ---- is there still progress? ---- */

/* CPU time below 1% is the polling of an idle launcher, not work. */
static bool has_moved(struct run *r, uint64_t activity, uint64_t cpu_ticks, uint64_t now) {
    uint64_t tick_ns = SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
    if (activity != r->still_activity || cpu_ticks < r->still_cpu)
        return true;
    return (cpu_ticks - r->still_cpu) * tick_ns > (now - r->still_ns) / 100;
}

static uint64_t cpu_of(const struct tree *t) {
    uint64_t sum = 0;
    for (size_t i = 0; i < t->n; i++)
        sum += t->process[i].cpu;
    return sum;
}

static void note_progress(struct run *r, const struct tree *t, uint64_t log_bytes, uint64_t now) {
    uint64_t activity = watch_activity(&r->watch) + log_bytes, cpu = cpu_of(t);
    if (r->still_ns && !watch_is_holding(&r->watch) && !has_moved(r, activity, cpu, now))
        return;
    r->still_ns = now;
    r->still_cpu = cpu;
    r->still_activity = activity;
}

static void show_progress(const struct run *r) {
    const struct board *b = r->t->board;
    char text[128] = "";
    if (b->n_seqs) {
        uint32_t next = board_seq_next(atomic_load(&board_seqs(b)[0].state));
        if (next < b->n_steps)
            snprintf(text, sizeof text, "step %u of %u, %s", next + 1, b->n_steps,
                     board_string(b, b->step[next].text));
        else if (b->n_steps)
            snprintf(text, sizeof text, "all %u steps done", b->n_steps);
    }
    progress_update(-1, text);
}

/* What needs a walk over all processes: twice a second is enough. */
static void slow_round(struct run *r, uint64_t log_bytes, uint64_t now) {
    struct tree t;
    if (now - r->slow_ns < SLOW_ROUND_MS * MILLISECOND)
        return;
    r->slow_ns = now;
    tree_find(r->guard.pid, NULL, &t);
    leftovers_note(&r->leftovers, &t);
    note_progress(r, &t, log_bytes, now);
    tree_free(&t);
}

static void give_up(struct run *r, const char *why) {
    struct tree t;
    tree_find(r->guard.pid, NULL, &t);
    evidence_write(r->t->dir, why, r->t->board, &t);
    tree_free(&t);
    watch_end_all(&r->watch, why, steps_now());
}

/* True: the trial is over, or has to be stopped. */
static bool is_over(struct run *r, uint64_t now) {
    char why[160];
    if (r->guard_ended || r->e->interrupted || r->failed)
        return true;
    if (r->t->limit_ns && now - r->begun_ns > r->t->limit_ns) {
        r->e->timed_out = true;
        snprintf(why, sizeof why, "its limit of %.1f s was over", (double)r->t->limit_ns / 1e9);
        give_up(r, why);
        return true;
    }
    if (r->watch.deadlocked) {
        r->e->stalled = true;
        give_up(r, "threads wait for each other for ever: a deadlock");
        return true;
    }
    if (r->t->stall_ns && r->still_ns && now - r->still_ns > r->t->stall_ns) {
        r->e->stalled = true;
        snprintf(why, sizeof why, "no thread ran and nothing moved for %.1f s",
                 (double)r->t->stall_ns / 1e9);
        give_up(r, why);
        return true;
    }
    return false;
}

/* The launchers have ended: what they left behind has a moment to end too. */
static bool nothing_left(struct run *r, uint64_t now) {
    struct tree t;
    if (!r->all_ended_ns)
        r->all_ended_ns = now;
    tree_find(r->guard.pid, NULL, &t);
    bool none = t.n == 0 || now - r->all_ended_ns > LEFT_BEHIND_MS * MILLISECOND;
    tree_free(&t);
    return none;
}

static void watch_until_over(struct run *r) {
    for (;;) {
        uint64_t now = steps_now();
        r->e->interrupted |= was_interrupted(r);
        take_reports(r, now);
        uint64_t pause_ns = watch_round(&r->watch, now);
        uint64_t log_bytes = follow_round(r->follow);
        slow_round(r, log_bytes, now);
        if (is_over(r, now) || (r->running == 0 && nothing_left(r, now)))
            return;
        if (!r->t->keep_output_live)
            show_progress(r);
        struct pollfd fds[] = {{r->signals, POLLIN, 0}, {r->guard.report, POLLIN, 0}};
        poll(fds, 2, (int)(pause_ns / MILLISECOND));
    }
}

/* ---- the end ---- */

static void stop(struct run *r) {
    uint64_t deadline = steps_now() + STOP_LIMIT_S * SECOND;
    r->e->guard_died = r->guard_ended;
    if (r->e->guard_died)
        watch_end_all(&r->watch, "its guard process was killed", steps_now());
    if (r->e->interrupted)
        watch_end_all(&r->watch, "it was interrupted", steps_now());
    watch_release_all(&r->watch);
    guard_let_go(&r->guard);
    while (!r->guard_ended && steps_now() < deadline) {
        take_reports(r, steps_now());
        poll(&(struct pollfd){r->guard.report, POLLIN, 0}, r->guard_ended ? 0 : 1, 20);
    }
    guard_wait(&r->guard, 0);
}

/* What a killed guard left is ours now (we are its subreaper); after a normal end there is nothing.
 */
static void end_orphans(struct run *r) {
    struct tree t;
    tree_find(getpid(), &r->before, &t);
    leftovers_note(&r->leftovers, &t);
    tree_free(&t);
    size_t left =
        tree_end(&r->before, r->e->guard_died ? 0 : GUARD_GRACE_NS, 5 * SECOND, NULL, NULL);
    if (left)
        snprintf(
            r->e->problem, sizeof r->e->problem,
            "%zu processes of the trial could not be ended within 5 s, even by SIGKILL: look at "
            "them with `ps`; they may hang in the kernel",
            left);
    leftovers_remove(&r->leftovers);
}

static void finish(struct run *r) {
    end_orphans(r);
    r->watch.nothing_lives = true;
    watch_round(&r->watch, steps_now());
    follow_end(r->follow);
    r->e->wall_ns = steps_now() - r->begun_ns;
    r->e->started = r->failed == 0;
    watch_free(&r->watch);
}

static bool start(struct run *r) {
    struct ending *e = r->e;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    tree_find(getpid(), NULL, &r->before);
    if (!launch_prepare(r->t, &r->launch, e->problem, sizeof e->problem))
        return false;
    leftovers_begin(&r->leftovers, r->launch.temp_dir);
    atomic_store(&r->t->board->phase, PHASE_RUNNING);
    r->running = r->launch.n;
    r->begun_ns = steps_now();
    if (guard_start(&r->guard, &r->launch, e->problem, sizeof e->problem))
        return true;
    leftovers_remove(&r->leftovers);
    return false;
}

void trial_run(struct trial *t, struct ending *e, struct complaints *c) {
    struct run r = {.t = t, .e = e};
    *e = (struct ending){.launcher_status = -1};
    take_signals(&r);
    if (start(&r)) {
        watch_begin(&r.watch, t->board);
        r.follow = follow_begin(t->dir, t->ranks, t->keep_output_live);
        watch_until_over(&r);
        stop(&r);
        finish(&r);
    }
    leftovers_free(&r.leftovers);
    launch_free(&r.launch);
    tree_free(&r.before);
    give_signals_back(&r);
    if (*e->problem)
        complain(c, NULL, 0, 0, "%s", e->problem);
    trial_save_ending(t, e, c);
}
