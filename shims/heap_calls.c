/* Functions that stand between a program and its allocator. On any thread, also in signal handlers
 * and in fork children; slots are looked at under the loader's lock. */
#include "heap_calls.h"
#include "heap_guard.h"
#include "lock_misuse.h"
#include "process.h"

#include <errno.h>
#include <string.h>

enum { MALLOC_ALIGNMENT = 16 };

static bool guards, sees_frees; /* for detector `heap`, for detector `locks` */

/* ---- the functions ---- */

/* C++ names: operator new (nw), new[] (na), delete (dl), delete[] (da); m: size_t; St11align_val_t,
 * RKSt9nothrow_t. */
#define NEW_PLAIN(X)   X(_Znwm) X(_Znam)
#define NEW_NOTHROW(X) X(_ZnwmRKSt9nothrow_t) X(_ZnamRKSt9nothrow_t)
#define NEW_ALIGNED(X) X(_ZnwmSt11align_val_t) X(_ZnamSt11align_val_t)
#define NEW_ALIGNED_NOTHROW(X)                                                                     \
    X(_ZnwmSt11align_val_tRKSt9nothrow_t) X(_ZnamSt11align_val_tRKSt9nothrow_t)
#define FREE_1(X) X(free) X(_ZdlPv) X(_ZdaPv)
#define FREE_2(X)                                                                                  \
    X(_ZdlPvm)                                                                                     \
    X(_ZdaPvm)                                                                                     \
    X(_ZdlPvRKSt9nothrow_t)                                                                        \
    X(_ZdaPvRKSt9nothrow_t) X(_ZdlPvSt11align_val_t) X(_ZdaPvSt11align_val_t)
#define FREE_3(X)                                                                                  \
    X(_ZdlPvmSt11align_val_t)                                                                      \
    X(_ZdaPvmSt11align_val_t)                                                                      \
    X(_ZdlPvSt11align_val_tRKSt9nothrow_t) X(_ZdaPvSt11align_val_tRKSt9nothrow_t)
#define ALLOCATING(X)                                                                              \
    X(malloc)                                                                                      \
    X(calloc)                                                                                      \
    X(posix_memalign)                                                                              \
    X(aligned_alloc) X(memalign) NEW_PLAIN(X) NEW_NOTHROW(X) NEW_ALIGNED(X) NEW_ALIGNED_NOTHROW(X)
#define RESIZING(X) X(realloc) X(reallocarray)
#define FREEING(X)  FREE_1(X) FREE_2(X) FREE_3(X)
#define ALL(X)      ALLOCATING(X) RESIZING(X) FREEING(X) X(malloc_usable_size)

enum function {
#define ONE(name) FUNCTION_##name,
    ALL(ONE)
#undef ONE
        FUNCTIONS
};

/* What a program reaches under each name; set by the first slot that is patched, and before that by
 * nobody asked for. A slot that leads to another allocator is left alone. */
static const void *_Atomic original[FUNCTIONS];

static const void *get(enum function f) {
    return atomic_load_explicit(&original[f], memory_order_relaxed);
}

typedef void *allocate_1(size_t);
typedef void *allocate_2(size_t, uintptr_t);
typedef void *allocate_3(size_t, uintptr_t, const void *);
typedef void *resize_2(void *, size_t);
typedef void *resize_3(void *, size_t, size_t);
typedef void free_1(void *);
typedef void free_2(void *, uintptr_t);
typedef void free_3(void *, uintptr_t, uintptr_t);
#define AS(type, name) ((type *)(uintptr_t)get(FUNCTION_##name))

/* An allocator of its own kind may tell no sizes. */
static bool size_is_known(const void *p) {
    return heap_guard_has(p) || get(FUNCTION_malloc_usable_size);
}

static size_t usable_size(void *p) {
    if (heap_guard_has(p))
        return heap_guard_size(p);
    return p ? ((size_t(*)(void *))(uintptr_t)get(FUNCTION_malloc_usable_size))(p) : 0;
}

/* ---- allocating ---- */

static void *in_between_malloc(size_t n) {
    void *p = heap_guard_allocate(n, MALLOC_ALIGNMENT);
    return p ? p : AS(allocate_1, malloc)(n);
}

static void *in_between_calloc(size_t n, size_t each) {
    size_t bytes;
    void *p = __builtin_mul_overflow(n, each, &bytes)
                  ? NULL
                  : heap_guard_allocate(bytes, MALLOC_ALIGNMENT);
    return p ? memset(p, 0, bytes) : AS(allocate_2, calloc)(n, each);
}

