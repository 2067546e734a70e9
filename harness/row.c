/* Running the trials of one row. Runs in the runner. */
#include "row.h"
#include "allocate.h"
#include "parts.h"
#include "progress.h"
#include "steps.h"
#include "sweep.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The workload's environment becomes part of the plan, so that holdpoint-rank finds it on the
 * board. The plan's own entries come last and win. */
static bool add_environment(const struct row *r, struct plan *p, struct complaints *c) {
    if (p->n_env + r->n_env > BOARD_MAX_ENV) {
        complain(c, r->plan_file, 0, 0,
                 "more than %d environment entries with those of the workload", BOARD_MAX_ENV);
        return false;
    }
    memmove(p->env + r->n_env, p->env, (size_t)p->n_env * sizeof *p->env);
    for (int i = 0; i < r->n_env; i++)
        p->env[i] = (struct plan_env){.rank = r->env[i].rank,
                                      .assignment = copy_text(r->env[i].assignment)};
    p->n_env += r->n_env;
    return true;
}

static char **copy_words(char **words) {
    size_t n = 0;
    while (words[n])
        n++;
    char **copy = allocate(n + 1, sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = copy_text(words[i]);
    return copy;
}

static char *copy_or_null(const char *s) {
    return s ? copy_text(s) : NULL;
}

/* As part of a file's name; its number says which one it is where the name was cut. */
enum { MOST_OF_NAME = 80 };

static char *trial_id(const struct row *r, const struct plan *p, int number) {
    if (!p->sweep.element)
        return format_text("%s-t%d", r->id, number);
    char *name = sweep_element_name(p, number);
    for (char *blank = strchr(name, ' '); blank; blank = strchr(blank, ' '))
        *blank = '-';
    char *id = format_text("%s-s%d-%.*s", r->id, number, MOST_OF_NAME, name);
    free(name);
    return id;
}

static char *trial_name(const struct row *r, const struct plan *p, int number) {
    char *which = p->sweep.element ? sweep_element_name(p, number)
                                   : format_text("trial %d of %d", number, r->trials);
    char *name = format_text("%s %s, %s, %d rank%s, %s", r->head.scenario, r->head.variant,
                             r->head.plan ? r->head.plan : p->name, r->head.ranks,
                             r->head.ranks == 1 ? "" : "s", which);
    free(which);
    return name;
}

/* Owned by the caller, as trial_free wants it: everything is a copy. */
static struct trial *make_trial(const struct row *r, struct plan *p, int number) {
    struct trial *t = allocate(1, sizeof *t);
    t->id = trial_id(r, p, number);
    t->dir = format_text("%s/trials/%s", r->out, t->id);
    t->name = trial_name(r, p, number);
    t->argv = copy_words(r->argv);
    t->ranks = r->head.ranks;
    t->launcher = r->launcher;
    t->keep_output_live = r->live;
    t->time_scale = r->time_scale;
    t->limit_ns = (uint64_t)((double)r->limit_ns * r->time_scale);
    t->stall_ns = (uint64_t)((double)r->stall_ns * r->time_scale);
    t->needs_mark = r->needs_mark;
    t->sanitizer = copy_or_null(r->sanitizer);
    t->component_file = copy_or_null(r->component_file);
    for (int i = 0; i < r->n_outcomes; i++) {
        t->outcome[i] = r->outcome[i];
        for (int k = 0; k < r->outcome[i].n_attrs; k++)
            t->outcome[i].attr[k] = (struct outcome_attr){copy_text(r->outcome[i].attr[k].key),
                                                          copy_text(r->outcome[i].attr[k].value)};
    }
    t->n_outcomes = r->n_outcomes;
    t->signature = copy_or_null(r->signature);
    t->known_file = copy_or_null(r->known_file);
    t->plan = p;
    return t;
}

bool make_folder(const char *path, struct complaints *c) {
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        if (mkdir(part, 0755) && errno != EEXIST) {
            complain(c, part, 0, 0, "cannot make this folder: %s; choose another with --out",
                     strerror(errno));
            return false;
        }
        if (!slash)
            return true;
        *slash = '/';
    }
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where) {
    (void)st, (void)kind, (void)where;
    return remove(path);
}

/* An earlier trial of the same name: its logs must not be taken for this one's. */
static bool remove_earlier(const char *dir, struct complaints *c) {
    board_remove(dir);
    if (access(dir, F_OK) || !nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS))
        return true;
    complain(c, dir, 0, 0,
             "an earlier trial's folder cannot be removed: %s; remove it or choose another --out",
             strerror(errno));
    return false;
}

