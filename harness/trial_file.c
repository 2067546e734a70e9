/* A trial and its ending as files: trial.json, plan.yaml and known.yaml (copies, as they were when
 * it was run) and ending.json in the trial's folder. Runs in the runner and in `holdpoint collect`.
 * Reads bounded files and trusts nothing in them: a damaged file is a complaint.
 */
#include "trial_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"
#include "sweep.h"

static const char format_name[] = "holdpoint-trial/1";

static void release_json(json_t **value) {
    json_decref(*value);
}
#define AUTO_JSON __attribute__((cleanup(release_json))) json_t *

/* ---- writing ---- */

/* Appears whole or not at all. */
static bool write_json(const char *dir, const char *name, const json_t *value,
                       struct complaints *c) {
    AUTO_TEXT path = format_text("%s/%s", dir, name);
    AUTO_TEXT temporary = format_text("%s.new", path);
    if (value && json_dump_file(value, temporary, JSON_INDENT(1) | JSON_SORT_KEYS) == 0 &&
        rename(temporary, path) == 0)
        return true;
    complain(c, path, 0, 0, "cannot be written: %s", strerror(errno));
    unlink(temporary);
    return false;
}

static bool copy_file(const char *source, const char *dir, const char *name, struct complaints *c) {
    AUTO_TEXT path = format_text("%s/%s", dir, name);
    FILE *from = fopen(source, "re"), *to = fopen(path, "we");
    char bytes[16384];
    size_t n;
    bool good = from && to;
    while (good && (n = fread(bytes, 1, sizeof bytes, from)) > 0)
        good = fwrite(bytes, 1, n, to) == n;
    good = good && !ferror(from);
    if (from)
        fclose(from);
    if (to)
        good = fclose(to) == 0 && good;
    if (!good)
        complain(c, path, 0, 0, "%s cannot be copied there: %s", source, strerror(errno));
    return good;
}

static bool copy_known(const struct trial *t, struct complaints *c) {
    bool there = t->known_file && access(t->known_file, F_OK) == 0;
    return !there || copy_file(t->known_file, t->dir, "known.yaml", c);
}

static json_t *outcome_json(const struct outcome *o) {
    json_t *attributes = json_object();
    for (int i = 0; i < o->n_attrs; i++)
        json_object_set_new(attributes, o->attr[i].key, json_string(o->attr[i].value));
    return json_pack("{s:i,s:i,s:b,s:o}", "rank", o->rank, "exit_status", o->exit_status, "cut_off",
                     o->cut_off, "attributes", attributes);
}

bool trial_save(const struct trial *t, struct complaints *c) {
    json_t *argv = json_array(), *outcomes = json_array();
    for (char **a = t->argv; *a; a++)
        json_array_append_new(argv, json_string(*a));
    for (int i = 0; i < t->n_outcomes; i++)
        json_array_append_new(outcomes, outcome_json(&t->outcome[i]));
    AUTO_JSON value =
        json_pack("{s:s,s:s,s:s,s:o,s:i,s:i,s:b,s:f,s:I,s:I,s:b,s:s?,s:s?,s:s?,s:o,s:s,s:i}",
                  "format", format_name, "id", t->id, "name", t->name, "argv", argv, "ranks",
                  t->ranks, "launcher", (int)t->launcher, "keep_output_live", t->keep_output_live,
                  "time_scale", t->time_scale, "limit_ns", (json_int_t)t->limit_ns, "stall_ns",
                  (json_int_t)t->stall_ns, "needs_mark", t->needs_mark, "signature", t->signature,
                  "sanitizer", t->sanitizer, "component_file", t->component_file, "outcomes",
                  outcomes, "plan_file", t->plan->file, "sweep_element", t->plan->sweep.element);
    if (!value) {
        complain(c, t->dir, 0, 0,
                 "the trial cannot be saved: its id, name or a word of its command is "
                 "not UTF-8; rename it");
        return false;
    }
    return write_json(t->dir, "trial.json", value, c) &&
           copy_file(t->plan->file, t->dir, "plan.yaml", c) && copy_known(t, c);
}

