/* results.json: verdict rows and their trials; see collect.h and reports/results.schema.json. Runs
 * in the runner, on one thread. Rows stand in the order in which they were added, so that two
 * machines that run the same thing write the same order.
 */
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "allocate.h"
#include "exit_status.h"
#include "collect.h"
#include "json_text.h"
#include "signature.h"
#include "sweep.h"
#include "version.h"

struct results {
    json_t *json;
};

/* ---- the machine ---- */

/* PRETTY_NAME of os-release; the caller's to free. */
static char *distribution(void) {
    char line[512];
    char *name = NULL;
    FILE *f = fopen("/etc/os-release", "re");
    while (f && !name && fgets(line, sizeof line, f)) {
        if (strncmp(line, "PRETTY_NAME=", 12) != 0)
            continue;
        const char *from = line + 12 + (line[12] == '"');
        name = copy_part(from, strcspn(from, "\"\n"));
    }
    if (f)
        fclose(f);
    return name ? name : copy_text("unknown");
}

static json_t *machine_json(void) {
    struct utsname u;
    if (uname(&u) != 0)
        memset(&u, 0, sizeof u);
    AUTO_TEXT kernel = format_text("%s %s", u.sysname, u.release);
    AUTO_TEXT libc = format_text("glibc %s", gnu_get_libc_version());
    AUTO_TEXT name = distribution();
    json_int_t memory = (json_int_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    json_t *j = json_object();
    json_object_set_new(j, "architecture", json_text(u.machine));
    json_object_set_new(j, "kernel", json_text(kernel));
    json_object_set_new(j, "cpus", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    json_object_set_new(j, "memory_bytes", json_integer(memory));
    json_object_set_new(j, "libc", json_text(libc));
    json_object_set_new(j, "distribution", json_text(name));
    return j;
}

static json_t *now_json(void) {
    char text[32];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return json_string(text);
}

struct results *results_new(void) {
    struct results *rs = allocate(1, sizeof *rs);
    rs->json = json_object();
    json_object_set_new(rs->json, "schema", json_string("holdpoint-results/1"));
    json_object_set_new(rs->json, "holdpoint", json_string(HOLDPOINT_VERSION));
    json_object_set_new(rs->json, "started", now_json());
    json_object_set_new(rs->json, "machine", machine_json());
    json_object_set_new(rs->json, "signature_note", json_string(signature_note));
    json_object_set_new(rs->json, "verdicts", json_array());
    json_object_set_new(rs->json, "trials", json_array());
    return rs;
}

void results_free(struct results *rs) {
    if (!rs)
        return;
    json_decref(rs->json);
    free(rs);
}

json_t *results_json(struct results *rs) {
    return rs->json;
}

/* ---- one row ---- */

struct counts {
    int trials, n, exercised, reproduced; /* n: that count, and so do the others */
    int by_verdict[VERDICT_CLEAN + 1];
    bool unfinished; /* a sweep that was ended before it was through */
};

/* Rule 5: what did not fire says nothing about its element, except by what it found itself. */
static struct counts count(const struct verdict_row *row, const struct trial_result *trial, int n) {
    struct counts c = {.trials = n};
    bool swept = sweep_most(row->plan_read) > 0;
    for (int i = 0; i < n; i++) {
        bool counts = !swept || sweep_counts(&trial[i]);
        c.by_verdict[trial[i].verdict] += counts || trial[i].verdict <= VERDICT_OTHER_FINDING;
        c.n += counts;
        c.exercised += counts && trial[i].exercised;
        c.reproduced += counts && trial[i].verdict == VERDICT_REPRODUCED;
    }
    c.unfinished = swept && sweep_end(row->plan_read, trial, n) != SWEEP_COMPLETE;
    return c;
}

/* Rule 1: the first in order of precedence that any trial has; without trials, nothing was
 * exercised. */
static enum verdict verdict_of(const struct counts *c) {
    for (int v = 0; v < VERDICT_CLEAN; v++)
        if (c->by_verdict[v])
            return (enum verdict)v;
    return c->by_verdict[VERDICT_CLEAN] && !c->unfinished ? VERDICT_CLEAN : VERDICT_NOT_EXERCISED;
}

static bool cannot_tell(enum verdict v) {
    return v == VERDICT_ERROR || v == VERDICT_NOT_EXERCISED;
}

static int judge_reproduced(const struct verdict_row *row, const struct counts *c) {
    double rate = row->rate > 0 && row->rate <= 1 ? row->rate : 1;
    if (c->n && c->reproduced >= rate * c->n - 1e-9)
        return EXIT_AS_EXPECTED;
    int untold = c->by_verdict[VERDICT_ERROR] + c->by_verdict[VERDICT_NOT_EXERCISED];
    /* When the trials that could not tell might have made up the rate, nobody can tell. */
    return c->reproduced + untold >= rate * c->n - 1e-9 ? EXIT_CANNOT_TELL : EXIT_NOT_AS_EXPECTED;
}

static int judge_measured(const struct counts *c) {
    if (c->by_verdict[VERDICT_OTHER_FINDING])
        return EXIT_NOT_AS_EXPECTED;
    int told = c->reproduced + c->by_verdict[VERDICT_CLEAN];
    return c->n && told == c->n ? EXIT_AS_EXPECTED : EXIT_CANNOT_TELL;
}

static int judge(const struct verdict_row *row, const struct counts *c) {
    enum verdict v = verdict_of(c);
    if (row->expected && strcmp(row->expected, "reproduced") == 0)
        return judge_reproduced(row, c);
    if (row->expected && strcmp(row->expected, verdict_name(v)) == 0)
        return EXIT_AS_EXPECTED;
    if (row->expected && strcmp(row->expected, EXPECT_MEASURED) == 0)
        return judge_measured(c);
    if (cannot_tell(v))
        return EXIT_CANNOT_TELL;
    return !row->expected && v == VERDICT_CLEAN ? EXIT_AS_EXPECTED : EXIT_NOT_AS_EXPECTED;
}

static void add_signatures(json_t *list, const struct trial_result *trial, bool known) {
    for (int k = 0; k < trial->n_findings; k++) {
        const struct finding *f = &trial->finding[k];
        const char *name = known ? f->known_id : f->signature;
        bool seen = f->suspect || f->by_plan || known != (f->known_id != NULL);
        for (size_t s = 0; s < json_array_size(list) && !seen; s++)
            seen = strcmp(json_string_value(json_array_get(list, s)), name) == 0;
        if (!seen)
            json_array_append_new(list, json_text(name));
    }
}

/* Public ids of what is known, then the signatures of the rest, each once, in the order of the
 * trials. */
static json_t *signatures_json(const struct trial_result *trial, int n) {
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        add_signatures(list, &trial[i], true);
    for (int i = 0; i < n; i++)
        add_signatures(list, &trial[i], false);
    return list;
}

static const char *reason_of(const struct trial_result *trial, int n, enum verdict v) {
    for (int i = 0; i < n; i++)
        if (trial[i].verdict == v)
            return trial[i].reason;
    return "there was no trial";
}

/* Where reproductions were wanted or counted, the trials that were neither; the caller's to free.
 * NULL: there are none, or something else was wanted. */
static char *unwanted_reason(const struct verdict_row *row, const struct trial_result *trial,
                             int n) {
    bool measured = row->expected && strcmp(row->expected, EXPECT_MEASURED) == 0;
    if (!measured && (!row->expected || strcmp(row->expected, verdict_name(VERDICT_REPRODUCED))))
        return NULL;
    if (n == 1)
        return NULL;
    int worst = -1, more = -1;
    for (int i = 0; i < n; i++) {
        enum verdict v = trial[i].verdict;
        if (v == VERDICT_REPRODUCED || (measured && v == VERDICT_CLEAN))
            continue;
        more++;
        if (worst < 0 || v < trial[worst].verdict)
            worst = i;
    }
    if (worst < 0)
        return NULL;
    AUTO_TEXT others = more ? format_text(" (and %d more)", more) : copy_text("");
    return format_text("trial %d of %d%s was %s: %s", worst + 1, n, others,
                       verdict_name(trial[worst].verdict), trial[worst].reason);
}

/* The element that decided: of a reproduction that every one should have shown, the first that did
 * not; else the first that counts and has the row's verdict. n: none. */
static int deciding_element(const struct verdict_row *row, const struct trial_result *trial, int n,
                            enum verdict v) {
    bool all = v == VERDICT_REPRODUCED && row->expected &&
               strcmp(row->expected, verdict_name(VERDICT_REPRODUCED)) == 0;
    int i = 0;
    for (; i < n; i++) {
        bool has_it = trial[i].verdict == v;
        bool counts = sweep_counts(&trial[i]) || v <= VERDICT_OTHER_FINDING;
        if (all ? sweep_counts(&trial[i]) && !has_it : counts && has_it)
            break;
    }
    return i;
}

/* Why a sweep has its verdict; the caller's to free. */
static char *sweep_reason(const struct verdict_row *row, const struct counts *c,
                          const struct trial_result *trial, int n, enum verdict v) {
    AUTO_TEXT note = sweep_note(row->plan_read, trial, n);
    int i = deciding_element(row, trial, n, v);
    if (i < n) {
        AUTO_TEXT name = sweep_element_name(row->plan_read, i + 1);
        return format_text("`%s` was %s: %s%s%s", name, verdict_name(trial[i].verdict),
                           trial[i].reason, *note ? "; " : "", note);
    }
    if (c->n || *note || !n)
        return copy_text(note);
    AUTO_TEXT name = sweep_element_name(row->plan_read, 1);
    return format_text("none of the %d runs of the sweep let its fault fire; `%s`: %s", n, name,
                       trial[0].reason);
}

static json_t *seeds_json(const struct plan *p) {
    json_t *list = json_array();
    for (int i = 0; p && i < p->n_faults; i++)
        if (p->fault[i].prob > 0)
            json_array_append_new(list, json_integer((json_int_t)p->fault[i].seed));
    return list;
}

static json_t *head_json(const struct verdict_row *row) {
    json_t *j = json_object();
    json_object_set_new(j, "scenario", json_text(row->scenario));
    json_object_set_new(j, "variant", json_text(row->variant));
    json_object_set_new(j, "component", json_text(row->component));
    json_object_set_new(j, "workload", json_text(row->workload));
    json_object_set_new(j, "plan", json_text(row->plan));
    json_object_set_new(j, "plan_hash",
                        row->plan_read ? json_hex(row->plan_read->hash) : json_null());
    json_object_set_new(j, "seeds", seeds_json(row->plan_read));
    json_object_set_new(j, "ranks", json_integer(row->ranks));
    json_object_set_new(j, "launcher", json_text(row->launcher));
    json_object_set_new(j, "gpu", json_text(row->gpu ? row->gpu : "none"));
    return j;
}

/* The plan, word for word, brought the bug out before in this run. */
static bool baseline_reproduced(const struct results *rs, const struct verdict_row *row) {
    static const char *const same[] = {"scenario", "plan", "plan_hash"};
    json_t *mine = head_json(row), *j;
    bool found = false;
    size_t i;
    json_array_foreach(json_object_get(rs->json, "verdicts"), i, j) {
        const char *variant = json_string_value(json_object_get(j, "variant"));
        const char *verdict = json_string_value(json_object_get(j, "verdict"));
        bool is_it = variant && strcmp(variant, BASELINE_VARIANT) == 0 && verdict &&
                     strcmp(verdict, verdict_name(VERDICT_REPRODUCED)) == 0;
        for (size_t k = 0; k < sizeof same / sizeof *same; k++)
            is_it &= json_equal(json_object_get(j, same[k]), json_object_get(mine, same[k])) != 0;
        found |= is_it;
    }
    json_decref(mine);
    return found;
}

/* Rule 3. Every trial ended blocked at the step; *why tells what else is lacking, if not NULL. */
static int judge_closed(const struct results *rs, const struct verdict_row *row,
                        const struct trial_result *trial, int n, const char **why) {
    const char *closing = verdict_closing_step(row->expected);
    int step = row->plan_read ? plan_after(row->plan_read, closing) + 1 : 0, blocked = 0;
    for (int i = 0; i < n; i++) {
        if (!cannot_tell(trial[i].verdict))
            return EXIT_NOT_AS_EXPECTED;
        blocked += step && trial[i].blocked_step == step;
    }
    if (!n || blocked < n)
        return EXIT_CANNOT_TELL;
    if (baseline_reproduced(rs, row))
        return EXIT_AS_EXPECTED;
    *why = "the step was blocked, but this run did not reproduce the same plan on the variant "
           "`" BASELINE_VARIANT "` first, so nothing says that a window was closed";
    return EXIT_CANNOT_TELL;
}

/* Rule 6. The number of trials was fixed beforehand: fewer that are clean tell nothing. */
static int judge_gate(const struct verdict_row *row, const struct counts *c, const char **why) {
    const struct gate *g = row->gate;
    int status = judge(row, c);
    if (!g->baseline_trials)
        *why = "the baseline was not run: nothing can be said of a fix";
    else if (!g->trials_needed)
        *why = "the baseline did not bring out the bug: nothing can be said of a fix";
    else if (g->trials_needed > GATE_MOST_TRIALS)
        *why = "the baseline brought the bug out so seldom that no number of trials that can be "
               "run would do: give it more --trials, or a plan that forces the bug";
    else if (status == EXIT_AS_EXPECTED && c->trials < g->trials_needed)
        *why = "it ended before all trials that the gate needs were run";
    return *why ? EXIT_CANNOT_TELL : status;
}

static json_t *gate_json(const struct gate *g, int status) {
    if (!g)
        return json_null();
    json_t *j = json_object();
    json_object_set_new(j, "confidence", json_real(g->confidence));
    json_object_set_new(j, "baseline_reproduced", json_integer(g->baseline_reproduced));
    json_object_set_new(j, "baseline_trials", json_integer(g->baseline_trials));
    json_object_set_new(j, "rate_at_least", json_real(g->rate_at_least));
    json_object_set_new(j, "trials_needed",
                        g->trials_needed ? json_integer(g->trials_needed) : json_null());
    json_object_set_new(j, "passed", json_boolean(status == EXIT_AS_EXPECTED));
    return j;
}

static void set_counts(json_t *j, const struct counts *c, enum verdict v) {
    json_object_set_new(j, "trials", json_integer(c->trials));
    json_object_set_new(j, "exercised", json_integer(c->exercised));
    json_object_set_new(j, "reproduced", json_integer(c->reproduced));
    json_object_set_new(j, "of_verdict", json_integer(c->by_verdict[v]));
    json_object_set_new(j, "verdict", json_string(verdict_name(v)));
}

static void add_trials(struct results *rs, const struct verdict_row *row,
                       const struct trial_result *trial, int n) {
    json_t *list = json_object_get(rs->json, "trials");
    for (int i = 0; i < n; i++) {
        json_t *j = json_deep_copy(trial[i].json);
        json_object_set_new(
            j, "row",
            json_integer((json_int_t)json_array_size(json_object_get(rs->json, "verdicts"))));
        if (!json_object_get(j, "again"))
            json_object_set_new(j, "again", json_text(row->again));
        json_array_append_new(list, j);
    }
}

int results_add(struct results *rs, const struct verdict_row *row, const struct trial_result *trial,
                int n) {
    struct counts c = count(row, trial, n);
    enum verdict v = verdict_of(&c);
    const char *why = NULL;
    int status = row->gate                             ? judge_gate(row, &c, &why)
                 : verdict_closing_step(row->expected) ? judge_closed(rs, row, trial, n, &why)
                                                       : judge(row, &c);
    json_t *j = head_json(row);
    set_counts(j, &c, v);
    json_object_set_new(j, "expected", json_text(row->expected));
    json_object_set_new(j, "rate",
                        row->expected && row->rate > 0 ? json_real(row->rate) : json_null());
    json_object_set_new(j, "as_expected", json_boolean(status == EXIT_AS_EXPECTED));
    json_object_set_new(j, "status", json_integer(status));
    json_object_set_new(j, "signatures", signatures_json(trial, n));
    /* A reproduction that was wanted says enough by its signature. */
    bool says_enough =
        v == VERDICT_CLEAN || (status == EXIT_AS_EXPECTED && v == VERDICT_REPRODUCED);
    AUTO_TEXT longer = sweep_most(row->plan_read) ? sweep_reason(row, &c, trial, n, v)
                       : status                   ? unwanted_reason(row, trial, n)
                                                  : NULL;
    if (!why)
        why = says_enough ? "" : longer ? longer : reason_of(trial, n, v);
    json_object_set_new(j, "reason", json_text(why));
    json_object_set_new(j, "sweep", sweep_json(row->plan_read, trial, n));
    json_object_set_new(j, "gate", gate_json(row->gate, status));
    json_object_set_new(j, "skipped", json_false());
    json_object_set_new(j, "again", json_text(row->again));
    add_trials(rs, row, trial, n);
    json_array_append_new(json_object_get(rs->json, "verdicts"), j);
    return status;
}

void results_skip(struct results *rs, const struct verdict_row *row, const char *missing) {
    struct counts none = {.trials = 0};
    json_t *j = head_json(row);
    set_counts(j, &none, VERDICT_NOT_EXERCISED);
    json_object_set_new(j, "expected", json_text(row->expected));
    json_object_set_new(j, "rate", json_null());
    json_object_set_new(j, "as_expected", json_false());
    json_object_set_new(j, "status", json_integer(EXIT_CANNOT_TELL));
    json_object_set_new(j, "signatures", json_array());
    json_object_set_new(j, "reason", json_text(missing));
    json_object_set_new(j, "sweep", json_null());
    json_object_set_new(j, "gate", gate_json(row->gate, EXIT_CANNOT_TELL));
    json_object_set_new(j, "skipped", json_true());
    json_object_set_new(j, "again", json_text(row->again));
    json_array_append_new(json_object_get(rs->json, "verdicts"), j);
}

/* ---- the file ---- */

bool results_write(const struct results *rs, const char *file, struct complaints *c) {
    AUTO_TEXT temporary = format_text("%s.%d.tmp", file, (int)getpid());
    if (json_dump_file(rs->json, temporary, JSON_INDENT(1)) == 0 && rename(temporary, file) == 0)
        return true;
    complain(c, file, 0, 0, "the results cannot be written: %s; choose another folder with --out",
             strerror(errno));
    unlink(temporary);
    return false;
}
