/* Reading the faults of a plan file and its sweep, and what a fault is in words. Main thread of the
 * runner; part of plan.c's reading. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "plan.h"
#include "plan_reading.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- the sweep ---- */

/* Whether the plan may have this sweep: it is its first. */
static bool begin_sweep(struct yaml_tree *t, const yaml_node_t *v, enum sweep_kind kind) {
    struct plan *p = t->context;
    if (p->sweep.kind != SWEEP_NONE)
        return tree_complain(t, v,
                             "a plan may have one sweep, and there is one in line %d already: make "
                             "it two plans",
                             p->sweep.line);
    p->sweep = (struct plan_sweep){
        .kind = kind, .point = -1, .fault = -1, .line = tree_line(v), .column = tree_column(v)};
    return true;
}

static bool read_swept_function(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan_sweep *sweep = into;
    const char *text = tree_scalar(t, v, "the name of a function");
    if (!text)
        return false;
    if (!*text || strpbrk(text, "*?[]!/ \t"))
        return tree_complain(t, v,
                             "'%.100s' is no function of a sweep: write one exact name, without "
                             "its module, which is the point's",
                             text);
    for (int i = 0; i < sweep->n_functions; i++)
        if (strcmp(sweep->function[i], text) == 0)
            return tree_complain(t, v, "'%.100s' stands twice in over: keep one", text);
    if (sweep->n_functions == SWEEP_MOST_FUNCTIONS)
        return tree_complain(t, v, "a sweep may go over %d functions, and this is one more",
                             SWEEP_MOST_FUNCTIONS);
    sweep->function[sweep->n_functions++] = copy_text(text);
    return true;
}

static bool read_over(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan_sweep *sweep = into;
    if (!tree_list(t, v, "over", read_swept_function, into))
        return false;
    return sweep->n_functions > 0 || tree_complain(t, v, "over: names no function");
}

bool plan_read_sweep(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const struct tree_key keys[] = {
        {"point", plan_point_name, offsetof(struct plan_sweep, point), TREE_REQUIRED},
        {"over", read_over, 0, TREE_REQUIRED},
        {0},
    };
    static const struct tree_schema schema = {"a sweep", keys, NULL};
    return begin_sweep(t, v, SWEEP_OVER) && tree_mapping(t, v, &schema, into);
}

/* ---- faults ---- */

static const char *const action_name[] = {
    [FAULT_DELAY] = "delay",   [FAULT_HOLD] = "hold",     [FAULT_FAIL] = "fail",
    [FAULT_DROP] = "drop",     [FAULT_REPEAT] = "repeat", [FAULT_CRASH] = "crash",
    [FAULT_SIGNAL] = "signal", [FAULT_STOP] = "stop",     [FAULT_SHORT] = "short",
    [FAULT_SEVER] = "sever",
};

static bool read_action(struct yaml_tree *t, yaml_node_t *v, void *into) {
    int action = tree_one_of(t, v, "fault", action_name, COUNT(action_name));
    if (action >= 0)
        *(enum fault_action *)into = (enum fault_action)action;
    return action >= 0;
}

static bool read_return(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan_fault *fault = into;
    const char *text = tree_scalar(t, v, "a return value");
    if (!text)
        return false;
    fault->has_return = true;
    if (number_from_text(text, &fault->ret))
        return true;
    if (strncmp(text, "arg", 3) == 0 && text[3] >= '0' && text[3] <= '5' && !text[4]) {
        fault->return_is_arg = true;
        fault->ret = text[3] - '0';
        return true;
    }
    return tree_complain(t, v,
                         "'%.80s' is no return value: write a number such as -1 or 0x10, or "
                         "arg0 to arg5 for an argument of the call",
                         text);
}

/* Some numbers have a second name. */
static const struct {
    const char *name;
    int number;
} other_errno_names[] = {{"EWOULDBLOCK", EWOULDBLOCK},
                         {"EDEADLOCK", EDEADLOCK},
                         {"ENOTSUP", ENOTSUP},
                         {"EOPNOTSUPP", EOPNOTSUPP}};

static bool read_errno(struct yaml_tree *t, yaml_node_t *v, void *into) {
    enum { HIGHEST = 133 };
    const char *known[HIGHEST + COUNT(other_errno_names)], *text = tree_scalar(t, v, "an errno");
    int64_t number;
    size_t n = 0;
    if (!text)
        return false;
    if (number_from_text(text, &number) && number > 0 && number <= HIGHEST) {
        *(int *)into = (int)number;
        return true;
    }
    for (size_t i = 0; i < COUNT(other_errno_names); i++) {
        known[n++] = other_errno_names[i].name;
        if (strcmp(text, other_errno_names[i].name) == 0)
            *(int *)into = other_errno_names[i].number;
    }
    for (int i = 1; i <= HIGHEST; i++) {
        const char *name = strerrorname_np(i);
        if (name && strcmp(text, name) == 0)
            *(int *)into = i;
        if (name)
            known[n++] = name;
    }
    if (*(int *)into)
        return true;
    const char *near = nearest_name(text, known, n);
    return tree_complain(t, v, "'%.80s' is no errno: write a name such as %s, or its number", text,
                         near ? near : "ECONNRESET");
}

