/* For unit tests only: a private folder with files in it, removed at the end, and counting what
 * failed. */
#ifndef HOLDPOINT_TEST_FILES_H
#define HOLDPOINT_TEST_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocate.h"

static int test_failures;

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: ", __FILE__, __LINE__);                                                 \
            printf(__VA_ARGS__);                                                                   \
            putchar('\n');                                                                         \
            test_failures++;                                                                       \
        }                                                                                          \
    } while (0)

static inline char *test_folder(void) {
    char *folder = copy_text("/tmp/holdpoint-test.XXXXXX");
    if (!mkdtemp(folder)) {
        perror("mkdtemp in /tmp");
        exit(1);
    }
    return folder;
}

/* The path, which the caller frees. */
static inline char *test_write(const char *folder, const char *name, const void *bytes, size_t n) {
    char *path = format_text("%s/%s", folder, name);
    FILE *f = fopen(path, "we");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
    return path;
}

static inline char *test_write_text(const char *folder, const char *name, const char *text) {
    return test_write(folder, name, text, strlen(text));
}

#endif
