/* A trial's entry of results.json (reports/results.schema.json). Describes, decides nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "hook_names.h"
#include "json_text.h"
#include "record.h"
#include "timeline.h"

static const char *text_at(const struct board *b, uint32_t at) {
    return board_string(b, at);
}

static void set(json_t *j, const char *key, json_t *value) {
    json_object_set_new(j, key, value);
}

static json_t *sentences_json(const struct sentences *s) {
    json_t *list = json_array();
    for (int i = 0; i < s->n; i++)
        json_array_append_new(list, json_text(s->text[i]));
    return list;
}

static json_t *rank_json(int rank) {
    return rank >= 0 ? json_integer(rank) : json_null();
}

static void set_party(json_t *j, const struct board *b, board_party party) {
    const struct board_slot *s = party_slot(b, party);
    set(j, "rank", s ? rank_json(s->rank) : json_null());
    set(j, "pid", s ? json_integer(atomic_load(&s->pid)) : json_null());
    set(j, "tid", s ? json_integer(board_party_tid(party)) : json_null());
}

/* ---- steps, holds, points ---- */

static json_t *frame_json(const struct finding_frame *f) {
    json_t *j = json_object();
    set(j, "module", json_text(f->module));
    set(j, "function", json_text(f->function));
    set(j, "source", json_text(f->source));
    set(j, "offset", f->offset ? json_hex(f->offset) : json_null());
    return j;
}

static const char *step_state(const struct board_seq *q, uint32_t step) {
    static const char *const ends[] = {[SEQ_RUNNING] = "pending",
                                       [SEQ_TIMEOUT] = "timeout",
                                       [SEQ_BLOCKED] = "blocked",
                                       [SEQ_LOST] = "lost"};
    uint64_t state = atomic_load(&q->state);
    uint32_t next = board_seq_next(state), end = board_seq_end(state);
    if (step < next)
        return "done";
    return step == next && end <= SEQ_LOST ? ends[end] : "pending";
}

static json_t *board_stack_json(const struct record *e, const struct board_frame *frame,
                                uint32_t n) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < n && i < BOARD_MAX_FRAMES; i++) {
        const char *path =
            frame[i].module < BOARD_MAX_MODULES ? e->board->module[frame[i].module].path : NULL;
        char *function = NULL, *source = NULL;
        if (path)
            symbols_find(e->symbols, path, frame[i].offset, false, &function, &source);
        struct finding_frame named = {(char *)(uintptr_t)path, function, source, frame[i].offset};
        json_array_append_new(list, frame_json(&named));
        free(function);
        free(source);
    }
    return list;
}

/* Who waits for which lock of whom, and where both stand. */
static json_t *blocked_json(const struct record *e, const struct board_blocked *f) {
    const struct board *b = e->board;
    json_t *waiter = json_object(), *owner = json_object(), *j = json_object();
    set_party(waiter, b, f->waiter);
    set(waiter, "stack", board_stack_json(e, f->waiter_at, f->n_waiter));
    set_party(owner, b, f->owner);
    set(owner, "point", json_text(text_at(b, b->point[f->point % BOARD_MAX_POINTS].name)));
    set(owner, "stack", board_stack_json(e, f->owner_at, f->n_owner));
    set(owner, "acquisition", board_stack_json(e, f->acquired, f->n_acquired));
    set(j, "lock", json_string(board_lock_name(f->kind)));
    set(j, "address", json_hex(f->address));
    set(j, "others_between", json_integer(f->others));
    set(j, "waiter", waiter);
    set(j, "owner", owner);
    return j;
}

static json_t *step_json(const struct record *e, const struct board_seq *q, uint32_t i,
                         uint64_t begin) {
    const struct board *b = e->board;
    const struct board_step *step = &b->step[i];
    const struct board_step_done *done = &q->done[i];
    const char *state = step_state(q, i);
    bool is_done = strcmp(state, "done") == 0;
    json_t *j = json_object();
    set(j, "text", json_text(text_at(b, step->text)));
    set(j, "line", json_integer(step->line));
    set(j, "kind", json_string(step->kind == STEP_PASS ? "pass" : "reach"));
    set(j, "point", json_text(text_at(b, b->point[step->point].name)));
    set(j, "sequence", rank_json(q->rank));
    set(j, "state", json_string(state));
    set_party(j, b, is_done ? done->party : 0);
    set(j, "arrival", is_done ? json_integer(done->arrival) : json_null());
    set(j, "at_ms", timeline_ms(is_done ? atomic_load(&done->ns) : 0, begin));
    bool ended_here = !is_done && strcmp(state, "pending") != 0;
    bool blocked = ended_here && strcmp(state, "blocked") == 0;
    set(j, "blocked", blocked ? blocked_json(e, &q->blocked) : json_null());
    set(j, "detail",
        ended_here ? json_text_part(q->detail, sizeof q->detail - 1) : json_string(""));
    return j;
}

