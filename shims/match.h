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
/* Is the attribute (enum attr_id) one that is matched by MODULE!FUNCTION? */
bool match_is_code(uint16_t attribute);
/* What the last arrival at a point was about, for `object_of`; match_start forgets all of them. */
void match_start(void);
void match_saw_object(uint16_t point, uint64_t object);
#endif
