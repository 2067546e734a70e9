/* Symbols of this very program: function, line, a return address, and what has no symbol. */
#include "symbols.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failed;
static void check(bool ok, const char *what) {
    printf("  %s: %s\n", ok ? "ok" : "FAILED", what);
    failed |= !ok;
}

static uint64_t load_bias;
static int first_object(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    load_bias = info->dlpi_addr;
    return 1;
}

static void *return_address;
__attribute__((noinline)) static void callee(void) {
    return_address = __builtin_return_address(0);
}
__attribute__((noinline)) static void caller_of_it(void) {
    callee();
    __asm__ volatile("" ::: "memory");
}

int main(void) {
    char self[4096] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return 1;
    dl_iterate_phdr(first_object, NULL);
    caller_of_it();
    struct symbols *s = symbols_open();
    char *function, *source;

    check(symbols_find(s, self, (uint64_t)(uintptr_t)return_address - load_bias, true, &function,
                       &source) &&
              strcmp(function, "caller_of_it") == 0,
          "a return address is in the function that called");
    check(source && strstr(source, "symbols_test.c:"), "the line is known");
    free(function), free(source);

    check(symbols_find(s, self, (uint64_t)(uintptr_t)&callee - load_bias, false, &function,
                       &source) &&
              strcmp(function, "callee") == 0,
          "a function's first byte is in that function");
    free(function), free(source);

    check(!symbols_find(s, self, 8, false, &function, &source) && !function && !source,
          "an offset in the ELF header has no symbol");
    check(!symbols_find(s, "/nonexistent/file", 64, false, &function, &source),
          "a missing file has none");
    check(!symbols_find(s, "/etc/passwd", 64, false, &function, &source),
          "a file that is no ELF has none");
    symbols_close(s);

    char *id = symbols_build_id(self);
    check(id && strlen(id) == 40 && strspn(id, "0123456789abcdef") == 40,
          "this program has a build-id");
    free(id);
    check(!symbols_build_id("/etc/passwd"), "a text file has no build-id");
    return failed;
}
