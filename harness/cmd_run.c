/* `holdpoint run`: scenarios, their variants and plans. Knows no scenario by name. */
#include "allocate.h"
#include "command_line.h"
#include "commands.h"
#include "component.h"
#include "options.h"
#include "row.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void usage(FILE *to) {
    fputs(
        "usage: holdpoint run SCENARIO… [options]      (a name under scenarios/, or a folder)\n"
        "       holdpoint run --all [options]\n"
        "Runs each scenario's plans on its variants and compares with what the scenario expects.\n"
        "  --variant V            only this variant\n"
        "  --plan P               only this plan (a name of the scenario, or a plan file)\n"
        "  --workload W           only this workload, with the plans for it (or any that --plan "
        "names)\n"
        "  --component PATH|VARIANT  your own build in place of a variant: expected clean unless "
        "--expect says else\n"
        "  --expect VERDICT       reproduced, clean, not-exercised, other-finding, or\n"
        "                         'closed-by-fix: STEP', which needs the bug on the variant "
        "faulty\n"
        "  --gate C               judges a fix with confidence C, 0.99 say: --trials of the plan "
        "on "
        "the\n"
        "                         variant where it is reproduced (default 20), then as many of "
        "--component\n"
        "                         or --variant, all clean, as that rate asks for\n"
        "  --ranks N              this many ranks, in place of the scenario's\n"
        "  --trials N             trials of each\n"
        "  --launcher local|mpirun\n"
        "  --timeout T            limit of one trial\n"
        "  --time-scale X         stretches every hold, delay and limit\n"
        "  --out DIR              where results.json and the trials go (default reports/latest)\n"
        "  --keep                 keep the boards of all trials\n"
        "exit: 0 as expected, 1 not as expected, 125 cannot tell, 129 usage, 130 interrupted\n",
        to);
}

/* The worst so far: a usage error and an interruption first, then what cannot be told, then a
 * surprise. */
static int worse(int a, int b) {
    static const int order[] = {EXIT_INTERRUPTED, EXIT_USAGE, EXIT_NOT_AS_EXPECTED,
                                EXIT_CANNOT_TELL, EXIT_AS_EXPECTED};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (a == order[i] || b == order[i])
            return order[i];
    return a;
}

/* Which row of a gate is run: the one that measures the bug, or the one that is judged by it. */
enum gate_side { NO_GATE, GATE_BASELINE, GATE_COMPONENT };
enum { GATE_BASELINE_TRIALS = 20 };

struct run {
    const struct options *o;
    const struct scenario *s;
    const char *given; /* the scenario as the user named it */
    const char *known_file;
    struct known_list known;
    struct results *results;
    const char *out;
    enum gate_side side;
    struct gate gate; /* of the component's row */
    bool opens;       /* this row shows the window open that a fix is to close */
    int status, rows, skipped;
    struct complaints *c;
};

/* ---- an installation of the user's own ---- */

static bool is_prefix(const struct scenario *s) {
    return s->component_kind && !strcmp(s->component_kind, "prefix");
}

/* What stood in the environment before; NULL: nothing. */
struct preferred {
    char *path, *libraries;
};

static char *put_first(const char *variable, const char *prefix, const char *folder) {
    const char *set = getenv(variable);
    char *before = set ? copy_text(set) : NULL;
    AUTO_TEXT value =
        format_text("%s/%s%s%s", prefix, folder, before ? ":" : "", before ? before : "");
    setenv(variable, value, 1);
    return before;
}

static void put_back(const char *variable, char *before) {
    if (before)
        setenv(variable, before, 1);
    else
        unsetenv(variable);
    free(before);
}

/* Its programs and libraries stand first, for its own rows alone. */
static struct preferred prefer(const char *prefix) {
    return (struct preferred){put_first("PATH", prefix, "bin"),
                              put_first("LD_LIBRARY_PATH", prefix, "lib")};
}

static void prefer_no_more(const struct preferred *before) {
    put_back("PATH", before->path);
    put_back("LD_LIBRARY_PATH", before->libraries);
}

/* ---- one row ---- */

static int trials_of(const struct run *run, const struct scenario_plan *p) {
    int given = run->o->trials;
    if (run->side == GATE_COMPONENT)
        return run->gate.trials_needed <= GATE_MOST_TRIALS ? (int)run->gate.trials_needed : 0;
    if (given || run->side == GATE_BASELINE)
        return given ? given : GATE_BASELINE_TRIALS;
    return p->trials ? p->trials : run->s->trials;
}

