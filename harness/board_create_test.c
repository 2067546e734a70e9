/* Proves: a plan's gates, marks, claims, hooks and texts are on the board as the semantics say; the
 * board opens again, and one that was damaged, cut, or is another file does not. */
#include "plan.h"

#include <fcntl.h>
#include <stddef.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "test_files.h"

static char *folder;

static struct board *create(const char *text, int n_ranks, double time_scale) {
    struct complaints c = {0};
    AUTO_TEXT file = test_write_text(folder, "p.yaml", text);
    struct plan *p = plan_read(file, &c);
    bool good = p && plan_check(p, n_ranks, NULL, &c);
    struct board *b =
        good ? board_create(folder, p, n_ranks, time_scale, "a trial", "/lib/shim.so", &c) : NULL;
    CHECK(b, "no board: %s", c.text ? c.text : "");
    if (!b)
        exit(1);
    plan_free(p);
    unlink(file);
    complaints_clear(&c);
    return b;
}

static void discard(struct board *b) {
    board_close(b);
    board_remove(folder);
    AUTO_TEXT path = format_text("%s/board", folder);
    CHECK(access(path, F_OK) != 0, "board_remove left %s", path);
}

/* Compares one text on the board. */
#define TEXT(b, at, wanted)                                                                        \
    CHECK(strcmp(board_string(b, at), wanted) == 0, "text is \"%s\", wanted \"%s\"",               \
          board_string(b, at), wanted)

/* The example of semantics.md, with functions in place of the hooks that are not there yet. */
static const char exit_during_teardown[] =
    "plan: exit-during-teardown\n"
    "roles:\n"
    "  loop:    {at: 'call:*!shutdown'}\n"
    "  exiting: {at: thread.exit, start: '*ThreadContext*'}\n"
    "points:\n"
    "  at_exit: {hook: 'call:*!destroy', role: exiting}\n"
    "  at_lock: {hook: 'call:*!pthread_mutex_lock', role: loop, within: teardown, nth: 2}\n"
    "  waiting: {hook: 'call:*!pthread_cond_wait', role: exiting, within: at_exit, side: asleep}\n"
    "  teardown: {hook: 'call:*!shutdown'}\n"
    "steps:\n"
    "  - reach at_exit\n"
    "  - reach at_lock\n"
    "  - pass  at_exit\n"
    "  - reach waiting\n"
    "  - pass  at_lock\n"
    "timeout: 5s\n"
    "detect: [asan]\n";

static void check_step(const struct board *b, int i, enum step_kind kind, int point, int claim,
                       int line, const char *text) {
    const struct board_step *s = &b->step[i];
    CHECK(s->kind == kind && s->point == point && s->claim == claim && s->line == line,
          "step %d: kind %d point %d claim %d line %d", i, s->kind, s->point, s->claim, s->line);
    TEXT(b, s->text, text);
}

