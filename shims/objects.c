/* The ELF objects of this process. objects_scan runs under the loader's lock; the readers take no
 * lock. */
#include "objects.h"
#include "process.h"

#include <string.h>
#include <unistd.h>

enum { MAX_OBJECTS = 512 };
static struct object table[MAX_OBJECTS];
static _Atomic uint32_t n_objects;
static uint32_t scan_number;

bool glob_matches(const char *glob, const char *text) {
    const char *star = NULL, *resume = NULL;
    for (;;) {
        if (*glob == '*') {
            star = ++glob;
            resume = text;
        } else if (*text && (*glob == '?' || *glob == *text)) {
            glob++;
            text++;
        } else if (!*text && !*glob) {
            return true;
        } else if (star && *resume) {
            glob = star;
            text = ++resume;
        } else {
            return false;
        }
    }
}

static bool same_build(const struct board_module *m, const char *path, const unsigned char *id,
                       uint32_t n) {
    return m->build_id_bytes == n && !memcmp(m->build_id, id, n) &&
           !strncmp(m->path, path, sizeof m->path - 1);
}

/* Finds or adds the module in the board's table, which all ranks share. */
static uint16_t board_module(const char *path, const unsigned char *id, uint32_t n) {
    struct board *b = process->board;
    for (uint16_t i = 0; i < BOARD_MAX_MODULES; i++) {
        struct board_module *m = &b->module[i];
        uint32_t free_entry = 0;
        if (atomic_compare_exchange_strong(&m->state, &free_entry, 1)) {
            board_copy_text(m->path, sizeof m->path, path);
            memcpy(m->build_id, id, n);
            m->build_id_bytes = n;
            atomic_store(&m->state, 2);
            return i;
        }
        /* Another rank may be writing this entry. It takes a microsecond; a dead writer leaves it
         * at 1 for ever, and then at worst a module is listed twice. */
        for (int spin = 0; spin < 1000 && atomic_load(&m->state) == 1; spin++)
            __builtin_ia32_pause();
        if (atomic_load(&m->state) == 2 && same_build(m, path, id, n))
            return i;
    }
    process_table_full(TABLE_MODULES);
    return BOARD_NONE;
}

static uint32_t find_build_id(const struct dl_phdr_info *info, unsigned char *id, size_t room) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_NOTE)
            continue;
        const char *at = (const char *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *n = (const void *)at;
            const char *name = at + sizeof *n, *body = name + ((n->n_namesz + 3u) & ~3u);
            if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(name, "GNU", 4) &&
                n->n_descsz <= room) {
                memcpy(id, body, n->n_descsz);
                return n->n_descsz;
            }
            at = body + ((n->n_descsz + 3u) & ~3u);
        }
    }
    return 0;
}

static void find_segments(struct object *o, const struct dl_phdr_info *info) {
    o->low = o->text_low = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr, to = from + p->p_memsz;
        if (p->p_type == PT_LOAD) {
            o->low = from < o->low ? from : o->low;
            o->high = to > o->high ? to : o->high;
            if (p->p_flags & PF_X) {
                o->text_low = from < o->text_low ? from : o->text_low;
                o->text_high = to > o->text_high ? to : o->text_high;
            }
        } else if (p->p_type == PT_DYNAMIC) {
            o->dynamic = (const void *)from;
        } else if (p->p_type == PT_GNU_RELRO) {
            o->relro_low = from;
            o->relro_high = to;
        }
    }
}