static int in_between_posix_memalign(void **result, size_t alignment, size_t n) {
    bool valid = alignment >= sizeof(void *) && !(alignment & (alignment - 1));
    void *p = valid ? heap_guard_allocate(n, alignment) : NULL;
    if (!p)
        return ((int (*)(void **, size_t, size_t))(uintptr_t)get(FUNCTION_posix_memalign))(
            result, alignment, n);
    *result = p;
    return 0;
}

static void *aligned(size_t alignment, size_t n) {
    bool valid = alignment && !(alignment & (alignment - 1));
    return valid ? heap_guard_allocate(n, alignment) : NULL;
}

static void *in_between_aligned_alloc(size_t alignment, size_t n) {
    void *p = aligned(alignment, n);
    return p ? p : AS(allocate_2, aligned_alloc)(alignment, n);
}

static void *in_between_memalign(size_t alignment, size_t n) {
    void *p = aligned(alignment, n);
    return p ? p : AS(allocate_2, memalign)(alignment, n);
}

#define DEFINE_NEW(name)                                                                           \
    static void *in_between_##name(size_t n) {                                                     \
        void *p = heap_guard_allocate(n, MALLOC_ALIGNMENT);                                        \
        return p ? p : AS(allocate_1, name)(n);                                                    \
    }
NEW_PLAIN(DEFINE_NEW)
#define DEFINE_NEW_NOTHROW(name)                                                                   \
    static void *in_between_##name(size_t n, uintptr_t nothrow) {                                  \
        void *p = heap_guard_allocate(n, MALLOC_ALIGNMENT);                                        \
        return p ? p : AS(allocate_2, name)(n, nothrow);                                           \
    }
NEW_NOTHROW(DEFINE_NEW_NOTHROW)
#define DEFINE_NEW_ALIGNED(name)                                                                   \
    static void *in_between_##name(size_t n, uintptr_t alignment) {                                \
        void *p = aligned(alignment, n);                                                           \
        return p ? p : AS(allocate_2, name)(n, alignment);                                         \
    }
NEW_ALIGNED(DEFINE_NEW_ALIGNED)
#define DEFINE_NEW_ALIGNED_NOTHROW(name)                                                           \
    static void *in_between_##name(size_t n, uintptr_t alignment, const void *nothrow) {           \
        void *p = aligned(alignment, n);                                                           \
        return p ? p : AS(allocate_3, name)(n, alignment, nothrow);                                \
    }
NEW_ALIGNED_NOTHROW(DEFINE_NEW_ALIGNED_NOTHROW)

/* ---- freeing ---- */

static void look_for_locks(void *p) {
    if (sees_frees && p && size_is_known(p) && lock_misuse_looks_at_frees())
        lock_misuse_frees(p, usable_size(p));
}

/* True: it was a guarded block, and that is all. */
static bool frees(void *p) {
    look_for_locks(p);
    if (!heap_guard_has(p))
        return false;
    heap_guard_free(p);
    return true;
}

#define DEFINE_FREE_1(name)                                                                        \
    static void in_between_##name(void *p) {                                                       \
        if (!frees(p))                                                                             \
            AS(free_1, name)(p);                                                                   \
    }
FREE_1(DEFINE_FREE_1)
#define DEFINE_FREE_2(name)                                                                        \
    static void in_between_##name(void *p, uintptr_t second) {                                     \
        if (!frees(p))                                                                             \
            AS(free_2, name)(p, second);                                                           \
    }
FREE_2(DEFINE_FREE_2)
#define DEFINE_FREE_3(name)                                                                        \
    static void in_between_##name(void *p, uintptr_t second, uintptr_t third) {                    \
        if (!frees(p))                                                                             \
            AS(free_3, name)(p, second, third);                                                    \
    }
FREE_3(DEFINE_FREE_3)

static size_t in_between_malloc_usable_size(void *p) {
    return usable_size(p);
}

/* ---- resizing ---- */

static void *move(void *old, void *new, size_t n) {
    size_t had = usable_size(old);
    if (!new)
        return NULL;
    memcpy(new, old, had < n ? had : n);
    in_between_free(old);
    return new;
}

/* True: done, and *result is the answer. `guarded`: the new block may be. */
static bool resizes(void *p, size_t n, bool guarded, void **result) {
    bool may = guarded && n && (!p || size_is_known(p));
    void *new = may ? heap_guard_allocate(n, MALLOC_ALIGNMENT) : NULL;
    if (!p) {
        *result = new;
        return new != NULL;
    }
    if (!heap_guard_has(p) && !new)
        return false;
    if (!n) {
        in_between_free(p);
        *result = NULL;
        return true;
    }
    *result = move(p, new ? new : AS(allocate_1, malloc)(n), n);
    return true;
}

/* What moves within the allocator is no free that we see; resizing to nothing is one. */
static void *resize(void *p, size_t n, bool guarded) {
    void *result;
    if (!n && !heap_guard_has(p))
        look_for_locks(p);
    return resizes(p, n, guarded, &result) ? result : AS(resize_2, realloc)(p, n);
}

