/* The table of descriptors; see descriptors.h. One entry a descriptor number; an entry is made new
 * by whoever sees first that its inode changed. Two threads that look at a new descriptor at once
 * may give it two numbers in turn: the later one stays. */
#include "descriptors.h"
#include "process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_DESCRIPTORS = 4096 };
static struct descriptor table[MAX_DESCRIPTORS];
static _Atomic uint32_t n_seen;  /* entries up to here were ever in use */
static _Atomic uint64_t numbers; /* connections of this process so far */

/* ---- what a descriptor is ---- */

static enum descriptor_type type_of_socket(int fd) {
    int value = 0;
    socklen_t size = sizeof value;
    if (!syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) && value)
        return DESCRIPTOR_LISTENER;
    size = sizeof value;
    if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &value, &size))
        return DESCRIPTOR_OTHER;
    return value == SOCK_STREAM || value == SOCK_SEQPACKET ? DESCRIPTOR_STREAM
                                                           : DESCRIPTOR_DATAGRAM;
}

/* Neither file nor socket: what its link says. */
static enum descriptor_type type_of_anonymous(int fd) {
    char link[40] = "/proc/self/fd/", text[40] = "", *end = link + strlen(link);
    for (int scale = 1000, begun = 0; scale; scale /= 10) {
        int digit = fd / scale % 10;
        begun |= digit || scale == 1;
        if (begun)
            *end++ = (char)('0' + digit);
    }
    *end = '\0';
    if (syscall(SYS_readlinkat, AT_FDCWD, link, text, sizeof text - 1) < 0)
        return DESCRIPTOR_OTHER;
    return strcmp(text, "anon_inode:[eventfd]") == 0     ? DESCRIPTOR_EVENTFD
           : strcmp(text, "anon_inode:[eventpoll]") == 0 ? DESCRIPTOR_EPOLL
                                                         : DESCRIPTOR_OTHER;
}

static enum descriptor_type type_of(int fd, const struct stat *st) {
    if (S_ISSOCK(st->st_mode))
        return type_of_socket(fd);
    if (S_ISFIFO(st->st_mode))
        return DESCRIPTOR_PIPE;
    return st->st_mode & S_IFMT ? DESCRIPTOR_OTHER : type_of_anonymous(fd);
}

/* ---- its names ---- */

static void append_text(char *to, size_t room, const char *text) {
    size_t length = strlen(to);
    board_copy_text(to + length, room - length, text);
}

static void internet_name(const struct sockaddr_storage *a, char *to, size_t room) {
    char host[INET6_ADDRSTRLEN] = "", port[8];
    const struct sockaddr_in *v4 = (const void *)a;
    const struct sockaddr_in6 *v6 = (const void *)a;
    bool is_v6 = a->ss_family == AF_INET6;
    unsigned number = ntohs(is_v6 ? v6->sin6_port : v4->sin_port), n = sizeof port - 1;
    inet_ntop(a->ss_family, is_v6 ? (const void *)&v6->sin6_addr : (const void *)&v4->sin_addr,
              host, sizeof host);
    for (port[n] = '\0'; n && (number || !port[n]); number /= 10)
        port[--n] = (char)('0' + number % 10);
    *to = '\0';
    append_text(to, room, is_v6 ? "[" : "");
    append_text(to, room, host);
    append_text(to, room, is_v6 ? "]:" : ":");
    append_text(to, room, port + n);
}

/* `call`: SYS_getsockname or SYS_getpeername. */
static void name_by(long call, int fd, struct descriptor *d) {
    struct sockaddr_storage a = {0};
    const struct sockaddr_un *u = (const void *)&a;
    socklen_t size = sizeof a;
    if (syscall(call, fd, &a, &size))
        return;
    if (a.ss_family == AF_UNIX && size > offsetof(struct sockaddr_un, sun_path)) {
        /* A name in the abstract namespace begins with a zero, as it is written with an @. */
        board_copy_text(d->path, sizeof d->path, u->sun_path);
        if (!*d->path) {
            d->path[0] = '@';
            board_copy_text(d->path + 1, sizeof d->path - 1, u->sun_path + 1);
        }
    } else if ((a.ss_family == AF_INET || a.ss_family == AF_INET6) && call == SYS_getpeername) {
        internet_name(&a, d->peer, sizeof d->peer);
    }
}

static void name(int fd, struct descriptor *d) {
    d->path[0] = d->peer[0] = '\0';
    name_by(SYS_getsockname, fd, d);
    name_by(SYS_getpeername, fd, d);
}

/* ---- the table ---- */

static bool identify(int fd, struct stat *st) {
    return !syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
}

