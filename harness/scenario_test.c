/* Proves: every key of a scenario is read to where it belongs, defaults are the documented ones,
 * and each name that stands for nothing is refused with its place; scenarios are found by name and
 * path. */
#include "scenario.h"

#include "test_files.h"

static char *folder;

static struct scenario *read_text(const char *text, struct complaints *c) {
    AUTO_TEXT file = test_write_text(folder, "scenario.yaml", text);
    struct scenario *s = scenario_read(folder, c);
    unlink(file);
    return s;
}

static const char example[] =
    "scenario: ompi-modex-fence\n"
    "title: the background modex fence writes into a dead stack frame after a failed init\n"
    "component: {kind: prefix, what: open-mpi}\n"
    "variants:\n"
    "  installed: {find: open-mpi}\n"
    "  faulty:    {make: component/fence_stack, sanitizer: address}\n"
    "  fixed:     {make: component/fence_heap}\n"
    "workloads:\n"
    "  init:    {program: workload/init a b, launcher: mpirun, ranks: [2, 32], for: [installed],\n"
    "            env: {all: {A: 1}, 0: {B: 2}}, timeout: 10s, timeout_per_rank: 2s, mark: true,\n"
    "            outcome: [{rank: 0, exit: any, init: fails, why: x}, {rank: others, exit: 3}]}\n"
    "  client:  {program: workload/client, ranks: 4, for: [faulty, fixed], needs: libx}\n"
    "  any:     {program: '{component}'}\n"
    "plans:\n"
    "  late:  {file: plans/late.yaml, expect: {installed: reproduced, fixed: clean}}\n"
    "  first: {file: plans/late.yaml, workload: client, ranks: [2], signature: bug#1, default: "
    "false,\n"
    "          outcome: {rank: 1, exit: 7},\n"
    "          expect: {faulty: {verdict: reproduced, rate: 0.9}, fixed: not-exercised}}\n"
    "outcome: {rank: 0, init: fails}\n"
    "default: {trials: 3, timeout: 90s, stall: 5s}\n";

static void test_workloads(const struct scenario *s) {
    CHECK(s->n_workloads == 3, "%d workloads", s->n_workloads);
    const struct scenario_workload *init = &s->workload[0], *client = &s->workload[1],
                                   *any = &s->workload[2];
    CHECK(strcmp(init->program, "workload/init a b") == 0 && init->launcher == LAUNCHER_MPIRUN &&
              init->n_ranks == 2 && init->ranks[1] == 32 && init->needs_mark,
          "init");
    CHECK(init->n_for == 1 && scenario_fits(init, "installed") && !scenario_fits(init, "fixed"),
          "for");
    CHECK(init->n_env == 2 && init->env[0].rank == -1 &&
              strcmp(init->env[0].assignment, "A=1") == 0 && init->env[1].rank == 0 &&
              strcmp(init->env[1].assignment, "B=2") == 0,
          "env");
    CHECK(init->timeout_ns == 10000000000u && init->timeout_per_rank_ns == 2000000000u, "timeouts");
    const struct outcome *own = init->outcome.of;
    CHECK(init->outcome.n == 2 && own[0].rank == 0 && own[0].exit_status == -1 &&
              own[0].n_attrs == 2 && strcmp(own[0].attr[0].key, "init") == 0 &&
              strcmp(own[0].attr[0].value, "fails") == 0 && own[1].rank == -1 &&
              own[1].exit_status == 3 && own[1].n_attrs == 0,
          "own outcomes");
    CHECK(client->launcher == LAUNCHER_LOCAL && client->n_ranks == 1 && client->ranks[0] == 4 &&
              client->timeout_ns == 90000000000u && !client->needs_mark && !init->needs &&
              !strcmp(client->needs, "libx"),
          "client");
    CHECK(client->outcome.n == 1 && client->outcome.of[0].exit_status == 0 &&
              strcmp(client->outcome.of[0].attr[0].value, "fails") == 0,
          "the scenario's outcome");
    CHECK(any->n_for == 0 && scenario_fits(any, "faulty") && any->n_ranks == 1 &&
              any->ranks[0] == 1,
          "defaults of a workload");
}

