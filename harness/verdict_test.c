/* The verdicts' rules on boards made in memory: a trial that is clean, and one change at a time
 * that takes its verdict away, each with the sentence that says why.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "hook_names.h"
#include "record.h"

static int failed, checked;
static void check(bool ok, const char *what, const char *more) {
    checked++;
    if (ok)
        return;
    printf("  FAILED: %s: %s\n", what, more);
    failed = 1;
}

/* ---- a clean trial of two ranks ---- */

enum { POINT_GATE, POINT_MARK, STEP_REACH_GATE = 0, STEP_REACH_MARK, STEP_PASS_GATE, N_STEPS };

struct made {
    struct trial trial;
    struct ending ending;
    struct board *board;
    struct record record;
    struct known_list known;
};

static uint32_t string(struct board *b, const char *text) {
    uint32_t at = b->string_bytes ? b->string_bytes : 1;
    strcpy(b->strings + at, text);
    b->string_bytes = at + (uint32_t)strlen(text) + 1;
    return at;
}

static void make_plan(struct board *b) {
    b->n_hooks = 1;
    b->hook[0] = (struct board_hook){
        .id = HOOK_CALL, .module = string(b, "libx.so"), .function = string(b, "work"), .from = 0};
    b->n_points = 2;
    b->point[POINT_GATE] =
        (struct board_point){.name = string(b, "at_exit"), .is_gate = 1, .in_steps = 1};
    b->point[POINT_MARK] =
        (struct board_point){.name = string(b, "waiting"), .in_steps = 1, .in_fault = 1};
    b->n_steps = N_STEPS;
    b->step[0] = (struct board_step){STEP_REACH, POINT_GATE, 0, 10, string(b, "reach at_exit")};
    b->step[1] =
        (struct board_step){STEP_REACH, POINT_MARK, BOARD_NONE, 11, string(b, "reach waiting")};
    b->step[2] = (struct board_step){STEP_PASS, POINT_GATE, 0, 12, string(b, "pass at_exit")};
    b->n_claims = 1;
    b->claim[0] = (struct board_claim_plan){POINT_GATE, STEP_PASS_GATE, BOARD_NONE, 0};
    b->n_faults = 1;
    b->fault[0] = (struct board_fault){.point = POINT_MARK,
                                       .action = FAULT_HOLD,
                                       .rank = 1,
                                       .until = POINT_GATE,
                                       .line = 20,
                                       .text = string(b, "hold waiting rank 1 until at_exit")};
}

static void make_run(struct board *b) {
    for (uint32_t r = 0; r < 2; r++) {
        struct board_slot *s = &board_slots(b)[r];
        s->state = SLOT_EXITED;
        s->rank = (int32_t)r;
        s->pid = 100 + r;
        s->incarnation = 1;
        s->started_ns = 1000;
        s->checked_in_ns = 2000;
        s->ended_ns = 900000;
        s->bound[0] = 2;
        s->live_detectors = DETECT_ASAN | DETECT_FRAMES;
        s->promised = s->delivered = 1;
        s->modules[0] = 1;
        strcpy(s->program, "/opt/app");
    }
    struct board_seq *q = &board_seqs(b)[0];
    q->rank = -1;
    q->state = N_STEPS;
    q->claim[0] = (struct board_claim){board_party_make(0, 1, 100), 2, 1, 3000};
    for (uint32_t i = 0; i < N_STEPS; i++)
        q->done[i] = (struct board_step_done){3000 + i, board_party_make(0, 1, 100), 1};
    q->point[POINT_GATE].arrivals = 1;
    b->fault_count[0] = (struct board_fault_count){
        .arrivals = 1, .fired = 1, .released = 1, .party = board_party_make(1, 1, 101), .rank = 1};
    b->faults_fired = 1;
    b->module[0].state = 2;
    strcpy(b->module[0].path, "/opt/libx.so");
}

static struct board *make_board(void) {
    size_t at_ranks = (sizeof(struct board) + 63) & ~(size_t)63;
    size_t at_seqs = at_ranks + 2 * sizeof(struct board_rank);
    size_t at_slots = at_seqs + 2 * sizeof(struct board_seq);
    size_t at_rings = at_slots + 8 * sizeof(struct board_slot);
    size_t bytes = at_rings + 2 * sizeof(struct board_ring);
    struct board *b = allocate(bytes, 1);
    b->n_ranks = 2;
    b->n_seqs = 1;
    b->n_slots = 8;
    b->n_rings = 2;
    b->at_ranks = at_ranks;
    b->at_seqs = at_seqs;
    b->at_slots = at_slots;
    b->at_rings = at_rings;
    b->detectors = DETECT_FRAMES;
    b->guarded_point = BOARD_NONE;
    make_plan(b);
    make_run(b);
    return b;
}

