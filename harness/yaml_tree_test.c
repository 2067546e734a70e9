/* Proves: files that are no YAML of ours are refused with a sentence, unknown and doubled keys with
 * their line, and plain values are read to the letter. */
#include "yaml_tree.h"

#include <stddef.h>

#include "test_files.h"

static char *folder;

static void expect_refused(const char *what, const char *text, size_t n, const char *wanted) {
    struct yaml_tree t;
    struct complaints c = {0};
    AUTO_TEXT file = test_write(folder, "f.yaml", text, n);
    bool opened = tree_open(&t, file, "a plan", &c);
    CHECK(!opened, "%s: was accepted", what);
    CHECK(c.text && strstr(c.text, wanted), "%s: said \"%s\", wanted \"%s\"", what,
          c.text ? c.text : "", wanted);
    if (opened)
        tree_close(&t);
    complaints_clear(&c);
    unlink(file);
}
#define REFUSED(what, text, wanted) expect_refused(what, text, strlen(text), wanted)

static void test_files_refused(void) {
    REFUSED("an empty file", "", "is empty");
    REFUSED("only a comment", "# nothing\n", "is empty");
    expect_refused("a binary file", "\177ELF\0\1", 6, "is a binary file");
    REFUSED("a control character", "a: b\nc: \001\n", ":2:4: is not valid YAML");
    REFUSED("broken brackets", "a: [1, 2\nb: 3\n", ":2:");
    REFUSED("two documents", "a: 1\n---\nb: 2\n", ":3:1: a second YAML document");
    REFUSED("an undefined alias", "a: *b\n", "undefined alias");
    REFUSED("an alias", "a: &x [1]\nb: *x\n", ":1:4: this is used again through an alias");
    REFUSED("an alias of itself", "a: &x [*x]\n", "alias");
    REFUSED("an anchor bomb",
            "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
            "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
            "e: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
            "anchors and aliases are refused");
    size_t n = 1000000;
    char *large = allocate(n, 1);
    memset(large, 'a', n);
    expect_refused("a file of 1 MB", large, n, "has 1000000 bytes and a plan has at most 262144");
    memset(large, '[', 100000);
    expect_refused("deep nesting", large, 100000, "is not valid YAML");
    free(large);

    struct yaml_tree t;
    struct complaints c = {0};
    CHECK(!tree_open(&t, folder, "a plan", &c) && strstr(c.text, "is a folder"), "a folder: %s",
          c.text);
    complaints_clear(&c);
    CHECK(!tree_open(&t, "/nonexistent/p", "a plan", &c) && strstr(c.text, "No such file"),
          "a missing file: %s", c.text);
    complaints_clear(&c);
}

struct values {
    char *text;
    bool yes;
    int number, rank;
    unsigned positive;
    uint64_t large, ns;
    double share;
};
#define IN(field) offsetof(struct values, field)
static const struct tree_key keys[] = {
    {"text", tree_text, IN(text), TREE_OPTIONAL},
    {"yes", tree_bool, IN(yes), TREE_OPTIONAL},
    {"number", tree_int, IN(number), TREE_OPTIONAL},
    {"rank", tree_rank, IN(rank), TREE_OPTIONAL},
    {"positive", tree_positive, IN(positive), TREE_OPTIONAL},
    {"large", tree_u64, IN(large), TREE_OPTIONAL},
    {"ns", tree_duration, IN(ns), TREE_OPTIONAL},
    {"share", tree_share, IN(share), TREE_OPTIONAL},
    {"must", tree_bool, IN(yes), TREE_REQUIRED},
    {0},
};

/* Reads the text as one mapping; "" or the complaints, which the caller frees. */
static char *read_values(const char *text, struct values *v) {
    static const struct tree_schema schema = {"a value", keys, NULL};
    struct yaml_tree t;
    struct complaints c = {0};
    AUTO_TEXT file = test_write_text(folder, "v.yaml", text);
    *v = (struct values){0};
    if (tree_open(&t, file, "values", &c)) {
        bool ok = tree_mapping(&t, tree_root(&t), &schema, v);
        CHECK(ok == (c.count == 0), "\"%s\": result and complaints disagree", text);
        tree_close(&t);
    }
    unlink(file);
    return c.text ? c.text : copy_text("");
}

