/* The loop thread and its one slot for a function; see loop.h. */
#include "loop.h"
#include "connection.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void wake(struct loop *l) {
    while (write(l->wake[1], "", 1) < 0 && errno == EINTR)
        ;
}

void loop_post(struct loop *l, void (*function)(void *), void *argument) {
    if (pthread_equal(pthread_self(), l->thread)) {
        function(argument);
        return;
    }
    pthread_mutex_lock(&l->mutex);
    while (l->function)
        pthread_cond_wait(&l->turn, &l->mutex);
    l->function = function;
    l->argument = argument;
    unsigned long mine = l->run + 1;
    pthread_mutex_unlock(&l->mutex);
    wake(l);
    pthread_mutex_lock(&l->mutex);
    while (l->run < mine)
        pthread_cond_wait(&l->turn, &l->mutex);
    pthread_mutex_unlock(&l->mutex);
}

/* Runs what was handed over. False: the loop ends. */
static bool run_posted(struct loop *l) {
    char byte;
    while (read(l->wake[0], &byte, 1) < 0 && errno == EINTR)
        ;
    pthread_mutex_lock(&l->mutex);
    if (l->function) {
        void (*function)(void *) = l->function;
        void *argument = l->argument;
        pthread_mutex_unlock(&l->mutex);
        function(argument);
        pthread_mutex_lock(&l->mutex);
        l->function = NULL;
        l->run++;
        pthread_cond_broadcast(&l->turn);
    }
    bool ends = l->ends;
    pthread_mutex_unlock(&l->mutex);
    return !ends;
}

static void destroy_broken(struct loop *l) {
    for (unsigned i = 0; i < l->n_connections;)
        if (l->connection[i]->broken)
            connection_destroy(l->connection[i]);
        else
            i++;
}

static bool one_turn(struct loop *l) {
    destroy_broken(l);
    unsigned n = l->n_connections;
    struct pollfd *p = calloc(n + 1, sizeof *p);
    struct connection **c = calloc(n + 1, sizeof(struct connection *));
    if (!p || !c)
        abort();
    p[0] = (struct pollfd){l->wake[0], POLLIN, 0};
    for (unsigned i = 0; i < n; i++) {
        c[i] = l->connection[i];
        p[i + 1] = (struct pollfd){c[i]->fd, POLLIN, 0};
    }
    bool goes_on = true;
    if (poll(p, n + 1, -1) > 0) {
        for (unsigned i = 0; i < n; i++)
            if (p[i + 1].revents && !connection_receive(c[i]))
                connection_destroy(c[i]);
        if (p[0].revents)
            goes_on = run_posted(l);
    }
    free(c);
    free(p);
    return goes_on;
}

static void *loop_thread(void *data) {
    struct loop *l = data;
    while (one_turn(l))
        ;
    while (l->n_connections)
        connection_destroy(l->connection[0]);
    return NULL;
}

void loop_add(struct loop *l, struct connection *c) {
    struct connection **more =
        realloc(l->connection, (l->n_connections + 1) * sizeof(struct connection *));
    if (!more)
        abort();
    l->connection = more;
    l->connection[l->n_connections++] = c;
}

void loop_remove(struct loop *l, struct connection *c) {
    for (unsigned i = 0; i < l->n_connections; i++)
        if (l->connection[i] == c) {
            l->connection[i] = l->connection[--l->n_connections];
            return;
        }
}

struct loop *loop_start(void) {
    struct loop *l = calloc(1, sizeof *l);
    if (!l || pipe2(l->wake, O_CLOEXEC)) {
        free(l);
        return NULL;
    }
    pthread_mutex_init(&l->mutex, NULL);
    pthread_cond_init(&l->turn, NULL);
    /* Nobody posts before the thread is known: the mutex is held until it is. */
    pthread_mutex_lock(&l->mutex);
    errno = pthread_create(&l->thread, NULL, loop_thread, l);
    pthread_mutex_unlock(&l->mutex);
    if (!errno)
        return l;
    close(l->wake[0]);
    close(l->wake[1]);
    free(l);
    return NULL;
}

void loop_stop(struct loop *l) {
    pthread_mutex_lock(&l->mutex);
    l->ends = true;
    pthread_mutex_unlock(&l->mutex);
    wake(l);
    pthread_join(l->thread, NULL);
    close(l->wake[0]);
    close(l->wake[1]);
    pthread_cond_destroy(&l->turn);
    pthread_mutex_destroy(&l->mutex);
    free(l->connection);
    free(l);
}
