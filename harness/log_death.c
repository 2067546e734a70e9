/* What glibc, the C++ run time, libraries and launchers write when a process dies; see
 * log_report.h. The texts: facts/nccl-inspector.md 8 (glibc 2.27 to 2.42), facts/ompi-fence.md.
 * Pure functions on bytes.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "log_report.h"

enum { MOST_BLOCK_LINES = 200 };

bool signal_is_fatal(int number) {
    static const int fatal[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        if (fatal[i] == number)
            return true;
    return false;
}

enum finding_kind signal_kind(int number) {
    return number == SIGABRT ? FINDING_ABORT : FINDING_CRASH;
}

static struct finding *add_death(const struct log_bytes *b, enum finding_kind kind,
                                 const char *source, const struct log_line *line) {
    struct finding *f = findings_add(&b->scan->found, kind, source);
    f->rank = b->rank < 0 ? line->tag_rank : b->rank;
    f->file = copy_text(b->name);
    f->text = copy_text(line->text);
    return f;
}

static void add_text(struct finding *f, const char *line) {
    char *longer = format_text("%s\n%s", f->text, line);
    free(f->text);
    f->text = longer;
}

/* ---- glibc's heap ---- */

static const char *const glibc_texts[] = {
    "double free or corruption (!prev)",
    "double free or corruption (fasttop)",
    "double free or corruption (out)",
    "double free or corruption (top)",
    "free(): double free detected in tcache 2", /* up to here: a double free */
    "corrupted double-linked list",
    "corrupted double-linked list (not small)",
    "corrupted size vs. prev_size",
    "corrupted size vs. prev_size in fastbins",
    "corrupted size vs. prev_size while consolidating",
    "free(): invalid pointer",
    "free(): invalid size",
    "free(): invalid next size (fast)",
    "free(): invalid next size (normal)",
    "free(): corrupted unsorted chunks",
    "free(): unaligned chunk detected in tcache 2",
    "free(): too many chunks detected in tcache",
    "free(): chunks in smallbin corrupted",
    "malloc(): corrupted top size",
    "malloc(): corrupted unsorted chunks",
    "malloc(): corrupted unsorted chunks 2",
    "malloc(): corrupted unsorted chunks 3",
    "malloc(): invalid next size (unsorted)",
    "malloc(): invalid next->prev_inuse (unsorted)",
    "malloc(): invalid size (unsorted)",
    "malloc(): largebin double linked list corrupted (bk)",
    "malloc(): largebin double linked list corrupted (nextsize)",
    "malloc(): memory corruption",
    "malloc(): memory corruption (fast)",
    "malloc(): mismatching next->prev_size (unsorted)",
    "malloc(): smallbin double linked list corrupted",
    "malloc(): unaligned fastbin chunk detected",
    "malloc(): unaligned fastbin chunk detected 2",
    "malloc(): unaligned fastbin chunk detected 3",
    "malloc(): unaligned tcache chunk detected",
    "malloc(): unsorted double linked list corrupted",
    "malloc_consolidate(): invalid chunk size",
    "malloc_consolidate(): unaligned fastbin chunk detected",
    "mremap_chunk(): invalid pointer",
    "munmap_chunk(): invalid pointer",
    "realloc(): invalid next size",
    "realloc(): invalid old size",
    "realloc(): invalid pointer",
    "tcache_thread_shutdown(): unaligned tcache chunk detected",
    "*** stack smashing detected ***: terminated",
    "*** stack smashing detected ***: <unknown> terminated",
    "*** buffer overflow detected ***: terminated"};
enum { DOUBLE_FREE_TEXTS = 5 };

/* The text must end the line, so that a sentence about such an abort is none; glibc up to 2.26 put
 * "*** Error in `app': TEXT: 0x… ***" around it. */
static bool is_glibc_line(const char *line, const char *text) {
    const char *at = strstr(line, text);
    if (!at)
        return false;
    const char *rest = at + strlen(text);
    bool old = strncmp(line, "*** Error in `", 14) == 0 && strncmp(rest, ": 0x", 4) == 0;
    bool begins =
        at == line || (at - line >= 2 && (at[-1] == ' ' || at[-1] == ':') && line[0] == '[');
    return old || (begins && rest[strspn(rest, " ")] == 0);
}

void log_on_glibc(const struct log_bytes *b, size_t at, const struct log_line *line) {
    (void)at;
    for (size_t i = 0; i < sizeof glibc_texts / sizeof *glibc_texts; i++)
        if (is_glibc_line(line->text, glibc_texts[i])) {
            add_death(b, i < DOUBLE_FREE_TEXTS ? FINDING_DOUBLE_FREE : FINDING_HEAP_CORRUPTION,
                      "glibc", line);
            return;
        }
}

/* ---- assertions and the C++ run time ---- */

static void add_use_frame(struct finding *f, const char *module, char *function, char *source) {
    struct finding_frame *frame = finding_frame_add(finding_stack_add(f, "use"));
    frame->module = module ? copy_text(module) : NULL;
    frame->function = function;
    frame->source = source;
}

/* glibc: "app: file.c:2: check: Assertion `n == 0' failed." */
static bool glibc_assertion(struct finding *f, const char *text) {
    const char *program_end = strstr(text, ": ");
    const char *place = program_end ? program_end + 2 : NULL;
    const char *place_end = place ? strstr(place, ": ") : NULL;
    const char *function_end = place_end ? strstr(place_end, ": Assertion `") : NULL;
    if (!function_end || function_end <= place_end + 2)
        return false;
    AUTO_TEXT program = copy_part(text, (size_t)(program_end - text));
    add_use_frame(f, program, copy_part(place_end + 2, (size_t)(function_end - place_end - 2)),
                  copy_part(place, (size_t)(place_end - place)));
    return true;
}

