"""Hooks thread.*: creation, the end of a thread and its destructors, joins."""
import subprocess

import pytest

from laboratory import in_order, lines, point

KEYS = """
static pthread_key_t k, late;
extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern void *__dso_handle;
void of_key(void *v); void of_object(void *v); void of_late(void *v);
void of_late(void *v) { (void)v; say("late key"); d(1); }
void of_key(void *v) { (void)v; say("key"); a(1); pthread_setspecific(late, &late); }
void of_object(void *v) { (void)v; say("object"); b(1); }
static void *routine(void *u) {
    pthread_setspecific(k, &k); __cxa_thread_atexit_impl(of_object, u, &__dso_handle); c(1); say("routine"); return u; }
int main(void) { pthread_key_create(&late, of_late); pthread_key_create(&k, of_key); pthread_t t = go(routine); join(t); say("end"); return 0; }
"""


def delays(*names):
    return "faults: [" + ", ".join("{at: %s, do: delay, for: 1us}" % n for n in names) + "]"


def test_each_destructor_arrives_and_the_exit_lasts_until_the_last(lab):
    plan = """plan: p
points:
  exit: {hook: thread.exit, start: "*!routine"}
  any:  {hook: thread.exit}
  over: {hook: thread.exit, side: return}
  key:  {hook: thread.exit, dtor: "*!of_key"}
  object: {hook: thread.exit, dtor: "PROGRAM!of_object"}
  a: {hook: "call:libt.so!a", within: exit}
  b: {hook: "call:libt.so!b", within: object}
  not: {hook: "call:libt.so!a", within: object}
  c: {hook: "call:libt.so!c", within: any}
  d: {hook: "call:libt.so!d", within: exit}
""" + delays("any", "over", "a", "b", "not", "c", "d", "key")
    r = lab.run(plan, KEYS)
    in_order(r, "routine", "object", "key", "late key", "end")
    counts = {name: point(r, name)["arrivals"] for name in ("any", "over", "key", "a", "b", "not", "c", "d")}
    assert counts == {"any": 4, "over": 4, "key": 1, "a": 1, "b": 1, "not": 0, "c": 0, "d": 1}, counts


def test_a_role_bound_at_a_destructor_holds_the_thread_there(lab):
    plan = """plan: p
roles: {exiting: {at: thread.exit, dtor: "*!of_key"}}
points:
  at_exit: {hook: thread.exit, role: exiting}
  a: {hook: "call:libt.so!a", role: exiting, within: at_exit}
  go_on: {hook: "call:libt.so!e"}
steps: [reach at_exit, reach go_on, pass at_exit, reach a]"""
    r = lab.run(plan, KEYS.replace("join(t);", 'nap(100); say("main"); e(1); join(t);'))
    in_order(r, "object", "main", "key", "end")
    assert r.verdict == "clean" and r.rc == 0, r


@pytest.mark.parametrize("leave", ["return u;", "pthread_exit(u);", "pthread_cancel(pthread_self()); pthread_testcancel();"])
def test_a_thread_that_leaves_in_any_way_exits_once(lab, leave):
    plan = "plan: p\npoints: {x: {hook: thread.exit, start: \"*!routine\"}, y: {hook: thread.exit, side: return, start: \"*!routine\"}}\n" \
           + delays("x", "y")
    r = lab.run(plan, "static void *routine(void *u) { a(1); %s return u; } int main(void) { join(go(routine)); return 0; }" % leave)
    assert r.rc == 0 and point(r, "x")["arrivals"] == 1 and point(r, "y")["arrivals"] == 1, r.trial["points"]


def test_a_role_outlives_the_routine_and_ends_with_the_last_destructor(lab):
    plan = """plan: p
roles: {r: {at: "call:libt.so!c"}}
points: {d: {hook: "call:libt.so!d", role: r}, gone: {hook: "call:libt.so!e", role: r}}
steps: [reach d, reach gone]
timeout: 500ms"""
    r = lab.run(plan, KEYS.replace('say("end");', "nap(50);"))
    assert r.steps["reach d"] == "done" and r.steps["reach gone"] == "lost" and r.verdict == "not-exercised", (r.steps, r)


