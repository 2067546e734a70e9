/* What a plan must not say although each of its lines is well formed: rule 17 of the semantics, and
 * all else that can be known before a launch. Reads the plan and the program's files; changes
 * nothing. Runner only. */
#include "plan.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "board/function_name.h"
#include "closure.h"
#include "hook_names.h"

struct check {
    const struct plan *plan;
    int n_ranks; /* 0: unknown */
    struct complaints *complaints;
    bool ok;
};

static void refuse(struct check *k, int line, int column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void refuse(struct check *k, int line, int column, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    AUTO_TEXT message = format_arguments(format, arguments);
    va_end(arguments);
    complain(k->complaints, k->plan->file, line, column, "%s", message);
    k->ok = false;
}
#define REFUSE_AT(k, thing, ...) refuse(k, (thing)->line, (thing)->column, __VA_ARGS__)

/* ---- what the steps say about a point ---- */

static int count_steps(const struct plan *p, int point, enum step_kind kind) {
    int n = 0;
    for (int i = 0; i < p->n_steps; i++)
        n += p->step[i].point == point && p->step[i].kind == kind;
    return n;
}

static bool is_gate(const struct plan *p, int point) {
    return count_steps(p, point, STEP_PASS) > 0;
}

static int first_step(const struct plan *p, int point) {
    for (int i = 0; i < p->n_steps; i++)
        if (p->step[i].point == point)
            return i;
    return -1;
}

/* The pass that ends the hold which a reach of this point at step `i` is about; -1: there is none.
 */
static int next_pass(const struct plan *p, int point, int i) {
    for (; i < p->n_steps; i++)
        if (p->step[i].point == point && p->step[i].kind == STEP_PASS)
            return i;
    return -1;
}

/* The step after which a point is armed; -1: from the start, or `after` names no step. */
static int armed_by(const struct plan *p, int point) {
    return p->point[point].after ? plan_after(p, p->point[point].after) : -1;
}

/* ---- points ---- */

static bool is_role_point(const struct plan *p, int point) {
    for (int i = 0; i < p->n_roles; i++)
        if (p->role[i].point == point)
            return true;
    return false;
}

static bool is_used(const struct plan *p, int point) {
    if (first_step(p, point) >= 0 || is_role_point(p, point) || p->frames.guard == point)
        return true;
    for (int i = 0; i < p->n_faults; i++)
        if (p->fault[i].point == point || p->fault[i].until == point)
            return true;
    for (int i = 0; i < p->n_points; i++)
        if (i != point && (p->point[i].within == point || p->point[i].object_of == point))
            return true;
    return false;
}

static void check_rank(struct check *k, int rank, int line, int column) {
    if (k->n_ranks > 0 && rank >= k->n_ranks)
        refuse(k, line, column, "rank %d does not exist: the job has ranks 0 to %d", rank,
               k->n_ranks - 1);
}

static void check_side(struct check *k, const struct plan_point *point) {
    if (hook_has_side(point->hook, point->side))
        return;
    char sides[64] = "";
    for (int s = SIDE_ENTER; s <= SIDE_ASLEEP; s++)
        if (hook_has_side(point->hook, (enum side)s))
            snprintf(sides + strlen(sides), sizeof sides - strlen(sides), "%s%s",
                     *sides ? ", " : "", side_name((enum side)s));
    REFUSE_AT(k, point, "%s: the hook %s has no side %s; it has %s", point->name,
              hook_names[point->hook].name, side_name(point->side), sides);
}

static void check_words_of_gates(struct check *k, int i) {
    const struct plan_point *point = &k->plan->point[i];
    if (point->crowd_hold && !is_gate(k->plan, i))
        REFUSE_AT(k, point,
                  "%s: crowd: hold keeps others at a gate, and this is none: pass it in a "
                  "step, or leave crowd out",
                  point->name);
    if (point->same && count_steps(k->plan, i, STEP_PASS) < 2)
        REFUSE_AT(k, point,
                  "%s: same: true says who comes after the first pass, and there is no "
                  "second: pass it twice, or leave same out",
                  point->name);
}

static void check_after(struct check *k, int i) {
    const struct plan_point *point = &k->plan->point[i];
    if (!point->after)
        return;
    int armed = armed_by(k->plan, i), first = first_step(k->plan, i);
    if (armed < 0)
        refuse(k, point->after_line, point->after_column,
               "'%s' is no step of this plan: write a step's text, its text and #2 for the second "
               "of that text, or its number from 1 to %d",
               point->after, k->plan->n_steps);
    else if (first >= 0 && first <= armed)
        refuse(k, point->after_line, point->after_column,
               "%s is armed only after '%s' (line %d), but '%s' in line %d needs it before: arm it "
               "earlier",
               point->name, k->plan->step[armed].text, k->plan->step[armed].line,
               k->plan->step[first].text, k->plan->step[first].line);
}

/* Following `within` from the point comes back to it. */
static bool within_itself(const struct plan *p, int point) {
    int at = p->point[point].within;
    for (int n = 0; at >= 0 && n < p->n_points; n++) {
        if (at == point)
            return true;
        at = p->point[at].within;
    }
    return false;
}

static void check_within(struct check *k, int i) {
    const struct plan *p = k->plan;
    const struct plan_point *point = &p->point[i];
    if (point->within < 0)
        return;
    const struct plan_point *outer = &p->point[point->within];
    int first = first_step(p, i), armed = armed_by(p, point->within);
    if (within_itself(p, i))
        REFUSE_AT(k, point, "%s is within itself: no thread can enter it; name another point",
                  point->name);
    else if (!hook_has_trait(outer->hook, 'C'))
        REFUSE_AT(k, point,
                  "%s is within %s, which is never entered: %s is an instant, not a call; "
                  "name a point whose hook is a call",
                  point->name, plan_outer_name(outer), hook_names[outer->hook].name);
    else if (outer->nth)
        REFUSE_AT(k, point,
                  "%s is within %s, which has nth: %u: an extent is each call's that matches the "
                  "other filters; leave that nth: out, or count %s itself, afresh in each",
                  point->name, outer->name, outer->nth, point->name);
    else if (first >= 0 && first <= armed)
        REFUSE_AT(k, point,
                  "%s is within %s, which is never entered in time: it is armed after "
                  "'%s' (line %d), and '%s' in line %d comes before",
                  point->name, outer->name, p->step[armed].text, p->step[armed].line,
                  p->step[first].text, p->step[first].line);
    else if (point->rank >= 0 && outer->rank >= 0 && point->rank != outer->rank)
        REFUSE_AT(k, point, "%s is on rank %d within %s, which is on rank %d: give both the same",
                  point->name, point->rank, outer->name, outer->rank);
}

/* Following `object_of` from the point comes back to it. */
static bool waits_for_its_own_object(const struct plan *p, int point) {
    int at = p->point[point].object_of;
    for (int n = 0; at >= 0 && n < p->n_points; n++) {
        if (at == point)
            return true;
        at = p->point[at].object_of;
    }
    return false;
}

/* Why no arrival at the point tells an object, or NULL. */
static const char *without_object(const struct plan_point *point) {
    if (point->side == SIDE_ASLEEP)
        return "a point with side: asleep leaves no object: name one of its side: enter";
    if (point->side == SIDE_ENTER &&
        (point->hook == HOOK_CONN_SOCKET || point->hook == HOOK_THREAD_CREATE))
        return "its object is made by the call: give that point side: return";
    return NULL;
}

/* Objects are compared only where they can be the same: locks with locks, connections with
 * connections, and in one process. */
static void check_object(struct check *k, int i) {
    const struct plan *p = k->plan;
    const struct plan_point *point = &p->point[i];
    if (point->object_of < 0)
        return;
    const struct plan_point *other = &p->point[point->object_of];
    const char *name = hook_names[point->hook].name, *others = hook_names[other->hook].name;
    const char *word = point->object_differs ? "not_object_of" : "object_of";
    size_t family = strcspn(name, ".");
    if (point->object_of == i)
        REFUSE_AT(k, point, "%s: %s: names the point itself: name another", point->name, word);
    else if (waits_for_its_own_object(p, i))
        REFUSE_AT(k, point, "%s: %s: %s waits in turn for an object of %s: none would be first",
                  point->name, word, other->name, point->name);
    else if (point->rank >= 0 && other->rank >= 0 && point->rank != other->rank)
        REFUSE_AT(k, point,
                  "%s is on rank %d, but the object of %s is one of rank %d: give both "
                  "the same",
                  point->name, point->rank, other->name, other->rank);
    else if (!hook_has_trait(point->hook, 'O') || !hook_has_trait(other->hook, 'O'))
        REFUSE_AT(k, point, "%s: %s: %s is about no object that could be compared", point->name,
                  word, hook_has_trait(point->hook, 'O') ? others : name);
    else if (family != strcspn(others, ".") || strncmp(name, others, family))
        REFUSE_AT(k, point, "%s: %s: %s and %s are never about the same object", point->name, word,
                  name, others);
    else if (without_object(other))
        REFUSE_AT(k, point, "%s: %s: %s: %s", point->name, word, other->name,
                  without_object(other));
}

/* Rule 16. In scope rank each sequence, and so each gate, is one rank's. */
static void check_gate_rank(struct check *k, int i) {
    const struct plan_point *point = &k->plan->point[i];
    if (k->n_ranks > 1 && !k->plan->scope_rank && is_gate(k->plan, i) && point->rank < 0 &&
        point->role < 0)
        REFUSE_AT(k, point,
                  "the gate %s is on %d ranks: give it a rank: or a role:, or use scope: "
                  "rank",
                  point->name, k->n_ranks);
}

static void check_scope_rank(struct check *k, int i) {
    const struct plan *p = k->plan;
    const struct plan_point *point = &p->point[i];
    if (!p->scope_rank || point->rank < 0 || first_step(p, i) < 0)
        return;
    for (int r = 0; r < p->n_ranks_listed; r++)
        if (p->ranks[r] != point->rank) {
            REFUSE_AT(k, point,
                      "%s is on rank %d only, but the sequence of rank %d needs it too: "
                      "leave rank out, or list that rank alone in ranks:",
                      point->name, point->rank, p->ranks[r]);
            return;
        }
}

static void check_role_of_point(struct check *k, int i) {
    const struct plan *p = k->plan;
    const struct plan_point *point = &p->point[i];
    if (point->role < 0)
        return;
    const struct plan_point *at = &p->point[p->role[point->role].point];
    int first = first_step(p, i), armed = armed_by(p, p->role[point->role].point);
    if (point->rank >= 0 && at->rank >= 0 && point->rank != at->rank)
        REFUSE_AT(k, point,
                  "%s is on rank %d, but its role %s is bound on rank %d: give both the "
                  "same",
                  point->name, point->rank, p->role[point->role].name, at->rank);
    if (first >= 0 && first <= armed)
        REFUSE_AT(k, point,
                  "%s needs the role %s in line %d, but the role is bound only after '%s' "
                  "(line %d): bind it earlier",
                  point->name, p->role[point->role].name, p->step[first].line, p->step[armed].text,
                  p->step[armed].line);
}

static bool is_one_of(const char *name, const char *const *list) {
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

/* The return of a call is seen by putting another return address in the place of its own. */
static void check_return(struct check *k, int i) {
    static const char *const twice[] = {"setjmp",     "_setjmp", "sigsetjmp",  "__sigsetjmp",
                                        "_sigsetjmp", "vfork",   "getcontext", NULL};
    static const char *const looks[] = {"dlopen", "dlmopen", "dlsym", "dlvsym", NULL};
    const struct plan_point *point = &k->plan->point[i];
    bool outer = false;
    for (int n = 0; n < k->plan->n_points; n++)
        outer |= k->plan->point[n].within == i;
    if (point->hook != HOOK_CALL || (point->side == SIDE_ENTER && !outer))
        return;
    const char *what = outer ? "nothing can be within it" : "only its side: enter can be a point";
    if (is_one_of(point->function, twice))
        REFUSE_AT(k, point, "%s: %s may return more than once from one call, so %s", point->name,
                  point->function, what);
    if (is_one_of(point->function, looks))
        REFUSE_AT(k, point, "%s: %s finds its caller by its return address, so %s", point->name,
                  point->function, what);
}

static void check_point(struct check *k, int i) {
    const struct plan_point *point = &k->plan->point[i];
    if (!is_used(k->plan, i))
        REFUSE_AT(k, point,
                  "the point %s is never used: name it in a step or a fault, or remove it",
                  point->name);
    if (point->from && !point->function)
        REFUSE_AT(k, point,
                  "%s: from: is the calling module of a call: hook; for %s use caller: "
                  "MODULE!FUNCTION",
                  point->name, hook_names[point->hook].name);
    check_rank(k, point->rank, point->line, point->column);
    check_side(k, point);
    check_return(k, i);
    check_words_of_gates(k, i);
    check_after(k, i);
    check_within(k, i);
    check_object(k, i);
    check_gate_rank(k, i);
    check_scope_rank(k, i);
    check_role_of_point(k, i);
}

static void check_roles(struct check *k) {
    for (int r = 0; r < k->plan->n_roles; r++) {
        bool used = false;
        for (int i = 0; i < k->plan->n_points; i++)
            used |= k->plan->point[i].role == r;
        if (!used)
            REFUSE_AT(k, &k->plan->role[r],
                      "the role %s is never used: give a point role: %s, or "
                      "remove it",
                      k->plan->role[r].name, k->plan->role[r].name);
    }
}

/* ---- steps ---- */

/* Rule 17: while a thread is held at a gate it cannot come to another point of its role. */
static void check_role_is_free(struct check *k, int i) {
    const struct plan *p = k->plan;
    const struct plan_step *step = &p->step[i];
    int role = p->point[step->point].role;
    for (int earlier = 0; role >= 0 && earlier < i; earlier++) {
        const struct plan_step *held = &p->step[earlier];
        int pass = next_pass(p, held->point, earlier);
        if (held->kind != STEP_REACH || held->point == step->point ||
            p->point[held->point].role != role || pass < i)
            continue;
        REFUSE_AT(k, step,
                  "'%s' needs the role %s, but '%s' in line %d holds it at %s until line "
                  "%d: move '%s' before this step, or give the points different roles",
                  step->text, p->role[role].name, held->text, held->line,
                  p->point[held->point].name, p->step[pass].line, p->step[pass].text);
        return;
    }
}

static void check_step(struct check *k, int i) {
    const struct plan_step *step = &k->plan->step[i];
    const struct plan_point *point = &k->plan->point[step->point];
    if (step->kind == STEP_PASS && point->side == SIDE_ASLEEP)
        REFUSE_AT(k, step,
                  "'%s': a sleeping thread cannot be held; %s is side: asleep, so use reach",
                  step->text, point->name);
    if (step->kind == STEP_REACH && is_gate(k->plan, step->point) &&
        next_pass(k->plan, step->point, i) < 0)
        REFUSE_AT(k, step,
                  "'%s' comes after the last pass of %s and nothing would let the thread go "
                  "on: add 'pass %s' after it, or use a second point for the mark",
                  step->text, point->name, point->name);
    check_role_is_free(k, i);
}

/* ---- faults ---- */

static void check_fault_words(struct check *k, const struct plan_fault *f) {
    bool fail = f->action == FAULT_FAIL, hold = f->action == FAULT_HOLD;
    if (fail && !f->has_return && !f->error_number)
        REFUSE_AT(k, f, "fail needs return: or errno:, what the call is to answer");
    if (!fail && (f->has_return || f->error_number))
        REFUSE_AT(k, f, "return: and errno: go with do: fail");
    if (f->action == FAULT_DELAY && !f->ns)
        REFUSE_AT(k, f, "delay needs for:, such as for: 10ms");
    if (hold && !f->ns && f->until < 0)
        REFUSE_AT(k, f, "hold needs until: a point, or for: a time, else it would never end");
    if (!hold && f->until >= 0)
        REFUSE_AT(k, f, "until: goes with do: hold");
    if (!hold && f->action != FAULT_DELAY && f->ns)
        REFUSE_AT(k, f, "for: goes with do: delay or do: hold");
    if (f->action == FAULT_SIGNAL && !f->signal_number)
        REFUSE_AT(k, f, "signal needs signal:, such as signal: SIGTERM");
    if (f->action != FAULT_SIGNAL && f->signal_number)
        REFUSE_AT(k, f, "signal: goes with do: signal");
    if (f->action != FAULT_REPEAT && f->times)
        REFUSE_AT(k, f, "times: goes with do: repeat");
    bool cuts = f->action == FAULT_SEVER, shortens = f->action == FAULT_SHORT;
    if (shortens && (!f->has_bytes || f->is_place))
        REFUSE_AT(k, f, "short needs bytes:, how many the call may move at most");
    if (cuts && (!f->has_bytes || !f->is_place))
        REFUSE_AT(k, f, "sever needs byte:, after how many bytes the connection is cut");
    if (!cuts && !shortens && f->has_bytes)
        REFUSE_AT(k, f, "bytes: goes with do: short, and byte: with do: sever");
    if (f->times == 1 || f->times > UINT16_MAX)
        REFUSE_AT(k, f, "times: counts all calls, so it is 2 to %d", UINT16_MAX);
}

static void check_fault_counts(struct check *k, const struct plan_fault *f) {
    if (f->nth && (f->every || f->from || f->to))
        REFUSE_AT(k, f, "nth: names one arrival; leave out every:, from: and to:, or nth:");
    if (f->action == FAULT_SEVER && (f->nth || f->every || f->from || f->to))
        REFUSE_AT(k, f,
                  "sever happens at its byte:, not at an arrival: leave out nth:, every:, "
                  "from: and to:, or filter its point");
    if (f->to && f->from > f->to)
        REFUSE_AT(k, f, "from: %u comes after to: %u: swap them", f->from, f->to);
    if (f->has_prob && f->prob < 1e-6)
        REFUSE_AT(k, f, "prob: %g would never fire: it is from 0.000001 to 1", f->prob);
    if (f->has_prob && !f->has_seed)
        REFUSE_AT(k, f, "prob: needs seed:, so that the run can be repeated");
    if (f->has_seed && !f->has_prob)
        REFUSE_AT(k, f, "seed: goes with prob:");
}

static void check_fault_place(struct check *k, const struct plan_fault *f) {
    const struct plan_point *at = &k->plan->point[f->point];
    bool callback = f->action == FAULT_DROP || f->action == FAULT_REPEAT;
    if (f->action == FAULT_FAIL && !hook_has_trait(at->hook, 'F'))
        REFUSE_AT(k, f, "%s cannot fail: %s has no answer to its caller; delay, hold or crash it",
                  at->name, hook_names[at->hook].name);
    if (callback && !hook_has_trait(at->hook, 'B'))
        REFUSE_AT(k, f,
                  "%s cannot be dropped or repeated: %s is no callback; use fail, or a hook "
                  "ending in .callback",
                  at->name, hook_names[at->hook].name);
    bool stream = f->action == FAULT_SHORT || f->action == FAULT_SEVER;
    if (stream && !hook_has_trait(at->hook, 'S'))
        REFUSE_AT(k, f,
                  "%s moves no bytes of a stream: %s cannot be %s; use conn.read or conn.write",
                  at->name, hook_names[at->hook].name,
                  f->action == FAULT_SHORT ? "cut short" : "severed");
    if (stream && at->side != SIDE_ENTER)
        REFUSE_AT(k, f, "%s: a call is cut short at its enter side: leave side: out", at->name);
    if (at->side == SIDE_ASLEEP)
        REFUSE_AT(k, f,
                  "nothing can be done to a sleeping thread: %s is side: asleep; use its enter "
                  "or return side",
                  at->name);
    if (f->until == f->point)
        REFUSE_AT(k, f, "until: %s is the point of the fault itself: the hold would end at once",
                  at->name);
    check_rank(k, f->rank, f->line, f->column);
    if (f->rank >= 0 && at->rank >= 0 && f->rank != at->rank)
        REFUSE_AT(k, f,
                  "the fault is on rank %d, but its point %s is on rank %d: it would never fire",
                  f->rank, at->name, at->rank);
}

/* ---- the sweep ---- */

static void check_sweep_over(struct check *k) {
    const struct plan_sweep *sweep = &k->plan->sweep;
    const struct plan_point *point = &k->plan->point[sweep->point];
    bool has_fault = false;
    for (int i = 0; i < k->plan->n_faults; i++)
        has_fault |= k->plan->fault[i].point == sweep->point;
    if (point->hook != HOOK_CALL)
        REFUSE_AT(k, sweep,
                  "the sweep replaces the function of %s, whose hook %s has none: name a point "
                  "whose hook is call:MODULE!FUNCTION",
                  point->name, hook_names[point->hook].name);
    if (!has_fault)
        REFUSE_AT(k, sweep,
                  "no fault is at %s, so that nothing tells which of the functions were called "
                  "in time: put a fault there, or sweep over another point",
                  point->name);
}

static void check_sweep_of_fault(struct check *k) {
    const struct plan_fault *fault = &k->plan->fault[k->plan->sweep.fault];
    const char *what = k->plan->sweep.kind == SWEEP_NTH ? "nth" : "byte";
    if (fault->has_prob)
        REFUSE_AT(k, fault,
                  "%s: 1.. ends with the first run in which the fault does not fire, and prob: "
                  "lets it not fire by chance: leave one of them out",
                  what);
}

/* ---- the whole ---- */

static void check_ranks_listed(struct check *k) {
    for (int i = 0; i < k->plan->n_ranks_listed; i++)
        check_rank(k, k->plan->ranks[i], 0, 0);
    for (int i = 0; i < k->plan->n_env; i++)
        check_rank(k, k->plan->env[i].rank, k->plan->env[i].line, k->plan->env[i].column);
    if (k->n_ranks > BOARD_MAX_RANKS)
        refuse(k, 0, 0, "a job has at most %d ranks, and %d were asked for", BOARD_MAX_RANKS,
               k->n_ranks);
}

/* Whether it fits into a board is known by compiling it. */
static void check_size(struct check *k) {
    struct board *b = allocate(1, sizeof *b);
    k->ok &= plan_compile(k->plan, 1, b, k->complaints);
    free(b);
}

static bool is_meant(const char *function, const char *symbol) {
    AUTO_TEXT name = copy_part(symbol, function_name_bytes(symbol));
    return fnmatch(function, symbol, 0) == 0 || fnmatch(function, name, 0) == 0;
}

static bool can_match(const struct closure *c, const char *module, const char *function) {
    const char **name;
    size_t n = closure_functions(c, module, CLOSURE_ALL_FUNCTIONS, &name);
    bool found = strcmp(function, "*") == 0;
    for (size_t i = 0; i < n && !found; i++)
        found = is_meant(function, name[i]);
    free(name);
    return found;
}

/* Refuses only what is certain: a module that was not found, or may be loaded later, may hold the
 * function. `word`: caller, stack or an attribute. */
static void check_code(struct check *k, const struct plan_point *point, const char *word,
                       const char *code, const struct closure *c, const char *program) {
    const char *bang = strchr(code, '!'), *stripped;
    AUTO_TEXT module = copy_part(code, (size_t)(bang - code));
    bool there = closure_has_module(c, module), open = strpbrk(module, "*?[") != NULL;
    if (closure_has_gaps(c) || ((!there || open) && closure_loads_more(c)))
        return;
    if (!there)
        REFUSE_AT(k, point, "%s: %s: %s can match nothing: %s needs no module %s", point->name,
                  word, code, program, module);
    else if (can_match(c, module, bang + 1))
        return;
    else if ((stripped = closure_stripped(c, module)))
        REFUSE_AT(
            k, point,
            "%s: %s: %s can match nothing: %s is stripped, so that only the functions that it "
            "exports have names; use a build with symbols, or filters that need none (role, "
            "within, nth, object_of)",
            point->name, word, code, stripped);
    else
        REFUSE_AT(k, point, "%s: %s: %s can match nothing: no such function in %s of %s",
                  point->name, word, code, module, program);
}

static bool is_code(const struct plan_filter *f) {
    return attribute_names[f->attr].type == ATTR_CODE;
}

static void check_program(struct check *k, const char *program) {
    bool any = false;
    for (int i = 0; i < k->plan->n_points; i++) {
        const struct plan_point *point = &k->plan->point[i];
        any |= point->caller || point->stack;
        for (int f = 0; f < point->n_filters; f++)
            any |= is_code(&point->filter[f]);
    }
    struct closure *c = any && k->plan->follow == FOLLOW_NONE ? closure_read(program) : NULL;
    for (int i = 0; c && i < k->plan->n_points; i++) {
        const struct plan_point *point = &k->plan->point[i];
        if (point->caller)
            check_code(k, point, "caller", point->caller, c, program);
        if (point->stack)
            check_code(k, point, "stack", point->stack, c, program);
        for (int f = 0; f < point->n_filters; f++)
            if (is_code(&point->filter[f]))
                check_code(k, point, attribute_names[point->filter[f].attr].name,
                           point->filter[f].text, c, program);
    }
    closure_free(c);
}

/* What is dropped is what the detector sees dead. */
static void check_heal(struct check *k) {
    if (!k->plan->heal || (k->plan->detectors & DETECT_FRAMES))
        return;
    refuse(k, 0, 0, "heal: drops what the detector `frames` finds: add `detect: [frames]`");
}

/* The detector and what it guards belong together. */
static void check_guard(struct check *k) {
    const struct plan_heap *heap = &k->plan->heap;
    bool asked = k->plan->detectors & DETECT_HEAP;
    if (asked && !heap->from)
        refuse(k, 0, 0,
               "detect: heap guards the allocations of one module and size: add "
               "`heap: {from: MODULE, size: BYTES}` (from: PROGRAM is the program itself)");
    if (!asked && heap->from)
        REFUSE_AT(k, heap, "heap: says what the detector `heap` guards: add `detect: [heap]`");
}

static void check_guarded_stack(struct check *k) {
    const struct plan_frames *frames = &k->plan->frames;
    if (frames->guard < 0)
        return;
    const struct plan_point *point = &k->plan->point[frames->guard];
    if (!(k->plan->detectors & DETECT_FRAMES))
        REFUSE_AT(k, frames,
                  "frames: says what the detector `frames` guards: add "
                  "`detect: [frames]`");
    if (point->hook != HOOK_CALL || point->side != SIDE_ENTER)
        REFUSE_AT(k, frames,
                  "guard: %s must be the entry of a call (`hook: \"call:MODULE!FUNCTION\"`, no "
                  "`side:`): it is the call that runs on a guarded stack",
                  point->name);
}

bool plan_check(const struct plan *p, int n_ranks, const char *program, struct complaints *c) {
    struct check k = {p, n_ranks, c, true};
    for (int i = 0; i < p->n_points; i++)
        check_point(&k, i);
    check_roles(&k);
    for (int i = 0; i < p->n_steps; i++)
        check_step(&k, i);
    for (int i = 0; i < p->n_faults; i++) {
        check_fault_words(&k, &p->fault[i]);
        check_fault_counts(&k, &p->fault[i]);
        check_fault_place(&k, &p->fault[i]);
    }
    if (p->sweep.kind == SWEEP_OVER)
        check_sweep_over(&k);
    if (p->sweep.kind == SWEEP_NTH || p->sweep.kind == SWEEP_BYTE)
        check_sweep_of_fault(&k);
    check_ranks_listed(&k);
    check_heal(&k);
    check_guard(&k);
    check_guarded_stack(&k);
    check_size(&k);
    if (program)
        check_program(&k, program);
    return k.ok;
}

/* ---- doubts ---- */

static bool has_name(const char *const *name, size_t n, const char *wanted) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(name[i], wanted) == 0)
            return true;
    return false;
}

