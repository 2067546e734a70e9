/* A program and its needed modules: see closure.h. libelf reads the files; the search for a module
 * follows the loader's order in short (RPATH or RUNPATH, LD_LIBRARY_PATH, ld.so.conf, the default
 * folders). */
#include "closure.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <glob.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"

enum { MOST_MODULES = 512, MOST_FOLDERS = 256 };

struct module {
    char *path, *name; /* name: the file name by which it is needed */
    Elf *elf;
    int fd;
    char *run_path; /* with $ORIGIN replaced, or NULL */
};
struct closure {
    struct module module[MOST_MODULES];
    size_t n;
    char *folder[MOST_FOLDERS]; /* of ld.so.conf, then the defaults */
    size_t n_folders;
    bool gaps, loads_more;
};

/* ---- where modules lie ---- */

static void add_folder(struct closure *c, const char *folder) {
    if (c->n_folders < MOST_FOLDERS)
        c->folder[c->n_folders++] = copy_text(folder);
}

static void read_loader_config(struct closure *c, const char *file, int depth);

static void include_config(struct closure *c, const char *pattern, int depth) {
    AUTO_TEXT whole = format_text("%s%s", *pattern == '/' ? "" : "/etc/", pattern);
    glob_t found;
    if (glob(whole, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        read_loader_config(c, found.gl_pathv[i], depth + 1);
    globfree(&found);
}

static void read_loader_config(struct closure *c, const char *file, int depth) {
    FILE *f = depth < 4 ? fopen(file, "re") : NULL;
    char line[4096], word[4096];
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "#\n")] = 0;
        if (sscanf(line, " include %4095s", word) == 1)
            include_config(c, word, depth);
        else if (sscanf(line, " %4095s", word) == 1)
            add_folder(c, word);
    }
    if (f)
        fclose(f);
}

static char *in_folder(const char *folder, size_t length, const char *name) {
    char *path = format_text("%.*s/%s", (int)length, folder, name);
    if (length > 0 && access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

/* `list`: folders between colons, or NULL. */
static char *in_list(const char *list, const char *name) {
    while (list && *list) {
        size_t length = strcspn(list, ":");
        char *path = in_folder(list, length, name);
        if (path)
            return path;
        list += length + (list[length] == ':');
    }
    return NULL;
}

static char *find_module(const struct closure *c, const struct module *needed_by,
                         const char *name) {
    if (strchr(name, '/'))
        return access(name, R_OK) == 0 ? copy_text(name) : NULL;
    char *path = in_list(needed_by->run_path, name);
    if (!path)
        path =
            in_list(c->module[0].run_path, name); /* an RPATH of the program serves its libraries */
    if (!path)
        path = in_list(getenv("LD_LIBRARY_PATH"), name);
    for (size_t i = 0; !path && i < c->n_folders; i++)
        path = in_folder(c->folder[i], strlen(c->folder[i]), name);
    return path;
}

/* ---- reading a module ---- */

static char *replace_origin(const char *list, const char *path) {
    const char *slash = strrchr(path, '/');
    AUTO_TEXT folder = slash ? copy_part(path, (size_t)(slash - path)) : copy_text(".");
    char *done = copy_text("");
    while (*list) {
        size_t origin = strncmp(list, "$ORIGIN", 7) == 0     ? 7
                        : strncmp(list, "${ORIGIN}", 9) == 0 ? 9
                                                             : 0;
        char *longer =
            origin ? format_text("%s%s", done, folder) : format_text("%s%c", done, *list);
        free(done);
        done = longer;
        list += origin ? origin : 1;
    }
    return done;
}

static Elf_Scn *section_of_type(Elf *elf, GElf_Word type, GElf_Shdr *header) {
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, header) && header->sh_type == type)
            return section;
    return NULL;
}

