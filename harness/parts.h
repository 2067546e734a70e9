/* Where holdpoint's own parts lie, found from where this program lies. */
#ifndef HOLDPOINT_PARTS_H
#define HOLDPOINT_PARTS_H

/* Path of "holdpoint-rank", "libholdpoint.so" and so on: beside this program, or where `make
 * install` puts it. NULL: it is in neither place. Free with free(). */
char *parts_find(const char *name);

/* Folder of this program. Free with free(). */
char *parts_folder(void);

#endif
