/* `holdpoint hooks [PROGRAM]`: what can be hooked, and in a given program by which way. Reads files
 * only; never runs the program.
 */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "exit_status.h"
#include "hook_names.h"
#include "program.h"
#include "slots.h"

static const char help[] =
    "usage: holdpoint hooks [--all] [PROGRAM]\n"
    "\n"
    "Without PROGRAM: every hook, with the sides at which a point can be, what it can do and the\n"
    "attributes that a filter may look at. With PROGRAM: by which way each hook reaches it and, "
    "for\n"
    "call:MODULE!FUNCTION, how many functions of each module are called through how many "
    "relocation\n"
    "slots; with --all, every one of them.\n";

/* ---- all hooks ---- */

static void print_hooks(void) {
    printf("%-22s %-19s %-23s %-11s %s\n", "hook", "sides", "can", "attributes", "what it is");
    for (int i = 0; i < HOOK_COUNT; i++) {
        const struct hook_name *h = &hook_names[i];
        char sides[32], can[40];
        snprintf(sides, sizeof sides, "%s%s%s", strchr(h->sides, 'E') ? "enter " : "",
                 strchr(h->sides, 'R') ? "return " : "", strchr(h->sides, 'A') ? "asleep" : "");
        snprintf(can, sizeof can, "%s%s%s%s", hook_has_trait(i, 'C') ? "within " : "",
                 hook_has_trait(i, 'F') ? "fail " : "", hook_has_trait(i, 'B') ? "drop repeat" : "",
                 hook_has_trait(i, 'S') ? "short sever" : "");
        printf("%-22s %-19s %-23s %-11s %s\n", i == HOOK_CALL ? "call:MODULE!FUNCTION" : h->name,
               sides, can, h->attributes, h->what);
    }
    printf("\nattributes:\n");
    for (int i = 0; i < ATTR_COUNT; i++)
        printf("  %-10s %s\n", attribute_names[i].name, attribute_names[i].what);
}

/* ---- one program ---- */

struct modules {
    struct module_slots *m; /* in the loader's order, the program first */
    size_t n;
    bool missing;
};

static void add_module(const char *name, const char *path, void *data) {
    struct modules *all = data;
    if (!*path) {
        fprintf(stderr,
                "holdpoint hooks: the loader does not find %s: set LD_LIBRARY_PATH as the program "
                "will have it\n",
                name);
        all->missing = true;
        return;
    }
    all->m = allocate_again(all->m, all->n + 1, sizeof *all->m);
    if (slots_read(path, &all->m[all->n]))
        all->n++;
    else
        slots_free(&all->m[all->n]);
}

static void free_modules(struct modules *all) {
    for (size_t i = 0; i < all->n; i++)
        slots_free(&all->m[i]);
    free(all->m);
}

/* The module whose definition the loader takes: the first in its order. */
static const struct module_slots *definer(const struct modules *all, const char *function) {
    for (size_t i = 0; i < all->n; i++)
        if (slots_exports(&all->m[i], function))
            return &all->m[i];
    return NULL;
}

/* How a hook other than call: gets control of this program. */
static void print_way(const struct modules *all, int hook) {
    const struct hook_name *h = &hook_names[hook];
    const struct module_slots *by = *h->function ? definer(all, h->function) : NULL;
    printf("%-22s ", h->name);
    if (!*h->function)
        printf("%s\n", h->way);
    else if (by)
        printf("%s (defined in %s)\n", h->way, by->file);
    else
        printf("%s, once a module that has %s is loaded: none of the program's own has it\n",
               h->way, h->function);
}

static const struct slot_import *import_of(const struct module_slots *m, const char *function) {
    size_t low = 0, high = m->n_imports;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(m->import[middle].name, function);
        if (order == 0)
            return &m->import[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static void print_functions(const struct modules *all, const struct module_slots *by) {
    for (size_t e = 0; e < by->n_exported; e++) {
        const char *function = by->exported[e];
        bool named = false;
        if (e && strcmp(function, by->exported[e - 1]) == 0)
            continue; /* another version of the same */
        for (size_t i = 0; i < all->n; i++) {
            const struct slot_import *s = import_of(&all->m[i], function);
            if (!s || definer(all, function) != by)
                continue;
            if (!named)
                printf("call:%s!%s", by->file, function);
            named = true;
            printf("  %s %u", all->m[i].file, s->slots);
        }
        if (named)
            putchar('\n');
    }
}

static void print_module(const struct modules *all, const struct module_slots *by) {
    size_t functions = 0, slots = 0;
    unsigned callers = 0;
    AUTO_TEXT names = copy_text("");
    for (size_t i = 0; i < all->n; i++) {
        size_t of_caller = 0;
        for (size_t k = 0; k < all->m[i].n_imports; k++) {
            if (definer(all, all->m[i].import[k].name) != by)
                continue;
            of_caller++;
            slots += all->m[i].import[k].slots;
        }
        functions += of_caller;
        if (!of_caller || ++callers > 4)
            continue;
        char *longer =
            format_text("%s%s%s (%zu)", names, *names ? ", " : "", all->m[i].file, of_caller);
        free(names);
        names = longer;
    }
    if (functions)
        printf("  %-28s %5zu slots, called from %s%s\n", by->file, slots, names,
               callers > 4 ? " and others" : "");
}

static int print_program(const char *name, bool list_all) {
    struct program p;
    char problem[512];
    struct modules all = {NULL, 0, false};
    program_look(name, &p);
    if (program_problem(&p, problem, sizeof problem)) {
        fprintf(stderr, "holdpoint hooks: nothing can be hooked: %s\n", problem);
        return EXIT_CANNOT_TELL;
    }
    if (p.kind == PROGRAM_SCRIPT) {
        printf("%s is a script that runs by %s. The real program that it starts is hooked with "
               "`follow:` "
               "in the plan; look at that one.\n",
               p.path, p.interpreter);
        return 0;
    }
    add_module(p.path, p.path, &all);
    if (!program_libraries(&p, add_module, &all))
        all.missing = true;
    if (!list_all) {
        printf("%s: dynamically linked, x86-64, %zu modules\n", p.path, all.n);
        for (int i = 0; i < HOOK_COUNT; i++)
            if (i != HOOK_CALL)
                print_way(&all, i);
        printf("%-22s %s\n", "call:MODULE!FUNCTION", hook_names[HOOK_CALL].way);
    }
    for (size_t i = 0; i < all.n; i++) {
        if (list_all)
            print_functions(&all, &all.m[i]);
        else
            print_module(&all, &all.m[i]);
    }
    int status = all.missing ? EXIT_CANNOT_TELL : 0;
    free_modules(&all);
    return status;
}

int cmd_hooks(int argc, char **argv) {
    bool list_all = false;
    const char *name = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(help, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--all") == 0)
            list_all = true;
        else if (argv[i][0] != '-' && !name)
            name = argv[i];
        else {
            fprintf(stderr, "holdpoint hooks: %s: not understood\n%s", argv[i], help);
            return EXIT_USAGE;
        }
    }
    if (name)
        return print_program(name, list_all);
    print_hooks();
    return 0;
}