static void test_example(void) {
    struct board *b = create(exit_during_teardown, 2, 2.0);
    const struct board_point *p = b->point;
    CHECK(b->n_points == 6 && b->n_steps == 5 && b->n_claims == 2 && b->n_roles == 2, "counts");
    CHECK(b->n_hooks == 5, "%u hooks: call:*!shutdown is one, though two points have it",
          b->n_hooks);
    CHECK(p[3].hook == p[4].hook, "teardown and the role loop have two hooks");
    CHECK(p[0].is_gate && p[1].is_gate && !p[2].is_gate && !p[3].is_gate, "gates");
    CHECK(p[0].first_claim == 0 && p[0].n_claims == 1 && p[1].first_claim == 1 &&
              p[1].n_claims == 1 && p[2].n_claims == 0,
          "claims of points");
    check_step(b, 0, STEP_REACH, 0, 0, 11, "reach at_exit");
    check_step(b, 1, STEP_REACH, 1, 1, 12, "reach at_lock");
    check_step(b, 2, STEP_PASS, 0, 0, 13, "pass at_exit");
    check_step(b, 3, STEP_REACH, 2, BOARD_NONE, 14, "reach waiting");
    check_step(b, 4, STEP_PASS, 1, 1, 15, "pass at_lock");
    CHECK(b->claim[0].point == 0 && b->claim[0].pass_step == 2 &&
              b->claim[0].previous == BOARD_NONE && b->claim[1].point == 1 &&
              b->claim[1].pass_step == 4,
          "claims");
    CHECK(p[1].role == 0 && p[0].role == 1 && p[1].within == 3 && p[1].nth == 2 &&
              p[2].within == 0 && p[2].side == SIDE_ASLEEP && p[0].rank == -1,
          "filters");
    CHECK(p[0].disarm_after == 2 && p[1].disarm_after == 4 && p[2].disarm_after == 3, "disarming");
    CHECK(p[0].in_fault && !p[1].in_fault && !p[2].in_fault && p[3].in_fault && p[4].in_fault &&
              p[5].in_fault,
          "extents of others and points of roles outlive their steps");
    CHECK(p[0].in_steps && p[2].in_steps && !p[3].in_steps && !p[4].in_steps, "in_steps");
    CHECK(b->role[0].point == 4 && b->role[1].point == 5, "points of roles");
    CHECK(b->role[0].counts_with == 0 && b->role[1].counts_with == 1, "roles of their own counts");
    CHECK(p[5].n_filters == 1 && b->filter[p[5].first_filter].attr == ATTR_START,
          "attribute filter");
    TEXT(b, b->filter[p[5].first_filter].text, "*!*ThreadContext*");
    TEXT(b, b->hook[p[1].hook].function, "pthread_mutex_lock");
    TEXT(b, b->hook[p[1].hook].module, "*");
    TEXT(b, b->role[0].name, "loop");
    TEXT(b, p[4].name, "role loop");
    TEXT(b, b->plan_name, "exit-during-teardown");
    TEXT(b, b->trial_name, "a trial");
    TEXT(b, b->shim_path, "/lib/shim.so");
    TEXT(b, b->trial_dir, folder);
    CHECK(b->timeout_ns == 10000000000u, "the timeout is not scaled by 2");
    CHECK(b->detectors == DETECT_ASAN && b->follow == FOLLOW_NONE && !b->scope_rank, "rest");
    CHECK(b->n_ranks == 2 && b->n_slots == 24 && b->n_rings == 64 && b->n_seqs == 1 &&
              board_seqs(b)[0].rank == -1,
          "run-time tables");
    discard(b);
}

/* A point of which several claims are made, and marks armed late. */
static void test_claims(void) {
    struct board *b = create("plan: claims\nscope: rank\nranks: [4, 0, 9]\npoints:\n"
                             "  m: {hook: thread.start, after: 'pass g #2'}\n"
                             "  g: {hook: 'call:*!f', same: true, crowd: hold}\n"
                             "steps: [pass g, reach g, reach g, pass g, reach m, pass g]\n",
                             10, 1);
    static const int claim[] = {0, 1, 1, 1, BOARD_NONE, 2};
    for (int i = 0; i < 6; i++)
        CHECK(b->step[i].claim == claim[i], "step %d is about claim %d, wanted %d", i,
              b->step[i].claim, claim[i]);
    const struct board_point *g = &b->point[1], *m = &b->point[0];
    CHECK(g->first_claim == 0 && g->n_claims == 3 && g->same && g->crowd_hold, "claims of g");
    CHECK(b->claim[0].previous == BOARD_NONE && b->claim[1].previous == 0 &&
              b->claim[2].previous == 1,
          "order of claims");
    CHECK(b->claim[0].pass_step == 0 && b->claim[1].pass_step == 3 && b->claim[2].pass_step == 5,
          "passes of claims");
    CHECK(m->arm_after == 3 && m->disarm_after == 4 && g->arm_after == -1 && g->disarm_after == 5,
          "arming");
    CHECK(b->scope_rank && b->n_seqs == 3 && board_seqs(b)[0].rank == 4 &&
              board_seqs(b)[1].rank == 0 && board_seqs(b)[2].rank == 9,
          "sequences");
    CHECK(b->n_rings == 80 && b->n_slots == 56, "tables of 10 ranks");
    discard(b);
}

