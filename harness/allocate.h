/* Memory for the runner: a failed allocation ends the program with a sentence, so callers need not
 * check. Not for the shim or holdpoint-rank. Any thread. */
#ifndef HOLDPOINT_ALLOCATE_H
#define HOLDPOINT_ALLOCATE_H

#include <stdarg.h>
#include <stddef.h>

void *allocate(size_t n, size_t size) __attribute__((returns_nonnull)); /* zeroed */
void *allocate_again(void *memory, size_t n, size_t size) __attribute__((returns_nonnull));
char *copy_text(const char *text);
char *copy_part(const char *text, size_t length);
char *format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *format_arguments(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

void free_text_at(char **text); /* for AUTO_TEXT */
#define AUTO_TEXT __attribute__((cleanup(free_text_at))) char *

#endif
