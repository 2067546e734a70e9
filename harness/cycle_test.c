/* Proves: which waits are a deadlock. The threads are those of a child process, all of them asleep,
 * so that the kernel says so; the lock table is written by hand.
 */
#include "cycle.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "board/steps.h"
#include "plan.h"
#include "test_files.h"
#include "tree.h"

/* MAIN and what a sanitizer's runtime runs beside ours only join, or wait for the lock W. */
enum { EXITING, LOOP, THIRD, FOURTH, OURS, MOST = 16 };
enum { W = 0x1000, Q = 0x2000, C = 0x3000, D = 0x4000, MUTEX = 0x5000, SELF = 0x100 };
#define SECOND 1000000000ull

static struct board *board;
static struct waits waits;
static pid_t child;
static board_party everybody[MOST];
static int n_everybody;

static void *sleeper(void *unused) {
    for (;;)
        poll(NULL, 0, -1);
    return unused;
}

static void be_a_child(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_t thread;
    for (int i = 0; i < OURS; i++)
        pthread_create(&thread, NULL, sleeper, NULL);
    sleeper(NULL);
}

static bool note(board_party party, void *unused) {
    (void)unused;
    if (board_party_tid(party) != (uint32_t)child && n_everybody < MOST)
        everybody[n_everybody++] = party;
    return true;
}

static bool all_asleep(void) {
    bool all = true;
    for (int i = 0; i < n_everybody; i++) {
        struct tree_process thread;
        all = all && tree_read(child, (pid_t)board_party_tid(everybody[i]), &thread) &&
              thread.state == 'S';
    }
    return all;
}

/* Until the child has made its threads. A runtime's own may come first. */
static void meet_everybody(void) {
    for (int i = 0; i < 2000; i++) {
        n_everybody = 0;
        waits_every_thread(&waits, 0, note, NULL);
        if (n_everybody >= OURS && all_asleep())
            break;
        poll(NULL, 0, 5);
    }
    poll(NULL, 0, 50);
    n_everybody = 0;
    waits_every_thread(&waits, 0, note, NULL);
    everybody[n_everybody] = board_party_make(0, 1, (uint32_t)child);
}

static struct board_thread *entry(int i) {
    return &board_threads(board)[i];
}

static void wait_for(int i, uint64_t address, uint32_t kind, bool timed) {
    struct board_wait *w = &entry(i)->wait;
    atomic_fetch_add(&w->number, 1);
    w->kind = kind;
    w->mutex = MUTEX;
    w->timed = timed;
    atomic_store(&w->address, address);
}

/* The exiting thread owns W and waits on C, which the loop signals; the loop and all others wait
 * for W. */
static void set_up(void) {
    memset(board_threads(board), 0, board->n_threads * sizeof(struct board_thread));
    for (int i = 0; i <= n_everybody; i++) {
        atomic_store(&entry(i)->party, everybody[i]);
        entry(i)->self = SELF + (uint64_t)i;
        wait_for(i, W, LOCK_MUTEX, false);
    }
    entry(EXITING)->held[5].address = W;
    wait_for(EXITING, C, LOCK_CONDITION, false);
    entry(LOOP)->signalled[2] = C;
}

static bool finds(struct cycle *c, uint64_t after) {
    for (int i = 0; i <= n_everybody; i++)
        waits.look[i] = (struct waits_look){0};
    waits_look(&waits, steps_now() - after);
    return cycle_find(&waits, c);
}

/* A sanitizer's thread wakes now and then; then it is not so for a moment. */
static bool is_found(struct cycle *c) {
    for (int i = 0; i < 100; i++)
        if (finds(c, SECOND + SECOND / 10))
            return true;
    return false;
}

static bool goes(const struct cycle *c, int first, int second) {
    for (uint32_t i = 0; i < c->n; i++)
        if (c->thread[i] == everybody[first])
            return c->thread[(i + 1) % c->n] == everybody[second];
    return false;
}

static uint32_t place(const struct cycle *c, int thread) {
    uint32_t i = 0;
    while (i < c->n && c->thread[i] != everybody[thread])
        i++;
    return i < c->n ? i : 0;
}

