/* Hooking exported functions by relocation slots (design.md, way 2). Patching runs under the
 * loader's lock, in the constructor or when the loader tells of new objects; call_entered and
 * returned run on any thread. */
#include "call.h"
#include "arch/x86_64/arch.h"
#include "engine.h"
#include "idle.h"
#include "probe.h"
#include "process.h"
#include "thread.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { CODE_BYTES = CALL_MAX_SITES * 2 * ARCH_STUB_BYTES };
struct call_site call_site[CALL_MAX_SITES] __attribute__((visibility("hidden")));
static _Atomic uint32_t n_sites;
static unsigned char *code;

int call_entered(struct call_registers *r, void **frame) __attribute__((visibility("hidden")));

void call_start(void) {
    code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) {
        code = NULL;
        process_problem("no memory for trampolines: no call: hook is bound");
    }
}

/* The stub of a site, and right after it a function that returns the stub's address (an IFUNC
 * resolver). */
static unsigned char *stub_of(uint32_t index) {
    return code + (size_t)index * 2 * ARCH_STUB_BYTES;
}

static unsigned char *site_stub(uint16_t hook, const void *original) {
    uint32_t n = atomic_load(&n_sites);
    for (uint32_t i = 0; i < n; i++)
        if (call_site[i].hook == hook && call_site[i].original == original)
            return stub_of(i);
    if (!code || n == CALL_MAX_SITES) {
        process_table_full(TABLE_TRAMPOLINES);
        return NULL;
    }
    /* The page is in use once it holds a stub, so it is never without its execute permission: a
     * second, writable view would do as well, but a hardened kernel allows this change where it
     * allows that one. */
    if (mprotect(code, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC)) {
        process_problem("the kernel refuses writable code: no call: hook is bound");
        return NULL;
    }
    call_site[n] = (struct call_site){.hook = hook, .original = original};
    arch_write_call_stub(stub_of(n), n);
    arch_write_return_value(stub_of(n) + ARCH_STUB_BYTES, stub_of(n));
    mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC);
    atomic_store(&n_sites, n + 1);
    return stub_of(n);
}

/* ---- which definition a slot leads to ---- */

static const void *address_of(const struct object *o, const ElfW(Sym) * s) {
    const void *address = (const void *)(o->base + s->st_value);
    if (ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC)
        address = ((const void *(*)(void))(uintptr_t)address)();
    return address;
}

/* The definition that the loader would find: first the objects loaded at start, in order, then the
 * object itself, then the others. Our own object is passed over. */
