"""semantics.md, Steps: every rule by its number, on programs of a few lines.

The functions a() to e() do nothing and are hooked in the plans; what was held is seen from the order of
the lines that the program says."""
import json
import time

import pytest

from laboratory import in_order, lines, point, undone

A_BY_THREAD = """
static void *t(void *x) { a(1); say("a returned"); return x; }
int main(void) { pthread_t h = go(t); nap(200); say("main"); b(1); join(h); return 0; }
"""


def test_step_01_strictly_in_the_order_of_the_file(lab):
    r = lab.run("""
plan: order
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}, c: {hook: "call:libt.so!c"}}
steps: [reach a, reach b, reach c]
""", "int main(void) { b(1); a(1); c(1); b(1); return 0; }")
    assert r.steps["reach a"] == r.steps["reach b"] == "done" and undone(r, "reach c"), r
    assert r.verdict == "not-exercised" and r.rc == 125, r


def test_step_01_a_step_is_done_once(lab):
    r = lab.run("""
plan: once
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}}
steps: [reach a, reach b]
""", "int main(void) { a(1); a(2); b(1); b(2); return 0; }")
    assert r.verdict == "clean" and r.rc == 0, r
    assert [s["arrival"] for s in r.trial["steps"]] == [1, 1], r.trial["steps"]


def test_step_01_one_sequence_per_job_spans_the_ranks(lab):
    r = lab.run("""
plan: job
points: {a: {hook: "call:libt.so!a", rank: 0}, b: {hook: "call:libt.so!b", rank: 1}}
steps: [reach a, reach b, pass a]
""", """
int main(void) {
    int rank = atoi(getenv("HOLDPOINT_RANK")); struct timespec t;
    if (rank == 0) a(1); else nap(300);
    clock_gettime(CLOCK_MONOTONIC, &t); printf("%d at %ld.%09ld\\n", rank, t.tv_sec, t.tv_nsec);
    if (rank == 1) b(1);
    return 0;
}""", ranks=2)
    at = {line.split()[0]: float(line.split()[2]) for line in lines(r)}
    assert at["1"] < at["0"] and r.verdict == "clean", (at, r)


def test_step_01_scope_rank_gives_each_rank_its_own_sequence(lab):
    r = lab.run("""
plan: each
scope: rank
ranks: [0, 1]
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}}
steps: [reach a, reach b, pass a]
""", A_BY_THREAD, ranks=2)
    assert r.verdict == "clean", r
    assert sorted(s["rank"] for s in r.trial["steps"] if s["text"] == "pass a") == [0, 1], r.trial["steps"]
    assert [s["state"] for s in r.trial["steps"]] == ["done"] * 6, r.trial["steps"]


def test_step_02_side_enter_holds_before_the_call(lab):
    r = lab.run("""
plan: enter
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}}
steps: [reach a, reach b, pass a]
""", """
static void *t(void *x) { a(1); say("a returned"); return x; }
int main(void) {
    pthread_t h = go(t); nap(200); say(body_ran('a') ? "body ran" : "body waits"); b(1); join(h); return 0;
}""")
    in_order(r, "body waits", "a returned")
    assert r.verdict == "clean" and "body ran" not in lines(r), r


def test_step_02_side_return_holds_after_the_call(lab):
    r = lab.run("""
plan: return
points: {a: {hook: "call:libt.so!a", side: return}, b: {hook: "call:libt.so!b"}}
steps: [reach a, reach b, pass a]
""", """
static void *t(void *x) { if (a(17) == 17) say("a returned"); return x; }
int main(void) {
    pthread_t h = go(t); nap(200); say(body_ran('a') ? "body ran" : "body waits"); b(1); join(h); return 0;
}""")
    in_order(r, "body ran", "a returned")
    assert r.verdict == "clean", r


