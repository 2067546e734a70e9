/* Reading YAML files through libyaml's document tree: see yaml_tree.h. */
#include "yaml_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocate.h"

/* ---- the file ---- */

static bool read_bytes(struct yaml_tree *t, int fd, const char *what, struct complaints *c) {
    struct stat status;
    if (fstat(fd, &status) != 0) {
        complain(c, t->file, 0, 0, "cannot be read: %s", strerror(errno));
        return false;
    }
    if (!S_ISREG(status.st_mode)) {
        complain(c, t->file, 0, 0, "is %s, and %s is a file: name the file itself",
                 S_ISDIR(status.st_mode) ? "a folder" : "not a plain file", what);
        return false;
    }
    if (status.st_size > TREE_MOST_BYTES) {
        complain(c, t->file, 0, 0, "has %lld bytes and %s has at most %d: is it another file?",
                 (long long)status.st_size, what, TREE_MOST_BYTES);
        return false;
    }
    size_t room = TREE_MOST_BYTES + 1;
    t->text = allocate(room + 1, 1);
    ssize_t n = 0;
    while (t->bytes < room && (n = read(fd, t->text + t->bytes, room - t->bytes)) != 0) {
        if (n < 0 && errno != EINTR)
            break;
        t->bytes += n > 0 ? (size_t)n : 0;
    }
    if (n < 0 || t->bytes == room) {
        complain(c, t->file, 0, 0, "cannot be read: %s",
                 n < 0 ? strerror(errno) : "it grew while it was being read");
        return false;
    }
    return true;
}

static bool looks_like_text(const struct yaml_tree *t, const char *what, struct complaints *c) {
    if (memchr(t->text, 0, t->bytes)) {
        complain(c, t->file, 0, 0, "is a binary file; %s is YAML text", what);
        return false;
    }
    return true;
}

static void hash_bytes(struct yaml_tree *t) {
    t->hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < t->bytes; i++)
        t->hash = (t->hash ^ (unsigned char)t->text[i]) * 0x100000001b3u;
}

static bool parser_complain(const struct yaml_tree *t, const yaml_parser_t *p) {
    int line = (int)p->problem_mark.line + 1, column = (int)p->problem_mark.column + 1;
    if (p->error == YAML_READER_ERROR) { /* it tells a byte, not a line */
        line = column = 1;
        for (size_t i = 0; i < p->problem_offset && i < t->bytes; i++) {
            column = t->text[i] == '\n' ? 1 : column + 1;
            line += t->text[i] == '\n';
        }
    }
    complain(t->complaints, t->file, line, column, "is not valid YAML: %s%s%s",
             p->problem ? p->problem : "unknown mistake", p->context ? ", " : "",
             p->context ? p->context : "");
    return false;
}

static bool one_document(const struct yaml_tree *t, yaml_parser_t *p) {
    yaml_document_t second;
    if (!yaml_parser_load(p, &second))
        return parser_complain(t, p);
    yaml_node_t *root = yaml_document_get_root_node(&second);
    int line = root ? tree_line(root) : 0;
    yaml_document_delete(&second);
    if (root)
        complain(t->complaints, t->file, line, 1,
                 "a second YAML document begins here; a file holds one: put it into its own file");
    return root == NULL;
}

static bool load(struct yaml_tree *t, const char *what) {
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        complain(t->complaints, t->file, 0, 0, "cannot be read: out of memory");
        return false;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)t->text, t->bytes);
    bool loaded = yaml_parser_load(&parser, &t->document), ok = loaded;
    if (!loaded) {
        parser_complain(t, &parser);
    } else if (!tree_root(t)) {
        complain(t->complaints, t->file, 0, 0, "is empty; %s begins with a line like `name: …`",
                 what);
        ok = false;
    } else {
        ok = one_document(t, &parser);
    }
    yaml_parser_delete(&parser);
    if (loaded && !ok)
        yaml_document_delete(&t->document);
    return ok;
}

/* An alias shares its node, so a node that two others hold was anchored. Without sharing the tree
 * is no larger than the file, whatever the file says. */
static bool no_aliases(struct yaml_tree *t) {
    size_t n = (size_t)(t->document.nodes.top - t->document.nodes.start);
    unsigned char *held = allocate(n + 1, 1);
    int shared = 0;
    for (size_t i = 0; i < n && !shared; i++) {
        const yaml_node_t *node = &t->document.nodes.start[i];
        if (node->type == YAML_SEQUENCE_NODE) {
            for (yaml_node_item_t *item = node->data.sequence.items.start;
                 item < node->data.sequence.items.top; item++)
                if (held[*item]++)
                    shared = *item;
        } else if (node->type == YAML_MAPPING_NODE) {
            for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
                 pair < node->data.mapping.pairs.top; pair++)
                if (held[pair->key]++ || held[pair->value]++)
                    shared = pair->value;
        }
    }
    free(held);
    if (!shared)
        return true;
    return tree_complain(t, yaml_document_get_node(&t->document, shared),
                         "this is used again through an alias (*NAME); write it out where it is "
                         "needed: anchors and aliases are refused");
}

