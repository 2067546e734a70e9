/* Logs: copying them to our own output as they grow, and closing them with an end mark, without
 * which a log is known to be incomplete. Runner, one thread. */
#ifndef HOLDPOINT_FOLLOW_H
#define HOLDPOINT_FOLLOW_H

#include <stdint.h>

struct follow;

/* The logs of `ranks` ranks and of the launcher in `dir`. `copy`: to our stdout and stderr, each
 * line after "[rank N] " when there is more than one rank. */
struct follow *follow_begin(const char *dir, int ranks, int copy);

/* Copies what came since the last call. Returns how many bytes all logs have together. */
uint64_t follow_round(struct follow *f);

/* Copies the rest, appends the end marks to the ranks' logs and frees. */
void follow_end(struct follow *f);

#endif