/* A board is a few MiB, and useful only where something is left to be looked at. */
static void drop_board(const struct trial *t, const struct trial_result *result, bool keep) {
    bool unfired = t->plan->sweep.element && !sweep_counts(result) && result->ended;
    if (!keep && (result->verdict == VERDICT_CLEAN || result->verdict == VERDICT_REPRODUCED ||
                  (unfired && result->verdict == VERDICT_NOT_EXERCISED)))
        board_remove(t->dir);
}

static bool run_one(const struct row *r, struct trial *t, struct trial_result *result,
                    bool *interrupted, struct complaints *c) {
    struct ending ending = {.launcher_status = -1};
    char *shim = parts_find("libholdpoint.so");
    if (!shim)
        complain(c, NULL, 0, 0,
                 "libholdpoint.so lies neither beside this program nor where `make install` puts "
                 "it: build it "
                 "with `make`");
    bool ready = shim && remove_earlier(t->dir, c) && make_folder(t->dir, c);
    if (ready)
        t->board = board_create(t->dir, t->plan, t->ranks, t->time_scale, t->name, shim, c);
    ready = ready && t->board && trial_save(t, c);
    if (ready) {
        progress_begin(t->name);
        trial_run(t, &ending, c);
        progress_end();
        collect_trial(t, &ending, r->known, result, c);
        if (result->json) {
            char *trial_folder = format_text("trials/%s", t->id);
            json_object_set_new(result->json, "folder", json_string(trial_folder));
            json_object_set_new(result->json, "again", json_string(r->head.again));
            free(trial_folder);
        }
        *interrupted = ending.interrupted;
    }
    if (t->board)
        board_close(t->board);
    t->board = NULL;
    if (ready)
        drop_board(t, result, r->keep);
    free(shim);
    return ready;
}

/* What the row asks of a plan that is good in itself. */
static bool row_allows(const struct row *r, const struct plan *p, struct complaints *c) {
    const char *closing = verdict_closing_step(r->head.expected);
    int before = c->count;
    if (closing && plan_after(p, closing) < 0)
        complain(c, r->plan_file, 0, 0,
                 "'%s' is expected, and that is no step of this plan: write a step's text as it "
                 "stands there",
                 r->head.expected);
    if (closing && sweep_most(p))
        complain(c, r->plan_file, p->sweep.line, p->sweep.column,
                 "'%s' is expected, which one interleaving shows, and a sweep is many: "
                 "take the sweep out of the plan",
                 r->head.expected);
    if (r->gated && p->heal)
        complain(c, r->plan_file, 0, 0,
                 "`heal: true` drops the completion that brings the bug out, and --gate counts how "
                 "often it comes out: take `heal` out of the plan");
    if (r->gated && sweep_most(p))
        complain(c, r->plan_file, p->sweep.line, p->sweep.column,
                 "a sweep runs each of its elements once, and --gate repeats one plan: take the "
                 "sweep out of the plan");
    else if (sweep_most(p) && r->trials_given && r->trials != 1)
        complain(c, r->plan_file, p->sweep.line, p->sweep.column,
                 "a sweep runs each of its elements once, and --trials asks for %d trials: leave "
                 "--trials out",
                 r->trials);
    return c->count == before;
}

static struct plan *read_plan(const struct row *r, struct complaints *c) {
    struct plan *p = plan_read(r->plan_file, c);
    const char *program = r->launcher == LAUNCHER_USER ? NULL : r->argv[0];
    if (!p || (add_environment(r, p, c) && plan_check(p, r->head.ranks, program, c) &&
               row_allows(r, p, c)))
        return p;
    plan_free(p);
    return NULL;
}

/* "3 of 3 trials", or of a sweep "7 of 9 points fired, 6 reproduced". */
static void print_counts(FILE *to, const json_t *v) {
    const json_t *sweep = json_object_get(v, "sweep");
    long long of_verdict = json_integer_value(json_object_get(v, "of_verdict")),
              trials = json_integer_value(json_object_get(v, "trials"));
    if (!json_is_object(sweep)) {
        fprintf(to, "%lld of %lld trials\n", of_verdict, trials);
        return;
    }
    bool over = !strcmp(json_string_value(json_object_get(sweep, "kind")), "over");
    fprintf(to, "%lld of %lld %s fired, %lld %s\n",
            json_integer_value(json_object_get(sweep, "fired")), trials, over ? "points" : "runs",
            of_verdict, json_string_value(json_object_get(v, "verdict")));
    const char *note = json_string_value(json_object_get(sweep, "note"));
    if (*note && json_is_true(json_object_get(v, "as_expected")))
        fprintf(to, "     %s\n", note);
}

