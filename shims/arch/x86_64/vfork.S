/* vfork: the child runs on the parent's stack and memory until it executes or exits, so no frame of ours may stay
 * below it. The return address waits in vfork_state, which also says that the child runs: C code of the shim then takes part
 * in nothing. Source: vfork(2), and that a vfork child may not return from its caller. */
        .text
        .globl  vfork
        .type   vfork, @function
vfork:
        .cfi_startproc
        pop     %rdx
        .cfi_def_cfa_offset 0
        .cfi_register rip, rdx
        mov     vfork_state@GOTTPOFF(%rip), %rcx
        mov     %rdx, %fs:8(%rcx)
        mov     vfork_original(%rip), %rax
        test    %rax, %rax
        jz      1f
        call    *%rax
2:      mov     vfork_state@GOTTPOFF(%rip), %rcx
        mov     %fs:8(%rcx), %rdx
        xor     %esi, %esi
        test    %eax, %eax
        setz    %sil
        mov     %esi, %fs:(%rcx)
        jmp     *%rdx
        /* Called before the shim has started: the plain system call does what the C library would. */
1:      mov     $58, %eax
        syscall
        cmp     $-4095, %rax
        jb      2b
        mov     $-1, %rax
        jmp     2b
        .cfi_endproc
        .size   vfork, . - vfork
        .section .note.GNU-stack, "", @progbits
