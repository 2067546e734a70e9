/* Proves: each plan of rule 17, and each other contradiction, is refused with its line; their sound
 * neighbours are not; a function that a program lacks is doubted, with the nearest names. */
#include "plan.h"

#include "test_files.h"

static char *folder;

/* The complaints about a plan ("" when it is good); the caller frees them. */
static char *check_text(const char *text, int n_ranks, const char *program) {
    struct complaints c = {0};
    AUTO_TEXT file = test_write_text(folder, "p.yaml", text);
    struct plan *p = plan_read(file, &c);
    CHECK(p, "not even read: %s\n%s", text, c.text ? c.text : "");
    bool good = p && plan_check(p, n_ranks, program, &c);
    CHECK(good == (c.count == 0), "result and complaints disagree of %s", text);
    plan_free(p);
    unlink(file);
    return c.text ? c.text : copy_text("");
}

#define POINTS "plan: a\npoints:\n"
#define GATES                                                                                      \
    "plan: a\nroles: {r: {at: thread.start, rank: 0}}\npoints:\n"                                  \
    "  g: {hook: 'call:*!f', role: r}\n  h: {hook: 'call:*!h', role: r}\n"
#define CALL "  c: {hook: 'call:*!f', rank: 0}\n"
#define OBJECTS(first, second)                                                                     \
    "  p: {hook: " first "}\n  q: {hook: " second "}\nsteps: [reach p, reach q]\n"
#define STREAM   "  s: {hook: conn.read}\n"
#define CALLBACK "  b: {hook: pmix.fence_nb.callback}\n"

