/* A checked plan as the arrays of a board: hooks and strings once each, one claim a pass, when each
 * point is armed. Writes only the constant part, in memory that nobody else sees yet. */
#include "plan.h"

#include <math.h>
#include <string.h>

#include "hook_names.h"

struct compiler {
    const struct plan *plan;
    struct board *board;
    struct complaints *complaints;
    double time_scale;
    bool ok;
};

bool board_add_string(struct board *b, const char *text, uint32_t *at) {
    *at = 0;
    if (!text || !*text)
        return true;
    if (b->string_bytes == 0)
        b->string_bytes = 1; /* offset 0 is the empty string */
    size_t bytes = strlen(text) + 1;
    for (uint32_t i = 1; i < b->string_bytes; i += (uint32_t)strlen(b->strings + i) + 1)
        if (strcmp(b->strings + i, text) == 0) {
            *at = i;
            return true;
        }
    if (bytes > BOARD_STRING_BYTES - b->string_bytes)
        return false;
    memcpy(b->strings + b->string_bytes, text, bytes);
    *at = b->string_bytes;
    b->string_bytes += (uint32_t)bytes;
    return true;
}

static void too_small(struct compiler *k, int line, int column, const char *what, int most) {
    complain(k->complaints, k->plan->file, line, column,
             "the plan needs more than %d %s: make it two plans, or leave some out", most, what);
    k->ok = false;
}

static uint32_t string(struct compiler *k, const char *text) {
    uint32_t at;
    if (!board_add_string(k->board, text, &at) && k->ok)
        too_small(k, 0, 0, "bytes of names and texts", BOARD_STRING_BYTES);
    return at;
}

static uint64_t scaled(const struct compiler *k, uint64_t ns) {
    return (uint64_t)((double)ns * k->time_scale);
}

/* ---- points ---- */

static uint16_t add_hook(struct compiler *k, const struct plan_point *point) {
    struct board *b = k->board;
    struct board_hook hook = {.id = (uint16_t)point->hook,
                              .object = (uint16_t)call_names[point->hook].object,
                              .module = string(k, point->module),
                              .function = string(k, point->function),
                              .from = string(k, point->from)};
    for (uint32_t i = 0; i < b->n_hooks; i++)
        if (memcmp(&b->hook[i], &hook, sizeof hook) == 0)
            return (uint16_t)i;
    if (b->n_hooks == BOARD_MAX_HOOKS) {
        too_small(k, point->line, point->column, "different hooks", BOARD_MAX_HOOKS);
        return 0;
    }
    b->hook[b->n_hooks] = hook;
    return (uint16_t)b->n_hooks++;
}

static void add_filters(struct compiler *k, const struct plan_point *from, struct board_point *to) {
    struct board *b = k->board;
    to->first_filter = (uint16_t)b->n_filters;
    for (int i = 0; i < from->n_filters; i++) {
        if (b->n_filters == BOARD_MAX_FILTERS) {
            too_small(k, from->line, from->column, "attribute filters", BOARD_MAX_FILTERS);
            return;
        }
        b->filter[b->n_filters++] = (struct board_filter){.attr = (uint16_t)from->filter[i].attr,
                                                          .text = string(k, from->filter[i].text),
                                                          .number = from->filter[i].number};
        to->n_filters++;
    }
}

static void add_pattern(struct compiler *k, const struct plan_point *point, uint32_t text) {
    struct board *b = k->board;
    for (uint32_t i = 0; i < b->n_patterns; i++)
        if (b->pattern[i] == text)
            return;
    if (text && b->n_patterns == BOARD_MAX_PATTERNS)
        too_small(k, point->line, point->column, "different MODULE!FUNCTION", BOARD_MAX_PATTERNS);
    else if (text)
        b->pattern[b->n_patterns++] = text;
}

