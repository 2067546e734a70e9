/* Reports of the sanitizers; see log_report.h. The texts: LLVM's and GCC's compiler-rt and
 * libsanitizer, facts/conventions.md 2, facts/nccl-inspector.md 8. Pure functions on bytes.
 */
#include "log_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"

enum { MOST_REPORT_LINES = 2000, MOST_FRAMES = 64 };

/* Lines of one report, from the candidate on; lines that the launcher tagged with another rank are
 * not of it. */
struct reader {
    const struct log_bytes *b;
    size_t at;
    int rank, lines;
    struct log_line line;
};

static struct reader reader_at(const struct log_bytes *b, size_t at, const struct log_line *line) {
    struct reader r = {.b = b, .at = at, .rank = line->tag_rank};
    log_next_line(b->bytes, b->n, &r.at, &r.line);
    return r;
}

static bool read_line(struct reader *r) {
    while (r->lines++ < MOST_REPORT_LINES && log_next_line(r->b->bytes, r->b->n, &r->at, &r->line))
        if (r->line.tag_rank == r->rank)
            return true;
    return false;
}

static struct finding *add_finding(const struct log_bytes *b, enum finding_kind kind,
                                   const char *source, const struct log_line *line) {
    struct finding *f = findings_add(&b->scan->found, kind, source);
    f->rank = b->rank < 0 ? line->tag_rank : b->rank;
    f->file = copy_text(b->name);
    f->text = copy_text(line->text + strspn(line->text, " "));
    return f;
}

static void add_text(struct finding *f, const char *line) {
    char *longer = format_text("%s\n%s", f->text, line + strspn(line, " "));
    free(f->text);
    f->text = longer;
}

struct kind_text {
    const char *begins;
    enum finding_kind kind;
};

static enum finding_kind kind_of(const char *what, const struct kind_text *table) {
    while (table->begins[0] && strncmp(what, table->begins, strlen(table->begins)) != 0)
        table++;
    return table->kind;
}

/* A report's stacks: each frame goes to the stack that the last heading named. */
struct stacks {
    struct finding *f;
    struct finding_stack *current; /* NULL: frames are not kept */
    bool closed;                   /* the current stack has had its frames */
};

static void stacks_begin(struct stacks *s, const char *role) {
    s->current = role && !finding_stack_of(s->f, role) ? finding_stack_add(s->f, role) : NULL;
}

/* True when the line was a frame. */
static bool stacks_frame(struct stacks *s, const char *text) {
    struct finding_frame frame;
    int number = log_sanitizer_frame(text, &frame);
    if (number < 0)
        return false;
    if (s->current && s->current->n == number && number < MOST_FRAMES) {
        *finding_frame_add(s->current) = frame;
    } else {
        free(frame.module);
        free(frame.function);
        free(frame.source);
    }
    return true;
}

/* A heading without frames below it leaves no stack. */
static void stacks_end(struct finding *f) {
    int kept = 0;
    for (int i = 0; i < f->n_stacks; i++)
        if (f->stack[i].n)
            f->stack[kept++] = f->stack[i];
        else
            free(f->stack[i].role);
    f->n_stacks = kept;
}

/* ---- AddressSanitizer, and the crash reports of all of them ---- */

static const struct kind_text address_kinds[] = {
    {"heap-use-after-free", FINDING_HEAP_USE_AFTER_FREE},
    {"use-after-poison", FINDING_HEAP_USE_AFTER_FREE}, /* a pool that poisons what it takes back */
    {"stack-use-after-return", FINDING_STACK_USE_AFTER_RETURN},
    {"stack-use-after-scope", FINDING_STACK_USE_AFTER_RETURN},
    {"attempting double-free", FINDING_DOUBLE_FREE},
    {"attempting ", FINDING_HEAP_CORRUPTION}, /* free or malloc_usable_size of what is no block */
    {"heap-buffer-overflow", FINDING_HEAP_CORRUPTION},
    {"container-overflow", FINDING_HEAP_CORRUPTION},
    {"alloc-dealloc-mismatch", FINDING_HEAP_CORRUPTION},
    {"new-delete-type-mismatch", FINDING_HEAP_CORRUPTION},
    {"negative-size-param", FINDING_HEAP_CORRUPTION},
    {"odr-violation", FINDING_ASSERTION},
    {"initialization-order-fiasco", FINDING_ASSERTION},
    {"memcpy-param-overlap", FINDING_ASSERTION},
    {"strcpy-param-overlap", FINDING_ASSERTION},
    {"ABRT", FINDING_ABORT},
    {"allocator is ", FINDING_ABORT},
    {"requested allocation size", FINDING_ABORT},
    {"out of memory", FINDING_ABORT},
    {"", FINDING_CRASH}, /* SEGV, BUS, FPE, ILL, overflows of stacks and globals */
};