@pytest.mark.parametrize("roles, how", [("", "after: reach e"), ('roles: {r: {at: "call:libt.so!e"}}', "role: r")])
def test_step_02_side_return_of_a_call_in_which_its_point_begins_to_count(lab, roles, how):
    r = lab.run(f"""
plan: late
{roles}
points:
  a: {{hook: "call:libt.so!a"}}
  e: {{hook: "call:libt.so!e"}}
  out: {{hook: "call:libt.so!outer", side: return, {how}}}
steps: [reach a, reach e, reach out]
""", "int main(void) { a(1); outer(1); return 0; }")
    assert r.verdict == "clean" and r.rc == 0, r


ASLEEP = """
plan: asleep
points: {sleeping: {hook: "call:libt.so!%s", side: asleep}, b: {hook: "call:libt.so!b"}}
steps: [reach sleeping, pass b]
timeout: 1500ms
"""


def test_step_02_side_asleep_is_a_thread_seen_sleeping_inside_the_call(lab):
    r = lab.run(ASLEEP % "sleepy", """
static void *t(void *x) { nap(200); say("to sleep"); sleepy(1000); say("awake"); return x; }
int main(void) { pthread_t h = go(t); b(1); say("b passed"); join(h); return 0; }""")
    in_order(r, "to sleep", "b passed", "awake")
    assert r.verdict == "clean", r


def test_step_02_a_busy_thread_is_not_asleep(lab):
    r = lab.run(ASLEEP % "busy", """
static void *t(void *x) { busy(400); return x; }
int main(void) { pthread_t h = go(t); b(1); join(h); return 0; }""")
    assert r.steps["reach sleeping"] == "timeout" and r.verdict == "not-exercised", r


def test_step_02_a_thread_is_not_inside_a_call_that_the_plan_failed(lab):
    r = lab.run("""
plan: failed
points:
  sleeping: {hook: "call:libt.so!sleepy", side: asleep}
  sleepy: {hook: "call:libt.so!sleepy"}
  e: {hook: "call:libt.so!e", within: sleepy}
  b: {hook: "call:libt.so!b"}
steps: [reach sleeping, pass b]
faults: [{at: sleepy, do: fail, return: -1}, {at: e, do: fail, return: -1}]
timeout: 800ms
""", """
static void *t(void *x) { sleepy(1); if (outer(1) == -1) say("within"); nap(400); return x; }
int main(void) { pthread_t h = go(t); b(1); join(h); return 0; }""")
    assert r.steps["reach sleeping"] == "timeout" and "within" not in lines(r), r


@pytest.mark.parametrize("held", ["steps: [reach sleeping, pass b]\nfaults: [{at: e, do: delay, for: 400ms}]",
                                  "steps: [reach e, reach sleeping, pass e, pass b]"])
def test_step_02_a_thread_that_the_plan_keeps_inside_the_call_is_not_asleep(lab, held):
    r = lab.run(f"""
plan: kept
points:
  sleeping: {{hook: "call:libt.so!outer", side: asleep}}
  e: {{hook: "call:libt.so!e"}}
  b: {{hook: "call:libt.so!b"}}
timeout: 800ms
{held}
""", """
static void *t(void *x) { outer(1); nap(400); return x; }
int main(void) { pthread_t h = go(t); b(1); join(h); return 0; }""")
    assert r.steps["reach sleeping"] == "timeout", r


def test_step_03_armed_after_a_step_and_disarmed_after_the_last(lab):
    r = lab.run("""
plan: armed
points: {a: {hook: "call:libt.so!a", after: "reach b"}, b: {hook: "call:libt.so!b"}, c: {hook: "call:libt.so!c"}}
steps: [reach b, reach a, reach c, pass a]
timeout: 10s
""", """
static void *t(void *x) { a(1); say("early a"); b(1); a(2); say("held a"); a(3); a(4); say("later a"); return x; }
int main(void) { pthread_t h = go(t); nap(300); say("main"); c(1); join(h); return 0; }""")
    in_order(r, "early a", "main", "held a", "later a")
    assert r.verdict == "clean" and point(r, "a")["arrivals"] == 1, r