static void expect_value_refused(const char *text, const char *wanted) {
    struct values v;
    AUTO_TEXT said = read_values(text, &v);
    CHECK(strstr(said, wanted), "\"%s\": said \"%s\", wanted \"%s\"", text, said, wanted);
    free(v.text);
}

static void test_values(void) {
    struct values v;
    AUTO_TEXT said = read_values("{must: false, text: 'a b', yes: true, number: -0x10, rank: 0, "
                                 "positive: 1, large: 9000000000, ns: 1.5ms, share: 0.25}",
                                 &v);
    CHECK(!*said, "good values refused: %s", said);
    CHECK(v.text && strcmp(v.text, "a b") == 0, "text");
    CHECK(v.number == -16 && v.rank == 0 && v.positive == 1 && v.large == 9000000000u, "numbers");
    CHECK(v.ns == 1500000 && v.share == 0.25, "duration %llu, share %g", (unsigned long long)v.ns,
          v.share);
    free(v.text);
    static const struct {
        const char *text;
        uint64_t ns;
    } duration[] = {{"{must: true, ns: 5s}", 5000000000u},
                    {"{must: true, ns: 300ms}", 300000000u},
                    {"{must: true, ns: 10us}", 10000u},
                    {"{must: true, ns: 7ns}", 7u},
                    {"{must: true, ns: 2m}", 120000000000u}};
    for (size_t i = 0; i < sizeof duration / sizeof *duration; i++) {
        AUTO_TEXT none = read_values(duration[i].text, &v);
        CHECK(!*none && v.ns == duration[i].ns, "%s: %llu ns %s", duration[i].text,
              (unsigned long long)v.ns, none);
    }
}

static void test_values_refused(void) {
    expect_value_refused("must: yes\n", ":1:7: 'yes' is neither true nor false");
    expect_value_refused("{}", "a value needs the key 'must'");
    expect_value_refused("must: true\nmust: true\n", ":2:1: 'must' stands twice, first in line 1");
    expect_value_refused("must: true\nnumbr: 1\n",
                         ":2:1: unknown key of a value 'numbr'; did you mean number");
    expect_value_refused("must: true\nzzzzzz: 1\n", "there is text, yes, number");
    expect_value_refused("must: true\nnumber: 12x\n", ":2:9: '12x' is not a whole number");
    expect_value_refused("must: true\nnumber: 99999999999\n", "not a whole number from");
    expect_value_refused("must: true\nrank: -1\n", "from 0 to");
    expect_value_refused("must: true\npositive: 0\n", "from 1 to");
    expect_value_refused("must: true\nns: 5\n", "is no duration");
    expect_value_refused("must: true\nns: -5s\n", "is no duration");
    expect_value_refused("must: true\nns: 0s\n", "is no duration");
    expect_value_refused("must: true\nshare: 1.5\n", "from 0 to 1");
    expect_value_refused("must: true\nshare: nan\n", "from 0 to 1");
    expect_value_refused("must: true\ntext: [a]\n", "must be a single value, and this is a list");
    expect_value_refused("must: true\ntext:\n", "nothing is written here");
    expect_value_refused("must: true\n? [a, b]\n: c\n", "a key must be a single value");
    expect_value_refused("- must\n", "must be a mapping (KEY: VALUE), and this is a list");
}

int main(void) {
    folder = test_folder();
    test_files_refused();
    test_values();
    test_values_refused();
    rmdir(folder);
    free(folder);
    if (!test_failures)
        puts("yaml_tree: foreign files, anchors, unknown and doubled keys, every plain value");
    return test_failures != 0;
}