static const struct {
    const char *text;
    int n_ranks;
    const char *wanted; /* "" : must be accepted */
} table[] = {
    /* rule 17: a role that an earlier step needs elsewhere while its gate is not passed */
    {GATES "steps: [reach g, reach h, pass g, pass h]\n", 0,
     ":6:18: 'reach h' needs the role r, but 'reach g' in line 6 holds it at g"},
    {GATES "steps: [reach g, pass h, pass g]\n", 0, ":6:18: 'pass h' needs the role r"},
    {GATES "steps: [reach g, pass g, reach h, pass h]\n", 0, ""},
    {GATES "steps: [pass g, reach h, pass h]\n", 0, ""},
    {GATES "steps: [reach g, reach g, pass g, pass h]\n", 0, ""},
    {GATES "steps: [reach g, pass g, reach g, reach h, pass g, pass h]\n", 0, ":6:35: 'reach h'"},
    /* rule 17: within something never entered */
    {POINTS "  x: {hook: thread.start}\n  p: {hook: 'call:*!f', within: x}\nsteps: [reach p]\n", 0,
     ":4:3: p is within x, which is never entered: thread.start is an instant"},
    {POINTS "  x: {hook: 'call:*!g'}\n  p: {hook: 'call:*!f', within: x}\nsteps: [reach p]\n", 0,
     ""},
    {POINTS "  x: {hook: 'call:*!g', after: 2}\n  p: {hook: 'call:*!f', within: x}\n"
            "steps: [reach p, reach x, reach x]\n",
     0, ":3:32: x is armed only after 'reach x'"},
    {POINTS "  x: {hook: 'call:*!g', after: reach q}\n  p: {hook: 'call:*!f', within: x}\n"
            "  q: {hook: thread.start}\nsteps: [reach p, reach q]\n",
     0,
     ":4:3: p is within x, which is never entered in time: it is armed after 'reach q' (line 6)"},
    {POINTS "  x: {hook: 'call:*!g', after: reach q}\n  p: {hook: 'call:*!f', within: x}\n"
            "  q: {hook: thread.start}\nsteps: [reach q, reach p]\n",
     0, ""},
    {POINTS "  p: {hook: 'call:*!f', within: p}\nsteps: [reach p]\n", 0,
     ":3:3: p is within itself"},
    {POINTS "  p: {hook: 'call:*!f', within: q}\n  q: {hook: 'call:*!g', within: p}\n"
            "steps: [reach p, reach q]\n",
     0, ":4:3: q is within itself"},
    {POINTS "  p: {hook: 'call:*!f', rank: 0, within: q}\n  q: {hook: 'call:*!g', rank: 1}\n"
            "steps: [reach p]\n",
     0, ":3:3: p is on rank 0 within q, which is on rank 1"},
    {POINTS "  x: {hook: conn.teardown, nth: 2}\n  p: {hook: lock.acquire, within: x}\n"
            "steps: [reach p]\n",
     0, ":4:3: p is within x, which has nth: 2"},
    {POINTS "  p: {hook: lock.acquire, within: lock.release}\nsteps: [reach p]\n", 0,
     ":3:3: p is within lock.release, which is never entered: lock.release is an instant"},
    /* objects that can never be compared */
    {POINTS OBJECTS("conn.read, object_of: p", "conn.write"), 0,
     ":3:3: p: object_of: names the point itself"},
    {POINTS OBJECTS("conn.read, object_of: q", "conn.write, not_object_of: p"), 0,
     ":3:3: p: object_of: q waits in turn for an object of p"},
    {POINTS OBJECTS("conn.read, object_of: q", "conn.write"), 0, ""},
    {POINTS OBJECTS("conn.read, object_of: q", "lock.acquire"), 0,
     ":3:3: p: object_of: conn.read and lock.acquire are never about the same object"},
    {POINTS OBJECTS("conn.read, object_of: q", "process.exit"), 0,
     "process.exit is about no object"},
    {POINTS OBJECTS("conn.read, object_of: q, rank: 0", "conn.write, rank: 1"), 0,
     ":3:3: p is on rank 0, but the object of q is one of rank 1"},
    {POINTS OBJECTS("conn.read, object_of: q", "conn.socket"), 0,
     ":3:3: p: object_of: q: its object is made by the call: give that point side: return"},
    {POINTS OBJECTS("conn.read, object_of: q", "conn.socket, side: return"), 0, ""},
    {POINTS OBJECTS("thread.join, not_object_of: q", "thread.create"), 0,
     ":3:3: p: not_object_of: q: its object is made by the call"},
    {POINTS OBJECTS("conn.read, object_of: q", "conn.write, side: asleep"), 0,
     ":3:3: p: object_of: q: a point with side: asleep leaves no object"},
    /* calls whose return address must stay as it is */
    {POINTS "  p: {hook: 'call:*!_setjmp', side: return}\nsteps: [reach p]\n", 0,
     ":3:3: p: _setjmp may return more than once from one call, so only its side: enter"},
    {POINTS "  p: {hook: 'call:*!vfork', side: asleep}\nsteps: [reach p]\n", 0,
     ":3:3: p: vfork may return more than once"},
    {POINTS "  x: {hook: 'call:*!dlopen'}\n  p: {hook: 'call:*!f', within: x}\nsteps: [reach p]\n",
     0, ":3:3: x: dlopen finds its caller by its return address, so nothing can be within it"},
    {POINTS "  p: {hook: 'call:*!dlsym', side: return}\nsteps: [reach p]\n", 0,
     ":3:3: p: dlsym finds its caller"},
    {POINTS "  p: {hook: 'call:*!dlopen'}\nsteps: [reach p]\n", 0, ""},
    {POINTS "  p: {hook: 'call:*!setjmp'}\nsteps: [reach p]\n", 0, ""},
    {POINTS "  p: {hook: 'call:*!longjmp', side: return}\nsteps: [reach p]\n", 0, ""},
    /* rule 17: unknown rank */
    {POINTS "  p: {hook: thread.start, rank: 2}\nsteps: [reach p]\n", 2,
     ":3:3: rank 2 does not exist: the job has ranks 0 to 1"},
    {POINTS "  p: {hook: thread.start, rank: 1}\nsteps: [reach p]\n", 2, ""},
    {POINTS "  p: {hook: thread.start, rank: 2}\nsteps: [reach p]\n", 0, ""},
    {"plan: a\nscope: rank\nranks: [0, 4]\n", 4, "rank 4 does not exist"},
    {"plan: a\nenv: {7: {A: b}}\n", 2, ":2:11: rank 7 does not exist"},
    {POINTS CALL "faults: [{at: c, rank: 9, do: crash}]\n", 4, ":4:10: rank 9 does not exist"},
    {"plan: a\n", 1025, "a job has at most 1024 ranks"},
    /* rules 16 and 17: a gate on many ranks */
    {POINTS "  p: {hook: thread.start}\nsteps: [pass p]\n", 2, ":3:3: the gate p is on 2 ranks"},
    {POINTS "  p: {hook: thread.start}\nsteps: [pass p]\n", 1, ""},
    {POINTS "  p: {hook: thread.start}\nsteps: [pass p]\n", 0, ""},
    {POINTS "  p: {hook: thread.start, rank: 1}\nsteps: [pass p]\n", 2, ""},
    {POINTS "  p: {hook: thread.start}\nsteps: [reach p]\n", 2, ""},
    {GATES "steps: [pass g, pass h]\n", 2, ""},
    {"plan: a\nscope: rank\nranks: [0, 1]\npoints: {p: {hook: thread.start}}\nsteps: [pass p]\n", 2,
     ""},
    {"plan: a\nscope: rank\nranks: [0, 1]\npoints: {p: {hook: thread.start, rank: 1}}\nsteps: "
     "[pass "
     "p]\n",
     2, ":4:10: p is on rank 1 only, but the sequence of rank 0 needs it too"},
    {"plan: a\nscope: rank\nranks: [1]\npoints: {p: {hook: thread.start, rank: 1}}\nsteps: [pass "
     "p]\n",
     2, ""},
    /* sides and gates */
    {POINTS "  p: {hook: 'call:*!f', side: asleep}\nsteps: [pass p]\n", 0,
     ":4:9: 'pass p': a sleeping thread cannot be held"},
    {POINTS "  p: {hook: 'call:*!f', side: asleep}\nsteps: [reach p]\n", 0, ""},
    {POINTS "  p: {hook: thread.start, side: return}\nsteps: [reach p]\n", 0,
     ":3:3: p: the hook thread.start has no side return; it has enter"},
    {POINTS CALL "steps: [pass c, reach c]\n", 0,
     ":4:17: 'reach c' comes after the last pass of c"},
    {POINTS CALL "steps: [pass c, reach c, pass c]\n", 0, ""},
    {POINTS "  p: {hook: thread.start, crowd: hold}\nsteps: [reach p]\n", 0,
     ":3:3: p: crowd: hold"},
    {POINTS "  p: {hook: thread.start, crowd: hold}\nsteps: [pass p]\n", 0, ""},
    {POINTS "  p: {hook: thread.start, same: true}\nsteps: [pass p]\n", 0, ":3:3: p: same: true"},
    {POINTS "  p: {hook: thread.start, same: true}\nsteps: [pass p, pass p]\n", 0, ""},
    /* after */
    {POINTS "  p: {hook: thread.start, after: reach q}\nsteps: [reach p]\n", 0,
     ":3:34: 'reach q' is no step of this plan"},
    {POINTS "  p: {hook: thread.start, after: 1}\nsteps: [reach p]\n", 0,
     ":3:34: p is armed only after 'reach p' (line 4), but 'reach p' in line 4 needs it before"},
    {"plan: a\nroles: {r: {at: thread.start, after: reach q}}\npoints:\n"
     "  p: {hook: thread.start, role: r}\n  q: {hook: thread.start}\nsteps: [reach p, reach q]\n",
     0, ":4:3: p needs the role r in line 6, but the role is bound only after 'reach q'"},
    /* never used */
    {POINTS CALL "  p: {hook: thread.start}\nsteps: [reach c]\n", 0,
     ":4:3: the point p is never used"},
    {"plan: a\nroles: {r: {at: thread.start}}\n", 0, ":2:9: the role r is never used"},
    {"plan: a\nroles: {r: {at: thread.start, rank: 1}}\npoints: {p: {hook: thread.start, rank: 0, "
     "role: r}}\nsteps: [reach p]\n",
     0, ":3:10: p is on rank 0, but its role r is bound on rank 1"},
    {POINTS "  p: {hook: thread.start, from: a.out}\nsteps: [reach p]\n", 0,
     ":3:3: p: from: is the calling module of a call: hook"},
    /* faults */
    {POINTS CALL "faults: [{at: c, do: fail}]\n", 0, ":4:10: fail needs return: or errno:"},
    {POINTS CALL "faults: [{at: c, do: fail, errno: EIO}]\n", 0, ""},
    {POINTS CALL "faults: [{at: c, do: crash, return: 1}]\n", 0,
     "return: and errno: go with do: fail"},
    {POINTS CALL "faults: [{at: c, do: delay}]\n", 0, "delay needs for:"},
    {POINTS CALL "detect: [frames]\nframes: {guard: c}\n", 0, ""},
    {POINTS CALL "frames: {guard: c}\n", 0, "add `detect: [frames]`"},
    {POINTS CALL CALLBACK "detect: [frames]\nframes: {guard: b}\n", 0,
     "must be the entry of a call"},
    {POINTS CALL "faults: [{at: c, do: hold}]\n", 0, "hold needs until: a point, or for: a time"},
    {POINTS CALL "faults: [{at: c, do: hold, for: 1s}]\n", 0, ""},
    {POINTS CALL "faults: [{at: c, do: hold, until: c}]\n", 0, "the hold would end at once"},
    {POINTS CALL CALLBACK "faults: [{at: c, do: hold, until: b}]\n", 0, ""},
    {POINTS CALL CALLBACK "faults: [{at: c, do: crash, until: b}]\n", 0,
     "until: goes with do: hold"},
    {POINTS CALL "faults: [{at: c, do: crash, for: 1s}]\n", 0, "for: goes with do: delay"},
    {POINTS CALL "faults: [{at: c, do: signal}]\n", 0, "signal needs signal:"},
    {POINTS CALL "faults: [{at: c, do: crash, signal: TERM}]\n", 0, "signal: goes with do: signal"},
    {POINTS CALLBACK "faults: [{at: b, do: drop, times: 2}]\n", 0, "times: goes with do: repeat"},
    {POINTS CALLBACK "faults: [{at: b, do: repeat, times: 1}]\n", 0, "times: counts all calls"},
    {POINTS CALLBACK "faults: [{at: b, do: repeat, times: 70000}]\n", 0, "times: counts all calls"},
    {POINTS CALLBACK "faults: [{at: b, do: repeat}, {at: b, do: drop}]\n", 0, ""},
    {POINTS CALL "faults: [{at: c, do: drop}]\n", 0, "c cannot be dropped or repeated: call:"},
    {POINTS CALL "faults: [{at: c, do: repeat}]\n", 0, "c cannot be dropped or repeated"},
    {POINTS CALLBACK "faults: [{at: b, do: fail, return: 1}]\n", 0, ":4:10: b cannot fail"},
    {POINTS "  p: {hook: 'call:*!f', side: asleep}\nfaults: [{at: p, do: crash}]\n", 0,
     "nothing can be done to a sleeping thread"},
    {POINTS STREAM "faults: [{at: s, do: short, bytes: 3}, {at: s, do: sever, byte: 0}]\n", 0, ""},
    {POINTS STREAM "faults: [{at: s, do: short, byte: 3}]\n", 0, ":4:10: short needs bytes:"},
    {POINTS STREAM "faults: [{at: s, do: short, byte: 1..}]\n", 0, ":4:10: short needs bytes:"},
    {POINTS STREAM "faults: [{at: s, do: sever, bytes: 3}]\n", 0, ":4:10: sever needs byte:"},
    {POINTS STREAM "faults: [{at: s, do: sever}]\n", 0, ":4:10: sever needs byte:"},
    {POINTS STREAM "faults: [{at: s, do: sever, byte: 3, nth: 2}]\n", 0,
     ":4:10: sever happens at its byte:, not at an arrival"},
    {POINTS STREAM "faults: [{at: s, do: sever, byte: 1.., every: 2}]\n", 0,
     ":4:10: sever happens at its byte:, not at an arrival"},
    {POINTS STREAM "faults: [{at: s, do: crash, byte: 3}]\n", 0,
     ":4:10: bytes: goes with do: short, and byte: with do: sever"},
    {POINTS "  s: {hook: conn.poll}\nfaults: [{at: s, do: short, bytes: 1}]\n", 0,
     ":4:10: s moves no bytes of a stream: conn.poll cannot be cut short"},
    {POINTS "  s: {hook: conn.read, side: return}\nfaults: [{at: s, do: sever, byte: 1}]\n", 0,
     ":4:10: s: a call is cut short at its enter side"},
    {POINTS STREAM "faults: [{at: s, do: sever, byte: 1.., prob: 0.5, seed: 1}]\n", 0,
     ":4:10: byte: 1.. ends with the first run"},
    {POINTS CALL "faults: [{at: c, do: crash, nth: 1, every: 2}]\n", 0, "nth: names one arrival"},
    {POINTS CALL "faults: [{at: c, do: crash, from: 4, to: 2}]\n", 0, "from: 4 comes after to: 2"},
    {POINTS CALL "faults: [{at: c, do: crash, prob: 0, seed: 1}]\n", 0, "would never fire"},
    {POINTS CALL "faults: [{at: c, do: crash, prob: 0.5}]\n", 0, "prob: needs seed:"},
    {POINTS CALL "faults: [{at: c, do: crash, seed: 5}]\n", 0, "seed: goes with prob:"},
    {POINTS CALL "faults: [{at: c, do: crash, prob: 1, seed: 0}]\n", 0, ""},
    /* sweeps */
    {POINTS CALL "faults: [{at: c, do: crash}]\nsweep: {point: c, over: [f, g]}\n", 0, ""},
    {POINTS CALL "faults: [{at: c, do: crash, nth: 1..}]\n", 0, ""},
    {POINTS CALL CALLBACK "faults: [{at: b, do: drop}]\nsweep: {point: b, over: [f]}\n", 0,
     ":6:8: the sweep replaces the function of b, whose hook pmix.fence_nb.callback has none"},
    {POINTS CALL CALLBACK "steps: [reach c]\nfaults: [{at: b, do: drop}]\n"
                          "sweep: {point: c, over: [f]}\n",
     0, ":7:8: no fault is at c"},
    {POINTS CALL CALLBACK "faults: [{at: b, do: hold, until: c}]\nsweep: {point: c, over: [f]}\n",
     0, ":6:8: no fault is at c"},
    {POINTS CALL "faults: [{at: c, do: crash, nth: 1.., prob: 0.5, seed: 1}]\n", 0,
     ":4:10: nth: 1.. ends with the first run in which the fault does not fire"},
    {POINTS CALL "faults: [{at: c, do: crash, nth: 1.., every: 2}]\n", 0,
     ":4:10: nth: names one arrival"},
    {POINTS CALL "faults: [{at: c, rank: 1, do: crash}]\n", 0,
     ":4:10: the fault is on rank 1, but its point c is on rank 0"},
};

