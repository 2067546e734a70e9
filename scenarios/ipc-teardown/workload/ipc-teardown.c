/* The workload of ipc-teardown, and what a user's own binary must look like to take its place:
 *   ipc-teardown MODE [MICROSECONDS]
 * The modes are told in ../README.md; `conversation` is one thread's conversation of calls and
 * callbacks, wherever it is cut. One server process a connection; they are this program again, and
 * end with it. Every wait is bounded. Ends with 0 and the line `holdpoint-workload: done` when
 * everything was as the mode says. */
#include "../component/ipc.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SERVER_FD = 30, MAX_THREADS = 16, MAX_SERVERS = 4, LIMIT_SECONDS = 40 };
extern char **environ;

static struct server {
    pid_t process;
    struct ipc_client *client;
} servers[MAX_SERVERS];
static int n_servers = 1, n_threads = 1;
static const char *mode;
static const char *waiting_for = "the start";
static pthread_barrier_t called, released;

static void fail(const char *what) {
    fprintf(stderr, "ipc-teardown %s: %s: %s\n", mode, what, strerror(errno));
    exit(1);
}

static void too_long(int unused) {
    (void)unused;
    static const char text[] = "ipc-teardown: it took too long; waiting for ";
    if (write(2, text, sizeof text - 1) < 0 || write(2, waiting_for, strlen(waiting_for)) < 0 ||
        write(2, "\n", 1) < 0)
        _exit(4);
    _exit(3);
}

static bool is(const char *name) {
    return strcmp(mode, name) == 0;
}

static void pause_us(long us) {
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    while (nanosleep(&t, &t) && errno == EINTR)
        ;
}

/* ---- servers ---- */

/* This program again; not by /proc/self/exe, which under valgrind is valgrind. */
static pid_t spawn(const char *how, const char *argument, int fd) {
    static char self[4096];
    posix_spawn_file_actions_t actions;
    char *argv[] = {self, (char *)(uintptr_t)how, (char *)(uintptr_t)argument, NULL};
    pid_t process;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        fail("its own path");
    self[n] = '\0';
    posix_spawn_file_actions_init(&actions);
    if (fd >= 0)
        posix_spawn_file_actions_adddup2(&actions, fd, SERVER_FD);
    errno = posix_spawn(&process, self, &actions, NULL, argv, environ);
    if (errno)
        fail("starting the server");
    posix_spawn_file_actions_destroy(&actions);
    return process;
}

static void start_server(struct server *s, struct loop *l) {
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
        fail("socketpair");
    s->process = spawn("--server", "30", fd[1]);
    close(fd[1]);
    s->client = ipc_client_new(l, fd[0]);
}

static void start_listener(struct server *s, struct loop *l, const char *path) {
    s->process = spawn("--listen", path, -1);
    for (int tries = 0; !(s->client = ipc_client_connect(l, path)); tries++) {
        if (tries == 10000)
            fail("connecting to the server");
        pause_us(1000);
    }
}

static void kill_servers(void) {
    for (int i = 0; i < n_servers; i++)
        kill(servers[i].process, SIGKILL);
}

static void reap_servers(void) {
    waiting_for = "the servers";
    for (int i = 0; i < n_servers; i++)
        if (waitpid(servers[i].process, NULL, 0) != servers[i].process)
            fail("waiting for a server");
}

/* ---- threads ---- */

static void expect(bool good, const char *what) {
    if (good)
        return;
    errno = EPROTO;
    fail(what);
}

static int twice(struct ipc_client *c, int value) {
    (void)c;
    return 2 * value;
}

static void *caller(void *unused) {
    int answer = 0;
    for (int i = 0; i < n_servers; i++)
        expect(!ipc_call(servers[i].client, IPC_PING, 1, &answer, NULL) && answer == 2, "a ping");
    for (int i = 0; i < n_servers; i++)
        expect(!ipc_call(servers[i].client, IPC_CALL_BACK, 3, &answer, twice) && answer == 12,
               "a callback");
    pthread_barrier_wait(&called);
    if (is("incall"))
        for (int i = 0; i < n_servers; i++)
            expect(ipc_call(servers[i].client, IPC_DIE, 0, NULL, NULL) < 0, "the end in a call");
    if (is("idle") || is("many"))
        pthread_barrier_wait(&released);
    return unused;
}