static bool is_sanitizer(const char *file) {
    static const char *const name[] = {"libasan.so*",   "libtsan.so*",       "liblsan.so*",
                                       "libhwasan.so*", "libclang_rt.asan*", "libclang_rt.tsan*"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (glob_matches(name[i], file))
            return true;
    return false;
}

/* Of what no program defines itself, as it may __asan_default_options, say. */
static bool is_of_runtime(const char *name) {
    return glob_matches("*__interceptor_*", name) || !strcmp(name, "__sanitizer_print_stack_trace");
}

/* clang links the runtime into the program: it lies together there, and exports its interceptors.
 */
static void find_runtime(struct object *o) {
    struct object_tables t;
    object_tables(o, &t);
    if (!object_symbol(o, "__asan_init") && !object_symbol(o, "__tsan_init"))
        return;
    o->sanitizer_low = UINTPTR_MAX;
    for (uint32_t i = 1, n = object_count_symbols(&t); i < n; i++) {
        const ElfW(Sym) *s = &t.symbols[i];
        uintptr_t low = o->base + s->st_value;
        if (s->st_shndx == SHN_UNDEF || !is_of_runtime(t.strings + s->st_name))
            continue;
        o->sanitizer_low = low < o->sanitizer_low ? low : o->sanitizer_low;
        o->sanitizer_high =
            low + s->st_size > o->sanitizer_high ? low + s->st_size : o->sanitizer_high;
    }
}

struct scan {
    bool at_start;
    bool first;
};

static void fill(struct object *o, const struct dl_phdr_info *info, const struct scan *s) {
    memset(o, 0, sizeof *o);
    o->base = info->dlpi_addr;
    o->is_program = s->first;
    o->at_start = s->at_start;
    if (s->first) {
        ssize_t n = readlink("/proc/self/exe", o->path, sizeof o->path - 1);
        o->path[n > 0 ? n : 0] = '\0';
    } else {
        board_copy_text(o->path, sizeof o->path, info->dlpi_name);
    }
    const char *slash = strrchr(o->path, '/');
    o->file = slash ? slash + 1 : o->path;
    find_segments(o, info);
    o->is_ours = o->low <= (uintptr_t)&table && (uintptr_t)&table < o->high;
    o->is_sanitizer = is_sanitizer(o->file);
    if (s->first)
        find_runtime(o);
    unsigned char id[32];
    uint32_t n_id = find_build_id(info, id, sizeof id);
    o->module = board_module(o->path, id, n_id);
    if (o->module != BOARD_NONE)
        atomic_fetch_or(&process_slot()->modules[o->module / 64], (uint64_t)1 << (o->module % 64));
}

static int visit(struct dl_phdr_info *info, size_t size, void *closure) {
    (void)size;
    struct scan *s = closure;
    bool vdso = !s->first && (!info->dlpi_name || !strncmp(info->dlpi_name, "linux-", 6));
    if (!vdso) {
        struct object *o = NULL, *spare = NULL;
        uint32_t n = atomic_load(&n_objects);
        for (uint32_t i = 0; i < n && !o; i++) {
            if (!atomic_load(&table[i].live))
                spare = spare ? spare : &table[i];
            else if (table[i].base == info->dlpi_addr &&
                     (s->first ||
                      !strncmp(table[i].path, info->dlpi_name, sizeof table[i].path - 1)))
                o = &table[i];
        }
        bool is_new = !o;
        if (is_new && !(o = spare ? spare : n < MAX_OBJECTS ? &table[n] : NULL)) {
            process_table_full(TABLE_MODULES);
            return 1;
        }
        if (is_new)
            fill(o, info, s);
        o->seen = scan_number;
        if (is_new) {
            atomic_store(&o->live, 1);
            if (!spare)
                atomic_store(&n_objects, n + 1);
        }
    }
    s->first = false;
    return 0;
}

void objects_scan(bool at_start, void (*added)(struct object *)) {
    struct scan s = {.at_start = at_start, .first = true};
    scan_number++;
    static uint32_t told[MAX_OBJECTS]; /* scan in which `added` was called for the entry */
    dl_iterate_phdr(visit, &s);
    uint32_t n = atomic_load(&n_objects);
    for (uint32_t i = 0; i < n; i++) {
        if (table[i].seen != scan_number) {
            atomic_store(&table[i].live, 0);
            told[i] = 0;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (atomic_load(&table[i].live) && !told[i]) {
            told[i] = scan_number;
            added(&table[i]);
        }
    }
}

struct object *objects_next(unsigned *i) {
    uint32_t n = atomic_load(&n_objects);
    while (*i < n) {
        struct object *o = &table[(*i)++];
        if (atomic_load(&o->live))
            return o;
    }
    return NULL;
}

struct object *objects_at(uintptr_t address) {
    unsigned i = 0;
    for (struct object *o; (o = objects_next(&i));)
        if (o->low <= address && address < o->high)
            return o;
    return NULL;
}

bool object_stands_between(const struct object *o, uintptr_t code) {
    return o->is_ours || o->is_sanitizer || (o->sanitizer_low <= code && code < o->sanitizer_high);
}

struct board_frame objects_frame(const void *address) {
    const struct object *o = objects_at((uintptr_t)address);
    if (!o || o->module == BOARD_NONE)
        return (struct board_frame){.module = BOARD_NONE, .offset = (uintptr_t)address};
    return (struct board_frame){.module = o->module, .offset = (uintptr_t)address - o->base};
}

bool object_matches(const struct object *o, const char *glob) {
    return (o->is_program && !strcmp(glob, "PROGRAM")) || glob_matches(glob, o->file) ||
           glob_matches(glob, o->path);
}
