/* Proves: every key of a plan is read to where it belongs, and each ill-formed line is refused with
 * its place. */
#include "plan.h"

#include <errno.h>
#include <signal.h>

#include "test_files.h"

static char *folder;

static struct plan *read_text(const char *text, struct complaints *c) {
    AUTO_TEXT file = test_write_text(folder, "p.yaml", text);
    struct plan *p = plan_read(file, c);
    unlink(file);
    return p;
}

static const char everything[] =
    "plan: everything\n"
    "scope: rank\n"
    "ranks: [1, 0]\n"
    "roles:\n"
    "  worker: {at: thread.start, start: work, rank: 1, nth: 2}\n"
    "points:\n"
    "  inside: {hook: 'call:libc.so.6!read', within: outer, role: worker,\n"
    "           side: return, nth: 3, caller: 'lib*!go', from: a.out,\n"
    "           after: 'pass outer #2', crowd: hold, same: true}\n"
    "  outer: {hook: 'call:*!poll'}\n"
    "  late: {hook: pmix.fence_nb.callback, cbdata: stack, ninfo: -1,\n"
    "         after: 1}\n"
    "steps:\n"
    "  - reach   outer   # twice spaced\n"
    "  - pass outer\n"
    "  - pass outer\n"
    "  - pass inside\n"
    "faults:\n"
    "  - {at: late, do: delay, for: 10ms, every: 2, from: 3, to: 9}\n"
    "  - {at: late, do: hold, until: outer, rank: 1, for: 1s}\n"
    "  - {at: outer, do: fail, return: 0x10, errno: ECONNRESET}\n"
    "  - {at: outer, do: fail, return: arg3, nth: 7}\n"
    "  - {at: outer, do: fail, errno: 11}\n"
    "  - {at: late, do: drop, prob: 0.5, seed: 18}\n"
    "  - {at: late, do: repeat, times: 3}\n"
    "  - {at: outer, do: crash}\n"
    "  - {at: outer, do: signal, signal: SIGUSR1}\n"
    "  - {at: outer, do: signal, signal: TERM}\n"
    "  - {at: outer, do: stop}\n"
    "timeout: 300ms\n"
    "detect: [asan, tsan, frames, locks, heap]\n"
    "heap: {from: libfoo.so*, size: 0x80..200}\n"
    "follow: train*\n"
    "env: {all: {A: b c}, 0: {D: ''}}\n";

static void test_points(const struct plan *p) {
    CHECK(p->n_points == 4 && p->n_roles == 1, "%d points, %d roles", p->n_points, p->n_roles);
    const struct plan_point *inside = &p->point[0], *outer = &p->point[1], *late = &p->point[2],
                            *at = &p->point[3];
    CHECK(strcmp(inside->name, "inside") == 0 && inside->line == 7 && inside->column == 3, "place");
    CHECK(inside->hook == HOOK_CALL && strcmp(inside->module, "libc.so.6") == 0 &&
              strcmp(inside->function, "read") == 0,
          "hook of inside");
    CHECK(inside->side == SIDE_RETURN && inside->rank == -1 && inside->role == 0 &&
              inside->within == 1 && inside->nth == 3,
          "filters of inside");
    CHECK(strcmp(inside->caller, "lib*!go") == 0 && strcmp(inside->from, "a.out") == 0, "callers");
    CHECK(inside->crowd_hold && inside->same && plan_after(p, inside->after) == 2, "gate words");
    CHECK(outer->side == SIDE_ENTER && outer->role == -1 && outer->within == -1 && !outer->after &&
              !outer->same && !outer->crowd_hold && outer->nth == 0,
          "defaults");
    CHECK(late->n_filters == 2 && plan_after(p, late->after) == 0, "late");
    CHECK(late->filter[0].attr == ATTR_CBDATA && strcmp(late->filter[0].text, "stack") == 0 &&
              late->filter[1].attr == ATTR_NINFO && late->filter[1].number == -1,
          "attributes");
    CHECK(strcmp(at->name, "role worker") == 0 && p->role[0].point == 3 && at->rank == 1 &&
              at->nth == 2 && at->hook == HOOK_THREAD_START,
          "the role's at");
    CHECK(at->n_filters == 1 && strcmp(at->filter[0].text, "*!work") == 0,
          "a function alone is of any module");
}

