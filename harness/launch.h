/* How a trial's ranks are launched: command lines, environments and files, prepared by the runner
 * before the fork of the guard, so that the guard only forks and execs. */
#ifndef HOLDPOINT_LAUNCH_H
#define HOLDPOINT_LAUNCH_H

#include "trial.h"

struct launch_command {
    char **argv, **env; /* NULL-terminated, owned */
    int rank;           /* launcher local: whose process this is; else -1 */
};
struct launch {
    struct launch_command *command;
    int n;
    int out, err;   /* launcher.out and launcher.err, opened for appending */
    char *temp_dir; /* the trial's own TMPDIR */
};

/* False: `problem` says why and what to do. Free with launch_free in either case. */
bool launch_prepare(const struct trial *t, struct launch *l, char *problem, size_t size);
void launch_free(struct launch *l);

/* First line of `mpirun --version`, asked once a process; NULL: there is no mpirun in PATH. */
const char *launch_mpirun_version(void);

/* major * 100 + minor of Open MPI in that line; 0: it is not Open MPI. */
int launch_open_mpi_version(const char *line);

#endif