def test_step_04_first_arrival_claims_and_is_held_before_its_turn_and_others_go_through(lab):
    r = lab.run("""
plan: claim
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}}
steps: [reach b, pass a]
timeout: 10s
""", """
static void *first(void *x) { a(1); say("first"); return x; }
static void *second(void *x) { a(2); say("second"); return x; }
int main(void) {
    pthread_t f = go(first); nap(150); pthread_t s = go(second); nap(150); say("main"); b(1);
    join(f); join(s); return 0;
}""")
    in_order(r, "second", "main", "first")
    assert r.verdict == "clean" and point(r, "a")["bystanders"] == 1, r


def test_step_04_crowd_hold_keeps_the_others_until_the_same_pass(lab):
    program = lab.program("""
static pthread_barrier_t together;
static void *t(void *x) { pthread_barrier_wait(&together); a(1); say("through"); return x; }
int main(void) {
    pthread_t h[8]; pthread_barrier_init(&together, NULL, 8);
    for (int i = 0; i < 8; i++) h[i] = go(t);
    nap(300); say("main"); b(1); for (int i = 0; i < 8; i++) join(h[i]);
    return 0;
}""")
    for _ in range(5):  # they race for the claim, and whoever loses it is crowd at once
        r = lab.holdpoint.exec("""
plan: crowd
points: {a: {hook: "call:libt.so!a", crowd: hold}, b: {hook: "call:libt.so!b"}}
steps: [reach b, pass a]
timeout: 10s
""", program)
        in_order(r, "main", *["through"] * 8)
        assert r.verdict == "clean", r


def test_step_04_a_crowd_waits_for_nobody_whose_claim_is_free(lab):
    r = lab.run("""
plan: two-gates
points: {x: {hook: "call:libt.so!a", crowd: hold}, y: {hook: "call:libt.so!a", crowd: hold}}
steps: [pass x, pass y]
timeout: 3s
""", "int main(void) { a(1); a(2); return 0; }")
    assert set(r.steps.values()) == {"done"} and r.verdict == "clean", r


def test_step_05_a_mark_never_holds_and_an_early_arrival_does_not_count(lab):
    r = lab.run("""
plan: mark
points: {early: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}}
steps: [reach b, reach early]
timeout: 10s
""", "int main(void) { a(1); say(\"a returned\"); b(1); return 0; }")
    in_order(r, "a returned")
    assert r.steps["reach b"] == "done" and undone(r, "reach early"), r
    assert r.verdict == "not-exercised" and point(r, "early")["early"] == 1, r


def test_step_06_reach_of_a_gate_is_done_by_a_claimant_that_stood_there_before(lab):
    r = lab.run("""
plan: stood
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}, c: {hook: "call:libt.so!c"}}
steps: [reach b, reach a, reach c, pass a]
timeout: 10s
""", """
static void *t(void *x) { a(1); say("a returned"); return x; }
int main(void) { pthread_t h = go(t); nap(200); b(1); nap(100); say("main"); c(1); join(h); return 0; }""")
    in_order(r, "main", "a returned")
    assert r.verdict == "clean", r


def test_step_06_reach_of_a_mark_is_done_by_an_arrival_after_the_steps_before(lab):
    r = lab.run("""
plan: marks
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}}
steps: [reach b, reach a]
""", "int main(void) { a(1); b(1); a(2); return 0; }")
    assert r.verdict == "clean" and r.trial["steps"][1]["arrival"] == 2, r.trial["steps"]


def test_step_07_pass_alone_includes_the_reach(lab):
    r = lab.run("""
plan: pass
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}}
steps: [pass a, reach b]
""", "int main(void) { a(1); b(1); return 0; }")
    assert r.verdict == "clean" and r.trial["steps"][0]["arrival"] == 1, r


