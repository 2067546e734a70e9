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
#include <limits.h>
#include <poll.h>
#include <pthread.h>
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

/* All at once, by the constructor, or by the first call before it. */
static void find_originals(void) {
#define ONE(name, ...) ORIGINAL_ENTRY(name, NULL),
    struct original all[] = {READING(ONE) WRITING(ONE) POLLING(ONE) ONE(readv) ONE(writev)
                                 ONE(recvmsg) ONE(sendmsg) ONE(socket) ONE(socketpair) ONE(connect)
                                     ONE(accept) ONE(accept4) ONE(shutdown) ONE(close)};
    original_find_all(all, sizeof all / sizeof *all);
}

__attribute__((constructor)) static void constructor(void) {
    find_originals();
}

/* ---- one call at a connection ---- */

struct conn_call {
    struct arrival a;
    struct connection *at;   /* NULL: nobody looks at this call */
    uint64_t number;         /* of it: a later one may have the same place */
    struct connection *gone; /* close: what the descriptor led to, ours to drop */
    const char *call;
    const void *caller;
    uintptr_t sp;
    int fd, flags;
    uint64_t bytes;
};
#define CALL_AT(name, descriptor, n, how)                                                          \
    {                                                                                              \
        .call = name, .fd = descriptor, .bytes = n, .flags = how,                                  \
        .caller = __builtin_return_address(0), .sp = (uintptr_t)__builtin_frame_address(0)         \
    }

/* Do we look at calls other than those of one hook, such as those that make connections? */
static bool watched(void) {
    return descriptors_watched() && engine_takes_part();
}

static void add_text(struct arrival *a, enum attr_id id, const char *text) {
    if (*text)
        a->attr[a->n_attrs++] = (struct arrival_attr){.id = id, .text = text};
}

static void add_number(struct arrival *a, enum attr_id id, int64_t number) {
    a->attr[a->n_attrs++] = (struct arrival_attr){.id = id, .number = number};
}

static uint32_t direction_of(uint16_t hook) {
    return hook == engine_hook(HOOK_CONN_READ)    ? SEVERED_READS
           : hook == engine_hook(HOOK_CONN_WRITE) ? SEVERED_WRITES
                                                  : 0;
}

/* A message arrives whole: what a shorter call leaves of it would be lost. */
static bool has_messages(const struct connection *at) {
    uint32_t type = atomic_load(&at->type);
    return type == CONNECTION_DATAGRAM || type == CONNECTION_SEQPACKET;
}

/* Bytes that a fault can keep back or cut at: none of what counts events, nor behind a cut; of
 * messages it can cut only between two. */
static void place_in_stream(const struct conn_call *c, struct arrival *a) {
    uint32_t direction = direction_of(a->hook), type = atomic_load(&c->at->type);
    bool messages = has_messages(c->at);
    bool flows = messages || type == CONNECTION_STREAM || type == CONNECTION_PIPE;
    bool goes_on = flows && !(atomic_load(&c->at->severed) & direction);
    a->position = !goes_on                     ? UINT64_MAX
                  : direction == SEVERED_READS ? atomic_load(&c->at->received)
                                               : atomic_load(&c->at->sent);
    a->length = goes_on && !messages && !(c->flags & MSG_PEEK) ? c->bytes : 0;
}

static struct arrival arrival_at(const struct conn_call *c, uint16_t hook, enum side side) {
    struct arrival a = ARRIVAL(hook, (uint16_t)side);
    a.caller = c->caller;
    a.sp = c->sp;
    a.object = atomic_load(&c->at->number);
    place_in_stream(c, &a);
    add_text(&a, ATTR_CALLED, c->call);
    add_text(&a, ATTR_PATH, c->at->path);
    add_text(&a, ATTR_PEER, c->at->peer);
    add_text(&a, ATTR_ORIGIN, connection_origin_name(c->at));
    add_text(&a, ATTR_TYPE, connection_type_name(c->at));
    add_number(&a, ATTR_FD, c->fd);
    add_number(&a, ATTR_ORDER, (int64_t)atomic_load(&c->at->order));
    add_number(&a, ATTR_BYTES, (int64_t)c->bytes);
    return a;
}

/* What the kernel does to who writes where nobody reads. */
static void broken_pipe(const struct conn_call *c) {
    uint32_t type = atomic_load(&c->at->type);
    if (!(c->flags & MSG_NOSIGNAL) && (type == CONNECTION_STREAM || type == CONNECTION_PIPE))
        syscall(SYS_tgkill, getpid(), thread_id(), SIGPIPE);
    errno = EPIPE;
}

static void answer_error(const struct conn_call *c, const struct arrival *a) {
    if (a->error_number == EPIPE && c->at && a->hook == engine_hook(HOOK_CONN_WRITE))
        broken_pipe(c);
    else if (a->error_number)
        errno = a->error_number;
}

