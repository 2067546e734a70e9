/* What the x86-64 part needs at start. */
#ifndef HOLDPOINT_ARCH_H
#define HOLDPOINT_ARCH_H
#include <stddef.h>
#include <stdint.h>
/* Finds out how vector registers are saved. Before any trampoline runs. */
void arch_start(void);
/* Writes a stub that pushes `index` and jumps to call_entry; bytes written, at most
 * ARCH_STUB_BYTES. */
enum { ARCH_STUB_BYTES = 32 };
void arch_write_call_stub(unsigned char *to, uint32_t index);
/* Writes a function that returns `value`. */
void arch_write_return_value(unsigned char *to, const void *value);
/* Writes a jump to `target`: 14 bytes. */
enum { ARCH_JUMP_BYTES = 14 };
void arch_write_jump(unsigned char *to, const void *target);
/* True when `code` is a function whose whole body is a return, with padding up to 16 bytes. */
int arch_is_empty_function(const unsigned char *code);
/* Of a ucontext_t that a fault left: the instruction, and whether it was about to store. */
uintptr_t arch_faulting_instruction(const void *context);
int arch_fault_is_store(const void *context);
#endif
