/* Patterns MODULE!FUNCTION as address ranges. Written under the loader's lock; read anywhere. */
#include "code_ranges.h"
#include "function_name.h"
#include "kernel.h"
#include "process.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct range {
    uintptr_t low, high;
};
/* What one pattern matches in one object: ranges from the lowest up that do not touch. Nothing of
 * it changes once it is in use, but that it is not while another object lies there. */
struct block {
    _Atomic uint32_t in_use;
    uint32_t pattern; /* string of the board */
    const struct range *range;
    size_t n;
    uintptr_t low, high; /* of all of them */
};
enum { MAX_RANGES = 4096, MAX_BLOCKS = 512 };
static struct range range[MAX_RANGES];
static size_t n_ranges; /* of all blocks */
static struct block block[MAX_BLOCKS];
static _Atomic uint32_t n_blocks;
static uint64_t wanted; /* bit per pattern of the board */
_Static_assert(BOARD_MAX_PATTERNS <= 64, "bits of wanted");

void code_ranges_want(uint32_t text) {
    const struct board *b = process->board;
    for (uint32_t i = 0; text && i < b->n_patterns; i++) {
        if (b->pattern[i] != text || (wanted >> i & 1))
            continue;
        wanted |= (uint64_t)1 << i;
        atomic_fetch_add(&process->board->pattern_count[i].wanted, 1);
    }
}

/* ---- the functions of one object ---- */

struct search {
    const struct object *object;
    const char *function; /* glob */
    struct range *found;
    size_t n, room;
};

static void add(struct search *s, uintptr_t low, uintptr_t high) {
    if (s->n == s->room)
        process_table_full(TABLE_CODE_RANGES);
    else
        s->found[s->n++] = (struct range){low, high};
}

static bool is_meant(const struct search *s, const char *symbol) {
    char name[512];
    size_t bytes = function_name_bytes(symbol);
    if (glob_matches(s->function, symbol))
        return true;
    if (!symbol[bytes] || bytes >= sizeof name)
        return false;
    memcpy(name, symbol, bytes);
    name[bytes] = '\0';
    return glob_matches(s->function, name);
}

/* Every function in the table whose name matches; false: there is no such table. A symbol without a
 * size reaches to its own first 4 KiB. */
static bool scan_symbols(struct search *s, const char *image, size_t bytes, uint32_t table) {
    const ElfW(Ehdr) *e = (const void *)image;
    const ElfW(Shdr) *sections = (const void *)(image + e->e_shoff);
    if (e->e_shoff == 0 || e->e_shoff + (size_t)e->e_shnum * sizeof *sections > bytes)
        return false;
    for (unsigned i = 0; i < e->e_shnum; i++) {
        const ElfW(Shdr) *h = &sections[i];
        if (h->sh_type != table || h->sh_link >= e->e_shnum || h->sh_offset + h->sh_size > bytes)
            continue;
        const ElfW(Shdr) *names = &sections[h->sh_link];
        if (names->sh_offset + names->sh_size > bytes)
            continue;
        const ElfW(Sym) *symbol = (const void *)(image + h->sh_offset);
        for (size_t k = 0; k < h->sh_size / sizeof *symbol; k++) {
            uintptr_t start = s->object->base + symbol[k].st_value;
            if (ELF64_ST_TYPE(symbol[k].st_info) == STT_FUNC && symbol[k].st_value &&
                symbol[k].st_name < names->sh_size &&
                is_meant(s, image + names->sh_offset + symbol[k].st_name))
                add(s, start, start + (symbol[k].st_size ? symbol[k].st_size : 4096));
        }
        return true;
    }
    return false;
}

/* False: the object is stripped, and only what it exports was looked at. */
static bool scan_file(struct search *s) {
    bool whole = true;
    int fd = kernel_open(s->object->path);
    struct stat st;
    if (fd < 0)
        return true;
    if (!fstat(fd, &st) && (size_t)st.st_size > sizeof(ElfW(Ehdr))) {
        size_t bytes = (size_t)st.st_size;
        void *image = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (image != MAP_FAILED) {
            whole = scan_symbols(s, image, bytes, SHT_SYMTAB);
            if (!whole)
                scan_symbols(s, image, bytes, SHT_DYNSYM);
            munmap(image, bytes);
        }
    }
    kernel_close(fd);
    return whole;
}

/* ---- blocks ---- */