def test_a_creation_can_fail_and_a_join_is_seen_asleep(lab):
    plan = 'plan: p\npoints: {make: {hook: thread.create}, wait: {hook: thread.join, side: asleep}, a: {hook: "call:libt.so!a"}}\n' \
           'steps: [reach a, reach wait, pass a]\nfaults: [{at: make, do: fail, errno: EAGAIN, nth: 2}]'
    r = lab.run(plan, """static void *f(void *u) { a(1); return u; }
        int main(void) { pthread_t t, s; if (pthread_create(&t, 0, f, 0)) return 1;
        say(pthread_create(&s, 0, f, 0) == EAGAIN ? "EAGAIN" : "made"); pthread_join(t, 0); return 0; }""")
    assert lines(r) == ["EAGAIN"] and r.verdict == "clean" and r.rc == 0, r


def test_a_thread_is_one_object_from_its_creation_to_its_join(lab):
    plan = """plan: p
points:
  starts: {hook: thread.start, nth: 2}
  ends:   {hook: thread.exit, object_of: starts}
  joined: {hook: thread.join, object_of: starts}
  others: {hook: thread.join, not_object_of: starts}
""" + delays("starts", "ends", "joined", "others")
    r = lab.run(plan, """static void *f(void *u) { nap(20); return u; }
        int main(void) { pthread_t t[3]; for (int i = 0; i < 3; i++) { t[i] = go(f); nap(5); }
        for (int i = 0; i < 3; i++) join(t[i]); return 0; }""")
    counts = [point(r, name)["arrivals"] for name in ("ends", "joined", "others")]
    assert counts == [1, 1, 2], r.trial["points"]


def test_the_exit_lasts_through_the_last_round_of_destructors(lab):
    plan = """plan: p
roles: {r: {at: "call:libt.so!c"}}
points: {exit: {hook: thread.exit, start: "*!f"}, a: {hook: "call:libt.so!a", within: exit, role: r}, over: {hook: thread.exit, side: return, start: "*!f"}}
""" + delays("a", "over")
    r = lab.run(plan, """static pthread_key_t k; void again(void *v); void again(void *v) { a(1); pthread_setspecific(k, v); }
        static void *f(void *u) { c(1); pthread_setspecific(k, &k); return u; }
        int main(void) { pthread_key_create(&k, again); join(go(f)); return 0; }""")
    assert point(r, "a")["arrivals"] == 4 and point(r, "over")["arrivals"] == 1 and r.verdict == "clean", r.trial["points"]


@pytest.mark.parametrize("body", [
    "thrd_t t; thrd_create(&t, f, 0); thrd_join(t, 0); nap(50); e(1); return 0;",
    "join(go(leaver)); nap(50); e(1); return 0;",
], ids=["thrd_create", "leaves-main"])
def test_threads_whose_start_nobody_saw_end_as_well(lab, body):
    plan = """plan: p
roles: {r: {at: "call:libt.so!c"}}
points: {key: {hook: thread.exit, role: r, dtor: "*!of_key"}, gone: {hook: "call:libt.so!e", role: r}}
steps: [reach key, reach gone]
timeout: 3s"""
    r = lab.run(plan, """#include <threads.h>
        static pthread_key_t k; static pthread_t first; void of_key(void *v); void of_key(void *v) { (void)v; }
        static int f(void *u) { (void)u; pthread_setspecific(k, &k); c(1); return 0; }
        static void *leaver(void *u) { return u; }
        static void *rest(void *u) { join(first); nap(50); e(1); exit(0); return u; }
        int main(void) { pthread_key_create(&k, of_key); (void)f; (void)leaver; (void)rest; BODY }""".replace(
            "BODY", body if "thrd" in body else "first = pthread_self(); f(0); go(rest); pthread_exit(0);"))
    assert r.steps["reach key"] == "done" and r.steps["reach gone"] == "lost" and r.trial["wall_ms"] < 2500, (r.steps, r)
    bound = next(e for e in r.trial["timeline"] if e["event"] == "role")
    assert [e["tid"] for e in r.trial["timeline"] if e["event"] == "thread-end"].count(bound["tid"]) == 1, r.trial["timeline"]


