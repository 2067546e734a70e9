"""The lock table: semantics.md, Steps 13 (blocked) and Verdicts 3, the hooks lock.* and cond.*, detector `locks`."""
import re

import pytest

from laboratory import compile_c, in_order, lines, point, undone

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
static void take(void) { pthread_mutex_lock(&m); }
static void *sleeper(void *x) {
    take(); while (!told) pthread_cond_wait(&cond, &m); AFTER; pthread_mutex_unlock(&m); return x;
}
"""


def test_a_sleeper_on_a_condition_keeps_nobody_from_its_mutex(lab):
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


def test_step_13_blocked_on_the_way_out_of_a_condition_wait(lab):
    r = lab.run(BLOCKED, CONDITION.replace("take();", "c(1); take();").replace("AFTER", "b(1)") + """
static void *teller(void *x) {
    nap(200); take(); told = 1; pthread_cond_signal(&cond); a(1); pthread_mutex_unlock(&m); return x;
}
int main(void) { pthread_t s = go(sleeper), t = go(teller); join(s); join(t); return 0; }""")
    found = blocked_step(r, "reach b")
    assert found["lock"] == "mutex" and "sleeper" in functions(found["waiter"]["stack"]), found
    assert functions(found["owner"]["acquisition"])[:2] == ["take", "teller"], found


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


FREE_TWICE = "b(1); char *p = malloc(2000); char *q = malloc(10); free(p); free(p); free(q);"
LOCKED = "pthread_mutex_lock(&m); b(1); pthread_mutex_unlock(&m);"
CLOSED = """
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *owner(void *x) { pthread_mutex_lock(&m); a(1); pthread_mutex_unlock(&m); return x; }
static void *other(void *x) { c(1); OTHER return x; }
int main(void) { pthread_t f = go(owner); nap(150); pthread_t s = go(other); join(f); join(s); return 0; }"""


def closing(lab, faulty, fixed, step="reach b", plan=BLOCKED):
    """Runs a scenario made here, whose fixed variant is expected to close its window at `step`."""
    folder = lab.scenario(plan, {name: CLOSED.replace("OTHER", other) for name, other in (("fixed", fixed), ("faulty", faulty))},
                          {"faulty": "reproduced", "fixed": {"closed-by-fix": step}})
    result = lab.holdpoint.run(folder, "--variant", "fixed")
    return result, {row["variant"]: row for row in result.json["verdicts"]}


def test_verdict_03_closed_by_fix_counts_when_blocked_and_faulty_reproduced(lab):
    r, rows = closing(lab, FREE_TWICE, LOCKED)
    assert [row["variant"] for row in r.json["verdicts"]] == ["faulty", "fixed"], r
    assert rows["faulty"]["verdict"] == "reproduced" and rows["fixed"]["as_expected"] and r.rc == 0, r
    assert rows["fixed"]["expected"] == "closed-by-fix: reach b" and "mutex" in rows["fixed"]["reason"], rows["fixed"]


def test_verdict_03_closed_by_fix_needs_the_bug_on_faulty_in_the_same_run(lab):
    r, rows = closing(lab, LOCKED, LOCKED)
    assert rows["fixed"]["status"] == 125 and "`faulty`" in rows["fixed"]["reason"] and r.rc != 0, r


@pytest.mark.parametrize("other, status", [(LOCKED, 0), (FREE_TWICE, 1), ("b(1);", 1)], ids=["closed", "open", "passed"])
def test_verdict_03_closed_by_fix_is_asked_of_a_build_of_ones_own_beside_faulty(lab, other, status):
    variants = {"faulty": FREE_TWICE, "own": other}
    folder = lab.scenario(BLOCKED, {name: CLOSED.replace("OTHER", body) for name, body in variants.items()}, {"faulty": "reproduced"})
    own = lab.holdpoint.program.parent / "scenarios" / "made" / "own"
    r = lab.holdpoint.run(folder, "--component", own, "--expect", "closed-by-fix: reach b")
    faulty, given = r.json["verdicts"]
    assert (faulty["variant"], faulty["expected"], faulty["as_expected"]) == ("faulty", "reproduced", True), faulty
    assert (given["variant"], given["expected"]) == ("given", "closed-by-fix: reach b"), given
    assert given["status"] == r.rc == status and "--expect" not in r.json["trials"][0]["again"], r


def test_verdict_03_closed_by_fix_is_not_asked_of_a_plan_alone(lab):
    r = lab.holdpoint.call("exec", "--plan", lab.holdpoint.plan_file(BLOCKED), "--expect", "closed-by-fix: reach b", "--", "true")
    assert r.rc == 129 and "beside the bug that it fixes" in r.stderr, r


def test_verdict_03_closed_by_fix_is_of_one_interleaving_not_of_a_sweep(lab):
    swept = BLOCKED + "faults: [{at: b, do: delay, for: 1ms}]\nsweep: {point: b, over: [b]}\n"
    r, rows = closing(lab, FREE_TWICE, LOCKED, plan=swept)
    assert r.rc == 129 and "which one interleaving shows, and a sweep is many" in r.stderr, r
    assert list(rows) == ["faulty"] and rows["faulty"]["as_expected"], rows


@pytest.mark.parametrize("fixed, step", [("nap(3000); b(1);", "reach b"), (LOCKED, "pass a")],
                         ids=["a-timeout", "another-step"])
def test_verdict_03_only_the_step_named_and_never_a_timeout(lab, fixed, step):
    r, rows = closing(lab, FREE_TWICE, fixed, step, BLOCKED.replace("8s", "1s"))
    assert rows["faulty"]["as_expected"] and rows["fixed"]["status"] == 125 and r.rc == 125, r


def test_verdict_03_a_window_that_is_passed_is_not_closed(lab):
    r, rows = closing(lab, FREE_TWICE, "b(1);")
    assert rows["fixed"]["verdict"] == "clean" and rows["fixed"]["status"] == 1 and r.rc == 1, r


# ---- detector `locks`: each misuse, and the same without it ----

DETECT = "plan: detect\ndetect: [locks]\n"
CHECKING = "m = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP; "
MISUSE = {
    "destroyed-while-owned": ("pthread_mutex_lock(&m); pthread_mutex_destroy(&m); pthread_mutex_unlock(&m);",
                              "pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_mutex_destroy(&m);",
                              "destroyed while it is owned", ["use", "acquisition"]),
    "rwlock-destroyed-while-read": ("pthread_rwlock_rdlock(&rw); pthread_rwlock_destroy(&rw);",
                                    "pthread_rwlock_rdlock(&rw); pthread_rwlock_unlock(&rw); pthread_rwlock_destroy(&rw);",
                                    "destroyed while it is owned", ["use", "acquisition"]),
    "spinlock-destroyed-while-owned": ("pthread_spin_init(&spin, 0); pthread_spin_lock(&spin); pthread_spin_destroy(&spin);",
                                       "pthread_spin_init(&spin, 0); pthread_spin_lock(&spin); pthread_spin_unlock(&spin); "
                                       "pthread_spin_destroy(&spin);",
                                       "destroyed while it is owned", ["use", "acquisition"]),
    "used-after-destroy": ("pthread_mutex_destroy(&m); pthread_mutex_trylock(&m);",
                           "pthread_mutex_destroy(&m); pthread_mutex_init(&m, NULL); pthread_mutex_trylock(&m);",
                           "used after it was destroyed", ["use", "destroy"]),
    "rwlock-used-after-destroy": ("pthread_rwlock_destroy(&rw); pthread_rwlock_rdlock(&rw);",
                                  "pthread_rwlock_destroy(&rw); rw = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER; "
                                  "pthread_rwlock_rdlock(&rw);",
                                  "used after it was destroyed", ["use", "destroy"]),
    "destroyed-twice": ("pthread_rwlock_destroy(&rw); pthread_rwlock_destroy(&rw);",
                        "pthread_rwlock_destroy(&rw); pthread_rwlock_init(&rw, NULL); pthread_rwlock_destroy(&rw);",
                        "destroyed a second time", ["use", "destroy"]),
    "unlock-of-an-unlocked": ("pthread_mutex_unlock(&m);", "pthread_mutex_lock(&m); pthread_mutex_unlock(&m);",
                              "released, but nobody owns it", ["use"]),
    "unlock-of-an-unlocked-rwlock": ("pthread_rwlock_unlock(&rw);",
                                     "pthread_rwlock_wrlock(&rw); pthread_rwlock_unlock(&rw);",
                                     "released, but nobody owns it", ["use"]),
    "unlock-by-a-stranger": ("pthread_mutex_lock(&m); stranger = 1; join(go(unlocks));",
                             "join(go(unlocks)); pthread_mutex_lock(&m); pthread_mutex_unlock(&m);",
                             "a thread that does not own it", ["use", "acquisition"]),
    "rwlock-unlock-by-a-stranger": ("pthread_rwlock_rdlock(&rw); stranger = 2; join(go(unlocks));",
                                    "pthread_rwlock_rdlock(&rw); join(go(reads)); pthread_rwlock_unlock(&rw);",
                                    "a thread that does not own it", ["use", "acquisition"]),
    "freed-while-owned": ("pthread_mutex_t *h = calloc(1, sizeof *h); pthread_mutex_lock(h); free(h); "
                          "pthread_mutex_unlock(h);",
                          "pthread_mutex_t *h = calloc(1, sizeof *h); pthread_mutex_lock(h); pthread_mutex_unlock(h); "
                          "free(h);",
                          "is freed while it is owned", ["use", "acquisition"]),
    "overwritten-while-owned": ("pthread_mutex_lock(&m); memset(&m, 0, sizeof m); pthread_mutex_unlock(&m);",
                                "pthread_mutex_lock(&m); pthread_mutex_unlock(&m); memset(&m, 0, sizeof m);",
                                "freed or overwritten", ["use", "acquisition"]),
    "edeadlk-ignored": (CHECKING + "pthread_mutex_lock(&m); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_mutex_unlock(&m);",
                        CHECKING + "pthread_mutex_lock(&m); if (!pthread_mutex_lock(&m)) abort(); pthread_mutex_unlock(&m);",
                        "refused with EDEADLK was ignored", ["use", "acquisition"]),
    "rwlock-edeadlk-ignored": ("pthread_rwlock_wrlock(&rw); pthread_rwlock_wrlock(&rw); pthread_rwlock_unlock(&rw); "
                               "pthread_rwlock_unlock(&rw);",
                               "pthread_rwlock_wrlock(&rw); if (!pthread_rwlock_rdlock(&rw)) abort(); pthread_rwlock_unlock(&rw); "
                               "if (pthread_join(pthread_self(), NULL) != EDEADLK) abort();",
                               "refused with EDEADLK was ignored", ["use", "acquisition"]),
    "edeadlk-ignored-and-taken-by-another": (
        CHECKING + "pthread_mutex_lock(&m); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); "
        "stranger = 3; pthread_t t = go(unlocks); nap(100); pthread_mutex_unlock(&m); join(t);",
        CHECKING + "pthread_mutex_lock(&m); pthread_mutex_lock(&m); stranger = 3; pthread_t t = go(unlocks); nap(100); "
        "pthread_mutex_unlock(&m); join(t);",
        "refused with EDEADLK was ignored", ["use", "acquisition"]),
}
MISUSE_C = """
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static int stranger;
static void *unlocks(void *x) {
    if (stranger == 1) pthread_mutex_unlock(&m);
    if (stranger == 2) pthread_rwlock_unlock(&rw);
    if (stranger == 3) { pthread_mutex_lock(&m); nap(300); pthread_mutex_unlock(&m); }
    return x;
}
static void *reads(void *x) { pthread_rwlock_rdlock(&rw); pthread_rwlock_unlock(&rw); return x; }
static void misuse(void) { BODY }
int main(void) { misuse(); (void)spin; (void)unlocks; (void)reads; return 0; }
"""


@pytest.mark.parametrize("case", MISUSE)
def test_locks_finds_the_misuse_and_not_its_correct_twin(lab, case):
    wrong, right, words, roles = MISUSE[case]
    r = lab.run(DETECT, MISUSE_C.replace("BODY", wrong), "-Wno-use-after-free")
    assert r.verdict == "reproduced" and r.kinds[0] == "lock-misuse" and words in r.findings[0]["text"], (r, r.findings)
    stacks = {stack["role"]: functions(stack["frames"]) for stack in r.findings[0]["stacks"]}
    assert list(stacks) == roles and ("unlocks" in stacks["use"] or "misuse" in stacks["use"]), stacks
    twin = lab.run(DETECT, MISUSE_C.replace("BODY", right))
    assert twin.verdict == "clean" and twin.trial["ranks"][0]["live_detectors"] == ["locks"], (twin, twin.findings)


@pytest.mark.parametrize("body, words", [
    ("lock(); lock(); give(); lock(); give(); give();", "nobody owns it"),             # handled, and an unrelated one too many
    ("lock(); lock(); give(); give(); lock(); give(); give();", "EDEADLK was ignored"),
])
def test_locks_blames_the_refusal_only_until_the_next_acquisition(lab, body, words):
    r = lab.run(DETECT, """static pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
        static void lock(void) { pthread_mutex_lock(&m); } static void give(void) { pthread_mutex_unlock(&m); }
        int main(void) { %s return 0; }""" % body)
    first = min(r.findings, key=lambda found: found["at_ms"])
    assert r.verdict == "reproduced" and words in first["text"], (r, r.findings)
    stacks = {stack["role"]: functions(stack["frames"]) for stack in first["stacks"]}
    assert stacks["use"][:2] == ["give", "main"] and ("lock" in stacks.get("acquisition", [])) == ("EDEADLK" in words), stacks


@pytest.mark.parametrize("caller, verdict", [("if (!pthread_mutex_lock(&m)) pthread_mutex_unlock(&m);", "clean"),
                                             ("pthread_mutex_lock(&m); pthread_mutex_unlock(&m);", "reproduced")])
def test_locks_tests_how_a_caller_takes_an_edeadlk_of_the_plans(lab, caller, verdict):
    plan = "plan: p\ndetect: [locks]\npoints: {ask: {hook: lock.acquire}}\nfaults: [{at: ask, do: fail, errno: EDEADLK, nth: 1}]\n"
    r = lab.run(plan, MISUSE_C.replace("BODY", caller))
    assert r.verdict == verdict and all("EDEADLK was ignored" in found["text"] for found in r.findings), (r, r.findings)


FREED = """
static struct object { long more[4]; pthread_mutex_t m; } *volatile o;
static pthread_mutex_t initial = PTHREAD_MUTEX_INITIALIZER;
static sem_t taken, freed;
static void take(void) { pthread_mutex_lock(&o->m); }
static void give(pthread_mutex_t *m) { pthread_mutex_unlock(m); }
static void make(void) { o = malloc(sizeof *o); o->m = initial; }
static void drop(void) { free(o); }
static void *owner(void *x) {
    pthread_mutex_t *m = &o->m; take(); sem_post(&taken); sem_wait(&freed); give(m); return x;
}
static void *asks(void *x) { take(); return x; }
int main(void) { (void)owner; (void)asks; (void)give; sem_init(&taken, 0, 0); sem_init(&freed, 0, 0); make(); BODY return 0; }
"""


def freed(lab, body):
    return lab.run(DETECT, "#include <semaphore.h>\n" + FREED.replace("BODY", body), "-w")


@pytest.mark.parametrize("drop", ["drop();", "if (!realloc(o, 0)) {}"])
def test_locks_finds_a_mutex_that_is_freed_under_its_owner_and_released_after_that(lab, drop):
    r = freed(lab, f"pthread_t t = go(owner); sem_wait(&taken); {drop} sem_post(&freed); join(t);")
    under, after = sorted(r.findings, key=lambda found: found["at_ms"])
    stacks = [{stack["role"]: functions(stack["frames"]) for stack in found["stacks"]} for found in (under, after)]
    assert r.kinds == ["lock-misuse"] * 2 and "is freed while it is owned (owned by thread" in under["text"], (r, r.findings)
    assert "main" in stacks[0]["use"] and stacks[0]["acquisition"][:2] == ["take", "owner"], stacks
    assert "is released after its memory was freed" in after["text"] and stacks[1]["use"][:2] == ["give", "owner"], after
    assert stacks[1]["acquisition"][:2] == ["take", "owner"] and "main" in stacks[1]["free"], stacks


def test_locks_finds_a_mutex_that_is_freed_while_a_thread_asks_for_it(lab):
    r = freed(lab, "go(owner); sem_wait(&taken); go(asks); nap(100); drop(); _exit(0);")
    said = sorted(found["text"].partition(" is ")[2].partition(" (")[0] for found in r.findings)
    assert said == ["freed while a thread asks for it", "freed while it is owned"] and r.verdict == "reproduced", (r, r.findings)


def test_locks_finds_a_mutex_that_is_deleted_once_though_delete_frees(lab):
    source = """