bool tree_open(struct yaml_tree *t, const char *file, const char *what, struct complaints *c) {
    *t = (struct yaml_tree){.file = file, .complaints = c};
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        complain(c, file, 0, 0, "cannot be opened: %s", strerror(errno));
        return false;
    }
    bool ok = read_bytes(t, fd, what, c) && looks_like_text(t, what, c) && load(t, what);
    close(fd);
    if (!ok) {
        free(t->text);
        return false;
    }
    hash_bytes(t);
    if (no_aliases(t))
        return true;
    tree_close(t);
    return false;
}

void tree_close(struct yaml_tree *t) {
    yaml_document_delete(&t->document);
    free(t->text);
}

yaml_node_t *tree_root(struct yaml_tree *t) {
    return yaml_document_get_root_node(&t->document);
}

/* ---- complaints ---- */

int tree_line(const yaml_node_t *node) {
    return (int)node->start_mark.line + 1;
}

int tree_column(const yaml_node_t *node) {
    return (int)node->start_mark.column + 1;
}

bool tree_complain(struct yaml_tree *t, const yaml_node_t *node, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    AUTO_TEXT message = format_arguments(format, arguments);
    va_end(arguments);
    complain(t->complaints, t->file, tree_line(node), tree_column(node), "%s", message);
    return false;
}

/* "a, b or c" */
static char *join(const char *const *words, size_t n) {
    char *all = copy_text("");
    for (size_t i = 0; i < n; i++) {
        char *longer = format_text("%s%s%s", all,
                                   i == 0       ? ""
                                   : i + 1 == n ? " or "
                                                : ", ",
                                   words[i]);
        free(all);
        all = longer;
    }
    return all;
}

bool tree_unknown(struct yaml_tree *t, const yaml_node_t *node, const char *what, const char *word,
                  const char *const *known, size_t n) {
    const char *best[3];
    size_t near = nearest_names(word, known, n, best, 3);
    AUTO_TEXT offered = near ? join(best, near) : join(known, n);
    if (n == 0)
        return tree_complain(t, node, "unknown %s '%s': none is defined", what, word);
    return tree_complain(
        t, node, near ? "unknown %s '%s'; did you mean %s?" : "unknown %s '%s'; there is %s", what,
        word, offered);
}

int tree_one_of(struct yaml_tree *t, const yaml_node_t *node, const char *what,
                const char *const *names, size_t n) {
    const char *text = tree_scalar(t, node, what);
    for (size_t i = 0; text && i < n; i++)
        if (strcmp(names[i], text) == 0)
            return (int)i;
    if (text)
        tree_unknown(t, node, what, text, names, n);
    return -1;
}

/* ---- structure ---- */

enum { MOST_KEYS = 1000 };

static const char *kind_name(const yaml_node_t *node) {
    switch (node->type) {
    case YAML_SCALAR_NODE:
        return node->data.scalar.length ? "a single value" : "nothing";
    case YAML_SEQUENCE_NODE:
        return "a list";
    case YAML_MAPPING_NODE:
        return "a mapping";
    default:
        return "nothing";
    }
}

const char *tree_scalar(struct yaml_tree *t, const yaml_node_t *node, const char *what) {
    if (node->type == YAML_SCALAR_NODE)
        return (const char *)node->data.scalar.value;
    tree_complain(t, node, "%s must be a single value, and this is %s", what, kind_name(node));
    return NULL;
}

/* Whether it can be read: a mapping whose keys are scalars. *ok: none of them stands twice. */
static bool readable_mapping(struct yaml_tree *t, yaml_node_t *node, const char *what, bool *ok) {
    if (node->type != YAML_MAPPING_NODE)
        return tree_complain(t, node, "%s must be a mapping (KEY: VALUE), and this is %s", what,
                             kind_name(node));
    bool scalars = true;
    yaml_node_pair_t *start = node->data.mapping.pairs.start, *end = node->data.mapping.pairs.top;
    if (end - start > MOST_KEYS)
        return tree_complain(t, node, "%s has %td keys; the most is %d", what, end - start,
                             MOST_KEYS);
    for (yaml_node_pair_t *pair = start; pair < end; pair++) {
        yaml_node_t *key = yaml_document_get_node(&t->document, pair->key);
        const char *name = tree_scalar(t, key, "a key");
        scalars &= name != NULL;
        for (yaml_node_pair_t *earlier = start; name && earlier < pair; earlier++) {
            yaml_node_t *other = yaml_document_get_node(&t->document, earlier->key);
            if (other->type == YAML_SCALAR_NODE &&
                strcmp((const char *)other->data.scalar.value, name) == 0) {
                *ok = tree_complain(t, key, "'%s' stands twice, first in line %d: keep one", name,
                                    tree_line(other));
                break;
            }
        }
    }
    return scalars;
}

