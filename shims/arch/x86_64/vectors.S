/* Saving and restoring what vector and x87 registers hold around a call into C, with whatever the processor has.
 * rbx: a 64-byte aligned area of arch_save_bytes bytes. Clobbers rax, rdx. arch_save_mask 0: no xsave; arch_save_compact:
 * xsavec, which leaves out what is in its initial state. */
        .text
        .globl  arch_save_vectors
        .hidden arch_save_vectors
        .type   arch_save_vectors, @function
arch_save_vectors:
        .cfi_startproc
        mov     arch_save_mask(%rip), %eax
        test    %eax, %eax
        jz      1f
        /* xsave reads the header of its area, and xrstor refuses one whose reserved part is not zero */
        xor     %edx, %edx
        mov     %rdx, 512(%rbx)
        mov     %rdx, 520(%rbx)
        mov     %rdx, 528(%rbx)
        mov     %rdx, 536(%rbx)
        mov     %rdx, 544(%rbx)
        mov     %rdx, 552(%rbx)
        mov     %rdx, 560(%rbx)
        mov     %rdx, 568(%rbx)
        cmpl    $0, arch_save_compact(%rip)
        jne     2f
        xsave   (%rbx)
        ret
2:      xsavec  (%rbx)
        ret
1:      fxsave  (%rbx)
        ret
        .cfi_endproc
        .size   arch_save_vectors, . - arch_save_vectors

        .globl  arch_restore_vectors
        .hidden arch_restore_vectors
        .type   arch_restore_vectors, @function
arch_restore_vectors:
        .cfi_startproc
        mov     arch_save_mask(%rip), %eax
        xor     %edx, %edx
        test    %eax, %eax
        jz      1f
        xrstor  (%rbx)
        ret
1:      fxrstor (%rbx)
        ret
        .cfi_endproc
        .size   arch_restore_vectors, . - arch_restore_vectors
        .section .note.GNU-stack, "", @progbits
