/* Names of functions as plans mean them: the compiler's clones of a function (work.part.0,
 * work.constprop.1, work.cold) and its versions (work@@V1) are called what the function is.
 * Text only; runner and ranks. */
#ifndef HOLDPOINT_FUNCTION_NAME_H
#define HOLDPOINT_FUNCTION_NAME_H

#include <stddef.h>
#include <string.h>

/* How much of a symbol is the function's name: all of it where nothing was added. */
static inline size_t function_name_bytes(const char *symbol) {
    return *symbol ? 1 + strcspn(symbol + 1, ".@") : 0;
}

#endif
