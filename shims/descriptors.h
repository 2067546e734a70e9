/* What the open descriptors of this process are: which of them are connections, and which one each
 * leads to. A descriptor is looked at once; its inode shows at each call whether it is still the
 * same file, so that nothing is taken for another thing when one is closed or made unseen. Any
 * thread, signal handlers too; never locks, never allocates, keeps errno. */
#ifndef HOLDPOINT_DESCRIPTORS_H
#define HOLDPOINT_DESCRIPTORS_H

#include "board.h"

enum connection_type {
    CONNECTION_STREAM,
    CONNECTION_SEQPACKET, /* messages that arrive whole, as those of datagrams */
    CONNECTION_DATAGRAM,
    CONNECTION_LISTENER, /* a socket that accepts */
    CONNECTION_PIPE,     /* one end of it */
    CONNECTION_EVENTFD,
    CONNECTION_EPOLL, /* none itself: what a thread waits at for connections */
};
enum connection_origin {
    ORIGIN_INHERITED,
    ORIGIN_OPENED, /* by socket, not connected yet, or a listener; by eventfd */
    ORIGIN_CONNECTED,
    ORIGIN_ACCEPTED,
    ORIGIN_PAIR,
    ORIGIN_PIPE,
};
enum { SEVERED_READS = 1, SEVERED_WRITES = 2 };

struct connection {
    _Atomic uint32_t users;  /* descriptors that lead to it; 0: a free entry */
    _Atomic uint32_t type;   /* enum connection_type */
    _Atomic uint32_t origin; /* enum connection_origin */
    _Atomic uint64_t key;    /* what it is in the kernel, see descriptors.c; written last */
    _Atomic uint64_t number; /* of this connection in this process and of no later one, from 1 */
    _Atomic uint64_t order;  /* the same, counting what is itself a connection */
    _Atomic uint64_t received, sent; /* bytes, by all its descriptors */
    _Atomic uint32_t severed;        /* a fault cut it: reads answer end of file, writes EPIPE */
    char path[108];                  /* unix: its path or else its peer's */
    char peer[64];                   /* ADDRESS:PORT; unix: path or else program of the peer */
};

/* Does the plan name any hook about connections? One relaxed load. */
extern uint32_t descriptors_wanted;
static inline bool descriptors_watched(void) {
    return __atomic_load_n(&descriptors_wanted, __ATOMIC_RELAXED);
}

/* The connection that a descriptor leads to, or NULL: it is none, it is not open, or a table is
 * full, which is then reported (TABLE_DESCRIPTORS). */
struct connection *descriptor_at(int fd);
/* A call of this process has just made it. Nothing when fd is negative. */
struct connection *descriptor_born(int fd, enum connection_origin origin);
/* Its own address or its peer's is another than before; it may have become a listener. */
void descriptor_renamed(int fd);
/* It is about to be connected to this address: a struct sockaddr of that many bytes. */
void connection_names(struct connection *c, const void *address, uint32_t size);

/* The descriptor is shut down. True: that opens its teardown; it was not shut down before. */
bool descriptor_shuts_down(int fd);
/* Of its teardowns: raised when the descriptor is closed, so that an extent that began with the
 * value before is over. */
const _Atomic uint32_t *descriptor_extent(int fd);
/* It is about to be closed, and what comes under its number later is another one. The answer is
 * what it led to, the caller's to give to connection_drop, or NULL. `in_teardown`: one was open. */
struct connection *descriptor_closes(int fd, bool *in_teardown);
void connection_drop(struct connection *c);
/* Descriptors from..to have been closed at once, or replaced. */
void descriptors_closed(uint32_t from, uint32_t to);

/* Cuts one direction (SEVERED_READS, SEVERED_WRITES): a stream for its peer too. */
void connection_sever(int fd, struct connection *c, uint32_t direction);

const char *connection_type_name(const struct connection *c);
const char *connection_origin_name(const struct connection *c);

/* At check-in, after engine_start: forgets all. */
void descriptors_start(void);

#endif
