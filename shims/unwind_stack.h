/* Stacks, by the unwinder that is linked into the shim. Safe in signal handlers where the C library
 * finds unwind tables without a lock (glibc 2.35 and later). */
#ifndef HOLDPOINT_UNWIND_STACK_H
#define HOLDPOINT_UNWIND_STACK_H
#include "board.h"
/* Up to `max` frames from the innermost that is not ours; returns how many. */
uint32_t unwind_stack(struct board_frame *frame, uint32_t max);
/* The same as code addresses, at most `max`; a 0 follows the last when there is room. Cheaper: it
 * looks nothing up. */
void unwind_addresses(uint64_t *pc, uint32_t max);
/* The same of what a signal interrupted, from its handler: `instruction` stood in its context. */
void unwind_interrupted(uint64_t *pc, uint32_t max, uintptr_t instruction);
/* The same, for a hook that is called over and over from few places: UNWIND_REMEMBERED addresses.
 * `frame`: of the hook's exported function, __builtin_frame_address(0). A stack that was walked
 * before is known again by its return addresses, each where it was. */
enum { UNWIND_REMEMBERED = 8 };
void unwind_remembered(uint64_t *pc, const void *frame);
/* True when a signal handler is on this thread's stack. */
bool unwind_in_signal_handler(void);
/* The innermost return address outside a sanitizer's runtime and outside the shim, or NULL. */
const void *unwind_caller_outside_sanitizer(void);
/* The frame that owns a stack address: its code, and where its return address lies (NULL: not
 * found). */
struct frame_owner {
    const void *code;
    void **return_slot;
    uintptr_t sp_after;
    const void *returns_to;
};
bool unwind_find_owner(uintptr_t address, struct frame_owner *owner);
#endif
