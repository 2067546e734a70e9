/* results.json: verdicts of n trials, expectations and rates, signatures, the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"
#include "collect.h"

static int failed, checked;
static void check(bool ok, const char *what) {
    checked++;
    if (!ok)
        printf("  FAILED: %s\n", what);
    failed |= !ok;
}

enum {
    R = VERDICT_REPRODUCED,
    O = VERDICT_OTHER_FINDING,
    E = VERDICT_ERROR,
    N = VERDICT_NOT_EXERCISED,
    C = VERDICT_CLEAN
};

static const struct {
    const char *name, *expected;
    double rate;
    int n, verdict[5], status;
    const char *row;
} cases[] = {
    {"all clean, wanted", "clean", 0, 3, {C, C, C}, 0, "clean"},
    {"one reproduced, clean wanted", "clean", 0, 3, {C, R, C}, 1, "reproduced"},
    {"one other finding, clean wanted", "clean", 0, 3, {C, O, C}, 1, "other-finding"},
    {"one not exercised, clean wanted", "clean", 0, 3, {C, C, N}, 125, "not-exercised"},
    {"an error goes before not exercised", "clean", 0, 3, {N, E, C}, 125, "error"},
    {"all reproduced", "reproduced", 0, 3, {R, R, R}, 0, "reproduced"},
    {"reproduced in every trial is wanted", "reproduced", 0, 3, {R, R, C}, 1, "reproduced"},
    {"the rest could not tell", "reproduced", 0, 3, {R, R, N}, 125, "reproduced"},
    {"a rate that is met", "reproduced", 0.5, 4, {R, C, R, C}, 0, "reproduced"},
    {"a rate that is missed", "reproduced", 0.75, 4, {R, C, R, C}, 1, "reproduced"},
    {"a rate that is missed because of errors",
     "reproduced",
     0.75,
     4,
     {R, E, R, C},
     125,
     "reproduced"},
    {"none reproduced, all clean", "reproduced", 0, 2, {C, C}, 1, "clean"},
    {"another finding instead", "reproduced", 0, 2, {O, O}, 1, "other-finding"},
    {"nothing exercised", "reproduced", 0, 2, {N, N}, 125, "not-exercised"},
    {"not exercised, wanted", "not-exercised", 0, 2, {N, N}, 0, "not-exercised"},
    {"measured: some", EXPECT_MEASURED, 0, 3, {R, C, C}, 0, "reproduced"},
    {"measured: none", EXPECT_MEASURED, 0, 2, {C, C}, 0, "clean"},
    {"measured, and something else", EXPECT_MEASURED, 0, 3, {R, C, O}, 1, "reproduced"},
    {"measured, one that cannot tell", EXPECT_MEASURED, 0, 3, {R, C, N}, 125, "reproduced"},
    {"measured, nothing at all", EXPECT_MEASURED, 0, 0, {0}, 125, "not-exercised"},
    {"nothing expected, clean", NULL, 0, 1, {C}, 0, "clean"},
    {"nothing expected, reproduced", NULL, 0, 1, {R}, 1, "reproduced"},
    {"nothing expected, another finding", NULL, 0, 1, {O}, 1, "other-finding"},
    {"nothing expected, an error", NULL, 0, 1, {E}, 125, "error"},
    {"nothing expected, not exercised", NULL, 0, 1, {N}, 125, "not-exercised"},
    {"no trial at all", "clean", 0, 0, {0}, 125, "not-exercised"},
};

static struct finding finding(const char *signature, const char *known_id, bool suspect) {
    struct finding f = {.kind = FINDING_DOUBLE_FREE, .suspect = suspect};
    f.signature = copy_text(signature);
    f.known_id = known_id ? copy_text(known_id) : NULL;
    return f;
}

static struct trial_result trial(int verdict) {
    struct trial_result r = {.verdict = (enum verdict)verdict,
                             .exercised = verdict != N && verdict != E,
                             .reason =
                                 format_text("because of %s", verdict_name((enum verdict)verdict)),
                             .json = json_pack("{s:s}", "id", "t")};
    if (verdict == R || verdict == O) {
        r.finding = allocate(3, sizeof *r.finding);
        r.finding[r.n_findings++] = finding("double-free:use=a", "bug#1", false);
        r.finding[r.n_findings++] = finding("leak:alloc=b", NULL, false);
        r.finding[r.n_findings++] = finding("crash", NULL, true);
    }
    return r;
}

static const json_t *last(struct results *rs, const char *list) {
    const json_t *all = json_object_get(results_json(rs), list);
    return json_array_get(all, json_array_size(all) - 1);
}

static void test_case(struct results *rs, size_t i) {
    struct trial_result results[5];
    struct verdict_row row = {.scenario = "s",
                              .expected = cases[i].expected,
                              .rate = cases[i].rate,
                              .ranks = 2,
                              .again = "holdpoint run s"};
    int reproduced = 0, exercised = 0;
    for (int t = 0; t < cases[i].n; t++) {
        results[t] = trial(cases[i].verdict[t]);
        reproduced += cases[i].verdict[t] == R;
        exercised += results[t].exercised;
    }
    int status = results_add(rs, &row, results, cases[i].n);
    const char *verdict;
    int as_expected, trials, got_exercised, got_reproduced;
    check(status == cases[i].status, cases[i].name);
    check(json_unpack((json_t *)last(rs, "verdicts"), "{s:s,s:b,s:i,s:i,s:i}", "verdict", &verdict,
                      "as_expected", &as_expected, "trials", &trials, "exercised", &got_exercised,
                      "reproduced", &got_reproduced) == 0,
          cases[i].name);
    check(strcmp(verdict, cases[i].row) == 0, cases[i].name);
    check(as_expected == (cases[i].status == 0) && trials == cases[i].n, cases[i].name);
    check(got_exercised == exercised && got_reproduced == reproduced, cases[i].name);
    for (int t = 0; t < cases[i].n; t++)
        trial_result_free(&results[t]);
}

/* A window that a fix closes: blocked at the step in every trial, after `faulty` was reproduced. */
static void test_closed_by_fix(void) {
    struct plan plan = {
        .n_steps = 2, .hash = 7, .step = {{.text = "reach a"}, {.text = "reach b"}}};
    struct plan other = {
        .n_steps = 2, .hash = 8, .step = {{.text = "reach a"}, {.text = "reach b"}}};
    static const struct {
        const char *name, *baseline_plan;
        int baseline, verdict[2], blocked[2], status;
    } closed[] = {
        {"blocked in every trial", "p", R, {N, N}, {2, 2}, 0},
        {"without the baseline's bug", "p", C, {N, N}, {2, 2}, 125},
        {"another plan's bug", "q", R, {N, N}, {2, 2}, 125},
        {"blocked at another step", "p", R, {N, N}, {1, 2}, 125},
        {"a timeout", "p", R, {N, N}, {2, 0}, 125},
        {"an error", "p", R, {N, E}, {2, 0}, 125},
        {"passed and clean", "p", R, {N, C}, {2, 0}, 1},
        {"reproduced", "p", R, {R, N}, {0, 2}, 1},
    };
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
        struct results *rs = results_new();
        bool same = closed[i].baseline_plan[0] == 'p';
        struct verdict_row row = {.scenario = "s",
                                  .variant = "faulty",
                                  .plan = closed[i].baseline_plan,
                                  .plan_read = same ? &plan : &other,
                                  .expected = "reproduced"};
        struct trial_result baseline = trial(closed[i].baseline);
        results_add(rs, &row, &baseline, 1);
        struct trial_result t[2] = {trial(closed[i].verdict[0]), trial(closed[i].verdict[1])};
        t[0].blocked_step = closed[i].blocked[0];
        t[1].blocked_step = closed[i].blocked[1];
        row.variant = "fixed";
        row.plan = "p";
        row.plan_read = &plan;
        row.expected = CLOSED_BY_FIX "reach b";
        check(results_add(rs, &row, t, 2) == closed[i].status, closed[i].name);
        results_free(rs);
        trial_result_free(&baseline);
        trial_result_free(&t[0]);
        trial_result_free(&t[1]);
    }
}

