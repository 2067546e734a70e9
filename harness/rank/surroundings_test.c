/* Proves: how a rank's environment is merged: who wins, in which order, and that nothing is lost.
 */
#include "surroundings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
static void expect(const char *name, const char *wanted) {
    const char *value = getenv(name);
    if (!value || strcmp(value, wanted) != 0) {
        printf("surroundings: %s is \"%s\", wanted \"%s\"\n", name, value ? value : "(unset)",
               wanted);
        failures++;
    }
}

static void expect_rank(int32_t wanted, const char *wanted_from) {
    const char *from;
    int32_t rank = surroundings_rank(&from);
    if (rank != wanted || (from == NULL) != (wanted_from == NULL) ||
        (from && strcmp(from, wanted_from) != 0)) {
        printf("surroundings: rank %d from %s, wanted %d from %s\n", rank, from ? from : "nowhere",
               wanted, wanted_from ? wanted_from : "nowhere");
        failures++;
    }
}

static void ranks(void) {
    expect_rank(-1, NULL);
    setenv("PMI_RANK", "9", 1);
    expect_rank(9, "PMI_RANK");
    setenv("SLURM_PROCID", "8", 1);
    expect_rank(8, "SLURM_PROCID");
    setenv("PMIX_RANK", "7", 1);
    expect_rank(7, "PMIX_RANK");
    setenv("OMPI_COMM_WORLD_RANK", "6", 1);
    expect_rank(6, "OMPI_COMM_WORLD_RANK");
    setenv("HOLDPOINT_RANK", "5", 1);
    expect_rank(5, "HOLDPOINT_RANK");
    static const char *const bad[] = {"", "x", "5x", "-1", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) { /* no rank: the next one is asked */
        setenv("HOLDPOINT_RANK", bad[i], 1);
        expect_rank(6, "OMPI_COMM_WORLD_RANK");
    }
}

static void sanitizers(void) {
    setenv("ASAN_OPTIONS", "quarantine_size_mb=1:log_path=/mine", 1);
    unsetenv("TSAN_OPTIONS");
    surroundings_set_sanitizers("/t/d", 3);
    /* The runtimes take the last of several: theirs over our defaults, our log path over theirs. */
    expect("ASAN_OPTIONS", "handle_abort=1:detect_stack_use_after_return=1:quarantine_size_mb=256:"
                           "stack_trace_format=\"    #%n %p %F %L %M\":"
                           "quarantine_size_mb=1:log_path=/mine:log_path=/t/d/sanitizer.rank3");
    expect("TSAN_OPTIONS", "handle_abort=1:second_deadlock_stack=1:log_path=/t/d/sanitizer.rank3");
    expect("LIBC_FATAL_STDERR_", "1");
    unsetenv("UBSAN_OPTIONS");
    surroundings_set_sanitizers("/t d:e", 0);
    expect("UBSAN_OPTIONS", "handle_abort=1:print_stacktrace=1:log_path='/t d:e/sanitizer.rank0'");
}

static void preload(void) {
    unsetenv("LD_PRELOAD");
    surroundings_set_preload("", "/h/shim.so");
    expect("LD_PRELOAD", "/h/shim.so");
    setenv("LD_PRELOAD", "/u/a.so /u/b.so:/h/shim.so::/l/asan.so", 1);
    surroundings_set_preload("/l/asan.so", "/h/shim.so");
    expect("LD_PRELOAD", "/l/asan.so:/h/shim.so:/u/a.so:/u/b.so");
}

static void plan(void) {
    static struct board b;
    strcpy(b.strings + 1, "ALL=1=2");
    strcpy(b.strings + 20, "ONE=x");
    strcpy(b.strings + 40, "OTHER=y");
    strcpy(b.strings + 60, "ALL=");
    b.env[0] = (struct board_env){-1, 1};
    b.env[1] = (struct board_env){1, 20};
    b.env[2] = (struct board_env){2, 40};
    b.n_env = 3;
    surroundings_apply_plan(&b, 1);
    expect("ALL", "1=2");
    expect("ONE", "x");
    if (getenv("OTHER")) {
        printf("surroundings: another rank's entry was applied\n");
        failures++;
    }
    b.env[b.n_env++] = (struct board_env){1, 60}; /* a later entry wins, also an empty one */
    surroundings_apply_plan(&b, 1);
    expect("ALL", "");
}

int main(void) {
    static const char *const cleared[] = {"HOLDPOINT_RANK", "OMPI_COMM_WORLD_RANK",
                                          "PMIX_RANK",      "SLURM_PROCID",
                                          "PMI_RANK",       "LIBC_FATAL_STDERR_"};
    for (size_t i = 0; i < sizeof cleared / sizeof *cleared; i++)
        unsetenv(cleared[i]);
    ranks();
    sanitizers();
    preload();
    plan();
    printf("surroundings: rank, sanitizer options, preload and plan entries: %s\n",
           failures ? "FAILED" : "good");
    return failures != 0;
}