static void *resize_array(void *p, size_t n, size_t each, bool guarded) {
    size_t bytes;
    void *result;
    if (!__builtin_mul_overflow(n, each, &bytes) && resizes(p, bytes, guarded, &result))
        return result;
    return AS(resize_3, reallocarray)(p, n, each);
}

static void *in_between_realloc(void *p, size_t n) {
    return resize(p, n, false);
}

static void *in_between_reallocarray(void *p, size_t n, size_t each) {
    return resize_array(p, n, each, false);
}

/* In a module whose allocations are guarded. */
static void *guarded_realloc(void *p, size_t n) {
    return resize(p, n, true);
}

static void *guarded_reallocarray(void *p, size_t n, size_t each) {
    return resize_array(p, n, each, true);
}

/* ---- slots ---- */

#define DEFINE_RESOLVER(function)                                                                  \
    static const void *resolve_##function(void) {                                                  \
        return (const void *)(uintptr_t)function;                                                  \
    }
#define DEFINE_ONE(name) DEFINE_RESOLVER(in_between_##name)
ALL(DEFINE_ONE)
DEFINE_RESOLVER(guarded_realloc)
DEFINE_RESOLVER(guarded_reallocarray)
#define END(function)                                                                              \
    { (const void *)(uintptr_t)function, (const void *)(uintptr_t)resolve_##function }

static const struct named {
    const char *name;
    struct slot_end in_between, in_guarded_module; /* none: not to be patched there */
} named[FUNCTIONS] = {
#define ALLOCATING_ONE(name) [FUNCTION_##name] = {#name, {NULL, NULL}, END(in_between_##name)},
#define FREEING_ONE(name)                                                                          \
    [FUNCTION_##name] = {#name, END(in_between_##name), END(in_between_##name)},
    ALLOCATING(ALLOCATING_ONE) FREEING(FREEING_ONE)
        FREEING_ONE(malloc_usable_size)[FUNCTION_realloc] = {"realloc", END(in_between_realloc),
                                                             END(guarded_realloc)},
    [FUNCTION_reallocarray] = {"reallocarray", END(in_between_reallocarray),
                               END(guarded_reallocarray)}};

static bool is_guarded(const struct slot *s) {
    return guards &&
           object_matches(s->object, board_string(process->board, process->board->heap_from));
}

/* Another allocator's function is left alone, unless the one that we knew was unloaded. */
static bool leads_to_original(const struct slot *s, enum function f) {
    const struct object *definer;
    const void *target = slot_target(s, &definer), *known = get(f);
    if (!target || (!known && f == FUNCTION_malloc_usable_size))
        return false;
    if (!known || !objects_at((uintptr_t)known))
        atomic_store(&original[f], known = target);
    return known == target;
}

/* What the functions above need of the allocator whatever the slots were called. */
static bool knows_allocator(const struct slot *s) {
    static const enum function needed[] = {FUNCTION_malloc, FUNCTION_free};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!get(needed[i]))
            atomic_store(&original[needed[i]], slot_definition(s->object, named[needed[i]].name));
    if (!get(FUNCTION_malloc) || !get(FUNCTION_free))
        return false;
    const void *size = slot_definition(s->object, "malloc_usable_size");
    if (size && objects_at((uintptr_t)size) == objects_at((uintptr_t)get(FUNCTION_free)))
        atomic_store(&original[FUNCTION_malloc_usable_size], size);
    return true;
}

static struct slot_end look(const struct slot *s) {
    static const struct slot_end none = {NULL, NULL};
    for (size_t f = 0; (guards || sees_frees) && f < FUNCTIONS; f++) {
        if (strcmp(named[f].name, s->name) != 0)
            continue;
        const struct slot_end *end =
            is_guarded(s) ? &named[f].in_guarded_module : &named[f].in_between;
        return end->function && knows_allocator(s) && leads_to_original(s, (enum function)f) ? *end
                                                                                             : none;
    }
    return none;
}

static void patched(const struct slot *s) {
    for (size_t f = 0; f < FUNCTIONS; f++)
        if (!named[f].in_between.function && strcmp(named[f].name, s->name) == 0)
            atomic_fetch_add(&process_slot()->heap_slots, 1);
}

const struct slot_user heap_slots = {look, patched};

/* ---- start ---- */

void heap_calls_start(void) {
    unsigned wanted = process->board->detectors;
    if (process_has_sanitizer())
        return;
    sees_frees = (wanted & DETECT_LOCKS) != 0;
    guards = (wanted & DETECT_HEAP) && heap_guard_start();
}

bool heap_calls_self_test(void) {
    return guards && heap_guard_self_test();
}