static const char *expectation(const struct run *run, const struct scenario_plan *p,
                               const char *variant, double *rate) {
    *rate =
        run->side == GATE_BASELINE ? 1.0 / trials_of(run, p) : 1; /* once: it is a measurement */
    if (run->side != NO_GATE)
        return run->side == GATE_BASELINE ? "reproduced" : "clean";
    if (run->o->expect && !run->opens)
        return run->o->expect;
    if (run->o->component && !variant)
        return "clean";
    for (int i = 0; i < p->n_expect; i++)
        if (!strcmp(p->expect[i].variant, variant)) {
            *rate = p->expect[i].rate;
            return p->expect[i].verdict;
        }
    return NULL;
}

/* The row once more, with what was given for it but --out and the number of trials: one trial is
 * looked at. Of a gate the number is part of the question. */
static char *again_line(const struct run *run, const struct scenario_variant *v,
                        const struct scenario_plan *p, const struct scenario_workload *w,
                        int ranks) {
    const struct options *o = run->o;
    AUTO_TEXT number = format_text("%d", ranks);
    AUTO_TEXT confidence = format_text("%g", o->gate);
    AUTO_TEXT trials = format_text("%d", o->trials ? o->trials : GATE_BASELINE_TRIALS);
    AUTO_TEXT limit = format_text("%gs", (double)o->timeout_ns / 1e9);
    AUTO_TEXT stall = format_text("%gs", (double)o->stall_ns / 1e9);
    AUTO_TEXT scale = format_text("%g", o->time_scale);
    const struct {
        bool given;
        const char *option, *value;
    } all[] = {{true, v->name ? "--variant" : "--component", v->name ? v->name : o->component},
               {true, "--plan", p->line ? p->name : p->file},
               {true, "--workload", w->name},
               {true, "--ranks", number},
               {run->side == GATE_COMPONENT, "--gate", confidence},
               {run->side != NO_GATE, "--trials", trials},
               {o->expect && !run->opens, "--expect", o->expect},
               {o->launcher_given, "--launcher", launcher_name(o->launcher)},
               {o->timeout_ns, "--timeout", limit},
               {o->stall_given, "--stall", stall},
               {o->time_scale < 1 || o->time_scale > 1, "--time-scale", scale}};
    char *line = copy_text("holdpoint run");
    command_line_add(&line, run->given);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].given) {
            command_line_add(&line, all[i].option);
            command_line_add(&line, all[i].value);
        }
    command_line_add(&line, "--keep");
    return line;
}

static uint64_t limit_of(const struct run *run, const struct scenario_workload *w, int ranks) {
    if (run->o->timeout_ns)
        return run->o->timeout_ns;
    uint64_t base = w->timeout_ns ? w->timeout_ns : run->s->timeout_ns;
    return base + w->timeout_per_rank_ns * (uint64_t)ranks;
}

static void skip_row(struct run *run, const struct verdict_row *head, const char *missing) {
    results_skip(run->results, head, missing);
    printf("skip %s  %s  %s: missing %s\n", head->scenario, head->variant, head->plan, missing);
    run->status = worse(run->status, run->side == NO_GATE ? EXIT_AS_EXPECTED : EXIT_CANNOT_TELL);
    run->skipped++;
}

static void run_found(struct run *run, const struct verdict_row *head, const struct component *c,
                      const struct scenario_plan *p, const struct scenario_workload *w,
                      enum launcher launcher) {
    const struct outcomes *outcome = p->outcome.n ? &p->outcome : &w->outcome;
    AUTO_TEXT plan_file = p->line ? format_text("%s/%s", run->s->dir, p->file) : copy_text(p->file);
    AUTO_TEXT id =
        format_text("%s-%s-%s-%s-r%d%s", head->scenario, head->variant, head->plan, head->workload,
                    head->ranks, run->side == GATE_COMPONENT ? "-gate" : "");
    const struct options *o = run->o;
    struct row r = {.head = *head,
                    .plan_file = plan_file,
                    .signature = p->signature,
                    .known_file = run->known_file,
                    .known = &run->known,
                    .argv = c->argv,
                    .launcher = launcher,
                    .trials = trials_of(run, p),
                    .trials_given = o->trials > 0,
                    .gated = run->side != NO_GATE,
                    .keep = o->keep,
                    .time_scale = o->time_scale,
                    .limit_ns = limit_of(run, w, head->ranks),
                    .stall_ns = o->stall_given ? o->stall_ns : run->s->stall_ns,
                    .needs_mark = w->needs_mark,
                    .sanitizer = c->sanitizer,
                    .component_file = c->file,
                    .outcome = outcome->of,
                    .n_outcomes = outcome->n,
                    .env = w->env,
                    .n_env = w->n_env,
                    .out = run->out,
                    .id = id};
    int status = row_run(&r, run->results, run->c);
    /* A baseline that came out otherwise says nothing of the component. */
    bool measured = run->side == GATE_BASELINE && (status == 0 || status == 1);
    run->status = worse(run->status, measured ? 0 : status);
}

