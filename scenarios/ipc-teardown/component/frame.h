/* The protocol: frames of twelve bytes, in the machine's own byte order, as both ends are on one
 * machine. A connection that ends within a frame ends before it. */
#ifndef IPC_FRAME_H
#define IPC_FRAME_H

#include <stddef.h>
#include <stdint.h>

enum frame_kind {
    FRAME_CALL,     /* client: do `what` with `value` */
    FRAME_ANSWER,   /* server: the call's result */
    FRAME_CALLBACK, /* server: the caller shall do something while its call lasts */
    FRAME_DONE,     /* client: the callback's result */
};
struct frame {
    uint32_t call; /* which call it belongs to, the client's number */
    uint16_t kind; /* enum frame_kind */
    uint16_t what; /* enum ipc_operation, ipc.h */
    int32_t value;
};
_Static_assert(sizeof(struct frame) == 12, "the frame has no holes");

/* A frame that has come in part. */
struct frame_reader {
    struct frame frame;
    size_t have;
};
/* Reads once. 1: the frame is whole; 0: more must come; -1: the connection has ended, or broke. */
int frame_read(struct frame_reader *r, int fd);
/* Writes all of it; 0, or -1: the connection broke. Never raises SIGPIPE. */
int frame_write(int fd, const struct frame *f);

#endif
