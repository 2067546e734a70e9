/* DIR/evidence.txt. Runs in the runner, before it stops the tree. */
#include "evidence.h"

#include <stdio.h>
#include <stdlib.h>

#include "allocate.h"
#include "waits.h"
#include "board/steps.h"
#include "stacks.h"

#define EVIDENCE_LIMIT_NS 10000000000ull

struct labels {
    const struct board *b;
    char text[64];
};

static const char *rank_label(pid_t pid, void *data) {
    struct labels *l = data;
    const struct board_slot *slots = board_slots(l->b);
    for (uint32_t i = 0; i < l->b->n_slots; i++) {
        if (atomic_load(&slots[i].state) == SLOT_FREE || (pid_t)atomic_load(&slots[i].pid) != pid)
            continue;
        snprintf(l->text, sizeof l->text, "rank %d, slot %u%s", slots[i].rank, i,
                 slots[i].is_follower ? ", a follower" : "");
        return l->text;
    }
    return NULL;
}

static void write_sequences(FILE *f, const struct board *b) {
    for (uint32_t i = 0; i < b->n_seqs; i++) {
        const struct board_seq *s = &board_seqs(b)[i];
        uint64_t state = atomic_load(&s->state);
        uint32_t next = board_seq_next(state);
        if (s->rank >= 0)
            fprintf(f, "steps of rank %d: ", s->rank);
        else
            fprintf(f, "steps: ");
        fprintf(f, "%u of %u done", next, b->n_steps);
        if (next < b->n_steps)
            fprintf(f, ", next is `%s` (line %u)", board_string(b, b->step[next].text),
                    b->step[next].line);
        if (board_seq_end(state) != SEQ_RUNNING)
            fprintf(f, "; ended: %.*s", (int)sizeof s->detail, s->detail);
        fputc('\n', f);
    }
}

/* The caller's to free; NULL: there is no such file. */
static char *read_all(const char *path) {
    char *text = NULL;
    size_t room = 0;
    FILE *f = fopen(path, "re");
    if (f && getdelim(&text, &room, '\0', f) < 0) {
        free(text);
        text = NULL;
    }
    if (f)
        fclose(f);
    return text;
}

void evidence_write(const char *dir, const char *why, const struct board *b, const struct tree *t) {
    AUTO_TEXT path = format_text("%s/evidence.txt", dir);
    AUTO_TEXT earlier = read_all(path);
    FILE *f = fopen(path, "we");
    if (!f)
        return; /* the trial's folder is gone or full; its verdict says so by itself */
    fprintf(f, "%s\n", why);
    write_sequences(f, b);
    stacks_write(f, t, steps_now() + EVIDENCE_LIMIT_NS, rank_label, &(struct labels){.b = b});
    if (earlier)
        fprintf(f, "\nbefore: %s", earlier);
    fclose(f);
}

/* ---- a sequence that is blocked ---- */

static pid_t process_of(const struct board *b, board_party party) {
    return (pid_t)atomic_load(&board_slots(b)[board_party_slot(party)].pid);
}

/* Both are threads of one process: a lock is known by its address. */
static void take_stacks(const struct board *b, struct board_blocked *f) {
    struct stacks *s = stacks_open(process_of(b, f->waiter), b);
    const struct board_held *held = waits_held(b, f->owner, f->address);
    if (!s)
        return;
    f->n_waiter =
        (uint16_t)stacks_walk(s, (pid_t)board_party_tid(f->waiter), f->waiter_at, BOARD_MAX_FRAMES);
    f->n_owner =
        (uint16_t)stacks_walk(s, (pid_t)board_party_tid(f->owner), f->owner_at, BOARD_MAX_FRAMES);
    for (int i = 0; held && i < BOARD_LOCK_FRAMES && held->pc[i]; i++)
        f->acquired[f->n_acquired++] = stacks_frame(s, held->pc[i]);
    stacks_close(s);
}

void evidence_blocked(const struct board *b, struct board_blocked *found, const char *sentence) {
    struct tree_process p;
    struct tree t = {&p, tree_read(process_of(b, found->waiter), 0, &p)};
    take_stacks(b, found);
    evidence_write(board_string(b, b->trial_dir), sentence, b, &t);
}