/* Rule 5 of the verdicts. An element: its verdict, and whether its fault fired. */
static void test_sweep(void) {
    struct plan over = {
        .sweep = {.kind = SWEEP_OVER, .function = {"f", "g", "h", "i"}, .n_functions = 4}};
    struct plan nth = {.sweep = {.kind = SWEEP_NTH}};
    static const struct {
        const char *name, *expected;
        double rate;
        bool is_nth;
        int verdict[4], fired[4], status, exercised, reproduced;
        const char *row, *reason;
    } sweeps[] = {
        {"all fired", "reproduced", 0, 0, {R, R, R, R}, {1, 1, 1, 1}, 0, 4, 4, "reproduced", ""},
        {"two fired", "reproduced", 0, 0, {N, R, N, R}, {0, 1, 0, 1}, 0, 2, 2, "reproduced", ""},
        {"one that fired did not reproduce",
         "reproduced",
         0,
         0,
         {N, R, C, R},
         {0, 1, 1, 1},
         1,
         3,
         2,
         "reproduced",
         "`h` was clean"},
        {"the rate of those that fired",
         "reproduced",
         0.6,
         0,
         {N, R, C, R},
         {0, 1, 1, 1},
         0,
         3,
         2,
         "reproduced",
         ""},
        {"the rate is missed",
         "reproduced",
         0.7,
         0,
         {N, R, C, R},
         {0, 1, 1, 1},
         1,
         3,
         2,
         "reproduced",
         "`h` was clean"},
        {"one fired, and is clean",
         "clean",
         0,
         0,
         {N, N, C, N},
         {0, 0, 1, 0},
         0,
         1,
         0,
         "clean",
         ""},
        {"none fired",
         "clean",
         0,
         0,
         {N, N, N, N},
         {0},
         125,
         0,
         0,
         "not-exercised",
         "none of the 4 runs of the sweep let its fault fire; `f`: because"},
        {"none fired, reproduced wanted",
         "reproduced",
         0,
         0,
         {N, N, N, N},
         {0},
         125,
         0,
         0,
         "not-exercised",
         "none of the 4 runs"},
        {"fired, and not exercised otherwise",
         "clean",
         0,
         0,
         {N, C, N, C},
         {0, 1, 1, 1},
         125,
         2,
         0,
         "not-exercised",
         "`h` was not-exercised"},
        {"an error hides whether it fired",
         "clean",
         0,
         0,
         {C, E, C, C},
         {1, 0, 1, 1},
         125,
         3,
         0,
         "error",
         "`g` was error"},
        {"a finding of what did not fire",
         "clean",
         0,
         0,
         {C, N, O, C},
         {1, 0, 0, 1},
         1,
         2,
         0,
         "other-finding",
         "`h` was other-finding"},
        {"is no reproduction",
         "reproduced",
         0,
         0,
         {R, N, R, R},
         {1, 0, 0, 1},
         0,
         2,
         2,
         "reproduced",
         ""},
        {"nth, complete", "clean", 0, 1, {C, C, C, N}, {1, 1, 1, 0}, 0, 3, 0, "clean", ""},
        {"nth, broken off",
         "clean",
         0,
         1,
         {C, C, C, C},
         {1, 1, 1, 1},
         125,
         4,
         0,
         "not-exercised",
         "broken off after 4 runs"},
        {"nth, stuck",
         "clean",
         0,
         1,
         {C, O, O, O},
         {1, 0, 0, 0},
         1,
         1,
         0,
         "other-finding",
         "`nth 2` was other-finding: because of other-finding; the sweep was ended"},
    };
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        struct results *rs = results_new();
        struct verdict_row row = {.scenario = "s",
                                  .plan_read = sweeps[i].is_nth ? &nth : &over,
                                  .expected = sweeps[i].expected,
                                  .rate = sweeps[i].rate};
        struct trial_result t[4];
        for (int k = 0; k < 4; k++) {
            t[k] = trial(sweeps[i].verdict[k]);
            t[k].ended = true;
            t[k].fired = sweeps[i].fired[k];
        }
        check(results_add(rs, &row, t, 4) == sweeps[i].status, sweeps[i].name);
        const char *verdict, *reason, *second;
        int n, exercised, reproduced, fired;
        json_t *v = (json_t *)(uintptr_t)last(rs, "verdicts");
        check(json_unpack(v, "{s:s,s:s,s:i,s:i,s:i,s:{s:i,s:[{},{s:s}]}}", "verdict", &verdict,
                          "reason", &reason, "trials", &n, "exercised", &exercised, "reproduced",
                          &reproduced, "sweep", "fired", &fired, "elements", "name", &second) == 0,
              sweeps[i].name);
        check(strcmp(verdict, sweeps[i].row) == 0, sweeps[i].name);
        check(*sweeps[i].reason ? strstr(reason, sweeps[i].reason) != NULL : !*reason, reason);
        check(n == 4 && exercised == sweeps[i].exercised && reproduced == sweeps[i].reproduced,
              sweeps[i].name);
        check(strcmp(second, sweeps[i].is_nth ? "nth 2" : "g") == 0, second);
        results_free(rs);
        for (int k = 0; k < 4; k++)
            trial_result_free(&t[k]);
    }
}