static void run_row(struct run *run, const struct scenario_variant *v,
                    const struct scenario_plan *p, const struct scenario_workload *w, int ranks) {
    const bool own_prefix = !v->name && is_prefix(run->s);
    struct preferred before = own_prefix ? prefer(run->o->component) : (struct preferred){0};
    enum launcher launcher = run->o->launcher_given ? run->o->launcher : w->launcher;
    AUTO_TEXT again = again_line(run, v, p, w, ranks);
    struct component c;
    bool found = component_find(run->s, v, run->o->component, w, launcher, &c);
    struct verdict_row head = {.scenario = run->s->name,
                               .variant = v->name ? v->name : "given",
                               .component = c.name,
                               .workload = w->name,
                               .plan = p->name,
                               .launcher = launcher_name(launcher),
                               .gpu = "none",
                               .ranks = ranks,
                               .again = again,
                               .gate = run->side == GATE_COMPONENT ? &run->gate : NULL};
    head.expected = expectation(run, p, v->name, &head.rate);
    if (found)
        run_found(run, &head, &c, p, w, launcher);
    else
        skip_row(run, &head, c.missing);
    run->rows++;
    component_clear(&c);
    if (own_prefix)
        prefer_no_more(&before);
}

/* ---- which rows ---- */

static bool workload_fits(const struct run *run, const struct scenario_workload *w,
                          const struct scenario_plan *p, const char *variant) {
    /* A plan that is named goes with any workload that is named. */
    bool takes = (run->o->workload && run->o->plan) || scenario_plan_takes(p, w->name);
    if (!takes || (run->o->workload && strcmp(run->o->workload, w->name)))
        return false;
    return !variant || scenario_fits(w, variant);
}

/* A row of a plan: with one variant, or with the two of a gate. */
typedef void row_of_plan(struct run *, const struct scenario_variant *,
                         const struct scenario_plan *, const struct scenario_workload *, int ranks);

static void each_row(struct run *run, const struct scenario_variant *v,
                     const struct scenario_plan *p, row_of_plan *row) {
    for (int i = 0; i < run->s->n_workloads; i++) {
        const struct scenario_workload *w = &run->s->workload[i];
        if (!workload_fits(run, w, p, v->name))
            continue;
        const int *ranks = run->o->ranks ? &run->o->ranks : p->n_ranks ? p->ranks : w->ranks;
        int n = run->o->ranks ? 1 : p->n_ranks ? p->n_ranks : w->n_ranks;
        for (int k = 0; k < n && run->status != EXIT_INTERRUPTED; k++)
            row(run, v, p, w, ranks[k]);
    }
}

static void run_plan_on(struct run *run, const struct scenario_variant *v,
                        const struct scenario_plan *p) {
    each_row(run, v, p, run_row);
}

static bool expects_something(const struct scenario_plan *p, const char *variant) {
    for (int i = 0; i < p->n_expect; i++)
        if (!strcmp(p->expect[i].variant, variant))
            return true;
    return false;
}

/* ---- the gate ---- */

/* The variant that a plan is expected to be reproduced on, BASELINE_VARIANT before others; -1:
 * none. */
static int gate_baseline(const struct scenario *s, const struct scenario_plan *p) {
    int found = -1;
    for (int i = 0; i < p->n_expect; i++) {
        bool is_it = !strcmp(p->expect[i].verdict, "reproduced");
        if (is_it && (found < 0 || !strcmp(p->expect[i].variant, BASELINE_VARIANT)))
            found = scenario_variant_named(s, p->expect[i].variant);
    }
    return found;
}

/* The baseline first, in the same run; what it shows fixes the number of the component's trials. */
static void gate_row(struct run *run, const struct scenario_variant *v,
                     const struct scenario_plan *p, const struct scenario_workload *w, int ranks) {
    const struct scenario_variant *baseline = &run->s->variant[gate_baseline(run->s, p)];
    json_t *rows = json_object_get(results_json(run->results), "verdicts");
    size_t before = json_array_size(rows);
    if (!scenario_fits(w, baseline->name))
        return;
    run->side = GATE_BASELINE;
    run_row(run, baseline, p, w, ranks);
    run->side = NO_GATE;
    const json_t *row = json_array_get(rows, before);
    if (!row || run->status == EXIT_INTERRUPTED || run->status == EXIT_USAGE)
        return;
    run->gate =
        gate_after(run->o->gate, (int)json_integer_value(json_object_get(row, "reproduced")),
                   (int)json_integer_value(json_object_get(row, "trials")));
    run->side = GATE_COMPONENT;
    run_row(run, v, p, w, ranks);
    run->side = NO_GATE;
}