static json_t *steps_json(const struct record *e, uint64_t begin) {
    const struct board *b = e->board;
    json_t *list = json_array();
    for (uint32_t q = 0; q < b->n_seqs; q++)
        for (uint32_t i = 0; i < b->n_steps; i++)
            json_array_append_new(list, step_json(e, &board_seqs(b)[q], i, begin));
    return list;
}

/* Who stood at a gate, from when to when. */
static json_t *hold_json(const struct board *b, const struct board_seq *q, uint32_t c,
                         uint64_t begin) {
    const struct board_claim *claim = &q->claim[c];
    const struct board_claim_plan *plan = &b->claim[c];
    board_party owner = atomic_load(&claim->owner);
    bool passed = board_seq_next(atomic_load(&q->state)) > plan->pass_step;
    uint64_t to = passed ? atomic_load(&q->done[plan->pass_step].ns) : atomic_load(&q->ended_ns);
    json_t *j = json_object();
    set(j, "point", json_text(text_at(b, b->point[plan->point].name)));
    set_party(j, b, owner);
    set(j, "arrival", json_integer(claim->arrival));
    set(j, "from_ms", timeline_ms(atomic_load(&claim->since_ns), begin));
    set(j, "to_ms", timeline_ms(to, begin));
    set(j, "ended", json_string(passed ? "pass" : to ? "released" : "never"));
    return j;
}

static json_t *holds_json(const struct board *b, uint64_t begin) {
    json_t *list = json_array();
    for (uint32_t q = 0; q < b->n_seqs; q++)
        for (uint32_t c = 0; c < b->n_claims; c++)
            if (atomic_load(&board_seqs(b)[q].claim[c].owner))
                json_array_append_new(list, hold_json(b, &board_seqs(b)[q], c, begin));
    return list;
}

static json_t *point_json(const struct board *b, uint32_t p) {
    uint64_t arrivals = 0, early = 0, bystanders = 0, in_handler = 0;
    for (uint32_t q = 0; q < b->n_seqs; q++) {
        const struct board_point_count *n = &board_seqs(b)[q].point[p];
        arrivals += atomic_load(&n->arrivals);
        early += atomic_load(&n->early);
        bystanders += atomic_load(&n->bystanders);
        in_handler += atomic_load(&n->in_handler);
    }
    AUTO_TEXT hook = hook_text(b, b->point[p].hook);
    json_t *j = json_object();
    set(j, "name", json_text(text_at(b, b->point[p].name)));
    set(j, "hook", json_text(hook));
    set(j, "side", json_string(side_name(b->point[p].side)));
    set(j, "gate", json_boolean(b->point[p].is_gate));
    set(j, "arrivals", json_integer((json_int_t)arrivals));
    set(j, "early", json_integer((json_int_t)early));
    set(j, "bystanders", json_integer((json_int_t)bystanders));
    set(j, "in_handler", json_integer((json_int_t)in_handler));
    return j;
}

static json_t *fault_json(const struct board *b, uint32_t i, uint64_t begin) {
    const struct board_fault *f = &b->fault[i];
    const struct board_fault_count *n = &b->fault_count[i];
    uint32_t fired = atomic_load(&n->fired);
    json_t *j = json_object();
    set(j, "text", json_text(text_at(b, f->text)));
    set(j, "line", json_integer(f->line));
    set(j, "point", json_text(text_at(b, b->point[f->point].name)));
    set(j, "arrivals", json_integer(atomic_load(&n->arrivals)));
    set(j, "fired", json_integer(fired));
    set_party(j, b, fired ? atomic_load(&n->party) : 0);
    set(j, "arrival", fired ? json_integer(n->arrival) : json_null());
    set(j, "at_ms", timeline_ms(fired ? atomic_load(&n->ns) : 0, begin));
    set(j, "released", json_integer(atomic_load(&n->released)));
    set(j, "timed_out", json_integer(atomic_load(&n->timed_out)));
    set(j, "seed", f->prob_ppm ? json_integer((json_int_t)f->seed) : json_null());
    return j;
}

/* ---- findings ---- */