static const struct tree_key *key_named(const struct tree_schema *schema, const char *name) {
    for (const struct tree_key *k = schema->keys; k->name; k++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

static bool unknown_key(struct yaml_tree *t, yaml_node_t *key, const struct tree_schema *schema) {
    const char *known[64];
    size_t n = 0;
    for (const struct tree_key *k = schema->keys; k->name && n < 64; k++)
        if (key_named(schema, k->name) == k)
            known[n++] = k->name;
    AUTO_TEXT what = format_text("key of %s", schema->what);
    return tree_unknown(t, key, what, (const char *)key->data.scalar.value, known, n);
}

static yaml_node_t *value_of(struct yaml_tree *t, yaml_node_t *mapping, const char *name) {
    for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
         pair < mapping->data.mapping.pairs.top; pair++) {
        yaml_node_t *key = yaml_document_get_node(&t->document, pair->key);
        if (strcmp((const char *)key->data.scalar.value, name) == 0)
            return yaml_document_get_node(&t->document, pair->value);
    }
    return NULL;
}

bool tree_mapping(struct yaml_tree *t, yaml_node_t *node, const struct tree_schema *schema,
                  void *base) {
    bool ok = true;
    if (!readable_mapping(t, node, schema->what, &ok))
        return false;
    for (const struct tree_key *k = schema->keys; k->name; k++) {
        yaml_node_t *value = value_of(t, node, k->name);
        if (value)
            ok &= k->read(t, value, (char *)base + k->offset);
        else if (k->need == TREE_REQUIRED)
            ok = tree_complain(t, node, "%s needs the key '%s'", schema->what, k->name);
    }
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        yaml_node_t *key = yaml_document_get_node(&t->document, pair->key);
        if (key_named(schema, (const char *)key->data.scalar.value))
            continue;
        ok &= schema->other
                  ? schema->other(t, key, yaml_document_get_node(&t->document, pair->value), base)
                  : unknown_key(t, key, schema);
    }
    return ok;
}

static bool good_name(struct yaml_tree *t, yaml_node_t *key, const char *what) {
    const char *name = (const char *)key->data.scalar.value;
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789_.-");
    if (length > 0 && length <= 60 && name[length] == 0)
        return true;
    return tree_complain(
        t, key, "'%.80s' is no name for %s: use 1 to 60 letters, digits, _ . and -", name, what);
}

bool tree_named(struct yaml_tree *t, yaml_node_t *node, const char *what,
                bool (*read)(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *into),
                void *into) {
    bool ok = true;
    if (!readable_mapping(t, node, what, &ok))
        return false;
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        yaml_node_t *key = yaml_document_get_node(&t->document, pair->key);
        yaml_node_t *value = yaml_document_get_node(&t->document, pair->value);
        if (value_of(t, node, (const char *)key->data.scalar.value) == value) /* not the second */
            ok &= good_name(t, key, what) && read(t, key, value, into);
    }
    return ok;
}

bool tree_list(struct yaml_tree *t, yaml_node_t *node, const char *what, tree_reader *read,
               void *into) {
    if (node->type != YAML_SEQUENCE_NODE)
        return tree_complain(t, node, "%s must be a list ([A, B] or lines of - A), and this is %s",
                             what, kind_name(node));
    bool ok = true;
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++)
        ok &= read(t, yaml_document_get_node(&t->document, *item), into);
    return ok;
}

/* ---- environments ---- */

struct environment {
    bool (*add)(struct yaml_tree *t, yaml_node_t *key, int rank, char *assignment, void *into);
    void *into;
    int rank;
};

static bool read_assignment(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *into) {
    struct environment *e = into;
    const char *text = tree_scalar(t, value, "the value of a variable");
    return text &&
           e->add(t, key, e->rank, format_text("%s=%s", (const char *)key->data.scalar.value, text),
                  e->into);
}