static void add_note(struct record *e, enum log_note_kind kind, int rank, const char *file,
                     const char *text) {
    struct logscan *s = &e->logs;
    s->note = allocate_again(s->note, (size_t)s->n_notes + 1, sizeof *s->note);
    s->note[s->n_notes++] = (struct log_note){kind, rank, copy_text(text), copy_text(file), true};
}

static void make_logs(struct record *e) {
    static const char *const files[] = {"board", "rank.0.err", "rank.0.out", "rank.1.err",
                                        "rank.1.out"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        e->file = allocate_again(e->file, i + 1, sizeof *e->file);
        e->file[e->n_files++] = copy_text(files[i]);
        if (i)
            add_note(e, NOTE_END, files[i][5] - '0', files[i], "end");
    }
    add_note(e, NOTE_DONE, 0, "rank.0.out", "holdpoint-workload: done init=fails code=14");
    add_note(e, NOTE_DONE, 1, "rank.1.out", "holdpoint-workload: done init=works");
}

static char *arguments[] = {"/opt/app", NULL};

static struct made *make(void) {
    struct made *m = allocate(1, sizeof *m);
    m->trial = (struct trial){.dir = "/nonexistent",
                              .id = "t1",
                              .name = "test",
                              .argv = arguments,
                              .ranks = 2,
                              .needs_mark = true,
                              .launcher = LAUNCHER_LOCAL};
    m->ending = (struct ending){.started = true};
    m->board = make_board();
    m->record = (struct record){
        .trial = &m->trial, .ending = &m->ending, .board = m->board, .known = &m->known};
    m->record.symbols = symbols_open();
    make_logs(&m->record);
    return m;
}

static void unmake(struct made *m) {
    logscan_clear(&m->record.logs);
    findings_clear(&m->record.findings);
    sentences_clear(&m->record.unread);
    for (int i = 0; i < m->record.n_files; i++)
        free(m->record.file[i]);
    free(m->record.file);
    symbols_close(m->record.symbols);
    free(m->board);
    free(m);
}

/* ---- changes ---- */

static struct board_slot *slot(struct made *m, int rank) {
    return &board_slots(m->board)[rank];
}
static struct board_seq *sequence(struct made *m) {
    return &board_seqs(m->board)[0];
}
static void stop_at(struct made *m, uint32_t step, enum seq_end end, const char *detail) {
    sequence(m)->state = ((uint64_t)end << 32) | step;
    strcpy(sequence(m)->detail, detail);
}
static void add_shim_finding(struct made *m, uint32_t steps_done, uint32_t suspect) {
    m->board->finding[0] = (struct board_finding){.state = 2,
                                                  .kind = FINDING_STACK_USE_AFTER_RETURN,
                                                  .rank = 1,
                                                  .pid = 101,
                                                  .steps_done = steps_done,
                                                  .suspect = suspect,
                                                  .n_stacks = 1,
                                                  .note = "writes into a frame that is gone"};
    m->board->finding[0].stack[0].n = 1;
    m->board->finding[0].stack[0].role = STACK_CALLBACK;
    m->board->finding[0].stack[0].frame[0] = (struct board_frame){0, 0, 0x1234};
}

