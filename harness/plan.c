/* Reading a plan file: its keys, and names that stand for each other. Its faults are read in
 * plan_faults.c; what a plan must not say for other reasons is in plan_check.c. Main thread of the
 * runner; the target process never parses. */
#include "plan.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "hook_names.h"
#include "plan_reading.h"
#include "yaml_tree.h"

/* ---- names ---- */

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int point_named(const struct plan *p, const char *name) {
    for (int i = 0; i < p->n_points; i++)
        if (p->point[i].name && strcmp(p->point[i].name, name) == 0)
            return i;
    return -1;
}

static int find_point(struct yaml_tree *t, yaml_node_t *v, const char *name) {
    const struct plan *p = t->context;
    int found = point_named(p, name);
    if (found >= 0 && !strchr(name, ' '))
        return found;
    const char *known[BOARD_MAX_POINTS];
    size_t n = 0;
    for (int i = 0; i < p->n_points; i++)
        if (!strchr(p->point[i].name, ' ')) /* not the point of a role */
            known[n++] = p->point[i].name;
    tree_unknown(t, v, "point", name, known, n);
    return -1;
}

bool plan_point_name(struct yaml_tree *t, yaml_node_t *v, void *into) {
    const char *name = tree_scalar(t, v, "the name of a point");
    if (!name)
        return false;
    *(int *)into = find_point(t, v, name);
    return *(int *)into >= 0;
}

static bool read_role_name(struct yaml_tree *t, yaml_node_t *v, void *into) {
    const struct plan *p = t->context;
    const char *known[BOARD_MAX_ROLES];
    for (int i = 0; i < p->n_roles; i++)
        known[i] = p->role[i].name;
    *(int *)into = tree_one_of(t, v, "role", known, (size_t)p->n_roles);
    return *(int *)into >= 0;
}

/* ---- points and roles ---- */

static bool read_call(struct yaml_tree *t, yaml_node_t *v, const char *text,
                      struct plan_point *point) {
    const char *module = text + strlen("call:"), *bang = strrchr(module, '!');
    if (!bang || bang == module || !bang[1] || strchr(module, '!') != bang)
        return tree_complain(t, v,
                             "'%.100s' is not call:MODULE!FUNCTION, such as "
                             "call:libc.so.6!close or call:*!MPI_Init",
                             text);
    if (strpbrk(bang + 1, "*?[] \t"))
        return tree_complain(t, v,
                             "the function of '%.100s' must be one exact name; only the module "
                             "may have * and ?",
                             text);
    if (memchr(module, '/', (size_t)(bang - module)))
        return tree_complain(t, v, "the module of '%.100s' is a file name without folders", text);
    point->module = copy_part(module, (size_t)(bang - module));
    point->function = copy_text(bang + 1);
    return true;
}

/* A hook that is a name for a call says which. */
static void name_call(struct plan_point *point) {
    const struct call_name *call = &call_names[point->hook];
    if (!call->function)
        return;
    point->module = copy_text(call->module);
    point->function = copy_text(call->function);
}

static bool read_hook(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan_point *point = into;
    const char *text = tree_scalar(t, v, "a hook");
    if (!text)
        return false;
    point->hook = hook_by_name(text);
    if (point->hook == HOOK_CALL)
        return read_call(t, v, text, point);
    if (point->hook != HOOK_COUNT) {
        name_call(point);
        return true;
    }
    const char *known[HOOK_COUNT];
    for (int i = 0; i < HOOK_COUNT; i++)
        known[i] = i == HOOK_CALL ? "call:MODULE!FUNCTION" : hook_names[i].name;
    return tree_unknown(t, v, "hook", text, known, HOOK_COUNT);
}

static bool read_side(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const char *const name[] = {"enter", "return", "asleep"};
    int side = tree_one_of(t, v, "side", name, COUNT(name));
    if (side >= 0)
        *(enum side *)into = (enum side)side;
    return side >= 0;
}

static bool read_crowd(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const char *const name[] = {"hold"};
    *(bool *)into = tree_one_of(t, v, "crowd", name, COUNT(name)) == 0;
    return *(bool *)into;
}

