/* Rule 2 of the verdicts (semantics.md): what a trial must prove before it may be called clean,
 * each failure as one sentence that says what, where and why. Pure functions, except that the file
 * of a program that never checked in is looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "command_line.h"
#include "hook_names.h"
#include "record.h"
#include "program.h"

static const char *text_at(const struct board *b, uint32_t at) {
    return board_string(b, at);
}

/* ---- errors: the trial itself did not work ---- */

static void check_ending(const struct record *e, struct sentences *s) {
    const struct ending *end = e->ending;
    if (!end->started)
        say(s, "the trial could not be started: %s",
            *end->problem ? end->problem : "no reason is known");
    if (end->interrupted)
        say(s, "the trial was interrupted before its end");
    if (!e->board)
        say(s, "the board %s/board cannot be used: %s", e->trial->dir, e->board_problem);
    if (end->guard_died)
        say(s, "the guard process was killed, so the trial was stopped; start it again");
}

/* A table of the board or of the shim that was full, and how to need less of it. */
#define TABLE(bit) [__builtin_ctz(TABLE_##bit)]
static const struct {
    const char *name, *advice;
} tables[] = {
    TABLE(SLOTS) = {"process slots",
                    "let fewer processes of a rank in: `follow: PROGRAM`, or none"},
    TABLE(MODULES) = {"modules", "let the ranks load fewer different files, or run fewer programs"},
    TABLE(FINDINGS) = {"findings", "mend the first ones, or name fewer detectors in `detect:`"},
    TABLE(TRAMPOLINES) = {"trampolines", "write the module into `call:MODULE!FUNCTION`, not `*`"},
    TABLE(
        RETURN_PROBES) = {"return probes",
                          "the hooked call calls itself too deeply, or too many threads are in it "
                          "at once: hook the function that calls it, or only its entry"},
    TABLE(THREADS) = {"threads", "too many were being started at once: start them a few at a time"},
    TABLE(CODE_RANGES) = {"code ranges",
                          "let `caller:`, `stack:`, `start:` and `dtor:` match fewer "
                          "functions: write out the module and the function"},
    TABLE(CALLBACKS) = {"callbacks", "too many fences were under way at once: give the point of "
                                     "pmix.fence_nb a `rank`"},
    TABLE(SLEEPERS) = {"sleepers", "too many threads were at points with `side: asleep` at once: "
                                   "give them a `role`, `rank` or `nth`"},
    TABLE(LOCKS) = {"locks and threads that use them",
                    "use fewer threads a rank, or leave `locks` and `deadlock` out of `detect:`"},
    TABLE(GUARDS) = {"blocks that detector `heap` guards",
                     "give `heap:` a narrower `size:` or `from:`"},
    TABLE(DESCRIPTORS) = {"descriptors",
                          "a connection had a number of 4096 or more: let the program "
                          "open fewer at once"},
    TABLE(DESTRUCTORS) = {"destructors of thread_local objects",
                          "too many were registered at once: use fewer threads"},
    TABLE(GUARDED_STACKS) = {"guarded stacks",
                             "too many calls were on one at once: give the point of `guard:` a "
                             "`rank`, a `role` or an `nth`"},
    TABLE(BRACKETS) = {"brackets that a thread is in at once",
                       "give the point of conn.teardown an `order`, `path`, `peer` or `fd`"},
};

static void check_tables(const struct board *b, struct sentences *s) {
    uint32_t full = atomic_load(&b->table_full);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (full & (1u << i))
            say(s, "the table of %s was too small, so not everything was seen: %s", tables[i].name,
                tables[i].advice);
    if (full >> (sizeof tables / sizeof *tables))
        say(s, "a table of the board was full (bits 0x%x)", full);
}

static const struct log_note *end_mark(const struct record *e, const char *file) {
    const struct log_note *last = NULL;
    for (int i = 0; i < e->logs.n_notes; i++)
        if (e->logs.note[i].kind == NOTE_END && strcmp(e->logs.note[i].file, file) == 0)
            last = &e->logs.note[i];
    return last;
}

/* "rank.3.err": the logs that the runner closes with a mark when the trial is over. */
static bool is_rank_log(const char *name) {
    const char *rest;
    return rank_in_name(name, "rank.", &rest) >= 0 &&
           (strcmp(rest, ".out") == 0 || strcmp(rest, ".err") == 0);
}

