/* The environment of one rank. Runs in holdpoint-rank only, before the exec. A variable that cannot
 * be set for want of memory ends the process: a rank with half of its environment would prove
 * nothing.
 */
#include "surroundings.h"
#include "exit_status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set(const char *name, const char *value) {
    if (setenv(name, value, 1) == 0)
        return;
    fprintf(stderr, "holdpoint rank: cannot set %s in the environment: %s\n", name,
            strerror(errno));
    exit(EXIT_CANNOT_TELL);
}

static void release(char **text) {
    free(*text);
}
#define RELEASED __attribute__((cleanup(release)))

static char *format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
static char *format(const char *pattern, ...) {
    char *text = NULL;
    va_list values;
    va_start(values, pattern);
    int length = vasprintf(&text, pattern, values);
    va_end(values);
    if (length < 0) {
        fputs("holdpoint rank: out of memory while preparing the environment\n", stderr);
        exit(EXIT_CANNOT_TELL);
    }
    return text;
}

int32_t surroundings_rank(const char **from) {
    /* The launchers' own variables; ours first. PMIX_RANK is set wherever PMIx starts a process. */
    static const char *const variables[] = {BOARD_ENV_RANK, "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                            "SLURM_PROCID", "PMI_RANK"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        char *end;
        if (!value || !*value)
            continue;
        errno = 0;
        long rank = strtol(value, &end, 10);
        if (errno || *end || rank < 0 || rank > INT32_MAX)
            continue;
        *from = variables[i];
        return (int32_t)rank;
    }
    *from = NULL;
    return -1;
}

void surroundings_apply_plan(const struct board *b, int32_t rank) {
    for (uint32_t i = 0; i < b->n_env; i++) {
        if (b->env[i].rank >= 0 && b->env[i].rank != rank)
            continue;
        const char *assignment = board_string(b, b->env[i].assignment);
        const char *equals = strchr(assignment, '=');
        if (!equals)
            continue; /* the compiler of plans refuses it */
        RELEASED char *name = format("%.*s", (int)(equals - assignment), assignment);
        set(name, equals + 1);
    }
}

static void merge_options(const char *variable, const char *defaults, const char *log_path) {
    const char *own = getenv(variable);
    /* The runtimes take the last of several values. */
    RELEASED char *merged =
        format("%s%s%s:log_path=%s", defaults, own && *own ? ":" : "", own ? own : "", log_path);
    set(variable, merged);
}

void surroundings_set_sanitizers(const char *dir, int32_t rank) {
    /* Blanks, commas and colons separate options; quotes keep them together. */
    const char *quote = dir[strcspn(dir, " ,:\t\n")] ? (strchr(dir, '\'') ? "\"" : "'") : "";
    RELEASED char *log_path = format("%s%s/sanitizer.rank%d%s", quote, dir, rank, quote);
    merge_options("ASAN_OPTIONS",
                  /* frames with their module too: signatures are made of both */
                  "handle_abort=1:detect_stack_use_after_return=1:quarantine_size_mb=256:"
                  "stack_trace_format=\"    #%n %p %F %L %M\"",
                  log_path);
    merge_options("TSAN_OPTIONS", "handle_abort=1:second_deadlock_stack=1", log_path);
    merge_options("UBSAN_OPTIONS", "handle_abort=1:print_stacktrace=1", log_path);
    if (!getenv("LIBC_FATAL_STDERR_"))
        set("LIBC_FATAL_STDERR_", "1");
}

static bool is_listed(const char *list, const char *entry, size_t length) {
    while (*list) {
        size_t n = strcspn(list, ": ");
        if (n == length && strncmp(list, entry, n) == 0)
            return true;
        list += n + (list[n] != '\0');
    }
    return false;
}

void surroundings_set_preload(const char *runtime, const char *shim) {
    RELEASED char *list = format("%s%s%s", runtime, *runtime ? ":" : "", shim);
    const char *own = getenv("LD_PRELOAD");
    while (own && *own) {
        size_t n = strcspn(own, ": ");
        if (n && !is_listed(list, own, n)) {
            char *longer = format("%s:%.*s", list, (int)n, own);
            free(list);
            list = longer;
        }
        own += n + (own[n] != '\0');
    }
    set("LD_PRELOAD", list);
}
