/* Evidence of a hang: what every thread of the tree is doing, with its stack. Stops each thread for
 * the moment of its stack walk by ptrace; changes nothing else. */
#ifndef HOLDPOINT_STACKS_H
#define HOLDPOINT_STACKS_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "tree.h"

/* What to call a process in the evidence ("rank 3"), or NULL. */
typedef const char *stacks_label(pid_t pid, void *data);

/* Writes every thread of every process of `t`: name, state, wchan, system call and, until
 * `deadline` (CLOCK_MONOTONIC, nanoseconds), its stack as MODULE!FUNCTION+0xOFFSET and file:line
 * where known. */
void stacks_write(FILE *f, const struct tree *t, uint64_t deadline, stacks_label *label,
                  void *data);

#endif