static void test_faults(const struct plan *p) {
    CHECK(p->n_faults == 11, "%d faults", p->n_faults);
    const struct plan_fault *f = p->fault;
    CHECK(f[0].action == FAULT_DELAY && f[0].ns == 10000000 && f[0].every == 2 && f[0].from == 3 &&
              f[0].to == 9 && f[0].point == 2 && f[0].rank == -1,
          "delay");
    CHECK(f[1].action == FAULT_HOLD && f[1].until == 1 && f[1].rank == 1 && f[1].ns == 1000000000u,
          "hold");
    CHECK(strcmp(f[1].text, "hold late rank 1 for 1000ms until outer") == 0, "text \"%s\"",
          f[1].text);
    CHECK(f[2].action == FAULT_FAIL && f[2].ret == 16 && f[2].error_number == ECONNRESET &&
              !f[2].return_is_arg,
          "fail");
    CHECK(f[3].return_is_arg && f[3].ret == 3 && f[3].nth == 7, "argument 4 has index 3");
    CHECK(strcmp(f[3].text, "fail outer return arg3 nth 7") == 0, "text \"%s\"", f[3].text);
    CHECK(f[4].error_number == 11 && f[4].ret == -1, "errno alone returns -1");
    CHECK(f[5].action == FAULT_DROP && f[5].prob == 0.5 && f[5].seed == 18, "drop");
    CHECK(f[6].action == FAULT_REPEAT && f[6].times == 3, "repeat");
    CHECK(f[7].action == FAULT_CRASH && f[10].action == FAULT_STOP, "crash and stop");
    CHECK(f[8].signal_number == SIGUSR1 && f[9].signal_number == SIGTERM, "signals");
}

static void test_everything(void) {
    struct complaints c = {0};
    struct plan *p = read_text(everything, &c);
    CHECK(p, "refused: %s", c.text);
    if (!p)
        return;
    CHECK(strcmp(p->name, "everything") == 0 && p->scope_rank && p->n_ranks_listed == 2 &&
              p->ranks[0] == 1 && p->ranks[1] == 0,
          "scope");
    CHECK(p->timeout_ns == 300000000, "timeout");
    CHECK(p->detectors == (DETECT_ASAN | DETECT_TSAN | DETECT_FRAMES | DETECT_LOCKS | DETECT_HEAP),
          "detectors");
    CHECK(strcmp(p->heap.from, "libfoo.so*") == 0 && p->heap.low == 128 && p->heap.high == 200,
          "heap");
    CHECK(p->follow == FOLLOW_PROGRAM && strcmp(p->follow_program, "train*") == 0, "follow");
    CHECK(p->n_env == 2 && p->env[0].rank == -1 && strcmp(p->env[0].assignment, "A=b c") == 0 &&
              p->env[1].rank == 0 && strcmp(p->env[1].assignment, "D=") == 0,
          "env");
    CHECK(p->n_steps == 4 && strcmp(p->step[0].text, "reach outer") == 0 && p->step[0].line == 14 &&
              p->step[0].kind == STEP_REACH && p->step[0].point == 1 &&
              p->step[3].kind == STEP_PASS && p->step[3].point == 0,
          "steps");
    test_points(p);
    test_faults(p);
    plan_free(p);

    p = read_text("plan: bare\nfollow: children\n", &c);
    CHECK(p && p->n_steps == 0 && p->timeout_ns == 5000000000u && p->follow == FOLLOW_CHILDREN &&
              !p->scope_rank && p->detectors == 0,
          "a plan without steps: %s", c.text);
    uint64_t hash = p ? p->hash : 0;
    plan_free(p);
    p = read_text("plan: bare\nfollow: children \n", &c);
    CHECK(p && p->hash != hash, "another file, the same hash");
    plan_free(p);
    complaints_clear(&c);
}

#define STREAM "plan: a\npoints:\n  w: {hook: conn.write, type: pipe, fd: 4}\n"

