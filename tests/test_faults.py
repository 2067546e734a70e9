"""semantics.md, Faults: each kind at a point, and what is recorded of it."""
import pytest

from laboratory import in_order, lines

A = 'points: {a: {hook: "call:libt.so!a"}}\n'
A_B = 'points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}}\n'


def milliseconds(result):
    return next(int(line.split()[1]) for line in lines(result) if line.startswith("ms "))


def test_fail_returns_the_value_and_errno_without_the_call(lab):
    r = lab.run("plan: fail\n" + A + "faults: [{at: a, do: fail, return: -7, errno: ECONNRESET, nth: 2}]", """
int main(void) {
    for (int i = 1; i <= 3; i++) { errno = 0; int got = a(i); printf("%d errno %d\\n", got, errno); }
    printf("body %d\\n", body_ran('a')); return 0;
}""")
    assert lines(r) == ["1 errno 0", "-7 errno 104", "3 errno 0", "body 2"], r
    assert r.verdict == "clean" and len(r.faults) == 1, r
    fired = r.faults[0]
    assert (fired["fired"], fired["rank"], fired["arrival"]) == (1, 0, 2), fired


def test_fail_may_return_an_argument(lab):
    r = lab.run("plan: argument\n" + A + "faults: [{at: a, do: fail, return: arg0}]",
                'int main(void) { printf("%d %d\\n", a(5), body_ran(\'a\')); return 0; }')
    assert lines(r) == ["5 0"] and r.verdict == "clean", r


def test_delay_keeps_the_thread_for_its_time(lab):
    r = lab.run("plan: delay\n" + A + "faults: [{at: a, do: delay, for: 400ms}]", """
int main(void) {
    struct timespec from, to; clock_gettime(CLOCK_MONOTONIC, &from); a(1); clock_gettime(CLOCK_MONOTONIC, &to);
    printf("ms %ld\\n", (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000); return 0;
}""")
    assert 390 <= milliseconds(r) < 3000 and r.verdict == "clean", r


HOLD = """
static void *t(void *x) { a(1); say("a returned"); return x; }
int main(void) { pthread_t h = go(t); nap(300); say("main"); %s join(h); return 0; }"""


def test_hold_until_a_points_side_is_reached(lab):
    r = lab.run("plan: hold\n" + A_B + "faults: [{at: a, do: hold, until: b}]", HOLD % "b(1);")
    in_order(r, "main", "a returned")
    assert r.verdict == "clean", r


def test_hold_that_ended_by_timeout_is_not_exercised(lab):
    r = lab.run("plan: hold\ntimeout: 700ms\n" + A_B + "faults: [{at: a, do: hold, until: b}]", HOLD % "if (getpid() == 1) b(1);")
    in_order(r, "main", "a returned")
    assert r.verdict == "not-exercised" and "hold a" in r.reason, r


@pytest.mark.parametrize("fault, kind", [("do: crash", "crash"), ("do: signal, signal: SIGABRT", "abort")])
def test_crash_and_signal_end_the_rank_with_a_finding(lab, fault, kind):
    r = lab.run("plan: end\n" + A + "faults: [{at: a, %s}]" % fault, "int main(void) { a(1); say(\"alive\"); return 0; }")
    assert "alive" not in lines(r) and kind in r.kinds and r.faults[0]["fired"] == 1, r


def test_stop_stops_the_process_until_the_trial_ends(lab):
    r = lab.run("plan: stop\n" + A + "faults: [{at: a, do: stop}]",
                "int main(void) { a(1); say(\"alive\"); return 0; }", arguments=["--timeout", "3s"])
    assert "alive" not in lines(r) and r.kinds == ["hang"] and r.faults[0]["fired"] == 1, r


def test_every_from_and_to_choose_the_arrivals(lab):
    r = lab.run("plan: every\n" + A_B + "faults: [{at: a, do: fail, return: 0, every: 3, from: 4, to: 9},"
                " {at: b, do: fail, return: 0, from: 2, to: 3}]",
                'int main(void) { for (int i = 1; i <= 12; i++) printf("%d%d ", !a(1), !b(1)); puts(""); return 0; }')
    said = lines(r)[0].split()
    assert [i + 1 for i, text in enumerate(said) if text[1] == "1"] == [2, 3], r
    chosen = [i + 1 for i, text in enumerate(said) if text[0] == "1"]
    assert chosen and all(4 <= i <= 9 for i in chosen) and chosen[1] - chosen[0] == 3, r


def test_prob_is_decided_by_the_seed_alone(lab):
    body = 'int main(void) { for (int i = 0; i < 200; i++) putchar(a(1) ? \'.\' : \'x\'); puts(""); return 0; }'
    plan = "plan: prob\n" + A + "faults: [{at: a, do: fail, return: 0, prob: 0.3, seed: %d}]"
    first, again, other = (lines(lab.run(plan % seed, body))[0] for seed in (7, 7, 8))
    assert first == again != other and 30 <= first.count("x") <= 90, (first, other)


def test_a_fault_of_one_rank_fires_in_no_other(lab):
    r = lab.run("plan: rank\n" + A + "faults: [{at: a, do: fail, return: 0, rank: 1}]",
                'int main(void) { printf("%s: %d\\n", getenv("HOLDPOINT_RANK"), a(1)); return 0; }', ranks=3)
    assert sorted(lines(r)) == ["0: 1", "1: 0", "2: 1"] and r.faults[0]["rank"] == 1, r


def test_arguments_and_vector_registers_come_through_a_hooked_call(lab):
    r = lab.run('plan: registers\npoints: {m: {hook: "call:libt.so!mixed"}, n: {hook: "call:libt.so!mixed", side: return}}\n'
                "steps: [reach m, reach n]",
                'int main(void) { printf("%.3f\\n", mixed(1, 2.5, 3, 4.25f, "A", 0.125, 10, 20, 30, 40)); return 0; }')
    assert lines(r) == ["175.875"] and r.verdict == "clean", r
