/* The scan of logs; see logscan.h. Each handler gets the place of a candidate and reads lines from
 * there. Runs in the collector, on one thread.
 */
#include "logscan.h"

#include <errno.h>
#include <fcntl.h>
#include <hs/hs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocate.h"
#include "log_report.h"
#include "log_text.h"

enum { MOST_CANDIDATES = 1000000, MOST_FINDINGS = 1000, CHUNK = 64 << 20 };

/* ---- handlers of single lines ---- */

static void add_note(const struct log_bytes *b, enum log_note_kind kind,
                     const struct log_line *line, bool whole) {
    struct logscan *s = b->scan;
    s->note = allocate_again(s->note, (size_t)s->n_notes + 1, sizeof *s->note);
    s->note[s->n_notes++] = (struct log_note){.kind = kind,
                                              .rank = b->rank < 0 ? line->tag_rank : b->rank,
                                              .text = copy_text(line->text),
                                              .file = copy_text(b->name),
                                              .whole = whole};
}

static void on_done(const struct log_bytes *b, size_t at, const struct log_line *line) {
    (void)at;
    if (strncmp(line->text, "holdpoint-workload: done", 24) == 0)
        add_note(b, NOTE_DONE, line, true);
}

/* The mark counts the bytes before it, so that a log cut in the middle and one that a program wrote
 * a mark into are both seen. A newline may stand between the last byte and the mark. */
static void on_end(const struct log_bytes *b, size_t at, const struct log_line *line) {
    static const char prefix[] = "--- holdpoint: end of log, rank ";
    size_t start = log_line_start(b->bytes, at);
    if (strncmp(line->text, prefix, sizeof prefix - 1) != 0)
        return;
    char *end;
    strtol(line->text + sizeof prefix - 1, &end, 10);
    if (strncmp(end, ", ", 2) != 0)
        return;
    unsigned long long bytes = strtoull(end + 2, &end, 10);
    if (strcmp(end, " bytes ---") == 0)
        add_note(b, NOTE_END, line, bytes == start || bytes + 1 == start);
}

static void on_sanitizer_refused(const struct log_bytes *b, size_t at,
                                 const struct log_line *line) {
    (void)at;
    add_note(b, NOTE_SANITIZER_REFUSED, line, true);
}

static void on_preload_refused(const struct log_bytes *b, size_t at, const struct log_line *line) {
    (void)at;
    add_note(b, NOTE_PRELOAD_REFUSED, line, true);
}

/* ---- the table ---- */

typedef void handler(const struct log_bytes *b, size_t at, const struct log_line *line);

static const struct {
    const char *regex;
    handler *handle;
} patterns[] = {
    {"ERROR: (Address|Thread|Leak|HWAddress|Memory)Sanitizer: ", log_on_sanitizer_error},
    {"WARNING: ThreadSanitizer: ", log_on_thread_sanitizer},
    {"(Address|Thread)Sanitizer: CHECK failed: ", log_on_check_failed},
    {":\\d+: runtime error: ", log_on_undefined},
    /* glibc, joined by what they begin with; the handler has the exact texts */
    {"double free or corruption \\(", log_on_glibc},
    {"(free|malloc|realloc|munmap_chunk|mremap_chunk|malloc_consolidate|tcache_thread_shutdown)\\("
     "\\): ",
     log_on_glibc},
    {"corrupted (size vs\\. prev_size|double-linked list)", log_on_glibc},
    {"\\*\\*\\* (stack smashing|buffer overflow) detected \\*\\*\\*", log_on_glibc},
    {"Assertion `", log_on_assertion},
    {"assertion \"", log_on_assertion},
    {"Fatal glibc error: ", log_on_assertion},
    {"terminate called (after throwing|without an active|recursively)", log_on_terminate},
    {"libc\\+\\+abi: terminating ", log_on_terminate},
    {"pure virtual method called", log_on_terminate},
    {"\\*\\*\\* Process received signal \\*\\*\\*", log_on_signal_block},
    {"Caught signal \\d+ \\(", log_on_signal_block},
    {"noticed that process rank ", log_on_launcher_notice},
    {"holdpoint-workload: done", on_done},
    {"--- holdpoint: end of log, rank ", on_end},
    {"runtime does not come first in initial library list", on_sanitizer_refused},
    {"FATAL: (Thread|Address)Sanitizer: ", on_sanitizer_refused},
    {"from LD_PRELOAD cannot be preloaded", on_preload_refused},
};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

