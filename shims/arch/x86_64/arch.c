/* Code generation and processor facts for x86-64. Runs in the constructor, single-threaded. */
#include "arch.h"

#include <cpuid.h>
#include <string.h>
#include <ucontext.h>

/* Read by vectors.S and the trampolines. */
uint32_t arch_save_mask __attribute__((visibility("hidden")));
uint32_t arch_save_compact __attribute__((visibility("hidden")));
uint64_t arch_save_bytes __attribute__((visibility("hidden"))) = 576;

extern char call_entry[] __attribute__((visibility("hidden")));

/* x87, SSE, AVX, and the three AVX-512 parts: everything that can carry an argument or a result. */
enum { COMPONENTS = 0xe7 };

void arch_start(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return;
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    uint64_t bytes = 576; /* the legacy area and the header */
    for (unsigned i = 2; i < 8; i++)
        if ((low & COMPONENTS & (1u << i)) && __get_cpuid_count(0xd, i, &a, &b, &c, &d) &&
            a + b > bytes)
            bytes = a + b;
    enum {
        COMPACT = 1 << 1,
        ALIGNMENT = 64 * 8
    }; /* compacted, each component may start at a new line */
    arch_save_compact = __get_cpuid_count(0xd, 1, &a, &b, &c, &d) && (a & COMPACT);
    arch_save_bytes = ((bytes + 63) & ~(uint64_t)63) + ALIGNMENT;
    arch_save_mask = low & COMPONENTS;
}

void arch_write_jump(unsigned char *to, const void *target) {
    static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
    memcpy(to, jump, sizeof jump);
    memcpy(to + sizeof jump, &target, sizeof target);
}

void arch_write_call_stub(unsigned char *to, uint32_t index) {
    *to = 0x68; /* push imm32 */
    memcpy(to + 1, &index, sizeof index);
    arch_write_jump(to + 5, call_entry);
}

void arch_write_return_value(unsigned char *to, const void *value) {
    to[0] = 0x48; /* movabs value, %rax */
    to[1] = 0xb8;
    memcpy(to + 2, &value, sizeof value);
    to[10] = 0xc3;
}

/* Layout known to call.S: from the top down the return slot, the function, the arguments. */
enum { STACK_ARGUMENTS = 512 };

void *arch_prepare_stack(uintptr_t top, const void *function, void **return_slot, size_t n_bytes) {
    char *end = (char *)(top & ~(uintptr_t)15);
    size_t n = n_bytes < STACK_ARGUMENTS ? n_bytes : STACK_ARGUMENTS;
    ((const void **)end)[-1] = return_slot;
    ((const void **)end)[-2] = function;
    if (return_slot)
        memcpy(end - 16 - STACK_ARGUMENTS, return_slot + 1, n);
    return end;
}

int arch_is_empty_function(const unsigned char *code) {
    static const unsigned char plain[] = {0xc3}, marked[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xc3};
    if ((uintptr_t)code % 16)
        return 0;
    return !memcmp(code, plain, sizeof plain) || !memcmp(code, marked, sizeof marked);
}

uintptr_t arch_faulting_instruction(const void *context) {
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

int arch_fault_is_store(const void *context) {
    enum { STORE = 2 }; /* of the page fault's error code */
    return (((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & STORE) != 0;
}
