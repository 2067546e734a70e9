/* Workload `client`: the component's initialisation, in every rank; rank 0 of it is the one that a
 * plan lets fail. A rank whose initialisation failed waits for a file that never comes, at most
 * STAY_SECONDS; a plan ends that when the fence's callback has run. Prints how it ended. */
#include "../component/client.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { STAY_SECONDS = 10 };

/* What libpmix itself never frees is not this component's. LeakSanitizer asks for it by this name.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libpmix\n";
}

/* From a function with locals of its own, so that the dead frames lie deeper than those that wait.
 */
static __attribute__((noinline)) int initialise(void) {
    char deep[4096];
    int failed = client_init();
    snprintf(deep, sizeof deep, "client_init returned %d", failed);
    fprintf(stderr, "%s\n", deep);
    return failed;
}

int main(void) {
    int failed = initialise();
    printf("holdpoint-workload: done init=%s code=%d\n", failed ? "fails" : "ok", failed);
    fflush(stdout);
    for (int i = 0; failed && i < STAY_SECONDS * 20 && access("/nonexistent/enough", F_OK); i++)
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    client_finalize();
    return 0;
}
