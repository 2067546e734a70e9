/* What comes in on a connection, and its teardown; see connection.h. The loop's thread, but for the
 * list of cleanups. */
#include "connection.h"
#include "context.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct connection *connection_new(struct loop *l, int fd) {
    struct connection *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->loop = l;
    c->fd = fd;
    loop_add(l, c);
    return c;
}

/* ---- cleanups ---- */

struct cleanup *connection_add_cleanup(struct connection *c, void (*function)(void *),
                                       void *argument, void (*release)(void *)) {
    struct cleanup *k = malloc(sizeof *k);
    if (!k)
        abort();
    pthread_mutex_lock(&c->loop->mutex);
    *k = (struct cleanup){function, argument, release, c->cleanups};
    c->cleanups = k;
    pthread_mutex_unlock(&c->loop->mutex);
    return k;
}

static void free_cleanup(struct cleanup *k) {
    if (k->release)
        k->release(k->argument);
    free(k);
}

void connection_remove_cleanup(struct connection *c, struct cleanup *k) {
    struct cleanup *found = NULL;
    pthread_mutex_lock(&c->loop->mutex);
    for (struct cleanup **at = &c->cleanups; *at && !found; at = &(*at)->next)
        if (*at == k) {
            found = k;
            *at = k->next;
            break;
        }
    pthread_mutex_unlock(&c->loop->mutex);
    if (found)
        free_cleanup(found);
}

static void run_cleanups(struct connection *c) {
    pthread_mutex_lock(&c->loop->mutex);
    while (c->cleanups) {
        struct cleanup *k = c->cleanups;
        c->cleanups = k->next;
        pthread_mutex_unlock(&c->loop->mutex);
        k->function(k->argument);
        free_cleanup(k);
        pthread_mutex_lock(&c->loop->mutex);
    }
    pthread_mutex_unlock(&c->loop->mutex);
}

/* ---- what comes in ---- */

static struct call *take_call(struct connection *c, uint32_t number) {
    for (struct call **at = &c->calls; *at; at = &(*at)->next)
        if ((*at)->number == number) {
            struct call *found = *at;
            *at = found->next;
            return found;
        }
    return NULL;
}

static struct call *find_call(struct connection *c, uint32_t number) {
    for (struct call *k = c->calls; k; k = k->next)
        if (k->number == number)
            return k;
    return NULL;
}

bool connection_receive(struct connection *c) {
    int whole = frame_read(&c->reader, c->fd);
    if (whole <= 0)
        return whole == 0;
    const struct frame *f = &c->reader.frame;
    struct call *k;
    switch (f->kind) {
    case FRAME_ANSWER:
        k = take_call(c, f->call);
        if (k)
            waiter_answer(k, f->value, false);
        return k != NULL;
    case FRAME_CALLBACK:
        k = find_call(c, f->call);
        if (k)
            waiter_call_back(k, f);
        return k != NULL;
    default: /* a server says nothing else */
        return false;
    }
}

void connection_destroy(struct connection *c) {
    loop_remove(c->loop, c);
    while (c->calls) {
        struct call *k = c->calls;
        c->calls = k->next;
        waiter_answer(k, 0, true);
    }
    shutdown(c->fd, SHUT_WR);
    run_cleanups(c);
    close(c->fd);
    free(c);
}