static void add_patterns(struct compiler *k, const struct plan_point *from,
                         const struct board_point *to) {
    add_pattern(k, from, to->caller);
    add_pattern(k, from, to->stack);
    for (int i = 0; i < from->n_filters; i++)
        if (attribute_names[from->filter[i].attr].type == ATTR_CODE)
            add_pattern(k, from, string(k, from->filter[i].text));
}

/* One claim for each pass, in order, after the claims of the points before. */
static void add_claims(struct compiler *k, int point) {
    struct board *b = k->board;
    struct board_point *p = &b->point[point];
    p->first_claim = (uint16_t)b->n_claims;
    for (int i = 0; i < k->plan->n_steps; i++) {
        const struct plan_step *step = &k->plan->step[i];
        if (step->point != point || step->kind != STEP_PASS)
            continue;
        if (b->n_claims == BOARD_MAX_CLAIMS) {
            too_small(k, step->line, step->column, "pass steps", BOARD_MAX_CLAIMS);
            return;
        }
        b->claim[b->n_claims] = (struct board_claim_plan){
            .point = (uint16_t)point,
            .pass_step = (uint16_t)i,
            .previous = p->n_claims ? (uint16_t)(b->n_claims - 1) : BOARD_NONE};
        b->n_claims++;
        p->n_claims++;
    }
    p->is_gate = p->n_claims > 0;
}

/* Points of roles, those that others are within or are compared with, and points of faults outlive
 * the steps that name them. */
static bool needed_beyond_steps(const struct plan *plan, int point) {
    for (int i = 0; i < plan->n_faults; i++)
        if (plan->fault[i].point == point || plan->fault[i].until == point)
            return true;
    for (int i = 0; i < plan->n_roles; i++)
        if (plan->role[i].point == point)
            return true;
    for (int i = 0; i < plan->n_points; i++)
        if (plan->point[i].within == point || plan->point[i].object_of == point)
            return true;
    return false;
}

static void add_point(struct compiler *k, int i) {
    const struct plan_point *from = &k->plan->point[i];
    struct board_point *to = &k->board->point[i];
    *to = (struct board_point){
        .name = string(k, from->name),
        .hook = add_hook(k, from),
        .side = (uint8_t)from->side,
        .rank = from->rank,
        .role = from->role < 0 ? BOARD_NONE : (uint16_t)from->role,
        .within = from->within < 0 ? BOARD_NONE : (uint16_t)from->within,
        .nth = from->nth,
        .caller = string(k, from->caller),
        .stack = string(k, from->stack),
        .object_of = from->object_of < 0 ? BOARD_NONE : (uint16_t)from->object_of,
        .object_differs = from->object_differs,
        .crowd_hold = from->crowd_hold,
        .same = from->same,
        .in_fault = needed_beyond_steps(k->plan, i),
        .arm_after = from->after ? plan_after(k->plan, from->after) : -1,
        .disarm_after = -1,
    };
    for (int s = 0; s < k->plan->n_steps; s++)
        if (k->plan->step[s].point == i) {
            to->in_steps = 1;
            to->disarm_after = s;
        }
    add_filters(k, from, to);
    add_patterns(k, from, to);
    add_claims(k, i);
    k->board->n_points++;
}

/* ---- steps, roles, faults ---- */

static bool same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Do the same arrivals count for both, whichever of them each wants? */
static bool same_arrivals(const struct plan_point *a, const struct plan_point *b) {
    if (a->hook != b->hook || a->side != b->side || a->rank != b->rank || a->within != b->within ||
        a->n_filters != b->n_filters || !same_text(a->module, b->module) ||
        !same_text(a->function, b->function) || !same_text(a->from, b->from) ||
        !same_text(a->caller, b->caller) || !same_text(a->stack, b->stack) ||
        a->object_of != b->object_of || a->object_differs != b->object_differs)
        return false;
    for (int i = 0; i < a->n_filters; i++)
        if (a->filter[i].attr != b->filter[i].attr || a->filter[i].number != b->filter[i].number ||
            !same_text(a->filter[i].text, b->filter[i].text))
            return false;
    return true;
}

