/* The detectors of the shim, and the live test of each: no verdict rests on a detector that was not
 * seen working in this very process (semantics.md, Verdicts 2). */
#ifndef HOLDPOINT_DETECTORS_H
#define HOLDPOINT_DETECTORS_H
/* Runs the live test of every detector that the plan asks for and records the result in the slot.
 */
void detectors_start(void);
#endif
