/* Reading scenario.yaml: see scenario.h. Its schema is the tables of keys below. Runner only. */
#include "scenario.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "allocate.h"
#include "collect.h"
#include "findings.h"
#include "yaml_tree.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Context of the readers. */
struct reader {
    struct scenario *scenario;
    struct outcomes outcome; /* the scenario's own */
    struct known_list known;
};

static struct scenario *scenario_of(const struct yaml_tree *t) {
    return ((struct reader *)t->context)->scenario;
}

/* ---- by name ---- */

int scenario_variant_named(const struct scenario *s, const char *name) {
    for (int i = 0; i < s->n_variants; i++)
        if (strcmp(s->variant[i].name, name) == 0)
            return i;
    return -1;
}

int scenario_workload_named(const struct scenario *s, const char *name) {
    for (int i = 0; i < s->n_workloads; i++)
        if (strcmp(s->workload[i].name, name) == 0)
            return i;
    return -1;
}

int scenario_plan_named(const struct scenario *s, const char *name) {
    for (int i = 0; i < s->n_plans; i++)
        if (strcmp(s->plan[i].name, name) == 0)
            return i;
    return -1;
}

bool scenario_fits(const struct scenario_workload *w, const char *variant) {
    for (int i = 0; i < w->n_for; i++)
        if (strcmp(w->for_variant[i], variant) == 0)
            return true;
    return w->n_for == 0;
}

static bool known_variant(struct yaml_tree *t, yaml_node_t *node, const char *name) {
    const struct scenario *s = scenario_of(t);
    const char *known[SCENARIO_MAX];
    for (int i = 0; i < s->n_variants; i++)
        known[i] = s->variant[i].name;
    return scenario_variant_named(s, name) >= 0 ||
           tree_unknown(t, node, "variant", name, known, (size_t)s->n_variants);
}

/* ---- ranks, outcomes ---- */

struct ranks {
    int *list, *n;
};

static bool read_ranks_item(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct ranks *ranks = into;
    unsigned count;
    if (!tree_positive(t, v, &count))
        return false;
    if (count > BOARD_MAX_RANKS)
        return tree_complain(t, v, "a job has at most %d ranks", BOARD_MAX_RANKS);
    if (*ranks->n == SCENARIO_MAX_RANKS)
        return tree_complain(t, v, "ranks: takes at most %d sizes of the job", SCENARIO_MAX_RANKS);
    ranks->list[(*ranks->n)++] = (int)count;
    return true;
}

/* One size of the job, or a list of sizes. */
static bool read_ranks(struct yaml_tree *t, yaml_node_t *v, int *list, int *n) {
    struct ranks ranks = {list, n};
    return v->type == YAML_SCALAR_NODE ? read_ranks_item(t, v, &ranks)
                                       : tree_list(t, v, "ranks", read_ranks_item, &ranks);
}

static bool read_outcome_rank(struct yaml_tree *t, yaml_node_t *v, void *into) {
    const char *text = tree_scalar(t, v, "a rank");
    *(int *)into = -1;
    if (text && (strcmp(text, "others") == 0 || strcmp(text, "all") == 0))
        return true;
    return text && (tree_rank(t, v, into) || tree_complain(t, v, "or write `others` or `all`"));
}

static bool read_outcome_exit(struct yaml_tree *t, yaml_node_t *v, void *into) {
    const char *text = tree_scalar(t, v, "an exit status");
    if (!text)
        return false;
    *(int *)into = -1;
    if (strcmp(text, "any") == 0)
        return true;
    if (!tree_int(t, v, into))
        return false;
    return (*(int *)into >= 0 && *(int *)into <= 255) ||
           tree_complain(t, v, "an exit status is 0 to 255, or `any`");
}

/* Any other key is an attribute on the line that the workload prints when it is done. */
static bool read_outcome_attribute(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value,
                                   void *base) {
    struct outcome *outcome = base;
    const char *text = tree_scalar(t, value, "an outcome");
    if (!text)
        return false;
    if (outcome->n_attrs == (int)COUNT(outcome->attr))
        return tree_complain(t, key, "an outcome has at most %zu attributes", COUNT(outcome->attr));
    outcome->attr[outcome->n_attrs].key = copy_text((const char *)key->data.scalar.value);
    outcome->attr[outcome->n_attrs++].value = copy_text(text);
    return true;
}