static bool read_signal(struct yaml_tree *t, yaml_node_t *v, void *into) {
    const char *text = tree_scalar(t, v, "a signal");
    int64_t number;
    if (!text)
        return false;
    if (number_from_text(text, &number) && number > 0 && number < NSIG) {
        *(int *)into = (int)number;
        return true;
    }
    const char *wanted = strncmp(text, "SIG", 3) == 0 ? text + 3 : text, *known[NSIG];
    size_t n = 0;
    for (int i = 1; i < NSIG; i++) {
        const char *name = sigabbrev_np(i);
        if (name && strcmp(wanted, name) == 0)
            *(int *)into = i;
        if (name)
            known[n++] = name;
    }
    if (*(int *)into)
        return true;
    const char *near = nearest_name(wanted, known, n);
    return tree_complain(t, v, "'%.80s' is no signal: write a name such as SIG%s, or its number",
                         text, near ? near : "SEGV");
}

static bool read_fault_nth(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan *p = t->context;
    const char *text = v->type == YAML_SCALAR_NODE ? (const char *)v->data.scalar.value : "";
    if (!strstr(text, ".."))
        return tree_positive(t, v, into);
    if (strcmp(text, "1..") != 0)
        return tree_complain(t, v,
                             "'%.80s' is neither an arrival such as 2 nor 1.., a run for each "
                             "arrival in turn; for some of them in one run use from: and to:",
                             text);
    if (!begin_sweep(t, v, SWEEP_NTH))
        return false;
    p->sweep.fault = p->n_faults - 1;
    *(unsigned *)into = 1;
    return true;
}

/* 12, or `1..` for a run for each byte of the stream, or `1.. by 7` for each seventh. */
static bool read_byte(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan *p = t->context;
    struct plan_fault *fault = into;
    const char *text = v->type == YAML_SCALAR_NODE ? (const char *)v->data.scalar.value : "";
    unsigned stride = 1;
    char rest[2];
    int64_t number;
    if (fault->has_bytes)
        return tree_complain(t, v, "a fault has bytes: or byte:, not both");
    fault->has_bytes = fault->is_place = true;
    if (number_from_text(text, &number) && number >= 0 && number <= UINT32_MAX) {
        fault->bytes = (unsigned)number;
        return true;
    }
    int n = sscanf(text, "1.. by %6u%1s", &stride, rest);
    if ((n != 1 && strcmp(text, "1..") != 0) || stride < 1)
        return tree_complain(
            t, v,
            "'%.80s' is neither a number of bytes such as 12, nor 1.., a run for "
            "each byte in turn, nor 1.. by 7, a run for each seventh (up to 999999)",
            text);
    if (!begin_sweep(t, v, SWEEP_BYTE))
        return false;
    p->sweep.fault = p->n_faults - 1;
    p->sweep.stride = stride;
    fault->bytes = 1;
    return true;
}

static bool read_bytes(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan_fault *fault = into;
    if (fault->has_bytes)
        return tree_complain(t, v, "a fault has bytes: or byte:, not both");
    fault->has_bytes = true;
    return tree_positive(t, v, &fault->bytes);
}

static bool read_prob(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan_fault *fault = into;
    fault->has_prob = true;
    return tree_share(t, v, &fault->prob);
}

static bool read_seed(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan_fault *fault = into;
    const char *text = v->type == YAML_SCALAR_NODE ? (const char *)v->data.scalar.value : "";
    size_t length = strlen(text);
    int64_t first;
    fault->has_seed = true;
    if (length < 3 || strcmp(text + length - 2, "..") != 0)
        return tree_u64(t, v, &fault->seed);
    AUTO_TEXT number = copy_part(text, length - 2);
    fault->seed_rises = true;
    if (!number_from_text(number, &first) || first < 0)
        return tree_complain(t, v,
                             "'%.80s' is neither a seed such as 7 nor 7.., another one in each "
                             "trial: 7, 8, 9",
                             text);
    fault->seed = (uint64_t)first;
    return true;
}

