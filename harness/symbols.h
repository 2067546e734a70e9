/* From a module's file and an offset in it to function, file and line; and a file's build-id. Reads
 * ELF and DWARF through elfutils; never runs another program and never asks the network. One owner,
 * one thread.
 */
#ifndef HOLDPOINT_SYMBOLS_H
#define HOLDPOINT_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct symbols; /* the modules that were opened so far */

struct symbols *symbols_open(void);
void symbols_close(struct symbols *s);

/* `offset` is the address less the module's load bias. `is_call`: it is a return address, so the
 * frame is at the call before it. Function (demangled) and source ("file:line", NULL when there is
 * no line information) are the caller's to free. False: no symbol covers the offset, or the file
 * cannot be read. */
bool symbols_find(struct symbols *s, const char *path, uint64_t offset, bool is_call,
                  char **function, char **source);

/* Lower-case hexadecimal, the caller's to free; NULL: the file has none or cannot be read. */
char *symbols_build_id(const char *path);

#endif
