/* How the commands and holdpoint-rank end; `git bisect run` takes the first three as they stand. */
#ifndef HOLDPOINT_EXIT_STATUS_H
#define HOLDPOINT_EXIT_STATUS_H

enum {
    EXIT_AS_EXPECTED = 0,
    EXIT_NOT_AS_EXPECTED = 1,
    EXIT_CANNOT_TELL = 125,
    EXIT_USAGE = 129,
    EXIT_INTERRUPTED = 130,
};

#endif
