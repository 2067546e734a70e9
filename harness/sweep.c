/* The elements of a sweep and what is told of them; see sweep.h. Pure functions: they start nothing
 * and read no file. Runs in the runner. */
#include "sweep.h"

#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "json_text.h"

/* ---- one element ---- */

int sweep_most(const struct plan *p) {
    if (!p || p->sweep.kind == SWEEP_NONE || p->sweep.element)
        return 0;
    return p->sweep.kind == SWEEP_OVER ? p->sweep.n_functions : SWEEP_MOST_RUNS;
}

static unsigned swept_byte(const struct plan *p, int element) {
    return 1 + (unsigned)(element - 1) * p->sweep.stride;
}

char *sweep_element_name(const struct plan *p, int element) {
    switch (p->sweep.kind) {
    case SWEEP_OVER:
        return copy_text(p->sweep.function[element - 1]);
    case SWEEP_BYTE:
        return format_text("byte %u", swept_byte(p, element));
    default:
        return format_text("nth %d", element);
    }
}

/* FNV-1a 64, going on from the hash of the file. */
static uint64_t hash_on(uint64_t hash, const char *text) {
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

bool sweep_to_element(struct plan *p, int element) {
    if (element < 1 || element > sweep_most(p))
        return false;
    AUTO_TEXT name = sweep_element_name(p, element);
    p->hash = hash_on(p->hash, name);
    p->sweep.element = element;
    if (p->sweep.kind == SWEEP_OVER) {
        struct plan_point *point = &p->point[p->sweep.point];
        free(point->function);
        point->function = copy_text(name);
        return true;
    }
    struct plan_fault *fault = &p->fault[p->sweep.fault];
    if (p->sweep.kind == SWEEP_NTH)
        fault->nth = (unsigned)element;
    else
        fault->bytes = swept_byte(p, element);
    free(fault->text);
    fault->text = plan_fault_text(p, fault);
    return true;
}

static bool is_swept(const struct plan *p, int fault) {
    if (p->sweep.kind == SWEEP_OVER)
        return p->fault[fault].point == p->sweep.point;
    return p->sweep.kind != SWEEP_NONE && fault == p->sweep.fault;
}

/* Whether it fired before the steps that it stands beside had ended without being done. */
static bool fired_in_time(const struct board *b, const struct board_fault_count *count) {
    if (!atomic_load(&count->fired))
        return false;
    for (uint32_t i = 0; i < b->n_seqs; i++) {
        const struct board_seq *q = &board_seqs(b)[i];
        bool ended = board_seq_end(atomic_load(&q->state)) != SEQ_RUNNING;
        if (ended && (q->rank < 0 || q->rank == count->rank) &&
            atomic_load(&q->ended_ns) <= atomic_load(&count->ns))
            return false;
    }
    return true;
}

bool sweep_fired(const struct plan *p, const struct board *b) {
    for (int i = 0; i < p->n_faults && i < (int)b->n_faults; i++)
        if (is_swept(p, i) && fired_in_time(b, &b->fault_count[i]))
            return true;
    return false;
}

/* ---- all of them ---- */

/* Runs in a row that neither let the fault fire nor ended normally: more would only repeat them. */
enum { MOST_STUCK = 3 };

bool sweep_counts(const struct trial_result *trial) {
    return trial->fired || trial->verdict == VERDICT_ERROR;
}

static bool ended_normally_without_it(const struct trial_result *trial) {
    return !trial->fired && trial->ended &&
           (trial->verdict == VERDICT_NOT_EXERCISED || trial->verdict == VERDICT_CLEAN);
}

enum sweep_end sweep_end(const struct plan *p, const struct trial_result *trial, int n) {
    int stuck = 0;
    if (p->sweep.kind == SWEEP_OVER)
        return n < sweep_most(p) ? SWEEP_GOES_ON : SWEEP_COMPLETE;
    if (n && ended_normally_without_it(&trial[n - 1]))
        return SWEEP_COMPLETE;
    while (stuck < n && !trial[n - 1 - stuck].fired)
        stuck++;
    if (stuck >= MOST_STUCK)
        return SWEEP_STUCK;
    return n < sweep_most(p) ? SWEEP_GOES_ON : SWEEP_TOO_LONG;
}

char *sweep_note(const struct plan *p, const struct trial_result *trial, int n) {
    switch (sweep_end(p, trial, n)) {
    case SWEEP_GOES_ON:
        return format_text("the sweep was broken off after %d runs", n);
    case SWEEP_TOO_LONG:
        return format_text(
            "the sweep was ended after %d runs, in the last of which the fault still "
            "fired: choose a point with fewer arrivals, or filter them",
            n);
    case SWEEP_STUCK:
        return format_text("the sweep was ended after %d runs: in the last %d the fault did not "
                           "fire, and none of them ended normally",
                           n, MOST_STUCK);
    default:
        return copy_text("");
    }
}

static json_t *element_json(const struct plan *p, const struct trial_result *trial, int element) {
    AUTO_TEXT name = sweep_element_name(p, element);
    json_t *j = json_object(), *id = json_object_get(trial->json, "id");
    json_object_set_new(j, "name", json_text(name));
    json_object_set_new(j, "fired", json_boolean(trial->fired));
    json_object_set_new(j, "verdict", json_string(verdict_name(trial->verdict)));
    json_object_set_new(j, "reason", json_text(trial->reason));
    json_object_set(j, "trial", id ? id : json_null());
    return j;
}

static const char *const kind_name[] = {
    [SWEEP_OVER] = "over", [SWEEP_NTH] = "nth", [SWEEP_BYTE] = "byte"};

json_t *sweep_json(const struct plan *p, const struct trial_result *trial, int n) {
    if (!sweep_most(p))
        return json_null();
    AUTO_TEXT note = sweep_note(p, trial, n);
    json_t *list = json_array(), *j = json_object();
    int fired = 0;
    for (int i = 0; i < n; i++) {
        fired += trial[i].fired;
        json_array_append_new(list, element_json(p, &trial[i], i + 1));
    }
    json_object_set_new(j, "kind", json_string(kind_name[p->sweep.kind]));
    json_object_set_new(j, "fired", json_integer(fired));
    json_object_set_new(j, "note", json_text(note));
    json_object_set_new(j, "elements", list);
    return j;
}
