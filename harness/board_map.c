/* See board_map.h. The handler may run at any access to a board; it calls mmap and sigaction alone.
 */
#include "board_map.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_BOARDS = 8 };
static struct {
    char *start;
    size_t bytes;
} mapping[MOST_BOARDS];
static size_t page_bytes;

static void fill_hole(int number, siginfo_t *info, void *context) {
    (void)context;
    char *at = info->si_addr;
    for (int i = 0; i < MOST_BOARDS; i++) {
        char *start = mapping[i].start;
        if (!start || at < start || at >= start + mapping[i].bytes)
            continue;
        char *end = start + mapping[i].bytes;
        char *page = start + ((size_t)(at - start) & ~(page_bytes - 1));
        if (mmap(page, (size_t)(end - page), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
            return;
    }
    /* Not ours: it comes again, and ends us. */
    sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
}

static bool remember(void *start, size_t bytes) {
    struct sigaction handler = {.sa_sigaction = fill_hole, .sa_flags = SA_SIGINFO};
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < MOST_BOARDS; i++) {
        if (mapping[i].start)
            continue;
        mapping[i].bytes = bytes;
        mapping[i].start = start;
        return !sigaction(SIGBUS, &handler, NULL);
    }
    errno = ENOMEM;
    return false;
}

void *board_map(int fd, size_t bytes) {
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    if (remember(mapped, bytes))
        return mapped;
    int problem = errno;
    munmap(mapped, bytes);
    errno = problem;
    return NULL;
}

bool board_own_head(void *mapped, size_t bytes) {
    size_t whole = bytes & ~(page_bytes - 1);
    void *own = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED)
        return false;
    memcpy(own, mapped, whole);
    if (mremap(own, whole, whole, MREMAP_MAYMOVE | MREMAP_FIXED, mapped) != MAP_FAILED)
        return true;
    munmap(own, whole);
    return false;
}

void board_unmap(void *mapped) {
    for (int i = 0; i < MOST_BOARDS; i++) {
        if (mapping[i].start != mapped)
            continue;
        munmap(mapped, mapping[i].bytes);
        mapping[i].start = NULL;
        return;
    }
}
