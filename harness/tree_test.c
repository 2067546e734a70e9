/* Proves: the whole tree is found and ended, a daemon that left it by two forks and setsid and that
 * ignores SIGTERM included, and nothing else is touched.
 */
#include "tree.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "board/steps.h"

static int failures;
static void expect(bool good, const char *what) {
    if (!good) {
        printf("tree: %s\n", what);
        failures++;
    }
}

static void sleep_ms(long ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void wait_here(void) {
    for (;;)
        pause();
}

/* Child with a grandchild and a daemon; writes one byte when all are there. */
static pid_t start_tree(int ready) {
    pid_t child = fork();
    if (child)
        return child;
    if (fork() == 0)
        wait_here();
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            signal(SIGTERM, SIG_IGN);
            prctl(PR_SET_NAME, "a (b) c) d");
            if (write(ready, "x", 1) != 1)
                _exit(1);
            wait_here();
        }
        _exit(0);
    }
    wait(NULL);
    wait_here();
    return 0;
}

struct told {
    pid_t child;
    int status, n;
};

static void note_reaped(pid_t pid, int status, void *data) {
    struct told *t = data;
    t->n++;
    if (pid == t->child)
        t->status = status;
}

static bool has_name(const struct tree *t, const char *name) {
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->process[i].name, name) == 0)
            return true;
    return false;
}

static void end_a_tree(void) {
    int ready[2];
    char byte;
    struct tree before, during, after;
    pid_t sibling = fork();
    if (sibling == 0) {
        if (fork() == 0)
            wait_here(); /* what is below the sibling is not ours either */
        wait_here();
    }
    sleep_ms(50);
    tree_find(getpid(), NULL, &before);
    expect(before.n == 2, "the sibling and its child are not found");
    if (pipe(ready) != 0)
        exit(1);
    struct told told = {.child = start_tree(ready[1]), .status = -1};
    expect(read(ready[0], &byte, 1) == 1, "the tree did not start");
    sleep_ms(50);
    tree_find(getpid(), &before, &during);
    expect(during.n == 3, "child, grandchild and daemon are not found, or the sibling is");
    expect(has_name(&during, "a (b) c) d"), "a name with brackets is not read whole");
    uint64_t begin = steps_now();
    expect(tree_end(&before, 200000000, 5000000000u, note_reaped, &told) == 0, "something is left");
    double seconds = (double)(steps_now() - begin) / 1e9;
    expect(seconds >= 0.2, "what ignores SIGTERM was given no time");
    expect(seconds < 3, "ending the tree took more than 3 s");
    expect(told.n == 3 && WIFSIGNALED(told.status) && WTERMSIG(told.status) == SIGTERM,
           "the endings were not told");
    tree_find(getpid(), NULL, &after);
    expect(after.n == 2 && kill(sibling, 0) == 0, "the sibling was touched");
    tree_end(NULL, 0, 5000000000u, NULL, NULL);
    tree_free(&before);
    tree_free(&during);
    tree_free(&after);
}

static void *stay(void *unused) {
    wait_here();
    return unused;
}

/* A process whose main thread has ended looks like a zombie and is none. */
static void main_thread_ended(void) {
    struct tree_process p;
    pthread_t thread;
    pid_t child = fork();
    if (child == 0) {
        pthread_create(&thread, NULL, stay, NULL);
        pthread_exit(NULL);
    }
    sleep_ms(100);
    expect(tree_read(child, 0, &p) && p.state != 'Z',
           "a process without its main thread is called dead");
    kill(child, SIGKILL);
    sleep_ms(100);
    expect(tree_read(child, 0, &p) && p.state == 'Z' && p.zombie_status == SIGKILL,
           "a zombie, or how it ended, is not seen");
    p.start++;
    waitpid(child, NULL, 0);
    expect(!tree_read(child, 0, &p), "a process that is gone is found");
}

/* The same process id with another start time is another process. */
static void reused_process_id(void) {
    struct tree_process p;
    pid_t child = fork();
    if (child == 0)
        wait_here();
    expect(tree_read(child, 0, &p), "the child is not found");
    p.start++;
    tree_signal(&p, SIGKILL);
    sleep_ms(50);
    expect(waitpid(child, NULL, WNOHANG) == 0, "a process was signalled that only had the same id");
    p.start--;
    tree_signal(&p, SIGKILL);
    expect(waitpid(child, NULL, 0) == child, "the right process was not signalled");
}

int main(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    alarm(60);
    end_a_tree();
    main_thread_ended();
    reused_process_id();
    printf(
        "tree: a tree with a daemon ended, a sibling untouched, dead main thread, reused id: %s\n",
        failures ? "FAILED" : "good");
    return failures != 0;
}