static void add_role(struct compiler *k, int i) {
    const struct plan *p = k->plan;
    int first = 0;
    while (!same_arrivals(&p->point[p->role[first].point], &p->point[p->role[i].point]))
        first++;
    k->board->role[k->board->n_roles++] = (struct board_role){.name = string(k, p->role[i].name),
                                                              .point = (uint16_t)p->role[i].point,
                                                              .counts_with = (uint16_t)first};
}

/* A reach of a gate is about the claim of the pass that comes next. */
static uint16_t claim_of_step(const struct compiler *k, int step) {
    const struct board_point *p = &k->board->point[k->plan->step[step].point];
    for (uint16_t i = 0; i < p->n_claims; i++)
        if (k->board->claim[p->first_claim + i].pass_step >= step)
            return (uint16_t)(p->first_claim + i);
    return BOARD_NONE;
}

static void add_step(struct compiler *k, int i) {
    const struct plan_step *from = &k->plan->step[i];
    k->board->step[k->board->n_steps++] = (struct board_step){.kind = (uint16_t)from->kind,
                                                              .point = (uint16_t)from->point,
                                                              .claim = claim_of_step(k, i),
                                                              .line = (uint16_t)from->line,
                                                              .text = string(k, from->text)};
}

static void add_fault(struct compiler *k, const struct plan_fault *from) {
    double millionths = ceil(from->prob * 1e6 - 1e-6); /* 0 would mean always */
    k->board->fault[k->board->n_faults++] = (struct board_fault){
        .point = (uint16_t)from->point,
        .action = (uint8_t)from->action,
        .return_is_arg = from->return_is_arg,
        .rank = from->rank,
        .ret = from->ret,
        .error_number = from->error_number,
        .signal_number = from->signal_number,
        .ns = scaled(k, from->ns),
        .until = from->until < 0 ? BOARD_NONE : (uint16_t)from->until,
        .times = from->action != FAULT_REPEAT ? 0
                 : from->times                ? (uint16_t)from->times
                                              : 2,
        .nth = from->nth,
        .every = from->every,
        .from = from->from,
        .to = from->to,
        .bytes = from->bytes,
        .prob_ppm = from->has_prob ? (uint32_t)millionths : 0,
        .line = (uint32_t)from->line,
        .seed = from->seed,
        .text = string(k, from->text),
    };
}

bool plan_compile(const struct plan *p, double time_scale, struct board *b, struct complaints *c) {
    struct compiler k = {p, b, c, time_scale, true};
    b->plan_hash = p->hash;
    b->scope_rank = p->scope_rank;
    b->heal = p->heal;
    b->detectors = p->detectors;
    b->heap_from = string(&k, p->heap.from);
    b->heap_low = p->heap.low;
    b->heap_high = p->heap.high;
    b->guarded_point = p->frames.guard < 0 ? BOARD_NONE : (uint32_t)p->frames.guard;
    b->follow = p->follow;
    b->follow_program = string(&k, p->follow_program);
    b->plan_name = string(&k, p->name);
    b->timeout_ns = scaled(&k, p->timeout_ns);
    for (int i = 0; i < p->n_points; i++)
        add_point(&k, i);
    for (int i = 0; i < p->n_steps; i++)
        add_step(&k, i);
    /* A hold may turn out to be blocked, and a finding about a lock names its owner. */
    b->track_locks = b->n_claims > 0 || (p->detectors & (DETECT_LOCKS | DETECT_DEADLOCK));
    for (int i = 0; i < p->n_roles; i++)
        add_role(&k, i);
    for (int i = 0; i < p->n_faults; i++)
        add_fault(&k, &p->fault[i]);
    for (int i = 0; i < p->n_env; i++)
        b->env[b->n_env++] = (struct board_env){.rank = p->env[i].rank,
                                                .assignment = string(&k, p->env[i].assignment)};
    return k.ok;
}
