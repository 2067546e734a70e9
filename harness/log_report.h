/* The readers of reports in logs, one a form; logscan.c calls them at their candidates. `at` is
 * where the candidate's line starts, `line` is that line. Each adds findings to the scan.
 */
#ifndef HOLDPOINT_LOG_REPORT_H
#define HOLDPOINT_LOG_REPORT_H

#include "log_text.h"
#include "logscan.h"

struct log_bytes {
    const char *bytes;
    size_t n;
    const char *name; /* the log's, for findings */
    int rank;         /* whose log it is, or -1 */
    struct logscan *scan;
};

void log_on_sanitizer_error(const struct log_bytes *b, size_t at, const struct log_line *line);
void log_on_thread_sanitizer(const struct log_bytes *b, size_t at, const struct log_line *line);
void log_on_check_failed(const struct log_bytes *b, size_t at, const struct log_line *line);
void log_on_undefined(const struct log_bytes *b, size_t at, const struct log_line *line);
void log_on_glibc(const struct log_bytes *b, size_t at, const struct log_line *line);
void log_on_assertion(const struct log_bytes *b, size_t at, const struct log_line *line);
void log_on_terminate(const struct log_bytes *b, size_t at, const struct log_line *line);
void log_on_signal_block(const struct log_bytes *b, size_t at, const struct log_line *line);
void log_on_launcher_notice(const struct log_bytes *b, size_t at, const struct log_line *line);

/* Signals that a program's mistake raises; SIGTERM and SIGKILL come from outside. */
bool signal_is_fatal(int number);
enum finding_kind signal_kind(int number);

#endif
