/* A thread asks for settings that main loads meanwhile. The bug is in settings_get. Left alone,
 * main has loaded them long before the thread has done its other work. */
#include "tiny.h"

#include <stdio.h>

static void *asker(void *settings) {
    other_work(20);
    printf("asked %d\n", settings_get(settings, 7));
    return NULL;
}

int main(void) {
    static struct settings s;
    pthread_t thread;
    if (pthread_create(&thread, NULL, asker, &s))
        return 2;
    settings_load(&s, 42);
    pthread_join(thread, NULL);
    say_done();
    return 0;
}