/* MODULE!FUNCTION, both globs; a function alone is looked for in every module. */
static bool read_code(struct yaml_tree *t, yaml_node_t *v, void *into) {
    const char *text = tree_scalar(t, v, "MODULE!FUNCTION");
    if (!text)
        return false;
    const char *bang = strchr(text, '!');
    if (!*text || (bang && (bang == text || !bang[1] || strchr(bang + 1, '!'))))
        return tree_complain(t, v, "'%.100s' is not MODULE!FUNCTION, such as libnccl.so.2!*Stop*",
                             text);
    *(char **)into = bang ? copy_text(text) : format_text("*!%s", text);
    return true;
}

/* `after: pass at_exit #2` without quotes would end before the #, where YAML begins a comment. */
static bool comment_counts(const struct yaml_tree *t, const yaml_node_t *v) {
    size_t i = v->end_mark.index;
    while (i < t->bytes && (t->text[i] == ' ' || t->text[i] == '\t'))
        i++;
    return v->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && i + 1 < t->bytes &&
           t->text[i] == '#' && t->text[i + 1] >= '0' && t->text[i + 1] <= '9';
}

static bool read_after(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan_point *point = into;
    if (!tree_text(t, v, &point->after))
        return false;
    point->after_line = tree_line(v);
    point->after_column = tree_column(v);
    if (comment_counts(t, v))
        return tree_complain(t, v,
                             "put the step's text into quotes: YAML takes the # for a comment");
    return true;
}

/* Points and roles are declared first, so that their order in the file does not matter. */
static int declare(struct yaml_tree *t, yaml_node_t *key, char *name) {
    struct plan *p = t->context;
    if (p->n_points == BOARD_MAX_POINTS) {
        tree_complain(t, key, "a plan may have %d points, roles counted in, and '%s' is one more",
                      BOARD_MAX_POINTS, name);
        free(name);
        return -1;
    }
    p->point[p->n_points] = (struct plan_point){.name = name,
                                                .rank = -1,
                                                .role = -1,
                                                .within = -1,
                                                .object_of = -1,
                                                .hook = HOOK_COUNT,
                                                .line = tree_line(key),
                                                .column = tree_column(key)};
    return p->n_points++;
}

static bool read_other_object(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan_point *point = into;
    if (point->object_of >= 0)
        return tree_complain(t, v, "a point has object_of: or not_object_of:, not both");
    point->object_differs = true;
    return plan_point_name(t, v, &point->object_of);
}

#define POINT_OF_HOOK "within " /* what such a point's name begins with */

/* What `within` may name: points, and hooks whose calls have an extent. */
static bool complain_of_within(struct yaml_tree *t, yaml_node_t *v, const char *name) {
    const struct plan *p = t->context;
    const char *known[BOARD_MAX_POINTS + HOOK_COUNT];
    size_t n = 0;
    if (strncmp(name, "call:", strlen("call:")) == 0)
        return tree_complain(t, v,
                             "within names a point, and '%.100s' is a call: give it a point of its "
                             "own, such as outer: {hook: '%.100s'}, and write within: outer",
                             name, name);
    for (int i = 0; i < p->n_points; i++)
        if (!strchr(p->point[i].name, ' '))
            known[n++] = p->point[i].name;
    for (int i = 0; i < HOOK_COUNT; i++)
        if (i != HOOK_CALL && hook_has_trait((enum hook_id)i, 'C'))
            known[n++] = hook_names[i].name;
    return tree_unknown(t, v, "point or hook", name, known, n);
}

const char *plan_outer_name(const struct plan_point *outer) {
    size_t prefix = strlen(POINT_OF_HOOK);
    return strncmp(outer->name, POINT_OF_HOOK, prefix) == 0 ? outer->name + prefix : outer->name;
}

/* `within` names a point, or a hook for all of its calls: that one gets a point of its own. */
static bool read_within(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan *p = t->context;
    const char *name = tree_scalar(t, v, "the name of a point or of a hook");
    if (!name)
        return false;
    enum hook_id hook = hook_by_name(name);
    if (point_named(p, name) >= 0)
        return plan_point_name(t, v, into);
    if (hook == HOOK_COUNT || hook == HOOK_CALL)
        return complain_of_within(t, v, name);
    AUTO_TEXT text = format_text(POINT_OF_HOOK "%s", name);
    int found = point_named(p, text);
    if (found < 0 && (found = declare(t, v, copy_text(text))) >= 0) {
        p->point[found].hook = hook;
        name_call(&p->point[found]);
    }
    *(int *)into = found;
    return found >= 0;
}

