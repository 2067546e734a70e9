/* The queue of quarantine.h. A turn whose writer is late is passed over by who would take it; the
 * writer then takes another. */
#include "quarantine.h"

enum { PLACE_BITS = 20 };
static const uint64_t passed_over = QUARANTINE_MOST; /* in the stead of a place */

void quarantine_put(struct quarantine *q, uint32_t place) {
    for (;;) {
        uint64_t turn = atomic_fetch_add(&q->in, 1);
        _Atomic uint64_t *entry = &q->entry[turn % q->n];
        uint64_t old = atomic_load(entry);
        while (old >> PLACE_BITS < turn)
            if (atomic_compare_exchange_strong(entry, &old, turn << PLACE_BITS | place))
                return;
    }
}

bool quarantine_take(struct quarantine *q, uint32_t *place) {
    uint64_t turn = atomic_load(&q->out);
    for (;;) {
        _Atomic uint64_t *entry = &q->entry[turn % q->n];
        uint64_t found = atomic_load(entry);
        if (turn == atomic_load(&q->in))
            return false;
        if (found >> PLACE_BITS < turn &&
            !atomic_compare_exchange_strong(entry, &found, turn << PLACE_BITS | passed_over))
            continue;
        uint64_t what = found >> PLACE_BITS < turn ? passed_over : found & passed_over;
        if (!atomic_compare_exchange_strong(&q->out, &turn, turn + 1))
            continue; /* another took this turn; `turn` is the next now */
        if (what != passed_over) {
            *place = (uint32_t)what;
            return true;
        }
        turn++;
    }
}

void quarantine_empty(struct quarantine *q) {
    atomic_store(&q->out, atomic_load(&q->in));
}