static bool is_writer(int fd) {
    return (syscall(SYS_fcntl, fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
}

/* Another descriptor of the same connection, or NULL. The two ends of a pipe are one inode; all
 * eventfds are. */
static const struct descriptor *twin(int fd, const struct stat *st, enum descriptor_type type) {
    uint32_t n = atomic_load(&n_seen);
    for (uint32_t i = 0; i < n && type != DESCRIPTOR_EVENTFD && type != DESCRIPTOR_EPOLL; i++) {
        struct descriptor *d = &table[i];
        struct stat now;
        if ((int)i == fd || atomic_load(&d->type) != type || atomic_load(&d->inode) != st->st_ino ||
            atomic_load(&d->device) != st->st_dev)
            continue;
        bool same = identify((int)i, &now) && now.st_ino == st->st_ino &&
                    (type != DESCRIPTOR_PIPE || is_writer((int)i) == is_writer(fd));
        if (same)
            return d;
    }
    return NULL;
}

static void end_teardown(struct descriptor *d) {
    atomic_fetch_add(&d->teardown, 1);
    atomic_store(&d->in_teardown, 0);
}

static void look(int fd, struct descriptor *d, const struct stat *st) {
    enum descriptor_type type = type_of(fd, st);
    const struct descriptor *same = type > DESCRIPTOR_OTHER ? twin(fd, st, type) : NULL;
    uint32_t seen = atomic_load(&n_seen);
    while (seen <= (uint32_t)fd && !atomic_compare_exchange_weak(&n_seen, &seen, (uint32_t)fd + 1))
        ;
    atomic_store(&d->type, DESCRIPTOR_UNKNOWN);
    end_teardown(d);
    atomic_store(&d->device, st->st_dev);
    atomic_store(&d->inode, st->st_ino);
    atomic_store(&d->origin, same                      ? atomic_load(&same->origin)
                             : type == DESCRIPTOR_PIPE ? ORIGIN_PIPE
                                                       : ORIGIN_INHERITED);
    if (type > DESCRIPTOR_OTHER)
        atomic_store(&d->number,
                     same ? atomic_load(&same->number) : atomic_fetch_add(&numbers, 1) + 1);
    atomic_store(&d->received, same ? atomic_load(&same->received) : 0);
    atomic_store(&d->sent, same ? atomic_load(&same->sent) : 0);
    atomic_store(&d->severed, same ? atomic_load(&same->severed) : 0);
    if (type > DESCRIPTOR_OTHER)
        name(fd, d);
    atomic_store(&d->type, type);
}

struct descriptor *descriptor_at(int fd) {
    struct stat st;
    int saved = errno;
    if (fd < 0)
        return NULL;
    if (!identify(fd, &st)) {
        errno = saved;
        return NULL;
    }
    if (fd >= MAX_DESCRIPTORS) {
        if (type_of(fd, &st) > DESCRIPTOR_OTHER)
            process_table_full(TABLE_DESCRIPTORS);
        errno = saved;
        return NULL;
    }
    struct descriptor *d = &table[fd];
    if (atomic_load(&d->type) == DESCRIPTOR_UNKNOWN || atomic_load(&d->inode) != st.st_ino ||
        atomic_load(&d->device) != st.st_dev)
        look(fd, d, &st);
    errno = saved;
    return atomic_load(&d->type) > DESCRIPTOR_OTHER ? d : NULL;
}

void descriptor_born(int fd, enum descriptor_origin origin) {
    if (fd < 0 || fd >= MAX_DESCRIPTORS)
        return;
    atomic_store(&table[fd].type, DESCRIPTOR_UNKNOWN); /* also when an eventfd was there before */
    struct descriptor *d = descriptor_at(fd);
    if (d)
        atomic_store(&d->origin, origin);
}

void descriptor_renamed(int fd) {
    struct descriptor *d = descriptor_at(fd);
    int saved = errno;
    if (d)
        name(fd, d);
    errno = saved;
}

void descriptor_closes(struct descriptor *d) {
    end_teardown(d);
    atomic_store(&d->type, DESCRIPTOR_UNKNOWN);
}

void descriptor_sever(int fd, struct descriptor *d) {
    int saved = errno;
    atomic_store(&d->severed, 1);
    if (atomic_load(&d->type) == DESCRIPTOR_STREAM)
        syscall(SYS_shutdown, fd, SHUT_RDWR);
    errno = saved;
}

void descriptors_start(void) {
    uint32_t n = atomic_load(&n_seen);
    for (uint32_t i = 0; i < n; i++)
        atomic_store(&table[i].type, DESCRIPTOR_UNKNOWN);
    atomic_store(&numbers, 0);
}

/* ---- names for people and filters ---- */

const char *descriptor_type_name(const struct descriptor *d) {
    static const char *const text[] = {
        [DESCRIPTOR_UNKNOWN] = "",          [DESCRIPTOR_OTHER] = "",
        [DESCRIPTOR_STREAM] = "stream",     [DESCRIPTOR_DATAGRAM] = "datagram",
        [DESCRIPTOR_LISTENER] = "listener", [DESCRIPTOR_PIPE] = "pipe",
        [DESCRIPTOR_EVENTFD] = "eventfd",   [DESCRIPTOR_EPOLL] = "epoll"};
    return text[atomic_load(&d->type)];
}

const char *descriptor_origin_name(const struct descriptor *d) {
    static const char *const text[] = {
        [ORIGIN_INHERITED] = "inherited", [ORIGIN_OPENED] = "opened",
        [ORIGIN_CONNECTED] = "connected", [ORIGIN_ACCEPTED] = "accepted",
        [ORIGIN_PAIR] = "pair",           [ORIGIN_PIPE] = "pipe"};
    return text[atomic_load(&d->origin)];
}
