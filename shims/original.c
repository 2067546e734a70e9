/* Finding the functions that our hooks stand before. */
#include "original.h"

#include <dlfcn.h>
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

void original_find_all(struct original *all, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (all[i].version)
            all[i].found = dlvsym(RTLD_NEXT, all[i].name, all[i].version);
        if (!all[i].found)
            all[i].found = original_find(all[i].name, NULL);
    }
    for (size_t i = 0; i < n; i++)
        if (all[i].found)
            __atomic_store_n(all[i].pointer, all[i].found, __ATOMIC_RELEASE);
}

void original_start(void) {
    vfork_original = original_find("vfork", NULL);
}