static bool add_filter(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value,
                       struct plan_point *point, enum attr_id attribute) {
    if (point->n_filters == (int)COUNT(point->filter))
        return tree_complain(t, key, "a point may have %zu attribute filters, and this is one more",
                             COUNT(point->filter));
    struct plan_filter *filter = &point->filter[point->n_filters++];
    filter->attr = attribute;
    switch (attribute_names[attribute].type) {
    case ATTR_INT: {
        const char *text = tree_scalar(t, value, "a number");
        if (!text || number_from_text(text, &filter->number))
            return text != NULL;
        return tree_complain(t, value, "'%.80s' is not a whole number, and '%s' is one", text,
                             attribute_names[attribute].name);
    }
    case ATTR_CODE:
        return read_code(t, value, &filter->text);
    default:
        return tree_text(t, value, &filter->text);
    }
}

static bool unknown_filter(struct yaml_tree *t, yaml_node_t *key, const struct plan_point *point,
                           const struct tree_key *keys) {
    const char *word = (const char *)key->data.scalar.value, *known[ATTR_COUNT + 32];
    size_t n = 0;
    for (int i = 0; i < ATTR_COUNT; i++)
        if (hook_has_attribute(point->hook, (enum attr_id)i))
            known[n++] = attribute_names[i].name;
    if (attribute_by_name(word) != ATTR_COUNT)
        return tree_complain(t, key, "the hook %s has no '%s' to filter by; %s%s",
                             hook_names[point->hook].name, word,
                             n ? "it has " : "it has no attributes: leave the filter out",
                             hook_names[point->hook].attributes);
    for (; keys->name; keys++)
        known[n++] = keys->name;
    return tree_unknown(t, key, "filter", word, known, n);
}

static bool read_filter(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value,
                        struct plan_point *point, const struct tree_key *keys) {
    enum attr_id attribute = attribute_by_name((const char *)key->data.scalar.value);
    if (point->hook == HOOK_COUNT)
        return false; /* the hook was complained about; what it has is unknown */
    if (attribute != ATTR_COUNT && hook_has_attribute(point->hook, attribute))
        return add_filter(t, key, value, point, attribute);
    return unknown_filter(t, key, point, keys);
}

#define POINT_FILTERS                                                                              \
    {"side", read_side, offsetof(struct plan_point, side), TREE_OPTIONAL},                         \
        {"rank", tree_rank, offsetof(struct plan_point, rank), TREE_OPTIONAL},                     \
        {"within", read_within, offsetof(struct plan_point, within), TREE_OPTIONAL},               \
        {"nth", tree_positive, offsetof(struct plan_point, nth), TREE_OPTIONAL},                   \
        {"caller", read_code, offsetof(struct plan_point, caller), TREE_OPTIONAL},                 \
        {"stack", read_code, offsetof(struct plan_point, stack), TREE_OPTIONAL},                   \
        {"object_of", plan_point_name, offsetof(struct plan_point, object_of), TREE_OPTIONAL},     \
        {"not_object_of", read_other_object, 0, TREE_OPTIONAL},                                    \
        {"from", tree_text, offsetof(struct plan_point, from), TREE_OPTIONAL}, {                   \
        "after", read_after, 0, TREE_OPTIONAL                                                      \
    }

static const struct tree_key point_keys[] = {
    {"hook", read_hook, 0, TREE_REQUIRED},
    POINT_FILTERS,
    {"role", read_role_name, offsetof(struct plan_point, role), TREE_OPTIONAL},
    {"crowd", read_crowd, offsetof(struct plan_point, crowd_hold), TREE_OPTIONAL},
    {"same", tree_bool, offsetof(struct plan_point, same), TREE_OPTIONAL},
    {0},
};
static const struct tree_key role_keys[] = {
    {"at", read_hook, 0, TREE_REQUIRED},
    POINT_FILTERS,
    {0},
};

static bool point_filter(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *base) {
    return read_filter(t, key, value, base, point_keys);
}

