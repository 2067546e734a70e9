"""What the shim costs, in one run, as ratios. Timings never fail a test; that the measured thing happened does."""
import pytest

from laboratory import lines, point

CALLS = 300_000
LOOP = """
int main(void) {
    double best = 1e18;
    for (int round = 0; round < 5; round++) {
        struct timespec from, to; clock_gettime(CLOCK_MONOTONIC, &from);
        for (int i = 0; i < %d; i++) a(i);
        clock_gettime(CLOCK_MONOTONIC, &to);
        double ns = ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / %d;
        best = ns < best ? ns : best;
    }
    printf("ns %%.1f\\n", best); return body_ran('a') == 5 * %d ? 0 : 1;
}""" % (CALLS, CALLS, CALLS)
PLANS = {  # what a call of a() meets
    "the shim, its hook in no plan": "plan: p\npoints: {end: {hook: process.exit}}\nsteps: [reach end]\n",
    "a hook that is not armed": 'plan: p\npoints: {end: {hook: process.exit}, a: {hook: "call:libt.so!a", after: reach end}}\n'
                                "steps: [reach end]\nfaults: [{at: a, do: delay, for: 1ms, prob: 0.5, seed: 1}]\n",
    "a mark that counts early": 'plan: p\npoints: {end: {hook: process.exit}, a: {hook: "call:libt.so!a"}}\n'
                                "steps: [reach end, reach a]\ntimeout: 1s\n",
    "its return side as well": 'plan: p\npoints: {end: {hook: process.exit}, a: {hook: "call:libt.so!a", side: return}}\n'
                               "steps: [reach end, reach a]\ntimeout: 1s\n",
}


@pytest.mark.full
def test_price_of_a_hooked_call(lab, record_property, capsys):
    program = lab.program(LOOP, "-O2")
    runs = {"no shim": lab.holdpoint.exec(PLANS["the shim, its hook in no plan"], ["/usr/bin/env", "-u", "LD_PRELOAD", program])}
    for name, plan in PLANS.items():
        runs[name] = lab.holdpoint.exec(plan, program)
    price = {name: next(float(line.split()[1]) for line in lines(r) if line.startswith("ns ")) for name, r in runs.items()}
    assert point(runs["a mark that counts early"], "a")["early"] == 5 * CALLS  # each was really looked at
    assert point(runs["its return side as well"], "a")["early"] == 5 * CALLS
    with capsys.disabled():
        print("\nprice of a call, against the same call without the shim")
        for name, ns in price.items():
            print(f"  {name:32} {ns:8.1f} ns   {ns / price['no shim']:6.1f} x")
            record_property(name, round(ns / price["no shim"], 1))


FILTERED = """plan: p
points: {end: {hook: process.exit}, a: {hook: "call:libt.so!a"%s}}
steps: [reach end, reach a]
timeout: 1s
"""
FILTERS = {  # of a mark at a(), and whether they match
    "no filter": ("", True),
    "caller: matches": (', caller: "PROGRAM!main"', True),
    "caller: does not": (', caller: "libt.so!a"', False),
    "caller: of many functions": (', caller: "libc.so.6!*a*"', False),
    "stack: matches": (', stack: "PROGRAM!main"', True),
    "stack: does not": (', stack: "libt.so!a"', False),
}


@pytest.mark.full
def test_price_of_a_filter_by_caller(lab, record_property, capsys):
    """What a filter adds to an arrival, as a multiple of a bare arrival at a mark."""
    program = lab.program(LOOP, "-O2")
    runs = {name: lab.holdpoint.exec(FILTERED % text, program) for name, (text, _) in FILTERS.items()}
    price = {name: next(float(line.split()[1]) for line in lines(r) if line.startswith("ns ")) for name, r in runs.items()}
    assert {name: point(r, "a")["arrivals"] for name, r in runs.items()} == \
        {name: 5 * CALLS if matches else 0 for name, (_, matches) in FILTERS.items()}
    with capsys.disabled():
        print("\nprice of an arrival, against one at a point without such a filter")
        for name, ns in price.items():
            print(f"  {name:28} {ns:8.1f} ns   {ns / price['no filter']:6.1f} x")
            record_property(name, round(ns / price["no filter"], 1))


