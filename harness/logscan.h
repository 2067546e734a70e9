/* From logs to findings and notes: sanitizer reports, glibc's abort texts, assertions, the
 * launchers' and libraries' blocks about fatal signals, and holdpoint's own lines. One pass of one
 * Vectorscan database finds the candidates; plain C reads them. Any bytes may stand in a log.
 */
#ifndef HOLDPOINT_LOGSCAN_H
#define HOLDPOINT_LOGSCAN_H

#include "findings.h"

/* A line that is no finding but that the verdict needs. */
enum log_note_kind {
    NOTE_DONE, /* "holdpoint-workload: done key=value …" */
    NOTE_END,  /* the end mark of a log; `whole` tells whether its byte count is right */
    NOTE_SANITIZER_REFUSED, /* the sanitizer's runtime says that it will not work */
    NOTE_PRELOAD_REFUSED,   /* the loader says that it did not preload something */
    NOTE_TOO_MANY,          /* more reports than are read; the rest is unread */
};
struct log_note {
    enum log_note_kind kind;
    int rank; /* -1: unknown */
    char *text, *file;
    bool whole;
};

struct logscan {
    struct finding_list found;
    struct log_note *note;
    int n_notes;
};

/* Scans a file that belongs to `rank` (-1: several or unknown); `name` is what findings call it.
 * False: complained, it cannot be read. */
bool logscan_file(struct logscan *s, const char *path, const char *name, int rank,
                  struct complaints *c);
void logscan_bytes(struct logscan *s, const char *bytes, size_t n, const char *name, int rank);
void logscan_clear(struct logscan *s);

#endif