/* glibc itself: "Fatal glibc error: file.c:94 (function): assertion failed: expression" */
static bool own_assertion(struct finding *f, const char *text) {
    const char *place = strstr(text, "Fatal glibc error: ");
    const char *open = place ? strstr(place, " (") : NULL,
               *close = open ? strstr(open, "):") : NULL;
    if (!close)
        return false;
    place += strlen("Fatal glibc error: ");
    add_use_frame(f, "libc.so.6", copy_part(open + 2, (size_t)(close - open - 2)),
                  copy_part(place, (size_t)(open - place)));
    return true;
}

void log_on_assertion(const struct log_bytes *b, size_t at, const struct log_line *line) {
    (void)at;
    bool own = strncmp(line->text, "Fatal glibc error: ", 19) == 0;
    if (!own && !strstr(line->text, "' failed") && !strstr(line->text, "\" failed"))
        return;
    struct finding *f = add_death(b, FINDING_ASSERTION, "assert", line);
    if (!own_assertion(f, line->text))
        glibc_assertion(f, line->text);
}

void log_on_terminate(const struct log_bytes *b, size_t at, const struct log_line *line) {
    bool pure = strncmp(line->text, "pure virtual", 12) == 0;
    if (!pure && strncmp(line->text, "terminate called ", 17) != 0 &&
        strncmp(line->text, "libc++abi: ", 11) != 0)
        return;
    struct finding *f = add_death(b, pure ? FINDING_ABORT : FINDING_ASSERTION, "assert", line);
    struct log_line next = {.tag_rank = -1};
    log_next_line(b->bytes, b->n, &at, &next); /* `line` again */
    if (log_next_line(b->bytes, b->n, &at, &next) && strncmp(next.text, "  what():", 9) == 0)
        add_text(f, next.text + 2);
}

/* ---- signals ---- */

/* The number in "Signal: Segmentation fault (11)" or "Caught signal 11 (". */
static int signal_number(const char *text) {
    const char *caught = strstr(text, "Caught signal "), *named = strstr(text, "Signal: ");
    const char *open = named ? strrchr(named, '(') : NULL;
    if (caught)
        return (int)strtol(caught + strlen("Caught signal "), NULL, 10);
    return open ? (int)strtol(open + 1, NULL, 10) : 0;
}

/* "[host:06558] …" or "[host:6558:0:6558] …" */
static unsigned host_pid(const char *text) {
    const char *colon = *text == '[' ? strchr(text, ':') : NULL;
    return colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
}

/* Frame 0 is the kernel's return from the handler, in libc and without a name. */
static bool is_signal_return(const struct finding_frame *f, int number) {
    return number == 0 && !f->function && f->module &&
           strncmp(basename(f->module), "libc.so", 7) == 0;
}

static void free_frame(struct finding_frame *f) {
    free(f->module);
    free(f->function);
    free(f->source);
}

/* Reads the frames below; `number` is filled in from the block when it is still 0. */
static void read_block(const struct log_bytes *b, size_t at, struct finding_stack *s,
                       struct finding *f, int *number) {
    struct log_line line;
    for (int i = 0; i < MOST_BLOCK_LINES && log_next_line(b->bytes, b->n, &at, &line); i++) {
        struct finding_frame frame;
        int n = log_backtrace_frame(line.text, &frame);
        if (n >= 0 && is_signal_return(&frame, n))
            free_frame(&frame);
        else if (n >= 0)
            *finding_frame_add(s) = frame;
        else if (strstr(line.text, "*** End of error message ***") ||
                 (s->n && strstr(line.text, "=====")))
            break;
        else if (strstr(line.text, "Signal: ") || strstr(line.text, "Failing at address"))
            add_text(f, line.text);
        if (!*number)
            *number = signal_number(line.text);
    }
}

void log_on_signal_block(const struct log_bytes *b, size_t at, const struct log_line *line) {
    struct finding *f = add_death(b, FINDING_CRASH, "signal", line);
    f->pid = host_pid(line->text);
    int number = signal_number(line->text);
    struct finding_stack *s = finding_stack_add(f, "use");
    struct log_line skipped;
    log_next_line(b->bytes, b->n, &at, &skipped);
    read_block(b, at, s, f, &number);
    if (!s->n) {
        free(s->role);
        f->n_stacks = 0;
    }
    if (signal_is_fatal(number))
        f->kind = signal_kind(number);
    else
        findings_remove(&b->scan->found, b->scan->found.n - 1);
}

/* "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 11 (Segmentation
 * fault)." The line may be broken anywhere between words. */
void log_on_launcher_notice(const struct log_bytes *b, size_t at, const struct log_line *line) {
    struct log_line next = {.text = ""};
    log_next_line(b->bytes, b->n, &at, &next);
    if (!log_next_line(b->bytes, b->n, &at, &next))
        next.text[0] = 0;
    AUTO_TEXT both = format_text("%s %s", line->text, next.text);
    const char *rank = strstr(both, "process rank "), *signal = strstr(both, "on signal ");
    int number = signal ? (int)strtol(signal + strlen("on signal "), NULL, 10) : 0;
    if (!rank || !signal_is_fatal(number))
        return;
    struct finding *f = add_death(b, signal_kind(number), "signal", line);
    f->rank = (int)strtol(rank + strlen("process rank "), NULL, 10);
    const char *pid = strstr(rank, "with PID ");
    f->pid = pid ? (unsigned)strtoul(pid + strlen("with PID "), NULL, 10) : 0;
}