static void nothing(struct made *m) {
    (void)m;
}
static void no_check_in(struct made *m) {
    slot(m, 0)->checked_in_ns = slot(m, 1)->checked_in_ns = 0;
    slot(m, 0)->state = slot(m, 1)->state = SLOT_STARTED;
}
static void one_absent(struct made *m) {
    slot(m, 1)->checked_in_ns = 0;
    slot(m, 1)->state = SLOT_STARTED;
    strcpy(slot(m, 1)->problem, "/opt/app is a static program: LD_PRELOAD cannot work");
}
static void never_started(struct made *m) {
    memset(slot(m, 1), 0, sizeof *slot(m, 1));
}
static void preload_refused(struct made *m) {
    one_absent(m);
    slot(m, 1)->problem[0] = 0;
    m->trial.argv[0] = "/bin/sh";
    add_note(&m->record, NOTE_PRELOAD_REFUSED, 1, "rank.1.err",
             "ld.so: object from LD_PRELOAD cannot");
}
static void only_shell(struct made *m) {
    strcpy(slot(m, 1)->program, "/usr/bin/dash");
}
static void unbound(struct made *m) {
    slot(m, 0)->bound[0] = slot(m, 1)->bound[0] = 0;
}
static void bound_in_one(struct made *m) {
    slot(m, 0)->bound[0] = 0;
}
static void unfired(struct made *m) {
    m->board->fault_count[0].fired = 0;
    m->board->fault_count[0].arrivals = 4;
}
static void prob_fired_once(struct made *m) {
    m->board->fault[0] = (struct board_fault){
        .point = POINT_MARK, .action = FAULT_FAIL, .rank = -1, .prob_ppm = 100000, .seed = 7};
    m->board->fault_count[0].arrivals = 50;
}
static void prob_never_fired(struct made *m) {
    prob_fired_once(m);
    m->board->fault[0].text = string(m->board, "fail waiting prob 0.1 seed 7");
    m->board->fault_count[0].fired = 0;
}
static void step_pending(struct made *m) {
    stop_at(m, STEP_REACH_MARK, SEQ_RUNNING, "");
    sequence(m)->point[POINT_MARK].arrivals = 3;
    sequence(m)->point[POINT_MARK].early = 3;
}
static void step_timeout(struct made *m) {
    stop_at(m, STEP_REACH_MARK, SEQ_TIMEOUT, "no step was done for 5 s");
}
static void step_lost(struct made *m) {
    stop_at(m, STEP_PASS_GATE, SEQ_LOST, "its process has ended");
}
static void step_blocked(struct made *m) {
    stop_at(m, STEP_REACH_MARK, SEQ_BLOCKED, "thread 101 waits for a lock of thread 100");
}
static void hold_timed_out(struct made *m) {
    m->board->fault_count[0].released = 0;
    m->board->fault_count[0].timed_out = 1;
}
static void hold_never_ended(struct made *m) {
    m->board->fault_count[0].released = 0;
}
static void not_delivered(struct made *m) {
    slot(m, 1)->promised = 3;
}
static void dropped_by_plan(struct made *m) {
    slot(m, 1)->promised = 3;
    slot(m, 1)->dropped = 2;
}
static void bad_exit(struct made *m) {
    slot(m, 1)->exit_code = 3;
}
static void wanted_exit(struct made *m) {
    slot(m, 1)->exit_code = 3;
    m->trial.outcome[0] = (struct outcome){.rank = 1, .exit_status = 3};
    m->trial.n_outcomes = 1;
}
static void unknown_exit(struct made *m) {
    slot(m, 1)->state = SLOT_GONE;
    slot(m, 1)->exit_code = -1;
}
static void any_exit(struct made *m) {
    unknown_exit(m);
    m->trial.outcome[0] = (struct outcome){.rank = -1, .exit_status = -1};
    m->trial.n_outcomes = 1;
}
static void attribute(struct made *m, int rank, char *key, char *value) {
    m->trial.outcome[0] = (struct outcome){.rank = rank, .n_attrs = 1};
    m->trial.outcome[0].attr[0] = (struct outcome_attr){key, value};
    m->trial.n_outcomes = 1;
}
static void attribute_met(struct made *m) {
    attribute(m, 0, "init", "fails");
}
static void attribute_differs(struct made *m) {
    attribute(m, 1, "init", "fails");
}
static void attribute_missing(struct made *m) {
    attribute(m, 1, "code", "14");
}
static void no_mark(struct made *m) {
    m->record.logs.note[m->record.logs.n_notes - 1].rank = 0;
}
static void component_mapped(struct made *m) {
    m->trial.component_file = "/opt/libx.so";
}
static void component_by_id(struct made *m) {
    m->trial.component_file = "/elsewhere/liby.so";
    m->record.component_id = "ab12";
    m->board->module[0].build_id_bytes = 2;
    memcpy(m->board->module[0].build_id, "\xab\x12", 2);
}
static void component_not_mapped(struct made *m) {
    m->trial.component_file = "/opt/libx.so";
    slot(m, 1)->modules[0] = 0;
}
static void no_live_detector(struct made *m) {
    slot(m, 1)->live_detectors = DETECT_ASAN;
}
/* A call at the first point is to run on a guarded stack. */
static void stack_not_guarded(struct made *m) {
    m->board->guarded_point = 0;
}

