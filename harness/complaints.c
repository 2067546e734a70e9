/* Errors for people, collected so that one run shows all of them, and the nearest name to a
 * misspelt one. Runs in the runner's main thread. Never exits: the caller decides. */
#include "complaints.h"

#include "allocate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 60, LONGEST_NAME = 200 }; /* a file with a thousand mistakes is told of the first */

/* Whether `line`, which ends with a newline, is one of the lines of `text`. */
static bool said_before(const char *text, const char *line) {
    for (const char *at = text; at && (at = strstr(at, line)); at++)
        if (at == text || at[-1] == '\n')
            return true;
    return false;
}

void complain(struct complaints *c, const char *file, int line, int column, const char *format,
              ...) {
    char where[64] = "";
    if (file && line > 0 && column > 0)
        snprintf(where, sizeof where, ":%d:%d", line, column);
    else if (file && line > 0)
        snprintf(where, sizeof where, ":%d", line);

    va_list arguments;
    va_start(arguments, format);
    AUTO_TEXT message = format_arguments(format, arguments);
    va_end(arguments);

    AUTO_TEXT said = format_text("%s%s%s%s\n", file ? file : "", where, file ? ": " : "", message);
    if (said_before(c->text, said) || c->count++ >= SHOWN)
        return;
    char *all = format_text("%s%s", c->text ? c->text : "", said);
    free(c->text);
    c->text = all;
}

void complaints_print(const struct complaints *c) {
    for (const char *line = c->text; line && *line;) {
        const char *end = strchr(line, '\n');
        fprintf(stderr, "holdpoint: %.*s\n", (int)(end - line), line);
        line = end + 1;
    }
    if (c->count > SHOWN)
        fprintf(stderr, "holdpoint: and %d more; mend these first\n", c->count - SHOWN);
}

void complaints_clear(struct complaints *c) {
    free(c->text);
    *c = (struct complaints){0};
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b (optimal string
 * alignment). */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    size_t row[3][LONGEST_NAME + 1];
    for (size_t j = 0; j <= b_length; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *now = row[i % 3], *above = row[(i + 2) % 3], *twice_above = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = least(replaced, least(above[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], twice_above[j - 2] + 1);
        }
    }
    return row[a_length % 3][b_length];
}

static bool listed(const char *word, const char **best, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(best[i], word) == 0)
            return true;
    return false;
}

size_t nearest_names(const char *word, const char *const *known, size_t n, const char **best,
                     size_t want) {
    enum { MOST = 8 };
    size_t distance[MOST], found = 0, length = strlen(word);
    size_t far = 1 + length / 3; /* further apart than this, it is another word */
    want = least(want, MOST);
    if (length > LONGEST_NAME)
        return 0;
    for (size_t k = 0; k < n; k++) {
        size_t known_length = strlen(known[k]);
        if (known_length > LONGEST_NAME || known_length > length + far ||
            length > known_length + far || listed(known[k], best, found))
            continue;
        size_t d = edit_distance(word, length, known[k], known_length);
        if (d > far)
            continue;
        size_t at = found;
        while (at > 0 && distance[at - 1] > d)
            at--;
        if (at >= want)
            continue;
        size_t last = found < want ? found++ : want - 1;
        for (; last > at; last--) {
            distance[last] = distance[last - 1];
            best[last] = best[last - 1];
        }
        distance[at] = d;
        best[at] = known[k];
    }
    return found;
}

const char *nearest_name(const char *word, const char *const *known, size_t n) {
    const char *best[1];
    return nearest_names(word, known, n, best, 1) ? best[0] : NULL;
}
