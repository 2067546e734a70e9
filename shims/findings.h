/* Findings of the shim's own detectors, written to the board. Any thread, signal handlers too. */
#ifndef HOLDPOINT_FINDINGS_H
#define HOLDPOINT_FINDINGS_H
#include "board.h"
#include "finding_kind.h"
/* An entry with everything known of this thread filled in; NULL: the table is full (reported). */
struct board_finding *finding_begin(enum finding_kind kind);
void finding_stack(struct board_finding *f, enum stack_role role, const struct board_frame *frame,
                   uint32_t n);
/* The same of code addresses, up to the first 0 or `max`, at most BOARD_MAX_FRAMES. */
void finding_addresses(struct board_finding *f, enum stack_role role, const uint64_t *pc,
                       uint32_t max);
/* More of its note; needs less stack than snprintf. */
void finding_say(struct board_finding *f, const char *text);
void finding_say_number(struct board_finding *f, uint64_t number, unsigned base);
/* Publishes it. */
void finding_end(struct board_finding *f);
/* Was nothing of this kind and wording (an address that stands for it) found at this place before?
 * A loop must not fill the board. */
bool finding_is_new(const void *what, const uint64_t *pc);
#endif