static void test_extents_and_objects(void) {
    struct complaints c = {0};
    struct plan *p = read_text(
        "plan: a\npoints:\n  one: {hook: lock.acquire, within: conn.teardown}\n"
        "  two: {hook: lock.acquire, within: conn.teardown, object_of: one}\n"
        "  three: {hook: lock.release, within: lock.acquire, not_object_of: two, stack: go}\n"
        "roles: {r: {at: conn.read, within: two}}\n",
        &c);
    CHECK(p && p->n_points == 6, "refused: %s", c.text);
    const struct plan_point *one = &p->point[0], *two = &p->point[1], *three = &p->point[2];
    CHECK(one->within >= 3 && one->within == two->within && three->within >= 3 &&
              three->within != one->within,
          "a hook has one point for all that are within it");
    CHECK(p->point[one->within].hook == HOOK_CONN_TEARDOWN &&
              p->point[three->within].hook == HOOK_LOCK_ACQUIRE &&
              strcmp(p->point[one->within].name, "within conn.teardown") == 0,
          "which hook");
    CHECK(one->object_of == -1 && two->object_of == 0 && !two->object_differs &&
              three->object_of == 1 && three->object_differs,
          "objects");
    CHECK(strcmp(three->stack, "*!go") == 0 && p->point[p->role[0].point].within == 1, "stack");
    plan_free(p);
    complaints_clear(&c);
}

static void test_streams(void) {
    struct complaints c = {0};
    struct plan *p = read_text(STREAM "faults: [{at: w, do: short, bytes: 3}, {at: w, do: sever, "
                                      "byte: 0}, {at: w, do: sever, byte: 1.. by 7}]\n",
                               &c);
    CHECK(p && p->n_faults == 3, "refused: %s", c.text);
    const struct plan_fault *f = p->fault;
    CHECK(p->point[0].n_filters == 2 && p->point[0].filter[1].number == 4, "filters");
    CHECK(f[0].action == FAULT_SHORT && f[0].bytes == 3 && f[0].has_bytes && !f[0].is_place &&
              strcmp(f[0].text, "short w bytes 3") == 0,
          "short: %s", f[0].text);
    CHECK(f[1].action == FAULT_SEVER && f[1].bytes == 0 && f[1].has_bytes && f[1].is_place &&
              strcmp(f[1].text, "sever w byte 0") == 0,
          "sever: %s", f[1].text);
    CHECK(f[2].bytes == 1 && strcmp(f[2].text, "sever w byte 1.. by 7") == 0, "%s", f[2].text);
    CHECK(p->sweep.kind == SWEEP_BYTE && p->sweep.fault == 2 && p->sweep.stride == 7, "the sweep");
    plan_free(p);
    p = read_text(STREAM "faults: [{at: w, do: sever, byte: 1..}]\n", &c);
    CHECK(p && p->sweep.stride == 1 && strcmp(p->fault[0].text, "sever w byte 1..") == 0,
          "by 1: %s", c.text);
    plan_free(p);
    complaints_clear(&c);
}

static void test_after(void) {
    struct complaints c = {0};
    struct plan *p =
        read_text("plan: a\npoints: {g: {hook: thread.exit}, h: {hook: thread.start}}\n"
                  "steps: [reach g, pass g, reach h, reach g, pass g]\n",
                  &c);
    CHECK(p, "refused: %s", c.text);
    static const struct {
        const char *after;
        int step;
    } row[] = {{"reach g", 0},    {"reach  g #1", 0}, {"reach g #2", 3}, {"pass g #2", 4},
               {"pass g #3", -1}, {"reach g #0", -1}, {"pass h", -1},    {"reach", -1},
               {"reach g x", -1}, {"1", 0},           {"5", 4},          {"6", -1},
               {"0", -1}};
    for (size_t i = 0; p && i < sizeof row / sizeof *row; i++)
        CHECK(plan_after(p, row[i].after) == row[i].step, "after '%s' is step %d, wanted %d",
              row[i].after, plan_after(p, row[i].after), row[i].step);
    plan_free(p);
    complaints_clear(&c);
}

#define STREAM_FAULT "plan: a\npoints: {p: {hook: conn.read}}\nfaults: [{at: p, "
#define ONE_FAULT    "plan: a\npoints: {p: {hook: 'call:m!f'}}\nfaults: [{at: p, do: crash, "