static json_t *stack_json(const struct finding_stack *s) {
    json_t *frames = json_array();
    for (int i = 0; i < s->n; i++)
        json_array_append_new(frames, frame_json(&s->frame[i]));
    json_t *j = json_object();
    set(j, "role", json_text(s->role));
    set(j, "frames", frames);
    return j;
}

static json_t *finding_json(const struct record *e, const struct finding *f) {
    json_t *stacks = json_array();
    for (int i = 0; i < f->n_stacks; i++)
        json_array_append_new(stacks, stack_json(&f->stack[i]));
    json_t *j = json_object();
    set(j, "kind", json_string(finding_kind_name(f->kind)));
    set(j, "signature", json_text(f->signature));
    set(j, "known_id", json_text(f->known_id));
    set(j, "expected", json_boolean(finding_is_expected(e, f)));
    set(j, "rank", rank_json(f->rank));
    set(j, "node", json_integer(f->node));
    set(j, "pid", f->pid ? json_integer(f->pid) : json_null());
    set(j, "tid", f->tid ? json_integer(f->tid) : json_null());
    set(j, "at_ms", timeline_ms(f->ns, e->board ? board_begin(e->board) : 0));
    set(j, "source", json_text(f->source));
    set(j, "text", json_text(f->text));
    set(j, "file", json_text(f->file));
    set(j, "suspect", json_boolean(f->suspect));
    set(j, "healed", json_boolean(f->healed));
    set(j, "before_plan", json_boolean(f->before_plan));
    set(j, "by_plan", json_boolean(f->by_plan));
    set(j, "stacks", stacks);
    return j;
}

/* ---- ranks and modules ---- */

static json_t *detectors_json(unsigned bits) {
    json_t *list = json_array();
    for (unsigned d = 0; d < DETECTORS; d++)
        if (bits & (1u << d))
            json_array_append_new(list, json_string(detector_texts[d]));
    return list;
}

static json_t *bound_json(const struct board *b, const struct board_slot *s) {
    json_t *j = json_object();
    for (uint32_t h = 0; h < b->n_hooks; h++) {
        AUTO_TEXT name = hook_text(b, (uint16_t)h);
        json_t *before = json_object_get(j, name);
        json_int_t n = atomic_load(&s->bound[h]);
        json_object_set_new(j, name, json_integer(before ? json_integer_value(before) + n : n));
    }
    return j;
}

static json_t *slot_json(const struct board *b, const struct board_slot *s, uint64_t begin) {
    int code = slot_exit(s), number = slot_signal(s);
    json_t *j = json_object();
    set(j, "rank", rank_json(s->rank));
    set(j, "node", json_integer(s->node));
    set(j, "pid", json_integer(atomic_load(&s->pid)));
    set(j, "program", json_text_part(s->program, sizeof s->program - 1));
    set(j, "follower", json_boolean(s->is_follower));
    set(j, "checked_in", json_boolean(slot_checked_in(s)));
    set(j, "exit", code == SLOT_EXIT_UNKNOWN || number ? json_null() : json_integer(code));
    set(j, "signal", number ? json_integer(number) : json_null());
    set(j, "started_ms", timeline_ms(atomic_load(&s->started_ns), begin));
    set(j, "ended_ms", timeline_ms(atomic_load(&s->ended_ns), begin));
    set(j, "live_detectors", detectors_json(atomic_load(&s->live_detectors)));
    set(j, "heap", json_text(slot_heap(b, s)));
    set(j, "guarded", json_integer((json_int_t)atomic_load(&s->guarded)));
    set(j, "stacks_guarded", json_integer((json_int_t)atomic_load(&s->stacks_guarded)));
    set(j, "bound", bound_json(b, s));
    set(j, "threads", json_integer(atomic_load(&s->threads_seen)));
    set(j, "promised", json_integer(atomic_load(&s->promised)));
    set(j, "delivered", json_integer(atomic_load(&s->delivered)));
    set(j, "dropped", json_integer(atomic_load(&s->dropped)));
    set(j, "problem", json_text_part(s->problem, sizeof s->problem - 1));
    return j;
}

/* By rank, in the order in which the processes of a rank took their slots. */
static json_t *ranks_json(const struct board *b, uint64_t begin) {
    json_t *list = json_array();
    for (int32_t rank = 0; rank < (int32_t)b->n_ranks; rank++)
        for (uint32_t i = 0; i < b->n_slots; i++) {
            const struct board_slot *s = &board_slots(b)[i];
            if (slot_is_used(s) && s->rank == rank)
                json_array_append_new(list, slot_json(b, s, begin));
        }
    return list;
}