#include <mutex>
#include <thread>
struct waiter { long more[4]; std::mutex m; };
static waiter *w;
static void take() { w->m.lock(); }
int main() {
    w = new waiter; take(); std::thread t(take); nap(100); std::mutex *m = &w->m; delete w; m->unlock(); _exit(0);
}"""
    r = lab.holdpoint.exec(DETECT, lab.program(source, "-w", "-lstdc++", compiler="g++", suffix=".cc"))
    said = sorted(found["text"].partition(" is ")[2].partition(" (")[0] for found in r.findings)
    assert said == ["freed while a thread asks for it", "freed while it is owned", "released after its memory was freed"], r.findings


@pytest.mark.parametrize("body", [
    "take(); give(&o->m); drop(); make(); take(); give(&o->m); drop();",                             # anew, in the same memory
    "pthread_t t = go(owner); sem_wait(&taken); sem_post(&freed); join(t); drop();",                 # released in time
    "for (int i = 0; i < 1000; i++) { free(malloc(i)); take(); free(malloc(i)); give(&o->m); }",     # frees of other memory
])
def test_locks_blames_no_free_of_what_nobody_owns(lab, body):
    r = freed(lab, body)
    assert r.verdict == "clean" and not r.findings and r.trial["ranks"][0]["live_detectors"] == ["locks"], (r, r.findings)


def test_locks_blames_no_new_lock_in_the_memory_of_a_freed_one(lab):
    r = freed(lab, "take(); void *was = o; drop(); make(); if (o != was) abort(); take(); give(&o->m); drop();")
    assert len(r.findings) == 1 and "is freed while it is owned" in r.findings[0]["text"], (r, r.findings)


@pytest.mark.parametrize("again", ["pthread_mutex_lock(&m); pthread_mutex_lock(&m);",
                                   "pthread_rwlock_rdlock(&rw); pthread_rwlock_wrlock(&rw);"], ids=["mutex", "upgrade"])
def test_locks_names_a_deadlock_with_oneself_before_the_thread_sleeps(lab, again):
    r = lab.run(DETECT, MISUSE_C.replace("BODY", again), arguments=["--stall", "1s"])
    assert "deadlock" in r.kinds and r.verdict == "reproduced", (r, r.findings)
    found = next(f for f in r.findings if f["kind"] == "deadlock")
    assert [stack["role"] for stack in found["stacks"]] == ["use", "acquisition"] and "for ever" in found["text"], found


def test_locks_leaves_what_is_right_alone(lab):
    r = lab.run(DETECT, """
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static void before(void) { pthread_mutex_lock(&m); }
static void after(void) { pthread_mutex_unlock(&m); }
static void *dies(void *x) { pthread_mutex_lock(x); return x; }
static void give(void *x) { pthread_mutex_unlock(x); }
static void *sleeps(void *x) {
    pthread_mutex_lock(&m); pthread_cleanup_push(give, &m); for (;;) pthread_cond_wait(&cond, &m); pthread_cleanup_pop(1);
    return x;
}
int main(void) {
    pthread_mutexattr_t a; pthread_mutex_t r, e, d; struct timespec past = {0, 0};
    pthread_mutexattr_init(&a); pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE); pthread_mutex_init(&r, &a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK); pthread_mutex_init(&e, &a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_NORMAL); pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&d, &a);
    pthread_mutex_lock(&r); pthread_mutex_lock(&r); pthread_mutex_unlock(&r); pthread_mutex_unlock(&r);
    pthread_mutex_lock(&e); printf("%d\\n", pthread_mutex_lock(&e) == EDEADLK); pthread_mutex_unlock(&e);
    pthread_t t; pthread_create(&t, NULL, dies, &d); join(t);
    printf("%d\\n", pthread_mutex_lock(&d) == EOWNERDEAD); pthread_mutex_consistent(&d); pthread_mutex_unlock(&d);
    pthread_mutex_lock(&m); printf("%d\\n", pthread_cond_timedwait(&cond, &m, &past) == ETIMEDOUT); pthread_mutex_unlock(&m);
    pthread_mutex_lock(&m); printf("%d\\n", pthread_mutex_trylock(&m) == EBUSY); pthread_mutex_unlock(&m);
    t = go(sleeps); nap(100); pthread_cancel(t); join(t);
    pthread_atfork(before, after, after);
    if (fork() == 0) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); _exit(0); }
    wait(NULL); pthread_mutex_lock(&m); pthread_mutex_unlock(&m);
    pthread_mutex_destroy(&r); pthread_mutex_destroy(&e); pthread_mutex_destroy(&d); pthread_mutex_destroy(&m);
    return 0;
}""")
    assert lines(r) == ["1"] * 4 and r.verdict == "clean", (r, r.findings)


def test_a_mutex_does_not_become_a_cancellation_point(lab):
    r = lab.run(BLOCKED + "detect: [locks]\n", takes(*TAKES["mutex"]) + """