/* Shell's sort: short, and quick enough for a table that is made once. */
static void sort(struct range *r, size_t n) {
    for (size_t gap = n / 2; gap; gap /= 2)
        for (size_t i = gap; i < n; i++) {
            struct range moved = r[i];
            size_t at = i;
            for (; at >= gap && r[at - gap].low > moved.low; at -= gap)
                r[at] = r[at - gap];
            r[at] = moved;
        }
}

/* Aliases and what overlaps become one; n is not 0. */
static size_t merge(struct range *r, size_t n) {
    size_t kept = 0;
    for (size_t i = 1; i < n; i++) {
        if (r[i].low > r[kept].high)
            r[++kept] = r[i];
        else if (r[i].high > r[kept].high)
            r[kept].high = r[i].high;
    }
    return kept + 1;
}

/* A library that comes back to the same place finds its block again. */
static bool use_again(uint32_t pattern, const struct range *r, size_t n) {
    for (uint32_t i = 0; i < atomic_load(&n_blocks); i++) {
        struct block *b = &block[i];
        if (b->pattern != pattern || b->n != n || memcmp(b->range, r, n * sizeof *r) != 0)
            continue;
        atomic_store(&b->in_use, 1);
        return true;
    }
    return false;
}

static void add_block(uint32_t pattern, struct range *r, size_t n) {
    uint32_t at = atomic_load(&n_blocks);
    sort(r, n);
    n = merge(r, n);
    if (use_again(pattern, r, n))
        return;
    if (at == MAX_BLOCKS) {
        process_table_full(TABLE_CODE_RANGES);
        return;
    }
    block[at] = (struct block){.in_use = 1,
                               .pattern = pattern,
                               .range = r,
                               .n = n,
                               .low = r[0].low,
                               .high = r[n - 1].high};
    n_ranges += n;
    atomic_store(&n_blocks, at + 1);
}

/* What another object left where this one is now. */
static void forget_at(const struct object *o) {
    for (uint32_t i = 0; i < atomic_load(&n_blocks); i++)
        if (block[i].low < o->high && o->low < block[i].high)
            atomic_store(&block[i].in_use, 0);
}

/* For the runner, which says why a pattern matched nothing. */
static void count(uint32_t pattern, const struct search *s, bool whole) {
    struct board_pattern_count *c = &process->board->pattern_count[pattern];
    atomic_fetch_add(&c->modules, 1);
    atomic_fetch_add(&c->functions, (uint32_t)s->n);
    if (!whole && (s->object->is_program || !atomic_load(&c->stripped)))
        atomic_store(&c->stripped, s->object->module + 1u);
}

static void match_object(uint32_t pattern, const struct object *o) {
    const char *text = board_string(process->board, process->board->pattern[pattern]);
    const char *mark = strchr(text, '!');
    char module[128] = "*";
    if (mark && (size_t)(mark - text) < sizeof module) {
        memcpy(module, text, (size_t)(mark - text));
        module[mark - text] = '\0';
    }
    struct search s = {.object = o,
                       .function = mark ? mark + 1 : text,
                       .found = &range[n_ranges],
                       .room = MAX_RANGES - n_ranges};
    bool whole = true;
    if (!object_matches(o, module))
        return;
    if (!strcmp(s.function, "*"))
        add(&s, o->text_low, o->text_high);
    else
        whole = scan_file(&s);
    count(pattern, &s, whole);
    if (s.n)
        add_block(process->board->pattern[pattern], s.found, s.n);
}

void code_ranges_object(const struct object *o) {
    forget_at(o);
    for (uint32_t i = 0; !o->is_ours && i < process->board->n_patterns; i++)
        if (wanted >> i & 1)
            match_object(i, o);
}

/* ---- looking up ---- */

static bool has(const struct block *b, uintptr_t address) {
    size_t low = 0, high = b->n; /* the last range that begins at or before the address */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (b->range[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < b->range[low - 1].high;
}

bool code_ranges_match(uint32_t text, const void *address) {
    uintptr_t at = (uintptr_t)address;
    uint32_t n = atomic_load_explicit(&n_blocks, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++) {
        const struct block *b = &block[i];
        if (b->pattern == text && b->low <= at && at < b->high &&
            atomic_load_explicit(&b->in_use, memory_order_relaxed) && has(b, at))
            return true;
    }
    return false;
}
