/* Lines and stack frames of logs; see log_text.h. */
#include "log_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"

/* ---- lines ---- */

size_t log_line_start(const char *bytes, size_t at) {
    while (at > 0 && bytes[at - 1] != '\n')
        at--;
    return at;
}

/* "[1,3]<stderr>:" or "[prterun-host-12@1,3]<stderr>: " (Open MPI 4 and 5). */
static void take_tag(struct log_line *line) {
    line->tag_rank = -1;
    char *close = strchr(line->text, ']');
    if (line->text[0] != '[' || !close || strncmp(close, "]<std", 5) != 0)
        return;
    char *colon = strchr(close, ':'), *comma = close;
    while (comma > line->text && *comma != ',')
        comma--;
    if (!colon || *comma != ',')
        return;
    line->tag_rank = (int)strtol(comma + 1, NULL, 10);
    char *rest = colon[1] == ' ' ? colon + 2 : colon + 1;
    memmove(line->text, rest, strlen(rest) + 1);
}

bool log_next_line(const char *bytes, size_t n, size_t *at, struct log_line *line) {
    if (*at >= n)
        return false;
    const char *end = memchr(bytes + *at, '\n', n - *at);
    size_t stop = end ? (size_t)(end - bytes) : n, used = 0;
    for (size_t i = *at; i < stop && used < sizeof line->text - 1; i++)
        if ((unsigned char)bytes[i] >= ' ' || bytes[i] == '\t')
            line->text[used++] = bytes[i];
    line->text[used] = 0;
    *at = stop + 1;
    take_tag(line);
    return true;
}

/* ---- frames ---- */

static const char *skip_spaces(const char *s) {
    return s + strspn(s, " \t");
}

static void cut_spaces(char *s) {
    size_t n = strlen(s);
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
        s[--n] = 0;
}

/* Takes " (BuildId: …)" off the end. */
static void cut_build_id(char *s) {
    char *at = strstr(s, " (BuildId: ");
    if (at)
        *at = 0;
}

/* Takes "(module+0xoff)" off the end; one with a path is kept before one without. */
static bool cut_module(char *s, struct finding_frame *f) {
    cut_spaces(s);
    size_t n = strlen(s);
    char *open = n && s[n - 1] == ')' ? strrchr(s, '(') : NULL;
    char *plus = open ? strrchr(open, '+') : NULL;
    if (!plus || plus == open + 1 || strncmp(plus, "+0x", 3) != 0 || (open > s && open[-1] != ' '))
        return false;
    char *end;
    uint64_t offset = strtoull(plus + 1, &end, 16);
    if (strcmp(end, ")") != 0)
        return false;
    if (!f->module || *f->module != '/') {
        free(f->module);
        f->module = copy_part(open + 1, (size_t)(plus - open - 1));
        f->offset = offset;
    }
    *open = 0;
    return true;
}

/* "file.c:12" or "file.c:12:3" */
static bool is_place(const char *s) {
    size_t n = strlen(s), digits = 0;
    while (n && isdigit((unsigned char)s[n - 1]))
        n--, digits++;
    return digits && n > 1 && s[n - 1] == ':';
}

/* Takes the source off the end: the last word, when it looks like one. The column is dropped. */
static void cut_source(char *s, struct finding_frame *f) {
    cut_spaces(s);
    char *space = strrchr(s, ' ');
    char *word = space ? space + 1 : s;
    if (strcmp(word, "<null>") == 0) {
        *word = 0;
    } else if (is_place(word)) {
        char *colon = strrchr(word, ':');
        AUTO_TEXT shorter = copy_part(word, (size_t)(colon - word));
        f->source = copy_text(is_place(shorter) ? shorter : word);
        *word = 0;
    } else if (*word == '/') {
        f->source = copy_text(word);
        *word = 0;
    }
    cut_spaces(s);
}

int log_sanitizer_frame(const char *text, struct finding_frame *f) {
    text = skip_spaces(text);
    if (*text != '#' || !isdigit((unsigned char)text[1]))
        return -1;
    char *end;
    long number = strtol(text + 1, &end, 10);
    const char *rest = skip_spaces(end);
    if (rest == end)
        return -1;
    if (strncmp(rest, "0x", 2) == 0) {
        strtoull(rest, &end, 16);
        rest = skip_spaces(end);
    }
    if (strncmp(rest, "in ", 3) == 0)
        rest += 3;
    memset(f, 0, sizeof *f);
    AUTO_TEXT line = copy_text(rest);
    cut_build_id(line);
    while (cut_module(line, f))
        ;
    cut_source(line, f);
    if (*line)
        f->function = copy_text(line);
    return (int)number;
}

int log_backtrace_frame(const char *text, struct finding_frame *f) {
    text = skip_spaces(text);
    const char *host_end = *text == '[' ? strstr(text, "] ") : NULL;
    if (host_end && memchr(text, ':', (size_t)(host_end - text)))
        text = skip_spaces(host_end + 2);
    text += *text == '[';
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || number < 0)
        return -1;
    end += *end == ']';
    const char *module = skip_spaces(end), *open = strchr(module, '(');
    const char *close = open ? strchr(open, ')') : NULL, *plus = open ? strchr(open, '+') : NULL;
    if (module == end || !close || !plus || plus > close || !strstr(close, "[0x"))
        return -1;
    memset(f, 0, sizeof *f);
    f->module = copy_part(module, (size_t)(open - module));
    if (plus > open + 1) /* the offset is in the function, not in the module */
        f->function = copy_part(open + 1, (size_t)(plus - open - 1));
    else
        f->offset = strtoull(plus + 1, NULL, 16);
    return (int)number;
}
