/* The processes below one process, found through /proc, and their end. Signals descendants only,
 * and each only while it is still the process that was found (process id and start time). Linux 5.3
 * or later closes the last gap by pidfd; without it a start-time check just before the signal has
 * to do.
 */
#ifndef HOLDPOINT_TREE_H
#define HOLDPOINT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tree_process {
    pid_t pid, parent;
    char state;        /* as in /proc/PID/stat: R S D T t Z X */
    uint64_t start;    /* clock ticks since boot */
    uint64_t cpu;      /* user and system time, clock ticks */
    int zombie_status; /* state Z: as from waitpid, where the kernel lets us see it, else 0 */
    char name[32];
};
struct tree {
    struct tree_process *process;
    size_t n;
};

/* One process or, with `tid`, one thread of it. False: it is gone. */
bool tree_read(pid_t pid, pid_t tid, struct tree_process *p);

/* All descendants of `root`, zombies included, less those in `but` (may be NULL) and what is below
 * them. A process that loses its parent during the walk may be missed by it, not by the next. */
void tree_find(pid_t root, const struct tree *but, struct tree *t);
void tree_free(struct tree *t);

/* Sends `signal_number` to `p` unless its process id has come to mean another process. */
void tree_signal(const struct tree_process *p, int signal_number);

typedef void tree_reaped(pid_t pid, int status, void *data);

/* Ends all descendants of the calling process, less `but`: SIGTERM (and SIGCONT) first, SIGKILL
 * after `grace_ns`, walking again until none is left or `limit_ns` is over. Reaps those that are or
 * become its own children, and tells `reaped` (may be NULL). The caller must be a subreaper for
 * "all" to be true. Returns how many are left. */
size_t tree_end(const struct tree *but, uint64_t grace_ns, uint64_t limit_ns, tree_reaped *reaped,
                void *data);

#endif
