/* Settings that are loaded late. The bug: settings_get believes that they have been loaded. The
 * fix: it answers with the caller's own value until they are. */
#include "tiny.h"

#include <stdlib.h>

void settings_load(struct settings *s, int value) {
    int *values = malloc(sizeof *values);
    if (!values)
        abort();
    values[0] = value;
    __atomic_store_n(&s->values, values, __ATOMIC_RELEASE);
}

int settings_get(struct settings *s, int otherwise) {
    const int *values = __atomic_load_n(&s->values, __ATOMIC_ACQUIRE);
#ifdef FIXED
    if (!values)
        return otherwise;
#else
    (void)otherwise;
#endif
    return values[0];
}
