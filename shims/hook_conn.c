/* Hooks conn.* (way 1): the calls that make, use and end connections, before the originals. On any
 * thread, in signal handlers, in vfork children and before our constructor. A call that no plan
 * names, or whose descriptor is no connection, goes straight on. */
#include "descriptors.h"
#include "engine.h"
#include "heap_guard.h"
#include "original.h"
#include "process.h"
#include "thread.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

/* X(function, flags, parameters, arguments): calls that move `n` bytes at `fd`. */
#define READING(X)                                                                                 \
    X(read, 0, (int fd, void *b, size_t n), (fd, b, n))                                            \
    X(recv, f, (int fd, void *b, size_t n, int f), (fd, b, n, f))                                  \
    X(recvfrom, f,                                                                                 \
      (int fd, void *restrict b, size_t n, int f, struct sockaddr *restrict a,                     \
       socklen_t *restrict l),                                                                     \
      (fd, b, n, f, a, l))                                                                         \
    X(__read_chk, 0, (int fd, void *b, size_t n, size_t room), (fd, b, n, room))                   \
    X(__recv_chk, f, (int fd, void *b, size_t n, size_t room, int f), (fd, b, n, room, f))         \
    X(__recvfrom_chk, f,                                                                           \
      (int fd, void *restrict b, size_t n, size_t room, int f, struct sockaddr *restrict a,        \
       socklen_t *restrict l),                                                                     \
      (fd, b, n, room, f, a, l))
#define WRITING(X)                                                                                 \
    X(write, 0, (int fd, const void *b, size_t n), (fd, b, n))                                     \
    X(send, f, (int fd, const void *b, size_t n, int f), (fd, b, n, f))                            \
    X(sendto, f, (int fd, const void *b, size_t n, int f, const struct sockaddr *a, socklen_t l),  \
      (fd, b, n, f, a, l))
/* X(function, parameters, arguments, connection that it waits for). */
#define POLLING(X)                                                                                 \
    X(poll, (struct pollfd * p, nfds_t n, int t), (p, n, t), first_polled(p, n))                   \
    X(ppoll, (struct pollfd * p, nfds_t n, const struct timespec *t, const sigset_t *s),           \
      (p, n, t, s), first_polled(p, n))                                                            \
    X(__poll_chk, (struct pollfd * p, nfds_t n, int t, size_t room), (p, n, t, room),              \
      first_polled(p, n))                                                                          \
    X(__ppoll_chk,                                                                                 \
      (struct pollfd * p, nfds_t n, const struct timespec *t, const sigset_t *s, size_t room),     \
      (p, n, t, s, room), first_polled(p, n))                                                      \
    X(select,                                                                                      \
      (int n, fd_set *restrict r, fd_set *restrict w, fd_set *restrict e,                          \
       struct timeval *restrict t),                                                                \
      (n, r, w, e, t), first_selected(n, r, w))                                                    \
    X(pselect,                                                                                     \
      (int n, fd_set *restrict r, fd_set *restrict w, fd_set *restrict e,                          \
       const struct timespec *restrict t, const sigset_t *restrict s),                             \
      (n, r, w, e, t, s), first_selected(n, r, w))                                                 \
    X(epoll_wait, (int fd, struct epoll_event *e, int n, int t), (fd, e, n, t), fd)                \
    X(epoll_pwait, (int fd, struct epoll_event *e, int n, int t, const sigset_t *s),               \
      (fd, e, n, t, s), fd)