/* A gate fixes the number of trials: fewer tell nothing, unless one of them reproduced. */
static void test_gate(void) {
    static const struct {
        const char *name;
        int reproduced, trials, n, verdict[4], status;
    } gates[] = {
        {"all clean", 20, 20, 3, {C, C, C}, 0},
        {"stopped by a reproduction", 20, 20, 1, {R}, 1},
        {"fewer than were fixed", 20, 20, 2, {C, C}, 125},
        {"one was not exercised", 20, 20, 3, {C, N, C}, 125},
        {"another finding", 20, 20, 3, {C, O, C}, 1},
        {"nothing reproduced in the baseline", 0, 20, 0, {0}, 125},
        {"no baseline", 0, 0, 0, {0}, 125},
        {"reproduced too seldom", 1, 100000, 0, {0}, 125},
    };
    for (size_t i = 0; i < sizeof gates / sizeof *gates; i++) {
        struct results *rs = results_new();
        struct gate g = gate_after(0.99, gates[i].reproduced, gates[i].trials);
        struct verdict_row row = {.scenario = "s", .expected = "clean", .gate = &g};
        struct trial_result results[4];
        for (int t = 0; t < gates[i].n; t++)
            results[t] = trial(gates[i].verdict[t]);
        check(results_add(rs, &row, results, gates[i].n) == gates[i].status, gates[i].name);
        const json_t *told = json_object_get(last(rs, "verdicts"), "gate");
        check(json_is_true(json_object_get(told, "passed")) == (gates[i].status == 0),
              gates[i].name);
        check(json_is_null(json_object_get(told, "trials_needed")) == !gates[i].reproduced,
              gates[i].name);
        for (int t = 0; t < gates[i].n; t++)
            trial_result_free(&results[t]);
        results_free(rs);
    }
}

