/* Errors for people: where, what, what to do. Collected so that one run shows all of them. */
#ifndef HOLDPOINT_COMPLAINTS_H
#define HOLDPOINT_COMPLAINTS_H

#include <stdbool.h>
#include <stddef.h>

struct complaints {
    char *text; /* all complaints so far, one a line, or NULL */
    int count;
};

/* Appends "file:line:column: message" (line 0: "file: message"; file NULL: "message"). */
void complain(struct complaints *c, const char *file, int line, int column, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Writes all of them to stderr, each after "holdpoint: ". */
void complaints_print(const struct complaints *c);
void complaints_clear(struct complaints *c);

/* The entry of `known` (n strings) nearest to `word` by edit distance, or NULL when none is near.
 */
const char *nearest_name(const char *word, const char *const *known, size_t n);
/* The same for the `want` nearest, best first, each once; how many there are. */
size_t nearest_names(const char *word, const char *const *known, size_t n, const char **best,
                     size_t want);

#endif