static bool read_outcome(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const struct tree_key keys[] = {
        {"rank", read_outcome_rank, offsetof(struct outcome, rank), TREE_OPTIONAL},
        {"exit", read_outcome_exit, offsetof(struct outcome, exit_status), TREE_OPTIONAL},
        {"cut-off", tree_bool, offsetof(struct outcome, cut_off), TREE_OPTIONAL},
        {0},
    };
    static const struct tree_schema schema = {"an outcome", keys, read_outcome_attribute};
    struct outcomes *all = into;
    if (all->n == SCENARIO_MAX)
        return tree_complain(t, v, "at most %d outcomes", SCENARIO_MAX);
    struct outcome *outcome = &all->of[all->n++];
    *outcome = (struct outcome){.rank = -1};
    if (!tree_mapping(t, v, &schema, outcome))
        return false;
    for (int i = 0; i + 1 < all->n; i++)
        if (all->of[i].rank == outcome->rank)
            return tree_complain(t, v, "an outcome for the same ranks stands before: make it one");
    return true;
}

static bool read_outcomes(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return v->type == YAML_SEQUENCE_NODE ? tree_list(t, v, "outcome", read_outcome, into)
                                         : read_outcome(t, v, into);
}

static bool read_scenario_outcome(struct yaml_tree *t, yaml_node_t *v, void *into) {
    (void)into;
    return read_outcomes(t, v, &((struct reader *)t->context)->outcome);
}

static void copy_outcomes(struct outcomes *to, const struct outcomes *from) {
    *to = *from;
    for (int i = 0; i < to->n; i++)
        for (int a = 0; a < to->of[i].n_attrs; a++) {
            to->of[i].attr[a].key = copy_text(from->of[i].attr[a].key);
            to->of[i].attr[a].value = copy_text(from->of[i].attr[a].value);
        }
}

static void free_outcomes(struct outcomes *outcomes) {
    for (int i = 0; i < outcomes->n; i++)
        for (int a = 0; a < outcomes->of[i].n_attrs; a++) {
            free(outcomes->of[i].attr[a].key);
            free(outcomes->of[i].attr[a].value);
        }
}

/* ---- component, variants ---- */

static bool read_component_kind(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const char *const name[] = {"prefix", "plugin", "program"};
    return tree_text(t, v, into) && tree_one_of(t, v, "kind of component", name, COUNT(name)) >= 0;
}

static bool read_component(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const struct tree_key keys[] = {
        {"kind", read_component_kind, offsetof(struct scenario, component_kind), TREE_REQUIRED},
        {"what", tree_text, offsetof(struct scenario, component_what), TREE_OPTIONAL},
        {"file", tree_text, offsetof(struct scenario, component_file), TREE_OPTIONAL},
        {0},
    };
    static const struct tree_schema schema = {"component", keys, NULL};
    return tree_mapping(t, v, &schema, into);
}

static bool read_sanitizer(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const char *const name[] = {"address", "thread"};
    return tree_text(t, v, into) && tree_one_of(t, v, "sanitizer", name, COUNT(name)) >= 0;
}

/* A path below the scenario's folder. */
static bool read_inside_path(struct yaml_tree *t, yaml_node_t *v, void *into) {
    if (!tree_text(t, v, into))
        return false;
    const char *path = *(char **)into;
    return (*path != '/' && strncmp(path, "../", 3) != 0 && !strstr(path, "/../")) ||
           tree_complain(t, v, "'%s' lies outside: name a file below the scenario's folder", path);
}

static bool read_variant(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *into) {
    static const struct tree_key keys[] = {
        {"find", tree_text, offsetof(struct scenario_variant, find), TREE_OPTIONAL},
        {"make", read_inside_path, offsetof(struct scenario_variant, make), TREE_OPTIONAL},
        {"needs", tree_text, offsetof(struct scenario_variant, needs), TREE_OPTIONAL},
        {"sanitizer", read_sanitizer, offsetof(struct scenario_variant, sanitizer), TREE_OPTIONAL},
        {0},
    };
    static const struct tree_schema schema = {"a variant", keys, NULL};
    struct scenario *s = into;
    if (s->n_variants == SCENARIO_MAX)
        return tree_complain(t, key, "a scenario has at most %d variants", SCENARIO_MAX);
    struct scenario_variant *variant = &s->variant[s->n_variants++];
    *variant = (struct scenario_variant){.name = copy_text((const char *)key->data.scalar.value),
                                         .line = tree_line(key),
                                         .column = tree_column(key)};
    if (!tree_mapping(t, value, &schema, variant))
        return false;
    return !variant->find || !variant->make ||
           tree_complain(t, key, "a variant is found (find:) or made (make:), not both");
}

