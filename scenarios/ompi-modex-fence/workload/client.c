/* Workload `client`: the component's initialisation, in every rank; rank 0 of it is the one that a
 * plan lets fail. With the argument `twice` all initialise a second time. Then as stay.h says: a
 * rank whose (first) initialisation failed stays a while, under a canary. */
#include "../component/client.h"
#include "stay.h"

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

int main(int argc, char **argv) {
    bool twice = argc > 1 && strcmp(argv[1], "twice") == 0;
    int failed = initialise();
    if (twice) {
        int again = initialise();
        printf("holdpoint-workload: done init=%s again=%s\n", failed ? "fails" : "ok",
               again ? "fails" : "ok");
    } else {
        stay(failed, "/nonexistent/enough");
    }
    client_finalize();
    return 0;
}