def test_a_library_stays_until_its_pending_destructor_has_run(lab):
    library = lab.program("""extern void *__dso_handle; extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
        void of_library(void *v); void of_library(void *v) { (void)v; say("destroyed"); }
        void use(void); void use(void) { __cxa_thread_atexit_impl(of_library, 0, &__dso_handle); }""",
                          "-shared", "-fPIC", name="libpending.so")
    plan = 'plan: p\npoints: {x: {hook: thread.exit, dtor: "libpending.so!of_library"}}\n' + delays("x")
    r = lab.run(plan, """#include <dlfcn.h>
        static void *f(void *u) { void *l = dlopen("LIB", RTLD_NOW); ((void (*)(void))dlsym(l, "use"))(); dlclose(l); say("closed"); return u; }
        int main(void) { join(go(f)); dlclose(dlopen("LIB", RTLD_NOW)); say(dlopen("LIB", RTLD_NOW | RTLD_NOLOAD) ? "there" : "gone"); return 0; }""".replace("LIB", str(library)))
    in_order(r, "closed", "destroyed", "gone")
    assert point(r, "x")["arrivals"] == 1 and r.rc == 0, r


def test_joins_of_all_kinds_arrive(lab):
    plan = "plan: p\npoints: {join: {hook: thread.join}, back: {hook: thread.join, side: return, object_of: join}}\n" + delays("join", "back")
    r = lab.run(plan, """static void *f(void *u) { nap(100); return u; }
        int main(void) { pthread_t t[3] = {go(f), go(f), go(f)}; struct timespec soon; clock_gettime(CLOCK_REALTIME, &soon); soon.tv_sec += 9;
        if (pthread_tryjoin_np(t[0], 0) != EBUSY || pthread_join(t[0], 0) || pthread_timedjoin_np(t[1], 0, &soon)) return 1;
        return pthread_clockjoin_np(t[2], 0, CLOCK_REALTIME, &soon); }""")
    assert r.rc == 0 and [point(r, n)["arrivals"] for n in ("join", "back")] == [4, 4], r.trial["points"]


@pytest.mark.parametrize("flags", [[], ["-static-libstdc++", "-static-libgcc"], ["-O2"]])
def test_destructors_of_cpp_objects_arrive_by_their_names(lab, flags):
    plan = 'plan: p\npoints: {x: {hook: thread.exit, dtor: "*!*Context*"}, a: {hook: "call:libt.so!a", within: x}}\n' + delays("x", "a")
    program = lab.program("""#include <thread>
        struct Context { int n = 0; ~Context() { a(n); } }; thread_local Context context;
        int main() { std::thread([] { context.n = 1; }).join(); context.n = 2; return 0; }""", *flags, compiler="g++", suffix=".cpp")
    r = lab.holdpoint.exec(plan, program)
    assert r.rc == 0 and point(r, "x")["arrivals"] == 2 and point(r, "a")["arrivals"] == 2, r.trial["points"]


def test_deleted_keys_give_their_places_back_and_one_key_is_the_shims(lab):
    plan = 'plan: p\npoints: {x: {hook: thread.exit, dtor: "*!of_key"}}\n' + delays("x")
    program = lab.program("""static pthread_key_t k; void of_key(void *v); void of_key(void *v) { (void)v; }
        static void *f(void *u) { pthread_setspecific(k, &k); return u; }
        int main(void) { int n = 0; for (int i = 0; i < 3000; i++) if (pthread_key_create(&k, of_key) || pthread_key_delete(k)) return 1;
        while (!pthread_key_create(&k, of_key)) n++; printf("%d\\n", n); join(go(f)); return 0; }""")
    alone = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    r = lab.holdpoint.exec(plan, program)
    assert [int(n) for n in lines(r)] == [int(n) - 1 for n in alone] and point(r, "x")["arrivals"] == 1 and r.verdict == "clean", r


CPP_ORDER = """#include <thread>
#include <cstdio>
template <int n> struct T { int v = n; ~T(); };
template <int n> T<n> &object() { thread_local T<n> t; return t; }
static thread_local char who = 'm';
template <int n> T<n>::~T() { printf("%c%d ", who, v); if (n == 2) object<5>().v = 6; }
static void use(char me) { who = me; object<1>(); object<2>(); object<3>(); }
int main() { std::thread(use, 'a').join(); std::thread(use, 'b').join(); use('m'); return 0; }"""


