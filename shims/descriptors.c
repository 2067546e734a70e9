/* The tables of descriptors and of the connections that they lead to; see descriptors.h. An entry
 * of the first is changed by compare-and-swap, one of the second lives while a descriptor leads to
 * it. */
#include "descriptors.h"
#include "engine.h"
#include "kernel.h"
#include "process.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { MAX_DESCRIPTORS = 4096, MAX_CONNECTIONS = 2048 };
static struct {
    _Atomic uint32_t leads_to; /* 1 + index of the connection, NO_CONNECTION, or 0: not known */
    _Atomic uint32_t teardown, in_teardown;
    _Atomic uint64_t device, inode;
} table[MAX_DESCRIPTORS];
static struct connection connection[MAX_CONNECTIONS];
#define NO_CONNECTION UINT32_MAX
#define BEING_FREED   UINT32_MAX /* of `users` */

static _Atomic uint32_t n_seen, n_connections; /* entries up to here were ever in use */
static _Atomic uint64_t numbers, orders;
uint32_t descriptors_wanted;

/* ---- what a descriptor is ---- */

enum { KEY_SOCKET = 1, KEY_READER, KEY_WRITER, KEY_EVENTFD, KEY_EPOLL };

/* What the kernel tells of a file that is neither on a disk nor a socket: its link, and of an
 * eventfd the number that all its duplicates have. */
static size_t read_about(const char *folder, int fd, bool link, char *text, size_t room) {
    char path[48];
    snprintf(path, sizeof path, "/proc/self/%s/%d", folder, fd);
    if (link) {
        ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, path, text, room - 1);
        text[n > 0 ? n : 0] = '\0';
        return strlen(text);
    }
    int file = kernel_open(path);
    ssize_t n = file < 0 ? 0 : kernel_read(file, text, room - 1);
    if (file >= 0)
        kernel_close(file);
    text[n > 0 ? n : 0] = '\0';
    return strlen(text);
}

static uint64_t key_of_eventfd(int fd) {
    char text[256];
    read_about("fdinfo", fd, false, text, sizeof text);
    const char *id = strstr(text, "eventfd-id:");
    uint64_t number = 0;
    for (id = id ? id + strcspn(id, "0123456789\n") : ""; *id >= '0' && *id <= '9'; id++)
        number = number * 10 + (uint64_t)(*id - '0');
    return (number ? number : ((uint64_t)fd + 1) << 40) << 3 | KEY_EVENTFD;
}

static uint64_t key_of_anonymous(int fd) {
    char text[40];
    read_about("fd", fd, true, text, sizeof text);
    return strcmp(text, "anon_inode:[eventfd]") == 0     ? key_of_eventfd(fd)
           : strcmp(text, "anon_inode:[eventpoll]") == 0 ? ((uint64_t)fd + 1) << 3 | KEY_EPOLL
                                                         : 0;
}

/* 0: it is no connection. The two ends of a pipe are one inode, and all eventfds are. */
static uint64_t key_of(int fd, const struct stat *st) {
    uint64_t inode = (uint64_t)st->st_ino << 3 ^ (uint64_t)st->st_dev << 48;
    if (S_ISSOCK(st->st_mode))
        return inode | KEY_SOCKET;
    if (!S_ISFIFO(st->st_mode))
        return st->st_mode & S_IFMT ? 0 : key_of_anonymous(fd);
    bool reads = (syscall(SYS_fcntl, fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
    return inode | (reads ? KEY_READER : KEY_WRITER);
}

static enum connection_type type_of_socket(int fd) {
    int value = 0;
    socklen_t size = sizeof value;
    if (!syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) && value)
        return CONNECTION_LISTENER;
    size = sizeof value;
    syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &value, &size);
    return value == SOCK_STREAM      ? CONNECTION_STREAM
           : value == SOCK_SEQPACKET ? CONNECTION_SEQPACKET
                                     : CONNECTION_DATAGRAM;
}

