/* Proves: a trial starts, is watched and ends with nothing left, also when it hangs, when it is
 * interrupted, and when its runner or its guard is killed; and it is the same trial after saving
 * and loading. The workload is this program itself, started with the name of a part to play.
 */
#include "trial.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "allocate.h"
#include "board/steps.h"
#include "tree.h"
#include "trial_file.h"

#define SECOND 1000000000ull

static int failures;
static char folder[] = "/tmp/holdpoint-test.XXXXXX";
static char self_path[4096];
static int number;

static void expect(bool good, const char *what) {
    if (!good) {
        printf("trial: %s\n", what);
        failures++;
    }
}

static void sleep_ms(long ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* ---- the workload's parts ---- */

static char shared_name[64];
static void name_shared(const char *of) {
    snprintf(shared_name, sizeof shared_name, "/holdpoint-test.%s", of);
}

__attribute__((noinline)) static void *wait_in_thread(void *unused) {
    for (;;)
        pause();
    return unused;
}

/* Two threads, a child, a daemon that ignores SIGTERM, a file in TMPDIR and one in /dev/shm. */
__attribute__((noinline)) static void play_hang(const char *name) {
    pthread_t thread;
    name_shared(name);
    int fd = shm_open(shared_name, O_CREAT | O_RDWR, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0 ||
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
        exit(1);
    close(fd);
    AUTO_TEXT file = format_text("%s/left-behind", getenv("TMPDIR"));
    close(open(file, O_CREAT | O_WRONLY, 0600));
    if (fork() == 0)
        wait_in_thread(NULL);
    if (fork() == 0) {
        signal(SIGTERM, SIG_IGN);
        setsid();
        if (fork() == 0)
            wait_in_thread(NULL);
        _exit(0);
    }
    pthread_create(&thread, NULL, wait_in_thread, NULL);
    printf("hanging\n");
    fflush(stdout);
    pthread_join(thread, NULL);
}

static int play(char **argv) {
    if (strcmp(argv[1], "hang") == 0)
        play_hang(argv[2]);
    if (strcmp(argv[1], "good") == 0) {
        printf("TMPDIR %s\nboard %s\n", getenv("TMPDIR"), getenv("HOLDPOINT_BOARD"));
        return 3;
    }
    for (;;) /* spin */
        ;
}

/* ---- making and looking at trials ---- */

static struct trial *make(char *part, char *argument) {
    struct complaints c = {0};
    struct trial *t = allocate(1, sizeof *t);
    AUTO_TEXT plan = format_text("%s/plan.yaml", folder);
    FILE *f = fopen(plan, "w");
    fputs("plan: p\npoints:\n  a: {hook: process.fork}\nsteps:\n  - reach a\n", f);
    fclose(f);
    t->dir = format_text("%s/%d", folder, ++number);
    t->id = copy_text("id");
    t->name = copy_text("name");
    t->argv = allocate(4, sizeof *t->argv);
    t->argv[0] = copy_text(*part == '/' ? part : self_path);
    t->argv[1] = copy_text(part);
    t->argv[2] = argument ? copy_text(argument) : NULL;
    t->ranks = 1;
    t->launcher = LAUNCHER_USER;
    t->time_scale = 1;
    t->limit_ns = 30 * SECOND;
    t->plan = plan_read(plan, &c);
    mkdir(t->dir, 0700);
    t->board = t->plan ? board_create(t->dir, t->plan, 1, 1, t->name, "/shim.so", &c) : NULL;
    if (!t->board || !trial_save(t, &c)) {
        complaints_print(&c);
        exit(1);
    }
    return t;
}

static struct ending run(struct trial *t) {
    struct ending e;
    struct complaints c = {0};
    trial_run(t, &e, &c);
    complaints_clear(&c);
    return e;
}

static char *read_file(const struct trial *t, const char *name) {
    AUTO_TEXT path = format_text("%s/%s", t->dir, name);
    char *text = allocate(65536, 1);
    int fd = open(path, O_RDONLY);
    if (fd >= 0 && read(fd, text, 65535) < 0)
        *text = '\0';
    close(fd);
    return text;
}

static bool contains(const struct trial *t, const char *name, const char *part) {
    AUTO_TEXT text = read_file(t, name);
    return strstr(text, part) != NULL;
}

static bool has_child(const char *name) {
    struct tree t;
    bool found = false;
    tree_find(getpid(), NULL, &t);
    for (size_t i = 0; i < t.n; i++)
        found |= t.process[i].state != 'Z' && (!name || strcmp(t.process[i].name, name) == 0);
    tree_free(&t);
    return found;
}

static void expect_nothing_left(const struct trial *t, const char *when) {
    AUTO_TEXT temp = format_text("%s/tmp", t->dir);
    AUTO_TEXT shm = format_text("/dev/shm%s", shared_name);
    if (has_child(NULL) || access(temp, F_OK) == 0 || (*shared_name && access(shm, F_OK) == 0)) {
        printf("trial: %s: left are%s%s%s\n", when, has_child(NULL) ? " processes" : "",
               access(temp, F_OK) == 0 ? " TMPDIR" : "",
               *shared_name && access(shm, F_OK) == 0 ? " shared memory" : "");
        failures++;
    }
    shm_unlink(shared_name);
}

static void wait_until_hanging(const struct trial *t) {
    for (int i = 0; i < 500 && !contains(t, "launcher.out", "hanging"); i++)
        sleep_ms(10);
    sleep_ms(50);
}

/* ---- the trials ---- */

static void ends_by_itself(void) {
    struct trial *t = make("good", NULL);
    struct ending e = run(t), read;
    struct complaints c = {0};
    expect(e.started && WIFEXITED(e.launcher_status) && WEXITSTATUS(e.launcher_status) == 3 &&
               !e.timed_out && !e.stalled && !e.interrupted && !e.guard_died,
           "the ending of a good trial is not told");
    AUTO_TEXT temp = format_text("TMPDIR %s/tmp\n", t->dir);
    expect(contains(t, "launcher.out", temp), "the trial has no TMPDIR of its own");
    expect(contains(t, "launcher.out", "/board\n"), "the board is not in the environment");
    expect(strstr(board_seqs(t->board)->detail, "every rank has ended"),
           "an open step is not called lost at the end");
    expect_nothing_left(t, "after a good trial");
    expect(trial_load_ending(t->dir, &read, &c) && read.launcher_status == e.launcher_status &&
               read.wall_ns == e.wall_ns && read.started,
           "the saved ending is another");
    trial_free(t);
}

static void cannot_start(void) {
    struct trial *t = make("/no/such/launcher", NULL);
    struct ending e = run(t);
    expect(!e.started && strstr(e.problem, "/no/such/launcher") &&
               strstr(e.problem, "No such file"),
           "a launcher that is missing is not named");
    expect_nothing_left(t, "after a launcher that is missing");
    trial_free(t);
}

static void stalls(void) {
    name_shared("stall");
    struct trial *t = make("hang", "stall");
    t->stall_ns = SECOND;
    struct ending e = run(t);
    expect(e.stalled && !e.timed_out && e.wall_ns < 6 * SECOND, "a hang is not seen");
    expect(contains(t, "evidence.txt", "nothing moved for 1.0 s") &&
               contains(t, "evidence.txt", "next is `reach a`"),
           "the evidence does not say why, or where the steps stand");
    expect(contains(t, "evidence.txt", "wait_in_thread+0x") &&
               contains(t, "evidence.txt", "play_hang+0x") &&
               contains(t, "evidence.txt", "syscall 34"),
           "the evidence lacks a thread's stack or its system call");
    expect(strstr(board_seqs(t->board)->detail, "was not done when the trial was stopped"),
           "an open step does not say that the trial was stopped");
    expect_nothing_left(t, "after a hang");
    trial_free(t);
}

/* Something runs, so it is no stall, but the trial's time is over. */
static void takes_too_long(void) {
    struct trial *t = make("spin", NULL);
    *shared_name = '\0';
    t->stall_ns = SECOND;
    t->limit_ns = 2 * SECOND;
    struct ending e = run(t);
    expect(e.timed_out && !e.stalled && e.wall_ns >= 2 * SECOND && e.wall_ns < 6 * SECOND,
           "the trial's limit is not kept, or spinning is called a stall");
    expect_nothing_left(t, "after the limit");
    trial_free(t);
}

/* Runs `t` in a process of its own, which is the runner. */
static pid_t start_runner(struct trial *t) {
    pid_t runner = fork();
    if (runner == 0) {
        signal(SIGINT, SIG_DFL); /* a shell's background job starts with it ignored */
        struct ending e = run(t);
        _exit(e.interrupted ? 10 : e.guard_died ? 11 : 12);
    }
    wait_until_hanging(t);
    return runner;
}

static int end_of(pid_t pid) {
    int status;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void is_interrupted(void) {
    name_shared("interrupt");
    struct trial *t = make("hang", "interrupt");
    pid_t runner = start_runner(t);
    kill(runner, SIGINT);
    expect(end_of(runner) == 10, "Ctrl-C does not interrupt");
    expect(contains(t, "ending.json", "\"interrupted\": true"), "the ending is not saved");
    expect_nothing_left(t, "after Ctrl-C");
    trial_free(t);
}

static void runner_is_killed(void) {
    name_shared("runner");
    struct trial *t = make("hang", "runner"), *again;
    struct complaints c = {0};
    struct ending e;
    pid_t runner = start_runner(t);
    kill(runner, SIGKILL);
    end_of(runner);
    expect(has_child("holdpoint-guard"), "there is no guard, or it is no process of its own");
    uint64_t begin = steps_now();
    while (has_child(NULL) && steps_now() - begin < 5 * SECOND)
        sleep_ms(20);
    expect_nothing_left(t, "5 s after the runner was killed");
    again = trial_load(t->dir, &c);
    expect(again && again->board->n_steps == 1 && !trial_load_ending(t->dir, &e, &c) &&
               c.count == 0,
           "the trial cannot be loaded after its runner's death");
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    trial_free(again);
    trial_free(t);
}

static void guard_is_killed(void) {
    name_shared("guard");
    struct trial *t = make("hang", "guard");
    struct tree all;
    pid_t runner = start_runner(t);
    tree_find(getpid(), NULL, &all);
    for (size_t i = 0; i < all.n; i++)
        if (strcmp(all.process[i].name, "holdpoint-guard") == 0)
            kill(all.process[i].pid, SIGKILL);
    tree_free(&all);
    uint64_t begin = steps_now();
    expect(end_of(runner) == 11, "the guard's death is not told");
    expect(steps_now() - begin < 5 * SECOND, "the tree lives on for 5 s after the guard's death");
    expect_nothing_left(t, "after the guard was killed");
    trial_free(t);
}

static void saved_and_loaded(void) {
    struct trial *t = make("good", "an \"argument\"\n"), *read;
    struct complaints c = {0};
    t->limit_ns = 7;
    t->time_scale = 2.5;
    t->needs_mark = true;
    t->sanitizer = copy_text("address");
    t->outcome[0] = (struct outcome){.rank = -1, .exit_status = 4, .n_attrs = 1};
    t->outcome[0].attr[0] = (struct outcome_attr){copy_text("init"), copy_text("fails")};
    t->n_outcomes = 1;
    expect(trial_save(t, &c), "the trial cannot be saved");
    read = trial_load(t->dir, &c);
    expect(read && strcmp(read->argv[2], "an \"argument\"\n") == 0 && !read->argv[3] &&
               read->limit_ns == 7 && read->time_scale == 2.5 && read->needs_mark &&
               read->launcher == LAUNCHER_USER && strcmp(read->sanitizer, "address") == 0 &&
               !read->component_file && read->n_outcomes == 1 && read->outcome[0].rank == -1 &&
               read->outcome[0].exit_status == 4 &&
               strcmp(read->outcome[0].attr[0].value, "fails") == 0,
           "what was loaded is not what was saved");
    trial_free(read);
    AUTO_TEXT path = format_text("%s/trial.json", t->dir);
    expect(truncate(path, 100) == 0 && !trial_load(t->dir, &c) && c.count == 1 &&
               strstr(c.text, "trial.json:"),
           "a truncated file is not complained about");
    complaints_clear(&c);
    trial_free(t);
}

int main(int argc, char **argv) {
    ssize_t n = readlink("/proc/self/exe", self_path, sizeof self_path - 1);
    char command[64];
    if (argc > 1)
        return play(argv);
    if (n <= 0 || !mkdtemp(folder))
        return 1;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* to see what a killed runner leaves */
    alarm(120);
    saved_and_loaded();
    ends_by_itself();
    cannot_start();
    stalls();
    takes_too_long();
    is_interrupted();
    runner_is_killed();
    guard_is_killed();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        failures++;
    printf(
        "trial: good, missing, stalled, too long, interrupted, runner killed, guard killed, saved: "
        "%s\n",
        failures ? "FAILED" : "good");
    return failures != 0;
}