static void check_logs(const struct record *e, struct sentences *s) {
    int logs = 0;
    for (int i = 0; i < e->n_files; i++) {
        if (!is_rank_log(e->file[i]))
            continue;
        const struct log_note *mark = end_mark(e, e->file[i]);
        logs++;
        if (mark && mark->whole)
            continue;
        say(s,
            mark ? "the log %s is not whole: its end mark counts other bytes"
                 : "the log %s has no end mark: the runner died before the trial was over",
            e->file[i]);
        break; /* the runner died once, not once a log */
    }
    if (!logs && e->ending->started && e->ending->launcher_status == -1)
        say(s, "no rank left a log, and how the launcher ended is not known: the runner died");
    for (int i = 0; i < e->unread.n; i++)
        say(s, "%s", e->unread.text[i]);
    for (int i = 0; i < e->logs.n_notes; i++) {
        const struct log_note *n = &e->logs.note[i];
        if (n->kind == NOTE_TOO_MANY)
            say(s, "%s: %s", n->file, n->text);
        if (n->kind == NOTE_SANITIZER_REFUSED)
            say(s, "rank %d: the sanitizer refused to work: %s", n->rank, n->text);
    }
}

static unsigned wanted_detectors(const struct record *e) {
    const char *sanitizer = e->trial->sanitizer;
    unsigned wanted = e->board->detectors;
    if (sanitizer && strcmp(sanitizer, "address") == 0)
        wanted |= DETECT_ASAN;
    if (sanitizer && strcmp(sanitizer, "thread") == 0)
        wanted |= DETECT_TSAN;
    return wanted;
}

static void check_detectors(const struct record *e, struct sentences *s) {
    static const char *const names[] = {"AddressSanitizer (asan)", "ThreadSanitizer (tsan)",
                                        "the detector `frames`",   "the detector `locks`",
                                        "the detector `deadlock`", "the detector `heap`"};
    unsigned wanted = wanted_detectors(e);
    for (uint32_t i = 0; i < e->board->n_slots; i++) {
        const struct board_slot *slot = &board_slots(e->board)[i];
        unsigned lacking = wanted & ~atomic_load(&slot->live_detectors);
        if (!slot_checked_in(slot) || slot_is_shell(slot))
            continue;
        if (slot_heap(e->board, slot)) /* the guard lives, or a sanitizer takes its place */
            lacking &= ~(unsigned)DETECT_HEAP;
        for (unsigned d = 0; d < sizeof names / sizeof *names; d++)
            if (lacking & (1u << d))
                say(s,
                    "%s was asked for and is not alive in rank %d (process %u, %s): its live test "
                    "did not "
                    "pass",
                    names[d], slot->rank, atomic_load(&slot->pid), slot->program);
    }
}

static void check_problems(const struct record *e, struct sentences *s) {
    for (uint32_t i = 0; i < e->board->n_slots; i++) {
        const struct board_slot *slot = &board_slots(e->board)[i];
        if (!slot_is_used(slot) || !*slot->problem)
            continue;
        /* A program that no shim can enter is not exercised; one that is not there is an error. */
        bool never_ran = !slot_checked_in(slot) && atomic_load(&slot->state) == SLOT_EXITED;
        if (slot_checked_in(slot) || never_ran)
            say(s, "rank %d, process %u: %s", slot->rank, atomic_load(&slot->pid), slot->problem);
    }
}

/* ---- ranks ---- */

static bool rank_checked_in(const struct board *b, int rank, bool *only_shells) {
    bool any = false;
    *only_shells = true;
    for (uint32_t i = 0; i < b->n_slots; i++) {
        const struct board_slot *s = &board_slots(b)[i];
        if (!slot_checked_in(s) || slot_lost_its_program(s) || s->rank != rank)
            continue;
        any = true;
        *only_shells &= slot_is_shell(s);
    }
    *only_shells &= any;
    return any;
}

/* The workload's own program: behind `holdpoint rank` in a launch line of the user's. */
static const char *workload_program(const struct trial *t) {
    char **command = t->launcher == LAUNCHER_USER ? command_line_of_rank(t->argv) : NULL;
    return command && *command ? *command : t->argv ? t->argv[0] : NULL;
}