/* The example of design.md: a fault that holds a callback until a call returns. */
static void test_faults(void) {
    struct board *b = create(
        "plan: late-callback\npoints:\n  init_step: {hook: 'call:libmpi.so.40!ompi_request_init'}\n"
        "  fence_done: {hook: pmix.fence_nb.callback}\n"
        "  init_returned: {hook: 'call:*!MPI_Session_init', side: return, from: a.out}\n"
        "faults:\n  - {at: init_step, rank: 0, do: fail, return: -1}\n"
        "  - {at: fence_done, rank: 0, do: hold, until: init_returned, for: 2s}\n"
        "  - {at: init_step, do: fail, errno: ECONNRESET, prob: 0.1, seed: 7}\n"
        "  - {at: init_step, do: fail, return: arg3, prob: 0.0000011, seed: 7}\n"
        "  - {at: fence_done, do: repeat}\n"
        "env: {1: {A: b}}\n",
        2, 1.5);
    const struct board_fault *f = b->fault;
    CHECK(b->n_faults == 5 && b->n_steps == 0 && b->n_claims == 0, "counts");
    CHECK(f[0].point == 0 && f[0].action == FAULT_FAIL && f[0].rank == 0 && f[0].ret == -1 &&
              f[0].line == 7 && f[0].until == BOARD_NONE && f[0].prob_ppm == 0,
          "fail");
    TEXT(b, f[0].text, "fail init_step rank 0 return -1");
    CHECK(f[1].action == FAULT_HOLD && f[1].until == 2 && f[1].ns == 3000000000u, "hold, scaled");
    CHECK(f[2].prob_ppm == 100000 && f[2].seed == 7 && f[2].error_number == 104 && f[2].ret == -1,
          "prob is %u ppm", f[2].prob_ppm);
    CHECK(f[3].return_is_arg && f[3].ret == 3 && f[3].prob_ppm == 2, "arg3, %u ppm", f[3].prob_ppm);
    CHECK(f[4].action == FAULT_REPEAT && f[4].times == 2, "repeat is twice unless it says more");
    CHECK(b->point[0].in_fault && b->point[1].in_fault && b->point[2].in_fault, "in_fault");
    CHECK(b->point[2].side == SIDE_RETURN, "side");
    TEXT(b, b->hook[b->point[2].hook].from, "a.out");
    CHECK(b->n_env == 1 && b->env[0].rank == 1, "env");
    TEXT(b, b->env[0].assignment, "A=b");
    discard(b);
}

static void expect_open(const char *path, const char *wanted) {
    struct complaints c = {0};
    struct board *b = board_open(path, &c);
    if (!wanted)
        CHECK(b, "does not open: %s", c.text ? c.text : "");
    else
        CHECK(!b && c.text && strstr(c.text, wanted), "said %s, wanted \"%s\"",
              c.text ? c.text : "nothing", wanted);
    board_close(b);
    complaints_clear(&c);
}

/* Changes one byte of the file, looks, and changes it back. */
static void expect_damage(const char *path, size_t at, const char *wanted) {
    int fd = open(path, O_RDWR | O_CLOEXEC);
    unsigned char byte = 0;
    CHECK(pread(fd, &byte, 1, (off_t)at) == 1, "byte %zu", at);
    byte ^= 0x20;
    CHECK(pwrite(fd, &byte, 1, (off_t)at) == 1, "byte %zu", at);
    expect_open(path, wanted);
    byte ^= 0x20;
    CHECK(pwrite(fd, &byte, 1, (off_t)at) == 1, "byte %zu", at);
    close(fd);
}

static void test_round_trip(void) {
    struct board *b = create(exit_during_teardown, 3, 1);
    AUTO_TEXT path = format_text("%s/board", folder);
    struct stat status;
    CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600, "mode %o",
          status.st_mode & 0777);
    CHECK((uint64_t)status.st_size == b->total_bytes, "length");
    CHECK((uint64_t)status.st_blocks * 512 >= b->total_bytes, "not allocated in full");
    CHECK(board_problem(b, b->total_bytes) == NULL, "%s", board_problem(b, b->total_bytes));
    atomic_store(&board_slots(b)[0].pid, 77u);
    struct complaints c = {0};
    struct board *again = board_open(path, &c);
    CHECK(again && atomic_load(&board_slots(again)[0].pid) == 77, "not the same file");
    board_close(again);
    board_close(b);

    expect_open(path, NULL);
    expect_damage(path, offsetof(struct board, plan_hash), "damaged");
    expect_damage(path, offsetof(struct board, point) + 9, "damaged");
    expect_damage(path, offsetof(struct board, strings) + BOARD_STRING_BYTES - 1, "damaged");
    expect_damage(path, 0, "magic");
    expect_damage(path, offsetof(struct board, version), "another version");
    expect_damage(path, offsetof(struct board, phase),
                  NULL); /* run-time part: changes are no damage */
    expect_open(path, NULL);
    CHECK(truncate(path, status.st_size - 1) == 0, "truncate");
    expect_open(path, "truncated");
    CHECK(truncate(path, 100) == 0, "truncate");
    expect_open(path, "shorter than a board's fixed part");
    CHECK(truncate(path, 0) == 0, "truncate");
    expect_open(path, "truncated");
    board_remove(folder);
    expect_open(path, "No such file");
    expect_open(folder, "cannot be opened");
    expect_open("/dev/null", "is no plain file");
}