static void test_table(void) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        AUTO_TEXT said = check_text(table[i].text, table[i].n_ranks, NULL);
        bool right = *table[i].wanted ? strstr(said, table[i].wanted) != NULL : !*said;
        CHECK(right, "row %zu:\n%ssaid \"%s\", wanted \"%s\"", i, table[i].text, said,
              *table[i].wanted ? table[i].wanted : "(good)");
    }
}

/* Tables of the board that the plan's own tables do not bound. */
static void test_sizes(void) {
    char *steps = copy_text("plan: a\npoints: {c: {hook: thread.start}}\nsteps:\n");
    for (int i = 0; i < BOARD_MAX_CLAIMS + 1; i++) {
        char *longer = format_text("%s  - pass c\n", steps);
        free(steps);
        steps = longer;
    }
    AUTO_TEXT said = check_text(steps, 1, NULL);
    CHECK(strstr(said, ":68:5: the plan needs more than 64 pass steps"), "65 passes: %s", said);
    free(steps);

    char *env = copy_text("plan: a\nenv:\n  all:\n");
    char *filling = allocate(4096, 1);
    memset(filling, 'x', 4000);
    for (int i = 0; i < 40; i++) {
        char *longer = format_text("%s    V%d: %s\n", env, i, filling);
        free(env);
        env = longer;
    }
    AUTO_TEXT large = check_text(env, 1, NULL);
    CHECK(strstr(large, "the plan needs more than 131072 bytes of names and texts"), "strings: %s",
          large);
    CHECK(large[0] && strchr(large, '\n') == strrchr(large, '\n'), "said more than once: %s",
          large);
    free(filling);
    free(env);

    char *filters = copy_text("plan: a\npoints:\n");
    for (int i = 0; i < 60; i++) {
        char *longer = format_text("%s  p%d: {hook: pmix.fence_nb, cbdata: stack, ninfo: %d}\n",
                                   filters, i, i);
        free(filters);
        filters = longer;
    }
    AUTO_TEXT unused = check_text(filters, 1, NULL);
    CHECK(!strstr(unused, "attribute filters"), "120 filters do not fit: %s", unused);
    free(filters);
}