static bool role_filter(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *base) {
    return read_filter(t, key, value, base, role_keys);
}

static bool declare_point(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *into) {
    (void)value, (void)into;
    return declare(t, key, copy_text((const char *)key->data.scalar.value)) >= 0;
}

static bool declare_role(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *into) {
    (void)value, (void)into;
    struct plan *p = t->context;
    const char *name = (const char *)key->data.scalar.value;
    if (p->n_roles == BOARD_MAX_ROLES)
        return tree_complain(t, key, "a plan may have %d roles, and '%s' is one more",
                             BOARD_MAX_ROLES, name);
    int point = declare(t, key, format_text("role %s", name));
    if (point < 0)
        return false;
    p->role[p->n_roles++] = (struct plan_role){.name = copy_text(name),
                                               .point = point,
                                               .line = tree_line(key),
                                               .column = tree_column(key)};
    return true;
}

static bool read_point(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *into) {
    static const struct tree_schema schema = {"a point", point_keys, point_filter};
    (void)into;
    struct plan *p = t->context;
    int i = point_named(p, (const char *)key->data.scalar.value);
    return i < 0 || tree_mapping(t, value, &schema, &p->point[i]);
}

static bool read_role(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *into) {
    static const struct tree_schema schema = {"a role", role_keys, role_filter};
    (void)into;
    struct plan *p = t->context;
    AUTO_TEXT name = format_text("role %s", (const char *)key->data.scalar.value);
    int i = point_named(p, name);
    return i < 0 || tree_mapping(t, value, &schema, &p->point[i]);
}

static bool declare_points(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return tree_named(t, v, "points", declare_point, into);
}
static bool declare_roles(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return tree_named(t, v, "roles", declare_role, into);
}
/* What declaring complained about is not complained about again. */
static bool read_points(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return v->type != YAML_MAPPING_NODE || ((struct plan *)t->context)->n_points == 0 ||
           tree_named(t, v, "points", read_point, into);
}
static bool read_roles(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return v->type != YAML_MAPPING_NODE || ((struct plan *)t->context)->n_roles == 0 ||
           tree_named(t, v, "roles", read_role, into);
}

/* ---- steps ---- */

static bool read_step(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan *p = into;
    const char *text = tree_scalar(t, v, "a step");
    if (!text)
        return false;
    char word[80], name[80], rest[2];
    int n = sscanf(text, "%79s %79s %1s", word, name, rest);
    bool pass = n == 2 && strcmp(word, "pass") == 0;
    if (n != 2 || (!pass && strcmp(word, "reach") != 0))
        return tree_complain(t, v, "'%.80s' is no step: write `reach POINT` or `pass POINT`", text);
    int point = find_point(t, v, name);
    if (point < 0)
        return false;
    if (p->n_steps == BOARD_MAX_STEPS)
        return tree_complain(t, v, "a plan may have %d steps, and this is one more",
                             BOARD_MAX_STEPS);
    p->step[p->n_steps++] = (struct plan_step){.kind = pass ? STEP_PASS : STEP_REACH,
                                               .point = point,
                                               .text = format_text("%s %s", word, name),
                                               .line = tree_line(v),
                                               .column = tree_column(v)};
    return true;
}

static bool read_steps(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return tree_list(t, v, "steps", read_step, into);
}

int plan_after(const struct plan *p, const char *after) {
    int64_t number;
    if (number_from_text(after, &number))
        return number >= 1 && number <= p->n_steps ? (int)number - 1 : -1;
    char word[80], name[80], rest[2];
    unsigned occurrence = 1;
    int n = sscanf(after, "%79s %79s #%u %1s", word, name, &occurrence, rest);
    int plain = sscanf(after, "%79s %79s %1s", word, name, rest);
    if (occurrence < 1 || (n != 3 && plain != 2))
        return -1;
    AUTO_TEXT text = format_text("%s %s", word, name);
    for (int i = 0; i < p->n_steps; i++)
        if (strcmp(p->step[i].text, text) == 0 && --occurrence == 0)
            return i;
    return -1;
}

/* ---- the rest ---- */

static bool read_scope(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const char *const name[] = {"job", "rank"};
    int scope = tree_one_of(t, v, "scope", name, COUNT(name));
    *(bool *)into = scope == 1;
    return scope >= 0;
}