static void stack_guarded(struct made *m) {
    stack_not_guarded(m);
    slot(m, 1)->stacks_guarded = 1;
}

/* Detector `heap` asked for, alive in both ranks, and of use in the second. */
static void heap_guarded(struct made *m) {
    m->board->detectors |= DETECT_HEAP;
    m->board->heap_low = m->board->heap_high = 136;
    m->board->heap_from = string(m->board, "libx.so");
    for (uint16_t r = 0; r < 2; r++)
        slot(m, r)->live_detectors = DETECT_FRAMES | DETECT_HEAP;
    slot(m, 1)->heap_slots = 2;
    slot(m, 1)->guarded = 3;
}
static void heap_guarded_nothing(struct made *m) {
    heap_guarded(m);
    slot(m, 1)->guarded = 0;
}
static void heap_without_slots(struct made *m) {
    heap_guarded_nothing(m);
    slot(m, 1)->heap_slots = 0;
}
static void heap_of_a_sanitizer(struct made *m) {
    heap_guarded_nothing(m);
    for (uint16_t r = 0; r < 2; r++)
        slot(m, r)->live_detectors = DETECT_FRAMES | DETECT_ASAN;
}
static void heap_not_live(struct made *m) {
    heap_guarded(m);
    slot(m, 0)->live_detectors = DETECT_FRAMES;
}
static void sanitizer_not_live(struct made *m) {
    m->trial.sanitizer = "thread";
}
static void sanitizer_live(struct made *m) {
    m->trial.sanitizer = "address";
}
static void sanitizer_refused(struct made *m) {
    add_note(&m->record, NOTE_SANITIZER_REFUSED, 0, "rank.0.err",
             "ASan runtime does not come first");
}
static void table_full(struct made *m) {
    m->board->table_full = TABLE_THREADS;
}
static void guard_died(struct made *m) {
    m->ending.guard_died = true;
}
static void interrupted(struct made *m) {
    m->ending.interrupted = true;
}
static void not_started(struct made *m) {
    m->ending.started = false;
    strcpy(m->ending.problem, "mpirun is not installed");
}
static void no_end_mark(struct made *m) {
    m->record.logs.note[1].kind = NOTE_TOO_MANY + 1;
}
static void cut_log(struct made *m) {
    m->record.logs.note[1].whole = false;
}
static void unread_log(struct made *m) {
    say(&m->record.unread, "rank.0.err: the log cannot be read");
}
static void slot_problem(struct made *m) {
    strcpy(slot(m, 0)->problem, "the hook pmix.fence_nb found no original");
}
static void could_not_exec(struct made *m) {
    slot(m, 1)->checked_in_ns = 0;
    slot(m, 1)->exit_code = 127;
    strcpy(slot(m, 1)->problem, "/opt/app does not exist");
}
static void damaged(struct made *m) {
    m->record.board = NULL;
    m->record.board_problem = "the checksum of its plan is wrong: damaged";
}
static void damaged_with_finding(struct made *m) {
    damaged(m);
    findings_add(&m->record.findings, FINDING_DOUBLE_FREE, "glibc")->text = copy_text("x");
}
static void found_after(struct made *m) {
    add_shim_finding(m, 1, 0);
}
static void found_before(struct made *m) {
    add_shim_finding(m, 0, 0);
}
static void found_suspect(struct made *m) {
    add_shim_finding(m, 1, 1);
}
static void found_and_table_full(struct made *m) {
    found_after(m);
    table_full(m);
}
static void other_kind_wanted(struct made *m) {
    found_after(m);
    m->trial.signature = (char *)(uintptr_t) "deadlock";
}
static void kind_wanted(struct made *m) {
    found_after(m);
    m->trial.signature = (char *)(uintptr_t) "stack-use-after-return";
}
static struct known known_frame = {.id = "bug#1", .kind = FINDING_STACK_USE_AFTER_RETURN};
static void known_wanted(struct made *m) {
    found_after(m);
    m->known = (struct known_list){&known_frame, 1};
    m->trial.signature = (char *)(uintptr_t) "bug#1";
}
static void unknown_when_some_are_known(struct made *m) {
    static struct known other = {.id = "bug#2", .kind = FINDING_DEADLOCK};
    found_after(m);
    m->known = (struct known_list){&other, 1};
}
static void log_finding(struct made *m, enum finding_kind kind, const char *source) {
    struct finding *f = findings_add(&m->record.findings, kind, source);
    f->rank = 0;
    f->text = copy_text("text");
}
static void log_finding_in_plan(struct made *m) {
    log_finding(m, FINDING_DOUBLE_FREE, "glibc");
}
static void log_finding_before_plan(struct made *m) {
    log_finding(m, FINDING_DOUBLE_FREE, "glibc");
    stop_at(m, 0, SEQ_LOST, "its process has ended");
    m->board->faults_fired = 0;
    m->board->fault_count[0].fired = 0;
}
static void log_finding_without_plan(struct made *m) {
    log_finding(m, FINDING_DOUBLE_FREE, "glibc");
    m->board->n_steps = m->board->n_faults = 0;
    m->board->faults_fired = 0;
}
static void crashed(struct made *m) {
    slot(m, 1)->state = SLOT_GONE;
    slot(m, 1)->exit_code = 128 + 11;
}
static void killed(struct made *m) {
    slot(m, 1)->state = SLOT_GONE;
    slot(m, 1)->exit_code = 128 + 9;
}
static void killed_by_watchdog(struct made *m) {
    killed(m);
    m->ending.interrupted = true;
}
static void exits_with_139(struct made *m) {
    slot(m, 1)->exit_code = 139;
}
static void crashed_by_plan(struct made *m) {
    crashed(m);
    slot(m, 1)->plan_signals = (uint64_t)1 << SIGSEGV;
}
static void handled_the_plans_signal_and_crashed(struct made *m) {
    crashed(m);
    slot(m, 1)->plan_signals = (uint64_t)1 << SIGUSR1;
}
static void hung(struct made *m) {
    m->ending.timed_out = true;
}