bool trial_save_ending(const struct trial *t, const struct ending *e, struct complaints *c) {
    AUTO_JSON value =
        json_pack("{s:b,s:i,s:b,s:b,s:b,s:b,s:I,s:s}", "started", e->started, "launcher_status",
                  e->launcher_status, "timed_out", e->timed_out, "stalled", e->stalled,
                  "interrupted", e->interrupted, "guard_died", e->guard_died, "wall_ns",
                  (json_int_t)e->wall_ns, "problem", e->problem);
    return write_json(t->dir, "ending.json", value, c);
}

/* ---- reading ---- */

static json_t *read_json(const char *path, struct complaints *c) {
    json_error_t error;
    json_t *value = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!value)
        complain(c, path, error.line > 0 ? error.line : 0, error.column > 0 ? error.column : 0,
                 "%s: this is no file of a trial, or it was cut off", error.text);
    return value;
}

static bool read_attributes(json_t *from, struct outcome *o) {
    const char *key;
    json_t *value;
    json_object_foreach(from, key, value) {
        if (o->n_attrs == (int)(sizeof o->attr / sizeof *o->attr) || !json_is_string(value))
            return false;
        o->attr[o->n_attrs++] =
            (struct outcome_attr){copy_text(key), copy_text(json_string_value(value))};
    }
    return json_is_object(from);
}

static bool read_outcomes(json_t *from, struct trial *t) {
    size_t i;
    json_t *entry, *attributes;
    if (json_array_size(from) > sizeof t->outcome / sizeof *t->outcome)
        return false;
    json_array_foreach(from, i, entry) {
        struct outcome *o = &t->outcome[t->n_outcomes++];
        int cut_off;
        if (json_unpack(entry, "{s:i,s:i,s:b,s:o}", "rank", &o->rank, "exit_status",
                        &o->exit_status, "cut_off", &cut_off, "attributes", &attributes) != 0 ||
            !read_attributes(attributes, o))
            return false;
        o->cut_off = cut_off != 0;
    }
    return json_is_array(from);
}

static bool read_argv(json_t *from, struct trial *t) {
    size_t i;
    json_t *word;
    t->argv = allocate(json_array_size(from) + 1, sizeof *t->argv);
    json_array_foreach(from, i, word) {
        if (!json_is_string(word))
            return false;
        t->argv[i] = copy_text(json_string_value(word));
    }
    return json_array_size(from) > 0;
}

static char *text_or_null(const json_t *value) {
    return json_is_string(value) ? copy_text(json_string_value(value)) : NULL;
}

/* *element: which of a sweep's runs it is, or 0. */
static bool read_trial(json_t *from, struct trial *t, int *element) {
    const char *format, *id, *name;
    int launcher, live, needs_mark;
    json_int_t limit, stall;
    json_t *argv, *outcomes, *signature, *sanitizer, *component;
    if (json_unpack(from, "{s:s,s:s,s:s,s:o,s:i,s:i,s:b,s:F,s:I,s:I,s:b,s:o,s:o,s:o,s:o,s:i}",
                    "format", &format, "id", &id, "name", &name, "argv", &argv, "ranks", &t->ranks,
                    "launcher", &launcher, "keep_output_live", &live, "time_scale", &t->time_scale,
                    "limit_ns", &limit, "stall_ns", &stall, "needs_mark", &needs_mark, "signature",
                    &signature, "sanitizer", &sanitizer, "component_file", &component, "outcomes",
                    &outcomes, "sweep_element", element) != 0 ||
        strcmp(format, format_name) != 0 || t->ranks < 1 || t->ranks > BOARD_MAX_RANKS ||
        launcher < LAUNCHER_LOCAL || launcher > LAUNCHER_USER || limit < 0 || stall < 0)
        return false;
    t->id = copy_text(id);
    t->name = copy_text(name);
    t->launcher = (enum launcher)launcher;
    t->keep_output_live = live;
    t->needs_mark = needs_mark;
    t->limit_ns = (uint64_t)limit;
    t->stall_ns = (uint64_t)stall;
    t->signature = text_or_null(signature);
    t->sanitizer = text_or_null(sanitizer);
    t->component_file = text_or_null(component);
    return read_argv(argv, t) && read_outcomes(outcomes, t);
}