static _Atomic int ready, got, gave;
static pthread_mutex_t k = PTHREAD_MUTEX_INITIALIZER;
static void *t(void *x) {
    while (!ready) { }
    pthread_mutex_lock(&k); got = 1; pthread_mutex_unlock(&k); gave = 1; pthread_testcancel(); got = 2; return x;
}
int main(void) {
    pthread_t h = go(t); pthread_cancel(h); ready = 1; join(h); printf("%d %d\\n", got, gave);
    pthread_t f = go(owner); nap(50); pthread_t s = go(other); join(f); join(s); return 0;
}""")
    assert "1 1" in lines(r) and blocked_step(r, "reach b"), r


def test_locks_in_fork_children_that_are_let_in(lab):
    r = lab.run("plan: follow\nfollow: children\ndetect: [locks]\n", """
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void before(void) { pthread_mutex_lock(&m); }
static void after(void) { pthread_mutex_unlock(&m); }
int main(void) {
    pthread_atfork(before, after, after);
    if (fork() == 0) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); exit(0); }
    wait(NULL); return 0;
}""")
    assert r.verdict == "clean" and len(r.trial["ranks"]) == 2, (r, r.findings)


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_locks_beside_a_sanitizer(lab, sanitizer):
    r = lab.run(DETECT, MISUSE_C.replace("BODY", "pthread_rwlock_unlock(&rw);"), f"-fsanitize={sanitizer}")
    assert "released, but nobody owns it" in str([f["text"] for f in r.findings if f["source"] == "shim"]), r.findings


# ---- detector `deadlock` ----

CYCLE = """
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static void *one(void *x) { FIRST return x; }
static void *two(void *x) { SECOND return x; }
int main(void) { pthread_t f = go(one), s = go(two); join(f); join(s); return 0; }"""
CYCLES = {
    "mutexes": ("pthread_mutex_lock(&m); nap(200); pthread_mutex_lock(&n); pthread_mutex_unlock(&n); pthread_mutex_unlock(&m);",
                "pthread_mutex_lock(&n); nap(200); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_mutex_unlock(&n);"),
    "mutex-and-rwlock": ("pthread_mutex_lock(&m); nap(200); pthread_rwlock_wrlock(&rw); pthread_rwlock_unlock(&rw); "
                         "pthread_mutex_unlock(&m);",
                         "pthread_rwlock_rdlock(&rw); nap(200); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); "
                         "pthread_rwlock_unlock(&rw);"),
}


@pytest.mark.parametrize("case", CYCLES)
def test_deadlock_names_both_threads_at_once(lab, case):
    first, second = CYCLES[case]
    r = lab.run("plan: detect\ndetect: [deadlock]\n", CYCLE.replace("FIRST", first).replace("SECOND", second))
    assert r.verdict == "reproduced" and r.kinds == ["deadlock"] and r.trial["wall_ms"] < 10000, (r, r.findings)
    stacks = r.findings[0]["stacks"]
    assert [stack["role"] for stack in stacks] == ["use", "acquisition", "previous", "acquisition"], stacks
    named = [name for stack in stacks for name in functions(stack["frames"]) if name in ("one", "two")]
    assert sorted(named) == ["one", "one", "two", "two"] and named[0] != named[2], stacks


def test_deadlock_of_a_join_under_a_lock(lab):
    r = lab.run("plan: detect\ndetect: [deadlock]\n", """
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *t(void *x) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return x; }
int main(void) { pthread_mutex_lock(&m); join(go(t)); pthread_mutex_unlock(&m); return 0; }""")
    assert r.kinds == ["deadlock"] and r.verdict == "reproduced", (r, r.findings)


def test_deadlock_is_not_seen_where_locks_are_taken_in_one_order_or_given_up(lab):
    ordered = CYCLES["mutexes"][0]
    gives_up = """pthread_mutex_lock(&n); nap(200); struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += 1;
        if (pthread_mutex_timedlock(&m, &t) == 0) pthread_mutex_unlock(&m); pthread_mutex_unlock(&n);"""
    for second in (ordered, gives_up):
        r = lab.run("plan: detect\ndetect: [deadlock]\n", CYCLE.replace("FIRST", ordered).replace("SECOND", second))
        assert r.verdict == "clean" and r.trial["ranks"][0]["live_detectors"] == ["deadlock"], (r, r.findings)


def test_more_locks_than_the_table_holds_are_an_error(lab):
    r = lab.run(DETECT, """
