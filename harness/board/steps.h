/* The rules of steps on the board (semantics.md, Steps): who may claim, when a step is done, how a
 * sequence ends. Used by the shim in the ranks and by the runner; every function is lock-free and
 * async-signal-safe, and a party that is killed in any of them leaves the board usable.
 */
#ifndef HOLDPOINT_STEPS_H
#define HOLDPOINT_STEPS_H

#include "board.h"

/* The sequence that this rank plays in, or NULL when its rank has none. */
struct board_seq *steps_sequence(const struct board *b, int32_t rank);

/* Is a point armed, or may it still become so, while `next` is the next step of its sequence? */
static inline bool steps_needed_at(const struct board_point *p, uint32_t next) {
    return p->in_fault || !p->in_steps || next <= (uint32_t)p->disarm_after;
}
/* Is a point armed while `next` is the next step of its sequence? */
static inline bool steps_armed_at(const struct board_point *p, uint32_t next) {
    if (p->arm_after >= 0 && next <= (uint32_t)p->arm_after)
        return false;
    return steps_needed_at(p, next);
}
bool steps_armed(const struct board *b, const struct board_seq *s, uint16_t point);

/* The claim of a gate that can be taken now (may be taken already), or BOARD_NONE. */
uint16_t steps_open_claim(const struct board *b, const struct board_seq *s, uint16_t point);

/* Takes the claim if it is free. True: `party` owns it now and must stand there until
 * steps_released() says so. */
bool steps_claim(struct board_seq *s, uint16_t claim, board_party party, uint32_t arrival,
                 uint64_t now);

/* The owner stands at the point: moves the sequence as far as it goes. */
void steps_stand(const struct board *b, struct board_seq *s, uint16_t claim, uint64_t now);

/* An arrival at a mark. Returns the step that it completed, BOARD_NONE when it was early. */
uint16_t steps_mark(const struct board *b, struct board_seq *s, uint16_t point, board_party party,
                    uint32_t arrival, uint64_t now);

/* True when the claim's pass is done or the sequence has ended: the claimant may go on. */
bool steps_released(const struct board *b, const struct board_seq *s, uint16_t claim);

/* Ends a running sequence; `detail` is one sentence. False: it had ended, or had been completed. */
bool steps_end(const struct board *b, struct board_seq *s, enum seq_end why, const char *detail,
               uint64_t now);

bool steps_complete(const struct board *b, const struct board_seq *s);

/* Wakes everybody who waits for something of this sequence. */
void steps_wake(struct board_seq *s);

/* Sleeps until `epoch` changed, at most `ns`; may return early. */
void steps_wait(struct board_seq *s, uint32_t epoch, uint64_t ns);

uint64_t steps_now(void);

#endif
