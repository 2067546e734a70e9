/* What a trial left behind, gathered in one place for the verdict and for results.json. The parts
 * that read it decide or describe; none of them does I/O, except for the symbols and build-ids of
 * files.
 */
#ifndef HOLDPOINT_RECORD_H
#define HOLDPOINT_RECORD_H

#include "findings.h"
#include "logscan.h"
#include "symbols.h"

/* Sentences for people, in order. */
struct sentences {
    char **text;
    int n;
};
void say(struct sentences *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sentences_clear(struct sentences *s);

struct record {
    const struct trial *trial;
    const struct ending *ending;
    const struct board *board; /* a private copy, whole and undamaged; NULL: there is none */
    const char *board_problem; /* why there is none */
    struct logscan logs;       /* what stood in the logs; its findings have gone to `findings` */
    struct sentences unread;   /* logs that could not be read */
    struct finding_list findings;
    const struct known_list *known;
    char *component_id; /* build-id of the component's file, or NULL */
    char **file;        /* names of the files in the trial's folder, sorted */
    int n_files;
    struct symbols *symbols;
};

/* ---- record_board.c: the board as people see it ---- */

enum { SLOT_EXIT_UNKNOWN = -1 };

bool slot_is_used(const struct board_slot *s);
bool slot_checked_in(const struct board_slot *s);
/* It executed another program, which never checked in. */
bool slot_lost_its_program(const struct board_slot *s);
bool slot_is_shell(const struct board_slot *s);
/* Exit status, 128 + signal, or SLOT_EXIT_UNKNOWN. */
int slot_exit(const struct board_slot *s);
/* The signal that ended the process, or 0. */
int slot_signal(const struct board_slot *s);
/* What looks at the process's heap: "guard", or the sanitizer that is active in it, which takes the
 * place of detector `heap`; NULL: neither. */
const char *slot_heap(const struct board *b, const struct board_slot *s);
/* The process that `rank` was started as, or NULL. */
const struct board_slot *rank_slot(const struct board *b, int rank);
/* How the rank ended: of the process that it was started as. */
int rank_exit(const struct record *e, int rank);

const struct board_slot *party_slot(const struct board *b, board_party party);
int party_rank(const struct board *b, board_party party);
/* Earliest check-in, the zero of all times in results.json. */
uint64_t board_begin(const struct board *b);
/* The plan itself ended this rank: a fault `crash`, `signal` or `stop` fired there. */
bool rank_ended_by_plan(const struct board *b, int rank);
bool any_step_done_or_fault_fired(const struct board *b);
/* "call:libmpi.so.40!ompi_request_init"; the caller's to free. */
char *hook_text(const struct board *b, uint16_t hook);
/* Lower-case hexadecimal, "" when the module has none; the caller's to free. */
char *module_build_id(const struct board_module *m);
bool module_is_component(const struct record *e, const struct board_module *m);
const char *role_text(uint32_t role);

enum { DETECTORS = 6 };
extern const char *const detector_texts[DETECTORS]; /* by the bit's number */

/* The number after `prefix` at the start of a file's name ("rank.3.err", "rank.": 3), and what
 * follows it. -1: the name is not of that form. */
int rank_in_name(const char *name, const char *prefix, const char **rest);

/* ---- record_findings.c: findings of the board, of statuses, of the watchdog; names for frames
 * ---- */

/* Adds what the board, the statuses and the watchdog tell, names every frame, makes signatures,
 * folds what is one event, and marks what the plan itself did and what came before it. */
void record_findings(struct record *e);

/* ---- proof.c: rule 2 of the verdicts ---- */

struct proof {
    struct sentences errors;  /* the harness, the board or a detector did not work */
    struct sentences missing; /* what the plan wanted and did not get, the most telling first */
    bool exercised;           /* every rank checked in, every step is done, every fault fired */
    int blocked_step; /* 1 + the step at which every unfinished sequence was blocked, lock and both
                         stacks named, when nothing else is missing; 0: it is not so */
};
void proof_make(const struct record *e, struct proof *p);
void proof_clear(struct proof *p);

/* ---- verdict.c ---- */

/* Rule 1. Fills verdict, reason and exercised. */
void verdict_judge(const struct record *e, const struct proof *p, struct trial_result *r);
bool finding_is_expected(const struct record *e, const struct finding *f);

/* ---- trial_json.c ---- */

json_t *trial_json(const struct record *e, const struct proof *p, const struct trial_result *r);

#endif