int main(void) {
    static pthread_mutex_t m[70]; for (int i = 0; i < 70; i++) pthread_mutex_lock(&m[i]);
    for (int i = 0; i < 70; i++) pthread_mutex_unlock(&m[i]); return 0;
}""")
    assert r.verdict == "error" and "locks" in r.reason, r


def test_an_allocator_may_lock(lab):
    allocator = lab.folder / "liballocator.so"
    source = lab.folder / "allocator.c"
    source.write_text("""
#include <pthread.h>
#include <stddef.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), __libc_free(void *);
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
#define LOCKED(x) pthread_mutex_lock(&m); x; pthread_mutex_unlock(&m)
void *malloc(size_t n) { LOCKED(void *p = __libc_malloc(n)); return p; }
void *calloc(size_t n, size_t k) { LOCKED(void *p = __libc_calloc(n, k)); return p; }
void free(void *p) { LOCKED(__libc_free(p)); }
""")
    compile_c(allocator, [source], "-shared", "-fPIC")
    r = lab.run(BLOCKED + "detect: [locks, deadlock]\n", takes(*TAKES["mutex"]) + MAIN, allocator,
                f"-Wl,-rpath,{lab.folder}")
    assert blocked_step(r, "reach b")["lock"] == "mutex" and not r.findings, (r, r.findings)


def test_an_exit_raced_with_a_teardown(lab):
    """The example at the end of semantics.md, Steps, with calls of a library in place of connections and destructors."""
    source = lab.folder / "ipc.c"
    source.write_text("""
