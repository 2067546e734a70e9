/* Facts about the calling thread. Any thread, signal handlers too; no allocation. */
#include "thread.h"
#include "kernel.h"
#include "process.h"
#include "thread_exit.h"

#include <string.h>

__thread struct thread thread_self;
__thread struct vfork_state vfork_state;

board_party thread_party(void) {
    struct thread *t = &thread_self;
    if (t->pid != process->pid) {
        memset(t->nth, 0, sizeof t->nth);
        t->tid = thread_id();
        t->pid = process->pid;
        t->ring = NULL;
        t->sleeping = 0;
        thread_exit_prepare();
    }
    return board_party_make(process->slot, process->incarnation, t->tid);
}

static bool hex(const char **p, uintptr_t *value) {
    const char *start = *p;
    *value = 0;
    for (;; (*p)++) {
        char c = **p;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                                : 16u;
        if (digit == 16u)
            return *p != start;
        *value = *value * 16 + digit;
    }
}

/* Looks `address` up in /proc/self/maps, read piece by piece into a small buffer. */
static bool find_mapping(uintptr_t address, uintptr_t *low, uintptr_t *high, bool *is_main) {
    int fd = kernel_open("/proc/self/maps");
    if (fd < 0)
        return false;
    char line[512];
    size_t have = 0;
    bool found = false;
    ssize_t got;
    while (!found && (got = kernel_read(fd, line + have, sizeof line - 1 - have)) > 0) {
        have += (size_t)got;
        line[have] = '\0';
        char *end;
        while (!found && (end = memchr(line, '\n', have))) {
            const char *p = line;
            *end = '\0';
            if (hex(&p, low) && *p++ == '-' && hex(&p, high) && *low <= address &&
                address < *high) {
                *is_main = strstr(p, "[stack]") != NULL;
                found = true;
            }
            have -= (size_t)(end + 1 - line);
            memmove(line, end + 1, have);
        }
        if (have == sizeof line - 1) /* a longer path: its head holds all that is needed */
            have = 100;
    }
    kernel_close(fd);
    return found;
}

void thread_stack(uintptr_t *low, uintptr_t *high) {
    struct thread *t = &thread_self;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (here < t->stack_low || here >= t->stack_high) {
        bool is_main = false;
        if (!find_mapping(here, &t->stack_low, &t->stack_high, &is_main)) {
            t->stack_low = here & ~(uintptr_t)0xfff;
            t->stack_high = t->stack_low + 0x1000;
        }
        if (is_main && t->stack_high > 64u << 20)
            t->stack_low = t->stack_high - (64u << 20);
    }
    *low = t->stack_low;
    *high = t->stack_high;
}
