/* A rank's place on the board. Runs in holdpoint-rank before its exec; may be killed at any moment
 * and leaves a slot that says so (a process id that is gone).
 */
#include "slot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "join.h"
#include "steps.h"

struct board *slot_map_board(const char *path) {
    const char *problem;
    struct board *b = join_board(path, &problem);
    if (!b && errno)
        fprintf(stderr,
                "holdpoint rank: cannot open the board %s (%s): is the trial's folder on this node "
                "and is its runner still there?\n",
                path, strerror(errno));
    else if (!b)
        fprintf(stderr, "holdpoint rank: the board %s is unusable: %s; start the trial anew\n",
                path, problem);
    return b;
}

int slot_take(struct board *b, int32_t rank) {
    /* A second process of a rank takes a slot that belongs to no rank by number. */
    return join_slot(b, (uint32_t)rank, rank, false) ? rank : join_spare_slot(b, rank, false);
}

void slot_leave(struct board *b, int slot, int status) {
    struct board_slot *s = &board_slots(b)[slot];
    atomic_store(&s->exit_code, status);
    atomic_store(&s->ended_ns, steps_now());
    atomic_store(&s->state, SLOT_EXITED);
}
