"""semantics.md, Faults (sweeps) and Verdicts 5: one run an element, and only those that fired decide."""
import pytest

from laboratory import lines

OVER = ('plan: over\npoints: {at: {hook: "call:libt.so!a"}}\nfaults: [{at: at, do: fail, return: -1}]\n'
        "sweep: {point: at, over: [%s]}\n")
NTH = 'plan: nth\npoints: {at: {hook: "call:libt.so!a"}}\nfaults: [{at: at, do: fail, return: -1, nth: 1..}]\n'
FREE_TWICE = "char *p = malloc(4096); free(p); free(p);"
SECOND_CRASHES = "int main(void) { a(1); if (b(1) < 0) { %s } c(1); return 0; }" % FREE_TWICE


def elements(result):
    return [(e["name"], e["fired"], e["verdict"]) for e in result.row["sweep"]["elements"]]


def test_over_runs_once_with_each_function_in_the_place_of_the_points_own(lab):
    r = lab.run(OVER % "a, b, c", SECOND_CRASHES)
    assert elements(r) == [("a", True, "clean"), ("b", True, "reproduced"), ("c", True, "clean")], r
    assert r.verdict == "reproduced" and r.rc == 1 and r.reason.startswith("`b` was reproduced: double-free"), r
    assert (r.row["trials"], r.row["exercised"], r.row["reproduced"], r.row["sweep"]["kind"]) == (3, 3, 1, "over"), r.row
    assert "3 of 3 points fired, 1 reproduced" in r.stderr, r.stderr
    hooks = [trial["points"][0]["hook"] for trial in r.json["trials"]]
    assert hooks == ["call:libt.so!a", "call:libt.so!b", "call:libt.so!c"], hooks
    assert [e["trial"] for e in r.row["sweep"]["elements"]] == [t["id"] for t in r.json["trials"]], r.row
    assert [t["id"].endswith(f"-s{n}-{name}") for t, n, name in zip(r.json["trials"], (1, 2, 3), "abc")] == [True] * 3
    assert len({t["plan_hash"] for t in r.json["trials"]} | {r.row["plan_hash"]}) == 4, "each element is a plan of its own"


def test_reproduced_is_wanted_of_every_element_that_fired(lab):
    r = lab.run(OVER % "b, d", SECOND_CRASHES, arguments=["--expect", "reproduced"])
    assert elements(r) == [("b", True, "reproduced"), ("d", False, "not-exercised")] and r.rc == 0, r
    assert "1 of 2 points fired, 1 reproduced" in r.stderr, r.stderr
    r = lab.run(OVER % "b, a", SECOND_CRASHES, arguments=["--expect", "reproduced"])
    assert r.verdict == "reproduced" and r.rc == 1 and r.reason.startswith("`a` was clean"), r


def test_verdict_05_what_did_not_fire_decides_nothing(lab):
    r = lab.run(OVER % "d, a, e", SECOND_CRASHES)
    assert elements(r) == [("d", False, "not-exercised"), ("a", True, "clean"), ("e", False, "not-exercised")], r
    assert r.verdict == "clean" and r.rc == 0 and r.row["exercised"] == 1, r


def test_a_call_after_the_steps_had_ended_did_not_fire(lab):
    plan = (OVER % "a, b").replace("points: {", 'points: {gate: {hook: "call:libt.so!c"}, ')
    r = lab.run(plan + "steps: [reach at, pass gate]\ntimeout: 300ms\n", "int main(void) { a(1); c(1); b(1); return 0; }")
    assert elements(r) == [("a", True, "clean"), ("b", False, "not-exercised")] and r.rc == 0, r
    assert r.json["trials"][1]["faults"][0]["fired"] == 1 and r.json["trials"][1]["steps"][0]["state"] == "timeout", r.json["trials"][1]


def test_verdict_05_none_fired_is_not_exercised(lab):
    r = lab.run(OVER % "d, e", SECOND_CRASHES)
    assert [e["fired"] for e in r.row["sweep"]["elements"]] == [False, False], r.row
    assert r.verdict == "not-exercised" and r.rc == 125, r
    assert r.reason.startswith("none of the 2 runs of the sweep let its fault fire; `d`: ") and "libt.so!d" in r.reason, r


def test_nth_goes_up_until_a_run_ends_without_the_fault(lab):
    r = lab.run(NTH, """
int main(void) { for (int i = 1; i <= 3; i++) if (a(i) < 0) { printf("fails %d\\n", i); if (i == 2) abort(); } return 0; }""")
    assert elements(r) == [("nth 1", True, "clean"), ("nth 2", True, "other-finding"), ("nth 3", True, "clean"),
                           ("nth 4", False, "not-exercised")], r
    assert r.row["sweep"]["kind"] == "nth" and r.row["sweep"]["note"] == "" and r.rc == 1, r.row
    assert r.row["exercised"] == 3 and "3 of 4 runs fired, 1 other-finding" in r.stderr, r.stderr
    assert [line for line in lines(r) if line.startswith("fails")] == ["fails 1", "fails 3"], r.stdout  # abort() loses the line of 2