static bool read_listed_rank(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan *p = into;
    int rank;
    if (!tree_rank(t, v, &rank))
        return false;
    for (int i = 0; i < p->n_ranks_listed; i++)
        if (p->ranks[i] == rank)
            return tree_complain(t, v, "rank %d stands twice in ranks: keep one", rank);
    if (p->n_ranks_listed == BOARD_MAX_RANKS)
        return tree_complain(t, v, "ranks: may name %d ranks, and this is one more",
                             BOARD_MAX_RANKS);
    p->ranks[p->n_ranks_listed++] = rank;
    return true;
}

static bool read_ranks(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan *p = into;
    if (!tree_list(t, v, "ranks", read_listed_rank, into))
        return false;
    if (p->n_ranks_listed == 0)
        return tree_complain(t, v, "ranks: names no rank");
    if (!p->scope_rank)
        return tree_complain(t, v,
                             "ranks: says which ranks have a sequence of their own; it goes "
                             "with scope: rank");
    return true;
}

static bool read_detector(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const char *const name[] = {"asan", "tsan", "frames", "locks", "deadlock", "heap"};
    static const unsigned bit[] = {DETECT_ASAN,  DETECT_TSAN,     DETECT_FRAMES,
                                   DETECT_LOCKS, DETECT_DEADLOCK, DETECT_HEAP};
    static const char *const later[] = {"handles"};
    const char *text = tree_scalar(t, v, "a detector");
    for (size_t i = 0; text && i < COUNT(later); i++)
        if (strcmp(text, later[i]) == 0)
            return tree_complain(t, v,
                                 "the detector '%s' is not in this version; there is asan, "
                                 "tsan, frames, locks, deadlock and heap",
                                 text);
    int detector = text ? tree_one_of(t, v, "detector", name, COUNT(name)) : -1;
    if (detector >= 0)
        *(unsigned *)into |= bit[detector];
    return detector >= 0;
}

static bool read_detectors(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return tree_list(t, v, "detect", read_detector, into);
}

/* "136", or "100..200". */
static bool read_sizes(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan_heap *heap = into;
    const char *text = tree_scalar(t, v, "size");
    const char *dots = text ? strstr(text, "..") : NULL;
    AUTO_TEXT first = text ? copy_part(text, dots ? (size_t)(dots - text) : strlen(text)) : NULL;
    int64_t low, high;
    if (!text)
        return false;
    if (!number_from_text(first, &low) || !number_from_text(dots ? dots + 2 : first, &high) ||
        low < 1 || high < low || high > BOARD_MOST_GUARDED_BYTES)
        return tree_complain(t, v,
                             "size: takes a number of bytes, or the least and the most "
                             "(`100..200`), from 1 to %d, not '%.40s'",
                             BOARD_MOST_GUARDED_BYTES, text);
    heap->low = (uint64_t)low;
    heap->high = (uint64_t)high;
    return true;
}

static bool read_heap(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const struct tree_key keys[] = {
        {"from", tree_text, offsetof(struct plan_heap, from), TREE_REQUIRED},
        {"size", read_sizes, 0, TREE_REQUIRED},
        {0},
    };
    static const struct tree_schema schema = {"heap", keys, NULL};
    struct plan_heap *heap = into;
    heap->line = tree_line(v);
    heap->column = tree_column(v);
    return tree_mapping(t, v, &schema, heap);
}

static bool read_frames(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const struct tree_key keys[] = {
        {"guard", plan_point_name, offsetof(struct plan_frames, guard), TREE_REQUIRED},
        {0},
    };
    static const struct tree_schema schema = {"frames", keys, NULL};
    struct plan_frames *frames = into;
    frames->line = tree_line(v);
    frames->column = tree_column(v);
    return tree_mapping(t, v, &schema, frames);
}

static bool read_follow(struct yaml_tree *t, yaml_node_t *v, void *into) {
    struct plan *p = into;
    char *text = NULL;
    if (!tree_text(t, v, &text))
        return false;
    if (strcmp(text, "children") == 0) {
        p->follow = FOLLOW_CHILDREN;
        free(text);
        return true;
    }
    p->follow = FOLLOW_PROGRAM;
    p->follow_program = text;
    return !strchr(text, '/') || tree_complain(t, v,
                                               "follow: takes `children` or the file name of "
                                               "a program, without folders");
}

