/* The functions that our exported hooks stand before, resolved once. */
#ifndef HOLDPOINT_ORIGINAL_H
#define HOLDPOINT_ORIGINAL_H
/* The next definition of `name` after ours; `library` (or NULL) is asked when it was loaded out of
 * the global scope (facts: Open MPI 4.1 loads libpmix RTLD_LOCAL). NULL: there is none. Not for
 * signal handlers. */
void *original_find(const char *name, const char *library);
/* Declares a pointer to the original of a C library function and a getter that resolves it on first
 * use, for hooks that may be called before our constructor. */
#define ORIGINAL(result, name, ...)                                                                \
    static result (*name##_original)(__VA_ARGS__);                                                 \
    static result (*get_##name(void))(__VA_ARGS__) {                                               \
        if (!name##_original)                                                                      \
            name##_original = (result(*)(__VA_ARGS__))(uintptr_t)original_find(#name, NULL);       \
        return name##_original;                                                                    \
    }
/* Resolves, in the constructor, what must be ready before a signal handler or a vfork child may
 * need it. */
void original_start(void);
#endif
