/* What /proc tells of another thread of this process. */
#include "peer_thread.h"
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_file(uint32_t tid, const char *name, char *text, size_t room) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%u/%s", tid, name);
    int fd = kernel_open(path);
    if (fd < 0)
        return false;
    ssize_t n = kernel_read(fd, text, room - 1);
    kernel_close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static uint64_t field(const char *text, const char *name) {
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static bool switches_of(uint32_t tid, uint64_t *switches) {
    char text[4096];
    if (!read_file(tid, "status", text, sizeof text))
        return false;
    *switches =
        field(text, "\nvoluntary_ctxt_switches:") + field(text, "\nnonvoluntary_ctxt_switches:");
    return true;
}

bool peer_thread_asleep(uint32_t tid, uintptr_t *sp, uint64_t *switches) {
    char text[256];
    uint64_t after;
    /* "NUMBER ARG0 … ARG5 SP PC" while in a system call, "running" otherwise, "-1 SP PC" when
     * blocked elsewhere */
    if (!switches_of(tid, switches) || !read_file(tid, "syscall", text, sizeof text) ||
        text[0] < '0' || text[0] > '9')
        return false;
    char *last = strrchr(text, ' ');
    if (!last)
        return false;
    *last = '\0';
    char *before = strrchr(text, ' ');
    if (!before)
        return false;
    *sp = strtoull(before + 1, NULL, 16);
    return switches_of(tid, &after) && after == *switches;
}
