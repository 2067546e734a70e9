"""The lock table: semantics.md, Steps 13 (blocked) and Verdicts 3, the hooks lock.* and cond.*, detector `locks`."""
import json

import pytest

from laboratory import in_order, lines, point, undone

LOCKS = """
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static void *owner(void *x) { TAKE; a(1); say("a returned"); GIVE; return x; }
static void *other(void *x) { c(1); TAKE_TOO; b(1); GIVE_TOO; return x; }
"""
BLOCKED = """
plan: blocked
roles: {other: {at: "call:libt.so!c"}}
points: {a: {hook: "call:libt.so!a"}, b: {hook: "call:libt.so!b", role: other}}
steps: [reach a, reach b, pass a]
timeout: 8s
"""
MAIN = """
int main(void) {
    pthread_spin_init(&spin, 0);
    pthread_t f = go(owner); nap(150); pthread_t s = go(other); join(f); join(s); say("end"); return 0;
}"""
TAKES = {
    "mutex": ("pthread_mutex_lock(&m)", "pthread_mutex_unlock(&m)", "pthread_mutex_lock(&m)", "pthread_mutex_unlock(&m)"),
    "rwlock-write": ("pthread_rwlock_rdlock(&rw)", "pthread_rwlock_unlock(&rw)", "pthread_rwlock_wrlock(&rw)",
                     "pthread_rwlock_unlock(&rw)"),
    "rwlock-read": ("pthread_rwlock_wrlock(&rw)", "pthread_rwlock_unlock(&rw)", "pthread_rwlock_rdlock(&rw)",
                    "pthread_rwlock_unlock(&rw)"),
    "spinlock": ("pthread_spin_lock(&spin)", "pthread_spin_unlock(&spin)", "pthread_spin_lock(&spin)",
                 "pthread_spin_unlock(&spin)"),
}


def takes(take, give, take_too, give_too):
    return (LOCKS.replace("TAKE_TOO", take_too).replace("GIVE_TOO", give_too).replace("TAKE", take).replace("GIVE", give))


def blocked_step(result, text):
    step = next(step for step in result.trial["steps"] if step["text"] == text)
    assert step["state"] == "blocked", result.trial["steps"]
    return step["blocked"]


def functions(frames):
    return [frame["function"] for frame in frames]


@pytest.mark.parametrize("lock", TAKES)
def test_step_13_a_hold_ends_as_blocked_when_the_needed_thread_waits_for_a_lock_of_a_held_one(lab, lock):
    r = lab.run(BLOCKED, takes(*TAKES[lock]) + MAIN)
    found = blocked_step(r, "reach b")
    assert found["lock"] == lock and found["owner"]["point"] == "a" and found["others_between"] == 0, found
    assert "other" in functions(found["waiter"]["stack"]) and "owner" in functions(found["owner"]["stack"]), found
    assert functions(found["owner"]["acquisition"])[0] == "owner", found
    assert r.verdict == "not-exercised" and undone(r, "pass a") and lines(r)[-2:] == ["a returned", "end"], r
    assert r.trial["wall_ms"] < 7000 and "thread" in (r.out / r.trial["folder"] / "evidence.txt").read_text(), r


def test_step_13_blocked_through_other_threads(lab):
    r = lab.run(BLOCKED, """
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static void *owner(void *x) { pthread_mutex_lock(&m); a(1); pthread_mutex_unlock(&m); return x; }
static void *between(void *x) {
    pthread_mutex_lock(&n); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_mutex_unlock(&n); return x;
}
static void *other(void *x) { c(1); pthread_mutex_lock(&n); b(1); pthread_mutex_unlock(&n); return x; }
int main(void) {
    pthread_t f = go(owner); nap(100); pthread_t g = go(between); nap(100); pthread_t s = go(other);
    join(f); join(g); join(s); return 0;
}""")
    found = blocked_step(r, "reach b")
    assert found["others_between"] == 1 and "between" in functions(found["waiter"]["stack"]), found
    assert r.trial["wall_ms"] < 7000, r


def test_step_13_blocked_without_a_role_when_every_other_thread_is_kept(lab):
    r = lab.run(BLOCKED.replace(", role: other", "").replace('roles: {other: {at: "call:libt.so!c"}}\n', ""),
                takes(*TAKES["mutex"]) + MAIN)
    assert blocked_step(r, "reach b")["lock"] == "mutex", r


@pytest.mark.parametrize("other", ["nap(9000); b(1)", "pthread_mutex_lock(&n); nap(9000)",
                                   "struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += 30; "
                                   "pthread_mutex_timedlock(&m, &t)"], ids=["sleeps", "another-lock", "time-limit"])
def test_step_13_a_mere_timeout_is_not_blocked(lab, other):
    r = lab.run(BLOCKED.replace("8s", "1s"), takes(*TAKES["mutex"][:2], other, "") + MAIN.replace("join(s)", "exit(0)"))
    assert r.steps["reach b"] == "timeout" and r.verdict == "not-exercised", r


