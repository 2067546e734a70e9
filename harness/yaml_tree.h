/* Reading YAML files through libyaml's document tree: each value knows its line, an unknown key is
 * refused with the nearest known one, a key given twice is refused, and so are anchors and aliases.
 * Main thread of the runner.
 *
 * A file's schema is tables of struct tree_key, one a kind of mapping; a reader puts one value
 * where it belongs. Every reader returns false when it complained.
 */
#ifndef HOLDPOINT_YAML_TREE_H
#define HOLDPOINT_YAML_TREE_H

#include <stdint.h>
#include <yaml.h>

#include "complaints.h"

struct yaml_tree {
    const char *file; /* as given; for complaints */
    char *text;       /* all of it */
    size_t bytes;
    uint64_t hash; /* FNV-1a 64 of the bytes */
    void *context; /* for the readers of one schema */
    struct complaints *complaints;
    yaml_document_t document;
};

typedef bool tree_reader(struct yaml_tree *t, yaml_node_t *value, void *into);

struct tree_key {
    const char *name;
    tree_reader *read;
    size_t offset; /* added to the mapping's base, gives `into` */
    enum { TREE_OPTIONAL, TREE_REQUIRED } need;
};
struct tree_schema {
    const char *what;            /* "a point": for complaints */
    const struct tree_key *keys; /* ends with name NULL. Values are read in this order, whatever the
                                    file's; a name that stands twice is read twice */
    /* For the keys that the table lacks, after those that it has; NULL: they are refused. */
    bool (*other)(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *base);
};

enum { TREE_MOST_BYTES = 256 * 1024 };

/* Reads FILE (`what`: "a plan"). False: complained, and there is nothing to close. */
bool tree_open(struct yaml_tree *t, const char *file, const char *what, struct complaints *c);
void tree_close(struct yaml_tree *t);
yaml_node_t *tree_root(struct yaml_tree *t);

int tree_line(const yaml_node_t *node); /* from 1 */
int tree_column(const yaml_node_t *node);
/* Complains about a node; always false. */
bool tree_complain(struct yaml_tree *t, const yaml_node_t *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "unknown WHAT 'WORD'", with the nearest of `known` or with all of them; always false. */
bool tree_unknown(struct yaml_tree *t, const yaml_node_t *node, const char *what, const char *word,
                  const char *const *known, size_t n);
/* The position of a value in `names`; -1: complained that this `what` is unknown. */
int tree_one_of(struct yaml_tree *t, const yaml_node_t *node, const char *what,
                const char *const *names, size_t n);

bool tree_mapping(struct yaml_tree *t, yaml_node_t *node, const struct tree_schema *schema,
                  void *base);
/* A mapping whose keys are names of the user's; `read` gets each in turn. */
bool tree_named(struct yaml_tree *t, yaml_node_t *node, const char *what,
                bool (*read)(struct yaml_tree *t, yaml_node_t *key, yaml_node_t *value, void *into),
                void *into);
/* A list; each item goes to `read`. */
bool tree_list(struct yaml_tree *t, yaml_node_t *node, const char *what, tree_reader *read,
               void *into);

/* Environments: {all: {KEY: VALUE}, 0: {KEY: VALUE}}. `add` gets each "KEY=VALUE", which it owns,
 * with its rank or -1. */
bool tree_environment(struct yaml_tree *t, yaml_node_t *node,
                      bool (*add)(struct yaml_tree *t, yaml_node_t *key, int rank, char *assignment,
                                  void *into),
                      void *into);

/* The text of a scalar, or NULL after a complaint that `what` must be one. */
const char *tree_scalar(struct yaml_tree *t, const yaml_node_t *node, const char *what);

/* Readers of plain values. */
tree_reader tree_text;     /* char **: a copy; not empty */
tree_reader tree_bool;     /* bool * */
tree_reader tree_int;      /* int * */
tree_reader tree_rank;     /* int *: from 0 */
tree_reader tree_positive; /* unsigned *: from 1 */
tree_reader tree_u64;      /* uint64_t * */
tree_reader tree_share;    /* double *: 0 to 1 */
tree_reader tree_duration; /* uint64_t *, nanoseconds: 5s, 300ms, 10us, 7ns, 2m */

/* A whole decimal or 0x number that fits; false: it is none. */
bool number_from_text(const char *text, int64_t *number);

#endif
