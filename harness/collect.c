/* Collecting one trial: reads its board (a private copy) and its logs, then findings, proof,
 * verdict and the entry of results.json. Runs in the runner after the trial, and in `holdpoint
 * collect` after a runner died.
 */
#include "collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocate.h"
#include "record.h"
#include "sweep.h"

/* ---- the board ---- */

/* The file is read, not the runner's mapping: a rank may have cut the file short, and then a look
 * at the mapping would end the runner by SIGBUS. */
static struct board *copy_board(const char *dir, const char **problem) {
    AUTO_TEXT path = format_text("%s/board", dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    struct board *copy = NULL;
    size_t bytes = 0;
    *problem = "the file is not there";
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        copy = allocate((size_t)st.st_size + 1, 1);
        for (ssize_t n = 1; n > 0 && bytes<(size_t)st.st_size; bytes += n> 0 ? (size_t)n : 0)
            n = pread(fd, (char *)copy + bytes, (size_t)st.st_size - bytes, (off_t)bytes);
        *problem = board_problem(copy, bytes);
    }
    if (fd >= 0)
        close(fd);
    if (!*problem)
        return copy;
    free(copy);
    return NULL;
}

/* ---- the folder ---- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_files(struct record *e) {
    DIR *dir = opendir(e->trial->dir);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        e->file = allocate_again(e->file, (size_t)e->n_files + 1, sizeof *e->file);
        e->file[e->n_files++] = copy_text(entry->d_name);
    }
    if (dir)
        closedir(dir);
    if (e->n_files)
        qsort(e->file, (size_t)e->n_files, sizeof *e->file, by_name);
}

/* True for the logs that hold reports; `rank` is whose log it is, -1 for a launcher's. */
static bool is_log(const char *name, int *rank) {
    const char *rest;
    *rank = rank_in_name(name, "rank.", &rest);
    if (*rank >= 0)
        return strcmp(rest, ".out") == 0 || strcmp(rest, ".err") == 0;
    *rank = rank_in_name(name, "sanitizer.rank", &rest);
    if (*rank >= 0)
        return *rest == '.';
    return strcmp(name, "launcher.out") == 0 || strcmp(name, "launcher.err") == 0;
}

static void scan_logs(struct record *e) {
    for (int i = 0; i < e->n_files; i++) {
        struct complaints c = {0};
        int rank;
        if (!is_log(e->file[i], &rank))
            continue;
        AUTO_TEXT path = format_text("%s/%s", e->trial->dir, e->file[i]);
        if (!logscan_file(&e->logs, path, e->file[i], rank, &c))
            say(&e->unread, "%.*s", (int)strcspn(c.text, "\n"), c.text);
        complaints_clear(&c);
    }
    e->findings = e->logs.found;
    e->logs.found = (struct finding_list){NULL, 0};
}

/* ---- all of it ---- */

static void record_clear(struct record *e) {
    logscan_clear(&e->logs);
    sentences_clear(&e->unread);
    for (int i = 0; i < e->n_files; i++)
        free(e->file[i]);
    free(e->file);
    free(e->component_id);
    symbols_close(e->symbols);
    free((void *)(uintptr_t)e->board);
}

void collect_trial(const struct trial *t, const struct ending *end, const struct known_list *known,
                   struct trial_result *r, struct complaints *c) {
    struct record e = {.trial = t, .ending = end, .known = known};
    struct proof p;
    e.board = copy_board(t->dir, &e.board_problem);
    e.symbols = symbols_open();
    e.component_id = t->component_file ? symbols_build_id(t->component_file) : NULL;
    if (t->component_file && access(t->component_file, R_OK) != 0)
        complain(c, t->component_file, 0, 0, "the component's file cannot be read: %s",
                 strerror(errno));
    list_files(&e);
    scan_logs(&e);
    record_findings(&e);
    proof_make(&e, &p);
    *r = (struct trial_result){0};
    verdict_judge(&e, &p, r);
    r->ended =
        end->started && !end->timed_out && !end->stalled && !end->interrupted && !end->guard_died;
    r->fired = e.board && sweep_fired(t->plan, e.board);
    r->json = trial_json(&e, &p, r);
    r->finding = e.findings.finding; /* the result owns them from here on */
    r->n_findings = e.findings.n;
    proof_clear(&p);
    record_clear(&e);
}

void trial_result_free(struct trial_result *r) {
    struct finding_list l = {r->finding, r->n_findings};
    findings_clear(&l);
    free(r->reason);
    json_decref(r->json);
    *r = (struct trial_result){0};
}
