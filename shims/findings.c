/* Writing findings to the board. */
#include "findings.h"
#include "objects.h"
#include "process.h"
#include "steps.h"
#include "thread.h"

#include <string.h>

struct board_finding *finding_begin(enum finding_kind kind) {
    struct board *b = process->board;
    for (int i = 0; i < BOARD_MAX_FINDINGS; i++) {
        struct board_finding *f = &b->finding[i];
        uint32_t free_entry = 0;
        if (!atomic_compare_exchange_strong(&f->state, &free_entry, 1))
            continue;
        f->kind = (uint32_t)kind;
        f->node = b->node;
        f->rank = process->rank;
        f->pid = process->pid;
        f->tid = thread_id();
        f->ns = steps_now();
        f->steps_done = process->seq ? board_seq_next(atomic_load(&process->seq->state)) : 0;
        f->faults_fired = (uint32_t)atomic_load(&b->faults_fired);
        return f;
    }
    process_table_full(TABLE_FINDINGS);
    return NULL;
}

void finding_stack(struct board_finding *f, enum stack_role role, const struct board_frame *frame,
                   uint32_t n) {
    if (f->n_stacks == BOARD_MAX_STACKS)
        return;
    n = n < BOARD_MAX_FRAMES ? n : BOARD_MAX_FRAMES;
    f->stack[f->n_stacks].role = (uint32_t)role;
    f->stack[f->n_stacks].n = n;
    memcpy(f->stack[f->n_stacks].frame, frame, n * sizeof *frame);
    f->n_stacks++;
}

void finding_end(struct board_finding *f) {
    atomic_store(&f->state, 2);
}

void finding_addresses(struct board_finding *f, enum stack_role role, const uint64_t *pc,
                       uint32_t max) {
    if (f->n_stacks == BOARD_MAX_STACKS || !max || !pc[0])
        return;
    uint32_t n = 0;
    for (; n < max && n < BOARD_MAX_FRAMES && pc[n]; n++)
        f->stack[f->n_stacks].frame[n] = objects_frame((const void *)(uintptr_t)pc[n]);
    f->stack[f->n_stacks].role = (uint32_t)role;
    f->stack[f->n_stacks].n = n;
    f->n_stacks++;
}

void finding_say(struct board_finding *f, const char *text) {
    size_t n = strnlen(f->note, sizeof f->note - 1);
    board_copy_text(f->note + n, sizeof f->note - n, text);
}

void finding_say_number(struct board_finding *f, uint64_t number, unsigned base) {
    char digits[24], *at = digits + sizeof digits - 1;
    *at = '\0';
    do
        *--at = "0123456789abcdef"[number % base];
    while (number /= base);
    finding_say(f, at);
}

bool finding_is_new(const void *what, const uint64_t *pc) {
    static _Atomic uint64_t reported[64];
    uint64_t hash = (uint64_t)(uintptr_t)what;
    for (int i = 0; i < 3 && pc[i]; i++)
        hash = (hash ^ pc[i]) * 0x100000001b3u;
    for (size_t i = 0; i < sizeof reported / sizeof *reported; i++) {
        uint64_t nothing = 0;
        if (atomic_compare_exchange_strong(&reported[i], &nothing, hash))
            return true;
        if (nothing == hash)
            return false;
    }
    return true;
}
