/* What a thread keeps between its calls: for each connection a handle of the server thread that
 * serves it, and a handle of itself for callbacks; destroyed when the thread exits, or when the
 * connection is. Who of the two does it is what this component is about: see ../README.md. */
#ifndef IPC_CONTEXT_H
#define IPC_CONTEXT_H

#include "connection.h"

/* What the fix does, each line of it apart, so that each can be left out. A variant of the
 * component is a set of these; without any of them it is `faulty`. */
#ifndef SWAP_UNDER_LOCK /* an exiting thread takes its maps out as a whole, under the lock */
#define SWAP_UNDER_LOCK 0
#endif
#ifndef LOOK_UP_BY_KEY /* the loop finds its entry by the connection, not by a captured pointer */
#define LOOK_UP_BY_KEY 0
#endif
#ifndef RECHECK_ON_LOOP /* the loop looks whether the connection is still there */
#define RECHECK_ON_LOOP 0
#endif
#ifndef DESTROY_AFTER_RELEASE /* nothing is destroyed under the lock */
#define DESTROY_AFTER_RELEASE 0
#endif
/* A wrong fix: what the flag says decides who destroys. */
#ifndef FLAG_DECIDES
#define FLAG_DECIDES 0
#endif

/* Of one thread: what its callers and the loop share. Lives as long as its context. */
struct waiter {
    pthread_mutex_t mutex; /* guards the calls of this thread and its maps */
    pthread_cond_t news;
    bool has_callback;
    struct frame callback;
};

/* A handle of a thread at the other end of a connection. */
struct handle {
    struct loop *loop;
    struct connection *connection; /* NULL once it is torn down; the loop thread's */
    struct cleanup *on_disconnect; /* removes the entry; NULL: not registered any more */
    struct cleanup *on_teardown;   /* makes `connection` NULL */
    int capability;                /* of the thread at the other end; -1: given back */
};

/* An entry of a map. The links come first: the allocator spoils only them in a freed block, so that
 * a double free shows as one. Of the size that the original's nodes have. */
struct entry {
    struct entry *next;
    const struct connection *key;
    bool engaged; /* the handle lives; cleared before it is destroyed */
    struct handle handle;
    char pad[136 - 3 * sizeof(void *) - sizeof(struct handle)];
};
_Static_assert(sizeof(struct entry) == 136, "as large as a node of the original");

struct context {
    struct waiter *waiter;
    struct entry *server_threads, *callback_threads; /* maps, destroyed in this order */
};

/* The calling thread's; made at its first call. */
struct context *context_mine(void);
/* On the loop's thread: the thread has its two entries for the connection from now on. */
void context_meets(struct context *t, struct connection *c);

/* On the loop's thread: the call is over, or its connection is. */
void waiter_answer(struct call *k, int result, bool broken);
/* On the loop's thread: the server calls back. */
void waiter_call_back(struct call *k, const struct frame *f);

#endif
