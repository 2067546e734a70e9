/* Finding the functions that our hooks stand before. */
#include "original.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

/* Used by arch/x86_64/vfork.S. */
void *vfork_original __attribute__((visibility("hidden")));

void *original_find(const char *name, const char *library) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found || !library)
        return found;
    void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        return NULL;
    found = dlsym(handle, name);
    dlclose(handle); /* whoever loaded it keeps it: it is calling us */
    return found;
}

void original_start(void) {
    vfork_original = original_find("vfork", NULL);
}
