/* Rule 1 of the verdicts (semantics.md): the first of reproduced, other-finding, error,
 * not-exercised, clean that holds. Pure functions.
 */
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "record.h"

static const char *const verdict_names[] = {[VERDICT_REPRODUCED] = "reproduced",
                                            [VERDICT_OTHER_FINDING] = "other-finding",
                                            [VERDICT_ERROR] = "error",
                                            [VERDICT_NOT_EXERCISED] = "not-exercised",
                                            [VERDICT_CLEAN] = "clean"};

const char *verdict_name(enum verdict v) {
    return verdict_names[v];
}

const char *verdict_closing_step(const char *expected) {
    size_t n = strlen(CLOSED_BY_FIX);
    return expected && strncmp(expected, CLOSED_BY_FIX, n) == 0 ? expected + n : NULL;
}

/* Kinds that count when nothing is known and the plan names none: memory, locks, deadlock (a hang
 * is how one looks from outside). */
static bool is_race_kind(enum finding_kind k) {
    switch (k) {
    case FINDING_HEAP_USE_AFTER_FREE:
    case FINDING_STACK_USE_AFTER_RETURN:
    case FINDING_DOUBLE_FREE:
    case FINDING_HEAP_CORRUPTION:
    case FINDING_DATA_RACE:
    case FINDING_DEADLOCK:
    case FINDING_HANG:
    case FINDING_LOCK_MISUSE:
    case FINDING_HANDLE_MISUSE:
        return true;
    default:
        return false;
    }
}

bool finding_is_expected(const struct record *e, const struct finding *f) {
    const char *wanted = e->trial->signature;
    if (!wanted)
        return e->known && e->known->n ? f->known_id != NULL : is_race_kind(f->kind);
    return (f->known_id && strcmp(f->known_id, wanted) == 0) ||
           strcmp(finding_kind_name(f->kind), wanted) == 0 || strcmp(f->signature, wanted) == 0;
}

static char *describe(const struct finding *f) {
    AUTO_TEXT where = f->rank >= 0 ? format_text(" in rank %d", f->rank) : copy_text("");
    return format_text("%s%s%s%s%s%s", f->signature, where, f->known_id ? ", known as " : "",
                       f->known_id ? f->known_id : "",
                       f->before_plan ? ", seen before the plan's first step or fault" : "",
                       f->healed ? ", healed" : "");
}

static const struct finding *first_finding(const struct record *e, bool reproduced) {
    for (int i = 0; i < e->findings.n; i++) {
        const struct finding *f = &e->findings.finding[i];
        if (f->suspect || f->by_plan)
            continue;
        /* Rule 4: where heal acted, the bug was there. */
        if (!reproduced || f->healed || (!f->before_plan && finding_is_expected(e, f)))
            return f;
    }
    return NULL;
}

static void decide(struct trial_result *r, enum verdict v, char *reason) {
    r->verdict = v;
    r->reason = reason;
}

void verdict_judge(const struct record *e, const struct proof *p, struct trial_result *r) {
    const struct finding *reproduced = first_finding(e, true), *other = first_finding(e, false);
    /* Rule 9: without a board there is no proof of what the plan did, so that no finding decides.
     */
    bool findings_decide = e->board != NULL;
    r->exercised = p->exercised;
    if (findings_decide && reproduced)
        decide(r, VERDICT_REPRODUCED, describe(reproduced));
    else if (findings_decide && other)
        decide(r, VERDICT_OTHER_FINDING, describe(other));
    else if (p->errors.n)
        decide(r, VERDICT_ERROR, copy_text(p->errors.text[0]));
    else if (p->missing.n)
        decide(r, VERDICT_NOT_EXERCISED, copy_text(p->missing.text[0]));
    else
        decide(r, VERDICT_CLEAN,
               copy_text("everything that the plan wanted happened, and nothing was found"));
    r->blocked_step = r->verdict == VERDICT_NOT_EXERCISED ? p->blocked_step : 0;
}
