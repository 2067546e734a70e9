/* call:MODULE!FUNCTION: ways 2, by relocation slots. */
#ifndef HOLDPOINT_CALL_H
#define HOLDPOINT_CALL_H
#include "slots.h"
extern const struct slot_user call_slots;
/* Reserves memory for stubs; before the first slot is looked at. */
void call_start(void);

/* One way a function is reached: a hook of the plan and the definition that the slots would have
 * led to. */
enum { CALL_MAX_SITES = 256 };
struct call_site {
    uint16_t hook;
    const void *original;
};
extern struct call_site call_site[CALL_MAX_SITES] __attribute__((visibility("hidden")));

/* Layout known to arch/x86_64/call.S. */
struct call_registers {
    int64_t argument[6];
    int64_t rax, r10;
    const void *original;
    int64_t result;
    void *stack; /* NULL, or what arch_prepare_stack returned: the call runs there */
};
_Static_assert(sizeof(struct call_registers) == 88, "call.S");

/* Sets r->original, and says whether the call may go straight there. idle.c: general registers
 * only. */
int call_is_idle(struct call_registers *r, void **frame) __attribute__((visibility("hidden")));
#endif
