/* Live tests of detectors. In the constructor, or in a fork child that was let in. */
#include "detectors.h"
#include "frames.h"
#include "heap_calls.h"
#include "lock_misuse.h"
#include "process.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

/* AddressSanitizer is alive when a block that was just freed is poisoned. */
static bool address_sanitizer_lives(void) {
    int (*is_poisoned)(const void *) =
        (int (*)(const void *))(uintptr_t)dlsym(RTLD_DEFAULT, "__asan_address_is_poisoned");
    if (!is_poisoned)
        return false;
    char *volatile block = malloc(64);
    if (!block || is_poisoned(block))
        return false;
    char *freed = block;
    free(block);
    return is_poisoned(freed) != 0;
}

/* ThreadSanitizer offers no question with an answer; that its runtime is loaded and intercepts is
 * what can be seen. */
static bool thread_sanitizer_lives(void) {
    return dlsym(RTLD_DEFAULT, "__tsan_init") && dlsym(RTLD_DEFAULT, "__tsan_acquire");
}

void detectors_start(void) {
    uint32_t wanted = process->board->detectors, live = 0;
    if (address_sanitizer_lives())
        live |= DETECT_ASAN;
    if (thread_sanitizer_lives())
        live |= DETECT_TSAN;
    if ((wanted & DETECT_FRAMES) && frames_self_test())
        live |= DETECT_FRAMES;
    if ((wanted & DETECT_LOCKS) && lock_misuse_self_test())
        live |= DETECT_LOCKS;
    if ((wanted & DETECT_DEADLOCK) && lock_table_self_test())
        live |= DETECT_DEADLOCK;
    if ((wanted & DETECT_HEAP) && heap_calls_self_test())
        live |= DETECT_HEAP;
    atomic_fetch_or(&process_slot()->live_detectors, live);
}
