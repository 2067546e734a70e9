/* From board, statuses and watchdog to findings, and what all findings need: names for their
 * frames, signatures, whether they came before the plan began. see record.h. Runs in the collector.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocate.h"
#include "record.h"
#include "log_report.h"
#include "signature.h"

/* ---- the shim's findings ---- */

static void shim_frame(const struct record *e, struct finding_stack *to,
                       const struct board_frame *from) {
    struct finding_frame *f = finding_frame_add(to);
    f->offset = from->offset;
    if (from->module < BOARD_MAX_MODULES)
        f->module = copy_text(e->board->module[from->module].path);
}

static void shim_finding(struct record *e, const struct board_finding *from) {
    const struct board *b = e->board;
    bool plan_acts = b->n_steps || b->n_faults;
    enum finding_kind kind =
        from->kind < FINDING_COUNT ? (enum finding_kind)from->kind : FINDING_CRASH;
    struct finding *f = findings_add(&e->findings, kind, "shim");
    f->rank = from->rank;
    f->node = from->node;
    f->pid = from->pid;
    f->tid = from->tid;
    f->ns = from->ns;
    f->text = copy_part(from->note, sizeof from->note - 1);
    f->suspect = from->suspect;
    f->healed = from->healed;
    f->before_plan = plan_acts && !from->steps_done && !from->faults_fired;
    for (uint32_t i = 0; i < from->n_stacks && i < BOARD_MAX_STACKS; i++) {
        struct finding_stack *s = finding_stack_add(f, role_text(from->stack[i].role));
        for (uint32_t k = 0; s && k < from->stack[i].n && k < BOARD_MAX_FRAMES; k++)
            shim_frame(e, s, &from->stack[i].frame[k]);
    }
}

/* ---- statuses ---- */

/* The runner, or the launcher after another rank's end, stopped what still lived; then TERM and
 * KILL say nothing about the program. */
static bool others_stopped_it(const struct record *e, const struct board_slot *s) {
    const struct ending *end = e->ending;
    if (end->timed_out || end->stalled || end->interrupted || end->guard_died ||
        end->launcher_status == -1 || e->trial->launcher != LAUNCHER_LOCAL)
        return true;
    for (uint32_t i = 0; i < e->board->n_slots; i++) {
        const struct board_slot *other = &board_slots(e->board)[i];
        if (other != s && slot_is_used(other) && slot_exit(other) > 0 &&
            other->ended_ns < s->ended_ns)
            return true;
    }
    return false;
}

static void add_signal(struct record *e, int rank, unsigned pid, int number, const char *program) {
    struct finding *f = findings_add(&e->findings, signal_kind(number), "signal");
    f->rank = rank;
    f->pid = pid;
    f->text =
        format_text("%s ended by signal %d (SIG%s)", *program ? basename(program) : "the process",
                    number, sigabbrev_np(number) ? sigabbrev_np(number) : "?");
}

static void status_findings(struct record *e) {
    for (uint32_t i = 0; e->board && i < e->board->n_slots; i++) {
        const struct board_slot *s = &board_slots(e->board)[i];
        int number = slot_is_used(s) ? slot_signal(s) : 0;
        if (number && (signal_is_fatal(number) || !others_stopped_it(e, s)))
            add_signal(e, s->rank, atomic_load(&s->pid), number, s->program);
    }
    /* A launcher repeats the status of the rank that it gave up for; it is news only when nobody
     * has told. */
    int status = e->ending->launcher_status;
    int number = status == -1                ? 0
                 : WIFSIGNALED(status)       ? WTERMSIG(status)
                 : WEXITSTATUS(status) > 128 ? WEXITSTATUS(status) - 128
                                             : 0;
    if (e->trial->launcher == LAUNCHER_MPIRUN && signal_is_fatal(number) && !e->findings.n)
        add_signal(e, -1, 0, number, "a rank (the launcher tells)");
}

/* ---- the watchdog ---- */

static char *read_head(const char *path, size_t most) {
    FILE *f = fopen(path, "re");
    if (!f)
        return NULL;
    char *text = allocate(most + 1, 1);
    size_t n = fread(text, 1, most, f), kept = 0;
    fclose(f);
    for (size_t i = 0; i < n; i++) /* results.json is UTF-8, and evidence may hold anything */
        if (text[i] == '\n' || text[i] == '\t' || (text[i] >= ' ' && text[i] < 127))
            text[kept++] = text[i];
    text[kept] = 0;
    return text;
}

