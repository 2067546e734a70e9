/* Progress of anything that takes longer than a second, on stderr: one line that is written over on
 * a terminal, otherwise a plain line every 10 s. One at a time; runner, one thread. */
#ifndef HOLDPOINT_PROGRESS_H
#define HOLDPOINT_PROGRESS_H

void progress_begin(const char *text);

/* `fraction` 0 to 1, or -1: as before (nothing said yet: unknown). `text`: what is being done now,
 * or NULL: as before. Cheap, and without effect when no progress was begun. */
void progress_update(double fraction, const char *text);

/* Takes the line off the terminal. */
void progress_end(void);

#endif
