/* A program and its needed modules: see closure.h. The program's own loader says which they are;
 * libelf reads them. */
#include "closure.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"
#include "program.h"

enum { MOST_MODULES = 512 };

struct module {
    char *path, *name; /* name: of the file */
    Elf *elf;
    int fd;
};
struct closure {
    struct module module[MOST_MODULES];
    size_t n;
    bool gaps, loads_more;
};

/* ---- the modules ---- */

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

static void add_library(const char *name, const char *path, void *data) {
    struct closure *c = data;
    (void)name;
    if (!*path || !add_module(c, path))
        c->gaps = true;
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

struct closure *closure_read(const char *program) {
    struct program p;
    struct closure *c = allocate(1, sizeof *c);
    elf_version(EV_CURRENT);
    program_look(program, &p);
    if (!add_module(c, p.path)) {
        closure_free(c);
        return NULL;
    }
    if (p.kind == PROGRAM_DYNAMIC && !program_libraries(&p, add_library, c))
        c->gaps = true;
    each_symbol(&c->module[0], SHT_DYNSYM, look_for_exec, &c->gaps);
    for (size_t i = 0; i < c->n; i++) {
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
    }
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