/* Whether a fix is to close a window: then it must be seen open first, in the same run. */
static bool needs_baseline(const struct run *run, const struct scenario_plan *p, const char *only) {
    if (run->o->expect)
        return verdict_closing_step(run->o->expect) && expects_something(p, BASELINE_VARIANT);
    for (int i = 0; i < p->n_expect; i++)
        if (verdict_closing_step(p->expect[i].verdict) &&
            (!only || !strcmp(only, p->expect[i].variant)))
            return true;
    return false;
}

/* The variant that shows a window open, if need be: its row is run. -1: none was. */
static int run_baseline(struct run *run, const struct scenario_plan *p, const char *only) {
    int baseline =
        needs_baseline(run, p, only) ? scenario_variant_named(run->s, BASELINE_VARIANT) : -1;
    run->opens = true;
    if (baseline >= 0)
        run_plan_on(run, &run->s->variant[baseline], p);
    run->opens = false;
    return baseline;
}

/* The user's own build, given by path, in the place of every variant; false: there is none. */
static bool run_plan_on_own_build(struct run *run, const struct scenario_plan *p) {
    struct scenario_variant given = {.find = is_prefix(run->s) ? run->s->component_what : NULL};
    if (!run->o->component || scenario_variant_named(run->s, run->o->component) >= 0)
        return false;
    run_baseline(run, p, run->o->component);
    each_row(run, &given, p, run->o->gate > 0 ? gate_row : run_row);
    return true;
}

/* The one variant that was asked for; NULL: none in particular. */
static const char *only_variant(const struct run *run) {
    return run->o->component ? run->o->component : run->o->variant;
}

static void run_plan(struct run *run, const struct scenario_plan *p) {
    const char *only = only_variant(run);
    if (run_plan_on_own_build(run, p))
        return;
    if (run->o->gate > 0) {
        each_row(run, &run->s->variant[scenario_variant_named(run->s, only)], p, gate_row);
        return;
    }
    int baseline = run_baseline(run, p, only);
    for (int i = 0; i < run->s->n_variants; i++) {
        const struct scenario_variant *v = &run->s->variant[i];
        bool wanted = run->o->expect || run->o->plan || expects_something(p, v->name);
        if ((i != baseline || run->o->expect) &&
            (only ? wanted && !strcmp(only, v->name) : expects_something(p, v->name)))
            run_plan_on(run, v, p);
    }
}