static enum connection_type type_of(int fd, uint64_t key) {
    switch (key & 7) {
    case KEY_SOCKET:
        return type_of_socket(fd);
    case KEY_EVENTFD:
        return CONNECTION_EVENTFD;
    case KEY_EPOLL:
        return CONNECTION_EPOLL;
    default:
        return CONNECTION_PIPE;
    }
}

/* ---- its names ---- */

static void internet_name(const struct sockaddr_storage *a, char *to, size_t room) {
    char host[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *v4 = (const void *)a;
    const struct sockaddr_in6 *v6 = (const void *)a;
    bool is_v6 = a->ss_family == AF_INET6;
    inet_ntop(a->ss_family, is_v6 ? (const void *)&v6->sin6_addr : (const void *)&v4->sin_addr,
              host, sizeof host);
    snprintf(to, room, is_v6 ? "[%s]:%u" : "%s:%u", host,
             ntohs(is_v6 ? v6->sin6_port : v4->sin_port));
}

/* A name in the abstract namespace begins with a zero, which is written as @. */
static void unix_name(const struct sockaddr_storage *a, socklen_t size, char *to, size_t room) {
    const struct sockaddr_un *u = (const void *)a;
    if (size <= offsetof(struct sockaddr_un, sun_path) || room < 2)
        return;
    bool hidden = !u->sun_path[0];
    to[0] = '@';
    board_copy_text(to + hidden, room - hidden, u->sun_path + hidden);
}

/* The program of the process at the other side, as its kernel names it. */
static void name_program(int fd, char *to, size_t room) {
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    char path[32];
    if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid <= 0)
        return;
    snprintf(path, sizeof path, "/proc/%d/comm", (int)peer.pid);
    int file = kernel_open(path);
    ssize_t n = file < 0 ? 0 : kernel_read(file, to, room - 1);
    if (file >= 0)
        kernel_close(file);
    to[n > 0 ? n : 0] = '\0';
    to[strcspn(to, "\n")] = '\0';
}

static void name_peer(struct connection *c, const struct sockaddr_storage *a, socklen_t size) {
    if (a->ss_family == AF_INET || a->ss_family == AF_INET6)
        internet_name(a, c->peer, sizeof c->peer);
    if (a->ss_family != AF_UNIX)
        return;
    char path[sizeof c->path] = "";
    unix_name(a, size, path, sizeof path);
    board_copy_text(c->peer, sizeof c->peer, path);
    if (!*c->path)
        board_copy_text(c->path, sizeof c->path, path);
}

static void name(int fd, struct connection *c) {
    struct sockaddr_storage own = {0}, peer = {0};
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    c->path[0] = c->peer[0] = '\0';
    if (!syscall(SYS_getsockname, fd, &own, &own_size) && own.ss_family == AF_UNIX)
        unix_name(&own, own_size, c->path, sizeof c->path);
    if (syscall(SYS_getpeername, fd, &peer, &peer_size))
        return;
    name_peer(c, &peer, peer_size);
    if (own.ss_family == AF_UNIX && !*c->peer)
        name_program(fd, c->peer, sizeof c->peer);
}

void connection_names(struct connection *c, const void *address, uint32_t size) {
    struct sockaddr_storage a = {0};
    memcpy(&a, address, size < sizeof a ? size : sizeof a);
    name_peer(c, &a, size);
}

/* ---- connections ---- */

void connection_drop(struct connection *c) {
    uint32_t users = atomic_load(&c->users);
    while (!atomic_compare_exchange_weak(&c->users, &users, users == 1 ? BEING_FREED : users - 1))
        ;
    if (users == 1) {
        atomic_store(&c->key, 0);
        atomic_store(&c->users, 0);
    }
}

/* One more descriptor leads to it; false: it is gone, or another by now. */
static bool take(struct connection *c, uint64_t key) {
    uint32_t users = atomic_load(&c->users);
    while (users && users != BEING_FREED)
        if (atomic_compare_exchange_weak(&c->users, &users, users + 1)) {
            if (atomic_load(&c->key) == key)
                return true;
            connection_drop(c);
            return false;
        }
    return false;
}