def test_step_13_a_thread_that_owns_the_lock_but_is_not_held_blocks_nothing(lab):
    r = lab.run(BLOCKED, """
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *held(void *x) { a(1); return x; }
static void *slow(void *x) { pthread_mutex_lock(&m); nap(900); pthread_mutex_unlock(&m); return x; }
static void *other(void *x) { c(1); pthread_mutex_lock(&m); b(1); pthread_mutex_unlock(&m); return x; }
int main(void) {
    pthread_t h = go(held), w = go(slow); nap(100); pthread_t o = go(other); join(h); join(w); join(o); return 0;
}""")
    assert r.verdict == "clean", r


CONDITION = """
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int told;
static void *sleeper(void *x) {
    pthread_mutex_lock(&m); while (!told) pthread_cond_wait(&cond, &m); AFTER; pthread_mutex_unlock(&m); return x;
}
"""


def test_a_condition_wait_gives_its_mutex_back(lab):
    r = lab.run(BLOCKED.replace("reach a, reach b, pass a", "reach b, reach a, pass a"), CONDITION.replace("AFTER", "") + """
static void *teller(void *x) {
    c(1); pthread_mutex_lock(&m); b(1); told = 1; pthread_cond_signal(&cond); pthread_mutex_unlock(&m); a(1); return x;
}
int main(void) { pthread_t s = go(sleeper); nap(200); pthread_t t = go(teller); join(s); join(t); return 0; }""")
    assert r.verdict == "clean", r


def test_a_condition_wait_whose_mutex_a_held_thread_owns_is_not_blocked_by_it(lab):
    r = lab.run("""
plan: sleeper-held-elsewhere
roles: {other: {at: "call:libt.so!c"}}
points:
  sleeps: {hook: cond.wait, side: asleep}
  a: {hook: "call:libt.so!a"}
  b: {hook: "call:libt.so!b", role: other}
steps: [reach sleeps, reach a, reach b, pass a]
timeout: 8s
""", CONDITION.replace("AFTER", "") + """
static void *held(void *x) { nap(300); a(1); say("a returned"); return x; }
static void *other(void *x) {
    c(1); nap(900); pthread_mutex_lock(&m); b(1); told = 1; pthread_cond_broadcast(&cond); pthread_mutex_unlock(&m);
    return x;
}
int main(void) {
    pthread_t s = go(sleeper), h = go(held), o = go(other); join(s); join(h); join(o); return 0;
}""")
    assert r.verdict == "clean", r


def test_a_condition_wait_takes_its_mutex_again(lab):
    r = lab.run(BLOCKED, CONDITION.replace("AFTER", "a(1); say(\"a returned\")") + """
static void *other(void *x) {
    nap(200); pthread_mutex_lock(&m); told = 1; pthread_cond_signal(&cond); pthread_mutex_unlock(&m); nap(200);
    c(1); pthread_mutex_lock(&m); b(1); pthread_mutex_unlock(&m); return x;
}
int main(void) { pthread_t s = go(sleeper), t = go(other); join(s); join(t); return 0; }""")
    found = blocked_step(r, "reach b")
    assert found["owner"]["point"] == "a" and functions(found["owner"]["acquisition"])[0] == "sleeper", found


def test_step_02_asleep_in_a_condition_wait(lab):
    r = lab.run("""
plan: asleep
points: {waiting: {hook: cond.wait, side: asleep}, b: {hook: "call:libt.so!b"}}
steps: [reach waiting, pass b]
timeout: 5s
""", CONDITION.replace("AFTER", "say(\"told\")") + """
int main(void) {
    pthread_t s = go(sleeper); b(1); say("b passed");
    pthread_mutex_lock(&m); told = 1; pthread_cond_signal(&cond); pthread_mutex_unlock(&m); join(s); return 0;
}""")
    in_order(r, "b passed", "told")
    assert r.verdict == "clean", r


def test_lock_acquire_is_held_before_and_released_is_told(lab):
    r = lab.run("""
plan: acquire
points: {taken: {hook: lock.acquire, kind: rwlock-write, side: return}, given: {hook: lock.release, kind: "rwlock*"},
  asked: {hook: lock.acquire, kind: mutex}}
steps: [reach taken, reach given, reach asked, pass asked]
""", """
int main(void) {
    pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_rdlock(&rw); pthread_rwlock_unlock(&rw); pthread_rwlock_wrlock(&rw); pthread_rwlock_unlock(&rw);
    pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return 0;
}""")
    assert r.verdict == "clean" and point(r, "taken")["arrivals"] == 1, r


def test_lock_acquire_can_fail(lab):
    r = lab.run("""
plan: busy
points: {asked: {hook: lock.acquire, kind: mutex, nth: 1}}
faults: [{at: asked, do: fail, errno: EBUSY}]
""", """
int main(void) {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    int first = pthread_mutex_trylock(&m), second = pthread_mutex_trylock(&m); printf("%d %d\\n", first == EBUSY, second);
    pthread_mutex_unlock(&m); return 0;
}""")
    assert lines(r) == ["1 0"] and r.verdict == "clean", r