#include <pthread.h>
static pthread_mutex_t loop = PTHREAD_MUTEX_INITIALIZER, waiter = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static int posted;
void teardown(void) {
    pthread_mutex_lock(&loop); pthread_mutex_unlock(&loop);
    pthread_mutex_lock(&waiter); pthread_mutex_unlock(&waiter);
}
void leave(void) {
    pthread_mutex_lock(&loop); posted = 1; while (posted) pthread_cond_wait(&done, &loop); pthread_mutex_unlock(&loop);
}
void serve(void) { pthread_mutex_lock(&loop); posted = 0; pthread_cond_broadcast(&done); pthread_mutex_unlock(&loop); }
""")
    library = compile_c(lab.folder / "libipc.so", [source], "-shared", "-fPIC")
    r = lab.run("""
plan: exit-during-teardown
roles:
  loop:    {at: "call:libipc.so!teardown"}
  exiting: {at: "call:libipc.so!leave"}
points:
  tearing: {hook: "call:libipc.so!teardown"}
  at_exit: {hook: "call:libipc.so!leave", role: exiting}
  at_lock: {hook: lock.acquire, role: loop, within: tearing, nth: 2}
  waiting: {hook: cond.wait,    role: exiting, within: at_exit, side: asleep}
steps:
  - reach at_exit
  - reach at_lock
  - pass  at_exit
  - reach waiting
  - pass  at_lock