static void test_refusals(void) {
    struct complaints c = {0};
    AUTO_TEXT file = test_write_text(folder, "p.yaml", "plan: a\n");
    struct plan *p = plan_read(file, &c);
    struct board *b = board_create(folder, p, 1, 1, "t", NULL, &c);
    CHECK(b, "refused: %s", c.text ? c.text : "");
    CHECK(!board_create(folder, p, 1, 1, "t", NULL, &c) && strstr(c.text, "File exists"),
          "a second board in the same folder: %s", c.text ? c.text : "made");
    complaints_clear(&c);
    discard(b);
    CHECK(!board_create(folder, p, 0, 1, "t", NULL, &c) && strstr(c.text, "0 ranks"), "0 ranks");
    complaints_clear(&c);
    CHECK(!board_create(folder, p, 1025, 1, "t", NULL, &c) && strstr(c.text, "1 to 1024"), "1025");
    complaints_clear(&c);
    CHECK(!board_create("/nonexistent", p, 1, 1, "t", NULL, &c) && strstr(c.text, "No such file"),
          "a folder that is not there");
    complaints_clear(&c);
    plan_free(p);
    unlink(file);
}

/* board_remove must not follow a link that is not ours. */
static void test_remove_is_careful(void) {
    AUTO_TEXT link = format_text("%s/board", folder);
    AUTO_TEXT inner = format_text("%s/inner", folder);
    mkdir(inner, 0700);
    AUTO_TEXT other = test_write_text(inner, "board", "mine");
    CHECK(symlink(other, link) == 0, "symlink");
    board_remove(folder);
    CHECK(access(other, F_OK) == 0 && access(link, F_OK) != 0, "a foreign file was removed");
    unlink(other);
    rmdir(inner);

    AUTO_TEXT private = copy_text("/tmp/holdpoint.XXXXXX");
    CHECK(mkdtemp(private) != NULL, "mkdtemp");
    AUTO_TEXT board = test_write_text(private, "board", "x");
    CHECK(symlink(board, link) == 0, "symlink");
    board_remove(folder);
    CHECK(access(private, F_OK) != 0, "the board's private folder was left");
}

/* A board that does not fit says so with both numbers, and leaves nothing. Needs a small file
 * system: the limit on the size of a file stands in for it. */
static void test_no_room(void) {
    pid_t child = fork();
    if (child == 0) {
        struct complaints c = {0};
        AUTO_TEXT file = test_write_text(folder, "p.yaml", "plan: a\n");
        struct plan *p = plan_read(file, &c);
        struct rlimit limit = {4096, 4096};
        setrlimit(RLIMIT_FSIZE, &limit);
        signal(SIGXFSZ, SIG_IGN);
        struct board *b = board_create(folder, p, 1, 1, "t", NULL, &c);
        CHECK(!b && strstr(c.text, "the board needs ") && strstr(c.text, "raise the limit"), "%s",
              c.text ? c.text : "made");
        AUTO_TEXT board = format_text("%s/board", folder);
        CHECK(access(board, F_OK) != 0, "half a board was left");
        unlink(file);
        fflush(NULL);
        _exit(test_failures != 0); /* no leak check here: its report could not be written */
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "no room: see above");
}

static void test_roles_that_count_together(void) {
    struct board *b = create("plan: roles\n"
                             "roles:\n"
                             "  first:  {at: 'call:*!work', nth: 1}\n"
                             "  other:  {at: 'call:*!work', nth: 1, rank: 1}\n"
                             "  second: {at: 'call:*!work', nth: 2}\n"
                             "points:\n"
                             "  x: {hook: 'call:*!a', role: first}\n"
                             "  y: {hook: 'call:*!a', role: second}\n"
                             "  z: {hook: 'call:*!a', role: other}\n"
                             "steps: [reach x, reach y, reach z]\n",
                             2, 1);
    CHECK(b->role[0].counts_with == 0 && b->role[1].counts_with == 1 && b->role[2].counts_with == 0,
          "an arrival has other numbers for roles with the same `at`, or the same for others");
    discard(b);
}

int main(void) {
    folder = test_folder();
    test_example();
    test_roles_that_count_together();
    test_claims();
    test_faults();
    test_round_trip();
    test_refusals();
    test_remove_is_careful();
    test_no_room();
    rmdir(folder);
    free(folder);
    if (!test_failures)
        puts("board_create: gates, marks, claims, faults, texts; round trip, damage, truncation, "
             "room");
    return test_failures != 0;
}
