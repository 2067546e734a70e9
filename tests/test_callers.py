"""Filters caller: and stack:, by the symbols of the program's files, in builds of every kind."""
import subprocess

import pytest

from laboratory import compile_c, lines, point

COMPONENT = """
#include "lab.h"
#define ALONE __attribute__((noinline))
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int outer_one(int x); int other(int x);
static ALONE int inner(int x, int times) { int sum = 0; for (int i = 0; i < times; i++) sum += a(x);
    pthread_mutex_lock(&m); sum += x; pthread_mutex_unlock(&m); return sum + 1; }
ALONE int outer_one(int x) { return inner(x, 2) + 1; }
ALONE int other(int x) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return a(x) + 1; }
"""
MAIN = "int outer_one(int), other(int); int main(void) { int sum = other(1); sum += outer_one(2); sum += other(3); return sum == 0; }"
PLAN = """plan: p
points:
  by:     {hook: "call:libt.so!a", caller: "*!inner"}
  below:  {hook: "call:libt.so!a", stack: "*!outer_one"}
  main:   {hook: "call:libt.so!a", stack: "PROGRAM!main"}
  locks:  {hook: lock.acquire, caller: "WHERE!inner"}
  locked: {hook: lock.acquire, stack: "WHERE!outer_one"}
  not:    {hook: lock.acquire, caller: "WHERE!outer_one"}
faults: [{at: by, do: delay, for: 1us}, {at: below, do: delay, for: 1us}, {at: main, do: delay, for: 1us},
         {at: locks, do: delay, for: 1us}, {at: locked, do: delay, for: 1us}, {at: not, do: delay, for: 1us}]
"""
COUNTS = {"by": 2, "below": 2, "main": 4, "locks": 1, "locked": 1, "not": 0}


def component(lab, kind, *flags):
    """The program, and its module that has the component."""
    source, out = lab.folder / "component.c", lab.folder / ("libcomponent.so" if kind == "shared" else "component.o")
    source.write_text(COMPONENT)
    compile_c(out, [source], *flags, *(["-shared", "-fPIC"] if kind == "shared" else ["-c"]), f"-I{lab.library.parent}",
              f"-I{__file__.rpartition('/')[0]}")
    if kind == "archive":
        subprocess.run(["ar", "rcs", lab.folder / "libcomponent.a", out], check=True)
    link = {"shared": [f"-Wl,-rpath,{lab.folder}", "-lcomponent"], "archive": ["-lcomponent"], "object": [out]}[kind]
    program = lab.program(MAIN, *flags, f"-L{lab.folder}", *link, name="program")
    return program, "libcomponent.so" if kind == "shared" else "PROGRAM"


@pytest.mark.parametrize("kind, flags", [
    ("object", []), ("object", ["-O2"]), ("object", ["-O2", "-rdynamic"]), ("object", ["-O2", "-fomit-frame-pointer", "-no-pie"]),
    ("archive", ["-O2"]), ("shared", []), ("shared", ["-O2"]),
    ("object", ["-fsanitize=address"]), ("shared", ["-O2", "-fsanitize=address"]), ("object", ["-O2", "-fsanitize=thread"]),
], ids=lambda value: value if isinstance(value, str) else "".join(value).replace("-fsanitize=", "-") or "plain")
def test_callers_are_known_by_local_symbols_also_of_clones(lab, kind, flags):
    program, where = component(lab, kind, *flags)
    r = lab.holdpoint.exec(PLAN.replace("WHERE", where), program)
    assert {name: point(r, name)["arrivals"] for name in COUNTS} == COUNTS, r.trial["points"]


def test_a_clone_of_the_compilers_is_its_function(lab):
    program, _ = component(lab, "object", "-O2")
    names = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.split()
    assert "inner.constprop.0" in names and "inner" not in names, "the build above has no clone to tell of"


STRIPPED = 'plan: p\npoints: {by: {hook: "call:libt.so!a", caller: "PROGRAM!outer_one"}}\nsteps: [reach by]\n'


def test_a_stripped_program_is_refused_before_it_runs(lab):
    program, _ = component(lab, "object", "-s")
    r = lab.holdpoint.exec(STRIPPED, program)
    assert r.rc == 129 and "caller: PROGRAM!outer_one can match nothing" in r.stderr and f"{program} is stripped" in r.stderr, r