static void test_sweeps(void) {
    struct complaints c = {0};
    struct plan *p = read_text(ONE_FAULT "nth: 1..}]\n", &c);
    CHECK(p && p->sweep.kind == SWEEP_NTH && p->sweep.fault == 0 && p->sweep.line == 3 &&
              p->fault[0].nth == 1 && strcmp(p->fault[0].text, "crash p nth 1..") == 0,
          "nth: 1..: %s", c.text);
    plan_free(p);
    /* Its place in the file does not matter. */
    p = read_text("sweep: {point: p, over: [g, f]}\n" ONE_FAULT "nth: 2}]\n", &c);
    CHECK(p && p->sweep.kind == SWEEP_OVER && p->sweep.point == 0 && p->sweep.n_functions == 2 &&
              strcmp(p->sweep.function[0], "g") == 0 && strcmp(p->sweep.function[1], "f") == 0,
          "over: %s", c.text);
    CHECK(p && strcmp(p->point[0].function, "f") == 0 && p->fault[0].nth == 2, "the plan itself");
    plan_free(p);
    p = read_text(ONE_FAULT "nth: 1}]\n", &c);
    CHECK(p && p->sweep.kind == SWEEP_NONE, "no sweep: %s", c.text);
    plan_free(p);
    complaints_clear(&c);
}