static void test_plans(const struct scenario *s) {
    CHECK(s->n_plans == 2, "%d plans", s->n_plans);
    const struct scenario_plan *late = &s->plan[0], *first = &s->plan[1];
    CHECK(strcmp(late->file, "plans/late.yaml") == 0 && late->n_workloads == 0 &&
              !late->signature && late->in_default && late->n_ranks == 0 && late->outcome.n == 0 &&
              late->n_expect == 2,
          "late");
    CHECK(strcmp(late->expect[0].variant, "installed") == 0 &&
              strcmp(late->expect[0].verdict, "reproduced") == 0 && late->expect[0].rate == 1,
          "expect");
    CHECK(first->n_workloads == 1 && scenario_plan_takes(first, "client") &&
              !scenario_plan_takes(first, "init") && strcmp(first->signature, "bug#1") == 0 &&
              !first->in_default && first->n_ranks == 1 && first->ranks[0] == 2 &&
              first->outcome.n == 1 && first->outcome.of[0].exit_status == 7,
          "first");
    CHECK(first->expect[0].rate == 0.9 && strcmp(first->expect[1].verdict, "not-exercised") == 0 &&
              first->expect[1].rate == 1,
          "rates");
}

static void test_example(void) {
    struct complaints c = {0};
    struct scenario *s = read_text(example, &c);
    CHECK(s, "refused: %s", c.text ? c.text : "");
    if (s) {
        CHECK(strcmp(s->name, "ompi-modex-fence") == 0 &&
                  strcmp(s->component_kind, "prefix") == 0 &&
                  strcmp(s->component_what, "open-mpi") == 0 && strstr(s->title, "dead stack"),
              "head");
        CHECK(s->n_variants == 3 && strcmp(s->variant[0].find, "open-mpi") == 0 &&
                  !s->variant[0].make && strcmp(s->variant[1].make, "component/fence_stack") == 0 &&
                  strcmp(s->variant[1].sanitizer, "address") == 0 && !s->variant[2].sanitizer,
              "variants");
        CHECK(s->trials == 3 && s->timeout_ns == 90000000000u && s->stall_ns == 5000000000u,
              "default");
        CHECK(scenario_variant_named(s, "fixed") == 2 && scenario_variant_named(s, "x") == -1 &&
                  scenario_workload_named(s, "client") == 1 && scenario_plan_named(s, "first") == 1,
              "by name");
        test_workloads(s);
        test_plans(s);
    }
    scenario_free(s);

    s = read_text("scenario: s\nvariants: {a: {}}\nworkloads: {w: {program: p}}\n"
                  "plans: {p: {file: plans/late.yaml, expect: {a: clean}}}\n",
                  &c);
    CHECK(s && s->trials == 1 && s->timeout_ns == 60000000000u && s->stall_ns == 30000000000u &&
              s->workload[0].timeout_ns == 60000000000u && s->workload[0].outcome.n == 0,
          "the smallest: %s", c.text ? c.text : "other defaults");
    scenario_free(s);
    complaints_clear(&c);
}

#define HEAD "scenario: s\nvariants: {a: {}, b: {make: x}}\n"
#define WORK "workloads: {w: {program: p}, v: {program: p, for: [b]}}\n"
#define PLAN "plans: {p: {file: plans/late.yaml, expect: {a: clean}}}\n"

