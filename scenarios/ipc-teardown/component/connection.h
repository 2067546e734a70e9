/* A connection to a server, the loop thread's: what comes in, the calls that wait for it, and the
 * cleanups that run when it is torn down, the last registered first. */
#ifndef IPC_CONNECTION_H
#define IPC_CONNECTION_H

#include "frame.h"
#include "loop.h"

struct cleanup {
    void (*function)(void *);
    void *argument;
    void (*release)(void *); /* of the argument, or NULL; by whoever takes the cleanup off */
    struct cleanup *next;
};

/* A call in progress, on its caller's stack; the fields behind `waiter` are guarded by its mutex.
 */
struct call {
    uint32_t number;
    struct waiter *waiter; /* the caller's; context.h */
    bool done, broken;
    int result;
    struct call *next;
};

struct connection {
    struct loop *loop;
    int fd;
    struct cleanup *cleanups; /* guarded by the loop's mutex */
    struct call *calls;       /* the loop thread's, as all below */
    uint32_t numbers;
    bool broken; /* a write failed: it is torn down at the loop's next turn */
    struct frame_reader reader;
};

/* On the loop's thread. The descriptor is the connection's from now on. */
struct connection *connection_new(struct loop *l, int fd);
/* Reads what has come. False: the connection has ended. */
bool connection_receive(struct connection *c);
/* Teardown: calls fail, the write side is shut down, the cleanups run with the loop's mutex
 * dropped, the descriptor is closed. */
void connection_destroy(struct connection *c);

/* Any thread. */
struct cleanup *connection_add_cleanup(struct connection *c, void (*function)(void *),
                                       void *argument, void (*release)(void *));
/* Nothing happens when it has run already, or runs. */
void connection_remove_cleanup(struct connection *c, struct cleanup *k);

#endif
