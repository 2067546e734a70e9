/* A thread waits for an event that main sets. The bug is in event_wait. Left alone, the waiter
 * sleeps long before main has done its other work. */
#include "tiny.h"

#include <stddef.h>

static void *waiter(void *event) {
    event_wait(event);
    return NULL;
}

int main(void) {
    static struct event e;
    pthread_t thread;
    event_init(&e);
    if (pthread_create(&thread, NULL, waiter, &e))
        return 2;
    other_work(20);
    event_set(&e);
    pthread_join(thread, NULL);
    say_done();
    return 0;
}
