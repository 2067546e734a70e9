/* The relocation slots of one module's file. Runs in the runner; nothing is executed. */
#include "slots.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"

static int by_import(const void *a, const void *b) {
    return strcmp(((const struct slot_import *)a)->name, ((const struct slot_import *)b)->name);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_slot(unsigned long type) {
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
}

/* A slot may hold a function of another module, or one of the module's own that is looked up by
 * name. An undefined symbol has no type yet that could be trusted. */
static bool may_be_function(const GElf_Sym *s) {
    int type = GELF_ST_TYPE(s->st_info);
    return type == STT_FUNC || type == STT_GNU_IFUNC ||
           (s->st_shndx == SHN_UNDEF && type == STT_NOTYPE);
}

static void read_relocations(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
                             struct module_slots *m) {
    Elf_Scn *symbols = elf_getscn(elf, header->sh_link);
    Elf_Data *relocations = elf_getdata(section, NULL), *table = elf_getdata(symbols, NULL);
    GElf_Shdr symbols_header;
    if (!relocations || !table || !gelf_getshdr(symbols, &symbols_header) ||
        symbols_header.sh_type != SHT_DYNSYM || !header->sh_entsize)
        return;
    for (size_t i = 0; i < header->sh_size / header->sh_entsize; i++) {
        GElf_Rela r;
        GElf_Sym s;
        if (!gelf_getrela(relocations, (int)i, &r) || !is_slot(GELF_R_TYPE(r.r_info)) ||
            !GELF_R_SYM(r.r_info) || !gelf_getsym(table, (int)GELF_R_SYM(r.r_info), &s) ||
            !may_be_function(&s))
            continue;
        const char *name = elf_strptr(elf, symbols_header.sh_link, s.st_name);
        if (!name || !*name)
            continue;
        m->import = allocate_again(m->import, m->n_imports + 1, sizeof *m->import);
        m->import[m->n_imports++] = (struct slot_import){copy_text(name), 1};
    }
}

static void read_exports(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
                         struct module_slots *m) {
    Elf_Data *table = elf_getdata(section, NULL);
    for (size_t i = 0; table && header->sh_entsize && i < header->sh_size / header->sh_entsize;
         i++) {
        GElf_Sym s;
        if (!gelf_getsym(table, (int)i, &s) || s.st_shndx == SHN_UNDEF || !may_be_function(&s) ||
            GELF_ST_BIND(s.st_info) == STB_LOCAL)
            continue;
        const char *name = elf_strptr(elf, header->sh_link, s.st_name);
        if (!name || !*name)
            continue;
        m->exported = allocate_again(m->exported, m->n_exported + 1, sizeof *m->exported);
        m->exported[m->n_exported++] = copy_text(name);
    }
}

/* Several slots of one function become one entry that counts them. */
static void merge_imports(struct module_slots *m) {
    size_t kept = 0;
    if (m->n_imports)
        qsort(m->import, m->n_imports, sizeof *m->import, by_import);
    for (size_t i = 0; i < m->n_imports; i++) {
        if (kept && strcmp(m->import[kept - 1].name, m->import[i].name) == 0) {
            m->import[kept - 1].slots++;
            free(m->import[i].name);
        } else {
            m->import[kept++] = m->import[i];
        }
    }
    m->n_imports = kept;
}

bool slots_read(const char *path, struct module_slots *m) {
    *m = (struct module_slots){.path = copy_text(path)};
    m->file = strrchr(m->path, '/') ? strrchr(m->path, '/') + 1 : m->path;
    elf_version(EV_CURRENT);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
    bool good = elf && elf_kind(elf) == ELF_K_ELF;
    for (Elf_Scn *section = NULL; good && (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        if (header.sh_type == SHT_RELA)
            read_relocations(elf, section, &header, m);
        else if (header.sh_type == SHT_DYNSYM)
            read_exports(elf, section, &header, m);
    }
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    merge_imports(m);
    if (m->n_exported)
        qsort(m->exported, m->n_exported, sizeof *m->exported, by_text);
    return good;
}

void slots_free(struct module_slots *m) {
    for (size_t i = 0; i < m->n_imports; i++)
        free(m->import[i].name);
    for (size_t i = 0; i < m->n_exported; i++)
        free(m->exported[i]);
    free(m->import);
    free(m->exported);
    free(m->path);
    *m = (struct module_slots){0};
}

bool slots_exports(const struct module_slots *m, const char *function) {
    return m->n_exported &&
           bsearch(&function, m->exported, m->n_exported, sizeof *m->exported, by_text);
}
