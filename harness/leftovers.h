/* What a trial's processes may leave on the machine besides its folder: files below its own TMPDIR,
 * and files in /dev/shm that were not there before and that one of its processes was seen to have
 * mapped, or open with nothing written to them. Nothing else is ever removed. */
#ifndef HOLDPOINT_LEFTOVERS_H
#define HOLDPOINT_LEFTOVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tree.h"

enum { LEFTOVERS_MAX = 256 };

struct shared_file {
    char name[256];
    dev_t device;
    ino_t inode;
    bool mapped; /* or only seen open */
};
struct leftovers {
    char *temp_dir; /* the trial's own TMPDIR, not owned; NULL: none */
    struct shared_file file[LEFTOVERS_MAX];
    size_t n;
    ino_t *before; /* files of /dev/shm that were there before the trial */
    size_t n_before;
};

/* Looks at what is there before the trial begins. */
void leftovers_begin(struct leftovers *l, char *temp_dir);
void leftovers_free(struct leftovers *l);

/* Makes the trial's TMPDIR: DIR/tmp, or a folder with a short name where DIR is too long for the
 * Unix sockets that launchers put there. NULL: could not, errno says why. Free with free(). */
char *leftovers_make_temp(const char *dir);

/* Remembers which files of /dev/shm the processes of `t` have mapped or open. */
void leftovers_note(struct leftovers *l, const struct tree *t);

/* Removes the TMPDIR, and the remembered files that nobody uses any more. For when the tree has
 * ended. */
void leftovers_remove(struct leftovers *l);

#endif