static struct connection *known(uint64_t key) {
    uint32_t n = atomic_load(&n_connections);
    for (uint32_t i = 0; i < n; i++)
        if (atomic_load(&connection[i].key) == key && take(&connection[i], key))
            return &connection[i];
    return NULL;
}

static void raise_to(_Atomic uint32_t *mark, uint32_t to) {
    uint32_t now = atomic_load(mark);
    while (now < to && !atomic_compare_exchange_weak(mark, &now, to))
        ;
}

static struct connection *add(int fd, uint64_t key) {
    for (uint32_t i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *c = &connection[i];
        uint32_t nobody = 0;
        if (atomic_load(&c->users) || !atomic_compare_exchange_strong(&c->users, &nobody, 1))
            continue;
        raise_to(&n_connections, i + 1);
        enum connection_type type = type_of(fd, key);
        atomic_store(&c->type, type);
        atomic_store(&c->origin, ORIGIN_INHERITED);
        atomic_store(&c->number, atomic_fetch_add(&numbers, 1) + 1);
        atomic_store(&c->order, type == CONNECTION_EPOLL ? 0 : atomic_fetch_add(&orders, 1) + 1);
        atomic_store(&c->received, 0);
        atomic_store(&c->sent, 0);
        atomic_store(&c->severed, 0);
        name(fd, c);
        atomic_store(&c->key, key);
        return c;
    }
    process_table_full(TABLE_DESCRIPTORS);
    return NULL;
}

/* One thread at a time adds, so that all find the same entry. Whoever is kept out for long has
 * interrupted the one that adds: then two entries for one connection are the lesser evil. */
static struct connection *known_or_added(int fd, uint64_t key) {
    static _Atomic uint32_t adding;
    struct connection *c = known(key);
    for (int tries = 0; !c && tries < 1000; tries++) {
        uint32_t nobody = 0;
        if (!atomic_compare_exchange_strong(&adding, &nobody, 1)) {
            syscall(SYS_sched_yield);
            continue;
        }
        c = known(key);
        c = c ? c : add(fd, key);
        atomic_store(&adding, 0);
        return c;
    }
    return c ? c : add(fd, key);
}

/* ---- descriptors ---- */

static struct connection *led_to(uint32_t value) {
    return value && value != NO_CONNECTION ? &connection[value - 1] : NULL;
}

static void drop_if(struct connection *c) {
    if (c)
        connection_drop(c);
}

static void end_teardown(int fd) {
    atomic_store(&table[fd].in_teardown, 0);
    atomic_fetch_add(&table[fd].teardown, 1);
}

static struct connection *look(int fd, const struct stat *st) {
    uint32_t was = atomic_load(&table[fd].leads_to);
    uint64_t key = key_of(fd, st);
    struct connection *c = key ? known_or_added(fd, key) : NULL;
    uint32_t is = c ? (uint32_t)(c - connection) + 1 : NO_CONNECTION;
    raise_to(&n_seen, (uint32_t)fd + 1);
    atomic_store(&table[fd].device, st->st_dev);
    atomic_store(&table[fd].inode, st->st_ino);
    if (!atomic_compare_exchange_strong(&table[fd].leads_to, &was, is)) {
        drop_if(c); /* somebody else looked too, or it was closed */
        return c;
    }
    if (was) /* closed unseen */
        end_teardown(fd);
    drop_if(led_to(was));
    return c;
}

static struct connection *find(int fd) {
    struct stat st;
    if (fd < 0 || syscall(SYS_fstat, fd, &st))
        return NULL;
    if (fd >= MAX_DESCRIPTORS) {
        if (key_of(fd, &st))
            process_table_full(TABLE_DESCRIPTORS);
        return NULL;
    }
    uint32_t value = atomic_load(&table[fd].leads_to);
    if (value && atomic_load(&table[fd].inode) == st.st_ino &&
        atomic_load(&table[fd].device) == st.st_dev)
        return led_to(value);
    return look(fd, &st);
}