def test_step_07_pass_without_a_claimant_is_not_done(lab):
    r = lab.run("""
plan: nobody
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}}
steps: [pass a, reach b]
""", "int main(void) { b(1); return 0; }")
    assert undone(r, "pass a", "reach b") and r.verdict == "not-exercised", r


AGAIN = """
plan: again
points: {{a: {{hook: "call:libt.so!a"{same}}}, c: {{hook: "call:libt.so!c"}}}}
steps: [pass a, reach a, reach c, pass a]
timeout: 10s
"""
AGAIN_C = """
static void *one(void *x) { a(1); nap(300); a(1); say("one"); return x; }
static void *two(void *x) { nap(150); a(2); say("two"); return x; }
int main(void) { pthread_t f = go(one), s = go(two); nap(600); say("main"); c(1); join(f); join(s); return 0; }
"""


def test_step_08_named_again_is_the_next_claim_by_any_thread(lab):
    r = lab.run(AGAIN.format(same=""), AGAIN_C)
    in_order(r, "one", "main", "two")
    assert r.verdict == "clean", r


def test_step_08_same_is_the_next_claim_by_the_same_thread(lab):
    r = lab.run(AGAIN.format(same=", same: true"), AGAIN_C)
    in_order(r, "two", "main", "one")
    assert r.verdict == "clean", r


def test_step_09_nth_counts_per_process(lab):
    r = lab.run("""
plan: nth
points: {a: {hook: "call:libt.so!a", nth: 3}, b: {hook: "call:libt.so!b"}}
steps: [reach a, reach b, pass a]
timeout: 10s
""", """
static void *t(void *x) { a(1); say("second"); a(1); say("third"); return x; }
int main(void) { a(1); pthread_t h = go(t); nap(300); say("main"); b(1); join(h); return 0; }""")
    in_order(r, "second", "main", "third")
    assert r.verdict == "clean", r


def test_step_09_nth_counts_since_arming(lab):
    r = lab.run("""
plan: since
points: {a: {hook: "call:libt.so!a", nth: 2, after: "reach b"}, b: {hook: "call:libt.so!b"}}
steps: [reach b, reach a]
""", "int main(void) { a(1); a(2); a(3); b(1); a(4); return 0; }")
    assert undone(r, "reach a") and r.verdict == "not-exercised", r


def test_step_09_nth_of_a_role_counts_that_threads_arrivals(lab):
    r = lab.run("""
plan: role-nth
roles: {worker: {at: "call:libt.so!c"}}
points: {a: {hook: "call:libt.so!a", role: worker, nth: 2}, b: {hook: "call:libt.so!b"}}
steps: [reach a, reach b, pass a]
timeout: 10s
""", """
static void *t(void *x) { c(1); nap(200); a(1); say("first"); a(2); say("second"); return x; }
int main(void) {
    pthread_t h = go(t); nap(100); a(9); a(9); a(9); nap(300); say("main"); b(1); join(h); return 0;
}""")
    in_order(r, "first", "main", "second")
    assert r.verdict == "clean", r


def test_step_09_nth_of_a_roles_at_counts_the_arrivals_that_could_bind_it(lab):
    r = lab.run("""
plan: two-roles
roles: {one: {at: "call:libt.so!c", nth: 1}, two: {at: "call:libt.so!c", nth: 2}}
points: {x: {hook: "call:libt.so!a", role: two}, y: {hook: "call:libt.so!a", role: one}, b: {hook: "call:libt.so!b"}}
steps: [reach x, reach y, reach b, pass x, pass y]
timeout: 10s
""", """
static void *t(void *x) { c(1); a(1); say("through"); return x; }
int main(void) { pthread_t f = go(t), s = go(t); nap(300); say("main"); b(1); join(f); join(s); return 0; }""")
    in_order(r, "main", "through", "through")
    assert r.verdict == "clean", r


