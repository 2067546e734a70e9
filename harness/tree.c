/* The processes below one process, and their end. Runs in the guard and in the runner.
 * May signal nothing but descendants.
 */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "board/steps.h"

/* The fields after the name in /proc/PID/stat, numbered as in proc(5): state is the third. */
static void take_fields(char *text, struct tree_process *p) {
    char *rest = text;
    p->state = '?';
    for (int field = 3; (text = strsep(&rest, " \n")) != NULL; field++) {
        if (field == 3)
            p->state = *text;
        else if (field == 4)
            p->parent = (pid_t)strtol(text, NULL, 10);
        else if (field == 14 || field == 15)
            p->cpu += strtoull(text, NULL, 10);
        else if (field == 20 && p->state == 'Z' && strtol(text, NULL, 10) > 1)
            p->state = 'S'; /* only the main thread has ended: the process lives */
        else if (field == 22)
            p->start = strtoull(text, NULL, 10);
        else if (field == 52 && p->state == 'Z')
            p->zombie_status = (int)strtol(text, NULL, 10);
    }
}

bool tree_read(pid_t pid, pid_t tid, struct tree_process *p) {
    char path[64], text[1024];
    if (tid)
        snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    else
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    char *open_name = strchr(text, '('),
         *close_name = strrchr(text, ')'); /* a name may hold both */
    if (!open_name || !close_name || close_name < open_name)
        return false;
    memset(p, 0, sizeof *p);
    p->pid = tid ? tid : pid;
    *close_name = '\0';
    snprintf(p->name, sizeof p->name, "%s", open_name + 1);
    take_fields(close_name + 2, p);
    return p->state != 'X';
}

static int by_pid(const void *a, const void *b) {
    const struct tree_process *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static void add(struct tree *t, const struct tree_process *p) {
    if ((t->n & (t->n - 1)) == 0) { /* full at each power of two */
        void *more = realloc(t->process, (t->n ? t->n * 2 : 1) * sizeof *p);
        if (!more)
            abort(); /* a guard that cannot see the tree must not go on as if it were empty */
        t->process = more;
    }
    t->process[t->n++] = *p;
}

static void find_all(struct tree *t) {
    *t = (struct tree){NULL, 0};
    DIR *d = opendir("/proc");
    struct dirent *e;
    while (d && (e = readdir(d)) != NULL) {
        struct tree_process p;
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid > 0 && tree_read(pid, 0, &p))
            add(t, &p);
    }
    if (d)
        closedir(d);
    if (t->n)
        qsort(t->process, t->n, sizeof *t->process, by_pid);
}

static bool holds(const struct tree *t, const struct tree_process *p) {
    for (size_t i = 0; t && i < t->n; i++)
        if (t->process[i].pid == p->pid && t->process[i].start == p->start)
            return true;
    return false;
}

/* Is `p` below `root` with nothing of `but` in between? `steps` bounds the walk: the snapshot may
 * hold a circle when process ids were reused while it was taken. */
static bool is_below(const struct tree *all, const struct tree_process *p, pid_t root,
                     const struct tree *but) {
    for (size_t steps = 0; p && steps <= all->n; steps++) {
        if (p->pid == root)
            return steps > 0;
        if (holds(but, p))
            return false;
        struct tree_process parent = {.pid = p->parent};
        p = bsearch(&parent, all->process, all->n, sizeof parent, by_pid);
    }
    return false;
}

void tree_find(pid_t root, const struct tree *but, struct tree *t) {
    struct tree all;
    find_all(&all);
    *t = (struct tree){NULL, 0};
    for (size_t i = 0; i < all.n; i++)
        if (is_below(&all, &all.process[i], root, but))
            add(t, &all.process[i]);
    tree_free(&all);
}

void tree_free(struct tree *t) {
    free(t->process);
    *t = (struct tree){NULL, 0};
}

void tree_signal(const struct tree_process *p, int signal_number) {
    int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    if (fd < 0 && errno != ENOSYS)
        return; /* gone */
    struct tree_process now;
    if (tree_read(p->pid, 0, &now) && now.start == p->start) {
        if (fd >= 0)
            syscall(SYS_pidfd_send_signal, fd, signal_number, NULL, 0);
        else
            kill(p->pid, signal_number);
    }
    if (fd >= 0)
        close(fd);
}

static void reap(const struct tree_process *p, tree_reaped *reaped, void *data) {
    int status;
    if (p->parent == getpid() && waitpid(p->pid, &status, WNOHANG) == p->pid && reaped)
        reaped(p->pid, status, data);
}

size_t tree_end(const struct tree *but, uint64_t grace_ns, uint64_t limit_ns, tree_reaped *reaped,
                void *data) {
    uint64_t begin = steps_now();
    struct tree asked = {NULL, 0}; /* who has had SIGTERM */
    size_t left = 0;
    for (int empty_walks = 0; empty_walks < 2;) {
        struct tree t;
        uint64_t passed = steps_now() - begin;
        tree_find(getpid(), but, &t);
        left = t.n;
        empty_walks = t.n ? 0 : empty_walks + 1;
        for (size_t i = 0; i < t.n; i++) {
            struct tree_process *p = &t.process[i];
            if (p->state == 'Z') {
                reap(p, reaped, data);
            } else if (passed >= grace_ns) {
                tree_signal(p, SIGKILL);
            } else if (!holds(&asked, p)) {
                tree_signal(p, SIGTERM);
                tree_signal(p, SIGCONT);
                add(&asked, p);
            }
        }
        tree_free(&t);
        if (passed > limit_ns)
            break;
        if (left)
            nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    tree_free(&asked);
    return left;
}
