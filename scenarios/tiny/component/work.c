/* What the tiny programs do besides their race. Callable from any thread. */
#include "tiny.h"

#include <stdio.h>
#include <time.h>

void other_work(int ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

void say_done(void) {
    puts("holdpoint-workload: done");
    fflush(stdout);
}