static const struct {
    const char *text, *wanted;
} refused[] = {
    {"variants: {}\nworkloads: {}\nplans: {}\n", "a scenario needs the key 'scenario'"},
    {"scenario: s\n", "a scenario needs the key 'plans'"},
    {HEAD WORK PLAN "plan: x\n", ":5:1: unknown key of a scenario 'plan'; did you mean plans"},
    {HEAD WORK PLAN "component: {kind: prefx}\n",
     ":5:19: unknown kind of component 'prefx'; did you mean prefix"},
    {"scenario: s\nvariants: {a: {find: x, make: y}}\n" WORK PLAN,
     ":2:12: a variant is found (find:) or made (make:), not both"},
    {"scenario: s\nvariants: {a: {make: ../x}}\n" WORK PLAN, ":2:22: '../x' lies outside"},
    {"scenario: s\nvariants: {a: {sanitizer: adress}}\n" WORK PLAN,
     "unknown sanitizer 'adress'; did you mean address"},
    {HEAD "workloads: {w: {}}\n" PLAN, ":3:16: a workload needs the key 'program'"},
    {HEAD "workloads: {w: {program: p, launcher: mpiexec}}\n" PLAN,
     "unknown launcher 'mpiexec'; there is local or mpirun"},
    {HEAD "workloads: {w: {program: p, ranks: 0}}\n" PLAN,
     ":3:36: '0' is not a whole number from 1"},
    {HEAD "workloads: {w: {program: p, ranks: 2000}}\n" PLAN, "a job has at most 1024 ranks"},
    {HEAD "workloads: {w: {program: p, ranks: [1,2,3,4,5,6,7,8,9]}}\n" PLAN, "at most 8 sizes"},
    {HEAD "workloads: {w: {program: p, for: [c]}}\n" PLAN,
     ":3:35: unknown variant 'c'; did you mean a or b"},
    {HEAD "workloads: {w: {program: p, for: [a, a]}}\n" PLAN, "the variant 'a' stands twice"},
    {HEAD "workloads: {w: {program: p, mark: on}}\n" PLAN, "neither true nor false"},
    {HEAD "workloads: {w: {program: p, timeout: 3}}\n" PLAN, "is no duration"},
    {HEAD "workloads: {w: {program: p, env: {x: {A: b}}}}\n" PLAN, "neither `all` nor a rank"},
    {HEAD "workloads: {w: {program: p, outcome: {exit: 256}}}\n" PLAN,
     "an exit status is 0 to 255"},
    {HEAD "workloads: {w: {program: p, outcome: {rank: none}}}\n" PLAN,
     "or write `others` or `all`"},
    {HEAD "workloads: {w: {program: p, outcome: [{rank: all}, {exit: 1}]}}\n" PLAN,
     ":3:52: an outcome for the same ranks stands before"},
    {HEAD WORK "plans: {p: {file: plans/none.yaml, expect: {a: clean}}}\n",
     ":4:19: there is no plan file"},
    {HEAD WORK "plans: {p: {file: plans, expect: {a: clean}}}\n", "there is no plan file"},
    {HEAD WORK "plans: {p: {file: /etc/passwd, expect: {a: clean}}}\n", "lies outside"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml}}\n", ":4:12: a plan needs the key 'expect'"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, expect: {c: clean}}}\n",
     ":4:45: unknown variant 'c'"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, expect: {a: claen}}}\n",
     ":4:48: unknown verdict 'claen'; did you mean clean"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, expect: {a: {rate: 0.5}}}}\n",
     "an expectation is verdict:"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, expect: {a: {closed-by-fix: reach x, rate: "
               "0.5}}}}\n",
     "or closed-by-fix: alone"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, expect: {a: {closed-by-fix: reach x}}}}\n",
     "counts only where the same plan is reproduced on the variant faulty"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, expect: {a: {verdict: reproduced, rate: 0}}}}\n",
     "rate: 0 expects nothing"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, expect: {a: {verdict: clean, rate: 0.5}}}}\n",
     "rate: goes with the verdict reproduced"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, expect: {a: {verdict: measured, rate: 0.5}}}}\n",
     "rate: goes with the verdict reproduced"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, trials: 0, expect: {a: clean}}}\n",
     "is not a whole number from 1"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, workload: x, expect: {a: clean}}}\n",
     ":4:46: unknown workload 'x'"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, workload: [w, x], expect: {a: clean}}}\n",
     ":4:50: unknown workload 'x'"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, workload: [w, w], expect: {a: clean}}}\n",
     ":4:50: the workload 'w' stands twice"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, workload: [], expect: {a: clean}}}\n",
     ":4:46: workload names none"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, workload: {w: x}, expect: {a: clean}}}\n",
     ":4:46: workload must be a list"},
    {HEAD "workloads: {w: {program: p, for: []}}\n" PLAN, ":3:34: for names none"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, workload: v, expect: {a: clean}}}\n",
     ":4:9: the plan p expects something of the variant a, but no workload of it runs with that"},
    {HEAD WORK "plans: {p: {file: plans/late.yaml, signature: bug#2, expect: {a: clean}}}\n",
     ":4:47: unknown signature 'bug#2'; did you mean bug#1"},
    {HEAD WORK PLAN "default: {trials: 0}\n", ":5:19: '0' is not a whole number from 1"},
    {HEAD WORK PLAN "default: {trails: 2}\n",
     "unknown key of default 'trails'; did you mean trials"},
};