@pytest.mark.parametrize("flags", [[], ["-static-libstdc++"], ["-fsanitize=address"], ["-fsanitize=thread"]])
def test_a_program_sees_no_difference_in_its_cpp_destructors(lab, flags):
    program = lab.program(CPP_ORDER, *flags, compiler="g++", suffix=".cpp")
    alone = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    r = lab.holdpoint.exec("plan: p\npoints: {x: {hook: thread.exit}}\n" + delays("x"), program)
    assert r.rc == 0 and len(alone) == 12 and [w for line in lines(r) for w in line.split()] == alone, (alone, lines(r))


@pytest.mark.parametrize("flags", [[], ["-fsanitize=address"], ["-fsanitize=thread"]])
def test_a_program_sees_no_difference_in_its_destructors(lab, flags):
    program = lab.program("""static int order[64], n; static pthread_key_t k[8];
        static void on(void *v) { order[n++] = (int)(long)v; if (n < 20) pthread_setspecific(k[n % 8], (void *)(long)(n + 100)); }
        static void *f(void *u) { for (long i = 0; i < 8; i++) pthread_setspecific(k[i], (void *)(i + 1)); return u; }
        int main(void) { for (int i = 0; i < 8; i++) pthread_key_create(&k[i], on); pthread_key_delete(k[3]); pthread_key_create(&k[3], on);
        pthread_t t; pthread_create(&t, 0, f, 0); join(t); for (int i = 0; i < n; i++) printf("%d ", order[i]); puts(""); return 0; }""", *flags)
    alone = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    r = lab.holdpoint.exec("plan: p\npoints: {x: {hook: thread.exit}}\n" + delays("x"), program)
    assert r.rc == 0 and [w for line in lines(r) for w in line.split()] == alone, (alone, lines(r))


# ---- names for calls: the out-of-line functions of std::map and its like ----

TREES = """
#include <map>
#include <set>
static std::map<int, int> m; static std::set<long> s;
int main() {
    m[1] = 1; s.insert(1); a(1); m[2] = 2; s.insert(2); b(1);
    m.erase(1); s.erase(1); c(1); m.clear(); return 0;
}"""


def test_trees_tell_of_each_insertion_and_erasure_by_their_map(lab):
    plan = """plan: p
points:
  in:    {hook: tree.insert}
  first: {hook: tree.insert, nth: 1}
  same:  {hook: tree.insert, object_of: first, side: return}
  other: {hook: tree.insert, not_object_of: first}
  out:   {hook: tree.erase, object_of: first}
  gone:  {hook: tree.erase, side: return, object_of: same}
""" + delays("in", "first", "same", "other", "out", "gone")
    r = lab.holdpoint.exec(plan, lab.program(TREES, compiler="g++", suffix=".cpp"))
    counts = {name: point(r, name)["arrivals"] for name in ("in", "first", "same", "other", "out", "gone")}
    assert counts == {"in": 4, "first": 1, "same": 2, "other": 2, "out": 1, "gone": 1}, counts


def test_a_thread_is_held_at_an_erasure(lab):
    plan = 'plan: p\npoints: {erase: {hook: tree.erase, nth: 2}, c: {hook: "call:libt.so!c"}, d: {hook: "call:libt.so!d"}}\n' \
           'steps: [reach erase, reach d, pass erase, reach c]'
    body = TREES.replace("int main() {", 'static void *other(void *u) { nap(100); d(1); return u; } int main() { pthread_t t = go(other);')
    r = lab.holdpoint.exec(plan, lab.program(body.replace("return 0", "join(t); return 0"), compiler="g++", suffix=".cpp"))
    assert r.verdict == "clean" and set(r.steps.values()) == {"done"}, r


def test_a_tree_whose_functions_are_linked_in_is_not_exercised(lab):
    program = lab.program(TREES, "-static-libstdc++", compiler="g++", suffix=".cpp")
    r = lab.holdpoint.exec("plan: p\npoints: {erase: {hook: tree.erase}}\nsteps: [reach erase]\n", program)
    assert r.verdict == "not-exercised" and "tree.erase (call:*!_ZSt28_Rb_tree_rebalance" in r.reason, r