def test_step_09_nth_within_counts_afresh_at_each_entry(lab):
    plan = """
plan: within-nth
points: {{outer: {{hook: "call:libt.so!outer"}}, e: {{hook: "call:libt.so!e", within: outer, nth: {nth}}}}}
steps: [reach e]
"""
    body = "int main(void) { outer(2); outer(2); return 0; }"
    assert lab.run(plan.format(nth=2), body).verdict == "clean"
    assert lab.run(plan.format(nth=3), body).verdict == "not-exercised"


def test_step_10_within_is_from_entry_to_return_on_that_thread(lab):
    plan = """
plan: within
points: {outer: {hook: "call:libt.so!outer"}, e: {hook: "call:libt.so!e", within: outer}}
steps: [reach e]
"""
    beside = lab.run(plan, """
static void *t(void *x) { e(1); return x; }
int main(void) { e(1); outer(0); e(2); join(go(t)); return 0; }""")
    assert beside.verdict == "not-exercised", beside
    inside = lab.run(plan, "int main(void) { e(1); outer(1); return 0; }")
    assert inside.verdict == "clean", inside


def test_step_10_within_does_not_spread_to_other_threads(lab):
    r = lab.run("""
plan: within-thread
points: {sleepy: {hook: "call:libt.so!sleepy"}, a: {hook: "call:libt.so!a", within: sleepy}}
steps: [reach a]
""", """
static void *t(void *x) { sleepy(300); return x; }
int main(void) { pthread_t h = go(t); nap(100); a(1); join(h); return 0; }""")
    assert r.verdict == "not-exercised", r


ROLE = """
plan: role
roles: {worker: {at: "call:libt.so!c"}}
points: {a: {hook: "call:libt.so!a", role: worker}, b: {hook: "call:libt.so!b"}}
steps: [reach a, reach b, pass a]
timeout: 1s
"""


def test_step_11_a_role_is_bound_once_by_the_first_arrival(lab):
    r = lab.run(ROLE, """
static void *worker(void *x) { c(1); nap(300); a(1); say("worker"); return x; }
static void *other(void *x) { c(2); a(2); say("other"); return x; }
int main(void) {
    pthread_t w = go(worker); nap(100); pthread_t o = go(other); nap(500); say("main"); b(1); join(w); join(o);
    return 0;
}""")
    in_order(r, "other", "main", "worker")
    assert r.verdict == "clean", r


def test_step_11_the_binding_arrival_may_match_points_of_the_role(lab):
    r = lab.run("""
plan: same-arrival
roles: {worker: {at: "call:libt.so!a"}}
points: {a: {hook: "call:libt.so!a", role: worker}, b: {hook: "call:libt.so!b"}}
steps: [reach a, reach b, pass a]
timeout: 10s
""", A_BY_THREAD)
    in_order(r, "main", "a returned")
    assert r.verdict == "clean", r


def test_step_11_a_role_is_gone_when_its_thread_ends(lab):
    r = lab.run(ROLE, """
static void *t(void *x) { c(1); if (x) a(1); return x; }
int main(void) {
    join(go(t)); pthread_t again; pthread_create(&again, NULL, t, "x"); join(again); b(1); return 0;
}""")
    assert undone(r, "reach a", "reach b", "pass a") and r.verdict == "not-exercised", r


def test_step_12_a_fork_child_that_follow_lets_in_tells_of_itself(lab):
    r = lab.run("""
plan: followed
follow: children
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}}
steps: [reach a, reach b]
""", """
int main(void) { a(1); pid_t child = fork(); if (!child) { b(1); exit(0); } waitpid(child, NULL, 0); return 0; }""")
    assert r.verdict == "clean", r
    told = {(e["pid"], e["tid"]) for e in r.trial["timeline"]}
    assert len(told) == 2 and all(pid == tid for pid, tid in told), r.trial["timeline"]