/* Then it is known why nothing moved. */
static bool deadlock_was_found(const struct record *e) {
    for (int i = 0; i < e->findings.n; i++)
        if (e->findings.finding[i].kind == FINDING_DEADLOCK)
            return true;
    return false;
}

static void watchdog_finding(struct record *e) {
    AUTO_TEXT path = format_text("%s/evidence.txt", e->trial->dir);
    AUTO_TEXT head = read_head(path, 3000);
    if ((!e->ending->timed_out && !e->ending->stalled) || deadlock_was_found(e))
        return;
    struct finding *f = findings_add(&e->findings, FINDING_HANG, "watchdog");
    f->file = head ? copy_text("evidence.txt") : NULL;
    if (head)
        f->text = copy_text(head); /* its first line says why the trial was stopped */
    else
        f->text =
            copy_text(e->ending->stalled ? "no thread ran and nothing moved: the trial was stopped"
                                         : "the time limit was over: the trial was stopped");
}

/* ---- names for frames ---- */

/* The file of a module that a log names only by its file name. */
static const char *module_file(const struct record *e, const char *module) {
    if (*module == '/' && access(module, R_OK) == 0)
        return module;
    for (int i = 0; e->board && i < BOARD_MAX_MODULES; i++) {
        const struct board_module *m = &e->board->module[i];
        if (atomic_load(&m->state) == 2 && strcmp(basename(m->path), basename(module)) == 0)
            return m->path;
    }
    return NULL;
}

static void name_frame(struct record *e, struct finding_frame *f, bool is_call) {
    const char *path = f->module && !f->function ? module_file(e, f->module) : NULL;
    char *source;
    if (!path || !symbols_find(e->symbols, path, f->offset, is_call, &f->function, &source))
        return;
    if (!f->source)
        f->source = source;
    else
        free(source);
}

static void name_frames(struct record *e, struct finding *f) {
    for (int i = 0; i < f->n_stacks; i++) {
        struct finding_stack *s = &f->stack[i];
        /* A callback's first frame is its entry; a report's first frame is where it happened. All
         * others are return addresses. */
        bool exact = strcmp(s->role, "callback") == 0 || strcmp(f->source, "shim") != 0;
        for (int k = 0; k < s->n; k++)
            name_frame(e, &s->frame[k], k > 0 || !exact);
    }
}

/* ---- all together ---- */

static void find_rank(const struct record *e, struct finding *f) {
    for (uint32_t i = 0; e->board && f->rank < 0 && f->pid && i < e->board->n_slots; i++) {
        const struct board_slot *s = &board_slots(e->board)[i];
        if (slot_is_used(s) && atomic_load(&s->pid) == f->pid)
            f->rank = s->rank;
    }
}

static bool is_death(const struct finding *f) {
    return f->kind == FINDING_CRASH || f->kind == FINDING_ABORT;
}

static void set_place_in_time(const struct record *e, struct finding *f) {
    const struct board *b = e->board;
    if (b && strcmp(f->source, "shim") != 0)
        f->before_plan = (b->n_steps || b->n_faults) && !any_step_done_or_fault_fired(b);
    f->by_plan = b && is_death(f) && f->rank >= 0 && rank_ended_by_plan(b, f->rank);
}

static int by_rank(const void *a, const void *b) {
    const struct finding *x = a, *y = b;
    int order = (x->rank > y->rank) - (x->rank < y->rank);
    if (!order)
        order = (int)x->kind - (int)y->kind;
    return order ? order : strcmp(x->signature, y->signature);
}

void record_findings(struct record *e) {
    for (int i = 0; e->board && i < BOARD_MAX_FINDINGS; i++)
        if (atomic_load(&e->board->finding[i].state) == 2)
            shim_finding(e, &e->board->finding[i]);
    status_findings(e);
    watchdog_finding(e);
    for (int i = 0; i < e->findings.n; i++) {
        struct finding *f = &e->findings.finding[i];
        find_rank(e, f);
        name_frames(e, f);
        f->signature = signature_of(f);
    }
    findings_merge(&e->findings);
    for (int i = 0; i < e->findings.n; i++) {
        struct finding *f = &e->findings.finding[i];
        free(f->signature); /* a fold may have brought stacks */
        f->signature = signature_of(f);
        const struct known *k = signature_known(e->known, f);
        f->known_id = k ? copy_text(k->id) : NULL;
        set_place_in_time(e, f);
    }
    if (e->findings.n)
        qsort(e->findings.finding, (size_t)e->findings.n, sizeof *e->findings.finding, by_rank);
}
