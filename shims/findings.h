/* Findings of the shim's own detectors, written to the board. Any thread, signal handlers too. */
#ifndef HOLDPOINT_FINDINGS_H
#define HOLDPOINT_FINDINGS_H
#include "board.h"
#include "finding_kind.h"
/* An entry with everything known of this thread filled in; NULL: the table is full (reported). */
struct board_finding *finding_begin(enum finding_kind kind);
void finding_stack(struct board_finding *f, enum stack_role role, const struct board_frame *frame,
                   uint32_t n);
/* Publishes it. */
void finding_end(struct board_finding *f);
#endif
