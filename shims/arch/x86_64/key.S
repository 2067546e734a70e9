/* Destructors of pthread keys: the C library calls one with the value alone, so each key that has one gets an entry of its
 * own, which says which it is. 16 bytes an entry; see thread_exit.h. */
        .text
        .balign 16
        .globl  thread_key_entries
        .hidden thread_key_entries
        .type   thread_key_entries, @function
thread_key_entries:
        .cfi_startproc
        .set    key, 0
        .rept   1024
        .balign 16
        mov     $key, %esi
        jmp     thread_key_destroy
        .set    key, key + 1
        .endr
        .cfi_endproc
        .size   thread_key_entries, .-thread_key_entries
        .section .note.GNU-stack, "", @progbits