def test_nth_ends_when_it_can_come_no_further(lab):
    r = lab.run(NTH, "int main(void) { a(1); abort(); }")
    assert [fired for _, fired, _ in elements(r)] == [True, False, False, False], r
    assert r.verdict == "other-finding" and "the last 3 the fault did not fire" in r.row["sweep"]["note"], r.row


SOCKETS = """#include <sys/socket.h>
int main(void) { int v[2]; char b[9]; signal(SIGPIPE, SIG_IGN); if (socketpair(AF_UNIX, SOCK_STREAM, 0, v)) return 1;
    write(v[0], "ab", 2); read(v[1], b, 2); write(v[0], "cde", 3); read(v[1], b, 3); return 0; }"""


@pytest.mark.parametrize("fault, fired, last", [
    ("sever, byte: 1..", ["byte 1", "byte 2", "byte 3", "byte 4", "byte 5"], "byte 6"), ("sever, byte: 1.. by 2", ["byte 1", "byte 3", "byte 5"], "byte 7"),
    ("sever, byte: 1.. by 9", ["byte 1"], "byte 10"), ("short, bytes: 2, nth: 1..", ["nth 1"], "nth 2"), ("short, bytes: 1, nth: 1..", ["nth 1", "nth 2"], "nth 3")])
def test_byte_goes_through_the_stream_and_nth_through_the_calls_that_can_be_short(lab, fault, fired, last):
    """The calls of which nothing can be kept back, such as those for a header, end no sweep."""
    r = lab.run("plan: p\npoints: {w: {hook: conn.write}}\nfaults: [{at: w, do: %s}]\n" % fault, SOCKETS)
    assert elements(r) == [(name, True, "clean") for name in fired] + [(last, False, "not-exercised")], r
    assert r.verdict == "clean" and r.row["sweep"]["kind"] == fault.split(": ")[-2].split(", ")[-1], r.row


def test_a_byte_that_never_comes_is_not_exercised(lab):
    r = lab.run("plan: p\npoints: {w: {hook: conn.write, type: pipe}}\nfaults: [{at: w, do: sever, byte: 1..}]\n", SOCKETS)
    assert elements(r) == [("byte 1", False, "not-exercised")] and r.rc == 125, r


def test_one_element_can_be_collected_by_itself(lab):
    r = lab.run(OVER % "a, b", SECOND_CRASHES, arguments=["--keep"])
    trial = r.json["trials"][1]
    again = lab.holdpoint.call("collect", r.out / trial["folder"])
    assert again.rc == 1 and ", b: reproduced" in again.stdout and "fault  1 times  fail at return -1" in again.stdout, again


@pytest.mark.parametrize("plan, arguments, said", [
    (OVER % "a, b", ["--trials", "3"], ":4:8: a sweep runs each of its elements once"),
    (NTH, ["--trials", "2"], ":3:46: a sweep runs each of its elements once"),
    (NTH + "sweep: {point: at, over: [b]}", [], ":4:8: a plan may have one sweep"),
    (OVER % "a, a", [], ":4:30: 'a' stands twice"),
    ("plan: p\nsweep: {point: q, over: [a]}", [], ":2:16: unknown point 'q'"),
    ('plan: p\npoints: {x: {hook: process.exit}}\nfaults: [{at: x, do: crash}]\nsweep: {point: x, over: [a]}', [],
     ":4:8: the sweep replaces the function of x"),
    ('plan: p\npoints: {x: {hook: "call:libt.so!a"}}\nsteps: [reach x]\nsweep: {point: x, over: [a]}', [], ":4:8: no fault is at x"),
], ids=["trials-over", "trials-nth", "both", "doubled", "unknown-point", "no-call", "no-fault"])
def test_refused(lab, plan, arguments, said):
    r = lab.run(plan, SECOND_CRASHES, arguments=arguments)
    assert r.rc == 129 and said in r.stderr and r.json is None, r


def test_results_of_a_sweep_agree_with_their_schema(lab):
    import json
    jsonschema = pytest.importorskip("jsonschema")
    from laboratory import REPO
    schema = json.loads((REPO / "reports" / "results.schema.json").read_text())
    for plan in (OVER % "d, b", NTH):
        jsonschema.validate(lab.run(plan, SECOND_CRASHES).json, schema)
