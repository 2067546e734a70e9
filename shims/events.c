/* Event rings on the board. Any thread, signal handlers too. */
#include "events.h"
#include "process.h"
#include "steps.h"
#include "thread.h"

static struct board_ring *take_ring(struct board *b, uint32_t tid) {
    struct board_ring *all = board_rings(b);
    for (uint32_t i = 0; i < b->n_rings; i++) {
        uint32_t nobody = 0;
        if (!atomic_load_explicit(&all[i].writer_tid, memory_order_relaxed) &&
            atomic_compare_exchange_strong(&all[i].writer_tid, &nobody, tid))
            return &all[i];
    }
    return NULL;
}

void event_write(enum event_kind kind, uint16_t point, uint16_t step, uint16_t fault, uint64_t a,
                 uint64_t b) {
    struct thread *t = &thread_self;
    if (!process_armed())
        return;
    thread_party();
    if (!t->ring && !(t->ring = take_ring(process->board, t->tid))) {
        process_table_full(TABLE_RINGS);
        return;
    }
    uint64_t number = atomic_load_explicit(&t->ring->head, memory_order_relaxed);
    struct board_event *e = &t->ring->record[number % BOARD_RING_RECORDS];
    atomic_store_explicit(&e->number, 0, memory_order_relaxed);
    e->ns = steps_now();
    e->kind = (uint16_t)kind;
    e->point = point;
    e->step = step;
    e->fault = fault;
    e->node = process->board->node;
    e->rank = process->rank;
    e->pid = process->pid;
    e->tid = t->tid;
    e->value[0] = a;
    e->value[1] = b;
    atomic_store_explicit(&e->number, number + 1, memory_order_release);
    atomic_store_explicit(&t->ring->head, number + 1, memory_order_release);
}

void event_thread_ends(void) {
    if (thread_self.ring)
        atomic_store(&thread_self.ring->writer_tid, 0);
    thread_self.ring = NULL;
}
