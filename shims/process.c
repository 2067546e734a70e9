/* This process as a rank: check-in, good-bye, and what its children inherit. */
#include "process.h"
#include "arch/x86_64/arch.h"
#include "call.h"
#include "code_ranges.h"
#include "descriptors.h"
#include "detectors.h"
#include "engine.h"
#include "events.h"
#include "fault_signals.h"
#include "heap_calls.h"
#include "join.h"
#include "loader.h"
#include "lock_table.h"
#include "objects.h"
#include "original.h"
#include "steps.h"
#include "thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct process unarmed;
struct process *process = &unarmed;

void process_problem(const char *sentence) {
    if (process->board && !process_slot()->problem[0])
        board_copy_text(process_slot()->problem, sizeof process_slot()->problem, sentence);
}

void process_table_full(enum board_table table) {
    if (process->board)
        atomic_fetch_or(&process->board->table_full, (uint32_t)table);
}

void process_record_exit(int status) {
    if (!process_armed() || getpid() != (pid_t)process->pid)
        return;
    struct board_slot *s = process_slot();
    fault_signals_check();
    uint32_t alive = SLOT_ALIVE;
    atomic_store(&s->exit_code, status & 0xff);
    atomic_store(&s->ended_ns, steps_now());
    if (atomic_compare_exchange_strong(&s->state, &alive, SLOT_EXITED))
        event_write(EVENT_EXIT, BOARD_NONE, BOARD_NONE, BOARD_NONE, (uint64_t)(uint32_t)status, 0);
}

static void at_exit(int status, void *unused) {
    (void)unused;
    process_record_exit(status);
}

static bool program_matches(const char *glob) {
    char path[256];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    const char *slash = strrchr(path, '/');
    return glob_matches(glob, slash ? slash + 1 : path);
}

static bool follows(const struct board *b) {
    return b->follow == FOLLOW_CHILDREN ||
           (b->follow == FOLLOW_PROGRAM && program_matches(board_string(b, b->follow_program)));
}

/* The slot that holdpoint-rank took for this very process, or a new one for a follower; -1: not a
 * rank. */
static int find_slot(struct board *b, int32_t rank) {
    const char *given = getenv(BOARD_ENV_SLOT);
    unsigned long own = given ? strtoul(given, NULL, 10) : b->n_slots;
    if (own < b->n_slots && atomic_load(&board_slots(b)[own].pid) == (uint32_t)getpid())
        return (int)own;
    return follows(b) ? join_spare_slot(b, rank, true) : -1;
}

static void new_object(struct object *o) {
    code_ranges_object(o);
    static const struct slot_user *const users[] = {&heap_slots, &call_slots, NULL};
    slots_patch_object(o, users);
}

static void loader_changed(void) {
    objects_scan(false, new_object);
}

bool process_has_sanitizer(void) {
    static const char *const runtime[] = {"__asan_init", "__tsan_init", "__hwasan_init",
                                          "__msan_init", "__lsan_init"};
    for (size_t i = 0; i < sizeof runtime / sizeof *runtime; i++)
        if (dlsym(RTLD_DEFAULT, runtime[i]))
            return true;
    return false;
}

/* Everything that makes this process a rank. `process` is published first, because the parts report
 * on the board. */
static void check_in(struct board *b, int slot, int32_t rank, bool first) {
    struct process *p = process;
    struct board_slot *s = &board_slots(b)[slot];
    p->board = b;
    p->slot = (uint16_t)slot;
    p->rank = rank;
    p->pid = (uint32_t)getpid();
    p->seq = steps_sequence(b, rank);
    p->incarnation = (uint16_t)(atomic_fetch_add(&s->incarnation, 1) + 1);
    ssize_t n = readlink("/proc/self/exe", s->program, sizeof s->program - 1);
    s->program[n > 0 ? n : 0] = '\0';
    for (uint32_t i = 0; i < b->n_hooks; i++)
        if (!b->hook[i].function) /* relocation slots add up over the programs that it runs */
            atomic_store(&s->bound[i], 1);
    engine_start();
    atomic_store(&p->armed, 1);
    lock_table_start();
    heap_calls_start();
    descriptors_start();
    if (first) {
        call_start();
        objects_scan(true, new_object);
        loader_start(loader_changed);
    }
    detectors_start();
    atomic_store(&s->checked_in_ns, steps_now());
    atomic_store(&s->state, SLOT_ALIVE);
    event_write(EVENT_CHECK_IN, BOARD_NONE, BOARD_NONE, BOARD_NONE, p->incarnation, 0);
}

/* A fork child comes with an all-zero process page. With `follow: children` it takes a slot of its
 * own. */
static struct {
    struct board *board;
    int32_t rank;
} inherited;

static void fork_child(void) {
    if (!inherited.board || !follows(inherited.board))
        return;
    int slot = find_slot(inherited.board, inherited.rank);
    if (slot >= 0)
        check_in(inherited.board, slot, inherited.rank, false);
}

/* In place: the environment only shrinks, and the C library has not taken it over yet. */
static void forget_environment(void) {
    static char preload[4096];
    char *given = getenv("LD_PRELOAD");
    unsetenv(BOARD_ENV_PATH);
    unsetenv(BOARD_ENV_SLOT);
    unsetenv(BOARD_ENV_RANK);
    if (given && process_clean_preload(given, preload, sizeof preload))
        memmove(given, preload, strlen(preload) + 1);
    else
        unsetenv("LD_PRELOAD");
}

static bool started;

void process_start(void) {
    if (started)
        return;
    started = true;
    int saved = errno;
    const char *path = getenv(BOARD_ENV_PATH), *rank_text = getenv(BOARD_ENV_RANK);
    const char *problem; /* holdpoint-rank has said it, or the runner will */
    struct board *b = path ? join_board(path, &problem) : NULL;
    original_start();
    if (b && rank_text) {
        long page = sysconf(_SC_PAGESIZE);
        int32_t rank = (int32_t)strtol(rank_text, NULL, 10);
        struct process *p =
            mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int slot = rank >= 0 && (uint32_t)rank < b->n_ranks ? find_slot(b, rank) : -1;
        if (slot >= 0 && p != MAP_FAILED && !madvise(p, (size_t)page, MADV_WIPEONFORK)) {
            process = p;
            inherited.board = b;
            inherited.rank = rank;
            arch_start();
            check_in(b, slot, rank, true);
            on_exit(at_exit, NULL);
            pthread_atfork(NULL, NULL, fork_child);
        } else if (slot < 0) {
            forget_environment(); /* a descendant that is no rank: its own children start clean */
        }
    }
    errno = saved;
}

/* With -z initfirst it runs before libc's own constructor, which sets environ. */
__attribute__((constructor)) static void constructor(int argc, char **argv, char **envp) {
    (void)argc, (void)argv;
    if (!environ)
        environ = envp;
    /* A sanitizer that is linked into the program starts after us, and its interceptors must not be
     * called before: then the start waits for __libc_start_main. */
    if (!dlsym(RTLD_DEFAULT, "__tsan_init") && !dlsym(RTLD_DEFAULT, "__asan_init"))
        process_start();
}

bool process_children_follow(void) {
    return inherited.board && inherited.board->follow != FOLLOW_NONE;
}
