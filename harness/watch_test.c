/* Proves: the runner sees a thread sleep inside a call, and only then; sees processes end; and ends
 * a sequence whose next step nobody can do any more, with the sentence that says why.
 */
#include "watch.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "board/steps.h"
#include "plan.h"

#define MILLISECOND 1000000ull

static int failures;
static char folder[] = "/tmp/holdpoint-test.XXXXXX";
static struct board *board;
static struct watch watch;
static struct board_seq *seq;

static void expect(bool good, const char *what) {
    if (!good) {
        printf("watch: %s\n", what);
        failures++;
    }
}

static void sleep_ms(long ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void path_in_folder(char *path, size_t size, const char *name) {
    snprintf(path, size, "%s/%s", folder, name);
}

/* A board for a plan written here. */
static void begin(const char *plan_text, int ranks) {
    struct complaints c = {0};
    char path[128];
    path_in_folder(path, sizeof path, "plan.yaml");
    FILE *f = fopen(path, "w");
    fputs(plan_text, f);
    fclose(f);
    struct plan *p = plan_read(path, &c);
    path_in_folder(path, sizeof path, "board");
    unlink(path);
    board = p ? board_create(folder, p, ranks, 1, "watch", "/shim.so", &c) : NULL;
    if (!board) {
        complaints_print(&c);
        exit(1);
    }
    plan_free(p);
    watch_begin(&watch, board);
    seq = &board_seqs(board)[0];
}

static void end(void) {
    watch_free(&watch);
    board_close(board);
}

/* What the shim does at check-in. */
static board_party check_in(int slot, int rank, uint32_t tid) {
    struct board_slot *s = &board_slots(board)[slot];
    s->rank = rank;
    s->node = board->node;
    atomic_store(&s->incarnation, 1);
    atomic_store(&s->pid, (uint32_t)getpid());
    atomic_store(&s->state, SLOT_ALIVE);
    return board_party_make((uint16_t)slot, 1, tid);
}

static void rounds(int ms) {
    uint64_t until = steps_now() + (uint64_t)ms * MILLISECOND;
    while (steps_now() < until) {
        watch_round(&watch, steps_now());
        sleep_ms(2);
    }
}

static void expect_lost(const char *what, const char *sentence) {
    if (board_seq_end(atomic_load(&seq->state)) == SEQ_LOST && strstr(seq->detail, sentence))
        return;
    printf("watch: %s: state %lx, \"%s\"; wanted lost, \"%s\"\n", what,
           (unsigned long)atomic_load(&seq->state), seq->detail, sentence);
    failures++;
}

/* ---- asleep ---- */

static const char sleeping_plan[] =
    "plan: sleeping\n"
    "points:\n"
    "  first: {hook: process.fork, rank: 0}\n"
    "  sleeps: {hook: \"call:libc.so.6!poll\", side: asleep, rank: 0}\n"
    "steps:\n"
    "  - reach first\n"
    "  - reach sleeps\n"
    "timeout: 100ms\n";

static _Atomic int mode; /* 0: spins, 1: wakes all the time, 2: sleeps; -1: ends */
static _Atomic uint32_t thread_id;
static int never[2];

static void *program_thread(void *unused) {
    struct timespec moment = {0, 300000};
    atomic_store(&thread_id, (uint32_t)syscall(SYS_gettid));
    for (int now; (now = atomic_load(&mode)) >= 0;) {
        if (now == 1)
            nanosleep(&moment, NULL);
        else if (now == 2)
            poll(&(struct pollfd){never[0], POLLIN, 0}, 1, -1);
    }
    return unused;
}

static bool first_done(void) {
    return steps_mark(board, seq, 0, 0, 1, steps_now()) == 0;
}

static void asleep(void) {
    pthread_t thread;
    if (pipe(never) != 0)
        exit(1);
    begin(sleeping_plan, 1);
    pthread_create(&thread, NULL, program_thread, NULL);
    while (!atomic_load(&thread_id))
        sleep_ms(1);
    struct board_sleeper *s = &board->sleeper[0];
    s->point = 1;
    s->arrival = 5;
    atomic_store(&s->party, check_in(0, 0, atomic_load(&thread_id)));
    atomic_store(&s->inside, 1);
    expect(watch_round(&watch, steps_now()) == 2 * MILLISECOND,
           "sleepers are not looked at every 2 ms");

    atomic_store(&mode, 2);
    rounds(60);
    expect(atomic_load(&seq->point[1].early) == 1, "asleep before its turn is not counted once");
    expect(first_done(), "the first step was not done");
    rounds(30);
    expect(steps_complete(board, seq) && seq->done[1].arrival == 5 &&
               board_party_tid(seq->done[1].party) == atomic_load(&thread_id),
           "a sleeping thread is not seen, or not as itself");
    end();

    begin(sleeping_plan, 1);
    s = &board->sleeper[0];
    s->point = 1;
    atomic_store(&mode, 1);
    board_party party = check_in(0, 0, atomic_load(&thread_id));
    atomic_store(&s->party, party);
    atomic_store(&s->inside, 2);
    first_done();
    if (write(never[1], "x", 1) != 1) /* it leaves poll */
        failures++;
    sleep_ms(5);
    rounds(60);
    expect(!steps_complete(board, seq), "a thread outside the call is taken for asleep in it");
    atomic_store(&s->inside, 3);
    rounds(60);
    expect(!steps_complete(board, seq), "a thread that wakes all the time is taken for asleep");
    atomic_store(&mode, 0);
    rounds(60);
    expect(!steps_complete(board, seq), "a spinning thread is taken for asleep");
    end();
}

/* ---- lost ---- */

static const char gate_plan[] = "plan: gate\n"
                                "points:\n"
                                "  gate: {hook: process.fork, rank: 1}\n"
                                "  mark: {hook: process.exit, rank: 0}\n"
                                "steps:\n"
                                "  - reach gate\n"
                                "  - reach mark\n"
                                "  - pass gate\n"
                                "timeout: 100ms\n";

/* Rank 1, which claims the gate and stands there. */
static pid_t start_claimant(bool claims) {
    pid_t child = fork();
    if (child == 0) {
        board_party me = check_in(1, 1, (uint32_t)getpid());
        if (claims && steps_claim(seq, 0, me, 1, steps_now()))
            steps_stand(board, seq, 0, steps_now());
        for (;;)
            pause();
    }
    while (atomic_load(&board_slots(board)[1].state) != SLOT_ALIVE ||
           (claims && board_seq_next(atomic_load(&seq->state)) == 0))
        sleep_ms(1);
    return child;
}

static void claimant_killed(void) {
    begin(gate_plan, 2);
    check_in(0, 0, (uint32_t)getpid());
    pid_t child = start_claimant(true);
    rounds(20);
    expect(board_seq_end(atomic_load(&seq->state)) == SEQ_RUNNING,
           "a standing claimant is called lost");
    kill(child, SIGKILL);
    rounds(40);
    expect_lost("a claimant killed", "its process has ended");
    expect(strstr(seq->detail, "rank 1") && strstr(seq->detail, "pass gate"),
           "the sentence names neither the rank nor the step");
    struct board_slot *s = &board_slots(board)[1];
    expect(atomic_load(&s->state) == SLOT_GONE && atomic_load(&s->exit_code) == 128 + SIGKILL,
           "how a process ended that nobody has collected is not seen");
    int status;
    waitpid(child, &status, 0);
    watch_rank_ended(&watch, 1, child, 3 << 8, steps_now());
    expect(atomic_load(&s->exit_code) == 3, "the wait status does not win");
    end();
}

static void claimant_executes(void) {
    begin(gate_plan, 2);
    check_in(0, 0, (uint32_t)getpid());
    pid_t child = start_claimant(true);
    atomic_store(&board_slots(board)[1].incarnation, 2);
    rounds(20);
    expect_lost("a claimant in exec", "executed another program");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    end();
}

static void rank_ends(void) {
    begin(gate_plan, 2);
    check_in(0, 0, (uint32_t)getpid());
    pid_t child = start_claimant(false);
    rounds(100);
    expect(board_seq_end(atomic_load(&seq->state)) == SEQ_RUNNING, "a living rank is called lost");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    rounds(100);
    expect_lost("the rank has ended", "every process of rank 1 has ended");
    end();
}

static void nobody_left(void) {
    begin("plan: any\npoints:\n  mark: {hook: process.fork}\nsteps:\n  - reach mark\n", 2);
    rounds(100);
    expect(board_seq_end(atomic_load(&seq->state)) == SEQ_RUNNING,
           "ranks that have not begun are called ended");
    watch.nothing_lives = true;
    rounds(5);
    expect_lost("nothing lives", "every rank has ended");
    end();
}

static void role_gone(void) {
    begin("plan: role\n"
          "roles:\n"
          "  worker: {at: thread.start}\n"
          "points:\n"
          "  mark: {hook: thread.exit, role: worker}\n"
          "steps:\n"
          "  - reach mark\n",
          1);
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    check_in(0, 0, 0);
    atomic_store(&board_slots(board)[0].pid, (uint32_t)child);
    atomic_store(&seq->role[0], board_party_make(0, 1, (uint32_t)child));
    rounds(20);
    expect(board_seq_end(atomic_load(&seq->state)) == SEQ_RUNNING, "a living role is called lost");
    kill(child, SIGKILL);
    rounds(20);
    expect_lost("the role's thread was killed", "`worker` has ended");
    waitpid(child, NULL, 0);
    end();
}

/* The held thread ends its own hold; the runner does only when that thread could not. */
static void overdue(void) {
    begin(gate_plan, 2);
    check_in(0, 0, (uint32_t)getpid());
    pid_t child = start_claimant(true);
    uint64_t now = steps_now();
    expect(watch_is_holding(&watch), "a standing claimant is not called held");
    watch_round(&watch, now + 900 * MILLISECOND);
    expect(board_seq_end(atomic_load(&seq->state)) == SEQ_RUNNING,
           "the runner ends a hold too early");
    watch_round(&watch, now + 1200 * MILLISECOND);
    expect(board_seq_end(atomic_load(&seq->state)) == SEQ_TIMEOUT &&
               strstr(seq->detail, "reach mark"),
           "the runner does not end an overdue hold");
    expect(!watch_is_holding(&watch), "after its end a sequence is called holding");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    end();
}

int main(void) {
    char command[64];
    alarm(60);
    if (!mkdtemp(folder))
        return 1;
    asleep();
    claimant_killed();
    claimant_executes();
    rank_ends();
    nobody_left();
    role_gone();
    overdue();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        failures++;
    printf("watch: asleep, awake; killed, exec, rank, role and time over: %s\n",
           failures ? "FAILED" : "good");
    return failures != 0;
}