static const struct {
    const char *name;
    void (*change)(struct made *m);
    enum verdict verdict;
    const char *reason; /* a part of it */
} cases[] = {
    {"everything happened", nothing, VERDICT_CLEAN, "nothing was found"},
    /* not exercised */
    {"no rank checked in", no_check_in, VERDICT_NOT_EXERCISED, "no rank checked in"},
    {"one rank is static", one_absent, VERDICT_NOT_EXERCISED,
     "rank 1 never checked in: /opt/app is a static program"},
    {"one rank was never started", never_started, VERDICT_NOT_EXERCISED, "rank 1 never checked in"},
    {"the loader did not preload", preload_refused, VERDICT_NOT_EXERCISED,
     "the loader said: ld.so"},
    {"only a shell", only_shell, VERDICT_NOT_EXERCISED,
     "only a shell (/usr/bin/dash) checked in as rank 1"},
    {"a misspelt function", unbound, VERDICT_NOT_EXERCISED,
     "call:libx.so!work: no module calls it: 0 relocation slots"},
    {"a hook that only one rank needs", bound_in_one, VERDICT_CLEAN, ""},
    {"a fault never fired", unfired, VERDICT_NOT_EXERCISED,
     "the fault `hold waiting rank 1 until at_exit` (line 20) never fired: 4 arrivals"},
    {"prob: at least once", prob_fired_once, VERDICT_CLEAN, ""},
    {"prob: never", prob_never_fired, VERDICT_NOT_EXERCISED, "`fail waiting prob 0.1 seed 7`"},
    {"a step pending", step_pending, VERDICT_NOT_EXERCISED,
     "step 2, `reach waiting` (line 11), was never done; 3 arrivals at its point, 3 of them before "
     "its "
     "turn; rank 0, thread 100 stood at `at_exit`"},
    {"a step's timeout", step_timeout, VERDICT_NOT_EXERCISED,
     "ended by timeout: no step was done for 5 s"},
    {"a step lost", step_lost, VERDICT_NOT_EXERCISED, "step 3, `pass at_exit` (line 12), was lost"},
    {"a step blocked", step_blocked, VERDICT_NOT_EXERCISED,
     "was blocked: thread 101 waits for a lock"},
    {"a hold's timeout", hold_timed_out, VERDICT_NOT_EXERCISED, "ended by its time limit"},
    {"a hold without an end", hold_never_ended, VERDICT_NOT_EXERCISED, "never ended"},
    {"a completion not delivered", not_delivered, VERDICT_NOT_EXERCISED,
     "rank 1, process 101: 2 of 3 promised completions were not delivered"},
    {"completions that the plan dropped", dropped_by_plan, VERDICT_CLEAN, ""},
    {"a bad exit", bad_exit, VERDICT_NOT_EXERCISED, "rank 1: expected exit 0, got 3"},
    {"an exit that the outcome wants", wanted_exit, VERDICT_CLEAN, ""},
    {"an exit that nobody saw", unknown_exit, VERDICT_NOT_EXERCISED, "went away without saying"},
    {"any exit", any_exit, VERDICT_CLEAN, ""},
    {"an attribute met", attribute_met, VERDICT_CLEAN, ""},
    {"an attribute that differs", attribute_differs, VERDICT_NOT_EXERCISED,
     "rank 1: expected init=fails, got init=works"},
    {"an attribute that is missing", attribute_missing, VERDICT_NOT_EXERCISED,
     "expected code=14, but its done line has no code"},
    {"no completion mark", no_mark, VERDICT_NOT_EXERCISED, "rank 1 did not reach its end"},
    {"the component is mapped", component_mapped, VERDICT_CLEAN, ""},
    {"the component is mapped, by build-id", component_by_id, VERDICT_CLEAN, ""},
    {"the component is not mapped", component_not_mapped, VERDICT_NOT_EXERCISED,
     "rank 1 never mapped the component /opt/libx.so"},
    /* error */
    {"a guard of the heap", heap_guarded, VERDICT_CLEAN, ""},
    {"a call on a guarded stack", stack_guarded, VERDICT_CLEAN, ""},
    {"no call on a guarded stack", stack_not_guarded, VERDICT_NOT_EXERCISED,
     "ran on a guarded stack"},
    {"a guard that guarded nothing", heap_guarded_nothing, VERDICT_NOT_EXERCISED,
     "no module 'libx.so' allocated 136 bytes"},
    {"a guard of a module that was not there", heap_without_slots, VERDICT_NOT_EXERCISED,
     "check `from:`"},
    {"a sanitizer in the guard's place", heap_of_a_sanitizer, VERDICT_CLEAN, ""},
    {"a guard that is not alive", heap_not_live, VERDICT_ERROR,
     "the detector `heap` was asked for"},
    {"clean without a live detector", no_live_detector, VERDICT_ERROR,
     "the detector `frames` was asked for and is not alive in rank 1"},
    {"a sanitizer that is not live", sanitizer_not_live, VERDICT_ERROR, "ThreadSanitizer"},
    {"a sanitizer that is live", sanitizer_live, VERDICT_CLEAN, ""},
    {"a sanitizer that refused", sanitizer_refused, VERDICT_ERROR, "rank 0: the sanitizer refused"},
    {"a full table", table_full, VERDICT_ERROR, "the table of threads"},
    {"the guard died", guard_died, VERDICT_ERROR, "the guard process was killed"},
    {"interrupted", interrupted, VERDICT_ERROR, "interrupted"},
    {"not started", not_started, VERDICT_ERROR, "mpirun is not installed"},
    {"the runner died", no_end_mark, VERDICT_ERROR, "rank.0.out has no end mark"},
    {"a log was cut", cut_log, VERDICT_ERROR, "rank.0.out is not whole"},
    {"a log cannot be read", unread_log, VERDICT_ERROR, "the log cannot be read"},
    {"the shim complains", slot_problem, VERDICT_ERROR, "found no original"},
    {"the program does not exist", could_not_exec, VERDICT_ERROR, "/opt/app does not exist"},
    {"a damaged board", damaged, VERDICT_ERROR, "the board /nonexistent/board cannot be used"},
    {"a damaged board and a finding", damaged_with_finding, VERDICT_ERROR, "cannot be used"},
    /* findings */
    {"a finding after the first step", found_after, VERDICT_REPRODUCED,
     "stack-use-after-return:callback=libx.so+? in rank 1"},
    {"a finding before the plan began", found_before, VERDICT_OTHER_FINDING,
     "seen before the plan's first"},
    {"a suspect", found_suspect, VERDICT_CLEAN, ""},
    {"a finding goes before an error", found_and_table_full, VERDICT_REPRODUCED, ""},
    {"another kind was wanted", other_kind_wanted, VERDICT_OTHER_FINDING, ""},
    {"its kind was wanted", kind_wanted, VERDICT_REPRODUCED, ""},
    {"its public id was wanted", known_wanted, VERDICT_REPRODUCED, "known as bug#1"},
    {"other signatures are known", unknown_when_some_are_known, VERDICT_OTHER_FINDING, ""},
    {"a log's finding, after a step", log_finding_in_plan, VERDICT_REPRODUCED,
     "double-free in rank 0"},
    {"a log's finding, before any step", log_finding_before_plan, VERDICT_OTHER_FINDING,
     "before the plan"},
    {"a log's finding, without a plan", log_finding_without_plan, VERDICT_REPRODUCED, ""},
    {"a crash is no race by itself", crashed, VERDICT_OTHER_FINDING, "crash in rank 1"},
    {"killed by somebody", killed, VERDICT_OTHER_FINDING, "crash in rank 1"},
    {"killed by us", killed_by_watchdog, VERDICT_ERROR, "interrupted"},
    {"139 said by exit is no signal", exits_with_139, VERDICT_NOT_EXERCISED, "got 139"},
    {"a crash after a signal of the plan that was handled", handled_the_plans_signal_and_crashed,
     VERDICT_OTHER_FINDING, "crash"},
    {"the plan's own crash is no finding", crashed_by_plan, VERDICT_CLEAN, ""},
    {"a hang", hung, VERDICT_REPRODUCED, "hang"},
};

