/* The event loop: one thread that owns every connection. Other threads hand it one function at a
 * time and wait until it has run. */
#ifndef IPC_LOOP_H
#define IPC_LOOP_H

#include <pthread.h>
#include <stdbool.h>

struct connection;

struct loop {
    pthread_mutex_t mutex; /* guards everything below, and the cleanups of the connections */
    pthread_cond_t turn;   /* the slot for a function is free, or the one that was in it has run */
    void (*function)(void *);
    void *argument;
    unsigned long run; /* functions that have run */
    int wake[2];       /* a byte in it: there is a function, or the end */
    bool ends;
    pthread_t thread;
    struct connection **connection; /* the loop thread's own */
    unsigned n_connections;
};

/* Starts the thread. NULL: errno says why. */
struct loop *loop_start(void);
/* Waits for the thread; its connections are destroyed first. */
void loop_stop(struct loop *l);

/* Runs the function on the loop's thread and returns when it has run; on that thread itself, at
 * once. */
void loop_post(struct loop *l, void (*function)(void *), void *argument);

/* On the loop's thread: it reads from the connection from now on, or no more. */
void loop_add(struct loop *l, struct connection *c);
void loop_remove(struct loop *l, struct connection *c);

#endif
