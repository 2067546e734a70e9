/* The guard process. guard_main and all that it calls run in the guard, a fork of the runner
 * without exec; the rest runs in the runner. The guard signals its own descendants only.
 */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "board/steps.h"
#include "leftovers.h"
#include "tree.h"

extern char **environ;

enum { END_LIMIT_SECONDS = 5 };

struct guarded { /* the guard's own state */
    const struct launch *launch;
    pid_t *pid; /* of each command; 0: not running */
    int report;
    struct leftovers leftovers;
};

static void send_report(const struct guarded *g, enum guard_report_kind kind, int command,
                        pid_t pid, int value) {
    struct guard_report r = {(int32_t)kind, command, pid, value};
    /* Whole or not at all (it is shorter than PIPE_BUF). A runner that is gone needs no report. */
    if (write(g->report, &r, sizeof r) < 0)
        return;
}

static void become_command(const struct guarded *g, const struct launch_command *c, pid_t guard,
                           int failed) {
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ};
    sigset_t none;
    sigemptyset(&none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guard)
        _exit(127); /* the guard died before the line above */
    setpgid(0, 0);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(g->launch->out, STDOUT_FILENO);
    dup2(g->launch->err, STDERR_FILENO);
    environ = c->env; /* execvp looks up its PATH */
    execvp(c->argv[0], c->argv);
    int error = errno;
    if (write(failed, &error, sizeof error) < 0)
        _exit(126);
    _exit(127);
}

static void start_command(struct guarded *g, int n) {
    int failed[2], error = 0;
    pid_t guard = getpid();
    if (pipe2(failed, O_CLOEXEC) != 0) {
        send_report(g, GUARD_NOT_STARTED, n, 0, errno);
        return;
    }
    pid_t pid = fork();
    if (pid == 0)
        become_command(g, &g->launch->command[n], guard, failed[1]);
    if (pid < 0)
        error = errno;
    close(failed[1]);
    ssize_t got = pid < 0 ? 0 : read(failed[0], &error, sizeof error);
    close(failed[0]);
    if (pid < 0 || got == sizeof error) {
        if (pid > 0)
            waitpid(pid, NULL, 0);
        send_report(g, GUARD_NOT_STARTED, n, 0, error);
        return;
    }
    g->pid[n] = pid;
    send_report(g, GUARD_STARTED, n, pid, 0);
}

static void child_ended(pid_t pid, int status, void *data) {
    struct guarded *g = data;
    for (int n = 0; n < g->launch->n; n++) {
        if (g->pid[n] == pid) {
            g->pid[n] = 0;
            send_report(g, GUARD_ENDED, n, pid, status);
        }
    }
}

static void reap_all(struct guarded *g) {
    pid_t pid;
    int status;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        child_ended(pid, status, g); /* others are orphans of the tree */
}

/* What the tree has in shared memory is known only while it lives, and must not change from then
 * on. Twice: a stop takes effect when the process comes back from the kernel. */
static void note_leftovers(struct guarded *g) {
    for (int round = 0; round < 2; round++) {
        struct tree t;
        tree_find(getpid(), NULL, &t);
        for (size_t i = 0; i < t.n; i++)
            tree_signal(&t.process[i], SIGSTOP); /* tree_end lets them go on */
        leftovers_note(&g->leftovers, &t);
        tree_free(&t);
    }
}

static void stop_all(struct guarded *g) {
    note_leftovers(g);
    tree_end(NULL, GUARD_GRACE_NS, END_LIMIT_SECONDS * 1000000000ull, child_ended, g);
    leftovers_remove(&g->leftovers);
}

/* Returns when the runner has let go. */
static void watch_runner(struct guarded *g, int life, int children) {
    for (;;) {
        struct pollfd fds[] = {{life, POLLIN, 0}, {children, POLLIN, 0}};
        struct signalfd_siginfo info;
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return;
        if (fds[1].revents && read(children, &info, sizeof info) > 0)
            reap_all(g);
        if (fds[0].revents)
            return; /* nobody ever writes: this is the end of file */
    }
}

static void keep_only(const int *keep, int n) {
    for (unsigned from = 3;;) {
        unsigned next = ~0u;
        for (int i = 0; i < n; i++)
            if (keep[i] >= (int)from && (unsigned)keep[i] < next)
                next = (unsigned)keep[i];
        if (next != from)
            close_range(from, next == ~0u ? ~0u : next - 1, 0);
        if (next == ~0u)
            return;
        from = next + 1;
    }
}

static _Noreturn void guard_main(const struct launch *l, int life, int report) {
    struct guarded g = {.launch = l, .report = report};
    sigset_t child;
    g.pid = calloc((size_t)l->n + 1, sizeof *g.pid);
    leftovers_begin(&g.leftovers, l->temp_dir);
    setsid(); /* Ctrl-C on the runner's terminal does not reach the guard */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "holdpoint-guard");
    static const int survived[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    for (size_t i = 0; i < sizeof survived / sizeof *survived; i++)
        signal(survived[i], SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &child, NULL);
    int children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd); /* whoever reads the runner's output must not wait for the guard */
    keep_only((int[]){life, report, children, l->out, l->err}, 5);
    if (!g.pid || children < 0 || null < 0)
        _exit(1);
    for (int n = 0; n < l->n; n++)
        start_command(&g, n);
    watch_runner(&g, life, children);
    stop_all(&g);
    _exit(0);
}

bool guard_start(struct guard *g, const struct launch *l, char *problem, size_t size) {
    int life[2] = {-1, -1}, report[2] = {-1, -1};
    *g = (struct guard){.pid = -1, .life = -1, .report = -1};
    if (pipe2(life, O_CLOEXEC) == 0 && pipe2(report, O_CLOEXEC) == 0)
        g->pid = fork();
    if (g->pid == 0) {
        close(life[1]);
        close(report[0]);
        guard_main(l, life[0], report[1]);
    }
    if (g->pid < 0)
        snprintf(problem, size, "cannot start the guard process: %s", strerror(errno));
    close(life[0]);
    close(report[1]);
    g->life = life[1];
    g->report = report[0];
    if (g->pid > 0) {
        fcntl(g->report, F_SETFL, O_NONBLOCK);
        return true;
    }
    close(g->life);
    close(g->report);
    return false;
}

bool guard_next_report(struct guard *g, struct guard_report *r, bool *ended) {
    ssize_t n = read(g->report, r, sizeof *r);
    *ended = n == 0;
    return n == (ssize_t)sizeof *r;
}

void guard_let_go(struct guard *g) {
    if (g->life >= 0)
        close(g->life);
    g->life = -1;
}

void guard_wait(struct guard *g, uint64_t limit_ns) {
    uint64_t begin = steps_now();
    guard_let_go(g);
    while (waitpid(g->pid, NULL, WNOHANG) == 0) {
        if (steps_now() - begin > limit_ns)
            kill(g->pid, SIGKILL); /* our own child, not yet waited for: the id is still its */
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    close(g->report);
    g->report = -1;
}
