/* Command lines: see command_line.h. */
#include "command_line.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"

char *command_line_word(const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    if (*word && !word[strspn(word, plain)])
        return copy_text(word);
    /* Within '…' all stands for itself but the quote. */
    char *quoted = allocate(4 * strlen(word) + 3, 1), *to = quoted;
    *to++ = '\'';
    for (; *word; word++)
        to = *word == '\'' ? stpcpy(to, "'\\''") : (*to = *word, to + 1);
    stpcpy(to, "'");
    return quoted;
}

void command_line_add(char **line, const char *word) {
    AUTO_TEXT quoted = command_line_word(word);
    char *longer = format_text("%s%s%s", *line, **line ? " " : "", quoted);
    free(*line);
    *line = longer;
}

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char **command_line_of_rank(char **argv) {
    for (int i = 0; argv && argv[i]; i++) {
        const char *name = file_name(argv[i]);
        bool both = strcmp(name, "holdpoint") == 0 && argv[i + 1] && !strcmp(argv[i + 1], "rank");
        if (i == 0 || (!both && strcmp(name, "holdpoint-rank") != 0))
            continue;
        char **command = argv + i + (both ? 2 : 1);
        return *command && strcmp(*command, "--") == 0 ? command + 1 : command;
    }
    return NULL;
}