struct connection *descriptor_at(int fd) {
    int saved = errno;
    struct connection *c = find(fd);
    errno = saved;
    return c;
}

struct connection *descriptor_born(int fd, enum connection_origin origin) {
    if (fd < 0)
        return NULL;
    descriptors_closed((uint32_t)fd, (uint32_t)fd); /* what was there before was closed unseen */
    struct connection *c = descriptor_at(fd);
    if (c)
        atomic_store(&c->origin, origin);
    return c;
}

void descriptor_renamed(int fd) {
    struct connection *c = descriptor_at(fd);
    int saved = errno;
    if (c && (atomic_load(&c->key) & 7) == KEY_SOCKET) {
        atomic_store(&c->type, type_of_socket(fd));
        name(fd, c);
    }
    errno = saved;
}

bool descriptor_shuts_down(int fd) {
    return !atomic_exchange(&table[fd].in_teardown, 1);
}

const _Atomic uint32_t *descriptor_extent(int fd) {
    return &table[fd].teardown;
}

struct connection *descriptor_closes(int fd, bool *in_teardown) {
    *in_teardown = false;
    if (fd < 0 || fd >= MAX_DESCRIPTORS)
        return NULL;
    uint32_t was = atomic_exchange(&table[fd].leads_to, 0);
    if (was) {
        *in_teardown = atomic_load(&table[fd].in_teardown);
        end_teardown(fd);
    }
    return led_to(was);
}

void descriptors_closed(uint32_t from, uint32_t to) {
    uint32_t end = atomic_load(&n_seen);
    bool ignored;
    for (uint32_t fd = from; fd < end && fd <= to; fd++)
        drop_if(descriptor_closes((int)fd, &ignored));
}

void connection_sever(int fd, struct connection *c, uint32_t direction) {
    int saved = errno;
    atomic_fetch_or(&c->severed, direction);
    uint32_t type = atomic_load(&c->type);
    if (type == CONNECTION_STREAM || type == CONNECTION_SEQPACKET)
        syscall(SYS_shutdown, fd, SHUT_RDWR);
    errno = saved;
}

void descriptors_start(void) {
    uint32_t n = atomic_load(&n_seen), wanted = 0;
    for (uint32_t i = 0; i < n; i++)
        atomic_store(&table[i].leads_to, 0);
    n = atomic_load(&n_connections);
    for (uint32_t i = 0; i < n; i++) {
        atomic_store(&connection[i].key, 0);
        atomic_store(&connection[i].users, 0);
    }
    atomic_store(&numbers, 0);
    atomic_store(&orders, 0);
    for (int id = HOOK_CONN_ACCEPT; id <= HOOK_CONN_WRITE; id++) /* together in hooks.def */
        wanted |= engine_hook((enum hook_id)id) != BOARD_NONE;
    __atomic_store_n(&descriptors_wanted, wanted, __ATOMIC_RELAXED);
}

/* ---- names for people and filters ---- */

const char *connection_type_name(const struct connection *c) {
    static const char *const text[] = {
        [CONNECTION_STREAM] = "stream",     [CONNECTION_SEQPACKET] = "seqpacket",
        [CONNECTION_DATAGRAM] = "datagram", [CONNECTION_LISTENER] = "listener",
        [CONNECTION_PIPE] = "pipe",         [CONNECTION_EVENTFD] = "eventfd",
        [CONNECTION_EPOLL] = "epoll"};
    return text[atomic_load(&c->type)];
}

const char *connection_origin_name(const struct connection *c) {
    static const char *const text[] = {
        [ORIGIN_INHERITED] = "inherited", [ORIGIN_OPENED] = "opened",
        [ORIGIN_CONNECTED] = "connected", [ORIGIN_ACCEPTED] = "accepted",
        [ORIGIN_PAIR] = "pair",           [ORIGIN_PIPE] = "pipe"};
    return text[atomic_load(&c->origin)];
}
