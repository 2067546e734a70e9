/* A reader thread uses an object that main gives up meanwhile. The bug: the reader has no reference
 * of its own. Left alone, the reader is through long before main has done its other work. */
#include "tiny.h"

#include <stdio.h>

static void *reader(void *object) {
    printf("read %d\n", object_value(object));
#ifdef FIXED
    object_put(object);
#endif
    return NULL;
}

int main(void) {
    pthread_t thread;
    struct object *o = object_new(42);
#ifdef FIXED
    object_get(o);
#endif
    if (pthread_create(&thread, NULL, reader, o))
        return 2;
    other_work(20);
    object_put(o);
    pthread_join(thread, NULL);
    say_done();
    return 0;
}
