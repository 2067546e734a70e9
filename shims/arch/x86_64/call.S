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
        sub     $88, %rsp               /* struct call_registers, 88 bytes, at -96(%rbp) */
        mov     %rdi, -96(%rbp)
        mov     %rsi, -88(%rbp)
        mov     %rdx, -80(%rbp)
        mov     %rcx, -72(%rbp)
        mov     %r8, -64(%rbp)
        mov     %r9, -56(%rbp)
        mov     %rax, -48(%rbp)
        mov     %r10, -40(%rbp)         /* then original -32, result -24, stack -16 */
        movq    $0, -16(%rbp)
        lea     -96(%rbp), %rdi
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
        lea     -96(%rbp), %rdi
        mov     %rbp, %rsi
        call    call_entered
        mov     %eax, %esi
        call    arch_restore_vectors
        mov     %rbx, %rsp
        jmp     3f
2:      xor     %esi, %esi
3:      test    %esi, %esi
        mov     -96(%rbp), %rdi
        mov     -88(%rbp), %rsi
        mov     -80(%rbp), %rdx
        mov     -72(%rbp), %rcx
        mov     -64(%rbp), %r8
        mov     -56(%rbp), %r9
        mov     -40(%rbp), %r10
        mov     -32(%rbp), %r11
        mov     -8(%rbp), %rbx
        jnz     1f
        mov     -48(%rbp), %rax
        cmpq    $0, -16(%rbp)
        jne     4f
        leave
        .cfi_remember_state
        .cfi_def_cfa rsp, 16
        lea     8(%rsp), %rsp
        .cfi_def_cfa_offset 8
        jmp     *%r11
        .cfi_restore_state
1:      .cfi_remember_state
        mov     -24(%rbp), %rax
        leave
        .cfi_def_cfa rsp, 16
        lea     8(%rsp), %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_restore_state
4:      mov     -16(%rbp), %r11
        leave
        .cfi_def_cfa rsp, 16
        lea     8(%rsp), %rsp
        .cfi_def_cfa_offset 8
        jmp     on_stack
        .cfi_endproc
        .size   call_entry, . - call_entry

/* Calls a function on another stack, which arch_prepare_stack made (arch.c): r11 is the end of that stack, below it
 * lie the address of the return slot, the function, and the arguments that were passed in memory. To an unwinder the
 * frame there is this one's, and this one's the caller's: CFA = *(rsp + 512 + 8) + 8.
 */
#define STACK_ARGUMENTS 512
        .p2align 4
        .type   on_stack, @function
on_stack:
        .cfi_startproc
        .cfi_def_cfa_offset 8
        lea     -STACK_ARGUMENTS-16(%r11), %rsp
        .cfi_escape 0x0f, 6, 0x77, 0x88, 0x04, 0x06, 0x23, 0x08
        call    *-16(%r11)
        mov     STACK_ARGUMENTS+8(%rsp), %rsp
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .size   on_stack, . - on_stack

/* arch_call_on_stack(argument, prepared) */
        .p2align 4
        .globl  arch_call_on_stack
        .hidden arch_call_on_stack
        .type   arch_call_on_stack, @function
arch_call_on_stack:
        .cfi_startproc
        .cfi_def_cfa_offset 8
        mov     %rsi, %r11
        mov     %rsp, -8(%r11)
        jmp     on_stack
        .cfi_endproc
        .size   arch_call_on_stack, . - arch_call_on_stack
        .section .note.GNU-stack, "", @progbits
