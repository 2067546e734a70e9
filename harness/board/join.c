/* A process's way onto the board: see join.h. Runs in holdpoint-rank before its exec, in the start
 * of the shim and in fork children; may be killed at any moment, and leaves a slot that says so (a
 * process id that is gone). */
#include "join.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "steps.h"

struct board *join_board(const char *path, const char **problem) {
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat st;
    *problem = "it cannot be opened";
    if (fd < 0)
        return NULL;
    void *at = MAP_FAILED;
    if (fstat(fd, &st) == 0 && st.st_size > 0)
        at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    errno = 0;
    *problem = at == MAP_FAILED ? "it cannot be mapped" : board_problem(at, (size_t)st.st_size);
    if (!*problem)
        return at;
    if (at != MAP_FAILED)
        munmap(at, (size_t)st.st_size);
    return NULL;
}

bool join_slot(struct board *b, uint32_t i, int32_t rank, bool is_follower) {
    struct board_slot *s = &board_slots(b)[i];
    uint32_t none = SLOT_FREE;
    if (!atomic_compare_exchange_strong(&s->state, &none, SLOT_STARTED))
        return false;
    s->rank = rank;
    s->node = b->node;
    s->is_follower = is_follower;
    atomic_store(&s->started_ns, steps_now());
    atomic_store(&s->pid, (uint32_t)getpid()); /* last: a slot with a process id is complete */
    return true;
}

int join_spare_slot(struct board *b, int32_t rank, bool is_follower) {
    for (uint32_t i = b->n_ranks; i < b->n_slots; i++)
        if (join_slot(b, i, rank, is_follower))
            return (int)i;
    atomic_fetch_or(&b->table_full, TABLE_SLOTS);
    return -1;
}
