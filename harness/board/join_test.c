/* Proves: a slot is one process's, the spare ones are given out until the table is full, which is
 * noted; and what is no board is told apart from one that is not there. */
#include "join.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int failures;

static void check(bool good, const char *what) {
    if (!good) {
        printf("join: %s\n", what);
        failures++;
    }
}

static void test_slots(void) {
    enum { RANKS = 2, SLOTS = 4 };
    struct board *b = calloc(1, sizeof *b + SLOTS * sizeof(struct board_slot));
    if (!b)
        abort();
    b->at_slots = sizeof *b;
    b->n_ranks = RANKS;
    b->n_slots = SLOTS;
    check(join_slot(b, 1, 1, false) && !join_slot(b, 1, 0, true), "a slot is taken twice");
    check(board_slots(b)[1].rank == 1 && !board_slots(b)[1].is_follower,
          "a refused process wrote into another's slot");
    check(join_spare_slot(b, 0, true) == 2 && join_spare_slot(b, 1, false) == 3,
          "the spare slots are not given out in order");
    const struct board_slot *s = &board_slots(b)[2];
    check(s->state == SLOT_STARTED && s->pid == (uint32_t)getpid() && s->is_follower &&
              s->started_ns != 0,
          "a follower's slot is not complete");
    check(!b->table_full && join_spare_slot(b, 0, true) == -1 && b->table_full == TABLE_SLOTS,
          "a full table is not noted");
    free(b);
}

static void test_files(void) {
    const char *problem = NULL;
    char file[] = "/tmp/holdpoint-test.XXXXXX";
    int fd = mkstemp(file);
    check(fd >= 0 && !join_board(file, &problem) && problem && errno == 0, "an empty file");
    check(ftruncate(fd, sizeof(struct board)) == 0 && !join_board(file, &problem) && problem,
          "a file of zeros is a board");
    close(fd);
    unlink(file);
    problem = NULL;
    check(!join_board(file, &problem) && problem && errno == ENOENT, "a file that is not there");
}

int main(void) {
    test_slots();
    test_files();
    if (!failures)
        puts("join: slots are one process's, no board is told apart from none");
    return failures != 0;
}
