/* Where a hooked call arrives (way 2). A generated stub has pushed its site's index; the return address lies
 * above it. Nothing that carries an argument may change: integer registers, rax (vector count of variadic
 * calls), r10 (static chain), vector registers. call_is_idle(registers, &saved rbp) says whether a look is worth saving
 * the vector registers for; then call_entered, of the same arguments, decides: 0 go on to the original, 1 return `result` without it.
 */
        .text
        .globl  call_entry
        .hidden call_entry
        .type   call_entry, @function
call_entry:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        push    %rbp
        .cfi_def_cfa_offset 24
        .cfi_offset rbp, -24
        mov     %rsp, %rbp
        .cfi_def_cfa_register rbp
        push    %rbx
        .cfi_offset rbx, -32
        sub     $88, %rsp               /* struct call_registers, 80 bytes, at -88(%rbp) */
        mov     %rdi, -88(%rbp)
        mov     %rsi, -80(%rbp)
        mov     %rdx, -72(%rbp)
        mov     %rcx, -64(%rbp)
        mov     %r8, -56(%rbp)
        mov     %r9, -48(%rbp)
        mov     %rax, -40(%rbp)
        mov     %r10, -32(%rbp)         /* then original -24, result -16 */
        lea     -88(%rbp), %rdi
        mov     %rbp, %rsi
        mov     %rsp, %rbx
        and     $-16, %rsp
        call    call_is_idle            /* general registers only */
        mov     %rbx, %rsp
        test    %eax, %eax
        jnz     2f
        mov     arch_save_bytes(%rip), %rax
        sub     %rax, %rsp
        and     $-64, %rsp
        mov     %rsp, %rbx
        call    arch_save_vectors
        lea     -88(%rbp), %rdi
        mov     %rbp, %rsi
        call    call_entered
        mov     %eax, %esi
        call    arch_restore_vectors
        mov     %rbx, %rsp
        jmp     3f
2:      xor     %esi, %esi
3:      test    %esi, %esi
        mov     -88(%rbp), %rdi
        mov     -80(%rbp), %rsi
        mov     -72(%rbp), %rdx
        mov     -64(%rbp), %rcx
        mov     -56(%rbp), %r8
        mov     -48(%rbp), %r9
        mov     -32(%rbp), %r10
        mov     -24(%rbp), %r11
        mov     -8(%rbp), %rbx
        jnz     1f
        mov     -40(%rbp), %rax
        leave
        .cfi_remember_state
        .cfi_def_cfa rsp, 16
        lea     8(%rsp), %rsp
        .cfi_def_cfa_offset 8
        jmp     *%r11
        .cfi_restore_state
1:      mov     -16(%rbp), %rax
        leave
        .cfi_def_cfa rsp, 16
        lea     8(%rsp), %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   call_entry, . - call_entry
        .section .note.GNU-stack, "", @progbits