/* This test's own executable is a program with known functions. */
static void test_programs(void) {
    static const struct {
        const char *caller, *wanted;
    } row[] = {
        {"plan_check_test*!main", ""},
        {"plan_check_test*!mian", ":3:3: p: caller: plan_check_test*!mian can match nothing"},
        {"libc.so.6!no_such_function*", "libc.so.6 is stripped"},
        {"PROGRAM!main", ""},
        {"PROGRAM!mian", "no such function in PROGRAM"},
        {"libc.so.6!fopen", ""},
        {"libnever.so.9!*", ":3:3: p: caller: libnever.so.9!* can match nothing"},
    };
    /* Without a dlopen in it, nothing else can be loaded: a program made for this. */
    AUTO_TEXT source =
        test_write_text(folder, "plan_check_test_program.c",
                        "#include <stdio.h>\nint main(void) { return !fopen(\"/\", \"r\"); }\n");
    AUTO_TEXT program = format_text("%s/plan_check_test_program", folder);
    AUTO_TEXT command = format_text("cc -o %s %s", program, source);
    CHECK(system(command) == 0, "`%s` failed", command);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        AUTO_TEXT text = format_text(
            POINTS "  p: {hook: 'call:*!fopen', caller: '%s'}\nsteps: [reach p]\n", row[i].caller);
        AUTO_TEXT said = check_text(text, 1, program);
        CHECK(*row[i].wanted ? strstr(said, row[i].wanted) != NULL : !*said,
              "caller %s: said \"%s\", wanted \"%s\"", row[i].caller, said, row[i].wanted);
        AUTO_TEXT unknown = check_text(text, 1, NULL);
        CHECK(!*unknown, "refused without knowing the program: %s", unknown);
        AUTO_TEXT script = check_text(text, 1, source);
        CHECK(!*script, "refused for a file that is no program: %s", script);
    }
    unlink(source);
    unlink(program);
}