/* Compiled once in the life of the program: it takes longer than the scan of most logs. */
static hs_database_t *database(void) {
    static hs_database_t *made;
    if (made)
        return made;
    const char *regex[PATTERNS];
    unsigned flags[PATTERNS], ids[PATTERNS];
    for (unsigned i = 0; i < PATTERNS; i++) {
        regex[i] = patterns[i].regex;
        flags[i] = 0;
        ids[i] = i;
    }
    hs_compile_error_t *error = NULL;
    if (hs_compile_multi(regex, flags, ids, PATTERNS, HS_MODE_STREAM, NULL, &made, &error) !=
        HS_SUCCESS) {
        fprintf(stderr, "holdpoint: the patterns of log texts do not compile: %s\n",
                error->message);
        abort();
    }
    return made;
}

/* ---- the scan ---- */

struct candidates {
    struct {
        unsigned pattern;
        size_t at; /* a byte of the match */
    } * found;
    size_t n;
    bool too_many;
};

static int on_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
                    void *context) {
    (void)from, (void)flags;
    struct candidates *c = context;
    if (c->n == MOST_CANDIDATES && patterns[id].handle != on_end) {
        c->too_many = true;
        return 0;
    }
    c->found = allocate_again(c->found, c->n + 1, sizeof *c->found);
    c->found[c->n].pattern = id;
    c->found[c->n++].at = (size_t)to - 1;
    return 0;
}

static bool scan(struct candidates *c, const char *bytes, size_t n) {
    hs_scratch_t *scratch = NULL;
    hs_stream_t *stream = NULL;
    bool ok = hs_alloc_scratch(database(), &scratch) == HS_SUCCESS &&
              hs_open_stream(database(), 0, &stream) == HS_SUCCESS;
    for (size_t at = 0; ok && at < n; at += CHUNK)
        ok = hs_scan_stream(stream, bytes + at, (unsigned)(n - at < CHUNK ? n - at : CHUNK), 0,
                            scratch, on_match, c) == HS_SUCCESS;
    if (stream)
        hs_close_stream(stream, scratch, on_match, c);
    hs_free_scratch(scratch);
    return ok;
}

void logscan_bytes(struct logscan *s, const char *bytes, size_t n, const char *name, int rank) {
    struct log_bytes b = {bytes, n, name, rank, s};
    struct candidates c = {0};
    struct log_line line = {.tag_rank = -1};
    if (!scan(&c, bytes, n)) {
        fputs("holdpoint: Vectorscan could not scan a log: out of memory?\n", stderr);
        abort();
    }
    size_t last_start = SIZE_MAX;
    unsigned last_pattern = PATTERNS;
    for (size_t i = 0; i < c.n; i++) {
        size_t start = log_line_start(bytes, c.found[i].at), at = start;
        /* A pattern that ends in several places of one line is one candidate. */
        if (start == last_start && c.found[i].pattern == last_pattern)
            continue;
        last_start = start;
        last_pattern = c.found[i].pattern;
        bool full = s->found.n >= MOST_FINDINGS;
        c.too_many |= full;
        if ((!full || patterns[last_pattern].handle == on_end) &&
            log_next_line(bytes, n, &at, &line))
            patterns[last_pattern].handle(&b, start, &line);
    }
    if (c.too_many) {
        strcpy(line.text, "more reports than are read (1000, or 1000000 lines that look like one)");
        add_note(&b, NOTE_TOO_MANY, &line, false);
    }
    free(c.found);
}

bool logscan_file(struct logscan *s, const char *path, const char *name, int rank,
                  struct complaints *c) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    void *bytes = MAP_FAILED;
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (ok && st.st_size > 0) {
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        ok = bytes != MAP_FAILED;
    }
    if (!ok)
        complain(c, path, 0, 0, "the log cannot be read: %s",
                 fd < 0 ? strerror(errno) : "not a file");
    else if (st.st_size > 0)
        logscan_bytes(s, bytes, (size_t)st.st_size, name, rank);
    if (bytes != MAP_FAILED)
        munmap(bytes, (size_t)st.st_size);
    if (fd >= 0)
        close(fd);
    return ok;
}

void logscan_clear(struct logscan *s) {
    findings_clear(&s->found);
    for (int i = 0; i < s->n_notes; i++) {
        free(s->note[i].text);
        free(s->note[i].file);
    }
    free(s->note);
    memset(s, 0, sizeof *s);
}
