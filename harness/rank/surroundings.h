/* The environment of one rank: what the plan, the sanitizers and the preload add to it.
 * Works on the process's own `environ` before the exec, in one thread. */
#ifndef HOLDPOINT_SURROUNDINGS_H
#define HOLDPOINT_SURROUNDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "board.h"

/* This process's rank as the launcher tells it, or -1. `from`: the variable that said so. */
int32_t surroundings_rank(const char **from);

/* Applies the plan's `env` of this rank. */
void surroundings_apply_plan(const struct board *b, int32_t rank);

/* Sanitizer options: ours first, so that what the user has set wins, and the log path last, so that
 * it is always ours: DIR/sanitizer.rankN.PID. And glibc's abort texts go to stderr, not to a
 * terminal. */
void surroundings_set_sanitizers(const char *dir, int32_t rank);

/* LD_PRELOAD = runtime (unless ""), shim, then what was there, each once. */
void surroundings_set_preload(const char *runtime, const char *shim);

#endif