/* What is refused while reading: the text, and what must be said. */
static const struct {
    const char *text, *wanted;
} refused[] = {
    {"points: {}\n", "a plan needs the key 'plan'"},
    {"plan: a\nstep: []\n", ":2:1: unknown key of a plan 'step'; did you mean steps"},
    {"plan: a\nplan: b\n", ":2:1: 'plan' stands twice"},
    {"plan: a\npoints: {p: {hook: 'call:m!f'}, p: {hook: 'call:m!g'}}\n",
     ":2:33: 'p' stands twice, first in line 2"},
    {"plan: a\nscope: node\n", ":2:8: unknown scope 'node'; there is job or rank"},
    {"plan: a\nscope: rank\n", "scope: rank needs ranks:"},
    {"plan: a\nranks: [0]\n", ":2:8: ranks: says which ranks"},
    {"plan: a\nscope: rank\nranks: []\n", ":3:8: ranks: names no rank"},
    {"plan: a\nscope: rank\nranks: [1, 1]\n", ":3:12: rank 1 stands twice"},
    {"plan: a\nscope: rank\nranks: [-1]\n", ":3:9: '-1' is not a whole number from 0"},
    {"plan: a\npoints: {p: {side: enter}}\n", ":2:13: a point needs the key 'hook'"},
    {"plan: a\npoints: {p: {hook: thread.exti}}\n",
     ":2:20: unknown hook 'thread.exti'; did you mean thread.exit"},
    {"plan: a\npoints: {p: {hook: gpu.start}}\n", "there is call:MODULE!FUNCTION, cond.signal"},
    {"plan: a\npoints: {p: {hook: 'call:close'}}\n",
     ":2:20: 'call:close' is not call:MODULE!FUNCTION"},
    {"plan: a\npoints: {p: {hook: 'call:!f'}}\n", "is not call:MODULE!FUNCTION"},
    {"plan: a\npoints: {p: {hook: 'call:m!'}}\n", "is not call:MODULE!FUNCTION"},
    {"plan: a\npoints: {p: {hook: 'call:m!n!f'}}\n", "is not call:MODULE!FUNCTION"},
    {"plan: a\npoints: {p: {hook: 'call:m!f*'}}\n", "must be one exact name"},
    {"plan: a\npoints: {p: {hook: 'call:/lib/m!f'}}\n", "a file name without folders"},
    {"plan: a\npoints: {p: {hook: thread.exit, start: 'a!b!c'}}\n", "is not MODULE!FUNCTION"},
    {"plan: a\npoints: {p: {hook: thread.exit, strat: x}}\n",
     ":2:33: unknown filter 'strat'; did you mean start"},
    {"plan: a\npoints: {p: {hook: thread.exit, ninfo: 1}}\n",
     ":2:33: the hook thread.exit has no 'ninfo' to filter by; it has dtor start"},
    {"plan: a\npoints: {p: {hook: 'call:m!f', status: 1}}\n", "it has no attributes"},
    {"plan: a\npoints: {p: {hook: process.exit, status: one}}\n", "'one' is not a whole number"},
    {"plan: a\npoints: {p: {hook: thread.exit, side: left}}\n", "unknown side 'left'"},
    {"plan: a\npoints: {p: {hook: thread.exit, rank: one}}\n", "'one' is not a whole number"},
    {"plan: a\npoints: {p: {hook: thread.exit, nth: 0}}\n", "from 1 to"},
    {"plan: a\npoints: {p: {hook: thread.exit, crowd: go}}\n", "unknown crowd 'go'; there is hold"},
    {"plan: a\npoints: {p: {hook: thread.exit, same: yes}}\n", "neither true nor false"},
    {"plan: a\npoints: {p: {hook: thread.exit, role: r}}\n", "unknown role 'r': none is defined"},
    {"plan: a\nroles: {run: {at: thread.start}}\npoints: {p: {hook: thread.exit, role: rum}}\n",
     ":3:39: unknown role 'rum'; did you mean run"},
    {"plan: a\nroles: {r: {at: thread.start, crowd: hold}}\n", ":2:31: unknown filter 'crowd'"},
    {"plan: a\nroles: {r: {}}\n", ":2:12: a role needs the key 'at'"},
    {"plan: a\npoints: {p: {hook: thread.exit, within: q}}\n",
     "unknown point or hook 'q'; did you mean p"},
    {"plan: a\npoints: {p: {hook: thread.exit, within: conn.teardwn}}\n",
     ":2:41: unknown point or hook 'conn.teardwn'; did you mean conn.teardown"},
    {"plan: a\npoints: {p: {hook: thread.exit, within: 'call:*!f'}}\n",
     ":2:41: within names a point, and 'call:*!f' is a call: give it a point of its own"},
    {"plan: a\npoints: {p: {hook: conn.read, object_of: p, not_object_of: p}}\n",
     ":2:60: a point has object_of: or not_object_of:, not both"},
    {STREAM_FAULT "do: short, bytes: 0}]\n", "'0' is not a whole number from 1"},
    {STREAM_FAULT "do: sever, byte: -3}]\n", ":3:35: '-3' is neither a number of bytes such as 12"},
    {STREAM_FAULT "do: sever, byte: 0..}]\n", "'0..' is neither a number of bytes"},
    {STREAM_FAULT "do: sever, byte: 1.. by 0}]\n", "'1.. by 0' is neither a number of bytes"},
    {STREAM_FAULT "do: sever, byte: 1.. by 7x}]\n", "'1.. by 7x' is neither a number of bytes"},
    {STREAM_FAULT "do: sever, byte: 3, bytes: 3}]\n", "a fault has bytes: or byte:, not both"},
    {STREAM_FAULT "do: sever, byte: 1.., nth: 1..}]\n", ":3:35: a plan may have one sweep"},
    {"plan: a\npoints: {p: {hook: thread.exit, after: pass g #2\n    }}\n",
     ":2:40: put the step's text into quotes"},
    {"plan: a\npoints: {p q: {hook: thread.exit}}\n", ":2:10: 'p q' is no name for points"},
    {"plan: a\npoints: [p]\n", ":2:9: points must be a mapping"},
    {"plan: a\npoints: {p: {hook: thread.exit}}\nsteps: [rech p]\n",
     ":3:9: 'rech p' is no step: write `reach POINT`"},
    {"plan: a\npoints: {p: {hook: thread.exit}}\nsteps: [reach p q]\n", "is no step"},
    {"plan: a\npoints: {p: {hook: thread.exit}}\nsteps: [reach p]\nframes: {guard: q}\n",
     ":4:17: unknown point 'q'"},
    {"plan: a\nframes: {}\n", "frames needs the key 'guard'"},
    {"plan: a\npoints: {p: {hook: thread.exit}}\nsteps: [reach q]\n", ":3:9: unknown point 'q'"},
    {"plan: a\nroles: {r: {at: thread.exit}}\nsteps: [reach role r]\n", "is no step"},
    {"plan: a\nsteps: reach p\n", ":2:8: steps must be a list"},
    {"plan: a\npoints: {p: {hook: thread.exit}}\nfaults: [{do: crash}]\n",
     ":3:10: a fault needs the key 'at'"},
    {"plan: a\npoints: {p: {hook: thread.exit}}\nfaults: [{at: p}]\n",
     ":3:10: a fault needs the key 'do'"},
    {"plan: a\npoints: {p: {hook: thread.exit}}\nfaults: [{at: p, do: dely}]\n",
     ":3:22: unknown fault 'dely'; did you mean delay"},
    {"plan: a\npoints: {p: {hook: thread.exit}}\nfaults: [{at: {hook: x}, do: crash}]\n",
     "the name of a point must be a single value"},
    {"plan: a\npoints: {p: {hook: thread.exit}}\nfaults: [{at: p, do: fail, errno: ECONRESET}]\n",
     ":3:35: 'ECONRESET' is no errno: write a name such as ECONNRESET"},
    {"plan: a\npoints: {p: {hook: thread.exit}}\nfaults: [{at: p, do: fail, return: arg6}]\n",
     "'arg6' is no return value"},
    {"plan: a\npoints: {p: {hook: thread.exit}}\nfaults: [{at: p, do: signal, signal: SIGTREM}]\n",
     "write a name such as SIGTERM"},
    {ONE_FAULT "nth: 2..}]\n", ":3:34: '2..' is neither an arrival such as 2 nor 1.., a run for"},
    {ONE_FAULT "nth: 1..3}]\n", ":3:34: '1..3' is neither an arrival"},
    {ONE_FAULT "nth: 1..}, {at: p, do: crash, nth: 1..}]\n",
     ":3:64: a plan may have one sweep, and there is one in line 3 already"},
    {ONE_FAULT "nth: 1..}]\nsweep: {point: p, over: [f]}\n",
     ":4:8: a plan may have one sweep, and there is one in line 3 already"},
    {ONE_FAULT "}]\nsweep: [f]\n", ":4:8: a sweep must be a mapping"},
    {ONE_FAULT "}]\nsweep: {over: [f]}\n", ":4:8: a sweep needs the key 'point'"},
    {ONE_FAULT "}]\nsweep: {point: p}\n", ":4:8: a sweep needs the key 'over'"},
    {ONE_FAULT "}]\nsweep: {point: p, ovre: [f]}\n", ":4:19: unknown key of a sweep 'ovre'"},
    {ONE_FAULT "}]\nsweep: {point: q, over: [f]}\n", ":4:16: unknown point 'q'"},
    {ONE_FAULT "}]\nsweep: {point: p, over: f}\n", ":4:25: over must be a list"},
    {ONE_FAULT "}]\nsweep: {point: p, over: []}\n", ":4:25: over: names no function"},
    {ONE_FAULT "}]\nsweep: {point: p, over: [f, '']}\n", ":4:29: '' is no function of a sweep"},
    {ONE_FAULT "}]\nsweep: {point: p, over: [f, g, f]}\n", ":4:32: 'f' stands twice in over"},
    {ONE_FAULT "}]\nsweep: {point: p, over: [f*]}\n", ":4:26: 'f*' is no function of a sweep"},
    {ONE_FAULT "}]\nsweep: {point: p, over: [m!f]}\n", "without its module"},
    {"plan: a\npoints: {p: {hook: thread.exit}}\nfaults: [{at: p, do: crash, prob: 2, seed: 1}]\n",
     "'2' is not a number from 0 to 1"},
    {"plan: a\ntimeout: 5\n", ":2:10: '5' is no duration"},
    {STREAM "faults: [{at: w, do: sever, byte: 2..}]\n",
     ":4:35: '2..' is neither a number of bytes such as 12, nor 1.."},
    {STREAM "faults: [{at: w, do: sever, byte: 1.. by 0}]\n", "'1.. by 0' is neither"},
    {STREAM "faults: [{at: w, do: sever, byte: 1.. by 1000000}]\n", "(up to 999999)"},
    {STREAM "faults: [{at: w, do: sever, byte: 1.. by 2 x}]\n", "'1.. by 2 x' is neither"},
    {STREAM "faults: [{at: w, do: sever, byte: -1}]\n", "'-1' is neither"},
    {STREAM "faults: [{at: w, do: short, bytes: 0}]\n", ":4:36: '0' is not a whole number from 1"},
    {STREAM "faults: [{at: w, do: short, bytes: 1, byte: 1}]\n", "bytes: or byte:, not both"},
    {STREAM "faults: [{at: w, do: short, byte: 1, bytes: 1}]\n", "bytes: or byte:, not both"},
    {STREAM "faults: [{at: w, do: sever, byte: 1..}, {at: w, do: sever, byte: 1..}]\n",
     "a plan may have one sweep, and there is one in line 4 already"},
    {STREAM "faults: [{at: w, do: sever, byte: 1.., nth: 1..}]\n", "a plan may have one sweep"},
    {"plan: a\npoints: {p: {hook: conn.read, within: conn.tearup}}\n", "conn.tearup"},
    {"plan: a\npoints: {p: {hook: conn.read, within: 'call:m!f'}}\n",
     "'call:m!f' is a call: give it a point of its own"},
    {"plan: a\npoints: {p: {hook: conn.read}, q: {hook: conn.read, object_of: p, not_object_of: "
     "p}}\n",
     "object_of: or not_object_of:, not both"},
    {"plan: a\npoints: {p: {hook: conn.read, object_of: q}}\n", "unknown point 'q'"},
    {"plan: a\npoints: {p: {hook: conn.shutdown, bytes: 1}}\n",
     "the hook conn.shutdown has no 'bytes' to filter by; it has call fd order origin path peer "
     "type"},
    {"plan: a\nheap: {from: x, size: 5..4}\n", ":2:23: size: takes a number of bytes, or"},
    {"plan: a\nheap: {from: x, size: 16777217}\n", "from 1 to 16777216, not '16777217'"},
    {"plan: a\nheap: {from: x, size: 1..}\n", "not '1..'"},
    {"plan: a\nheap: {size: 1}\n", "from"},
    {"plan: a\ndetect: [deadlock, handles]\n", "'handles' is not in this version"},
    {"plan: a\ndetect: [asna]\n", "unknown detector 'asna'; did you mean asan"},
    {"plan: a\ndetect: asan\n", "detect must be a list"},
    {"plan: a\nfollow: /bin/sh\n", "without folders"},
    {"plan: a\nenv: {first: {A: b}}\n", ":2:7: 'first' is neither `all` nor a rank"},
    {"plan: a\nenv: {all: {A: [b]}}\n", "the value of a variable must be a single value"},
};

