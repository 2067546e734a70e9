/* Proves: every slot through which a module calls a function is counted, of each kind, and a
 * function that the module calls directly is not.
 */
#include "slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;
static char folder[] = "/tmp/holdpoint-test.XXXXXX";

static void expect_slots(const struct module_slots *m, const char *function, unsigned wanted) {
    unsigned found = 0;
    for (size_t i = 0; i < m->n_imports; i++)
        if (strcmp(m->import[i].name, function) == 0)
            found = m->import[i].slots;
    if (found != wanted) {
        printf("slots: %s has %u slots, wanted %u\n", function, found, wanted);
        failures++;
    }
}

static void expect(bool good, const char *what) {
    if (!good) {
        printf("slots: %s\n", what);
        failures++;
    }
}

int main(void) {
    struct module_slots m;
    char command[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    /* called: JUMP_SLOT; address taken in code: GLOB_DAT; in data, twice: absolute */
    if (system(
            "printf '%s\\n' 'int called(void); int taken(void); int in_data(void);' "
            "'static int own(void) { return 1; } int exported(void) { return called() + own(); }' "
            "'int (*get(void))(void) { return taken; }' "
            "'int (*table[])(void) = {in_data, in_data, called};' > l.c && "
            "cc -shared -fPIC -fplt -O0 l.c -o l.so && echo text > text") != 0)
        return 1;
    expect(slots_read("./l.so", &m), "a shared library is not read");
    expect(strcmp(m.file, "l.so") == 0, "the file's name is another");
    expect_slots(&m, "called", 2);
    expect_slots(&m, "taken", 1);
    expect_slots(&m, "in_data", 2);
    expect_slots(&m, "own", 0);
    expect(slots_exports(&m, "exported") && slots_exports(&m, "get"),
           "an exported function is missing");
    expect(!slots_exports(&m, "called") && !slots_exports(&m, "own") && !slots_exports(&m, "table"),
           "what is no exported function is taken for one");
    slots_free(&m);
    expect(!slots_read("./text", &m), "a text is read as a module");
    slots_free(&m);
    expect(!slots_read("./missing", &m), "a missing file is read as a module");
    slots_free(&m);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (chdir("/") != 0 || system(command) != 0)
        failures++;
    printf("slots: jump slots, addresses in code and in data, exports: %s\n",
           failures ? "FAILED" : "good");
    return failures != 0;
}
