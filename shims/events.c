/* Event rings on the board. Any thread, signal handlers too. */
#include "events.h"
#include "process.h"
#include "steps.h"
#include "thread.h"

/* The last ring is for all threads that find no other free. */
static struct board_ring *shared_ring(struct board *b) {
    return &board_rings(b)[b->n_rings - 1];
}

static struct board_ring *take_ring(struct board *b, uint32_t tid) {
    struct board_ring *all = board_rings(b);
    for (uint32_t i = 0; i + 1 < b->n_rings; i++) {
        uint32_t nobody = 0;
        if (!atomic_load_explicit(&all[i].writer_tid, memory_order_relaxed) &&
            atomic_compare_exchange_strong(&all[i].writer_tid, &nobody, tid))
            return &all[i];
    }
    return NULL;
}

static struct board_event *begin_own(struct board_ring *ring, uint64_t *number) {
    *number = atomic_load_explicit(&ring->head, memory_order_relaxed) + 1;
    struct board_event *e = &ring->record[(*number - 1) % BOARD_RING_RECORDS];
    atomic_store_explicit(&e->number, 0, memory_order_relaxed);
    return e;
}

/* A record that is being written has a number whose place is the next one: readers and writers pass
 * it over. NULL: a slower writer still has this place. */
static struct board_event *begin_shared(struct board_ring *ring, uint64_t *number) {
    *number = atomic_fetch_add_explicit(&ring->head, 1, memory_order_relaxed) + 1;
    uint64_t place = (*number - 1) % BOARD_RING_RECORDS;
    struct board_event *e = &ring->record[place];
    uint64_t old = atomic_load(&e->number);
    bool busy = old && (old - 1) % BOARD_RING_RECORDS != place;
    return !busy && atomic_compare_exchange_strong(&e->number, &old, *number + 1) ? e : NULL;
}

void event_write(enum event_kind kind, uint16_t point, uint16_t step, uint16_t fault, uint64_t a,
                 uint64_t b) {
    struct thread *t = &thread_self;
    if (!process_armed())
        return;
    thread_party();
    if (!t->ring)
        t->ring = take_ring(process->board, t->tid);
    uint64_t number;
    struct board_event *e =
        t->ring ? begin_own(t->ring, &number) : begin_shared(shared_ring(process->board), &number);
    if (!e)
        return;
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
    atomic_store_explicit(&e->number, number, memory_order_release);
    if (t->ring)
        atomic_store_explicit(&t->ring->head, number, memory_order_release);
}

void event_thread_ends(void) {
    if (thread_self.ring)
        atomic_store(&thread_self.ring->writer_tid, 0);
    thread_self.ring = NULL;
}
