/* A session. The bug: session_close trusts that its caller has just found the session open, so two
 * callers free the buffer twice. The fix: whoever takes the buffer out of the session frees it. */
#include "tiny.h"

#include <stdatomic.h>
#include <stdlib.h>

struct session {
    _Atomic(char *) buffer;
    atomic_bool open;
};

struct session *session_open(void) {
    struct session *s = malloc(sizeof *s);
    char *buffer = malloc(4096);
    if (!s || !buffer)
        abort();
    atomic_init(&s->buffer, buffer);
    atomic_init(&s->open, true);
    return s;
}

bool session_is_open(struct session *s) {
    return atomic_load(&s->open);
}

void session_close(struct session *s) {
#ifdef FIXED
    free(atomic_exchange(&s->buffer, NULL));
#else
    free(atomic_load(&s->buffer));
#endif
    atomic_store(&s->open, false);
}

void session_drop(struct session *s) {
    free(s);
}
