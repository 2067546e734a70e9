/* Symbols by elfutils (libdwfl); see symbols.h. Separate debug information is looked for by
 * build-id on this machine only: libdwfl's standard look-up would ask a debuginfod server, so it is
 * not used.
 */
#include "symbols.h"

#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"

struct module {
    char *path;
    Dwfl *dwfl;
    Dwfl_Module *module; /* NULL: cannot be read */
    GElf_Addr bias;
};

struct symbols {
    struct module *module;
    int n;
};

static const Dwfl_Callbacks callbacks = {
    .find_elf = NULL, /* modules are reported by file */
    .find_debuginfo = dwfl_build_id_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

struct symbols *symbols_open(void) {
    return allocate(1, sizeof(struct symbols));
}

void symbols_close(struct symbols *s) {
    if (!s)
        return;
    for (int i = 0; i < s->n; i++) {
        dwfl_end(s->module[i].dwfl);
        free(s->module[i].path);
    }
    free(s->module);
    free(s);
}

static void open_module(struct module *m) {
    m->dwfl = dwfl_begin(&callbacks);
    if (!m->dwfl)
        return;
    dwfl_report_begin(m->dwfl);
    m->module = dwfl_report_offline(m->dwfl, m->path, m->path, -1);
    dwfl_report_end(m->dwfl, NULL, NULL);
    if (m->module && !dwfl_module_getelf(m->module, &m->bias))
        m->module = NULL;
}

static struct module *module_of(struct symbols *s, const char *path) {
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->module[i].path, path) == 0)
            return &s->module[i];
    s->module = allocate_again(s->module, (size_t)s->n + 1, sizeof *s->module);
    struct module *m = &s->module[s->n++];
    memset(m, 0, sizeof *m);
    m->path = copy_text(path);
    open_module(m);
    return m;
}

/* The C++ library's demangler, which is in the process because Vectorscan is C++; without it a name
 * stays as it is. */
static char *demangled(const char *name) {
    static char *(*demangle)(const char *, char *, size_t *, int *);
    if (!demangle)
        *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    int status = -1;
    char *plain =
        demangle && strncmp(name, "_Z", 2) == 0 ? demangle(name, NULL, NULL, &status) : NULL;
    return plain ? plain : copy_text(name);
}

/* clang writes no table of address ranges, without which libdwfl finds no line: its units are
 * asked. */
static Dwarf_Line *line_by_unit(struct module *m, GElf_Addr address) {
    Dwarf_Addr bias;
    for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(m->module, unit, &bias));)
        if (dwarf_haspc(unit, address - bias) > 0)
            return dwarf_getsrc_die(unit, address - bias);
    return NULL;
}

static char *source_line(struct module *m, GElf_Addr address) {
    Dwfl_Line *line = dwfl_module_getsrc(m->module, address);
    int number = 0;
    const char *file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
    Dwarf_Line *other = file ? NULL : line_by_unit(m, address);
    if (other && dwarf_lineno(other, &number) == 0)
        file = dwarf_linesrc(other, NULL, NULL);
    return file && number > 0 ? format_text("%s:%d", file, number) : NULL;
}

bool symbols_find(struct symbols *s, const char *path, uint64_t offset, bool is_call,
                  char **function, char **source) {
    *function = *source = NULL;
    struct module *m = module_of(s, path);
    if (!m->module)
        return false;
    GElf_Addr address = m->bias + offset - (is_call && offset ? 1 : 0);
    GElf_Off from_start;
    GElf_Sym symbol;
    const char *name =
        dwfl_module_addrinfo(m->module, address, &from_start, &symbol, NULL, NULL, NULL);
    /* The nearest symbol before the address is a guess when it does not cover it, and a guess names
     * the wrong function. */
    if (!name || from_start > (symbol.st_size ? symbol.st_size - 1 : 0))
        return false;
    *function = demangled(name);
    *source = source_line(m, address);
    return true;
}

static char *hexadecimal(const unsigned char *bytes, size_t n) {
    char *text = allocate(n * 2 + 1, 1);
    for (size_t i = 0; i < n; i++) {
        text[i * 2] = "0123456789abcdef"[bytes[i] >> 4];
        text[i * 2 + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    return text;
}

char *symbols_build_id(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    const void *bytes = NULL;
    ssize_t n = elf ? dwelf_elf_gnu_build_id(elf, &bytes) : -1;
    char *text = n > 0 ? hexadecimal(bytes, (size_t)n) : NULL;
    elf_end(elf);
    close(fd);
    return text;
}