static bool read_variants(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return tree_named(t, v, "variants", read_variant, into);
}

/* ---- workloads ---- */

static bool read_launcher(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const char *const name[] = {[LAUNCHER_LOCAL] = "local", [LAUNCHER_MPIRUN] = "mpirun"};
    int launcher = tree_one_of(t, v, "launcher", name, COUNT(name));
    if (launcher >= 0)
        *(enum launcher *)into = (enum launcher)launcher;
    return launcher >= 0;
}

static bool read_workload_ranks(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct scenario_workload *w = into;
    return read_ranks(t, v, w->ranks, &w->n_ranks);
}

static bool read_for_item(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct scenario_workload *w = into;
    const char *name = tree_scalar(t, v, "a variant");
    if (!name || !known_variant(t, v, name))
        return false;
    if (w->n_for == SCENARIO_MAX || (w->n_for > 0 && scenario_fits(w, name)))
        return tree_complain(t, v, "the variant '%s' stands twice", name);
    w->for_variant[w->n_for++] = copy_text(name);
    return true;
}

/* One name, or a list of some: none at all would be taken for all of them. */
static bool read_some(struct yaml_tree *t, yaml_node_t *v, const char *what, tree_reader *read,
                      void *into) {
    if (v->type == YAML_SCALAR_NODE)
        return read(t, v, into);
    if (v->type == YAML_SEQUENCE_NODE && v->data.sequence.items.start == v->data.sequence.items.top)
        return tree_complain(t, v, "%s names none: name some, or leave the key out for all", what);
    return tree_list(t, v, what, read, into);
}

static bool read_for(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return read_some(t, v, "for", read_for_item, into);
}

static bool add_variable(struct yaml_tree *t, yaml_node_t *key, int rank, char *assignment,
                         void *into) {
    struct scenario_workload *w = into;
    if (w->n_env == SCENARIO_MAX_ENV) {
        free(assignment);
        return tree_complain(t, key, "a workload may set %d variables", SCENARIO_MAX_ENV);
    }
    w->env[w->n_env].rank = rank;
    w->env[w->n_env++].assignment = assignment;
    return true;
}

static bool read_env(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return tree_environment(t, v, add_variable, into);
}

#define IN_WORKLOAD(field) offsetof(struct scenario_workload, field)
static bool read_workload(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *into) {
    static const struct tree_key keys[] = {
        {"program", tree_text, IN_WORKLOAD(program), TREE_REQUIRED},
        {"launcher", read_launcher, IN_WORKLOAD(launcher), TREE_OPTIONAL},
        {"ranks", read_workload_ranks, 0, TREE_OPTIONAL},
        {"for", read_for, 0, TREE_OPTIONAL},
        {"env", read_env, 0, TREE_OPTIONAL},
        {"timeout", tree_duration, IN_WORKLOAD(timeout_ns), TREE_OPTIONAL},
        {"timeout_per_rank", tree_duration, IN_WORKLOAD(timeout_per_rank_ns), TREE_OPTIONAL},
        {"mark", tree_bool, IN_WORKLOAD(needs_mark), TREE_OPTIONAL},
        {"needs", tree_text, IN_WORKLOAD(needs), TREE_OPTIONAL},
        {"outcome", read_outcomes, IN_WORKLOAD(outcome), TREE_OPTIONAL},
        {0},
    };
    static const struct tree_schema schema = {"a workload", keys, NULL};
    struct scenario *s = into;
    if (s->n_workloads == SCENARIO_MAX)
        return tree_complain(t, key, "a scenario has at most %d workloads", SCENARIO_MAX);
    struct scenario_workload *w = &s->workload[s->n_workloads++];
    *w = (struct scenario_workload){.name = copy_text((const char *)key->data.scalar.value),
                                    .line = tree_line(key),
                                    .column = tree_column(key)};
    if (!tree_mapping(t, value, &schema, w))
        return false;
    if (w->n_ranks == 0)
        w->ranks[w->n_ranks++] = 1;
    if (w->outcome.n == 0)
        copy_outcomes(&w->outcome, &((struct reader *)t->context)->outcome);
    if (w->timeout_ns == 0)
        w->timeout_ns = s->timeout_ns;
    return true;
}

