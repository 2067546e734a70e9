/* Proves: shims/hooks.def is sorted, each of its words is one that the tables know, and look-up
 * finds it. */
#include "hook_names.h"

#include <stdio.h>
#include <string.h>

static int failures;
static void check(bool ok, const char *name, const char *what) {
    if (!ok) {
        printf("hook_names: %s: %s\n", name, what);
        failures++;
    }
}

static void check_attributes(enum hook_id hook) {
    char words[256];
    snprintf(words, sizeof words, "%s", hook_names[hook].attributes);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        enum attr_id attribute = attribute_by_name(word);
        check(attribute != ATTR_COUNT, word, "named by a hook, but there is no such ATTR line");
        check(attribute == ATTR_COUNT || hook_has_attribute(hook, attribute), word, "not found");
    }
}

int main(void) {
    for (int i = 0; i < HOOK_COUNT; i++) {
        const struct hook_name *h = &hook_names[i];
        check(hook_by_name(h->name) == (enum hook_id)i, h->name, "look-up finds another one");
        check(strspn(h->sides, "ERA") == strlen(h->sides) && h->sides[0], h->name, "unknown side");
        check(strspn(h->traits, "CFBOS") == strlen(h->traits), h->name, "unknown trait");
        check(i == 0 || strcmp(hook_names[i - 1].name, h->name) < 0, h->name, "not sorted");
        check_attributes((enum hook_id)i);
        bool has_object = call_names[i].function && call_names[i].object;
        check(!call_names[i].function || has_object == hook_has_trait((enum hook_id)i, 'O'),
              h->name, "a name for a call is about one of its arguments, or has no trait O");
    }
    check(call_names[HOOK_TREE_ERASE].object == 2 && !call_names[HOOK_CALL].function, "tree.erase",
          "is no name for a call");
    check(hook_by_name("call:libc.so.6!close") == HOOK_CALL, "call:libc.so.6!close", "not call:");
    check(hook_by_name("thread.exi") == HOOK_COUNT, "thread.exi", "found by a part of a name");
    check(hook_has_side(HOOK_CALL, SIDE_ASLEEP), "call:", "has no side asleep");
    check(!hook_has_side(HOOK_THREAD_START, SIDE_RETURN), "thread.start", "has a side return");
    check(hook_has_trait(HOOK_PMIX_FENCE_CALLBACK, 'B'), "fence callback", "is no callback");
    check(!hook_has_trait(HOOK_THREAD_START, 'C'), "thread.start", "has an extent");
    check(!hook_has_attribute(HOOK_CALL, ATTR_START), "call:", "has the attribute start");
    check(hook_has_attribute(HOOK_THREAD_START, ATTR_START), "thread.start", "has no start");
    if (!failures)
        printf("hook_names: %d hooks, %d attributes: sorted, known words, found\n", HOOK_COUNT,
               ATTR_COUNT);
    return failures != 0;
}
