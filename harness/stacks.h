/* Evidence of a hang: what every thread of the tree is doing, with its stack. Stops each thread for
 * the moment of its stack walk by ptrace; changes nothing else. */
#ifndef HOLDPOINT_STACKS_H
#define HOLDPOINT_STACKS_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "board/board.h"
#include "tree.h"

/* What to call a process in the evidence ("rank 3"), or NULL. */
typedef const char *stacks_label(pid_t pid, void *data);

/* Writes every thread of every process of `t`: name, state, wchan, system call and, until
 * `deadline` (CLOCK_MONOTONIC, nanoseconds), its stack as MODULE!FUNCTION+0xOFFSET and file:line
 * where known. */
void stacks_write(FILE *f, const struct tree *t, uint64_t deadline, stacks_label *label,
                  void *data);

/* One live process, to be asked for single stacks as the board names frames: less the shim's own,
 * call sites by an address within the call. NULL: it cannot be read. */
struct stacks;
struct stacks *stacks_open(pid_t pid, const struct board *b);
void stacks_close(struct stacks *s);
/* The stack of one thread, which stops for that moment; returns how many frames, 0: none could be
 * read. */
uint32_t stacks_walk(struct stacks *s, pid_t tid, struct board_frame *frame, uint32_t max);
/* A code address of the process. */
struct board_frame stacks_frame(struct stacks *s, uint64_t pc);

#endif