static void test_cases(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made *m = make();
        struct proof p;
        struct trial_result r = {0};
        arguments[0] = "/opt/app";
        cases[i].change(m);
        record_findings(&m->record);
        proof_make(&m->record, &p);
        verdict_judge(&m->record, &p, &r);
        check(r.verdict == cases[i].verdict, cases[i].name, verdict_name(r.verdict));
        check(strstr(r.reason, cases[i].reason) != NULL, cases[i].name, r.reason);
        check(r.verdict != VERDICT_CLEAN || r.exercised, cases[i].name, "clean and not exercised");
        free(r.reason);
        proof_clear(&p);
        unmake(m);
    }
}

/* With `scope: rank`, each sequence counts. */
static void test_scope_rank(void) {
    struct made *m = make();
    struct proof p;
    m->board->n_seqs = 2;
    m->board->scope_rank = 1;
    board_seqs(m->board)[0].rank = 0;
    board_seqs(m->board)[1].rank = 1;
    board_seqs(m->board)[1].state = 1;
    proof_make(&m->record, &p);
    check(p.missing.n == 1 && strstr(p.missing.text[0], "`reach waiting` (line 11) of rank 1"),
          "the sequence of one rank is not done", p.missing.n ? p.missing.text[0] : "nothing");
    check(!p.exercised, "the sequence of one rank is not done", "exercised");
    proof_clear(&p);
    unmake(m);
}