HANDOVER = """
#include <linux/futex.h>
#include <sys/syscall.h>
static int word;
static long futex(int op, int value) { return syscall(SYS_futex, &word, op, value, NULL, NULL, 0); }
static void *bare(void *unused) {
    (void)unused;
    for (int i = 0; i < 200; i++) { while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) != 2 * i + 1) futex(FUTEX_WAIT, 2 * i);
        __atomic_store_n(&word, 2 * i + 2, __ATOMIC_SEQ_CST); futex(FUTEX_WAKE, 1); }
    return NULL;
}
static void *held(void *unused) { (void)unused; for (int i = 0; i < 20; i++) a(i); return NULL; }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e6 + t.tv_nsec / 1e3; }
int main(void) {
    pthread_t t = go(bare); double from = now();
    for (int i = 0; i < 200; i++) { __atomic_store_n(&word, 2 * i + 1, __ATOMIC_SEQ_CST); futex(FUTEX_WAKE, 1);
        while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) != 2 * i + 2) futex(FUTEX_WAIT, 2 * i + 1); }
    printf("us %.1f\\n", (now() - from) / 200); join(t);
    t = go(held); from = now(); for (int i = 0; i < 20; i++) b(i); join(t);
    printf("us %.1f\\n", (now() - from) / 20); return 0;
}"""


@pytest.mark.full
def test_latency_of_a_hand_over(lab, record_property, capsys):
    """A held thread goes on when another arrives: beside a bare futex round trip in the same process."""
    plan = ('plan: p\npoints: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}}\nsteps:\n'
            + "  - reach a\n  - pass b\n  - pass a\n" * 20)
    r = lab.run(plan, HANDOVER)
    assert set(r.steps.values()) == {"done"} and len(r.steps) == 60, r
    bare, ours = (float(line.split()[1]) for line in lines(r) if line.startswith("us "))
    with capsys.disabled():
        print(f"\nfutex round trip {bare:.1f} us, two gates handed over {ours:.1f} us: {ours / bare:.1f} x")
    record_property("hand-over against futex", round(ours / bare, 1))


BLOCKS = """
static double best(size_t bytes) {
    double least = 1e18;
    for (int round = 0; round < 5; round++) {
        struct timespec from, to; clock_gettime(CLOCK_MONOTONIC, &from);
        for (int i = 0; i < 20000; i++) { char *volatile p = malloc(bytes); p[0] = 1; free(p); }
        clock_gettime(CLOCK_MONOTONIC, &to);
        double ns = ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / 20000;
        least = ns < least ? ns : least;
    }
    return least;
}
int main(void) { printf("of %.1f\\nother %.1f\\n", best(136), best(72)); return 0; }"""
GUARDS = {
    "no shim": None,
    "no detector": "plan: p\n",
    "heap": "plan: p\ndetect: [heap]\nheap: {from: PROGRAM, size: 136}\n",
    "locks": "plan: p\ndetect: [locks]\n",
}


@pytest.mark.full
def test_price_of_a_guarded_block_and_of_the_others(lab, record_property, capsys):
    """An allocation with its free: of the size class that is guarded, and beside it."""
    program = lab.program(BLOCKS, "-O2")
    runs = {name: lab.holdpoint.exec(plan or "plan: p\n", program if plan else ["/usr/bin/env", "-u", "LD_PRELOAD", program])
            for name, plan in GUARDS.items()}
    price = {(name, line.split()[0]): float(line.split()[1]) for name, r in runs.items() for line in lines(r)
             if line.split()[0] in ("of", "other")}
    assert runs["heap"].trial["ranks"][0]["guarded"] == 100_000 and runs["locks"].verdict == "clean", runs
    with capsys.disabled():
        print("\nprice of malloc and free, against the same without the shim")
        for (name, kind), ns in price.items():
            ratio = ns / price["no shim", kind]
            print(f"  {name:12} {'of the size class' if kind == 'of' else 'of another size':18} {ns:8.1f} ns   {ratio:6.1f} x")
            record_property(f"{name}, {kind}", round(ratio, 1))