static void run_threads(long us) {
    pthread_t thread[MAX_THREADS];
    pthread_barrier_init(&called, NULL, (unsigned)n_threads + 1);
    pthread_barrier_init(&released, NULL, (unsigned)n_threads + 1);
    for (int i = 0; i < n_threads; i++)
        if ((errno = pthread_create(&thread[i], NULL, caller, NULL)))
            fail("starting a thread");
    waiting_for = "the first calls";
    pthread_barrier_wait(&called);
    if (is("early"))
        pause_us(us);
    if (!is("local") && !is("incall"))
        kill_servers();
    if (is("idle") || is("many")) {
        pause_us(us);
        pthread_barrier_wait(&released);
    }
    waiting_for = "the threads";
    for (int i = 0; i < n_threads; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&called);
    pthread_barrier_destroy(&released);
}

/* ---- the conversation ---- */

static int ask_within(struct ipc_client *c, int value) {
    int answer = 0;
    ipc_call(c, IPC_PING, value, &answer, NULL);
    return answer;
}

/* Everything that the protocol has; true: to its end. */
static bool converse(struct ipc_client *c) {
    int answer = 0;
    if (ipc_call(c, IPC_PING, 1, &answer, NULL))
        return false;
    expect(answer == 2, "a ping");
    if (ipc_call(c, IPC_CALL_BACK, 2, &answer, twice))
        return false;
    expect(answer == 6, "a callback");
    if (ipc_call(c, IPC_CALL_BACK, 2, &answer, ask_within))
        return false;
    expect(answer == 5, "a call within a callback");
    return !ipc_call(c, IPC_PING, 7, &answer, NULL) && answer == 8;
}

static void *talker(void *unused) {
    printf("conversation: %s\n", converse(servers[0].client) ? "whole" : "cut");
    return unused;
}

static void run_conversation(void) {
    pthread_t thread;
    if ((errno = pthread_create(&thread, NULL, talker, NULL)))
        fail("starting a thread");
    waiting_for = "the conversation";
    pthread_join(thread, NULL);
    kill_servers();
}

/* ---- the whole ---- */

static const char *const modes[] = {"incall", "idle", "early", "many", "local", "conversation"};

static bool known_mode(const char *name) {
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(modes[i], name))
            return true;
    return false;
}

static void start_servers(struct loop *l) {
    char folder[] = "/tmp/ipc-teardown.XXXXXX", path[sizeof folder + 8];
    waiting_for = "the servers to start";
    if (!is("conversation")) {
        for (int i = 0; i < n_servers; i++)
            start_server(&servers[i], l);
        return;
    }
    if (!mkdtemp(folder))
        fail("a folder for the socket");
    snprintf(path, sizeof path, "%s/socket", folder);
    start_listener(&servers[0], l, path);
    unlink(path);
    rmdir(folder);
}

static void run(long us) {
    struct loop *l = loop_start();
    if (!l)
        fail("starting the loop");
    start_servers(l);
    if (is("conversation"))
        run_conversation();
    else
        run_threads(us);
    waiting_for = "the connections to end";
    for (int i = 0; i < n_servers; i++)
        ipc_client_free(servers[i].client);
    loop_stop(l);
    reap_servers();
}

int main(int argc, char **argv) {
    mode = argc > 1 ? argv[1] : "";
    signal(SIGALRM, too_long);
    alarm(LIMIT_SECONDS);
    if (argc == 3 && (is("--server") || is("--listen"))) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (is("--server"))
            ipc_serve(atoi(argv[2]));
        return is("--listen") && ipc_listen(argv[2]) ? 1 : 0;
    }
    if (argc < 2 || argc > 3 || !known_mode(mode)) {
        fprintf(stderr, "usage: %s incall|idle|early|many|local|conversation [MICROSECONDS]\n",
                argv[0]);
        return 2;
    }
    if (is("many")) {
        n_threads = MAX_THREADS;
        n_servers = MAX_SERVERS;
    }
    run(argc == 3 ? atol(argv[2]) : 0);
    puts("holdpoint-workload: done");
    return 0;
}
