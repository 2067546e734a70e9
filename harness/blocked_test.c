/* Proves: a sequence counts as blocked exactly when the thread that its next step needs has been in
 * one and the same wait, without a time limit, for a lock that a held thread owns, directly or
 * through others. Real threads sleep here, so that the kernel says so; the lock table is written by
 * hand.
 */
#include "blocked.h"

#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "board/steps.h"
#include "plan.h"
#include "test_files.h"

#define MILLISECOND 1000000ull

enum { OWNER, BETWEEN, NEEDED, THREADS };
enum { LOCK_A = 0x1000, LOCK_B = 0x2000 };

static _Atomic uint32_t thread_id[THREADS];
static int never[2];
static struct board *board;
static struct board_seq *seq;
static struct waits looks;
static uint64_t first_look;

static void *sleeper(void *index) {
    atomic_store(&thread_id[(intptr_t)index], (uint32_t)syscall(SYS_gettid));
    poll(&(struct pollfd){never[0], POLLIN, 0}, 1, -1);
    return NULL;
}

static void sleep_ms(long ms) {
    poll(NULL, 0, (int)ms);
}

static board_party party(int i) {
    return board_party_make(0, 1, thread_id[i]);
}

static void waits(int i, uint64_t lock, uint32_t kind, bool timed) {
    struct board_wait *w = &board_threads(board)[i].wait;
    atomic_fetch_add(&w->number, 1);
    w->kind = kind;
    w->timed = timed;
    atomic_store(&w->address, lock);
}

/* The owner of A is held at the gate; the needed thread waits for A. */
static void set_up(void) {
    memset(board_threads(board), 0, board->n_threads * sizeof(struct board_thread));
    memset(&seq->claim, 0, sizeof seq->claim);
    for (int i = 0; i < THREADS; i++)
        atomic_store(&board_threads(board)[i].party, party(i));
    board_threads(board)[OWNER].held[3].address = LOCK_A;
    seq->claim[0].owner = party(OWNER);
    seq->claim[0].standing = 1;
    atomic_store(&seq->role[0], party(NEEDED));
    waits(NEEDED, LOCK_A, LOCK_MUTEX, false);
}

static bool is_blocked(struct board_blocked *found) {
    char sentence[240];
    if (!blocked_find(&looks, seq, found, sentence, sizeof sentence))
        return false;
    CHECK(strstr(sentence, "`reach next` (line 6) is blocked") &&
              strstr(sentence, "held at `gate`"),
          "the sentence is: %s", sentence);
    return true;
}

static bool becomes_blocked(struct board_blocked *found) {
    first_look = steps_now();
    waits_look(&looks, first_look);
    sleep_ms(130);
    waits_look(&looks, steps_now());
    return is_blocked(found);
}

static void check_all(void) {
    struct board_blocked f;
    set_up();
    waits_look(&looks, steps_now());
    CHECK(!is_blocked(&f), "blocked at the first look");
    CHECK(becomes_blocked(&f) && f.waiter == party(NEEDED) && f.owner == party(OWNER) &&
              f.address == LOCK_A && f.others == 0,
          "not blocked, or by somebody else");

    waits(NEEDED, LOCK_A, LOCK_MUTEX, false);
    waits_look(&looks, steps_now());
    CHECK(!is_blocked(&f), "a new wait for the same lock was taken for the old one");

    set_up();
    waits(NEEDED, LOCK_A, LOCK_MUTEX, true);
    CHECK(!becomes_blocked(&f), "a wait with a time limit blocks");
    set_up();
    waits(NEEDED, LOCK_B, LOCK_MUTEX, false);
    CHECK(!becomes_blocked(&f), "a lock that nobody owns blocks");
    set_up();
    seq->claim[0].standing = 2;
    CHECK(!becomes_blocked(&f), "an owner that has gone on blocks");
    set_up();
    waits(NEEDED, LOCK_A, LOCK_CONDITION, false);
    CHECK(!becomes_blocked(&f), "a thread in a condition wait blocks though it sleeps elsewhere");

    set_up();
    board_threads(board)[BETWEEN].held[0].address = LOCK_B;
    waits(BETWEEN, LOCK_A, LOCK_RWLOCK_WRITE, false);
    waits(NEEDED, LOCK_B, LOCK_MUTEX, false);
    CHECK(becomes_blocked(&f) && f.waiter == party(BETWEEN) && f.others == 1,
          "not blocked through another thread");
    set_up();
    board_threads(board)[BETWEEN].self = 77;
    waits(BETWEEN, LOCK_A, LOCK_MUTEX, false);
    waits(NEEDED, 77, LOCK_JOIN, false);
    CHECK(becomes_blocked(&f) && f.others == 1, "not blocked through a join");
    set_up();
    board_threads(board)[BETWEEN].held[0].address = LOCK_B;
    board_threads(board)[NEEDED].held[0].address = LOCK_A;
    board_threads(board)[OWNER].held[3].address = 0;
    waits(BETWEEN, LOCK_A, LOCK_MUTEX, false);
    waits(NEEDED, LOCK_B, LOCK_MUTEX, false);
    CHECK(!becomes_blocked(&f), "two threads that wait for each other, without a held one, block");
    set_up();
    seq->role[0] = 0;
    CHECK(!becomes_blocked(&f), "blocked although the process has threads that wait for nothing");
}

int main(void) {
    static const char text[] = "plan: x\nroles: {r: {at: process.fork}}\npoints: {gate: {hook: "
                               "process.exit}, next: {hook: thread.start, role: r}}\nsteps:\n"
                               "  - reach gate\n  - reach next\n  - pass gate\n";
    struct complaints c = {0};
    char *folder = test_folder(), *file = test_write_text(folder, "plan.yaml", text);
    struct plan *p = plan_read(file, &c);
    board = p ? board_create(folder, p, 1, 1, "blocked", "/shim.so", &c) : NULL;
    if (!board || pipe(never)) {
        complaints_print(&c);
        return 1;
    }
    pthread_t thread[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, sleeper, (void *)i);
    for (int i = 0; i < THREADS; i++)
        while (!atomic_load(&thread_id[i]))
            sleep_ms(1);
    seq = &board_seqs(board)[0];
    board_slots(board)[0].pid = (uint32_t)getpid();
    board_slots(board)[0].incarnation = 1;
    board_slots(board)[0].state = SLOT_ALIVE;
    atomic_store(&seq->state, 1);
    waits_begin(&looks, board);
    check_all();
    waits_free(&looks);
    if (write(never[1], "x", 1) != 1)
        return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    board_close(board);
    board_remove(folder);
    unlink(file);
    rmdir(folder);
    free(file);
    free(folder);
    plan_free(p);
    printf("blocked: directly, through others, joins, time limits, conditions; %d failures\n",
           test_failures);
    return test_failures != 0;
}
