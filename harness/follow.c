/* Logs of a trial. Runs in the runner. May not wait for a rank: it reads what is there. */
#include "follow.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocate.h"

struct log {
    char *path;
    int rank; /* -1: the launcher's */
    int fd;   /* -1: not there yet */
    int to;   /* our stdout or stderr */
    uint64_t copied;
    int in_line; /* the last byte copied was not a line's end */
};
struct follow {
    struct log *log;
    int n, ranks, copy;
};

struct follow *follow_begin(const char *dir, int ranks, int copy) {
    struct follow *f = allocate(1, sizeof *f);
    *f = (struct follow){allocate((size_t)ranks * 2 + 2, sizeof *f->log), ranks * 2 + 2, ranks,
                         copy};
    for (int i = 0; i < f->n; i++) {
        struct log *l = &f->log[i];
        const char *suffix = i % 2 ? "err" : "out";
        l->rank = i / 2 - 1;
        l->fd = -1;
        l->to = i % 2 ? STDERR_FILENO : STDOUT_FILENO;
        l->path = l->rank < 0 ? format_text("%s/launcher.%s", dir, suffix)
                              : format_text("%s/rank.%d.%s", dir, l->rank, suffix);
    }
    return f;
}

static void write_all(int fd, const char *bytes, size_t n) {
    while (n) {
        ssize_t written = write(fd, bytes, n);
        if (written <= 0)
            return; /* nobody reads our output any more: the log keeps it */
        bytes += written;
        n -= (size_t)written;
    }
}

static void copy_lines(const struct follow *f, struct log *l, const char *bytes, size_t n) {
    char prefix[32] = "";
    if (f->ranks > 1 && l->rank >= 0)
        snprintf(prefix, sizeof prefix, "[rank %d] ", l->rank);
    while (n) {
        const char *end = memchr(bytes, '\n', n);
        size_t length = end ? (size_t)(end - bytes) + 1 : n;
        if (!l->in_line)
            write_all(l->to, prefix, strlen(prefix));
        write_all(l->to, bytes, length);
        l->in_line = !end;
        bytes += length;
        n -= length;
    }
}

static void copy_new(const struct follow *f, struct log *l) {
    char bytes[16384];
    ssize_t n;
    while ((n = pread(l->fd, bytes, sizeof bytes, (off_t)l->copied)) > 0) {
        copy_lines(f, l, bytes, (size_t)n);
        l->copied += (uint64_t)n;
    }
}

uint64_t follow_round(struct follow *f) {
    uint64_t total = 0;
    for (int i = 0; i < f->n; i++) {
        struct log *l = &f->log[i];
        struct stat st;
        if (l->fd < 0)
            l->fd = open(l->path, O_RDWR | O_APPEND | O_CLOEXEC);
        if (l->fd < 0 || fstat(l->fd, &st) != 0)
            continue;
        if (f->copy)
            copy_new(f, l);
        total += (uint64_t)st.st_size;
    }
    return total;
}

/* So many bytes are the rank's own; a log that ends otherwise was cut off or written to afterwards.
 */
static void append_end_mark(const struct log *l) {
    struct stat st;
    char last = '\n';
    if (l->fd < 0 || l->rank < 0 || fstat(l->fd, &st) != 0)
        return;
    if (st.st_size && pread(l->fd, &last, 1, st.st_size - 1) != 1)
        return;
    AUTO_TEXT mark = format_text("%s--- holdpoint: end of log, rank %d, %lld bytes ---\n",
                                 last == '\n' ? "" : "\n", l->rank, (long long)st.st_size);
    write_all(l->fd, mark, strlen(mark));
}

void follow_end(struct follow *f) {
    follow_round(f);
    for (int i = 0; i < f->n; i++) {
        append_end_mark(&f->log[i]);
        if (f->log[i].fd >= 0)
            close(f->log[i].fd);
        free(f->log[i].path);
    }
    free(f->log);
    free(f);
}