#define IN_FAULT(field) offsetof(struct plan_fault, field)
static const struct tree_key fault_keys[] = {
    {"at", plan_point_name, IN_FAULT(point), TREE_REQUIRED},
    {"do", read_action, IN_FAULT(action), TREE_REQUIRED},
    {"rank", tree_rank, IN_FAULT(rank), TREE_OPTIONAL},
    {"return", read_return, 0, TREE_OPTIONAL},
    {"errno", read_errno, IN_FAULT(error_number), TREE_OPTIONAL},
    {"for", tree_duration, IN_FAULT(ns), TREE_OPTIONAL},
    {"until", plan_point_name, IN_FAULT(until), TREE_OPTIONAL},
    {"signal", read_signal, IN_FAULT(signal_number), TREE_OPTIONAL},
    {"times", tree_positive, IN_FAULT(times), TREE_OPTIONAL},
    {"nth", read_fault_nth, IN_FAULT(nth), TREE_OPTIONAL},
    {"bytes", read_bytes, 0, TREE_OPTIONAL},
    {"byte", read_byte, 0, TREE_OPTIONAL},
    {"every", tree_positive, IN_FAULT(every), TREE_OPTIONAL},
    {"from", tree_positive, IN_FAULT(from), TREE_OPTIONAL},
    {"to", tree_positive, IN_FAULT(to), TREE_OPTIONAL},
    {"prob", read_prob, 0, TREE_OPTIONAL},
    {"seed", read_seed, 0, TREE_OPTIONAL},
    {0},
};

static void append(char **text, char *more) {
    char *longer = format_text("%s%s", *text, more);
    free(*text);
    free(more);
    *text = longer;
}

/* "nth 1.." of a whole sweep, "nth 3" of its third run and of any other fault. */
static char *nth_text(const struct plan *p, const struct plan_fault *f) {
    bool swept = p->sweep.kind == SWEEP_NTH && f == &p->fault[p->sweep.fault];
    return format_text(" nth %u%s", f->nth, swept && !p->sweep.element ? ".." : "");
}

/* "byte 1.. by 7" of a whole sweep, "byte 8" of its second run; "bytes 3" of a short call. */
static char *bytes_text(const struct plan *p, const struct plan_fault *f) {
    bool swept = p->sweep.kind == SWEEP_BYTE && f == &p->fault[p->sweep.fault];
    if (!swept || p->sweep.element)
        return format_text(" %s %u", f->action == FAULT_SHORT ? "bytes" : "byte", f->bytes);
    return p->sweep.stride == 1 ? copy_text(" byte 1..")
                                : format_text(" byte 1.. by %u", p->sweep.stride);
}

char *plan_fault_text(const struct plan *p, const struct plan_fault *f) {
    char *text = format_text("%s %s", action_name[f->action], p->point[f->point].name);
    if (f->rank >= 0)
        append(&text, format_text(" rank %d", f->rank));
    if (f->return_is_arg)
        append(&text, format_text(" return arg%d", (int)f->ret));
    else if (f->has_return)
        append(&text, format_text(" return %lld", (long long)f->ret));
    if (f->error_number)
        append(&text, format_text(" errno %s", strerrorname_np(f->error_number)
                                                   ? strerrorname_np(f->error_number)
                                                   : "unnamed"));
    if (f->signal_number)
        append(&text, format_text(" signal %d", f->signal_number));
    if (f->ns)
        append(&text, format_text(" for %gms", (double)f->ns / 1e6));
    if (f->until >= 0)
        append(&text, format_text(" until %s", p->point[f->until].name));
    if (f->times)
        append(&text, format_text(" times %u", f->times));
    if (f->nth)
        append(&text, nth_text(p, f));
    if (f->has_bytes)
        append(&text, bytes_text(p, f));
    if (f->every)
        append(&text, format_text(" every %u", f->every));
    if (f->from)
        append(&text, format_text(" from %u", f->from));
    if (f->to)
        append(&text, format_text(" to %u", f->to));
    if (f->has_prob)
        append(&text, format_text(" prob %g seed %llu%s", f->prob, (unsigned long long)f->seed,
                                  f->seed_rises ? ".." : ""));
    return text;
}

static bool read_fault(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const struct tree_schema schema = {"a fault", fault_keys, NULL};
    struct plan *p = into;
    if (p->n_faults == BOARD_MAX_FAULTS)
        return tree_complain(t, v, "a plan may have %d faults, and this is one more",
                             BOARD_MAX_FAULTS);
    struct plan_fault *fault = &p->fault[p->n_faults++];
    *fault = (struct plan_fault){
        .point = -1, .until = -1, .rank = -1, .line = tree_line(v), .column = tree_column(v)};
    if (!tree_mapping(t, v, &schema, fault))
        return false;
    if (fault->action == FAULT_FAIL && !fault->has_return)
        fault->ret = -1; /* errno alone: what a system call returns then */
    fault->text = plan_fault_text(p, fault);
    return true;
}

bool plan_read_faults(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return tree_list(t, v, "faults", read_fault, into);
}

void plan_for_trial(struct plan *p, int number) {
    for (int i = 0; i < p->n_faults; i++) {
        struct plan_fault *f = &p->fault[i];
        if (!f->seed_rises)
            continue;
        f->seed += (uint64_t)number - 1;
        f->seed_rises = false;
        free(f->text);
        f->text = plan_fault_text(p, f);
    }
}