def test_step_12_a_fork_child_claims_nothing(lab):
    r = lab.run("""
plan: fork
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}}
steps: [reach a, reach b, pass a]
timeout: 10s
""", """
static void *t(void *x) { a(1); say("parent"); return x; }
int main(void) {
    if (fork() == 0) { a(1); b(1); say("child"); _exit(0); }
    wait(NULL); pthread_t h = go(t); nap(300); say("main"); b(1); join(h); return 0;
}""")
    in_order(r, "child", "main", "parent")
    assert r.verdict == "clean" and point(r, "a")["arrivals"] == 1, r


def test_step_12_a_fork_child_has_no_role(lab):
    r = lab.run(ROLE, """
int main(void) {
    c(1); if (fork() == 0) { a(1); say("child"); _exit(0); }
    wait(NULL); return 0;
}""")
    in_order(r, "child")
    assert r.verdict == "not-exercised" and point(r, "a")["arrivals"] == 0, r


@pytest.mark.parametrize("end", ["_exit(0)", "kill(getpid(), SIGKILL)", 'execl("/bin/sleep", "sleep", "3", (char *)0)'])
def test_step_12_a_claimant_that_ends_or_execs_makes_its_step_lost(lab, end):
    started = time.monotonic()
    r = lab.run("""
plan: lost
points:
  a: {hook: "call:libt.so!a", rank: 1}
  b: {hook: "call:libt.so!b", rank: 0}
  c: {hook: "call:libt.so!c", rank: 0}
steps: [reach a, reach c, pass a, pass b]
timeout: 20s
""", """
static void *t(void *x) { a(1); return x; }
int main(void) {
    if (atoi(getenv("HOLDPOINT_RANK")) == 0) { b(1); say("rank 0 passed"); if (getpid() == 1) c(1); return 0; }
    go(t); nap(300); %s; return 1;
}""" % end, ranks=2)
    assert "rank 0 passed" in lines(r) and "lost" in r.steps.values() and undone(r, "reach c", "pass a", "pass b"), r
    assert "`pass a`" in json.dumps(r.trial["steps"]) and time.monotonic() - started < 16, r.trial["steps"]


TIMEOUT = """
plan: timeout
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}, c: {hook: "call:libt.so!c"},
  d: {hook: "call:libt.so!d"}, late: {hook: "call:libt.so!e"}}
steps: [reach a, reach b, pass a, reach c, pass d, pass late]
timeout: 700ms
"""
TIMEOUT_C = """
static void *held(void *x) { a(1); say("a returned"); return x; }
static void *other(void *x) { d(1); say("d returned"); return x; }
int main(void) {
    struct timespec from, to; clock_gettime(CLOCK_MONOTONIC, &from);
    pthread_t h = go(held), o = go(other); join(h); join(o); clock_gettime(CLOCK_MONOTONIC, &to);
    printf("ms %ld\\n", (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000);
    b(1); c(1); d(1); e(1); clock_gettime(CLOCK_MONOTONIC, &from);
    printf("late %ld\\n", (from.tv_sec - to.tv_sec) * 1000 + (from.tv_nsec - to.tv_nsec) / 1000000); return 0;
}"""


def milliseconds(result):
    return next(int(line.split()[1]) for line in lines(result) if line.startswith("ms "))


def test_step_13_a_hold_ends_by_timeout(lab):
    r = lab.run(TIMEOUT, TIMEOUT_C)
    assert 600 <= milliseconds(r) <= 3000 and r.verdict == "not-exercised", r
    assert r.steps["reach b"] == "timeout" and undone(r, "pass a", "reach c", "pass d", "pass late"), r.steps


def test_step_13_time_scale_stretches_the_timeout(lab):
    r = lab.run(TIMEOUT, TIMEOUT_C, arguments=["--time-scale", "3"])
    assert 1900 <= milliseconds(r) <= 6000 and r.verdict == "not-exercised", r


def test_step_13_the_timeout_counts_from_the_last_step(lab):
    r = lab.run("""
plan: progress
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}, c: {hook: "call:libt.so!c"}, d: {hook: "call:libt.so!d"}}
steps: [reach a, reach b, reach c, reach d, pass a]
timeout: 1500ms
""", """
static void *held(void *x) { a(1); say("a returned"); return x; }
int main(void) { pthread_t h = go(held); nap(900); b(1); nap(900); c(1); nap(900); say("main"); d(1); join(h); return 0; }""")
    in_order(r, "main", "a returned")
    assert r.verdict == "clean", r