static void test_json(void) {
    struct made *m = make();
    struct proof p;
    struct trial_result r = {0};
    add_shim_finding(m, 1, 0);
    board_rings(m->board)[0].head = 1;
    board_rings(m->board)[0].record[0] = (struct board_event){.number = 1,
                                                              .ns = 2500000,
                                                              .kind = EVENT_FAULT,
                                                              .point = POINT_MARK,
                                                              .rank = 1,
                                                              .tid = 101};
    board_rings(m->board)[1].head = BOARD_RING_RECORDS + 1;
    record_findings(&m->record);
    proof_make(&m->record, &p);
    verdict_judge(&m->record, &p, &r);
    json_t *j = trial_json(&m->record, &p, &r);
    const char *state, *to, *program, *role, *event, *note;
    int line, rank, fired, bound;
    double at;
    check(json_unpack(j, "{s:[{s:s,s:i}],s:[{s:s}],s:[{s:i,s:i}]}", "steps", "state", &state,
                      "line", &line, "holds", "ended", &to, "faults", "fired", &fired, "rank",
                      &rank) == 0,
          "steps, holds and faults", "have another shape");
    check(strcmp(state, "done") == 0 && line == 10 && strcmp(to, "pass") == 0 && fired == 1 &&
              rank == 1,
          "steps, holds and faults", "have other values");
    check(json_unpack(j, "{s:[{s:s,s:{s:i}}],s:[{s:[{s:s}]}],s:[{s:s,s:F}],s:s}", "ranks",
                      "program", &program, "bound", "call:libx.so!work", &bound, "findings",
                      "stacks", "role", &role, "timeline", "event", &event, "at_ms", &at,
                      "timeline_note", &note) == 0,
          "ranks, findings and timeline", "have another shape");
    check(strcmp(program, "/opt/app") == 0 && bound == 2 && strcmp(role, "callback") == 0 &&
              strcmp(event, "fault") == 0 && at > 2.49 && at < 2.5 &&
              strstr(note, "1 of 2 rings wrapped"),
          "ranks, findings and timeline", "have other values");
    json_decref(j);
    free(r.reason);
    proof_clear(&p);
    unmake(m);
}

