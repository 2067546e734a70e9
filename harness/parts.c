/* Where holdpoint's own parts lie. Runs in the runner. */
#include "parts.h"
#include "allocate.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *parts_folder(void) {
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return NULL;
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    return copy_text(path);
}

char *parts_find(const char *name) {
    /* The build folder; an installation; a unit test, which lies two folders below the build
     * folder. */
    static const char *const places[] = {"", "/../lib/holdpoint", "/../.."};
    char *folder = parts_folder(), *found = NULL;
    for (size_t i = 0; folder && !found && i < sizeof places / sizeof *places; i++) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%s%s/%s", folder, places[i], name);
        if (n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0)
            found = realpath(path, NULL);
    }
    free(folder);
    return found;
}