static void address_line(struct stacks *s, const char *text) {
    struct finding *f = s->f;
    if (strncmp(text, "READ of size", 12) == 0 || strncmp(text, "WRITE of size", 13) == 0 ||
        strstr(text, "The signal is caused by"))
        add_text(f, text);
    else if (strncmp(text, "freed by thread", 15) == 0)
        stacks_begin(s, "free");
    else if (strncmp(text, "previously allocated by", 23) == 0 ||
             strncmp(text, "allocated by", 12) == 0)
        stacks_begin(s, "alloc");
    else if (strstr(text, " is located in stack of thread"))
        stacks_begin(s, f->kind == FINDING_STACK_USE_AFTER_RETURN ? "dead-frame" : NULL);
    else if (strstr(text, "created by") && strstr(text, "here:"))
        stacks_begin(s, NULL);
    if (strstr(text, " is located ") || strncmp(text, "SUMMARY: ", 9) == 0)
        add_text(f, text);
}

static const char *after(const char *text, const char *what) {
    const char *at = strstr(text, what);
    return at ? at + strlen(what) : NULL;
}

static unsigned sanitizer_pid(const char *text) {
    const char *at = after(text, "==");
    return at ? (unsigned)strtoul(at, NULL, 10) : 0;
}

/* "Direct leak of 77 byte(s) in 1 object(s) allocated from:" and its stack: a finding each. */
static void read_leaks(struct reader *r, unsigned pid) {
    struct stacks s = {0};
    while (read_line(r) && !strstr(r->line.text, "SUMMARY: ")) {
        const char *text = r->line.text;
        if (strncmp(text, "Direct leak of", 14) == 0 ||
            strncmp(text, "Indirect leak of", 16) == 0) {
            s.f = add_finding(r->b, FINDING_LEAK, "lsan", &r->line);
            s.f->pid = pid;
            stacks_begin(&s, "alloc");
        } else if (s.f) {
            stacks_frame(&s, text);
        }
    }
}

void log_on_sanitizer_error(const struct log_bytes *b, size_t at, const struct log_line *line) {
    struct reader r = reader_at(b, at, line);
    const char *what = after(r.line.text, "Sanitizer: ");
    unsigned pid = sanitizer_pid(r.line.text);
    if (!what)
        return;
    if (strstr(r.line.text, "LeakSanitizer: detected")) {
        read_leaks(&r, pid);
        return;
    }
    bool thread = strstr(r.line.text, "ThreadSanitizer");
    struct stacks s = {
        .f = add_finding(b, kind_of(what, address_kinds), thread ? "tsan" : "asan", line)};
    s.f->pid = pid;
    stacks_begin(&s, "use");
    while (read_line(&r)) {
        const char *text = r.line.text + strspn(r.line.text, " ");
        if (strstr(text, "==ABORTING") || strstr(text, "ERROR: AddressSanitizer: "))
            break;
        if (!stacks_frame(&s, text))
            address_line(&s, text);
        if (strncmp(text, "SUMMARY: ", 9) == 0)
            break;
    }
    stacks_end(s.f);
}

void log_on_check_failed(const struct log_bytes *b, size_t at, const struct log_line *line) {
    (void)at;
    bool thread = strstr(line->text, "ThreadSanitizer");
    add_finding(b, FINDING_ASSERTION, thread ? "tsan" : "asan", line)->pid =
        sanitizer_pid(line->text);
}