/* What the gate came to, below its component's row. */
static void print_gate(FILE *to, const json_t *gate) {
    const json_t *needed = json_object_get(gate, "trials_needed");
    if (!json_is_object(gate))
        return;
    fprintf(to, "     gate %s at %g: the baseline reproduced %lld of %lld",
            json_is_true(json_object_get(gate, "passed")) ? "passed" : "not passed",
            json_real_value(json_object_get(gate, "confidence")),
            json_integer_value(json_object_get(gate, "baseline_reproduced")),
            json_integer_value(json_object_get(gate, "baseline_trials")));
    if (json_is_integer(needed))
        fprintf(to, ", a rate of at least %.3g; trials needed: %lld",
                json_real_value(json_object_get(gate, "rate_at_least")),
                json_integer_value(needed));
    fputc('\n', to);
}

/* The row, as results.json has it, in one line for people; the reason below it when the verdict is
 * a surprise. */
static void print_row(FILE *to, const json_t *v) {
    const char *reason = json_string_value(json_object_get(v, "reason"));
    bool as_expected = json_is_true(json_object_get(v, "as_expected"));
    fprintf(to, "%-4s %s  %s  %s  %lld rank%s  %s: ", as_expected ? "ok" : "NOT",
            json_string_value(json_object_get(v, "scenario")),
            json_string_value(json_object_get(v, "variant")),
            json_string_value(json_object_get(v, "plan")),
            json_integer_value(json_object_get(v, "ranks")),
            json_integer_value(json_object_get(v, "ranks")) == 1 ? "" : "s",
            json_string_value(json_object_get(v, "verdict")));
    print_counts(to, v);
    print_gate(to, json_object_get(v, "gate"));
    if (reason && *reason && !as_expected)
        fprintf(to, "     %s\n", reason);
    fflush(to);
}

/* A misspelt function shows only in that nothing arrives: name the ones that are near. */
static void print_doubts(const struct row *r, const struct plan *p) {
    struct complaints doubts = {0};
    if (r->launcher != LAUNCHER_USER)
        plan_doubts(p, r->argv[0], &doubts);
    complaints_print(&doubts);
    complaints_clear(&doubts);
}

/* The plan of the next trial, owned by the trial: of a sweep, its next element. */
static struct plan *next_plan(const struct row *r, const struct plan *shown, int number,
                              struct complaints *c) {
    struct plan *p = read_plan(r, c);
    if (p)
        plan_for_trial(p, number);
    if (!p || !sweep_most(shown))
        return p;
    if (p->hash == shown->hash && sweep_to_element(p, number))
        return p;
    complain(c, r->plan_file, 0, 0, "the plan was changed while its sweep ran: run it again");
    plan_free(p);
    return NULL;
}

static bool more_to_run(const struct row *r, const struct plan *p,
                        const struct trial_result *result, int done) {
    if (sweep_most(p))
        return sweep_end(p, result, done) == SWEEP_GOES_ON;
    /* One reproduction fails a gate, and nothing else may change how many trials it has. */
    bool fails = r->head.gate && done && result[done - 1].verdict == VERDICT_REPRODUCED;
    return !fails && done < r->trials;
}

int row_run(const struct row *r, struct results *rs, struct complaints *c) {
    struct plan *shown = read_plan(r, c);
    int most = sweep_most(shown) ? sweep_most(shown) : r->trials;
    struct trial_result *result = allocate((size_t)most, sizeof *result);
    bool interrupted = false;
    int done = 0;
    while (shown && !interrupted && more_to_run(r, shown, result, done)) {
        struct plan *p = next_plan(r, shown, done + 1, c);
        struct trial *t = p ? make_trial(r, p, done + 1) : NULL;
        bool ran = t && run_one(r, t, &result[done], &interrupted, c);
        if (t)
            trial_free(t);
        if (!ran)
            break;
        done++;
    }
    int status = !shown ? EXIT_USAGE : EXIT_CANNOT_TELL;
    if (done || (shown && r->head.gate)) {
        struct verdict_row head = r->head;
        head.plan_read = shown;
        head.plan = head.plan ? head.plan : shown->name;
        status = results_add(rs, &head, result, done);
        /* The program's own output has stdout to itself. */
        print_row(
            r->live ? stderr : stdout,
            json_array_get(json_object_get(results_json(rs), "verdicts"),
                           json_array_size(json_object_get(results_json(rs), "verdicts")) - 1));
        if (status == EXIT_CANNOT_TELL)
            print_doubts(r, shown);
    }
    for (int i = 0; i < done; i++)
        trial_result_free(&result[i]);
    free(result);
    plan_free(shown);
    return interrupted ? EXIT_INTERRUPTED : status;
}