static const char *preload_note(const struct record *e, int rank) {
    for (int i = 0; i < e->logs.n_notes; i++)
        if (e->logs.note[i].kind == NOTE_PRELOAD_REFUSED &&
            (rank < 0 || e->logs.note[i].rank < 0 || e->logs.note[i].rank == rank))
            return e->logs.note[i].text;
    return NULL;
}

/* Why a rank's program never checked in; the caller's to free. */
static char *why_absent(const struct record *e, const struct board_slot *s) {
    const char *command = workload_program(e->trial), *loader = preload_note(e, s ? s->rank : -1);
    struct program p;
    char sentence[600];
    if (s && *s->problem)
        return copy_text(s->problem);
    if (s && slot_lost_its_program(s))
        return format_text(
            "%s executed another program, which did not check in: the preload was lost",
            s->program);
    if (command) {
        program_look(command, &p);
        if (program_problem(&p, sentence, sizeof sentence))
            return copy_text(sentence);
    }
    if (loader)
        return format_text("the loader said: %s", loader);
    if (!s)
        return copy_text(
            "it was never started through `holdpoint rank`: does the launch line start that "
            "many ranks, and each through it?");
    return copy_text(
        "it was started, but the shim was not loaded: something took LD_PRELOAD out of the "
        "environment, or a program without the shim was executed");
}

/* The launcher's own last words, when it ended badly. */
static char *launcher_words(const struct record *e) {
    int status = e->ending->launcher_status;
    if (status == 0 || status == -1)
        return copy_text("");
    return format_text("; the launcher ended with wait status %d, see launcher.err", status);
}

static void check_ranks(const struct record *e, struct sentences *s) {
    const struct board *b = e->board;
    int absent = 0, shells = 0, first_absent = -1, first_shell = -1;
    for (int r = 0; r < (int)b->n_ranks; r++) {
        bool only_shells;
        if (!rank_checked_in(b, r, &only_shells)) {
            absent++;
            first_absent = first_absent < 0 ? r : first_absent;
        } else if (only_shells) {
            shells++;
            first_shell = first_shell < 0 ? r : first_shell;
        }
    }
    if (absent) {
        AUTO_TEXT why = why_absent(e, rank_slot(b, first_absent));
        AUTO_TEXT words = launcher_words(e);
        if (absent == (int)b->n_ranks)
            say(s, "no rank checked in: %s%s", why, words);
        else
            say(s, "rank %d never checked in: %s%s%s", first_absent, why,
                absent > 1 ? " (others likewise)" : "", words);
    }
    if (shells)
        say(s,
            "only a shell (%s) checked in as rank %d: name the program that it starts with "
            "`follow:` in the "
            "plan",
            rank_slot(b, first_shell) ? rank_slot(b, first_shell)->program : "?", first_shell);
}

/* ---- hooks, faults, steps ---- */

static void check_hooks(const struct board *b, struct sentences *s) {
    for (uint32_t h = 0; h < b->n_hooks; h++) {
        bool bound = false, present = false;
        for (uint32_t i = 0; i < b->n_slots; i++) {
            const struct board_slot *slot = &board_slots(b)[i];
            present |= slot_checked_in(slot);
            bound |= slot_checked_in(slot) && atomic_load(&slot->bound[h]);
        }
        if (!present || bound)
            continue;
        AUTO_TEXT name = hook_text(b, (uint16_t)h);
        if (b->hook[h].function)
            say(s,
                "%s: no module calls it: 0 relocation slots; check the name with `holdpoint hooks "
                "PROGRAM`",
                name);
        else
            say(s, "%s: what it hooks was not there in any process", name);
    }
}

/* ---- MODULE!FUNCTION ---- */

/* "`caller: libx.so!f` of the point `p`": the first point that names the pattern; the caller's to
 * free. */
static char *who_names(const struct board *b, uint32_t pattern) {
    for (uint32_t i = 0; i < b->n_points; i++) {
        const struct board_point *p = &b->point[i];
        const char *word = p->caller == pattern ? "caller" : p->stack == pattern ? "stack" : NULL;
        for (uint32_t f = p->first_filter; !word && f < (uint32_t)p->first_filter + p->n_filters;
             f++)
            if (b->filter[f].attr < ATTR_COUNT && b->filter[f].text == pattern)
                word = attribute_names[b->filter[f].attr].name;
        if (word)
            return format_text("`%s: %s` of the point `%s`", word, text_at(b, pattern),
                               text_at(b, p->name));
    }
    return copy_text(text_at(b, pattern));
}

