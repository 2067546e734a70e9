/* Writing findings to the board. */
#include "findings.h"
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
