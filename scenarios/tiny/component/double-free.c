/* Two threads close one session, one for an error, one for a timer. The bug is in session_close.
 * Left alone, the timer finds the session closed. */
#include "tiny.h"

#include <stddef.h>

static void *on_error(void *session) {
    if (session_is_open(session))
        session_close(session);
    return NULL;
}

static void *on_timer(void *session) {
    other_work(20);
    return on_error(session);
}

int main(void) {
    pthread_t error, timer;
    struct session *s = session_open();
    if (pthread_create(&error, NULL, on_error, s) || pthread_create(&timer, NULL, on_timer, s))
        return 2;
    pthread_join(error, NULL);
    pthread_join(timer, NULL);
    session_drop(s);
    say_done();
    return 0;
}