/* Of sixty trials that reproduce and one that does not, the reason is about the one. */
static void test_reason_of_the_unwanted(struct results *rs) {
    static const struct {
        const char *expected, *reason;
        int verdict[4];
    } rows[] = {
        {"reproduced", "", {R, R, R, R}},
        {"reproduced", "trial 3 of 4 was clean: because of clean", {R, R, C, R}},
        {"reproduced", "trial 4 of 4 (and 2 more) was other-finding: because of", {R, C, N, O}},
        {"reproduced", "trial 1 of 4 (and 3 more) was not-exercised: because of", {N, N, N, N}},
        {EXPECT_MEASURED, "trial 2 of 4 was other-finding: because of other-finding", {R, O, C, C}},
        {EXPECT_MEASURED, "trial 4 of 4 (and 1 more) was error: because of error", {R, N, C, E}},
        {"clean", "because of reproduced", {C, R, O, C}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trial_result results[4];
        struct verdict_row row = {.scenario = "s", .expected = rows[i].expected, .again = "again"};
        for (int t = 0; t < 4; t++)
            results[t] = trial(rows[i].verdict[t]);
        results_add(rs, &row, results, 4);
        const char *reason = json_string_value(json_object_get(last(rs, "verdicts"), "reason"));
        check(strncmp(reason, rows[i].reason, strlen(rows[i].reason)) == 0 &&
                  (*rows[i].reason || !*reason),
              reason);
        for (int t = 0; t < 4; t++)
            trial_result_free(&results[t]);
    }
}

static void test_signatures(struct results *rs) {
    struct trial_result results[2] = {trial(R), trial(R)};
    struct verdict_row row = {.scenario = "s", .expected = "clean", .again = "again"};
    results_add(rs, &row, results, 2);
    const json_t *v = last(rs, "verdicts"), *list = json_object_get(v, "signatures");
    check(json_array_size(list) == 2, "each signature once, no suspects");
    check(strcmp(json_string_value(json_array_get(list, 0)), "bug#1") == 0,
          "the public id where it is known");
    check(strcmp(json_string_value(json_array_get(list, 1)), "leak:alloc=b") == 0,
          "the signature where it is not");
    check(strcmp(json_string_value(json_object_get(v, "reason")), "because of reproduced") == 0,
          "the reason of a surprise");
    check(strcmp(json_string_value(json_object_get(last(rs, "trials"), "again")), "again") == 0,
          "the command that repeats a trial");
    trial_result_free(&results[0]);
    trial_result_free(&results[1]);
}

static void test_skip(struct results *rs) {
    struct verdict_row row = {.scenario = "ompi", .variant = "installed", .expected = "reproduced"};
    results_skip(rs, &row, "Open MPI is not installed");
    const json_t *v = last(rs, "verdicts");
    check(json_is_true(json_object_get(v, "skipped")), "a skipped row says so");
    check(strcmp(json_string_value(json_object_get(v, "reason")), "Open MPI is not installed") == 0,
          "a skipped row names what is missing");
    check(json_integer_value(json_object_get(v, "status")) == 125, "a skipped row cannot tell");
}

static void test_file(struct results *rs) {
    char dir[] = "/tmp/holdpoint.test.XXXXXX";
    struct complaints c = {0};
    check(mkdtemp(dir) != NULL, "a folder for the test");
    AUTO_TEXT file = format_text("%s/results.json", dir);
    check(results_write(rs, file, &c), "the file is written");
    json_t *back = json_load_file(file, 0, NULL);
    check(json_equal(back, results_json(rs)), "what is read back is what was written");
    check(strcmp(json_string_value(json_object_get(back, "schema")), "holdpoint-results/1") == 0,
          "the schema");
    json_decref(back);
    unlink(file);
    check(rmdir(dir) == 0, "no temporary file is left");
    check(!results_write(rs, file, &c) && c.count == 1 && strstr(c.text, "--out"),
          "a folder that is gone: what to do is said");
    complaints_clear(&c);
}

int main(void) {
    struct results *rs = results_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        test_case(rs, i);
    test_closed_by_fix();
    test_sweep();
    test_gate();
    test_reason_of_the_unwanted(rs);
    test_signatures(rs);
    test_skip(rs);
    test_file(rs);
    results_free(rs);
    printf("  %d checks of verdict rows and the file: %s\n", checked, failed ? "FAILED" : "ok");
    return failed;
}