/* True: the plan makes the call fail; the answer is c->a.result, and errno is set. */
static bool begins(struct conn_call *c, enum hook_id id) {
    uint16_t hook = engine_hook(id);
    if (hook == BOARD_NONE || !engine_takes_part() || !(c->at = descriptor_at(c->fd)))
        return false;
    if (atomic_load(&c->at->type) == CONNECTION_EPOLL && id != HOOK_CONN_POLL) {
        c->at = NULL;
        return false;
    }
    c->number = atomic_load(&c->at->number);
    c->a = arrival_at(c, hook, SIDE_ENTER);
    engine_arrive(&c->a);
    if (c->a.severs)
        connection_sever(c->fd, c->at, direction_of(hook));
    if (c->a.fails)
        answer_error(c, &c->a);
    return c->a.fails;
}

static int64_t ends(struct conn_call *c, int64_t result) {
    if (!c->at || !engine_wants_return(c->a.hook) || !engine_takes_part())
        return result;
    struct arrival back = arrival_at(c, c->a.hook, SIDE_RETURN);
    engine_arrive(&back);
    if (!back.fails)
        return result;
    answer_error(c, &back);
    return back.result;
}

/* The thread is cancelled in the call, which it does not come back from. */
static void cancelled(void *call) {
    struct conn_call *c = call;
    if (c->at)
        engine_left(&c->a);
    if (c->gone)
        connection_drop(c->gone);
}

/* Not where an argument was changed before: a cancellation comes back to where it was kept ready.
 */
#define APART __attribute__((noinline))

/* The call itself, which stays the cancellation point that it is. Nothing is kept ready for what
 * nobody looks at: a vfork child runs on its parent's list of such things. */
#define CARRY_OUT(c, result, original)                                                             \
    do {                                                                                           \
        if (!(c).at && !(c).gone) {                                                                \
            (result) = original;                                                                   \
        } else {                                                                                   \
            pthread_cleanup_push(cancelled, &(c));                                                 \
            (result) = original;                                                                   \
            pthread_cleanup_pop(0);                                                                \
        }                                                                                          \
    } while (0)

/* ---- bytes ---- */

/* True: the original is not called, and *result is the answer. Else *n is what may be moved. */
static bool moves(struct conn_call *c, enum hook_id id, size_t *n, ssize_t *result) {
    if (begins(c, id)) {
        *result = (ssize_t)c->a.result;
        return true;
    }
    if (!c->at)
        return false;
    if (atomic_load(&c->at->severed) & direction_of(c->a.hook)) {
        *result = id == HOOK_CONN_WRITE ? -1 : 0;
        if (*result < 0)
            broken_pipe(c);
        *result = (ssize_t)ends(c, *result);
        return true;
    }
    if (c->a.limit < *n && !has_messages(c->at))
        *n = (size_t)c->a.limit;
    return false;
}

