/* The functions that our exported hooks stand before, resolved once. A family of one or two takes
 * ORIGINAL; one of many looks them all up at once, in a function find_originals of its own. */
#ifndef HOLDPOINT_ORIGINAL_H
#define HOLDPOINT_ORIGINAL_H

#include <stddef.h>

/* The next definition of `name` after ours; `library` (or NULL) is asked when it was loaded out of
 * the global scope (facts: Open MPI 4.1 loads libpmix RTLD_LOCAL). NULL: there is none. Not for
 * signal handlers. */
void *original_find(const char *name, const char *library);

/* Declares a pointer to the original of a C library function and a getter that resolves it on first
 * use, for hooks that may be called before our constructor. */
#define ORIGINAL(result, name, ...) ORIGINAL_WITH(result, name, (__VA_ARGS__))
#define ORIGINAL_WITH(result, name, parameters)                                                    \
    static result(*name##_original) parameters;                                                    \
    static result(*get_##name(void)) parameters {                                                  \
        if (!name##_original)                                                                      \
            name##_original = (result(*) parameters)(uintptr_t)original_find(#name, NULL);         \
        return name##_original;                                                                    \
    }

/* One of many: where its pointer is. A function that has an older meaning too has a version, else
 * NULL. */
struct original {
    const char *name, *version;
    void **pointer;
    void *found;
};
#define ORIGINAL_ENTRY(name, version)                                                              \
    { #name, version, (void **)&name##_original, NULL }

/* All are looked up before the first pointer is set; one that is not there keeps its pointer. */
void original_find_all(struct original *all, size_t n);

/* Of one of many, also before our constructor. */
#define ORIGINAL_OF(name)                                                                          \
    (__builtin_expect(!name##_original, 0) ? (find_originals(), name##_original) : name##_original)

/* The pointer to one of many that the look-up itself may call, by way of somebody's allocator: on a
 * thread that is `looking` the call is let through undone. */
#define ORIGINAL_LOOKED_FOR(name, parameters, arguments)                                           \
    static int name##_first parameters;                                                            \
    static int(*name##_original) parameters = name##_first;                                        \
    static int name##_first parameters {                                                           \
        if (looking)                                                                               \
            return 0;                                                                              \
        find_originals();                                                                          \
        return name##_original == name##_first ? ENOSYS : name##_original arguments;               \
    }

/* Resolves, in the constructor, what must be ready before a signal handler or a vfork child may
 * need it. */
void original_start(void);

#endif