static bool read_workloads(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return tree_named(t, v, "workloads", read_workload, into);
}

/* ---- plans ---- */

static bool read_plan_file(struct yaml_tree *t, yaml_node_t *v, void *into) {
    if (!read_inside_path(t, v, into))
        return false;
    AUTO_TEXT path = format_text("%s/%s", scenario_of(t)->dir, *(char **)into);
    struct stat status;
    return (stat(path, &status) == 0 && S_ISREG(status.st_mode)) ||
           tree_complain(t, v, "there is no plan file %s", path);
}

static bool read_one_workload(struct yaml_tree *t, yaml_node_t *v, void *into) {
    const struct scenario *s = scenario_of(t);
    struct scenario_plan *p = into;
    const char *known[SCENARIO_MAX];
    for (int i = 0; i < s->n_workloads; i++)
        known[i] = s->workload[i].name;
    int i = tree_one_of(t, v, "workload", known, (size_t)s->n_workloads);
    if (i < 0)
        return false;
    if (p->n_workloads == SCENARIO_MAX || (p->n_workloads > 0 && scenario_plan_takes(p, known[i])))
        return tree_complain(t, v, "the workload '%s' stands twice", known[i]);
    p->workload[p->n_workloads++] = copy_text(known[i]);
    return true;
}

static bool read_plan_workload(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return read_some(t, v, "workload", read_one_workload, into);
}

bool scenario_plan_takes(const struct scenario_plan *p, const char *workload) {
    for (int i = 0; i < p->n_workloads; i++)
        if (strcmp(p->workload[i], workload) == 0)
            return true;
    return p->n_workloads == 0;
}

static bool read_verdict(struct yaml_tree *t, yaml_node_t *v, void *into) {
    const char *name[VERDICT_CLEAN + 2] = {[VERDICT_CLEAN + 1] = EXPECT_MEASURED};
    for (int i = 0; i <= VERDICT_CLEAN; i++)
        name[i] = verdict_name((enum verdict)i);
    return tree_text(t, v, into) && tree_one_of(t, v, "verdict", name, COUNT(name)) >= 0;
}

/* The verdict of a fix that closes the window, with the step at which that must show. */
static bool read_closed_by_fix(struct yaml_tree *t, yaml_node_t *v, void *into) {
    const char *step = tree_scalar(t, v, "a step");
    if (!step)
        return false;
    free(*(char **)into);
    *(char **)into = format_text("%s%s", CLOSED_BY_FIX, step);
    return true;
}

static bool read_rated_verdict(struct yaml_tree *t, yaml_node_t *v, struct scenario_expect *e) {
    static const struct tree_key keys[] = {
        {"verdict", read_verdict, offsetof(struct scenario_expect, verdict), TREE_OPTIONAL},
        {"closed-by-fix", read_closed_by_fix, offsetof(struct scenario_expect, verdict),
         TREE_OPTIONAL},
        {"rate", tree_share, offsetof(struct scenario_expect, rate), TREE_OPTIONAL},
        {0},
    };
    static const struct tree_schema schema = {"an expectation", keys, NULL};
    if (!tree_mapping(t, v, &schema, e))
        return false;
    long n_keys = v->data.mapping.pairs.top - v->data.mapping.pairs.start;
    if (!e->verdict || (verdict_closing_step(e->verdict) && n_keys > 1))
        return tree_complain(t, v,
                             "an expectation is verdict:, alone or with rate:, or closed-by-fix: "
                             "alone, with the step that the fix keeps from being done");
    if (e->rate == 0)
        return tree_complain(t, v, "rate: 0 expects nothing: it is above 0, at most 1");
    return e->rate == 1 || strcmp(e->verdict, verdict_name(VERDICT_REPRODUCED)) == 0 ||
           tree_complain(t, v, "rate: goes with the verdict reproduced");
}

