/* Command lines as people read them, and as their shell reads them back. Runner only. */
#ifndef HOLDPOINT_COMMAND_LINE_H
#define HOLDPOINT_COMMAND_LINE_H

/* A word as a shell takes it back unchanged, in quotes only where it needs them; the caller's to
 * free. */
char *command_line_word(const char *word);

/* Adds a word, quoted, to a line that allocate.h made. */
void command_line_add(char **line, const char *word);

/* Where in this command line the command of a rank stands, behind `holdpoint rank` or
 * holdpoint-rank; NULL: it starts no rank itself. */
char **command_line_of_rank(char **argv);

#endif
