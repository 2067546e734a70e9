/* The board as people see it; see record.h. Pure functions. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "record.h"
#include "hook_names.h"

const char *const detector_texts[DETECTORS] = {"asan",  "tsan",     "frames",
                                               "locks", "deadlock", "heap"};

void say(struct sentences *s, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = format_arguments(format, arguments);
    va_end(arguments);
    s->text = allocate_again(s->text, (size_t)s->n + 1, sizeof *s->text);
    s->text[s->n++] = text;
}

void sentences_clear(struct sentences *s) {
    for (int i = 0; i < s->n; i++)
        free(s->text[i]);
    free(s->text);
    *s = (struct sentences){NULL, 0};
}

/* ---- processes ---- */

bool slot_is_used(const struct board_slot *s) {
    return atomic_load(&s->state) != SLOT_FREE;
}

bool slot_checked_in(const struct board_slot *s) {
    return slot_is_used(s) && atomic_load(&s->checked_in_ns) != 0;
}

bool slot_lost_its_program(const struct board_slot *s) {
    return slot_checked_in(s) && atomic_load(&s->execs) >= atomic_load(&s->incarnation);
}

bool slot_is_shell(const struct board_slot *s) {
    static const char *const shells[] = {"sh",  "bash", "dash", "zsh",    "ksh",
                                         "csh", "tcsh", "fish", "busybox"};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(basename(s->program), shells[i]) == 0)
            return true;
    return false;
}

int slot_exit(const struct board_slot *s) {
    uint32_t state = atomic_load(&s->state);
    int code = atomic_load(&s->exit_code);
    return (state == SLOT_EXITED || state == SLOT_GONE) && code >= 0 ? code : SLOT_EXIT_UNKNOWN;
}

int slot_signal(const struct board_slot *s) {
    int code = slot_exit(s);
    return atomic_load(&s->state) == SLOT_GONE && code > 128 && code <= 128 + 64 ? code - 128 : 0;
}

const char *slot_heap(const struct board *b, const struct board_slot *s) {
    unsigned live = atomic_load(&s->live_detectors);
    if (!(b->detectors & DETECT_HEAP))
        return NULL;
    return live & DETECT_ASAN   ? "asan"
           : live & DETECT_TSAN ? "tsan"
           : live & DETECT_HEAP ? "guard"
                                : NULL;
}

const struct board_slot *rank_slot(const struct board *b, int rank) {
    const struct board_slot *all = board_slots(b);
    for (uint32_t i = 0; i < b->n_slots; i++)
        if (slot_is_used(&all[i]) && all[i].rank == rank && !all[i].is_follower)
            return &all[i];
    return NULL;
}

int rank_exit(const struct record *e, int rank) {
    const struct board_slot *s = e->board ? rank_slot(e->board, rank) : NULL;
    return s ? slot_exit(s) : SLOT_EXIT_UNKNOWN;
}

const struct board_slot *party_slot(const struct board *b, board_party party) {
    uint16_t i = board_party_slot(party);
    return party && i < b->n_slots ? &board_slots(b)[i] : NULL;
}

int party_rank(const struct board *b, board_party party) {
    const struct board_slot *s = party_slot(b, party);
    return s ? s->rank : -1;
}

uint64_t board_begin(const struct board *b) {
    uint64_t begin = 0;
    for (uint32_t i = 0; i < b->n_slots; i++) {
        uint64_t ns = atomic_load(&board_slots(b)[i].checked_in_ns);
        if (ns && (!begin || ns < begin))
            begin = ns;
    }
    return begin;
}

/* ---- the plan ---- */

/* By the very signal that the plan raised there; where nobody knows what ended it (a launcher of
 * its own, a sanitizer that turns the signal into an exit), by that too. A rank that handled the
 * signal, and one that was stopped and then killed, show by their own end. */
static bool slot_ended_by_plan(const struct board_slot *s) {
    uint64_t signals = atomic_load(&s->plan_signals);
    int number = slot_signal(s);
    if (!signals || atomic_load(&s->state) == SLOT_EXITED)
        return false;
    return !number || (signals >> number & 1) || (signals >> SIGSTOP & 1);
}

bool rank_ended_by_plan(const struct board *b, int rank) {
    for (uint32_t i = 0; i < b->n_slots; i++)
        if (board_slots(b)[i].rank == rank && slot_ended_by_plan(&board_slots(b)[i]))
            return true;
    return false;
}

bool any_step_done_or_fault_fired(const struct board *b) {
    if (atomic_load(&b->faults_fired))
        return true;
    for (uint32_t i = 0; i < b->n_faults; i++)
        if (atomic_load(&b->fault_count[i].fired))
            return true;
    for (uint32_t i = 0; i < b->n_seqs; i++)
        if (board_seq_next(atomic_load(&board_seqs(b)[i].state)))
            return true;
    return false;
}

char *hook_text(const struct board *b, uint16_t hook) {
    const struct board_hook *h = &b->hook[hook < b->n_hooks ? hook : 0];
    const char *from = board_string(b, h->from);
    if (h->id >= HOOK_COUNT)
        return copy_text("unknown hook");
    const char *name = hook_names[h->id].name;
    if (!h->function)
        return copy_text(name);
    AUTO_TEXT call = format_text("%s!%s%s%s", board_string(b, h->module),
                                 board_string(b, h->function), *from ? " from " : "", from);
    return h->id == HOOK_CALL ? format_text("call:%s", call)
                              : format_text("%s (call:%s)", name, call);
}

const char *role_text(uint32_t role) {
    static const char *const roles[] = {[STACK_USE] = "use",
                                        [STACK_FREE] = "free",
                                        [STACK_ALLOC] = "alloc",
                                        [STACK_INITIATOR] = "initiator",
                                        [STACK_DEAD_FRAME] = "dead-frame",
                                        [STACK_CALLBACK] = "callback",
                                        [STACK_ACQUISITION] = "acquisition",
                                        [STACK_DESTROY] = "destroy",
                                        [STACK_PREVIOUS] = "previous"};
    return role < sizeof roles / sizeof *roles ? roles[role] : "stack";
}

/* ---- files ---- */

int rank_in_name(const char *name, const char *prefix, const char **rest) {
    size_t n = strlen(prefix);
    char *end;
    if (strncmp(name, prefix, n) != 0 || name[n] < '0' || name[n] > '9')
        return -1;
    long rank = strtol(name + n, &end, 10);
    *rest = end;
    return rank < BOARD_MAX_RANKS ? (int)rank : -1;
}

/* ---- modules ---- */

char *module_build_id(const struct board_module *m) {
    char *text = allocate(sizeof m->build_id * 2 + 1, 1);
    for (uint32_t i = 0; i < m->build_id_bytes && i < sizeof m->build_id; i++)
        sprintf(text + (size_t)i * 2, "%02x", m->build_id[i]);
    return text;
}

bool module_is_component(const struct record *e, const struct board_module *m) {
    if (!e->trial->component_file)
        return false;
    if (e->component_id && m->build_id_bytes) {
        AUTO_TEXT id = module_build_id(m);
        return strcmp(id, e->component_id) == 0;
    }
    char *real = realpath(e->trial->component_file, NULL);
    bool same = strcmp(m->path, real ? real : e->trial->component_file) == 0;
    free(real);
    return same;
}
