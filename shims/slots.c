/* The walk over an object's relocation slots. In the constructor, or when the loader tells of new
 * objects. */
#include "slots.h"
#include "process.h"

#include <string.h>
#include <sys/mman.h>

/* ---- which definition a slot leads to ---- */

static const void *address_of(const struct object *o, const ElfW(Sym) * s) {
    const void *address = (const void *)(o->base + s->st_value);
    if (ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC)
        address = ((const void *(*)(void))(uintptr_t)address)();
    return address;
}

/* The definition that the loader would find: first the objects loaded at start, in order, then the
 * object itself, then the others. Our own object is passed over. */
static const struct object *find_definer(const struct object *user, const char *name) {
    for (int round = 0; round < 3; round++) {
        unsigned i = 0;
        for (struct object *o; (o = objects_next(&i));) {
            bool now = round == 0   ? o->at_start
                       : round == 1 ? o == user
                                    : !o->at_start && o != user;
            if (now && !o->is_ours && object_symbol(o, name))
                return o;
        }
    }
    return NULL;
}

const void *slot_target(const struct slot *s, const struct object **definer) {
    const struct object *at = s->unrelocated ? NULL : objects_at(s->value);
    /* A slot that leads into its own object is lazy, unless the object itself defines the function
     * there. */
    const ElfW(Sym) *own = at == s->object ? object_symbol(s->object, s->name) : NULL;
    bool is_own = own && s->object->base + own->st_value == s->value;
    if (is_own || (at && at != s->object && !at->is_ours)) {
        *definer = at;
        return (const void *)s->value;
    }
    const struct object *o = *definer = find_definer(s->object, s->name);
    const ElfW(Sym) *symbol = o ? object_symbol(o, s->name) : NULL;
    /* The resolver of an object that is being loaded cannot run yet. */
    if (!symbol ||
        (s->unrelocated && !o->at_start && ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC))
        return NULL;
    /* A hook of ours may stand first (pthread_create): it stays in the chain. */
    return at && at->is_ours ? (const void *)s->value : address_of(o, symbol);
}

const void *slot_definition(const struct object *user, const char *name) {
    const struct object *o = find_definer(user, name);
    return o ? address_of(o, object_symbol(o, name)) : NULL;
}

/* ---- patching ---- */

static bool write_word(const struct object *o, uintptr_t *slot, uintptr_t value) {
    uintptr_t page = (uintptr_t)slot & ~(uintptr_t)4095;
    uintptr_t length = ((uintptr_t)(slot + 1) - page + 4095) & ~(uintptr_t)4095;
    bool read_only =
        o->relro_low <= (uintptr_t)slot && (uintptr_t)slot < (o->relro_high & ~(uintptr_t)4095);
    if (read_only && mprotect((void *)page, length, PROT_READ | PROT_WRITE)) {
        process_problem("the kernel refuses to reopen read-only relocations (RELRO): some "
                        "functions are not hooked");
        return false;
    }
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    if (read_only)
        mprotect((void *)page, length, PROT_READ);
    return true;
}

/* The object has not been relocated: its relocation is turned into one whose resolver returns the
 * function, which the loader treats alike under lazy and immediate binding. */
static bool rewrite_relocation(const ElfW(Rela) * r, const struct object *o, const void *resolver) {
    ElfW(Rela) *entry = (ElfW(Rela) *)(uintptr_t)r;
    uintptr_t page = (uintptr_t)entry & ~(uintptr_t)4095;
    uintptr_t length = ((uintptr_t)(entry + 1) - page + 4095) & ~(uintptr_t)4095;
    if (mprotect((void *)page, length, PROT_READ | PROT_WRITE)) {
        process_problem(
            "the kernel refuses to change a relocation of an object that is being loaded");
        return false;
    }
    entry->r_info = ELF64_R_INFO(0, R_X86_64_IRELATIVE);
    entry->r_addend = (int64_t)((uintptr_t)resolver - o->base);
    mprotect((void *)page, length, PROT_READ);
    return true;
}

static void patch_slot(struct object *o, const ElfW(Rela) * r, const char *name,
                       const struct slot_user *const *user) {
    uintptr_t *place = (uintptr_t *)(o->base + r->r_offset);
    struct slot s = {.object = o,
                     .name = name,
                     .value = *place,
                     .unrelocated = !o->at_start && *place < o->base};
    struct slot_end end = {NULL, NULL};
    bool mine[SLOT_USERS] = {false};
    for (size_t i = 0; i < SLOT_USERS && user[i]; i++) {
        struct slot_end e = user[i]->look(&s);
        mine[i] = e.function != NULL;
        if (mine[i])
            end = e;
        s.in_between = end.function;
    }
    if (!end.function || !(s.unrelocated ? rewrite_relocation(r, o, end.resolver)
                                         : write_word(o, place, (uintptr_t)end.function)))
        return;
    for (size_t i = 0; i < SLOT_USERS && user[i]; i++)
        if (mine[i])
            user[i]->patched(&s);
}

static void patch_table(struct object *o, const struct object_tables *t, const ElfW(Rela) * r,
                        size_t n, const struct slot_user *const *user) {
    for (size_t i = 0; i < n; i++) {
        unsigned type = ELF64_R_TYPE(r[i].r_info);
        uint32_t symbol = (uint32_t)ELF64_R_SYM(r[i].r_info);
        if (symbol && (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
                       (type == R_X86_64_64 && r[i].r_addend == 0)))
            patch_slot(o, &r[i], t->strings + t->symbols[symbol].st_name, user);
    }
}

void slots_patch_object(struct object *o, const struct slot_user *const *user) {
    struct object_tables t;
    if (o->is_ours || o->is_sanitizer || glob_matches("ld-linux*", o->file))
        return;
    object_tables(o, &t);
    patch_table(o, &t, t.plt, t.n_plt, user);
    patch_table(o, &t, t.rela, t.n_rela, user);
}