static void doubt_function(const struct plan *p, const struct plan_point *point,
                           const struct closure *closure, const char *program,
                           struct complaints *c) {
    const char **name, *best[3];
    size_t n = closure_functions(closure, point->module, CLOSURE_EXPORTED, &name);
    size_t near =
        has_name(name, n, point->function) ? 0 : nearest_names(point->function, name, n, best, 3);
    if (!closure_has_module(closure, point->module))
        complain(c, p->file, point->line, point->column,
                 "warning: %s: %s needs no module '%s'; it must load one while it runs, or the "
                 "point is never reached",
                 point->name, program, point->module);
    else if (near > 0)
        complain(c, p->file, point->line, point->column,
                 "warning: %s: nothing that %s needs exports '%s'; it exports %s%s%s%s%s",
                 point->name, program, point->function, best[0], near > 1 ? ", " : "",
                 near > 1 ? best[1] : "", near > 2 ? ", " : "", near > 2 ? best[2] : "");
    else if (!has_name(name, n, point->function))
        complain(
            c, p->file, point->line, point->column,
            "warning: %s: nothing that %s needs exports '%s', nor a similar name; it must load "
            "a module that does, or the point is never reached",
            point->name, program, point->function);
    free(name);
}

/* A swept point stands for each function that takes the place of its own. */
static void doubt_swept(const struct plan *p, const struct closure *closure, const char *program,
                        struct complaints *c) {
    for (int i = 0; i < p->sweep.n_functions; i++) {
        struct plan_point element = p->point[p->sweep.point];
        element.function = p->sweep.function[i];
        doubt_function(p, &element, closure, program, c);
    }
}

void plan_doubts(const struct plan *p, const char *program, struct complaints *c) {
    struct closure *closure = p->follow == FOLLOW_NONE ? closure_read(program) : NULL;
    for (int i = 0; closure && i < p->n_points; i++)
        if (p->sweep.kind == SWEEP_OVER && p->sweep.point == i)
            doubt_swept(p, closure, program, c);
        else if (p->point[i].function)
            doubt_function(p, &p->point[i], closure, program, c);
    if (closure && p->heap.from && strcmp(p->heap.from, "PROGRAM") != 0 &&
        !closure_has_module(closure, p->heap.from))
        complain(c, p->file, p->heap.line, p->heap.column,
                 "warning: heap: %s needs no module '%s'; it must load one while it runs, or "
                 "nothing is guarded",
                 program, p->heap.from);
    closure_free(closure);
}