static bool add_variable(struct yaml_tree *t, yaml_node_t *key, int rank, char *assignment,
                         void *into) {
    struct plan *p = into;
    if (p->n_env == BOARD_MAX_ENV) {
        free(assignment);
        return tree_complain(t, key, "a plan may set %d variables, and this is one more",
                             BOARD_MAX_ENV);
    }
    p->env[p->n_env++] = (struct plan_env){
        .rank = rank, .line = tree_line(key), .column = tree_column(key), .assignment = assignment};
    return true;
}

static bool read_env(struct yaml_tree *t, yaml_node_t *v, void *into) {
    return tree_environment(t, v, add_variable, into);
}

#define IN_PLAN(field) offsetof(struct plan, field)
static const struct tree_key plan_keys[] = {
    {"plan", tree_text, IN_PLAN(name), TREE_REQUIRED},
    {"scope", read_scope, IN_PLAN(scope_rank), TREE_OPTIONAL},
    {"heal", tree_bool, IN_PLAN(heal), TREE_OPTIONAL},
    {"ranks", read_ranks, 0, TREE_OPTIONAL},
    {"points", declare_points, 0, TREE_OPTIONAL},
    {"roles", declare_roles, 0, TREE_OPTIONAL},
    {"points", read_points, 0, TREE_OPTIONAL},
    {"roles", read_roles, 0, TREE_OPTIONAL},
    {"steps", read_steps, 0, TREE_OPTIONAL},
    {"faults", plan_read_faults, 0, TREE_OPTIONAL},
    {"timeout", tree_duration, IN_PLAN(timeout_ns), TREE_OPTIONAL},
    {"detect", read_detectors, IN_PLAN(detectors), TREE_OPTIONAL},
    {"heap", read_heap, IN_PLAN(heap), TREE_OPTIONAL},
    {"frames", read_frames, IN_PLAN(frames), TREE_OPTIONAL},
    {"follow", read_follow, 0, TREE_OPTIONAL},
    {"env", read_env, 0, TREE_OPTIONAL},
    {"sweep", plan_read_sweep, IN_PLAN(sweep), TREE_OPTIONAL},
    {0},
};

struct plan *plan_read(const char *file, struct complaints *c) {
    static const struct tree_schema schema = {"a plan", plan_keys, NULL};
    struct yaml_tree tree;
    if (!tree_open(&tree, file, "a plan", c))
        return NULL;
    struct plan *p = allocate(1, sizeof *p);
    p->file = copy_text(file);
    p->hash = tree.hash;
    p->timeout_ns = 5000000000u;
    p->frames.guard = -1;
    tree.context = p;
    bool ok = tree_mapping(&tree, tree_root(&tree), &schema, p);
    if (ok && p->scope_rank && p->n_ranks_listed == 0)
        ok = tree_complain(&tree, tree_root(&tree),
                           "scope: rank needs ranks: [..], the ranks that have a sequence");
    tree_close(&tree);
    if (ok)
        return p;
    plan_free(p);
    return NULL;
}

static void free_point(struct plan_point *point) {
    free(point->name);
    free(point->module);
    free(point->function);
    free(point->from);
    free(point->caller);
    free(point->stack);
    free(point->after);
    for (int i = 0; i < point->n_filters; i++)
        free(point->filter[i].text);
}

void plan_free(struct plan *p) {
    if (!p)
        return;
    for (int i = 0; i < p->n_points; i++)
        free_point(&p->point[i]);
    for (int i = 0; i < p->n_steps; i++)
        free(p->step[i].text);
    for (int i = 0; i < p->n_roles; i++)
        free(p->role[i].name);
    for (int i = 0; i < p->n_faults; i++)
        free(p->fault[i].text);
    for (int i = 0; i < p->n_env; i++)
        free(p->env[i].assignment);
    for (int i = 0; i < p->sweep.n_functions; i++)
        free(p->sweep.function[i]);
    free(p->file);
    free(p->name);
    free(p->follow_program);
    free(p->heap.from);
    free(p);
}
