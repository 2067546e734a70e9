/* Patterns MODULE!FUNCTION as address ranges. Written under the loader's lock; read anywhere. */
#include "code_ranges.h"
#include "kernel.h"
#include "process.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { MAX_PATTERNS = 64, MAX_RANGES = 1024 };
static uint32_t wanted[MAX_PATTERNS];
static unsigned n_wanted;
static struct {
    uint32_t text;
    uintptr_t low, high;
} range[MAX_RANGES];
static _Atomic unsigned n_ranges;

void code_ranges_want(uint32_t text) {
    for (unsigned i = 0; i < n_wanted; i++)
        if (wanted[i] == text)
            return;
    if (n_wanted == MAX_PATTERNS)
        process_table_full(TABLE_CODE_RANGES);
    else if (text)
        wanted[n_wanted++] = text;
}

static void add(uint32_t text, uintptr_t low, uintptr_t high) {
    unsigned n = atomic_load(&n_ranges);
    for (unsigned i = 0; i < n; i++)
        if (range[i].text == text && range[i].low == low && range[i].high == high)
            return; /* loaded before at the same place */
    if (n == MAX_RANGES) {
        process_table_full(TABLE_CODE_RANGES);
        return;
    }
    range[n].text = text;
    range[n].low = low;
    range[n].high = high;
    atomic_store(&n_ranges, n + 1);
}

/* Every function in the table whose name matches. A symbol without a size reaches to its own first
 * 4 KiB. */
static bool scan_symbols(const struct object *o, uint32_t text, const char *function,
                         const char *image, size_t bytes, uint32_t section_type) {
    const ElfW(Ehdr) *e = (const void *)image;
    const ElfW(Shdr) *sections = (const void *)(image + e->e_shoff);
    if (e->e_shoff == 0 || e->e_shoff + (size_t)e->e_shnum * sizeof *sections > bytes)
        return false;
    for (unsigned s = 0; s < e->e_shnum; s++) {
        const ElfW(Shdr) *h = &sections[s];
        if (h->sh_type != section_type || h->sh_link >= e->e_shnum ||
            h->sh_offset + h->sh_size > bytes)
            continue;
        const ElfW(Shdr) *names = &sections[h->sh_link];
        if (names->sh_offset + names->sh_size > bytes)
            continue;
        const ElfW(Sym) *symbol = (const void *)(image + h->sh_offset);
        for (size_t i = 0; i < h->sh_size / sizeof *symbol; i++)
            if (ELF64_ST_TYPE(symbol[i].st_info) == STT_FUNC && symbol[i].st_value &&
                symbol[i].st_name < names->sh_size &&
                glob_matches(function, image + names->sh_offset + symbol[i].st_name))
                add(text, o->base + symbol[i].st_value,
                    o->base + symbol[i].st_value + (symbol[i].st_size ? symbol[i].st_size : 4096));
        return true;
    }
    return false;
}

static void scan_file(const struct object *o, uint32_t text, const char *function) {
    int fd = kernel_open(o->path);
    struct stat st;
    if (fd < 0)
        return;
    if (!fstat(fd, &st) && (size_t)st.st_size > sizeof(ElfW(Ehdr))) {
        void *image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (image != MAP_FAILED) {
            if (!scan_symbols(o, text, function, image, (size_t)st.st_size, SHT_SYMTAB))
                scan_symbols(o, text, function, image, (size_t)st.st_size, SHT_DYNSYM);
            munmap(image, (size_t)st.st_size);
        }
    }
    kernel_close(fd);
}

void code_ranges_object(const struct object *o) {
    for (unsigned i = 0; i < n_wanted; i++) {
        const char *pattern = board_string(process->board, wanted[i]);
        const char *mark = strchr(pattern, '!');
        char module[128] = "*";
        if (mark && (size_t)(mark - pattern) < sizeof module) {
            memcpy(module, pattern, (size_t)(mark - pattern));
            module[mark - pattern] = '\0';
        }
        const char *function = mark ? mark + 1 : pattern;
        if (o->is_ours || !object_matches(o, module))
            continue;
        if (!strcmp(function, "*"))
            add(wanted[i], o->text_low, o->text_high);
        else
            scan_file(o, wanted[i], function);
    }
}

bool code_ranges_match(uint32_t text, const void *address) {
    unsigned n = atomic_load(&n_ranges);
    for (unsigned i = 0; i < n; i++)
        if (range[i].text == text && range[i].low <= (uintptr_t)address &&
            (uintptr_t)address < range[i].high)
            return true;
    return false;
}