static void check_patterns(const struct board *b, struct sentences *s) {
    for (uint32_t i = 0; i < b->n_patterns; i++) {
        const struct board_pattern_count *n = &b->pattern_count[i];
        uint32_t stripped = atomic_load(&n->stripped);
        if (!atomic_load(&n->wanted) || atomic_load(&n->functions))
            continue;
        AUTO_TEXT who = who_names(b, b->pattern[i]);
        if (!atomic_load(&n->modules))
            say(s, "%s matches nothing: no module of that name was there", who);
        else if (stripped && stripped <= BOARD_MAX_MODULES)
            say(s,
                "%s matches nothing: %s is stripped, so that only the functions that it exports "
                "have names; use a build with symbols, or filters that need none (role, within, "
                "nth, object_of)",
                who, b->module[stripped - 1].path);
        else
            say(s, "%s matches nothing: no function there has such a name", who);
    }
}

/* A guard that guarded nothing proves nothing. */
static void check_guarded(const struct board *b, struct sentences *s) {
    bool looked = false;
    unsigned slots = 0;
    for (uint32_t i = 0; i < b->n_slots; i++) {
        const struct board_slot *slot = &board_slots(b)[i];
        const char *by = slot_checked_in(slot) ? slot_heap(b, slot) : NULL;
        if (by && (strcmp(by, "guard") != 0 || atomic_load(&slot->guarded)))
            return;
        looked |= by != NULL;
        slots += atomic_load(&slot->heap_slots);
    }
    if (!looked)
        return;
    AUTO_TEXT most = b->heap_high > b->heap_low
                         ? format_text(" to %llu", (unsigned long long)b->heap_high)
                         : copy_text("");
    say(s, "detector `heap` guarded nothing: no module '%s' allocated %llu%s bytes%s",
        text_at(b, b->heap_from), (unsigned long long)b->heap_low, most,
        slots ? "" : ", and none was there that allocates at all: check `from:`");
}

static void check_guarded_stack(const struct board *b, struct sentences *s) {
    if (b->guarded_point == BOARD_NONE)
        return;
    for (uint32_t i = 0; i < b->n_slots; i++)
        if (slot_is_used(&board_slots(b)[i]) && atomic_load(&board_slots(b)[i].stacks_guarded))
            return;
    say(s, "no call at %s ran on a guarded stack", text_at(b, b->point[b->guarded_point].name));
}

static void check_unfired(const struct board *b, struct sentences *s) {
    for (uint32_t i = 0; i < b->n_faults; i++) {
        const struct board_fault *f = &b->fault[i];
        const struct board_fault_count *n = &b->fault_count[i];
        if (atomic_load(&n->fired))
            continue;
        say(s, "the fault `%s` (line %u) never fired: %u arrivals at its point `%s`",
            text_at(b, f->text), f->line, atomic_load(&n->arrivals),
            text_at(b, b->point[f->point].name));
    }
}

/* "; rank 0, thread 12 stands at `at_exit`" for everybody who is held; the caller's to free. */
static char *who_stands_where(const struct board *b, const struct board_seq *q) {
    char *text = copy_text("");
    uint32_t next = board_seq_next(atomic_load(&q->state));
    for (uint32_t c = 0; c < b->n_claims; c++) {
        board_party owner = atomic_load(&q->claim[c].owner);
        if (!owner || b->claim[c].pass_step < next)
            continue;
        char *longer =
            format_text("%s; rank %d, thread %u stood at `%s`", text, party_rank(b, owner),
                        board_party_tid(owner), text_at(b, b->point[b->claim[c].point].name));
        free(text);
        text = longer;
    }
    return text;
}

static void say_step(const struct board *b, const struct board_seq *q, struct sentences *s) {
    static const char *const ends[] = {[SEQ_RUNNING] = "was never done",
                                       [SEQ_TIMEOUT] = "ended by timeout",
                                       [SEQ_BLOCKED] = "was blocked",
                                       [SEQ_LOST] = "was lost"};
    uint64_t state = atomic_load(&q->state);
    uint32_t next = board_seq_next(state), end = board_seq_end(state);
    const struct board_step *step = &b->step[next];
    const struct board_point_count *n = &q->point[step->point];
    AUTO_TEXT stands = who_stands_where(b, q);
    AUTO_TEXT detail = copy_part(q->detail, sizeof q->detail - 1);
    AUTO_TEXT rank = q->rank >= 0 ? format_text(" of rank %d", q->rank) : copy_text("");
    say(s,
        "step %u, `%s` (line %u)%s, %s%s%s; %u arrivals at its point, %u of them before its turn%s",
        next + 1, text_at(b, step->text), step->line, rank, ends[end <= SEQ_LOST ? end : 0],
        *detail ? ": " : "", detail, atomic_load(&n->arrivals), atomic_load(&n->early), stands);
}