static void check_signallers(void) {
    struct cycle c;
    set_up();
    CHECK(is_found(&c) && c.n == 2 && goes(&c, EXITING, LOOP) && goes(&c, LOOP, EXITING) &&
              c.signallers[place(&c, EXITING)] == 1 && !c.forgotten[place(&c, EXITING)] &&
              c.wait[place(&c, EXITING)].address == C,
          "not the cycle of the two, but %u threads", c.n);
    CHECK(!finds(&c, SECOND / 2), "found after half a second");

    set_up();
    entry(THIRD)->signalled[0] = entry(FOURTH)->signalled[0] = C;
    CHECK(is_found(&c) && c.signallers[place(&c, EXITING)] == 3,
          "others who signalled it and wait");
    set_up();
    entry(THIRD)->n_forgotten = 1;
    CHECK(is_found(&c) && c.forgotten[place(&c, EXITING)], "what may be forgotten is not said");

    /* Through a third: it owns what the loop waits for, and waits for W. */
    set_up();
    wait_for(LOOP, Q, LOCK_RWLOCK_READ, false);
    entry(THIRD)->held[0].address = Q;
    CHECK(is_found(&c) && c.n == 3 && goes(&c, LOOP, THIRD) && goes(&c, THIRD, EXITING),
          "not through a third thread, but %u threads", c.n);
    set_up();
    wait_for(LOOP, SELF + THIRD, LOCK_JOIN, false);
    CHECK(is_found(&c) && c.n == 3 && goes(&c, LOOP, THIRD), "not through a join");

    /* Two conditions, each signalled by the other one; no lock at all. */
    set_up();
    entry(EXITING)->signalled[0] = D;
    wait_for(LOOP, D, LOCK_CONDITION, false);
    CHECK(is_found(&c) && c.n == 2 && goes(&c, LOOP, EXITING), "not the two conditions");
}

static void check_nobody(void) {
    struct cycle c;
    set_up();
    entry(LOOP)->signalled[2] = 0;
    CHECK(is_found(&c) && c.n == 2 && c.wait[0].address == W && c.thread[1] == everybody[EXITING] &&
              c.signallers[1] == 0,
          "a condition that nobody ever signalled");
    /* One who signalled it is stuck, but not in a cycle: nobody is left all the same. */
    set_up();
    entry(THIRD)->signalled[7] = C;
    wait_for(THIRD, D, LOCK_CONDITION, false);
    CHECK(is_found(&c) && c.n == 2 && c.signallers[place(&c, EXITING)] == 0,
          "a signaller that is stuck elsewhere is in the cycle");
    set_up();
    entry(THIRD)->n_forgotten = 1;
    wait_for(THIRD, D, LOCK_CONDITION, false);
    CHECK(is_found(&c) && c.signallers[place(&c, EXITING)] == 0,
          "one who may have signalled it and is stuck elsewhere is in the cycle");
    /* All wait on conditions that nobody ever signalled: none waits for another. */
    set_up();
    for (int i = 0; i <= n_everybody; i++)
        wait_for(i, C, LOCK_CONDITION, false);
    entry(LOOP)->signalled[2] = 0;
    CHECK(!is_found(&c), "threads that only wait on conditions");
    entry(LOOP)->signalled[2] = C;
    CHECK(!is_found(&c), "a thread waits for itself");
}

static void check_not_at_rest(void) {
    struct cycle c;
    set_up();
    wait_for(FOURTH, 0, LOCK_MUTEX, false);
    CHECK(!is_found(&c), "a thread that waits for nothing could signal it");
    set_up();
    wait_for(FOURTH, W, LOCK_MUTEX, true);
    CHECK(!is_found(&c), "a thread with a time limit could signal it");
    set_up();
    atomic_store(&entry(FOURTH)->party, 0);
    CHECK(!is_found(&c), "a thread that is not in the table could signal it");
    set_up();
    wait_for(FOURTH, Q, LOCK_MUTEX, false);
    CHECK(!is_found(&c), "a lock that no thread owns may be another process's");
    set_up();
    wait_for(EXITING, C, LOCK_CONDITION, true);
    CHECK(!is_found(&c), "a condition with a time limit");
}

int main(void) {
    static const char text[] = "plan: x\ndetect: [deadlock]\n";
    struct complaints complaints = {0};
    char *folder = test_folder(), *file = test_write_text(folder, "plan.yaml", text);
    struct plan *p = plan_read(file, &complaints);
    board = p ? board_create(folder, p, 1, 1, "cycle", "/shim.so", &complaints) : NULL;
    if (!board) {
        complaints_print(&complaints);
        return 1;
    }
    child = fork();
    if (!child)
        be_a_child();
    board_slots(board)[0].pid = (uint32_t)child;
    board_slots(board)[0].incarnation = 1;
    board_slots(board)[0].state = SLOT_ALIVE;
    waits_begin(&waits, board);
    meet_everybody();
    CHECK(n_everybody >= OURS && n_everybody < MOST, "%d threads", n_everybody);
    check_signallers();
    check_nobody();
    check_not_at_rest();
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    waits_free(&waits);
    board_close(board);
    board_remove(folder);
    unlink(file);
    rmdir(folder);
    free(file);
    free(folder);
    plan_free(p);
    printf(
        "cycle: conditions and who signalled them, processes that are not at rest; %d failures\n",
        test_failures);
    return test_failures != 0;
}
