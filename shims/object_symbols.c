/* The dynamic tables of one ELF object: the functions that it exports, and the relocations that it
 * has. Reads what the loader mapped; any thread. */
#include "objects.h"

#include <string.h>

/* glibc writes absolute addresses into the dynamic section of some versions and leaves it alone in
 * others. */
static const void *at(const struct object *o, uintptr_t value) {
    return (const void *)(value < o->base ? o->base + value : value);
}

void object_tables(const struct object *o, struct object_tables *t) {
    memset(t, 0, sizeof *t);
    for (const ElfW(Dyn) *d = o->dynamic; d && d->d_tag != DT_NULL; d++) {
        switch (d->d_tag) {
        case DT_SYMTAB:
            t->symbols = at(o, d->d_un.d_ptr);
            break;
        case DT_STRTAB:
            t->strings = at(o, d->d_un.d_ptr);
            break;
        case DT_GNU_HASH:
            t->gnu_hash = at(o, d->d_un.d_ptr);
            break;
        case DT_HASH:
            t->hash = at(o, d->d_un.d_ptr);
            break;
        case DT_VERSYM:
            t->versions = at(o, d->d_un.d_ptr);
            break;
        case DT_JMPREL:
            t->plt = at(o, d->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            t->n_plt = d->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_RELA:
            t->rela = at(o, d->d_un.d_ptr);
            break;
        case DT_RELASZ:
            t->n_rela = d->d_un.d_val / sizeof(ElfW(Rela));
            break;
        default:
            break;
        }
    }
    if (!t->strings || !t->symbols) {
        t->n_plt = t->n_rela = 0;
        t->gnu_hash = t->hash = NULL;
    }
}

static bool defines(const struct object_tables *t, uint32_t i, const char *name) {
    const ElfW(Sym) *s = &t->symbols[i];
    unsigned type = ELF64_ST_TYPE(s->st_info);
    bool hidden_version = t->versions && (t->versions[i] & 0x8000);
    return s->st_shndx != SHN_UNDEF && s->st_value && !hidden_version &&
           (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
           !strcmp(t->strings + s->st_name, name);
}

static uint32_t gnu_hash_of(const char *name) {
    uint32_t h = 5381;
    for (; *name; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

const ElfW(Sym) * object_symbol(const struct object *o, const char *name) {
    struct object_tables t;
    object_tables(o, &t);
    if (t.gnu_hash) {
        uint32_t n_buckets = t.gnu_hash[0], first = t.gnu_hash[1], n_bloom = t.gnu_hash[2];
        const uint32_t *bucket = t.gnu_hash + 4 + n_bloom * (sizeof(ElfW(Addr)) / 4);
        const uint32_t *chain = bucket + n_buckets;
        uint32_t h = gnu_hash_of(name), i = n_buckets ? bucket[h % n_buckets] : 0;
        for (; i >= first && i; i++) {
            if ((chain[i - first] | 1) == (h | 1) && defines(&t, i, name))
                return &t.symbols[i];
            if (chain[i - first] & 1)
                return NULL;
        }
        return NULL;
    }
    for (uint32_t i = 1; t.hash && i < t.hash[1]; i++)
        if (defines(&t, i, name))
            return &t.symbols[i];
    return NULL;
}

uint32_t object_count_symbols(const struct object_tables *t) {
    if (t->hash)
        return t->hash[1];
    if (!t->gnu_hash)
        return 0;
    uint32_t n_buckets = t->gnu_hash[0], first = t->gnu_hash[1], last = 0;
    const uint32_t *bucket = t->gnu_hash + 4 + t->gnu_hash[2] * (sizeof(ElfW(Addr)) / 4);
    for (uint32_t i = 0; i < n_buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    while (last >= first && last && !(bucket[n_buckets + last - first] & 1))
        last++;
    return last ? last + 1 : first;
}
