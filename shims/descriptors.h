/* What the open descriptors of this process are: which of them are connections, and which one each
 * is. A descriptor is looked at once, and its inode number afterwards shows whether it is still the
 * same file, so that nothing has to be told when one is closed or duplicated. Any thread, signal
 * handlers too; never locks, never allocates. */
#ifndef HOLDPOINT_DESCRIPTORS_H
#define HOLDPOINT_DESCRIPTORS_H

#include "board.h"

enum descriptor_type {
    DESCRIPTOR_UNKNOWN,
    DESCRIPTOR_OTHER, /* a file, a terminal, a folder: no connection */
    DESCRIPTOR_STREAM,
    DESCRIPTOR_DATAGRAM,
    DESCRIPTOR_LISTENER, /* a socket that accepts */
    DESCRIPTOR_PIPE,
    DESCRIPTOR_EVENTFD,
    DESCRIPTOR_EPOLL,
};
enum descriptor_origin {
    ORIGIN_INHERITED,
    ORIGIN_OPENED, /* by socket, not connected yet, or a listener */
    ORIGIN_CONNECTED,
    ORIGIN_ACCEPTED,
    ORIGIN_PAIR,
    ORIGIN_PIPE,
};

struct descriptor {
    _Atomic uint32_t type;   /* enum descriptor_type; written last */
    _Atomic uint32_t origin; /* enum descriptor_origin */
    _Atomic uint64_t device, inode;
    _Atomic uint64_t number;         /* of the connection in this process, from 1 */
    _Atomic uint64_t received, sent; /* bytes, by this descriptor */
    /* Of its teardowns: raised when the descriptor is closed, so that an extent that began with
     * this number is over. */
    _Atomic uint32_t teardown;
    _Atomic uint32_t in_teardown; /* it was shut down and not closed yet */
    _Atomic uint32_t severed;     /* a fault cut it: reads answer end of file, writes EPIPE */
    char path[108], peer[64];     /* unix: its path or its peer's; TCP, UDP: ADDRESS:PORT */
};

/* The connection behind a descriptor, or NULL: it is none, it is not open, or it is beyond the
 * table, which is then reported (TABLE_DESCRIPTORS). */
struct descriptor *descriptor_at(int fd);
/* A call of this process made the connection. */
void descriptor_born(int fd, enum descriptor_origin origin);
/* It has another peer or another path than before. */
void descriptor_renamed(int fd);
/* Its extent is over; what comes under this number later is another one. */
void descriptor_closes(struct descriptor *d);
/* Cuts it for both sides, as far as its kind allows. */
void descriptor_sever(int fd, struct descriptor *d);

const char *descriptor_type_name(const struct descriptor *d);
const char *descriptor_origin_name(const struct descriptor *d);

/* At check-in: forgets all. */
void descriptors_start(void);

#endif
