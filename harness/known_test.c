/* Proves: known signatures are read, a missing file is an empty list, and what could match
 * everything is refused. */
#include "collect.h"

#include "test_files.h"

static char *folder;

static void expect_refused(const char *text, const char *wanted) {
    struct complaints c = {0};
    struct known_list k;
    AUTO_TEXT file = test_write_text(folder, "known.yaml", text);
    CHECK(!known_read(file, &k, &c), "accepted: %s", text);
    CHECK(c.text && strstr(c.text, wanted), "of %ssaid %swanted \"%s\"", text,
          c.text ? c.text : "nothing\n", wanted);
    CHECK(k.n == 0 && !k.known, "a refused list holds something");
    complaints_clear(&c);
    unlink(file);
}

static void test_good(void) {
    struct complaints c = {0};
    struct known_list k;
    AUTO_TEXT file = test_write_text(folder, "known.yaml",
                                     "- id: open-mpi/ompi#14302\n"
                                     "  kind: stack-use-after-return\n"
                                     "  title: a late callback\n"
                                     "  frames:\n"
                                     "    initiator: ['ext3x_*', ompi_mpi_init]\n"
                                     "    dead-frame: [ompi_mpi_init]\n"
                                     "- {id: b#2, kind: double-free, frames: {free: [f]}}\n");
    CHECK(known_read(file, &k, &c), "refused: %s", c.text);
    CHECK(k.n == 2, "%d signatures", k.n);
    if (k.n == 2) {
        const struct known *first = &k.known[0];
        CHECK(strcmp(first->id, "open-mpi/ompi#14302") == 0 &&
                  first->kind == FINDING_STACK_USE_AFTER_RETURN &&
                  strcmp(first->title, "a late callback") == 0,
              "the first");
        CHECK(first->n_stacks == 2 && strcmp(first->stack[0].role, "initiator") == 0 &&
                  first->stack[0].n == 2 && strcmp(first->stack[0].glob[0], "ext3x_*") == 0 &&
                  strcmp(first->stack[1].role, "dead-frame") == 0 && first->stack[1].n == 1,
              "its stacks");
        CHECK(k.known[1].kind == FINDING_DOUBLE_FREE && !k.known[1].title, "the second");
    }
    known_free(&k);
    unlink(file);
    CHECK(known_read(file, &k, &c) && k.n == 0 && c.count == 0,
          "a missing file is not an empty list");
    known_free(&k);
    complaints_clear(&c);
}

int main(void) {
    folder = test_folder();
    test_good();
    expect_refused("a: b\n", ":1:1: known signatures must be a list");
    expect_refused("- {kind: crash, frames: {use: [f]}}\n",
                   ":1:3: a known signature needs the key 'id'");
    expect_refused("- {id: a, kind: crahs, frames: {use: [f]}}\n",
                   ":1:17: unknown kind 'crahs'; did you mean crash");
    expect_refused("- {id: a, kind: crash}\n", "needs the key 'frames'");
    expect_refused("- {id: a, kind: crash, frames: {}}\n", "the signature a needs a frame");
    expect_refused("- {id: a, kind: crash, frames: {use: []}}\n", "the signature a needs a frame");
    expect_refused("- {id: a, kind: crash, frames: {usse: [f]}}\n",
                   ":1:33: unknown stack 'usse'; did you mean use");
    expect_refused("- {id: a, kind: crash, frames: {use: f}}\n",
                   "frames of a stack must be a list");
    expect_refused("- {id: a, kind: crash, frames: {use: ['']}}\n", "nothing is written here");
    rmdir(folder);
    free(folder);
    if (!test_failures)
        puts("known: signatures with their stacks, missing file, refusals");
    return test_failures != 0;
}
