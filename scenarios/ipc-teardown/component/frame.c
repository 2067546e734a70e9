/* Frames on a stream; see frame.h. Blocking descriptors. */
#include "frame.h"

#include <errno.h>
#include <sys/socket.h>

int frame_read(struct frame_reader *r, int fd) {
    ssize_t n;
    do
        n = recv(fd, (char *)&r->frame + r->have, sizeof r->frame - r->have, 0);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return -1;
    r->have += (size_t)n;
    if (r->have < sizeof r->frame)
        return 0;
    r->have = 0;
    return 1;
}

int frame_write(int fd, const struct frame *f) {
    for (size_t done = 0; done < sizeof *f;) {
        ssize_t n = send(fd, (const char *)f + done, sizeof *f - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}
