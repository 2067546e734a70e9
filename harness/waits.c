/* Who waits for whom; see waits.h. Runs in the runner's one thread.
 */
#include "waits.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "allocate.h"
#include "board/steps.h"
#include "tree.h"

void waits_begin(struct waits *w, const struct board *b) {
    *w = (struct waits){b, b->n_threads ? allocate(b->n_threads, sizeof *w->look) : NULL};
}

void waits_free(struct waits *w) {
    free(w->look);
    w->look = NULL;
}

void waits_look(struct waits *w, uint64_t now) {
    for (uint32_t i = 0; w->look && i < w->b->n_threads; i++) {
        const struct board_thread *t = &board_threads(w->b)[i];
        board_party party = atomic_load(&t->party);
        uint64_t number = atomic_load(&t->wait.number);
        if (!party || !atomic_load(&t->wait.address))
            w->look[i] = (struct waits_look){0};
        else if (w->look[i].party != party || w->look[i].number != number)
            w->look[i] = (struct waits_look){party, number, now};
    }
}

static const struct board_thread *thread_of(const struct board *b, board_party party) {
    for (uint32_t i = 0; i < b->n_threads; i++)
        if (atomic_load(&board_threads(b)[i].party) == party)
            return &board_threads(b)[i];
    return NULL;
}

const struct board_thread *waits_thread(const struct waits *w, board_party party) {
    return thread_of(w->b, party);
}

/* ---- one wait ---- */

static pid_t process_of(const struct board *b, board_party party) {
    uint16_t slot = board_party_slot(party);
    return slot < b->n_slots ? (pid_t)atomic_load(&board_slots(b)[slot].pid) : 0;
}

/* A thread that was told to wake from a condition variable, and now sleeps for the mutex: the
 * kernel says on what it sleeps. A mutex's first word is what it sleeps on. */
static bool sleeps_on(const struct board *b, board_party party, uint64_t address) {
    char path[64];
    unsigned long call, word = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%u/syscall", process_of(b, party),
             board_party_tid(party));
    FILE *f = fopen(path, "re");
    bool read = f && fscanf(f, "%lu %lx", &call, &word) == 2;
    if (f)
        fclose(f);
    return read && word == address;
}

static bool is_asleep(const struct board *b, board_party party) {
    struct tree_process thread;
    return tree_read(process_of(b, party), (pid_t)board_party_tid(party), &thread) &&
           thread.state == 'S';
}

bool waits_last(const struct waits *w, const struct board_thread *t, uint64_t ns) {
    const struct waits_look *l = &w->look[t - board_threads(w->b)];
    board_party party = atomic_load(&t->party);
    return party && l->party == party && l->number == atomic_load(&t->wait.number) &&
           steps_now() - l->ns >= ns && atomic_load(&t->wait.address);
}

bool waits_for(const struct waits *w, const struct board_thread *t, uint64_t ns,
               struct wait *wait) {
    board_party party = atomic_load(&t->party);
    *wait = (struct wait){atomic_load(&t->wait.address), t->wait.kind};
    uint64_t mutex = t->wait.mutex;
    bool timed = t->wait.timed;
    if (!waits_last(w, t, ns))
        return false;
    if (wait->kind == LOCK_SPIN)
        return true;
    if (wait->kind == LOCK_CONDITION && sleeps_on(w->b, party, mutex)) {
        *wait = (struct wait){mutex, LOCK_MUTEX};
        return true;
    }
    return !timed && is_asleep(w->b, party);
}

/* ---- in whose way ---- */

static const struct board_held *held_by(const struct board_thread *t, uint64_t address) {
    for (int i = 0; i < BOARD_HELD_LOCKS; i++)
        if (atomic_load(&t->held[i].address) == address)
            return &t->held[i];
    return NULL;
}

const struct board_held *waits_held(const struct board *b, board_party owner, uint64_t address) {
    const struct board_thread *t = thread_of(b, owner);
    return t ? held_by(t, address) : NULL;
}

bool waits_in_the_way(const struct board_thread *t, const struct wait *wait, board_party waiter) {
    board_party party = atomic_load(&t->party);
    if (!party || party == waiter || board_party_slot(party) != board_party_slot(waiter) ||
        wait->kind == LOCK_CONDITION)
        return false;
    return wait->kind == LOCK_JOIN ? t->self == wait->address : held_by(t, wait->address) != NULL;
}

/* ---- a process ---- */

bool waits_every_thread(const struct waits *w, uint16_t slot, waits_about *is_so, void *data) {
    const struct board_slot *s = &board_slots(w->b)[slot];
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/task", atomic_load(&s->pid));
    DIR *d = opendir(path);
    bool all = d != NULL;
    for (struct dirent *e; all && (e = readdir(d)) != NULL;) {
        uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);
        board_party party = board_party_make(slot, (uint16_t)atomic_load(&s->incarnation), tid);
        all = !tid || is_so(party, data);
    }
    if (d)
        closedir(d);
    return all;
}
