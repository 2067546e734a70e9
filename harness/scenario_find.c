/* Where scenarios lie: by path, or by name in a folder `scenarios`. Reads folders only; runner
 * only. */
#include "scenario.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"
#include "parts.h"

static bool is_scenario(const char *dir) {
    AUTO_TEXT file = format_text("%s/scenario.yaml", dir);
    return access(file, F_OK) == 0;
}

/* The folders to look in, first come first served; NULL after the last. Freed by free_roots. */
enum { ROOTS = 3 };
struct roots {
    char *folder[ROOTS];
};

static struct roots find_roots(void) {
    AUTO_TEXT own = parts_folder();
    const char *folder = own ? own : "";
    return (struct roots){{copy_text("scenarios"), format_text("%s/../scenarios", folder),
                           format_text("%s/../share/holdpoint/scenarios", folder)}};
}

static void free_roots(struct roots *roots) {
    for (int i = 0; i < ROOTS; i++)
        free(roots->folder[i]);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool listed(char *const *names, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

char **scenario_names(size_t *n) {
    __attribute__((cleanup(free_roots))) struct roots roots = find_roots();
    char **names = NULL;
    *n = 0;
    for (int i = 0; i < ROOTS; i++) {
        DIR *folder = opendir(roots.folder[i]);
        for (struct dirent *entry; folder && (entry = readdir(folder));) {
            AUTO_TEXT path = format_text("%s/%s", roots.folder[i], entry->d_name);
            if (entry->d_name[0] == '.' || !is_scenario(path) || listed(names, *n, entry->d_name))
                continue;
            names = allocate_again(names, *n + 1, sizeof *names);
            names[(*n)++] = copy_text(entry->d_name);
        }
        if (folder)
            closedir(folder);
    }
    if (*n)
        qsort(names, *n, sizeof *names, by_name);
    return names;
}

static void complain_of(const char *name, struct complaints *c) {
    size_t n;
    char **names = scenario_names(&n);
    const char *near = nearest_name(name, (const char *const *)names, n);
    char *all = copy_text("");
    for (size_t i = 0; i < n; i++) {
        char *longer = format_text("%s%s%s", all, i ? ", " : "", names[i]);
        free(all);
        all = longer;
    }
    if (strchr(name, '/'))
        complain(c, name, 0, 0, "holds no scenario.yaml: name a scenario's folder");
    else if (near)
        complain(c, NULL, 0, 0, "there is no scenario '%s'; did you mean %s?", name, near);
    else
        complain(c, NULL, 0, 0, "there is no scenario '%s'; there is %s", name,
                 n ? all : "none: no folder `scenarios` was found");
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    free(all);
}

char *scenario_find(const char *name_or_path, struct complaints *c) {
    __attribute__((cleanup(free_roots))) struct roots roots = find_roots();
    for (int i = 0; *name_or_path && !strchr(name_or_path, '/') && i < ROOTS; i++) {
        char *path = format_text("%s/%s", roots.folder[i], name_or_path);
        if (is_scenario(path))
            return path;
        free(path);
    }
    if (*name_or_path && is_scenario(name_or_path))
        return copy_text(name_or_path);
    complain_of(name_or_path, c);
    return NULL;
}
