/* The rules of steps under contention: what two threads do at the same instant is not lost. */
#include "steps.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 100000, PATIENCE = 1000 };

static struct board board; /* constant part only */
static struct board_seq seq;
static _Atomic int round_number, arrived;

/* Both on a processor at once; one alone must let the other run. */
static void wait_for(_Atomic int *number, int wanted) {
    for (int i = 1; atomic_load(number) != wanted; i++)
        if (i % PATIENCE == 0)
            sched_yield();
}

static void arrive(void) {
    steps_mark(&board, &seq, 0, 1, 1, 1);
    atomic_fetch_add(&arrived, 1);
}

static void *other(void *unused) {
    for (int i = 1; i <= ROUNDS; i++) {
        wait_for(&round_number, i);
        arrive();
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    int lost = 0;
    board.n_points = 1;
    board.n_steps = 2; /* reach the same mark, twice */
    board.step[0].claim = board.step[1].claim = BOARD_NONE;
    pthread_create(&thread, NULL, other, NULL);
    for (int i = 1; i <= ROUNDS; i++) {
        memset(&seq, 0, sizeof seq);
        atomic_store(&arrived, 0);
        atomic_store(&round_number, i);
        arrive();
        wait_for(&arrived, 2);
        lost += !steps_complete(&board, &seq);
    }
    pthread_join(thread, NULL);
    if (lost)
        printf("steps: %d of %d times an arrival at a mark was lost\n", lost, ROUNDS);
    else
        printf("steps: two arrivals at once at a mark: ok\n");
    return lost != 0;
}