def test_what_a_stripped_program_exports_is_known(lab):
    program, _ = component(lab, "object", "-s", "-rdynamic")
    r = lab.holdpoint.exec(STRIPPED.replace("outer_one", "other"), program)
    assert r.verdict == "clean" and r.rc == 0, r


@pytest.mark.parametrize("flags, pattern, words", [
    (["-s"], "PROGRAM!outer_one", "program is stripped"), ([], "program!outer_oen", "no function there has such a name"),
    ([], "libnever.so!outer_one", "no module of that name was there"),
])
def test_a_filter_that_matches_nothing_is_not_exercised_and_says_why(lab, flags, pattern, words):
    """Behind env, nobody knows the program beforehand."""
    program, _ = component(lab, "object", *flags)
    r = lab.holdpoint.exec(STRIPPED.replace("PROGRAM!outer_one", pattern), ["/usr/bin/env", program])
    assert r.verdict == "not-exercised" and r.rc == 125, r
    assert f"`caller: {pattern}` of the point `by` matches nothing" in r.reason and words in r.reason, r.reason


@pytest.mark.parametrize("filters", ['hook: thread.start, start: "PROGRAM!routnie"', 'hook: thread.exit, dtor: "*!of_kye"',
                                     'hook: thread.start, stack: "*!routnie"'])
def test_every_filter_by_code_is_checked(lab, filters):
    program = lab.program("static void *routine(void *u) { return u; } int main(void) { join(go(routine)); return 0; }")
    r = lab.holdpoint.exec("plan: p\npoints: {x: {%s}}\nsteps: [reach x]\n" % filters, program)
    assert r.rc == 129 and "can match nothing" in r.stderr, r


def test_a_library_that_comes_and_goes_keeps_its_functions(lab):
    """Two libraries take turns, mostly at the same place; each is known by its own functions."""
    made = [lab.program(f"void use(void); static void {name}(void) {{ a(1); }} void use(void) {{ {name}(); }}", "-shared", "-fPIC",
                        name=f"lib{name}.so") for name in ("first", "second")]
    plan = """plan: p
points: {one: {hook: "call:libt.so!a", caller: "*!first"}, two: {hook: "call:libt.so!a", caller: "*!second"}}
faults: [{at: one, do: delay, for: 1us}, {at: two, do: delay, for: 1us}]
"""
    r = lab.run(plan, """#include <dlfcn.h>
        int main(void) { const char *name[] = {"%s", "%s"}; void *place[2]; int same = 0;
        for (int i = 0; i < 600; i++) { void *l = dlopen(name[i %% 2], RTLD_NOW); void (*use)(void) = (void (*)(void))dlsym(l, "use");
            place[i %% 2] = (void *)use; use(); same += i && place[0] == place[1]; dlclose(l); }
        say(same ? "took turns" : "apart"); return 0; }""" % tuple(made))
    assert lines(r) == ["took turns"] and r.verdict == "clean", r
    assert [point(r, name)["arrivals"] for name in ("one", "two")] == [300, 300], r.trial["points"]


def test_two_hooks_of_one_function_both_see_the_call(lab):
    """One by the library's name and one by a glob, one of one caller alone: each has its arrivals, its returns and its faults."""
    r = lab.run("""plan: both
points:
  named: {hook: "call:libt.so!a"}
  any: {hook: "call:*!a"}
  of_program: {hook: "call:*!a", from: PROGRAM}
  back: {hook: "call:libt.so!a", side: return}
  any_back: {hook: "call:*!a", side: return}
steps: [reach named, reach back]
faults:
  - {at: any, do: delay, for: 1ms, nth: 1}
  - {at: any_back, do: delay, for: 1ms, nth: 2}
  - {at: of_program, do: fail, return: 77, nth: 2}
""", 'int main(void) { int x = a(1), y = a(2); printf("%d %d %d\\n", x, y, a(3)); return 0; }')
    assert lines(r) == ["1 77 3"] and all(f["fired"] == 1 for f in r.faults), (r, r.faults)
    assert r.verdict == "clean" and all(bound > 0 for bound in r.trial["ranks"][0]["bound"].values()), (r, r.trial["ranks"])
