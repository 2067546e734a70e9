/* Does an arrival match a point of the plan? Filters only: arming, counting and claims are the
 * engine's. */
#ifndef HOLDPOINT_MATCH_H
#define HOLDPOINT_MATCH_H
#include "engine.h"
/* Everything but `nth`, roles and arming: hook, rank, caller, attributes, within. The side is not
 * looked at. */
bool match_filters(const struct board *b, uint16_t point, const struct arrival *a);
/* Is this thread inside an extent of the point? */
bool match_inside(uint16_t point, uintptr_t sp);
#endif
