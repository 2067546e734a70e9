/* The tables made of shims/hooks.def. Constant data; may be used from any thread. */
#include "hook_names.h"

#include <string.h>

const struct hook_name hook_names[HOOK_COUNT] = {
#define ATTR(name, id, type, what)
#define HOOK(name, id, sides, traits, attributes, what, way, function)                             \
    [HOOK_##id] = {name, sides, traits, attributes, what, way, function},
#include "../shims/hooks.def"
#undef HOOK
#undef ATTR
};

const struct call_name call_names[HOOK_COUNT] = {
#define ATTR(name, id, type, what)
#define HOOK(name, id, sides, traits, attributes, what, way, function)
#define CALL_NAME(name, id, sides, traits, attributes, what, module, function, object)             \
    [HOOK_##id] = {module, function, object},
#include "../shims/hooks.def"
#undef HOOK
#undef ATTR
};

const struct attribute_name attribute_names[ATTR_COUNT] = {
#define ATTR(name, id, type, what) [ATTR_##id] = {name, type, what},
#define HOOK(name, id, sides, traits, attributes, what, way, function)
#include "../shims/hooks.def"
#undef HOOK
#undef ATTR
};

enum hook_id hook_by_name(const char *name) {
    if (strncmp(name, "call:", 5) == 0)
        return HOOK_CALL;
    for (int i = 0; i < HOOK_COUNT; i++)
        if (strcmp(hook_names[i].name, name) == 0)
            return (enum hook_id)i;
    return HOOK_COUNT;
}

enum attr_id attribute_by_name(const char *name) {
    for (int i = 0; i < ATTR_COUNT; i++)
        if (strcmp(attribute_names[i].name, name) == 0)
            return (enum attr_id)i;
    return ATTR_COUNT;
}

bool hook_has_side(enum hook_id hook, enum side side) {
    return strchr(hook_names[hook].sides, "ERA"[side]) != NULL;
}

bool hook_has_trait(enum hook_id hook, char trait) {
    return strchr(hook_names[hook].traits, trait) != NULL;
}

bool hook_has_attribute(enum hook_id hook, enum attr_id attribute) {
    const char *word = hook_names[hook].attributes, *name = attribute_names[attribute].name;
    size_t length = strlen(name);
    while (*word) {
        size_t n = strcspn(word, " ");
        if (n == length && memcmp(word, name, n) == 0)
            return true;
        word += n;
        word += strspn(word, " ");
    }
    return false;
}

const char *side_name(enum side side) {
    static const char *const name[] = {"enter", "return", "asleep"};
    return name[side];
}
