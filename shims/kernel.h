/* The system calls that hooks make on a program's threads. Not by the C library's wrappers: those
 * are cancellation points, where the hooked call may be none. errno is kept. Signal-safe. */
#ifndef HOLDPOINT_KERNEL_H
#define HOLDPOINT_KERNEL_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* For reading. -1: it cannot be opened. */
static inline int kernel_open(const char *path) {
    int saved = errno;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    errno = saved;
    return fd;
}

static inline ssize_t kernel_read(int fd, void *to, size_t room) {
    int saved = errno;
    ssize_t n = syscall(SYS_read, fd, to, room);
    errno = saved;
    return n;
}

static inline void kernel_close(int fd) {
    int saved = errno;
    syscall(SYS_close, fd);
    errno = saved;
}

/* Sleeps for *left, or until a signal handler ran: then *left is what is left, and the answer is
 * false. */
static inline bool kernel_sleep(struct timespec *left) {
    int saved = errno;
    bool whole =
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, left, left) == 0 || errno != EINTR;
    errno = saved;
    return whole;
}

/* Copies what this process has at `from`: how many bytes of it are mapped and readable; -1: none.
 */
static inline ssize_t kernel_copy(void *to, const void *from, size_t bytes) {
    struct iovec into = {to, bytes}, out_of = {(void *)(uintptr_t)from, bytes};
    int saved = errno;
    ssize_t n = process_vm_readv(getpid(), &into, 1, &out_of, 1, 0);
    errno = saved;
    return n;
}

#endif
