/* Hooking exported functions by relocation slots (design.md, way 2). Patching runs under the
 * loader's lock, in the constructor or when the loader tells of new objects; call_entered and
 * returned run on any thread. */
#include "call.h"
#include "arch/x86_64/arch.h"
#include "engine.h"
#include "guarded_stack.h"
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

/* ---- slots ---- */

static bool means(uint16_t h, const struct slot *s, const struct object *definer) {
    const struct board *b = process->board;
    const char *from = board_string(b, b->hook[h].from);
    return b->hook[h].function && idle_hook[h].points &&
           !strcmp(board_string(b, b->hook[h].function), s->name) &&
           (!*from || object_matches(s->object, from)) &&
           (definer->is_sanitizer || object_matches(definer, board_string(b, b->hook[h].module)));
}

static uint64_t looked_at; /* the hooks of the last slot */
_Static_assert(BOARD_MAX_HOOKS <= 64, "bits of looked_at");

static bool is_named(const char *function) {
    const struct board *b = process->board;
    for (uint16_t h = 0; h < b->n_hooks; h++)
        if (b->hook[h].function && idle_hook[h].points &&
            !strcmp(board_string(b, b->hook[h].function), function))
            return true;
    return false;
}

/* Hooks that mean the same slot stand one before the other: the original of each is the one before
 * it. */
static struct slot_end look(const struct slot *s) {
    const struct object *definer;
    const void *original = is_named(s->name) ? slot_target(s, &definer) : NULL;
    unsigned char *stub = NULL;
    looked_at = 0;
    for (uint16_t h = 0; original && h < process->board->n_hooks; h++) {
        if (!means(h, s, definer))
            continue;
        unsigned char *next = site_stub(h, stub ? stub : s->in_between ? s->in_between : original);
        if (!next)
            break;
        stub = next;
        looked_at |= (uint64_t)1 << h;
    }
    return stub ? (struct slot_end){stub, stub + ARCH_STUB_BYTES} : (struct slot_end){NULL, NULL};
}

static void patched(const struct slot *s) {
    (void)s;
    for (uint16_t h = 0; h < process->board->n_hooks; h++)
        if (looked_at >> h & 1)
            atomic_fetch_add(&process_slot()->bound[h], 1);
}

const struct slot_user call_slots = {look, patched};

/* ---- a hooked call ---- */

static void returned(void *data, uint64_t object, uintptr_t sp_after, const void *returns_to,
                     struct probe_result *r) {
    const struct call_site *s = data;
    struct arrival a = ARRIVAL(s->hook, SIDE_RETURN);
    a.object = object;
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

/* The call runs on a stack of its own, closed before anybody else sees it return. */
static void guard_stack(struct call_registers *r, void **return_slot) {
    uintptr_t low, high;
    struct guarded_stack *s = guarded_stack_take(r->original, return_slot);
    if (!s)
        return;
    thread_stack(&low, &high);
    r->stack =
        arch_prepare_stack(s->high, r->original, return_slot, high - (uintptr_t)(return_slot + 1));
    atomic_fetch_add_explicit(&process_slot()->stacks_guarded, 1, memory_order_relaxed);
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
    unsigned about = process->board->hook[s->hook].object;
    a.object = about ? (uint64_t)r->argument[about - 1] : 0;
    engine_arrive(&a);
    if (a.fails) {
        r->result = a.result;
        if (a.error_number)
            errno = a.error_number;
        return 1;
    }
    if (engine_wants_return(s->hook))
        probe_set(&frame[2], (uintptr_t)&frame[3], returned, s, a.object);
    if (a.guards && !guarded_stack_is_here())
        guard_stack(r, &frame[2]);
    return 0;
}