static void timed_out_instead(struct made *m) {
    sequence(m)->state = ((uint64_t)SEQ_TIMEOUT << 32) | STEP_REACH_MARK;
}
static void no_acquisition(struct made *m) {
    sequence(m)->blocked.n_acquired = 0;
}

/* What a fix that closes the window leaves, and what is not that. */
static void test_blocked(void) {
    static const struct {
        const char *name;
        void (*change)(struct made *m);
        int step;
    } changes[] = {
        {"blocked, and nothing else", NULL, STEP_REACH_MARK + 1},
        {"a timeout that found the same lock", timed_out_instead, 0},
        {"without the stack of the acquisition", no_acquisition, 0},
        {"blocked, and a bad exit", bad_exit, 0},
        {"blocked, and a full table", table_full, 0},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct made *m = make();
        struct trial_result r = {0};
        struct proof p;
        step_blocked(m);
        sequence(m)->blocked = (struct board_blocked){.address = 0x10,
                                                      .waiter = board_party_make(0, 1, 7),
                                                      .owner = board_party_make(1, 1, 8),
                                                      .n_waiter = 1,
                                                      .n_owner = 1,
                                                      .n_acquired = 1};
        if (changes[i].change)
            changes[i].change(m);
        record_findings(&m->record);
        proof_make(&m->record, &p);
        verdict_judge(&m->record, &p, &r);
        check(r.blocked_step == changes[i].step, changes[i].name, "is judged otherwise");
        json_t *j = trial_json(&m->record, &p, &r);
        json_t *step = json_array_get(json_object_get(j, "steps"), STEP_REACH_MARK);
        bool told = json_is_object(json_object_get(step, "blocked"));
        check(told == (changes[i].change != timed_out_instead), changes[i].name,
              "is told otherwise in results.json");
        json_decref(j);
        free(r.reason);
        proof_clear(&p);
        unmake(m);
    }
}

/* Each table is told by its own name, with what to do about it. */
static void test_tables(void) {
    static const struct {
        uint32_t table;
        const char *name, *advice;
    } full[] = {
        {TABLE_SLOTS, "process slots", "follow"},
        {TABLE_MODULES, "modules", "fewer different files"},
        {TABLE_FINDINGS, "findings", "detect"},
        {TABLE_TRAMPOLINES, "trampolines", "call:MODULE!FUNCTION"},
        {TABLE_RETURN_PROBES, "return probes", "too deeply"},
        {TABLE_THREADS, "threads", "at once"},
        {TABLE_CODE_RANGES, "code ranges", "caller"},
        {TABLE_CALLBACKS, "callbacks", "fences"},
        {TABLE_SLEEPERS, "sleepers", "asleep"},
        {TABLE_LOCKS, "locks and threads", "fewer threads"},
        {TABLE_GUARDS, "blocks", "narrower"},
        {TABLE_DESCRIPTORS, "descriptors", "4096"},
        {TABLE_DESTRUCTORS, "destructors", "fewer threads"},
        {TABLE_BRACKETS, "brackets", "conn.teardown"},
        {TABLE_GUARDED_STACKS << 1, "board was full", "bits 0x"},
    };
    struct made *m = make();
    for (size_t i = 0; i < sizeof full / sizeof *full; i++) {
        struct proof p;
        m->board->table_full = full[i].table;
        proof_make(&m->record, &p);
        const char *said = p.errors.n == 1 ? p.errors.text[0] : "no one error";
        check(strstr(said, full[i].name) && strstr(said, full[i].advice), full[i].name, said);
        proof_clear(&p);
    }
    unmake(m);
}

int main(void) {
    test_cases();
    test_tables();
    test_blocked();
    test_scope_rank();
    test_json();
    printf("  %zu trials, %d checks of verdicts: %s\n", sizeof cases / sizeof *cases, checked,
           failed ? "FAILED" : "ok");
    return failed;
}
