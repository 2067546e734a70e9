/* DIR/evidence.txt. Runs in the runner, before it stops the tree. */
#include "evidence.h"

#include <stdio.h>

#include "allocate.h"
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

void evidence_write(const char *dir, const char *why, const struct board *b, const struct tree *t) {
    AUTO_TEXT path = format_text("%s/evidence.txt", dir);
    FILE *f = fopen(path, "we");
    if (!f)
        return; /* the trial's folder is gone or full; its verdict says so by itself */
    fprintf(f, "%s\n", why);
    write_sequences(f, b);
    stacks_write(f, t, steps_now() + EVIDENCE_LIMIT_NS, rank_label, &(struct labels){.b = b});
    fclose(f);
}