/* ---- ThreadSanitizer ---- */

static const struct kind_text thread_kinds[] = {
    {"data race", FINDING_DATA_RACE},
    {"race on vptr", FINDING_DATA_RACE},
    {"heap-use-after-free", FINDING_HEAP_USE_AFTER_FREE},
    {"use of an invalid vptr", FINDING_HEAP_USE_AFTER_FREE},
    {"lock-order-inversion", FINDING_DEADLOCK},
    {"thread leak", FINDING_LEAK},
    {"signal-unsafe call", FINDING_ASSERTION},
    {"signal handler spoils errno", FINDING_ASSERTION},
    {"", FINDING_LOCK_MISUSE}, /* destroy of a locked, unlock of an unlocked, double lock, invalid
                                  mutex … */
};

/* The role of the stack that this heading announces; NULL: one that is not kept. */
static const char *thread_heading(const struct finding *f, const char *text) {
    bool access = strstr(text, " of size ") && strstr(text, " at 0x");
    if (strncmp(text, "Previous ", 9) == 0 && access)
        return f->kind == FINDING_HEAP_USE_AFTER_FREE ? "free" : "previous";
    if (strncmp(text, "Location is heap block", 22) == 0)
        return "alloc";
    if (access)
        return "use";
    if (strstr(text, "acquired here while holding"))
        return finding_stack_of(f, "use") ? "previous" : "use";
    if (f->kind == FINDING_LEAK && strstr(text, "created by"))
        return "alloc";
    return NULL;
}

static void thread_line(struct stacks *s, const char *text) {
    size_t n = strlen(text);
    if (n && text[n - 1] == ':')
        stacks_begin(s, thread_heading(s->f, text));
    if (strncmp(text, "SUMMARY: ", 9) == 0 || strstr(text, " of size "))
        add_text(s->f, text);
}

void log_on_thread_sanitizer(const struct log_bytes *b, size_t at, const struct log_line *line) {
    struct reader r = reader_at(b, at, line);
    const char *what = after(r.line.text, "ThreadSanitizer: ");
    if (!what)
        return;
    struct stacks s = {.f = add_finding(b, kind_of(what, thread_kinds), "tsan", line)};
    const char *pid = after(r.line.text, "(pid=");
    s.f->pid = pid ? (unsigned)strtoul(pid, NULL, 10) : 0;
    if (s.f->kind == FINDING_LOCK_MISUSE || s.f->kind == FINDING_ASSERTION)
        stacks_begin(&s, "use"); /* its stack stands right below the first line */
    while (read_line(&r)) {
        const char *text = r.line.text + strspn(r.line.text, " ");
        if (strncmp(text, "==================", 18) == 0)
            break;
        if (!stacks_frame(&s, text))
            thread_line(&s, text);
        if (strncmp(text, "SUMMARY: ", 9) == 0)
            break;
    }
    stacks_end(s.f);
}

/* ---- UndefinedBehaviorSanitizer ---- */

/* "file.c:3:56: runtime error: …": without a stack the file stands for the function. */
static void place_as_frame(struct stacks *s, const char *text) {
    const char *end = strstr(text, ": runtime error: ");
    AUTO_TEXT place = copy_part(text, (size_t)(end - text));
    AUTO_TEXT source = NULL;
    char *colon = strrchr(place, ':');
    if (!colon)
        return;
    *colon = 0; /* the column */
    source = copy_text(place);
    colon = strrchr(place, ':');
    if (colon)
        *colon = 0; /* the line */
    struct finding_frame *frame = finding_frame_add(s->current);
    frame->function = copy_text(basename(place));
    frame->source = copy_text(source);
}

void log_on_undefined(const struct log_bytes *b, size_t at, const struct log_line *line) {
    struct reader r = reader_at(b, at, line);
    struct stacks s = {.f = add_finding(b, FINDING_ASSERTION, "ubsan", line)};
    stacks_begin(&s, "use");
    while (read_line(&r) && stacks_frame(&s, r.line.text))
        ;
    if (s.current && !s.current->n)
        place_as_frame(&s, s.f->text);
}
