/* A server process: one thread, which answers what comes, and serves other calls while it waits for
 * a callback's answer. Knows nothing of the client's files but the frames. */
#include "frame.h"
#include "ipc.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_CALLBACKS = 64 };
struct server {
    int fd;
    struct frame_reader reader;
    struct {
        uint32_t call;
        bool done;
        int value;
    } callback[MAX_CALLBACKS]; /* in progress, one inside the other */
    int n_callbacks;
};

static bool serve_frame(struct server *s);

static bool answer(struct server *s, const struct frame *f, int value) {
    struct frame a = {.call = f->call, .kind = FRAME_ANSWER, .what = f->what, .value = value};
    return frame_write(s->fd, &a) == 0;
}

/* One callback; false: the connection is gone. */
static bool call_back(struct server *s, uint32_t call, int value, int *result) {
    struct frame f = {.call = call, .kind = FRAME_CALLBACK, .what = IPC_CALL_BACK, .value = value};
    if (s->n_callbacks == MAX_CALLBACKS || frame_write(s->fd, &f))
        return false;
    int mine = s->n_callbacks++;
    s->callback[mine].call = call;
    s->callback[mine].done = false;
    while (!s->callback[mine].done)
        if (!serve_frame(s))
            return false;
    *result = s->callback[mine].value;
    s->n_callbacks--;
    return true;
}

static bool serve_callbacks(struct server *s, const struct frame *f) {
    struct frame call = *f;
    int sum = 0;
    for (int i = 1; i <= call.value; i++) {
        int told;
        if (!call_back(s, call.call, i, &told))
            return false;
        sum += told;
    }
    return answer(s, &call, sum);
}

static bool serve_done(struct server *s, const struct frame *f) {
    for (int i = 0; i < s->n_callbacks; i++)
        if (s->callback[i].call == f->call && !s->callback[i].done) {
            s->callback[i].value = f->value;
            s->callback[i].done = true;
            return true;
        }
    return false;
}

static bool serve_call(struct server *s, const struct frame *f) {
    switch ((enum ipc_operation)f->what) {
    case IPC_PING:
        return answer(s, f, f->value + 1);
    case IPC_DIE:
        _exit(0);
    case IPC_HANG:
        return true;
    case IPC_CALL_BACK:
        return serve_callbacks(s, f);
    }
    return false;
}

/* The next frame, whole; false: the connection is gone, or says nonsense. */
static bool serve_frame(struct server *s) {
    int whole;
    while ((whole = frame_read(&s->reader, s->fd)) == 0)
        ;
    struct frame f = s->reader.frame;
    return whole > 0 && (f.kind == FRAME_CALL   ? serve_call(s, &f)
                         : f.kind == FRAME_DONE ? serve_done(s, &f)
                                                : false);
}

void ipc_serve(int fd) {
    struct server s = {.fd = fd};
    while (serve_frame(&s))
        ;
    close(fd);
}

int ipc_listen(const char *path) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof a.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(a.sun_path, path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
    if (listener < 0 || bind(listener, (const struct sockaddr *)&a, sizeof a) ||
        listen(listener, 8)) {
        int saved = errno;
        if (listener >= 0)
            close(listener);
        errno = saved;
        return -1;
    }
    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0 || errno == EINTR)
        if (fd >= 0)
            ipc_serve(fd);
    close(listener);
    return 0;
}
