/* A stack of its own for one call (design.md, detector `frames`): closed with PROT_NONE when the
 * call has returned, so that whatever loads from its dead frames, or stores there, faults at that
 * instruction. A bounded number for the process. A closed stack is not used again before all others
 * were. Any thread; no lock, no allocation, errno kept. A fork child may leave what it inherited.
 */
#ifndef HOLDPOINT_GUARDED_STACK_H
#define HOLDPOINT_GUARDED_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GUARDED_STACK_BYTES = 8 << 20 }; /* address space; what is not touched is no memory */

struct guarded_stack {
    uintptr_t low, high; /* what lies between is the call's */
    const void *function;
    void **return_slot; /* of the call, on the stack that it came from */
    uint32_t tid;
    _Atomic uint64_t turn; /* which use it is of how many, and what of it is done */
};

/* For a call of `function` by this thread, where possible at a lower address than its own frames,
 * as longjmp and cancellation expect of inner ones. It is closed when the call returns to what
 * *return_slot says (NULL: by guarded_stack_close, of the same thread). Closes what this thread's
 * calls have left without a return. NULL: none is to be had (complained). */
struct guarded_stack *guarded_stack_take(const void *function, void **return_slot);

/* Does the caller run on one now? A call inside a guarded one stays on its stack. */
bool guarded_stack_is_here(void);

/* The thread is about to end, and with it all calls from its own stack. */
void guarded_stack_thread_ends(void);

void guarded_stack_close(struct guarded_stack *s);
/* After guarded_stack_open, unless another call has it by now. */
void guarded_stack_close_again(struct guarded_stack *s);

/* The stack that the address lies in, open or closed; NULL: it is in none. */
struct guarded_stack *guarded_stack_at(uintptr_t address);
bool guarded_stack_is_closed(const struct guarded_stack *s);
/* For the thread that was caught, which goes on as it would have gone. False: the kernel refuses.
 */
bool guarded_stack_open(struct guarded_stack *s);

#endif