static bool read_expect(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *into) {
    struct scenario_plan *p = into;
    const char *variant = (const char *)key->data.scalar.value;
    if (!known_variant(t, key, variant))
        return false;
    if (p->n_expect == SCENARIO_MAX)
        return tree_complain(t, key, "at most %d expectations", SCENARIO_MAX);
    struct scenario_expect *e = &p->expect[p->n_expect++];
    *e = (struct scenario_expect){.variant = copy_text(variant), .rate = 1};
    return value->type == YAML_MAPPING_NODE ? read_rated_verdict(t, value, e)
                                            : read_verdict(t, value, &e->verdict);
}

static bool read_expects(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return tree_named(t, v, "expect", read_expect, into);
}

static bool read_signature(struct yaml_tree *t, yaml_node_t *v, void *into) {
    const struct known_list *list = &((struct reader *)t->context)->known;
    enum finding_kind kind;
    if (!tree_text(t, v, into))
        return false;
    const char *text = *(char **)into;
    if (finding_kind_from_name(text, &kind))
        return true;
    const char **known = allocate((size_t)list->n + FINDING_COUNT, sizeof *known);
    size_t n = 0;
    for (int i = 0; i < list->n; i++)
        known[n++] = list->known[i].id;
    for (int i = 0; i < FINDING_COUNT; i++)
        known[n++] = finding_kind_name((enum finding_kind)i);
    bool ok = tree_one_of(t, v, "signature", known, n) >= 0;
    free(known);
    return ok;
}

static bool read_plan_ranks(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct scenario_plan *p = into;
    return read_ranks(t, v, p->ranks, &p->n_ranks);
}

/* What a fix closes must stand open on the baseline, with the same plan. */
static bool closings_have_baseline(struct yaml_tree *t, yaml_node_t *key,
                                   const struct scenario_plan *p) {
    bool closes = false, reproduces = false;
    for (int i = 0; i < p->n_expect; i++) {
        closes |= verdict_closing_step(p->expect[i].verdict) != NULL;
        reproduces |= strcmp(p->expect[i].variant, BASELINE_VARIANT) == 0 &&
                      strcmp(p->expect[i].verdict, verdict_name(VERDICT_REPRODUCED)) == 0;
    }
    return !closes || reproduces ||
           tree_complain(t, key,
                         "the plan %s expects closed-by-fix:, which counts only where the same "
                         "plan is reproduced on the variant " BASELINE_VARIANT ": expect that too",
                         p->name);
}

/* Each expectation can be tried: some workload of the plan runs with the variant. */
static bool expectations_can_run(struct yaml_tree *t, yaml_node_t *key,
                                 const struct scenario_plan *p) {
    const struct scenario *s = scenario_of(t);
    for (int e = 0; e < p->n_expect; e++) {
        bool runs = false;
        for (int w = 0; w < s->n_workloads; w++)
            runs |= scenario_plan_takes(p, s->workload[w].name) &&
                    scenario_fits(&s->workload[w], p->expect[e].variant);
        if (!runs)
            return tree_complain(t, key,
                                 "the plan %s expects something of the variant %s, but no "
                                 "workload of it runs with that: see for: of the workloads",
                                 p->name, p->expect[e].variant);
    }
    return true;
}

#define IN_SCENARIO_PLAN(field) offsetof(struct scenario_plan, field)
static bool read_plan(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *into) {
    static const struct tree_key keys[] = {
        {"file", read_plan_file, IN_SCENARIO_PLAN(file), TREE_REQUIRED},
        {"workload", read_plan_workload, 0, TREE_OPTIONAL},
        {"ranks", read_plan_ranks, 0, TREE_OPTIONAL},
        {"expect", read_expects, 0, TREE_REQUIRED},
        {"signature", read_signature, IN_SCENARIO_PLAN(signature), TREE_OPTIONAL},
        {"default", tree_bool, IN_SCENARIO_PLAN(in_default), TREE_OPTIONAL},
        {"trials", tree_positive, IN_SCENARIO_PLAN(trials), TREE_OPTIONAL},
        {"outcome", read_outcomes, IN_SCENARIO_PLAN(outcome), TREE_OPTIONAL},
        {0},
    };
    static const struct tree_schema schema = {"a plan", keys, NULL};
    struct scenario *s = into;
    if (s->n_plans == SCENARIO_MAX_PLANS)
        return tree_complain(t, key, "a scenario has at most %d plans", SCENARIO_MAX_PLANS);
    struct scenario_plan *p = &s->plan[s->n_plans++];
    *p = (struct scenario_plan){.name = copy_text((const char *)key->data.scalar.value),
                                .in_default = true,
                                .line = tree_line(key),
                                .column = tree_column(key)};
    return tree_mapping(t, value, &schema, p) && expectations_can_run(t, key, p) &&
           closings_have_baseline(t, key, p);
}

