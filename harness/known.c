/* known.yaml beside a scenario: signatures that carry a bug's public id. Runner only. */
#include "collect.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"
#include "findings.h"
#include "record.h"
#include "yaml_tree.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool read_kind(struct yaml_tree *t, yaml_node_t *v, void *into) {
    const char *text = tree_scalar(t, v, "a kind of finding");
    if (!text)
        return false;
    if (finding_kind_from_name(text, into))
        return true;
    const char *known[FINDING_COUNT];
    for (int i = 0; i < FINDING_COUNT; i++)
        known[i] = finding_kind_name((enum finding_kind)i);
    return tree_unknown(t, v, "kind", text, known, FINDING_COUNT);
}

/* A frame of the stack that was begun last. */
static bool read_glob(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct known *known = into;
    int last = known->n_stacks - 1, n = known->stack[last].n;
    char **glob = allocate_again(known->stack[last].glob, (size_t)n + 1, sizeof *glob);
    known->stack[last].glob = glob;
    if (!tree_text(t, v, &glob[n]))
        return false;
    known->stack[last].n++;
    return true;
}

static bool read_stack(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *into) {
    const char *role[STACK_PREVIOUS + 1];
    struct known *known = into;
    const char *name = (const char *)key->data.scalar.value;
    bool is_role = false;
    for (size_t i = 0; i < COUNT(role); i++) {
        role[i] = role_text((uint32_t)i);
        is_role |= strcmp(name, role[i]) == 0;
    }
    if (!is_role)
        return tree_unknown(t, key, "stack", name, role, COUNT(role));
    if (known->n_stacks == (int)COUNT(known->stack))
        return tree_complain(t, key, "a signature has at most %zu stacks", COUNT(known->stack));
    known->stack[known->n_stacks++].role = copy_text(name);
    return tree_list(t, value, "frames of a stack", read_glob, known);
}

static bool read_frames(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return tree_named(t, v, "frames", read_stack, into);
}

static bool read_signature(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const struct tree_key keys[] = {
        {"id", tree_text, offsetof(struct known, id), TREE_REQUIRED},
        {"kind", read_kind, offsetof(struct known, kind), TREE_REQUIRED},
        {"title", tree_text, offsetof(struct known, title), TREE_OPTIONAL},
        {"frames", read_frames, 0, TREE_REQUIRED},
        {0},
    };
    static const struct tree_schema schema = {"a known signature", keys, NULL};
    struct known_list *list = into;
    list->known = allocate_again(list->known, (size_t)list->n + 1, sizeof *list->known);
    struct known *known = &list->known[list->n++];
    *known = (struct known){0};
    if (!tree_mapping(t, v, &schema, known))
        return false;
    /* Without a frame it would name every finding of its kind. */
    for (int i = 0; i < known->n_stacks; i++)
        if (known->stack[i].n > 0)
            return true;
    return tree_complain(t, v,
                         "the signature %s needs a frame in frames:, such as "
                         "frames: {use: [ncclProfiler*]}",
                         known->id);
}

bool known_read(const char *file, struct known_list *k, struct complaints *c) {
    *k = (struct known_list){0};
    if (access(file, F_OK) != 0 && errno == ENOENT)
        return true;
    struct yaml_tree tree;
    if (!tree_open(&tree, file, "a list of known signatures", c))
        return false;
    bool ok = tree_list(&tree, tree_root(&tree), "known signatures", read_signature, k);
    tree_close(&tree);
    if (!ok)
        known_free(k);
    return ok;
}

static void free_known(struct known *known) {
    for (int i = 0; i < known->n_stacks; i++) {
        for (int j = 0; j < known->stack[i].n; j++)
            free(known->stack[i].glob[j]);
        free(known->stack[i].glob);
        free(known->stack[i].role);
    }
    free(known->id);
    free(known->title);
}

void known_free(struct known_list *k) {
    for (int i = 0; i < k->n; i++)
        free_known(&k->known[i]);
    free(k->known);
    *k = (struct known_list){0};
}