def test_step_14_after_a_timeout_all_gates_open(lab):
    r = lab.run(TIMEOUT, TIMEOUT_C)
    assert {"a returned", "d returned"} <= set(lines(r)) and milliseconds(r) < 3000, r
    assert next(int(line.split()[1]) for line in lines(r) if line.startswith("late ")) < 500, r


def test_step_14_no_later_step_is_done_after_a_timeout(lab):
    r = lab.run(TIMEOUT, TIMEOUT_C)
    assert r.steps["reach a"] == "done" and r.steps["reach b"] == "timeout", r
    assert undone(r, "pass a", "reach c", "pass d", "pass late"), r
    assert r.verdict == "not-exercised" and "reach b" in r.reason, r


def test_step_15_an_arrival_in_a_signal_handler_is_counted_and_never_held(lab):
    r = lab.run("""
plan: handler
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}}
steps: [reach b, pass a]
timeout: 5s
""", """
static void handler(int s) { a(s); }
int main(void) {
    struct timespec from, to; struct sigaction on = {.sa_handler = handler};
    sigaction(SIGUSR1, &on, NULL); clock_gettime(CLOCK_MONOTONIC, &from); raise(SIGUSR1);
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("ms %ld\\n", (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000);
    return 0;
}""")
    assert milliseconds(r) < 3000, r
    assert point(r, "a")["in_handler"] == 1 and undone(r, "pass a"), r


def test_step_15_a_hold_waits_behind_no_other_point(lab):
    r = lab.run("""
plan: independent
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b"}, c: {hook: "call:libt.so!c"}}
steps: [reach a, reach b, pass b, reach c, pass a]
timeout: 10s
""", """
static void *one(void *x) { a(1); say("a"); return x; }
static void *two(void *x) { nap(100); b(1); say("b"); nap(100); c(1); return x; }
int main(void) { pthread_t f = go(one), s = go(two); join(f); join(s); return 0; }""")
    in_order(r, "b", "a")
    assert r.verdict == "clean", r


REFUSED = {
    "role needed elsewhere": ("""
roles: {one: {at: "call:libt.so!a"}}
points: {x: {hook: "call:libt.so!b", role: one}, y: {hook: "call:libt.so!c", role: one}}
steps: [reach x, reach y, pass x]
""", "role"),
    "within something never entered": ("""
points: {x: {hook: "call:libt.so!b", within: y}, y: {hook: "process.exit"}}
steps: [reach x]
""", "within"),
    "unknown hook": ("""
points: {x: {hook: "thread.strat"}}
steps: [reach x]
""", "thread.start"),
    "unknown filter": ("""
points: {x: {hook: "thread.start", nht: 2}}
steps: [reach x]
""", "nth"),
    "unknown rank": ("""
points: {x: {hook: "thread.start", rank: 7}}
steps: [reach x]
""", "rank"),
    "gate on many ranks": ("""
points: {x: {hook: "thread.start"}, y: {hook: "thread.exit"}}
steps: [reach x, reach y, pass x]
""", "rank"),
    "caller that can match nothing": ("""
points: {x: {hook: "call:libt.so!a", caller: "libnowhere.so!nobody"}}
steps: [reach x]
""", "caller"),
}


@pytest.mark.parametrize("case", REFUSED, ids=lambda name: name.replace(" ", "-"))
def test_step_17_plan_check_refuses(lab, case):
    text, word = REFUSED[case]
    r = lab.run("plan: refused" + text, "int main(void) { a(1); b(1); c(1); return 0; }", ranks=2)
    assert r.rc == 129 and r.json is None and word in r.stderr and "plan1.yaml:" in r.stderr, r