static const struct object *definer(const struct object *user, const char *name) {
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

/* Where the slot leads now or would lead, when that is the function the hook means; NULL when it is
 * not. */
static const void *target(const struct object *user, const struct board_hook *h, const char *name,
                          uintptr_t value, bool unrelocated) {
    const char *module = board_string(process->board, h->module);
    const struct object *at = unrelocated ? NULL : objects_at(value);
    /* A slot that leads into its own object is lazy, unless the object itself defines the function
     * there. */
    const ElfW(Sym) *own = at == user ? object_symbol(user, name) : NULL;
    if (at && at != user && !at->is_ours)
        return at->is_sanitizer || object_matches(at, module) ? (const void *)value : NULL;
    if (own && user->base + own->st_value == value)
        return object_matches(user, module) ? (const void *)value : NULL;
    const struct object *o = definer(user, name);
    if (!o || !(o->is_sanitizer || object_matches(o, module)))
        return NULL;
    if (unrelocated && !o->at_start &&
        ELF64_ST_TYPE(object_symbol(o, name)->st_info) == STT_GNU_IFUNC)
        return NULL; /* its resolver cannot run yet */
    /* A hook of ours may stand first (pthread_create): keep it in the chain. */
    return at && at->is_ours ? (const void *)value : address_of(o, object_symbol(o, name));
}

/* ---- patching ---- */

static void write_word(const struct object *o, uintptr_t *slot, uintptr_t value) {
    uintptr_t page = (uintptr_t)slot & ~(uintptr_t)4095;
    uintptr_t length = ((uintptr_t)(slot + 1) - page + 4095) & ~(uintptr_t)4095;
    bool read_only =
        o->relro_low <= (uintptr_t)slot && (uintptr_t)slot < (o->relro_high & ~(uintptr_t)4095);
    if (read_only && mprotect((void *)page, length, PROT_READ | PROT_WRITE)) {
        process_problem("the kernel refuses to reopen read-only relocations (RELRO): some call: "
                        "hooks are not bound");
        return;
    }
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    if (read_only)
        mprotect((void *)page, length, PROT_READ);
}

/* The object has not been relocated: its relocation is turned into one whose resolver returns the
 * stub, which the loader treats alike under lazy and immediate binding. */
static bool rewrite_relocation(const ElfW(Rela) * r, const struct object *o,
                               const unsigned char *stub) {
    ElfW(Rela) *entry = (ElfW(Rela) *)(uintptr_t)r;
    uintptr_t page = (uintptr_t)entry & ~(uintptr_t)4095;
    uintptr_t length = ((uintptr_t)(entry + 1) - page + 4095) & ~(uintptr_t)4095;
    if (mprotect((void *)page, length, PROT_READ | PROT_WRITE)) {
        process_problem(
            "the kernel refuses to change a relocation of an object that is being loaded");
        return false;
    }
    entry->r_info = ELF64_R_INFO(0, R_X86_64_IRELATIVE);
    entry->r_addend = (int64_t)((uintptr_t)(stub + ARCH_STUB_BYTES) - o->base);
    mprotect((void *)page, length, PROT_READ);
    return true;
}

static void patch_slot(struct object *o, const ElfW(Rela) * r, const char *name) {
    const struct board *b = process->board;
    uintptr_t *slot = (uintptr_t *)(o->base + r->r_offset);
    for (uint16_t h = 0; h < b->n_hooks; h++) {
        const char *from = board_string(b, b->hook[h].from);
        if (b->hook[h].id != HOOK_CALL || !idle_hook[h].points ||
            strcmp(board_string(b, b->hook[h].function), name) ||
            (*from && !object_matches(o, from)))
            continue;
        bool unrelocated = !o->at_start && *slot < o->base;
        const void *original = target(o, &b->hook[h], name, *slot, unrelocated);
        const unsigned char *stub = original ? site_stub(h, original) : NULL;
        if (!stub)
            continue;
        if (unrelocated) {
            if (!rewrite_relocation(r, o, stub))
                continue;
        } else {
            write_word(o, slot, (uintptr_t)stub);
        }
        atomic_fetch_add(&process_slot()->bound[h], 1);
        return;
    }
}

static void patch_table(struct object *o, const struct object_tables *t, const ElfW(Rela) * r,
                        size_t n) {
    for (size_t i = 0; i < n; i++) {
        unsigned type = ELF64_R_TYPE(r[i].r_info);
        uint32_t symbol = (uint32_t)ELF64_R_SYM(r[i].r_info);
        if (symbol && (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
                       (type == R_X86_64_64 && r[i].r_addend == 0)))
            patch_slot(o, &r[i], t->strings + t->symbols[symbol].st_name);
    }
}

void call_patch_object(struct object *o) {
    struct object_tables t;
    if (o->is_ours || o->is_sanitizer || glob_matches("ld-linux*", o->file))
        return;
    object_tables(o, &t);
    patch_table(o, &t, t.plt, t.n_plt);
    patch_table(o, &t, t.rela, t.n_rela);
}

/* ---- a hooked call ---- */

static void returned(void *data, uintptr_t sp_after, const void *returns_to,
                     struct probe_result *r) {
    const struct call_site *s = data;
    struct arrival a = ARRIVAL(s->hook, SIDE_RETURN);
    a.caller = returns_to;
    a.sp = sp_after;
    if (engine_takes_part())
        engine_arrive(&a);
    if (a.fails) {
        r->rax = a.result;
        if (a.error_number)
            errno = a.error_number;
    }
}

int call_entered(struct call_registers *r, void **frame) {
    struct call_site *s = &call_site[(uintptr_t)frame[1]];
    if (!engine_takes_part())
        return 0;
    struct arrival a = ARRIVAL(s->hook, SIDE_ENTER);
    a.caller = frame[2];
    a.sp = (uintptr_t)(frame + 3);
    a.args = r->argument;
    a.n_args = 6;
    engine_arrive(&a);
    if (a.fails) {
        r->result = a.result;
        if (a.error_number)
            errno = a.error_number;
        return 1;
    }
    if (engine_wants_return(s->hook))
        probe_set(&frame[2], (uintptr_t)&frame[3], returned, s);
    return 0;
}