static void check_steps(const struct board *b, struct sentences *s) {
    for (uint32_t i = 0; i < b->n_seqs; i++) {
        const struct board_seq *q = &board_seqs(b)[i];
        if (board_seq_next(atomic_load(&q->state)) < b->n_steps)
            say_step(b, q, s);
    }
}

/* ---- holds, completions ---- */

static void check_holds(const struct board *b, struct sentences *s) {
    for (uint32_t i = 0; i < b->n_faults; i++) {
        const struct board_fault *f = &b->fault[i];
        const struct board_fault_count *n = &b->fault_count[i];
        uint32_t fired = atomic_load(&n->fired), released = atomic_load(&n->released),
                 timed_out = atomic_load(&n->timed_out);
        if (f->action != FAULT_HOLD || released >= fired)
            continue;
        if (timed_out)
            say(s, "the hold `%s` (line %u) ended by its time limit, not by what it waited for",
                text_at(b, f->text), f->line);
        else
            say(s, "the hold `%s` (line %u) never ended: the held thread's process ended first",
                text_at(b, f->text), f->line);
    }
}

static const struct outcome *outcome_of(const struct trial *t, int rank) {
    static const struct outcome exits_with_0 = {.rank = -1};
    const struct outcome *all = &exits_with_0;
    for (int i = 0; i < t->n_outcomes; i++) {
        if (t->outcome[i].rank == rank)
            return &t->outcome[i];
        if (t->outcome[i].rank < 0)
            all = &t->outcome[i];
    }
    return all;
}

static void check_completions(const struct record *e, struct sentences *s) {
    const struct board *b = e->board;
    for (uint32_t i = 0; i < b->n_slots; i++) {
        const struct board_slot *slot = &board_slots(b)[i];
        uint32_t promised = atomic_load(&slot->promised), delivered = atomic_load(&slot->delivered),
                 dropped = atomic_load(&slot->dropped);
        if (!slot_is_used(slot) || delivered + dropped >= promised ||
            rank_ended_by_plan(b, slot->rank) || outcome_of(e->trial, slot->rank)->cut_off)
            continue;
        say(s, "rank %d, process %u: %u of %u promised completions were not delivered", slot->rank,
            atomic_load(&slot->pid), promised - delivered - dropped, promised);
    }
}

/* ---- outcome ---- */

static const char *done_line(const struct record *e, int rank) {
    for (int i = e->logs.n_notes - 1; i >= 0; i--)
        if (e->logs.note[i].kind == NOTE_DONE && e->logs.note[i].rank == rank)
            return e->logs.note[i].text;
    return NULL;
}

/* The value of KEY=VALUE in a line of such words, or NULL; the caller's to free. */
static char *value_of(const char *line, const char *key) {
    size_t n = strlen(key);
    for (const char *word = line; word && *word; word = strchr(word, ' ')) {
        word += strspn(word, " ");
        if (strncmp(word, key, n) == 0 && word[n] == '=')
            return copy_part(word + n + 1, strcspn(word + n + 1, " "));
    }
    return NULL;
}

static void check_attributes(const struct outcome *o, int rank, const char *done,
                             struct sentences *s) {
    for (int i = 0; i < o->n_attrs; i++) {
        AUTO_TEXT value = done ? value_of(done, o->attr[i].key) : NULL;
        if (!value)
            say(s, "rank %d: expected %s=%s, but its done line has no %s", rank, o->attr[i].key,
                o->attr[i].value, o->attr[i].key);
        else if (strcmp(value, o->attr[i].value) != 0)
            say(s, "rank %d: expected %s=%s, got %s=%s", rank, o->attr[i].key, o->attr[i].value,
                o->attr[i].key, value);
    }
}