static char *doubts_of(const char *hook, const char *rest) {
    struct complaints c = {0};
    AUTO_TEXT text = format_text(POINTS "  p: {hook: '%s'}\n%s\n", hook, rest);
    AUTO_TEXT file = test_write_text(folder, "p.yaml", text);
    struct plan *p = plan_read(file, &c);
    if (p)
        plan_doubts(p, "/bin/cat", &c);
    plan_free(p);
    unlink(file);
    return c.text ? c.text : copy_text("");
}

static void test_doubts(void) {
    AUTO_TEXT sound = doubts_of("call:libc.so.6!fclose", "");
    CHECK(!*sound, "a function that libc has: %s", sound);
    AUTO_TEXT misspelt = doubts_of("call:libc.so.6!flcose", "");
    CHECK(strstr(misspelt, ":3:3: warning: p: nothing that /bin/cat needs exports 'flcose'; it "
                           "exports fclose"),
          "misspelt: %s", misspelt);
    AUTO_TEXT foreign = doubts_of("call:*!MPI_Session_init_of_nobody", "");
    CHECK(strstr(foreign, "nor a similar name"), "of no module: %s", foreign);
    AUTO_TEXT swept =
        doubts_of("call:libc.so.6!never", "sweep: {point: p, over: [fclose, fopne, close]}");
    CHECK(strstr(swept, "exports 'fopne'") && strchr(swept, '\n') == strrchr(swept, '\n'),
          "of a sweep: %s", swept);
    AUTO_TEXT module = doubts_of("call:libmpi.so.40!MPI_Init", "");
    CHECK(strstr(module, "needs no module 'libmpi.so.40'"), "no such module: %s", module);
}

int main(void) {
    folder = test_folder();
    test_table();
    test_sizes();
    test_programs();
    test_doubts();
    rmdir(folder);
    free(folder);
    if (!test_failures)
        printf("plan_check: %zu plans, full tables, callers and functions of programs\n",
               sizeof table / sizeof *table);
    return test_failures != 0;
}
