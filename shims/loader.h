/* Notice of objects that are loaded later, from the loader's own debugger breakpoint (design.md,
 * way 2). */
#ifndef HOLDPOINT_LOADER_H
#define HOLDPOINT_LOADER_H
/* `changed` is called under the loader's lock each time its list is consistent again, before
 * constructors run. */
void loader_start(void (*changed)(void));
#endif
