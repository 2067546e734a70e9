/* Memory for the runner: see allocate.h. */
#include "allocate.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory) {
    if (!memory) {
        fputs("holdpoint: out of memory; end other programs and try again\n", stderr);
        abort();
    }
    return memory;
}

void *allocate(size_t n, size_t size) {
    return checked(calloc(n ? n : 1, size));
}

void *allocate_again(void *memory, size_t n, size_t size) {
    return checked(n > SIZE_MAX / size ? NULL : realloc(memory, (n ? n : 1) * size));
}

char *copy_text(const char *text) {
    return checked(strdup(text));
}

char *copy_part(const char *text, size_t length) {
    return checked(strndup(text, length));
}

char *format_arguments(const char *format, va_list arguments) {
    char *text = NULL;
    return checked(vasprintf(&text, format, arguments) < 0 ? NULL : text);
}

char *format_text(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = format_arguments(format, arguments);
    va_end(arguments);
    return text;
}

void free_text_at(char **text) {
    free(*text);
}