timeout: 5s
detect: [locks, deadlock]
""", """
void teardown(void), leave(void), serve(void);
static void *exits(void *x) { leave(); say("left"); return x; }
int main(void) {
    pthread_t h = go(exits); teardown(); say("torn down"); serve(); join(h); return 0;
}""", library, f"-Wl,-rpath,{lab.folder}")
    in_order(r, "torn down", "left")
    assert r.verdict == "clean" and not r.findings, (r, r.findings)
    assert [step["state"] for step in r.trial["steps"]] == ["done"] * 5, r.trial["steps"]


STANDSTILL = """
static pthread_mutex_t w = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static void *waits(void *u) { pthread_mutex_lock(&w); pthread_mutex_lock(&q); a(1); WAIT; pthread_mutex_unlock(&q); pthread_mutex_unlock(&w); return u; }
static void *signals(void *u) { BEFORE; nap(100); pthread_mutex_lock(&w); pthread_cond_signal(&news); pthread_mutex_unlock(&w); return u; }
static void *third(void *u) { THIRD; return u; }
int main(void) { SET_UP; pthread_t t[3] = {go(signals), go(third)}; nap(20); t[2] = go(waits); for (int i = 0; i < 3; i++) join(t[i]); return 0; }
"""
FOREVER, LIMITED = "pthread_cond_wait(&news, &q)", "struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += 2; pthread_cond_timedwait(&news, &q, &t)"
SIGNALS = "pthread_cond_broadcast(&news)"
SHARED = "pthread_condattr_t s; pthread_condattr_init(&s); pthread_condattr_setpshared(&s, 1); pthread_cond_init(&news, &s)"


def standstill(lab, wait=FOREVER, before=SIGNALS, third="", set_up=""):
    text = STANDSTILL
    for word, instead in {"WAIT": wait, "BEFORE": before, "THIRD": third, "SET_UP": set_up}.items():
        text = text.replace(word + ";", instead + ";")
    return lab.run('plan: p\npoints: {a: {hook: "call:libt.so!a"}}\nsteps: [reach a]\ndetect: [deadlock]', text,
                   arguments=["--stall", "3s"])


@pytest.mark.parametrize("before, third, says", [
    ("", "", " and nobody is left to signal it"),
    ("", "nap(100); pthread_mutex_lock(&w)", " and nobody is left to signal it"),             # one more that waits for the same
    (SIGNALS, "", r", which only thread OTHER has signalled"),
    (SIGNALS, "pthread_cond_signal(&news)", r", which only thread OTHER has signalled"),      # it has ended since
    (SIGNALS, SIGNALS + "; nap(100); pthread_mutex_lock(&w)", r", which thread \d+ has signalled, and 1 more that wait too"),
    ("pthread_cond_signal(&news); pthread_cond_destroy(&news); pthread_cond_init(&news, NULL)", "", " and nobody is left to signal it"),     # that was another one
    (f"static pthread_cond_t more[8]; {SIGNALS}; for (int i = 0; i < 8; i++) pthread_cond_signal(&more[i])", "",
     " and nobody is left to signal it")])                                              # it has signalled eight others since
def test_a_condition_whose_signallers_are_stuck_is_a_deadlock(lab, before, third, says):
    r = standstill(lab, before=before, third=third)
    assert r.kinds == ["deadlock"] and r.verdict == "reproduced", (r, r.findings)
    text, stacks = r.findings[0]["text"], r.findings[0]["stacks"]
    waiter, mutex_waiter = re.search(r"thread (\d+) waits for the condition", text), re.search(r"thread (\d+) waits for the mutex", text)
    assert re.search(waiter[0] + " 0x[0-9a-f]+" + says.replace("OTHER", mutex_waiter[1]), text), text
    assert f"of thread {waiter[1]}" in text, text
    by_role = {s["role"]: functions(s["frames"]) for s in stacks}
    assert len(stacks) == 3 and any("waits" in by_role[role] for role in ("use", "previous")), by_role
    assert by_role["acquisition"][0] == "waits", by_role                                    # where w was taken


@pytest.mark.parametrize("third, kinds", [
    ("nap(1500); pthread_cond_signal(&news)", []),                                          # somebody is left to signal it
    (SIGNALS + "; nap(1500); pthread_cond_signal(&news)", []),                              # it did so before
    ("int p[2]; char x; if (!pipe(p)) x = (char)read(p[0], &x, 1)", ["hang"]),              # who knows what comes out of a pipe
    (SIGNALS + "; int p[2]; char x; if (!pipe(p)) x = (char)read(p[0], &x, 1)", ["hang"])])
def test_a_condition_that_somebody_could_still_signal_is_no_deadlock(lab, third, kinds):
    r = standstill(lab, third=third)
    assert r.kinds == kinds, (r, r.findings)


def test_a_condition_wait_that_gives_up_is_no_deadlock(lab):
    assert standstill(lab, LIMITED).kinds == []


def test_a_condition_that_another_process_can_signal_is_no_deadlock(lab):
    assert standstill(lab, set_up=SHARED).kinds == ["hang"]


@pytest.mark.parametrize("fourth, kinds", [("pthread_mutex_lock(&x)", ["deadlock"]),       # of the loop, which waits for w
                                           ("nap(1500); pthread_cond_signal(&news)", [])])
def test_a_condition_signalled_by_a_thread_that_is_stuck_elsewhere(lab, fourth, kinds):
    r = lab.run('plan: p\npoints: {a: {hook: "call:libt.so!a"}}\nsteps: [reach a]\ndetect: [deadlock]', """