static void complain_unknown(struct run *run, const char *what, const char *name,
                             const char *const *known, size_t n) {
    const char *near = nearest_name(name, known, n);
    complain(run->c, run->s->file, 0, 0, "there is no %s `%s`%s%s%s", what, name,
             near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
    run->status = EXIT_USAGE;
}

/* A misspelt --variant, --plan or --workload must not end as "nothing to do". */
static bool names_are_known(struct run *run) {
    const struct scenario *s = run->s;
    const struct options *o = run->o;
    const char *name[SCENARIO_MAX_PLANS];
    for (int i = 0; i < s->n_variants; i++)
        name[i] = s->variant[i].name;
    if (o->variant && scenario_variant_named(s, o->variant) < 0)
        complain_unknown(run, "variant", o->variant, name, (size_t)s->n_variants);
    if (o->component && scenario_variant_named(s, o->component) < 0 && access(o->component, R_OK))
        complain_unknown(run, "file or variant", o->component, name, (size_t)s->n_variants);
    for (int i = 0; i < s->n_workloads; i++)
        name[i] = s->workload[i].name;
    if (o->workload && scenario_workload_named(s, o->workload) < 0)
        complain_unknown(run, "workload", o->workload, name, (size_t)s->n_workloads);
    for (int i = 0; i < s->n_plans; i++)
        name[i] = s->plan[i].name;
    if (o->plan && !strchr(o->plan, '/') && scenario_plan_named(s, o->plan) < 0)
        complain_unknown(run, "plan", o->plan, name, (size_t)s->n_plans);
    else if (o->gate > 0 && gate_baseline(s, &s->plan[scenario_plan_named(s, o->plan)]) < 0) {
        complain(run->c, s->file, s->plan[scenario_plan_named(s, o->plan)].line, 0,
                 "the plan `%s` is expected to be reproduced on no variant, so --gate has no "
                 "baseline: add one to its `expect`",
                 o->plan);
        run->status = EXIT_USAGE;
    }
    return run->status != EXIT_USAGE;
}

static void run_plans(struct run *run) {
    if (run->o->plan &&
        strchr(run->o->plan,
               '/')) { /* a plan file of the user's own, on the scenario's workloads */
        struct scenario_plan own = {.name = strrchr(run->o->plan, '/') + 1, .file = run->o->plan};
        const char *only = only_variant(run);
        if (run_plan_on_own_build(run, &own))
            return;
        for (int i = 0; i < run->s->n_variants; i++)
            if (!only || !strcmp(only, run->s->variant[i].name))
                run_plan_on(run, &run->s->variant[i], &own);
        return;
    }
    for (int i = 0; i < run->s->n_plans && run->status != EXIT_INTERRUPTED; i++) {
        const struct scenario_plan *p = &run->s->plan[i];
        if (run->o->plan ? !strcmp(run->o->plan, p->name) : p->in_default)
            run_plan(run, p);
    }
}

/* False: what was asked for is wrong; complained. */
static bool run_read(struct run *run) {
    int before = run->rows;
    if (!known_read(run->known_file, &run->known, run->c) || !names_are_known(run))
        return false;
    run_plans(run);
    if (run->rows > before || run->status == EXIT_INTERRUPTED)
        return true;
    complain(run->c, run->s->file, 0, 0, "nothing to run: no workload fits these options");
    return false;
}

static void run_scenario(struct run *run, const char *name) {
    AUTO_TEXT folder = scenario_find(name, run->c);
    struct scenario *s = folder ? scenario_read(folder, run->c) : NULL;
    AUTO_TEXT known = format_text("%s/known.yaml", s ? s->dir : "");
    run->s = s;
    run->given = name;
    run->known_file = known;
    if (!s || !run_read(run))
        run->status = EXIT_USAGE;
    known_free(&run->known);
    scenario_free(s);
}

static void run_all(struct run *run) {
    size_t n;
    char **name = scenario_names(&n);
    for (size_t i = 0; i < n; i++) {
        if (run->status != EXIT_INTERRUPTED)
            run_scenario(run, name[i]);
        free(name[i]);
    }
    free(name);
}

/* What a gate asks of the other options. */
static void check_gate(const struct options *o, struct complaints *c) {
    if (o->all || o->n_rest > 1 || !o->plan || !o->component == !o->variant)
        complain(c, NULL, 0, 0,
                 "--gate judges one thing: give one SCENARIO, --plan, and either --component or "
                 "--variant");
    else if (strchr(o->plan, '/'))
        complain(c, NULL, 0, 0,
                 "--gate needs a plan of the scenario, which says on which variant it is "
                 "reproduced, not the file %s",
                 o->plan);
    if (o->expect)
        complain(c, NULL, 0, 0, "--gate expects clean trials: leave --expect out");
}

int cmd_run(int argc, char **argv) {
    struct complaints c = {0};
    struct options o;
    bool read = options_read(argc, argv, "vpwcenrltsxogkah", &o, &c);
    if (o.help) {
        usage(stdout);
        return 0;
    }
    if (read && !o.n_rest && !o.all)
        complain(&c, NULL, 0, 0, "which scenario? name one, or give --all");
    if (read && o.gate > 0)
        check_gate(&o, &c);
    struct run run = {.o = &o, .out = o.out ? o.out : "reports/latest", .c = &c};
    if (c.count)
        run.status = EXIT_USAGE;
    run.results = run.status ? NULL : results_new();
    if (run.results && o.all)
        run_all(&run);
    for (int i = 0; run.results && i < o.n_rest && run.status != EXIT_INTERRUPTED; i++)
        run_scenario(&run, o.rest[i]);
    if (run.rows && run.skipped == run.rows) /* nothing ran, so nothing is as expected */
        run.status = worse(run.status, EXIT_CANNOT_TELL);
    if (run.results && json_array_size(json_object_get(results_json(run.results), "verdicts"))) {
        char file[PATH_MAX];
        snprintf(file, sizeof file, "%s/results.json", run.out);
        if (!make_folder(run.out, &c) || !results_write(run.results, file, &c))
            run.status = worse(run.status, EXIT_CANNOT_TELL);
        else
            printf("results: %s\n", file);
    }
    results_free(run.results);
    complaints_print(&c);
    complaints_clear(&c);
    return run.status;
}
