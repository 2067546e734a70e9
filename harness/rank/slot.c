/* A rank's place on the board. Runs in holdpoint-rank before its exec; may be killed at any moment
 * and leaves a slot that says so (a process id that is gone).
 */
#include "slot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "steps.h"

struct board *slot_map_board(const char *path) {
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        fprintf(stderr,
                "holdpoint rank: cannot open the board %s (%s): is the trial's folder on this node "
                "and is its runner still there?\n",
                path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    void *at = st.st_size > 0
                   ? mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                   : MAP_FAILED;
    close(fd);
    const char *problem =
        at == MAP_FAILED ? "it cannot be mapped" : board_problem(at, (size_t)st.st_size);
    if (!problem)
        return at;
    fprintf(stderr, "holdpoint rank: the board %s is unusable: %s; start the trial anew\n", path,
            problem);
    if (at != MAP_FAILED)
        munmap(at, (size_t)st.st_size);
    return NULL;
}

static bool take(struct board *b, uint32_t i, int32_t rank) {
    struct board_slot *s = &board_slots(b)[i];
    uint32_t none = SLOT_FREE;
    if (!atomic_compare_exchange_strong(&s->state, &none, SLOT_STARTED))
        return false;
    s->rank = rank;
    s->node = b->node;
    atomic_store(&s->started_ns, steps_now());
    atomic_store(&s->pid, (uint32_t)getpid()); /* last: a slot with a process id is complete */
    return true;
}

int slot_take(struct board *b, int32_t rank) {
    if (take(b, (uint32_t)rank, rank))
        return rank;
    /* A second process of a rank: first the slots that belong to no rank by number. */
    for (uint32_t i = b->n_ranks; i < b->n_slots; i++)
        if (take(b, i, rank))
            return (int)i;
    atomic_fetch_or(&b->table_full, TABLE_SLOTS);
    return -1;
}

void slot_leave(struct board *b, int slot, int status) {
    struct board_slot *s = &board_slots(b)[slot];
    atomic_store(&s->exit_code, status);
    atomic_store(&s->ended_ns, steps_now());
    atomic_store(&s->state, SLOT_EXITED);
}