static pthread_mutex_t w = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER, x = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static void *exits(void *u) { pthread_mutex_lock(&w); pthread_mutex_lock(&q); a(1); pthread_cond_wait(&news, &q); pthread_mutex_unlock(&q);
    pthread_mutex_unlock(&w); return u; }
static void *loop(void *u) { pthread_mutex_lock(&x); nap(200); pthread_mutex_lock(&w); pthread_mutex_unlock(&w); pthread_mutex_unlock(&x); return u; }
static void *signals(void *u) { pthread_cond_signal(&news); nap(100); FOURTH; return u; }
int main(void) { pthread_t l = go(loop), s = go(signals); nap(50); join(go(exits)); join(l); join(s); return 0; }
""".replace("FOURTH", fourth), arguments=["--stall", "3s"])
    assert r.kinds == kinds, (r, r.findings)
    if kinds:
        said = re.sub(r" 0x[0-9a-f]+", "", r.findings[0]["text"])
        waits = dict(re.findall(r"thread (\d+) waits for the \w+,? (?:of|which only) thread (\d+)", said))
        start = next(iter(waits))
        assert len(waits) == 3 and waits[waits[waits[start]]] == start, said


def test_two_conditions_each_signalled_by_the_other_thread_are_a_deadlock(lab):
    r = lab.run('plan: p\npoints: {a: {hook: "call:libt.so!a"}}\nsteps: [reach a]\ndetect: [deadlock]', """