/* `n`: what might be moved. A call that only looks at what there is moves nothing. */
static ssize_t moved(struct conn_call *c, size_t n, ssize_t result) {
    if (c->at && !(c->flags & MSG_PEEK)) {
        uint64_t most = result > 0 ? (uint64_t)result : 0, bytes = most < n ? most : n;
        uint32_t direction = direction_of(c->a.hook);
        if (atomic_load(&c->at->number) == c->number)
            atomic_fetch_add(direction == SEVERED_READS ? &c->at->received : &c->at->sent, bytes);
        engine_passed(&c->a, bytes);
        if (c->a.severs)
            connection_sever(c->fd, c->at, direction);
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
        struct conn_call c = CALL_AT(#name, fd, n, flags);                                         \
        ssize_t result;                                                                            \
        if (moves(&c, hook, &n, &result))                                                          \
            return result;                                                                         \
        CARRY_OUT(c, result, name##_guarded arguments);                                            \
        return moved(&c, n, result);                                                               \
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

/* More pieces than the kernel takes are its to refuse. */
static uint64_t bytes_in(const struct iovec *v, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; n <= IOV_MAX && i < n; i++)
        sum += v[i].iov_len;
    return sum;
}

static void cut_pieces(struct pieces *to, const struct iovec *from, size_t n, size_t most) {
    to->n = 0;
    for (size_t i = 0; i < n && most && to->n < MAX_PIECES; i++) {
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
    static APART ssize_t name##_carried_out(struct conn_call *c, const struct iovec *v,            \
                                            int count) {                                           \
        ssize_t result;                                                                            \
        CARRY_OUT(*c, result, name##_guarded(c->fd, v, count));                                    \
        return result;                                                                             \
    }                                                                                              \
    EXPORTED ssize_t name(int fd, const struct iovec *v, int count) {                              \
        if (engine_hook(hook) == BOARD_NONE)                                                       \
            return name##_guarded(fd, v, count);                                                   \
        struct conn_call c = CALL_AT(#name, fd, bytes_in(v, count < 0 ? 0 : (size_t)count), 0);    \
        size_t n = c.bytes;                                                                        \
        ssize_t result;                                                                            \
        struct pieces cut;                                                                         \
        if (moves(&c, hook, &n, &result))                                                          \
            return result;                                                                         \
        if (n == c.bytes)                                                                          \
            return moved(&c, n, name##_carried_out(&c, v, count));                                 \
        cut_pieces(&cut, v, (size_t)count, n);                                                     \
        return moved(&c, n, name##_carried_out(&c, cut.piece, cut.n));                             \
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

/* The header as the call is to have it: of a call that moves less, with other pieces. */
static void cut_message(struct msghdr *to, struct pieces *cut, const struct msghdr *from,
                        size_t n) {
    *to = *from;
    cut_pieces(cut, from->msg_iov, from->msg_iovlen, n);
    to->msg_iov = cut->piece;
    to->msg_iovlen = (size_t)cut->n;
}

static APART ssize_t recvmsg_carried_out(struct conn_call *c, struct msghdr *m) {
    ssize_t result;
    CARRY_OUT(*c, result, recvmsg_guarded(c->fd, m, c->flags));
    return result;
}

static APART ssize_t sendmsg_carried_out(struct conn_call *c, const struct msghdr *m) {
    ssize_t result;
    CARRY_OUT(*c, result, sendmsg_guarded(c->fd, m, c->flags));
    return result;
}

EXPORTED ssize_t recvmsg(int fd, struct msghdr *m, int flags) {
    if (engine_hook(HOOK_CONN_READ) == BOARD_NONE)
        return recvmsg_guarded(fd, m, flags);
    struct conn_call c = CALL_AT("recvmsg", fd, bytes_in(m->msg_iov, m->msg_iovlen), flags);
    size_t n = c.bytes;
    ssize_t result;
    struct msghdr shorter;
    struct pieces cut;
    if (moves(&c, HOOK_CONN_READ, &n, &result)) {
        if (result >= 0) /* as at the end of a stream */
            m->msg_namelen = 0, m->msg_controllen = 0, m->msg_flags = 0;
        return result;
    }
    if (n == c.bytes)
        return moved(&c, n, recvmsg_carried_out(&c, m));
    cut_message(&shorter, &cut, m, n);
    result = recvmsg_carried_out(&c, &shorter);
    m->msg_namelen = shorter.msg_namelen;
    m->msg_controllen = shorter.msg_controllen;
    m->msg_flags = shorter.msg_flags;
    return moved(&c, n, result);
}

EXPORTED ssize_t sendmsg(int fd, const struct msghdr *m, int flags) {
    if (engine_hook(HOOK_CONN_WRITE) == BOARD_NONE)
        return sendmsg_guarded(fd, m, flags);
    struct conn_call c = CALL_AT("sendmsg", fd, bytes_in(m->msg_iov, m->msg_iovlen), flags);
    size_t n = c.bytes;
    ssize_t result;
    struct msghdr shorter;
    struct pieces cut;
    if (moves(&c, HOOK_CONN_WRITE, &n, &result))
        return result;
    if (n == c.bytes)
        return moved(&c, n, sendmsg_carried_out(&c, m));
    cut_message(&shorter, &cut, m, n);
    return moved(&c, n, sendmsg_carried_out(&c, &shorter));
}

/* ---- waiting ---- */

/* The first of the descriptors that is a connection; -1: none. */
static int first_polled(const struct pollfd *p, nfds_t n) {
    for (nfds_t i = 0; i < n && engine_takes_part(); i++)
        if (descriptor_at(p[i].fd))
            return p[i].fd;
    return -1;
}

/* A program may have sets that are larger than FD_SETSIZE, at which FD_ISSET would abort. */
static bool is_in(const fd_set *set, int fd) {
    const unsigned char *byte = (const void *)set;
    return byte && byte[fd / CHAR_BIT] & 1u << fd % CHAR_BIT;
}

static int first_selected(int n, const fd_set *r, const fd_set *w) {
    for (int fd = 0; fd < n && engine_takes_part(); fd++)
        if ((is_in(r, fd) || is_in(w, fd)) && descriptor_at(fd))
            return fd;
    return -1;
}

#define DEFINE_POLLING(name, parameters, arguments, descriptor)                                    \
    EXPORTED int name parameters {                                                                 \
        if (engine_hook(HOOK_CONN_POLL) == BOARD_NONE)                                             \
            return ORIGINAL_OF(name) arguments;                                                    \
        struct conn_call c = CALL_AT(#name, descriptor, 0, 0);                                     \
        int result;                                                                                \
        if (begins(&c, HOOK_CONN_POLL))                                                            \
            return (int)c.a.result;                                                                \
        CARRY_OUT(c, result, ORIGINAL_OF(name) arguments);                                         \
        return (int)ends(&c, result);                                                              \
    }
POLLING(DEFINE_POLLING)

/* ---- coming into being ---- */

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
    c->at = descriptor_at(fd);
    return (int)ends(c, result);
}

EXPORTED int socket(int domain, int type, int protocol) {
    if (!watched())
        return ORIGINAL_OF(socket)(domain, type, protocol);
    struct conn_call c = CALL_AT("socket", -1, 0, 0);
    if (makes(&c))
        return (int)c.a.result;
    int fd = ORIGINAL_OF(socket)(domain, type, protocol);
    descriptor_born(fd, ORIGIN_OPENED);
    return made(&c, fd, fd);
}

EXPORTED int socketpair(int domain, int type, int protocol, int fd[2]) {
    if (!watched())
        return ORIGINAL_OF(socketpair)(domain, type, protocol, fd);
    struct conn_call c = CALL_AT("socketpair", -1, 0, 0);
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
    if (!watched())
        return ORIGINAL_OF(connect)(fd, address, size);
    struct conn_call c = CALL_AT("connect", fd, 0, 0);
    struct connection *to = descriptor_at(fd);
    if (to && address)
        connection_names(to, address, size);
    if (begins(&c, HOOK_CONN_CONNECT))
        return (int)c.a.result;
    int result;
    CARRY_OUT(c, result, ORIGINAL_OF(connect)(fd, address, size));
    if (to && (result == 0 || errno == EINPROGRESS)) {
        atomic_store(&to->origin, ORIGIN_CONNECTED);
        descriptor_renamed(fd);
    }
    return (int)ends(&c, result);
}

/* It begins at the listener and ends with the connection that it made. */
static int accepted(struct conn_call *c, int fd) {
    struct connection *made = descriptor_born(fd, ORIGIN_ACCEPTED);
    if (c->at && made) {
        c->at = made;
        c->fd = fd;
    }
    return (int)ends(c, fd);
}

#define DEFINE_ACCEPTING(name, parameters, arguments)                                              \
    EXPORTED int name parameters {                                                                 \
        if (!watched())                                                                            \
            return ORIGINAL_OF(name) arguments;                                                    \
        struct conn_call c = CALL_AT(#name, fd, 0, 0);                                             \
        int result;                                                                                \
        if (begins(&c, HOOK_CONN_ACCEPT))                                                          \
            return (int)c.a.result;                                                                \
        CARRY_OUT(c, result, ORIGINAL_OF(name) arguments);                                         \
        return accepted(&c, result);                                                               \
    }
DEFINE_ACCEPTING(accept, (int fd, struct sockaddr *restrict a, socklen_t *restrict l), (fd, a, l))
DEFINE_ACCEPTING(accept4, (int fd, struct sockaddr *restrict a, socklen_t *restrict l, int flags),
                 (fd, a, l, flags))

/* ---- teardown ---- */

static void teardown(const struct conn_call *from, struct connection *of, enum side side) {
    uint16_t hook = engine_hook(HOOK_CONN_TEARDOWN);
    if (hook == BOARD_NONE || !engine_takes_part())
        return;
    struct conn_call c = *from;
    c.at = of;
    struct arrival a = arrival_at(&c, hook, side);
    a.extent = descriptor_extent(c.fd);
    a.generation = atomic_load(a.extent);
    engine_arrive(&a);
}

EXPORTED int shutdown(int fd, int how) {
    if (!watched())
        return ORIGINAL_OF(shutdown)(fd, how);
    struct conn_call c = CALL_AT("shutdown", fd, 0, 0);
    struct connection *of = descriptor_at(fd);
    if (of && descriptor_shuts_down(fd))
        teardown(&c, of, SIDE_ENTER);
    if (begins(&c, HOOK_CONN_SHUTDOWN))
        return (int)c.a.result;
    return (int)ends(&c, ORIGINAL_OF(shutdown)(fd, how));
}

/* Somebody else may get the number before the call is over. */
EXPORTED int close(int fd) {
    if (!watched())
        return ORIGINAL_OF(close)(fd);
    struct conn_call c = CALL_AT("close", fd, 0, 0);
    bool in_teardown;
    int result;
    if (begins(&c, HOOK_CONN_CLOSE))
        return (int)c.a.result;
    c.gone = descriptor_closes(fd, &in_teardown);
    CARRY_OUT(c, result, ORIGINAL_OF(close)(fd));
    if (c.gone && in_teardown)
        teardown(&c, c.gone, SIDE_RETURN);
    result = (int)ends(&c, result);
    if (c.gone)
        connection_drop(c.gone);
    return result;
}