static void check_exit(const struct record *e, const struct outcome *o, int rank,
                       struct sentences *s) {
    int code = rank_exit(e, rank);
    if (o->exit_status < 0 || code == o->exit_status)
        return;
    const struct board_slot *slot = rank_slot(e->board, rank);
    int number = slot ? slot_signal(slot) : 0;
    if (code == SLOT_EXIT_UNKNOWN)
        say(s, "rank %d: expected exit %d, but it went away without saying how it ended", rank,
            o->exit_status);
    else if (number)
        say(s, "rank %d: expected exit %d, but signal %d ended it", rank, o->exit_status, number);
    else
        say(s, "rank %d: expected exit %d, got %d", rank, o->exit_status, code);
}

static void check_outcome(const struct record *e, struct sentences *s) {
    for (int r = 0; r < (int)e->board->n_ranks; r++) {
        const struct outcome *o = outcome_of(e->trial, r);
        const char *done = done_line(e, r);
        bool only_shells;
        if (!rank_checked_in(e->board, r, &only_shells))
            continue; /* that it never checked in says it all */
        if (o->cut_off || (o->rank < 0 && rank_ended_by_plan(e->board, r)))
            continue;
        check_exit(e, o, r, s);
        if (e->trial->needs_mark && !done)
            say(s, "rank %d did not reach its end: its log has no line `holdpoint-workload: done`",
                r);
        else
            check_attributes(o, r, done, s);
    }
}

/* ---- the component ---- */

static bool rank_mapped_component(const struct record *e, int rank) {
    const struct board *b = e->board;
    for (uint32_t m = 0; m < BOARD_MAX_MODULES; m++) {
        if (atomic_load(&b->module[m].state) != 2 || !module_is_component(e, &b->module[m]))
            continue;
        for (uint32_t i = 0; i < b->n_slots; i++) {
            const struct board_slot *s = &board_slots(b)[i];
            if (slot_is_used(s) && s->rank == rank &&
                (atomic_load(&s->modules[m / 64]) & ((uint64_t)1 << (m % 64))))
                return true;
        }
    }
    return false;
}

static void check_component(const struct record *e, struct sentences *s) {
    bool only_shells;
    if (!e->trial->component_file)
        return;
    for (int r = 0; r < (int)e->board->n_ranks; r++)
        if (rank_checked_in(e->board, r, &only_shells) && !rank_mapped_component(e, r)) {
            say(s, "rank %d never mapped the component %s (build-id %s)", r,
                e->trial->component_file, e->component_id ? e->component_id : "unknown");
            return;
        }
}

/* ---- all of it ---- */

/* Rule 3: the fix closed the window, and that is all that was missing. A timeout never is. */
static int blocked_step(const struct board *b, const struct proof *p) {
    int unfinished = 0, step = 0;
    for (uint32_t i = 0; i < b->n_seqs; i++) {
        const struct board_seq *q = &board_seqs(b)[i];
        const struct board_blocked *f = &q->blocked;
        uint64_t state = atomic_load(&q->state);
        int next = (int)board_seq_next(state);
        if (next >= (int)b->n_steps)
            continue;
        if (board_seq_end(state) != SEQ_BLOCKED || (step && step != next + 1) || !f->address ||
            !f->n_waiter || !f->n_owner || !f->n_acquired)
            return 0;
        step = next + 1;
        unfinished++;
    }
    return p->errors.n == 0 && p->missing.n == unfinished ? step : 0;
}

void proof_make(const struct record *e, struct proof *p) {
    *p = (struct proof){.exercised = false};
    check_ending(e, &p->errors);
    if (e->board)
        check_tables(e->board, &p->errors);
    check_logs(e, &p->errors);
    if (!e->board)
        return;
    check_detectors(e, &p->errors);
    check_problems(e, &p->errors);
    check_ranks(e, &p->missing);
    check_hooks(e->board, &p->missing);
    check_patterns(e->board, &p->missing);
    check_guarded(e->board, &p->missing);
    check_guarded_stack(e->board, &p->missing);
    check_unfired(e->board, &p->missing);
    check_steps(e->board, &p->missing);
    p->exercised = p->missing.n == 0;
    check_holds(e->board, &p->missing);
    check_completions(e, &p->missing);
    check_outcome(e, &p->missing);
    check_component(e, &p->missing);
    p->blocked_step = blocked_step(e->board, p);
}

void proof_clear(struct proof *p) {
    sentences_clear(&p->errors);
    sentences_clear(&p->missing);
}