static bool read_variables(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *into) {
    struct environment *e = into;
    const char *who = (const char *)key->data.scalar.value;
    int64_t rank = -1;
    if (strcmp(who, "all") != 0 && (!number_from_text(who, &rank) || rank < 0 || rank > INT_MAX))
        return tree_complain(t, key, "'%s' is neither `all` nor a rank; variables go below one",
                             who);
    e->rank = (int)rank;
    return tree_named(t, value, "variables", read_assignment, e);
}

bool tree_environment(struct yaml_tree *t, yaml_node_t *node,
                      bool (*add)(struct yaml_tree *t, yaml_node_t *key, int rank, char *assignment,
                                  void *into),
                      void *into) {
    struct environment e = {.add = add, .into = into};
    return tree_named(t, node, "env", read_variables, &e);
}

/* ---- plain values ---- */

bool number_from_text(const char *text, int64_t *number) {
    const char *digits = text + (*text == '-');
    bool hexadecimal = digits[0] == '0' && (digits[1] | 0x20) == 'x';
    if (digits[0] < '0' || digits[0] > '9')
        return false;
    char *end;
    errno = 0;
    if (hexadecimal && *text != '-') { /* a whole word, such as a pointer */
        *number = (int64_t)strtoull(text, &end, 16);
        return errno == 0 && *end == 0 && end > text + 2;
    }
    *number = strtoll(text, &end, hexadecimal ? 16 : 10);
    return errno == 0 && *end == 0;
}

static bool in_range(struct yaml_tree *t, yaml_node_t *v, int64_t low, int64_t high,
                     int64_t *number) {
    const char *text = tree_scalar(t, v, "this");
    if (!text)
        return false;
    if (number_from_text(text, number) && *number >= low && *number <= high)
        return true;
    return tree_complain(t, v, "'%.80s' is not a whole number from %lld to %lld", text,
                         (long long)low, (long long)high);
}

bool tree_text(struct yaml_tree *t, yaml_node_t *v, void *into) {
    const char *text = tree_scalar(t, v, "this");
    if (!text)
        return false;
    if (!*text)
        return tree_complain(t, v, "nothing is written here: give a text, or leave the key out");
    *(char **)into = copy_text(text);
    return true;
}

bool tree_bool(struct yaml_tree *t, yaml_node_t *v, void *into) {
    const char *text = tree_scalar(t, v, "this");
    if (!text)
        return false;
    *(bool *)into = strcmp(text, "true") == 0;
    if (*(bool *)into || strcmp(text, "false") == 0)
        return true;
    return tree_complain(t, v, "'%.80s' is neither true nor false", text);
}

bool tree_int(struct yaml_tree *t, yaml_node_t *v, void *into) {
    int64_t number = 0;
    if (!in_range(t, v, INT_MIN, INT_MAX, &number))
        return false;
    *(int *)into = (int)number;
    return true;
}

bool tree_rank(struct yaml_tree *t, yaml_node_t *v, void *into) {
    int64_t number = 0;
    if (!in_range(t, v, 0, INT_MAX, &number))
        return false;
    *(int *)into = (int)number;
    return true;
}

bool tree_positive(struct yaml_tree *t, yaml_node_t *v, void *into) {
    int64_t number = 0;
    if (!in_range(t, v, 1, INT_MAX, &number))
        return false;
    *(unsigned *)into = (unsigned)number;
    return true;
}

bool tree_u64(struct yaml_tree *t, yaml_node_t *v, void *into) {
    int64_t number = 0;
    if (!in_range(t, v, 0, INT64_MAX, &number))
        return false;
    *(uint64_t *)into = (uint64_t)number;
    return true;
}

bool tree_share(struct yaml_tree *t, yaml_node_t *v, void *into) {
    const char *text = tree_scalar(t, v, "this");
    if (!text)
        return false;
    char *end;
    double share = strtod(text, &end);
    if (end == text || *end || !(share >= 0 && share <= 1))
        return tree_complain(t, v, "'%.80s' is not a number from 0 to 1", text);
    *(double *)into = share;
    return true;
}

bool tree_duration(struct yaml_tree *t, yaml_node_t *v, void *into) {
    static const struct {
        const char *name;
        double ns;
    } unit[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};
    const char *text = tree_scalar(t, v, "a duration");
    if (!text)
        return false;
    char *end = (char *)text;
    double value = text[0] >= '0' && text[0] <= '9' ? strtod(text, &end) : -1;
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++)
        if (strcmp(end, unit[i].name) == 0 && value * unit[i].ns >= 1 &&
            value * unit[i].ns <= 7 * 86400e9) {
            *(uint64_t *)into = (uint64_t)(value * unit[i].ns);
            return true;
        }
    return tree_complain(t, v,
                         "'%.80s' is no duration: write 5s, 300ms, 10us or 2m (above 0, at "
                         "most a week)",
                         text);
}
