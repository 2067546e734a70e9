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
/* Makes a stack, whose highest address is `top`, ready for a call of `function`, which returns to
 * what *return_slot says on the stack that it came from; above that lie the arguments that were
 * passed in memory, of which n_bytes may be read. Returns what call.S takes. */
void *arch_prepare_stack(uintptr_t top, const void *function, void **return_slot, size_t n_bytes);
/* Calls it there, with one argument: of what arch_prepare_stack made with a return_slot of NULL. */
void arch_call_on_stack(void *argument, void *prepared) __attribute__((visibility("hidden")));
/* True when `code` is a function whose whole body is a return, with padding up to 16 bytes. */
int arch_is_empty_function(const unsigned char *code);
/* Of a ucontext_t that a fault left: the instruction, and whether it was about to store. */
uintptr_t arch_faulting_instruction(const void *context);
int arch_fault_is_store(const void *context);
#endif
