/* Lines and stack frames of logs: what the parsers of logscan.c stand on. Pure functions on bytes.
 */
#ifndef HOLDPOINT_LOG_TEXT_H
#define HOLDPOINT_LOG_TEXT_H

#include "findings.h"

enum { LOG_LINE_BYTES = 4096 };

/* One line as text: control bytes removed, a launcher's "[1,3]<stderr>:" tag taken off. */
struct log_line {
    char text[LOG_LINE_BYTES];
    int tag_rank; /* of the tag, or -1 */
};

/* The line that holds `at`; `at` moves to the start of the next. False: at the end. */
bool log_next_line(const char *bytes, size_t n, size_t *at, struct log_line *line);
/* Where the line that holds `at` starts. */
size_t log_line_start(const char *bytes, size_t at);

/* "#3 0x55… in f file.c:5 (module+0x10) (BuildId: …)", in all the forms that sanitizers print.
 * Returns the frame's number, or -1: not a frame. */
int log_sanitizer_frame(const char *text, struct finding_frame *f);
/* "[host:123] [ 3] ./app(f+0x12)[0x55…]" and "3  /lib/x.so(+0x10) [0x55…]", as Open MPI and UCX
 * print. */
int log_backtrace_frame(const char *text, struct finding_frame *f);

#endif