static void test_refused(void) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct complaints c = {0};
        struct scenario *s = read_text(refused[i].text, &c);
        CHECK(!s, "accepted: %s", refused[i].text);
        CHECK(c.text && strstr(c.text, refused[i].wanted), "of %ssaid %swanted \"%s\"",
              refused[i].text, c.text ? c.text : "nothing\n", refused[i].wanted);
        scenario_free(s);
        complaints_clear(&c);
    }
    struct complaints c = {0};
    struct scenario *s =
        read_text(HEAD WORK "plans: {p: {file: plans/late.yaml, signature: double-free, "
                            "expect: {a: clean}}}\n",
                  &c);
    CHECK(s, "a kind is no signature: %s", c.text ? c.text : "");
    scenario_free(s);
    complaints_clear(&c);
}

static void expect_found(const char *name, const char *wanted, const char *complaint) {
    struct complaints c = {0};
    char *found = scenario_find(name, &c);
    CHECK((found != NULL) == (wanted != NULL) && (!found || strcmp(found, wanted) == 0),
          "%s: found %s", name, found ? found : "nothing");
    CHECK(!complaint || (c.text && strstr(c.text, complaint)), "%s: said %s", name,
          c.text ? c.text : "nothing");
    free(found);
    complaints_clear(&c);
}

static void test_find(void) {
    AUTO_TEXT scenarios = format_text("%s/scenarios", folder);
    AUTO_TEXT one = format_text("%s/holdpoint-test-one", scenarios);
    AUTO_TEXT other = format_text("%s/no-scenario", scenarios);
    CHECK(mkdir(scenarios, 0700) == 0 && mkdir(one, 0700) == 0 && mkdir(other, 0700) == 0, "mkdir");
    AUTO_TEXT file = test_write_text(one, "scenario.yaml", "scenario: one\n");
    CHECK(chdir(folder) == 0, "chdir");
    expect_found("holdpoint-test-one", "scenarios/holdpoint-test-one", NULL);
    expect_found(one, one, NULL);
    expect_found("./scenarios/holdpoint-test-one", "./scenarios/holdpoint-test-one", NULL);
    expect_found("holdpoint-test-noe", NULL, "did you mean holdpoint-test-one?");
    expect_found("no-scenario", NULL, "there is no scenario 'no-scenario'");
    expect_found(other, NULL, "holds no scenario.yaml");
    expect_found("", NULL, "there is no scenario ''");
    size_t n, seen = 0;
    char **names = scenario_names(&n);
    for (size_t i = 0; i < n; i++) {
        seen += strcmp(names[i], "holdpoint-test-one") == 0;
        CHECK(i == 0 || strcmp(names[i - 1], names[i]) < 0, "names are not sorted");
        free(names[i]);
    }
    CHECK(seen == 1, "listed %zu times", seen);
    free(names);
    CHECK(chdir("/") == 0, "chdir");
    unlink(file);
    rmdir(one);
    rmdir(other);
    rmdir(scenarios);
}

int main(void) {
    folder = test_folder();
    AUTO_TEXT plans = format_text("%s/plans", folder);
    CHECK(mkdir(plans, 0700) == 0, "mkdir");
    AUTO_TEXT plan = test_write_text(plans, "late.yaml", "plan: late\n");
    AUTO_TEXT known =
        test_write_text(folder, "known.yaml", "- {id: 'bug#1', kind: crash, frames: {use: [f]}}\n");
    test_example();
    test_refused();
    test_find();
    unlink(plan);
    unlink(known);
    rmdir(plans);
    CHECK(rmdir(folder) == 0, "something is left in %s", folder);
    free(folder);
    if (!test_failures)
        printf("scenario: every key, defaults, %zu refusals with their places, look-up\n",
               sizeof refused / sizeof *refused);
    return test_failures != 0;
}