static bool is_ours(Elf *elf) {
    GElf_Ehdr header;
    return elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
           header.e_machine == EM_X86_64 && (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

static bool add_module(struct closure *c, const char *path) {
    if (c->n == MOST_MODULES)
        return false;
    struct module *m = &c->module[c->n];
    *m = (struct module){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (m->fd < 0)
        return false;
    m->elf = elf_begin(m->fd, ELF_C_READ_MMAP, NULL);
    if (!is_ours(m->elf)) {
        elf_end(m->elf);
        close(m->fd);
        return false;
    }
    const char *slash = strrchr(path, '/');
    m->path = copy_text(path);
    m->name = copy_text(slash ? slash + 1 : path);
    c->n++;
    return true;
}

static bool has_module_named(const struct closure *c, const char *name) {
    const char *slash = strrchr(name, '/');
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->module[i].name, slash ? slash + 1 : name) == 0)
            return true;
    return false;
}

static void add_needed(struct closure *c, const struct module *by, const char *name) {
    if (!name || has_module_named(c, name))
        return;
    AUTO_TEXT path = find_module(c, by, name);
    if (!path || !add_module(c, path))
        c->gaps = true;
}

/* The run path first: it says where the needed ones lie. */
static void read_dynamic(struct closure *c, size_t i) {
    GElf_Shdr header;
    GElf_Dyn entry;
    struct module *m = &c->module[i];
    Elf_Scn *section = section_of_type(m->elf, SHT_DYNAMIC, &header);
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    for (int k = 0; data && gelf_getdyn(data, k, &entry) && entry.d_tag != DT_NULL; k++)
        if (entry.d_tag == DT_RUNPATH || (entry.d_tag == DT_RPATH && !m->run_path)) {
            const char *list = elf_strptr(m->elf, header.sh_link, entry.d_un.d_val);
            free(m->run_path);
            m->run_path = list ? replace_origin(list, m->path) : NULL;
        }
    for (int k = 0; data && gelf_getdyn(data, k, &entry) && entry.d_tag != DT_NULL; k++)
        if (entry.d_tag == DT_NEEDED)
            add_needed(c, m, elf_strptr(m->elf, header.sh_link, entry.d_un.d_val));
}

/* ---- symbols ---- */

typedef bool symbol_visitor(const char *name, const GElf_Sym *symbol, void *into);

static void each_symbol(const struct module *m, GElf_Word table, symbol_visitor *visit,
                        void *into) {
    GElf_Shdr header;
    GElf_Sym symbol;
    Elf_Scn *section = section_of_type(m->elf, table, &header);
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    for (int k = 1; data && gelf_getsym(data, k, &symbol); k++) {
        const char *name = elf_strptr(m->elf, header.sh_link, symbol.st_name);
        if (name && *name && !visit(name, &symbol, into))
            return;
    }
}

/* A program that executes another one in its own place: taskset, env and the like. */
static bool look_for_exec(const char *name, const GElf_Sym *symbol, void *into) {
    static const char *const all[] = {"execl",  "execle",  "execlp",  "execv",   "execve",
                                      "execvp", "execvpe", "fexecve", "execveat"};
    bool *found = into;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *found |= symbol->st_shndx == SHN_UNDEF && strcmp(name, all[i]) == 0;
    return !*found;
}

static bool look_for_dlopen(const char *name, const GElf_Sym *symbol, void *into) {
    bool *found = into;
    *found = symbol->st_shndx == SHN_UNDEF &&
             (strcmp(name, "dlopen") == 0 || strcmp(name, "dlmopen") == 0);
    return !*found;
}

struct names {
    const char **name;
    size_t n, room;
    bool exported_only;
};

static bool collect_function(const char *name, const GElf_Sym *symbol, void *into) {
    struct names *all = into;
    int type = GELF_ST_TYPE(symbol->st_info), visibility = GELF_ST_VISIBILITY(symbol->st_other);
    bool function = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
    bool open_to_others = GELF_ST_BIND(symbol->st_info) != STB_LOCAL &&
                          (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
    if (!function || symbol->st_shndx == SHN_UNDEF || (all->exported_only && !open_to_others))
        return true;
    if (all->n == all->room) {
        all->room = all->room ? 2 * all->room : 1024;
        all->name = allocate_again(all->name, all->room, sizeof *all->name);
    }
    all->name[all->n++] = name;
    return true;
}

/* ---- public ---- */

static char *on_path(const char *program) {
    return strchr(program, '/') ? copy_text(program) : in_list(getenv("PATH"), program);
}

struct closure *closure_read(const char *program) {
    AUTO_TEXT path = on_path(program);
    elf_version(EV_CURRENT);
    struct closure *c = allocate(1, sizeof *c);
    if (!path || !add_module(c, path)) {
        closure_free(c);
        return NULL;
    }
    read_loader_config(c, "/etc/ld.so.conf", 0);
    static const char *const usual[] = {"/lib/x86_64-linux-gnu",
                                        "/usr/lib/x86_64-linux-gnu",
                                        "/lib64",
                                        "/usr/lib64",
                                        "/lib",
                                        "/usr/lib"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        add_folder(c, usual[i]);
    each_symbol(&c->module[0], SHT_DYNSYM, look_for_exec, &c->gaps);
    for (size_t i = 0; i < c->n; i++) { /* grows while it runs */
        read_dynamic(c, i);
        bool asks = false;
        if (fnmatch("libc.so.*", c->module[i].name, 0) != 0)
            each_symbol(&c->module[i], SHT_DYNSYM, look_for_dlopen, &asks);
        c->loads_more |= asks;
    }
    return c;
}

void closure_free(struct closure *c) {
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++) {
        elf_end(c->module[i].elf);
        close(c->module[i].fd);
        free(c->module[i].path);
        free(c->module[i].name);
        free(c->module[i].run_path);
    }
    for (size_t i = 0; i < c->n_folders; i++)
        free(c->folder[i]);
    free(c);
}

bool closure_has_gaps(const struct closure *c) {
    return c->gaps;
}

bool closure_loads_more(const struct closure *c) {
    return c->loads_more;
}

static bool is_meant(const struct closure *c, size_t i, const char *module_glob) {
    return (i == 0 && strcmp(module_glob, "PROGRAM") == 0) ||
           fnmatch(module_glob, c->module[i].name, 0) == 0 ||
           fnmatch(module_glob, c->module[i].path, 0) == 0;
}

bool closure_has_module(const struct closure *c, const char *module_glob) {
    for (size_t i = 0; i < c->n; i++)
        if (is_meant(c, i, module_glob))
            return true;
    return false;
}

const char *closure_stripped(const struct closure *c, const char *module_glob) {
    GElf_Shdr header;
    for (size_t i = 0; i < c->n; i++)
        if (is_meant(c, i, module_glob) && !section_of_type(c->module[i].elf, SHT_SYMTAB, &header))
            return c->module[i].path;
    return NULL;
}

size_t closure_functions(const struct closure *c, const char *module_glob, enum closure_which which,
                         const char ***names) {
    struct names all = {.exported_only = which == CLOSURE_EXPORTED};
    for (size_t i = 0; i < c->n; i++) {
        if (!is_meant(c, i, module_glob))
            continue;
        each_symbol(&c->module[i], SHT_DYNSYM, collect_function, &all);
        if (which == CLOSURE_ALL_FUNCTIONS)
            each_symbol(&c->module[i], SHT_SYMTAB, collect_function, &all);
    }
    *names = all.name;
    return all.n;
}
