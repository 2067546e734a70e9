/* Proves: complaints carry their place, are kept in order, and a misspelt name finds its nearest.
 */
#include "complaints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
static void expect_text(const char *what, const char *got, const char *wanted) {
    if ((got == NULL) != (wanted == NULL) || (got && strcmp(got, wanted) != 0)) {
        printf("complaints: %s: got \"%s\", wanted \"%s\"\n", what, got ? got : "(none)",
               wanted ? wanted : "(none)");
        failures++;
    }
}

int main(void) {
    struct complaints c = {0};
    complain(&c, "a.yaml", 3, 7, "no %s", "hook");
    complain(&c, "a.yaml", 4, 0, "second");
    complain(&c, "a.yaml", 0, 0, "third");
    complain(&c, NULL, 0, 0, "fourth");
    complain(&c, "a.yaml", 4, 0, "second"); /* said before: not again */
    expect_text("places", c.text, "a.yaml:3:7: no hook\na.yaml:4: second\na.yaml: third\nfourth\n");
    if (c.count != 4) {
        printf("complaints: counted %d, wanted 4\n", c.count);
        failures++;
    }
    complaints_clear(&c);
    expect_text("cleared", c.text, NULL);
    for (int i = 0; i < 1000; i++)
        complain(&c, "a.yaml", i + 1, 1, "again");
    if (c.count != 1000 || strstr(c.text, ":61:")) {
        printf("complaints: a thousand are not cut after 60 (%d counted)\n", c.count);
        failures++;
    }
    complaints_clear(&c);

    static const char *const known[] = {"thread.start", "thread.exit", "process.exit",
                                        "thread.exit"};
    expect_text("one letter missing", nearest_name("thread.exi", known, 4), "thread.exit");
    expect_text("two swapped", nearest_name("thraed.start", known, 4), "thread.start");
    expect_text("nothing near", nearest_name("gpu", known, 4), NULL);
    expect_text("empty word", nearest_name("", known, 4), NULL);
    const char *best[3];
    size_t n = nearest_names("thread.exot", known, 4, best, 3);
    if (n < 1 || strcmp(best[0], "thread.exit") != 0 || (n > 1 && strcmp(best[1], best[0]) == 0)) {
        printf("complaints: nearest_names gave %zu names or one twice\n", n);
        failures++;
    }
    if (!failures)
        puts("complaints: places, order, limit, nearest names");
    return failures != 0;
}
