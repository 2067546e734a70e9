/* The environment that descendants get which are no ranks: without what holdpoint put there. Called
 * also in fork and vfork children: no allocation. */
#include "process.h"

#include <string.h>

size_t process_count_environment(char *const *envp) {
    size_t n = 0;
    while (envp && envp[n])
        n++;
    return n;
}

static bool is_ours(const char *entry) {
    return !strncmp(entry, BOARD_ENV_PATH "=", sizeof BOARD_ENV_PATH) ||
           !strncmp(entry, BOARD_ENV_SLOT "=", sizeof BOARD_ENV_SLOT) ||
           !strncmp(entry, BOARD_ENV_RANK "=", sizeof BOARD_ENV_RANK);
}

/* holdpoint-rank writes [sanitizer runtime:]libholdpoint.so[:the user's]. What stands before the
 * shim went in with it and goes out with it. */
bool process_clean_preload(const char *preload, char *out, size_t room) {
    const char *ours = strstr(preload, "libholdpoint.so");
    const char *rest = ours ? ours + strlen("libholdpoint.so") : preload;
    rest += strspn(rest, ": ");
    if (!*rest || strlen(rest) >= room)
        return false;
    memcpy(out, rest, strlen(rest) + 1);
    return true;
}

char *const *process_clean_environment(char *const *envp, char **out, size_t n_out, char *preload,
                                       size_t preload_bytes) {
    static const char name[] = "LD_PRELOAD=";
    size_t n = 0;
    for (size_t i = 0; envp && envp[i]; i++) {
        if (n + 1 >= n_out)
            return envp;
        if (is_ours(envp[i]))
            continue;
        if (strncmp(envp[i], name, sizeof name - 1)) {
            out[n++] = envp[i];
            continue;
        }
        memcpy(preload, name, sizeof name - 1);
        if (process_clean_preload(envp[i] + sizeof name - 1, preload + sizeof name - 1,
                                  preload_bytes - (sizeof name - 1)))
            out[n++] = preload;
    }
    out[n] = NULL;
    return out;
}
