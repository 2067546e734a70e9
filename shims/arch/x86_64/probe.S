/* Where a probed frame returns to: one stub a probe, so that an unwinder that meets a stub's address in place
 * of a return address can find the true one. The unwind rule of the stubs does that: 12 bytes into each stub
 * lies the distance from the stub to its entry of probe_table, whose first word is the true return address.
 * Layout of an entry and its size: probe.c.
 *
 * On arrival the stack pointer is what the probed frame's caller expects, so the word below it, which held the
 * return address, is free for our use.
 */
#define PROBE_COUNT 1024
#define STUB_BYTES  32
#define ENTRY_BYTES 64

        .text
        .p2align 5
        .globl  probe_stubs
        .hidden probe_stubs
        .type   probe_stubs, @function
        .cfi_startproc
        /* Unwinders tell frames apart by their CFA, and the probed frame's is the stack pointer here. So the stub's is
         * put 8 above it, where no aligned frame's can be, and the stack pointer of the caller is given by a rule. */
        .cfi_def_cfa rsp, 8
        .cfi_escape 0x14, 0x07, 0x01    /* val_offset of rsp: CFA - 8; clang's assembler lacks the directive */
        /* val_expression of column 16, the return address: pc, dup, +12, load 4 bytes, sign-extend, +, load */
        .cfi_escape 0x16, 0x10, 15, 0x80, 0x00, 0x12, 0x23, 12, 0x94, 4, 0x08, 32, 0x24, 0x08, 32, 0x26, 0x22, 0x06
        /* Unwinders look one byte before a return address: this pad makes that byte ours. */
        .fill   STUB_BYTES, 1, 0x90
probe_stubs:
        .set    index, 0
        .rept   PROBE_COUNT
        .p2align 5, 0x90
0:      push    $index                  /* 5 bytes or 2 */
        .cfi_adjust_cfa_offset 8
        jmp     probe_common            /* 5 bytes or 2 */
        .cfi_adjust_cfa_offset -8
        .org    0b + 12, 0x90
        .long   probe_table + index * ENTRY_BYTES - 0b
        .org    0b + STUB_BYTES, 0x90
        .set    index, index + 1
        .endr
        .cfi_endproc
        .size   probe_stubs, . - probe_stubs

/* [rsp] = index of the probe. Puts the true return address there, keeps every register that can carry a result,
 * and calls probe_returned(index, &result, sp after the return). */
        .p2align 4
        .globl  probe_common
        .hidden probe_common
        .type   probe_common, @function
probe_common:
        .cfi_startproc
        .cfi_def_cfa_offset 8
        push    %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        mov     %rsp, %rbp
        .cfi_def_cfa_register rbp
        push    %rdx                    /* struct probe_result: rax below rdx */
        push    %rax
        push    %rbx
        .cfi_offset rbx, -40
        mov     8(%rbp), %rdi           /* index */
        imul    $ENTRY_BYTES, %rdi, %rax
        lea     probe_table(%rip), %rdx
        add     %rax, %rdx
        mov     8(%rdx), %rax
        movl    $1, 48(%rdx)            /* returning: before the slot ceases to tell */
        mov     %rax, 8(%rbp)           /* from here on the frame unwinds like any other */
        mov     arch_save_bytes(%rip), %rax
        sub     %rax, %rsp
        and     $-64, %rsp
        mov     %rsp, %rbx
        call    arch_save_vectors
        lea     -16(%rbp), %rsi
        lea     16(%rbp), %rdx
        call    probe_returned
        mov     %rbx, %rsp
        call    arch_restore_vectors
        lea     -24(%rbp), %rsp
        pop     %rbx
        pop     %rax
        pop     %rdx
        pop     %rbp
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .size   probe_common, . - probe_common
        .section .note.GNU-stack, "", @progbits
