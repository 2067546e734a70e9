/* Patterns MODULE!FUNCTION of a plan (caller:, stack:, start:, dtor:) as ranges of addresses, found
 * when an object is loaded, from its .symtab or, when it is stripped, its .dynsym. Looking an
 * address up takes no lock. What each came to is counted on the board. */
#ifndef HOLDPOINT_CODE_RANGES_H
#define HOLDPOINT_CODE_RANGES_H
#include "objects.h"
/* Names every pattern that will be asked for, as it stands among the board's; before the first
 * object is told of. `text`: string of the board. */
void code_ranges_want(uint32_t text);
void code_ranges_object(const struct object *o);
/* Does the code at `address` match the pattern? False for patterns never wanted. */
bool code_ranges_match(uint32_t text, const void *address);
#endif