static pthread_mutex_t q = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t ping = PTHREAD_COND_INITIALIZER, pong = PTHREAD_COND_INITIALIZER;
static void turns(pthread_cond_t *mine, pthread_cond_t *other) { pthread_cond_signal(other); nap(100); pthread_mutex_lock(&q); a(1);
    pthread_cond_wait(mine, &q); pthread_mutex_unlock(&q); }
static void *pings(void *u) { turns(&pong, &ping); return u; }
static void *pongs(void *u) { turns(&ping, &pong); return u; }
int main(void) { pthread_t t = go(pings); join(go(pongs)); join(t); return 0; }""", arguments=["--stall", "3s"])
    assert r.kinds == ["deadlock"] and r.findings[0]["text"].count("which only thread") == 2, (r, r.findings)


def test_threads_that_all_wait_on_conditions_are_a_hang(lab):
    r = lab.run('plan: p\npoints: {a: {hook: "call:libt.so!a"}}\nsteps: [reach a]\ndetect: [deadlock]', """
        static pthread_mutex_t q = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
        static void *waits(void *u) { pthread_mutex_lock(&q); a(1); pthread_cond_wait(&news, &q); pthread_mutex_unlock(&q); return u; }
        int main(void) { join(go(waits)); return 0; }""", arguments=["--stall", "1s"])
    assert r.kinds == ["hang"], r