/* The plan as it was run: of a sweep, the element. */
static struct plan *read_plan(const char *file, int element, struct complaints *c) {
    struct plan *p = plan_read(file, c);
    if (!p || !element || sweep_to_element(p, element))
        return p;
    complain(c, file, 0, 0,
             "this plan has no element %d of a sweep, and trial.json says that it was run: the "
             "folder is damaged or mixed up",
             element);
    plan_free(p);
    return NULL;
}

struct trial *trial_load(const char *dir, struct complaints *c) {
    AUTO_TEXT file = format_text("%s/trial.json", dir);
    AUTO_TEXT plan = format_text("%s/plan.yaml", dir);
    AUTO_TEXT board = format_text("%s/board", dir);
    AUTO_JSON value = read_json(file, c);
    struct trial *t = allocate(1, sizeof *t);
    t->dir = copy_text(dir);
    t->known_file = format_text("%s/known.yaml", dir);
    int element = 0;
    if (value && !read_trial(value, t, &element))
        complain(
            c, file, 0, 0,
            "a key is missing or has another type than this version of holdpoint writes: damaged, "
            "or of another version");
    else if (value && (t->plan = read_plan(plan, element, c)) &&
             (t->board = board_open(board, c)) && t->board->n_ranks == (uint32_t)t->ranks &&
             t->board->plan_hash == t->plan->hash)
        return t;
    else if (t->board)
        complain(c, board, 0, 0,
                 "belongs to another plan or number of ranks than %s says: the folder "
                 "is damaged or mixed up",
                 file);
    trial_free(t);
    return NULL;
}

bool trial_load_ending(const char *dir, struct ending *e, struct complaints *c) {
    AUTO_TEXT path = format_text("%s/ending.json", dir);
    *e = (struct ending){.started = true, .launcher_status = -1};
    if (access(path, F_OK) != 0)
        return false;
    AUTO_JSON value = read_json(path, c);
    int started, timed_out, stalled, interrupted, guard_died;
    json_int_t wall;
    const char *problem;
    if (!value)
        return false;
    if (json_unpack(value, "{s:b,s:i,s:b,s:b,s:b,s:b,s:I,s:s}", "started", &started,
                    "launcher_status", &e->launcher_status, "timed_out", &timed_out, "stalled",
                    &stalled, "interrupted", &interrupted, "guard_died", &guard_died, "wall_ns",
                    &wall, "problem", &problem) != 0) {
        complain(c, path, 0, 0, "a key is missing or has another type: damaged");
        return false;
    }
    e->started = started;
    e->timed_out = timed_out;
    e->stalled = stalled;
    e->interrupted = interrupted;
    e->guard_died = guard_died;
    e->wall_ns = (uint64_t)wall;
    snprintf(e->problem, sizeof e->problem, "%s", problem);
    return true;
}

void trial_free(struct trial *t) {
    if (!t)
        return;
    for (int i = 0; i < t->n_outcomes; i++) {
        for (int a = 0; a < t->outcome[i].n_attrs; a++) {
            free(t->outcome[i].attr[a].key);
            free(t->outcome[i].attr[a].value);
        }
    }
    for (char **a = t->argv; a && *a; a++)
        free(*a);
    free(t->argv);
    free(t->dir);
    free(t->id);
    free(t->name);
    free(t->signature);
    free(t->known_file);
    free(t->sanitizer);
    free(t->component_file);
    plan_free(t->plan);
    board_close(t->board);
    free(t);
}