static void test_refused(void) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct complaints c = {0};
        struct plan *p = read_text(refused[i].text, &c);
        CHECK(!p, "accepted: %s", refused[i].text);
        CHECK(c.text && strstr(c.text, refused[i].wanted), "of %ssaid %swanted \"%s\"",
              refused[i].text, c.text ? c.text : "nothing\n", refused[i].wanted);
        plan_free(p);
        complaints_clear(&c);
    }
}

/* `n` lines, each made of `format` with its number, after `head`. */
static char *many(const char *head, const char *format, int n) {
    char *text = copy_text(head), number[16];
    for (int i = 0; i < n; i++) {
        snprintf(number, sizeof number, "%d", i);
        const char *hash = strchr(format, '#');
        char *longer =
            hash ? format_text("%s%.*s%s%s", text, (int)(hash - format), format, number, hash + 1)
                 : format_text("%s%s", text, format);
        free(text);
        text = longer;
    }
    return text;
}

static void expect_full(const char *head, const char *format, int fits, const char *wanted) {
    for (int more = 0; more < 2; more++) {
        struct complaints c = {0};
        AUTO_TEXT text = many(head, format, fits + more);
        struct plan *p = read_text(text, &c);
        CHECK((p != NULL) == !more, "%d of '%s': %s", fits + more, format,
              c.text ? c.text : "accepted");
        CHECK(!more || (c.text && strstr(c.text, wanted)), "said %s", c.text ? c.text : "nothing");
        plan_free(p);
        complaints_clear(&c);
    }
}