static bool read_plans(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return tree_named(t, v, "plans", read_plan, into);
}

/* ---- the whole ---- */

#define IN_SCENARIO(field) offsetof(struct scenario, field)
static bool read_default(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const struct tree_key keys[] = {
        {"trials", tree_positive, IN_SCENARIO(trials), TREE_OPTIONAL},
        {"timeout", tree_duration, IN_SCENARIO(timeout_ns), TREE_OPTIONAL},
        {"stall", tree_duration, IN_SCENARIO(stall_ns), TREE_OPTIONAL},
        {0},
    };
    static const struct tree_schema schema = {"default", keys, NULL};
    return tree_mapping(t, v, &schema, into);
}

/* In the order in which they need each other. */
static const struct tree_key scenario_keys[] = {
    {"scenario", tree_text, IN_SCENARIO(name), TREE_REQUIRED},
    {"title", tree_text, IN_SCENARIO(title), TREE_OPTIONAL},
    {"component", read_component, 0, TREE_OPTIONAL},
    {"default", read_default, 0, TREE_OPTIONAL},
    {"outcome", read_scenario_outcome, 0, TREE_OPTIONAL},
    {"variants", read_variants, 0, TREE_REQUIRED},
    {"workloads", read_workloads, 0, TREE_REQUIRED},
    {"plans", read_plans, 0, TREE_REQUIRED},
    {0},
};

static bool read_file(struct scenario *s, struct complaints *c) {
    static const struct tree_schema schema = {"a scenario", scenario_keys, NULL};
    struct reader reader = {.scenario = s};
    struct yaml_tree tree;
    AUTO_TEXT known = format_text("%s/known.yaml", s->dir);
    if (!known_read(known, &reader.known, c))
        return false;
    bool ok = tree_open(&tree, s->file, "a scenario", c);
    if (ok) {
        tree.context = &reader;
        ok = tree_mapping(&tree, tree_root(&tree), &schema, s);
        tree_close(&tree);
    }
    free_outcomes(&reader.outcome);
    known_free(&reader.known);
    return ok;
}

struct scenario *scenario_read(const char *dir, struct complaints *c) {
    struct scenario *s = allocate(1, sizeof *s);
    s->dir = copy_text(dir);
    s->file = format_text("%s/scenario.yaml", dir);
    s->trials = 1;
    s->timeout_ns = 60000000000u;
    s->stall_ns = 30000000000u;
    if (read_file(s, c))
        return s;
    scenario_free(s);
    return NULL;
}

static void free_workload(struct scenario_workload *w) {
    free(w->name);
    free(w->program);
    free(w->needs);
    for (int i = 0; i < w->n_for; i++)
        free(w->for_variant[i]);
    for (int i = 0; i < w->n_env; i++)
        free(w->env[i].assignment);
    free_outcomes(&w->outcome);
}

static void free_plan(struct scenario_plan *p) {
    free(p->name);
    free(p->file);
    for (int i = 0; i < p->n_workloads; i++)
        free(p->workload[i]);
    free(p->signature);
    for (int i = 0; i < p->n_expect; i++) {
        free(p->expect[i].variant);
        free(p->expect[i].verdict);
    }
    free_outcomes(&p->outcome);
}

void scenario_free(struct scenario *s) {
    if (!s)
        return;
    for (int i = 0; i < s->n_variants; i++) {
        free(s->variant[i].name);
        free(s->variant[i].find);
        free(s->variant[i].make);
        free(s->variant[i].needs);
        free(s->variant[i].sanitizer);
    }
    for (int i = 0; i < s->n_workloads; i++)
        free_workload(&s->workload[i]);
    for (int i = 0; i < s->n_plans; i++)
        free_plan(&s->plan[i]);
    free(s->dir);
    free(s->file);
    free(s->name);
    free(s->title);
    free(s->component_kind);
    free(s->component_what);
    free(s->component_file);
    free(s);
}