static bool is_in_finding(const struct record *e, const char *path) {
    for (int i = 0; i < e->findings.n; i++)
        for (int s = 0; s < e->findings.finding[i].n_stacks; s++)
            for (int k = 0; k < e->findings.finding[i].stack[s].n; k++) {
                const char *module = e->findings.finding[i].stack[s].frame[k].module;
                if (module && strcmp(basename(module), basename(path)) == 0)
                    return true;
            }
    return false;
}

/* The component and the modules of findings: what a reader needs to know which build it was. */
static json_t *modules_json(const struct record *e) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < BOARD_MAX_MODULES; i++) {
        const struct board_module *m = &e->board->module[i];
        bool is_component = atomic_load(&m->state) == 2 && module_is_component(e, m);
        if (atomic_load(&m->state) != 2 || (!is_component && !is_in_finding(e, m->path)))
            continue;
        AUTO_TEXT id = module_build_id(m);
        json_t *j = json_object();
        set(j, "path", json_text_part(m->path, sizeof m->path - 1));
        set(j, "build_id", json_text(id));
        set(j, "component", json_boolean(is_component));
        json_array_append_new(list, j);
    }
    return list;
}

/* ---- the whole entry ---- */

static const char *ending_text(const struct ending *e) {
    if (!e->started)
        return "not started";
    if (e->interrupted)
        return "interrupted";
    if (e->guard_died)
        return "guard died";
    return e->stalled ? "stalled" : e->timed_out ? "timed out" : "ended";
}

static void set_from_board(json_t *j, const struct record *e) {
    const struct board *b = e->board;
    uint64_t begin = board_begin(b);
    json_t *points = json_array(), *faults = json_array();
    for (uint32_t i = 0; i < b->n_points; i++)
        json_array_append_new(points, point_json(b, i));
    for (uint32_t i = 0; i < b->n_faults; i++)
        json_array_append_new(faults, fault_json(b, i, begin));
    char *note;
    json_t *timeline = timeline_json(b, begin, &note);
    set(j, "plan_name", json_text(text_at(b, b->plan_name)));
    set(j, "plan_hash", json_hex(b->plan_hash));
    set(j, "detectors", detectors_json(b->detectors));
    set(j, "steps", steps_json(e, begin));
    set(j, "holds", holds_json(b, begin));
    set(j, "points", points);
    set(j, "faults", faults);
    set(j, "ranks", ranks_json(b, begin));
    set(j, "modules", modules_json(e));
    set(j, "timeline", timeline);
    set(j, "timeline_note", json_text(note));
    free(note);
}

static void set_without_board(json_t *j) {
    static const char *const lists[] = {"detectors", "steps", "holds",   "points",
                                        "faults",    "ranks", "modules", "timeline"};
    set(j, "plan_name", json_null());
    set(j, "plan_hash", json_null());
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        set(j, lists[i], json_array());
    set(j, "timeline_note", json_string("there is no board"));
}

json_t *trial_json(const struct record *e, const struct proof *p, const struct trial_result *r) {
    const struct trial *t = e->trial;
    json_t *findings = json_array(), *files = json_array(), *command = json_array();
    for (int i = 0; i < e->findings.n; i++)
        json_array_append_new(findings, finding_json(e, &e->findings.finding[i]));
    for (int i = 0; i < e->n_files; i++)
        json_array_append_new(files, json_text(e->file[i]));
    for (int i = 0; t->argv && t->argv[i]; i++)
        json_array_append_new(command, json_text(t->argv[i]));
    json_t *j = json_object();
    set(j, "id", json_text(t->id));
    set(j, "name", json_text(t->name));
    set(j, "verdict", json_string(verdict_name(r->verdict)));
    set(j, "reason", json_text(r->reason));
    set(j, "exercised", json_boolean(r->exercised));
    set(j, "errors", sentences_json(&p->errors));
    set(j, "missing", sentences_json(&p->missing));
    set(j, "launcher", json_string(launcher_name(t->launcher)));
    set(j, "ranks_wanted", json_integer(t->ranks));
    set(j, "command", command);
    set(j, "sanitizer", json_text(t->sanitizer));
    set(j, "ending", json_string(ending_text(e->ending)));
    set(j, "wall_ms", json_integer((json_int_t)(e->ending->wall_ns / 1000000)));
    if (e->board)
        set_from_board(j, e);
    else
        set_without_board(j);
    set(j, "findings", findings);
    set(j, "folder", json_text(t->dir));
    set(j, "files", files);
    return j;
}
