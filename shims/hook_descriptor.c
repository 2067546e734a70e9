/* What the table of descriptors must be told of calls that are no hook (way 1): those that make
 * pipes and eventfds, name sockets, duplicate descriptors, and close many at once. They do as they
 * always do; that a plan names a hook about connections is all that is asked first. On any thread,
 * in signal handlers, and in vfork children, which leave the table alone. */
#include "descriptors.h"
#include "engine.h"
#include "original.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

/* Newer than the oldest C library that we build with. */
int close_range(unsigned, unsigned, int);
void closefrom(int);

static int (*bind_original)(int, const struct sockaddr *, socklen_t);
static int (*listen_original)(int, int);
static int (*pipe_original)(int[2]);
static int (*pipe2_original)(int[2], int);
static int (*eventfd_original)(unsigned, int);
static int (*dup_original)(int);
static int (*dup2_original)(int, int);
static int (*dup3_original)(int, int, int);
static int (*fcntl_original)(int, int, ...);
static int (*fcntl64_original)(int, int, ...);
static int (*close_range_original)(unsigned, unsigned, int);
static void (*closefrom_original)(int);

/* All at once, by the constructor, or by the first call before it. */
static void find_originals(void) {
#define ONE(name) ORIGINAL_ENTRY(name, NULL)
    struct original all[] = {ONE(bind),    ONE(listen),  ONE(pipe),        ONE(pipe2),
                             ONE(eventfd), ONE(dup),     ONE(dup2),        ONE(dup3),
                             ONE(fcntl),   ONE(fcntl64), ONE(close_range), ONE(closefrom)};
    original_find_all(all, sizeof all / sizeof *all);
}

__attribute__((constructor)) static void constructor(void) {
    find_originals();
}

static bool watched(void) {
    return descriptors_watched() && engine_takes_part();
}

/* ---- made and named ---- */

EXPORTED int pipe(int fd[2]) {
    int result = ORIGINAL_OF(pipe)(fd);
    if (!result && watched()) {
        descriptor_born(fd[0], ORIGIN_PIPE);
        descriptor_born(fd[1], ORIGIN_PIPE);
    }
    return result;
}

EXPORTED int pipe2(int fd[2], int flags) {
    int result = ORIGINAL_OF(pipe2)(fd, flags);
    if (!result && watched()) {
        descriptor_born(fd[0], ORIGIN_PIPE);
        descriptor_born(fd[1], ORIGIN_PIPE);
    }
    return result;
}

EXPORTED int eventfd(unsigned value, int flags) {
    int fd = ORIGINAL_OF(eventfd)(value, flags);
    if (watched())
        descriptor_born(fd, ORIGIN_OPENED);
    return fd;
}

EXPORTED int bind(int fd, const struct sockaddr *address, socklen_t size) {
    int result = ORIGINAL_OF(bind)(fd, address, size);
    if (!result && watched())
        descriptor_renamed(fd);
    return result;
}

EXPORTED int listen(int fd, int backlog) {
    int result = ORIGINAL_OF(listen)(fd, backlog);
    if (!result && watched())
        descriptor_renamed(fd);
    return result;
}

/* ---- duplicated: the connection must be known to live on under the new number ---- */

static int duplicated(int fd) {
    if (fd >= 0 && watched()) {
        descriptors_closed((uint32_t)fd, (uint32_t)fd);
        descriptor_at(fd);
    }
    return fd;
}

/* Known before, so that its duplicate is found to be the same. */
static void duplicates(int fd) {
    if (watched())
        descriptor_at(fd);
}

EXPORTED int dup(int fd) {
    duplicates(fd);
    return duplicated(ORIGINAL_OF(dup)(fd));
}

EXPORTED int dup2(int from, int to) {
    duplicates(from);
    int fd = ORIGINAL_OF(dup2)(from, to);
    return from == to ? fd : duplicated(fd);
}

EXPORTED int dup3(int from, int to, int flags) {
    duplicates(from);
    return duplicated(ORIGINAL_OF(dup3)(from, to, flags));
}

/* Every command takes one argument of a word, or none. */
#define DEFINE_FCNTL(name)                                                                         \
    EXPORTED int name(int fd, int command, ...) {                                                  \
        va_list rest;                                                                              \
        va_start(rest, command);                                                                   \
        void *argument = va_arg(rest, void *);                                                     \
        va_end(rest);                                                                              \
        if (command != F_DUPFD && command != F_DUPFD_CLOEXEC)                                      \
            return ORIGINAL_OF(name)(fd, command, argument);                                       \
        duplicates(fd);                                                                            \
        return duplicated(ORIGINAL_OF(name)(fd, command, argument));                               \
    }
DEFINE_FCNTL(fcntl)
DEFINE_FCNTL(fcntl64)

/* ---- closed, many at once: without an arrival ---- */

/* Told before the call: afterwards a number may be another thread's new connection. */
static void will_close(unsigned from, unsigned to) {
    if (watched())
        descriptors_closed(from, to);
}

EXPORTED int close_range(unsigned from, unsigned to, int flags) {
    if (!ORIGINAL_OF(close_range)) {
        errno = ENOSYS;
        return -1;
    }
    if (from <= to && !(flags & ~CLOSE_RANGE_UNSHARE)) /* all else closes none */
        will_close(from, to);
    return close_range_original(from, to, flags);
}

EXPORTED void closefrom(int from) {
    will_close(from < 0 ? 0 : (unsigned)from, UINT32_MAX);
    if (ORIGINAL_OF(closefrom))
        closefrom_original(from);
}
