/* The guard: a process outside the runner's session that starts the launchers, tells how they end,
 * and stops the whole tree when the runner lets go of it or dies. Killed itself, it leaves its
 * children to the runner (a subreaper), and those that it started directly die with it. */
#ifndef HOLDPOINT_GUARD_H
#define HOLDPOINT_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch.h"

enum guard_report_kind {
    GUARD_STARTED,
    GUARD_NOT_STARTED, /* value: errno of the exec */
    GUARD_ENDED,       /* value: as from waitpid */
};
struct guard_report {
    int32_t kind, command, pid, value;
};
struct guard {
    pid_t pid;
    int life;   /* write end of a pipe that the guard watches; closing it stops the tree */
    int report; /* struct guard_report, non-blocking; end of file: the guard has ended */
};

/* How long a process has between SIGTERM and SIGKILL. */
#define GUARD_GRACE_NS 1000000000u

/* Forks the guard, which starts every command of `l`. The runner must be a subreaper.
 * False: `problem` says why. */
bool guard_start(struct guard *g, const struct launch *l, char *problem, size_t size);

/* One report, if there is any. False: none now; *ended: there will be none. */
bool guard_next_report(struct guard *g, struct guard_report *r, bool *ended);

/* Lets go: the guard stops the tree, removes what it left and ends; its reports still come. */
void guard_let_go(struct guard *g);

/* Waits for the guard's end, at most `limit_ns`; after that ends the guard itself by force. */
void guard_wait(struct guard *g, uint64_t limit_ns);

#endif
