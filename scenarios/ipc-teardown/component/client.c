/* Blocking calls; see ipc.h. Each is handed to the loop, which sends it, and waits at its thread's
 * own condition for the answer or for callbacks. */
#include "ipc.h"
#include "context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct ipc_client {
    struct loop *loop;
    struct connection *connection; /* the loop thread's; NULL once it is torn down */
    int fd;                        /* until the loop has it */
};

/* ---- connecting ---- */

static void disconnected(void *data) {
    ((struct ipc_client *)data)->connection = NULL;
}

static void connect_on_loop(void *data) {
    struct ipc_client *c = data;
    c->connection = connection_new(c->loop, c->fd);
    connection_add_cleanup(c->connection, disconnected, c, NULL);
}

struct ipc_client *ipc_client_new(struct loop *l, int fd) {
    struct ipc_client *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    *c = (struct ipc_client){.loop = l, .fd = fd};
    loop_post(l, connect_on_loop, c);
    return c;
}

struct ipc_client *ipc_client_connect(struct loop *l, const char *path) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof a.sun_path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    strcpy(a.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return NULL;
    if (!connect(fd, (const struct sockaddr *)&a, sizeof a))
        return ipc_client_new(l, fd);
    int saved = errno;
    close(fd);
    errno = saved;
    return NULL;
}

static void disconnect_on_loop(void *data) {
    struct ipc_client *c = data;
    if (c->connection)
        connection_destroy(c->connection);
}

void ipc_client_free(struct ipc_client *c) {
    loop_post(c->loop, disconnect_on_loop, c);
    free(c);
}

/* ---- calling ---- */

struct starting {
    struct ipc_client *client;
    struct context *context;
    struct call *call;
    struct frame frame;
};

static void send_or_break(struct connection *c, const struct frame *f) {
    if (frame_write(c->fd, f))
        c->broken = true;
}

static void start_on_loop(void *data) {
    struct starting *s = data;
    struct connection *c = s->client->connection;
    if (!c) {
        waiter_answer(s->call, 0, true);
        return;
    }
    context_meets(s->context, c);
    s->frame.call = s->call->number = ++c->numbers;
    s->call->next = c->calls;
    c->calls = s->call;
    send_or_break(c, &s->frame);
}

static void send_on_loop(void *data) {
    struct starting *s = data;
    if (s->client->connection)
        send_or_break(s->client->connection, &s->frame);
}

static void run_callback(struct starting *s, const struct frame *f, ipc_callback *callback) {
    s->frame = (struct frame){.call = f->call, .kind = FRAME_DONE, .what = f->what};
    s->frame.value = callback ? callback(s->client, f->value) : 0;
    loop_post(s->client->loop, send_on_loop, s);
}

static void wait_for_answer(struct starting *s, ipc_callback *callback) {
    struct waiter *w = s->call->waiter;
    pthread_mutex_lock(&w->mutex);
    while (!s->call->done) {
        if (w->has_callback && w->callback.call == s->call->number) {
            struct frame f = w->callback;
            w->has_callback = false;
            pthread_mutex_unlock(&w->mutex);
            run_callback(s, &f, callback);
            pthread_mutex_lock(&w->mutex);
        } else {
            pthread_cond_wait(&w->news, &w->mutex);
        }
    }
    pthread_mutex_unlock(&w->mutex);
}

int ipc_call(struct ipc_client *c, enum ipc_operation what, int value, int *result,
             ipc_callback *callback) {
    struct context *t = context_mine();
    struct call call = {.waiter = t->waiter};
    struct starting s = {c, t, &call, {.kind = FRAME_CALL, .what = (uint16_t)what, .value = value}};
    loop_post(c->loop, start_on_loop, &s);
    wait_for_answer(&s, callback);
    if (call.broken) {
        errno = ECONNRESET;
        return -1;
    }
    if (result)
        *result = call.result;
    return 0;
}