#define DECLARE_MOVING(name, flags, parameters, arguments) ssize_t name parameters;
READING(DECLARE_MOVING)
#define MOVING_ORIGINAL(name, flags, parameters, arguments)                                        \
    static ssize_t(*name##_original) parameters;
READING(MOVING_ORIGINAL)
WRITING(MOVING_ORIGINAL)
#define DECLARE_POLLING(name, parameters, arguments, fd) int name parameters;
POLLING(DECLARE_POLLING)
#define POLLING_ORIGINAL(name, parameters, arguments, fd) static int(*name##_original) parameters;
POLLING(POLLING_ORIGINAL)
static ssize_t (*readv_original)(int, const struct iovec *, int);
static ssize_t (*writev_original)(int, const struct iovec *, int);
static ssize_t (*recvmsg_original)(int, struct msghdr *, int);
static ssize_t (*sendmsg_original)(int, const struct msghdr *, int);
static int (*socket_original)(int, int, int);
static int (*socketpair_original)(int, int, int, int[2]);
static int (*connect_original)(int, const struct sockaddr *, socklen_t);
static int (*accept_original)(int, struct sockaddr *restrict, socklen_t *restrict);
static int (*accept4_original)(int, struct sockaddr *restrict, socklen_t *restrict, int);
static int (*shutdown_original)(int, int);
static int (*close_original)(int);
static int (*dup2_original)(int, int);
static int (*dup3_original)(int, int, int);

/* All at once, by the constructor, or by the first call before it. */
static void find_originals(void) {
#define ONE(name)           {#name, (void **)&name##_original},
#define FIND_ONE(name, ...) ONE(name)
    struct {
        const char *name;
        void **original;
    } all[] = {READING(FIND_ONE) WRITING(FIND_ONE) POLLING(FIND_ONE) ONE(readv) ONE(writev)
                   ONE(recvmsg) ONE(sendmsg) ONE(socket) ONE(socketpair) ONE(connect) ONE(accept)
                       ONE(accept4) ONE(shutdown) ONE(close) ONE(dup2) ONE(dup3)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!__atomic_load_n(all[i].original, __ATOMIC_RELAXED))
            __atomic_store_n(all[i].original, original_find(all[i].name, NULL), __ATOMIC_RELEASE);
}

__attribute__((constructor)) static void constructor(void) {
    find_originals();
}

#define ORIGINAL_OF(name)                                                                          \
    (__builtin_expect(!name##_original, 0) ? (find_originals(), name##_original) : name##_original)

/* ---- one call at a connection ---- */

struct conn_call {
    struct arrival a;
    struct descriptor *d; /* NULL: nobody looks at this call */
    const char *call;
    const void *caller;
    uintptr_t sp;
    int fd;
    uint64_t bytes;
};
#define CALL_AT(name, descriptor, n)                                                               \
    {                                                                                              \
        .call = name, .fd = descriptor, .bytes = n, .caller = __builtin_return_address(0),         \
        .sp = (uintptr_t)__builtin_frame_address(0)                                                \
    }

static void add_text(struct arrival *a, enum attr_id id, const char *text) {
    if (*text)
        a->attr[a->n_attrs++] = (struct arrival_attr){.id = id, .text = text};
}

static void add_number(struct arrival *a, enum attr_id id, int64_t number) {
    a->attr[a->n_attrs++] = (struct arrival_attr){.id = id, .number = number};
}

static struct arrival arrival_at(const struct conn_call *c, uint16_t hook, enum side side) {
    struct arrival a = ARRIVAL(hook, (uint16_t)side);
    struct descriptor *d = c->d;
    bool writes = hook == engine_hook(HOOK_CONN_WRITE);
    a.caller = c->caller;
    a.sp = c->sp;
    a.object = atomic_load(&d->number);
    a.position = atomic_load(writes ? &d->sent : &d->received);
    a.length = c->bytes;
    add_text(&a, ATTR_CALLED, c->call);
    add_text(&a, ATTR_PATH, d->path);
    add_text(&a, ATTR_PEER, d->peer);
    add_text(&a, ATTR_ORIGIN, descriptor_origin_name(d));
    add_text(&a, ATTR_TYPE, descriptor_type_name(d));
    add_number(&a, ATTR_FD, c->fd);
    add_number(&a, ATTR_ORDER, (int64_t)atomic_load(&d->number));
    add_number(&a, ATTR_BYTES, (int64_t)c->bytes);
    return a;
}

/* True: the plan makes the call fail; the answer is c->a.result, and errno is set. */
static bool begins(struct conn_call *c, enum hook_id id) {
    uint16_t hook = engine_hook(id);
    if (hook == BOARD_NONE || !engine_takes_part() || !(c->d = descriptor_at(c->fd)))
        return false;
    c->a = arrival_at(c, hook, SIDE_ENTER);
    engine_arrive(&c->a);
    if (c->a.severs)
        descriptor_sever(c->fd, c->d);
    if (c->a.fails && c->a.error_number)
        errno = c->a.error_number;
    return c->a.fails;
}

static int64_t ends(struct conn_call *c, int64_t result) {
    if (!c->d || !engine_wants_return(c->a.hook) || !engine_takes_part())
        return result;
    struct arrival back = arrival_at(c, c->a.hook, SIDE_RETURN);
    engine_arrive(&back);
    if (!back.fails)
        return result;
    if (back.error_number)
        errno = back.error_number;
    return back.result;
}

/* ---- bytes ---- */

/* What a cut connection answers, and what a broken one does to its writer. */
static void break_pipe(int flags) {
    if (!(flags & MSG_NOSIGNAL))
        syscall(SYS_tgkill, getpid(), thread_id(), SIGPIPE);
}

/* True: the original is not called, and *result is the answer. Else *n is what may be moved. */
static bool moves(struct conn_call *c, enum hook_id id, int flags, size_t *n, ssize_t *result) {
    if (begins(c, id)) {
        *result = (ssize_t)c->a.result;
        if (id == HOOK_CONN_WRITE && *result < 0 && c->a.error_number == EPIPE)
            break_pipe(flags);
        return true;
    }
    if (!c->d)
        return false;
    if (atomic_load(&c->d->severed)) {
        *result = id == HOOK_CONN_WRITE ? -1 : 0;
        if (*result < 0) {
            break_pipe(flags);
            errno = EPIPE;
        }
        *result = (ssize_t)ends(c, *result);
        return true;
    }
    if (!(flags & MSG_PEEK) && c->a.limit < *n)
        *n = (size_t)c->a.limit;
    return false;
}

static ssize_t moved(struct conn_call *c, enum hook_id id, int flags, ssize_t result) {
    if (c->d && result > 0 && !(flags & MSG_PEEK)) {
        atomic_fetch_add(id == HOOK_CONN_WRITE ? &c->d->sent : &c->d->received, (uint64_t)result);
        engine_passed(&c->a, (uint64_t)result);
        if (c->a.severs)
            descriptor_sever(c->fd, c->d);
    }
    return (ssize_t)ends(c, result);
}

/* Detector `heap` hears of no fault that the kernel met: it is asked before, and after an EFAULT.
 */
#define GUARDED(result, opens, call)                                                               \
    do {                                                                                           \
        (void)(opens);                                                                             \
        (result) = (call);                                                                         \
    } while ((result) < 0 && errno == EFAULT && (opens))

#define DEFINE_MOVING(name, hook, flags, parameters, arguments)                                    \
    static ssize_t name##_guarded parameters {                                                     \
        ssize_t result;                                                                            \
        GUARDED(result, heap_guard_kernel(b, n, (hook) == HOOK_CONN_READ),                         \
                ORIGINAL_OF(name) arguments);                                                      \
        return result;                                                                             \
    }                                                                                              \
    EXPORTED ssize_t name parameters {                                                             \
        if (engine_hook(hook) == BOARD_NONE)                                                       \
            return name##_guarded arguments;                                                       \
        struct conn_call c = CALL_AT(#name, fd, n);                                                \
        ssize_t result;                                                                            \
        if (moves(&c, hook, flags, &n, &result))                                                   \
            return result;                                                                         \
        return moved(&c, hook, flags, name##_guarded arguments);                                   \
    }
#define DEFINE_READING(name, flags, parameters, arguments)                                         \
    DEFINE_MOVING(name, HOOK_CONN_READ, flags, parameters, arguments)
#define DEFINE_WRITING(name, flags, parameters, arguments)                                         \
    DEFINE_MOVING(name, HOOK_CONN_WRITE, flags, parameters, arguments)
READING(DEFINE_READING)
WRITING(DEFINE_WRITING)

/* The first pieces of a list, `most` bytes of them. A list that is longer than ours is cut there:
 * to move less than was asked for is any call's right. */
enum { MAX_PIECES = 64 };
struct pieces {
    struct iovec piece[MAX_PIECES];
    int n;
};

static uint64_t bytes_in(const struct iovec *v, int n) {
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += v[i].iov_len;
    return sum;
}

static void cut_pieces(struct pieces *to, const struct iovec *from, int n, size_t most) {
    to->n = 0;
    for (int i = 0; i < n && most && to->n < MAX_PIECES; i++) {
        struct iovec *v = &to->piece[to->n++];
        *v = from[i];
        if (v->iov_len > most)
            v->iov_len = most;
        most -= v->iov_len;
    }
}

static bool opens_pieces(const struct iovec *v, int n, bool store) {
    bool opened = false;
    for (int i = 0; heap_guard_high && i < n; i++)
        opened |= heap_guard_kernel(v[i].iov_base, v[i].iov_len, store);
    return opened;
}

#define DEFINE_MOVING_PIECES(name, hook)                                                           \
    static ssize_t name##_guarded(int fd, const struct iovec *v, int count) {                      \
        ssize_t result;                                                                            \
        GUARDED(result, opens_pieces(v, count, (hook) == HOOK_CONN_READ),                          \
                ORIGINAL_OF(name)(fd, v, count));                                                  \
        return result;                                                                             \
    }                                                                                              \
    EXPORTED ssize_t name(int fd, const struct iovec *v, int count) {                              \
        if (engine_hook(hook) == BOARD_NONE)                                                       \
            return name##_guarded(fd, v, count);                                                   \
        struct conn_call c = CALL_AT(#name, fd, bytes_in(v, count));                               \
        size_t n = c.bytes;                                                                        \
        ssize_t result;                                                                            \
        if (moves(&c, hook, 0, &n, &result))                                                       \
            return result;                                                                         \
        if (n == c.bytes)                                                                          \
            return moved(&c, hook, 0, name##_guarded(fd, v, count));                               \
        struct pieces cut;                                                                         \
        cut_pieces(&cut, v, count, n);                                                             \
        return moved(&c, hook, 0, name##_guarded(fd, cut.piece, cut.n));                           \
    }
DEFINE_MOVING_PIECES(readv, HOOK_CONN_READ)
DEFINE_MOVING_PIECES(writev, HOOK_CONN_WRITE)

static ssize_t recvmsg_guarded(int fd, struct msghdr *m, int flags) {
    ssize_t result;
    GUARDED(result, opens_pieces(m->msg_iov, (int)m->msg_iovlen, true),
            ORIGINAL_OF(recvmsg)(fd, m, flags));
    return result;
}

static ssize_t sendmsg_guarded(int fd, const struct msghdr *m, int flags) {
    ssize_t result;
    GUARDED(result, opens_pieces(m->msg_iov, (int)m->msg_iovlen, false),
            ORIGINAL_OF(sendmsg)(fd, m, flags));
    return result;
}

EXPORTED ssize_t recvmsg(int fd, struct msghdr *m, int flags) {
    if (engine_hook(HOOK_CONN_READ) == BOARD_NONE)
        return recvmsg_guarded(fd, m, flags);
    struct conn_call c = CALL_AT("recvmsg", fd, bytes_in(m->msg_iov, (int)m->msg_iovlen));
    size_t n = c.bytes;
    ssize_t result;
    if (moves(&c, HOOK_CONN_READ, flags, &n, &result)) {
        m->msg_controllen = 0;
        m->msg_flags = 0;
        return result;
    }
    if (n == c.bytes)
        return moved(&c, HOOK_CONN_READ, flags, recvmsg_guarded(fd, m, flags));
    struct iovec *all = m->msg_iov;
    size_t n_all = m->msg_iovlen;
    struct pieces cut;
    cut_pieces(&cut, all, (int)n_all, n);
    m->msg_iov = cut.piece; /* the rest of the header is the kernel's to fill */
    m->msg_iovlen = (size_t)cut.n;
    result = recvmsg_guarded(fd, m, flags);
    m->msg_iov = all;
    m->msg_iovlen = n_all;
    return moved(&c, HOOK_CONN_READ, flags, result);
}

EXPORTED ssize_t sendmsg(int fd, const struct msghdr *m, int flags) {
    if (engine_hook(HOOK_CONN_WRITE) == BOARD_NONE)
        return sendmsg_guarded(fd, m, flags);
    struct conn_call c = CALL_AT("sendmsg", fd, bytes_in(m->msg_iov, (int)m->msg_iovlen));
    size_t n = c.bytes;
    ssize_t result;
    if (moves(&c, HOOK_CONN_WRITE, flags, &n, &result))
        return result;
    if (n == c.bytes)
        return moved(&c, HOOK_CONN_WRITE, flags, sendmsg_guarded(fd, m, flags));
    struct msghdr shorter = *m;
    struct pieces cut;
    cut_pieces(&cut, m->msg_iov, (int)m->msg_iovlen, n);
    shorter.msg_iov = cut.piece;
    shorter.msg_iovlen = (size_t)cut.n;
    return moved(&c, HOOK_CONN_WRITE, flags, sendmsg_guarded(fd, &shorter, flags));
}

/* ---- waiting ---- */

/* The first of the descriptors that is a connection; -1: none. */
static int first_polled(const struct pollfd *p, nfds_t n) {
    for (nfds_t i = 0; i < n && engine_takes_part(); i++)
        if (descriptor_at(p[i].fd))
            return p[i].fd;
    return -1;
}

static int first_selected(int n, const fd_set *r, const fd_set *w) {
    for (int fd = 0; fd < n && engine_takes_part(); fd++)
        if (((r && FD_ISSET(fd, r)) || (w && FD_ISSET(fd, w))) && descriptor_at(fd))
            return fd;
    return -1;
}

#define DEFINE_POLLING(name, parameters, arguments, descriptor)                                    \
    EXPORTED int name parameters {                                                                 \
        if (engine_hook(HOOK_CONN_POLL) == BOARD_NONE)                                             \
            return ORIGINAL_OF(name) arguments;                                                    \
        struct conn_call c = CALL_AT(#name, descriptor, 0);                                        \
        if (begins(&c, HOOK_CONN_POLL))                                                            \
            return (int)c.a.result;                                                                \
        return (int)ends(&c, ORIGINAL_OF(name) arguments);                                         \
    }
POLLING(DEFINE_POLLING)

/* ---- coming into being ---- */

/* Does the plan name any of our hooks? They stand together in hooks.def. */
static bool any_named(void) {
    for (int id = HOOK_CONN_ACCEPT; id <= HOOK_CONN_WRITE; id++)
        if (engine_hook((enum hook_id)id) != BOARD_NONE)
            return engine_takes_part();
    return false;
}

/* A new socket is known only once it is there, so its enter side tells the call's name alone. */
static bool makes(struct conn_call *c) {
    uint16_t hook = engine_hook(HOOK_CONN_SOCKET);
    if (hook == BOARD_NONE || !engine_takes_part())
        return false;
    c->a = ARRIVAL(hook, SIDE_ENTER);
    c->a.caller = c->caller;
    c->a.sp = c->sp;
    add_text(&c->a, ATTR_CALLED, c->call);
    engine_arrive(&c->a);
    if (c->a.fails && c->a.error_number)
        errno = c->a.error_number;
    return c->a.fails;
}

static int made(struct conn_call *c, int fd, int result) {
    uint16_t hook = engine_hook(HOOK_CONN_SOCKET);
    if (result < 0 || hook == BOARD_NONE || !engine_wants_return(hook) || !engine_takes_part())
        return result;
    c->fd = fd;
    c->d = descriptor_at(fd);
    return c->d ? (int)ends(c, result) : result;
}

EXPORTED int socket(int domain, int type, int protocol) {
    if (!any_named())
        return ORIGINAL_OF(socket)(domain, type, protocol);
    struct conn_call c = CALL_AT("socket", -1, 0);
    if (makes(&c))
        return (int)c.a.result;
    int fd = ORIGINAL_OF(socket)(domain, type, protocol);
    descriptor_born(fd, ORIGIN_OPENED);
    return made(&c, fd, fd);
}

EXPORTED int socketpair(int domain, int type, int protocol, int fd[2]) {
    if (!any_named())
        return ORIGINAL_OF(socketpair)(domain, type, protocol, fd);
    struct conn_call c = CALL_AT("socketpair", -1, 0);
    if (makes(&c))
        return (int)c.a.result;
    int result = ORIGINAL_OF(socketpair)(domain, type, protocol, fd);
    if (result)
        return result;
    descriptor_born(fd[0], ORIGIN_PAIR);
    descriptor_born(fd[1], ORIGIN_PAIR);
    return made(&c, fd[0], result);
}

EXPORTED int connect(int fd, const struct sockaddr *address, socklen_t size) {
    if (!any_named())
        return ORIGINAL_OF(connect)(fd, address, size);
    struct conn_call c = CALL_AT("connect", fd, 0);
    if (begins(&c, HOOK_CONN_CONNECT))
        return (int)c.a.result;
    int result = ORIGINAL_OF(connect)(fd, address, size), saved = errno;
    struct descriptor *d = result == 0 || saved == EINPROGRESS ? descriptor_at(fd) : NULL;
    if (d) {
        atomic_store(&d->origin, ORIGIN_CONNECTED);
        descriptor_renamed(fd);
    }
    errno = saved;
    return (int)ends(&c, result);
}

#define DEFINE_ACCEPTING(name, parameters, arguments)                                              \
    EXPORTED int name parameters {                                                                 \
        if (!any_named())                                                                          \
            return ORIGINAL_OF(name) arguments;                                                    \
        struct conn_call c = CALL_AT(#name, fd, 0);                                                \
        if (begins(&c, HOOK_CONN_ACCEPT))                                                          \
            return (int)c.a.result;                                                                \
        int accepted = ORIGINAL_OF(name) arguments;                                                \
        descriptor_born(accepted, ORIGIN_ACCEPTED);                                                \
        return (int)ends(&c, accepted);                                                            \
    }
DEFINE_ACCEPTING(accept, (int fd, struct sockaddr *restrict a, socklen_t *restrict l), (fd, a, l))
DEFINE_ACCEPTING(accept4, (int fd, struct sockaddr *restrict a, socklen_t *restrict l, int flags),
                 (fd, a, l, flags))

/* ---- teardown ---- */

static void teardown(const struct conn_call *from, struct descriptor *d, struct descriptor *open,
                     enum side side) {
    uint16_t hook = engine_hook(HOOK_CONN_TEARDOWN);
    if (hook == BOARD_NONE || !engine_takes_part())
        return;
    struct conn_call c = *from;
    c.d = d;
    struct arrival a = arrival_at(&c, hook, side);
    a.extent = &open->teardown;
    a.generation = atomic_load(&open->teardown);
    engine_arrive(&a);
}

EXPORTED int shutdown(int fd, int how) {
    if (!any_named())
        return ORIGINAL_OF(shutdown)(fd, how);
    struct conn_call c = CALL_AT("shutdown", fd, 0);
    struct descriptor *d = descriptor_at(fd);
    if (d && !atomic_exchange(&d->in_teardown, 1))
        teardown(&c, d, d, SIDE_ENTER);
    if (begins(&c, HOOK_CONN_SHUTDOWN))
        return (int)c.a.result;
    return (int)ends(&c, ORIGINAL_OF(shutdown)(fd, how));
}

EXPORTED int close(int fd) {
    if (!any_named())
        return ORIGINAL_OF(close)(fd);
    struct conn_call c = CALL_AT("close", fd, 0);
    struct descriptor *d = descriptor_at(fd);
    if (!d)
        return ORIGINAL_OF(close)(fd);
    if (begins(&c, HOOK_CONN_CLOSE))
        return (int)c.a.result;
    struct descriptor was; /* somebody else may get the number before this call is over */
    memcpy(&was, d, sizeof was);
    bool ended = atomic_load(&d->in_teardown);
    descriptor_closes(d);
    int result = ORIGINAL_OF(close)(fd), saved = errno;
    if (c.d)
        c.d = &was;
    if (ended)
        teardown(&c, &was, d, SIDE_RETURN);
    errno = saved;
    return (int)ends(&c, result);
}

/* A descriptor that another takes the place of is closed, without an arrival. */
static void replaces(int fd) {
    struct descriptor *d = any_named() ? descriptor_at(fd) : NULL;
    if (d)
        descriptor_closes(d);
}

EXPORTED int dup2(int from, int to) {
    if (from != to)
        replaces(to);
    return ORIGINAL_OF(dup2)(from, to);
}

EXPORTED int dup3(int from, int to, int flags) {
    replaces(to);
    return ORIGINAL_OF(dup3)(from, to, flags);
}