static void test_full_tables(void) {
    expect_full("plan: a\npoints:\n", "  p#: {hook: thread.exit}\n", BOARD_MAX_POINTS,
                "a plan may have 64 points, roles counted in, and 'p64' is one more");
    expect_full("plan: a\nroles:\n", "  r#: {at: thread.exit}\n", BOARD_MAX_ROLES,
                "a plan may have 16 roles, and 'r16' is one more");
    expect_full("plan: a\npoints: {p: {hook: thread.exit}}\nsteps:\n", "  - reach p\n",
                BOARD_MAX_STEPS, ":132:5: a plan may have 128 steps");
    expect_full("plan: a\npoints: {p: {hook: thread.exit}}\nfaults:\n", "  - {at: p, do: crash}\n",
                BOARD_MAX_FAULTS, ":68:5: a plan may have 64 faults");
    expect_full("plan: a\nenv:\n  all:\n", "    V#: x\n", BOARD_MAX_ENV,
                "a plan may set 128 variables");
    expect_full(ONE_FAULT "}]\nsweep:\n  point: p\n  over:\n", "    - f#\n", SWEEP_MOST_FUNCTIONS,
                ":263:7: a sweep may go over 256 functions, and this is one more");
}

int main(void) {
    folder = test_folder();
    test_everything();
    test_after();
    test_sweeps();
    test_extents_and_objects();
    test_streams();
    test_refused();
    test_full_tables();
    rmdir(folder);
    free(folder);
    if (!test_failures)
        printf("plan: every key, %zu ill-formed lines with their places, full tables\n",
               sizeof refused / sizeof *refused);
    return test_failures != 0;
}
