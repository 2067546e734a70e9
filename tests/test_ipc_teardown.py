"""Scenario ipc-teardown: each interleaving by its plan, on every variant and build; and what takes a verdict away."""
import subprocess

import pytest
import yaml

from laboratory import REPO

SCENARIO = REPO / "scenarios" / "ipc-teardown"
BUG, TAIL = "bitcoin-core/libmultiprocess#361", "bitcoin-core/libmultiprocess#361-tail"
FIX = ["SWAP_UNDER_LOCK", "LOOK_UP_BY_KEY", "RECHECK_ON_LOOP", "DESTROY_AFTER_RELEASE"]


def program(variant):
    return REPO / "build" / "scenarios" / "ipc-teardown" / variant / "ipc-teardown"


def run(holdpoint, plan, *arguments, trials=2, timeout=1500):
    return holdpoint.run("ipc-teardown", "--plan", plan, "--trials", trials, *arguments, timeout=timeout)


def verdicts(result):
    return {(row["variant"], row["workload"]): (row["verdict"], row["reproduced"], row["exercised"]) for row in result.json["verdicts"]}


def stacks(finding):
    return {stack["role"]: [frame["function"] or "" for frame in stack["frames"]] for stack in finding["stacks"]}


def built_with(folder, *fixes):
    """The component with these lines of the fix and no others."""
    out = folder / "ipc-teardown"
    sources = [*sorted((SCENARIO / "component").glob("*.c")), SCENARIO / "workload" / "ipc-teardown.c"]
    subprocess.run(["gcc", "-std=c17", "-D_GNU_SOURCE", "-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-o", out,
                    *(f"-D{fix}=1" for fix in fixes), *sources], check=True)
    return out


# ---- the three interleavings ----

@pytest.mark.parametrize("plan", ["v1", "v2"])
def test_the_entry_that_both_destroy_is_named_with_use_free_and_allocation(holdpoint, plan):
    for variant in ("faulty", "faulty-asan"):
        r = run(holdpoint, plan, "--variant", variant, trials=1)
        assert r.rc == 0 and r.verdict == "reproduced" and r.row["signatures"] == [BUG], r
        shown = stacks(r.findings[0])
        assert r.findings[0]["kind"] == "heap-use-after-free" and set(r.steps.values()) == {"done"}, r
        assert "handle_loses_connection" in shown["use"][0] and "add_entry" in shown["alloc"][:2], shown
        assert any("entry_disconnected" in f for f in shown["free"]), shown


def test_v3_is_named_by_locks_where_address_sanitizer_is_silent(holdpoint):
    r = run(holdpoint, "v3", "--variant", "faulty", trials=1)
    assert r.rc == 0 and r.row["signatures"][0] == TAIL, r
    texts = [f["text"] for f in r.findings]
    assert "is freed while it is owned" in texts[0] and "is released after its memory was freed" in texts[1], texts
    assert {"use", "acquisition", "free"} <= set(stacks(r.findings[1])), r.findings
    silent = run(holdpoint, SCENARIO / "plans" / "v3.yaml", "--variant", "faulty-asan", "--workload", "incall", "--expect", "clean", trials=1)
    assert silent.rc == 0 and silent.findings == [] and set(silent.steps.values()) == {"done"}, silent


def test_v3_is_closed_by_the_fix_with_the_lock_and_both_stacks(holdpoint):
    r = run(holdpoint, "v3", trials=1)
    rows = {row["variant"]: row for row in r.json["verdicts"]}
    for variant in ("fixed", "fixed-asan", "fixed-tsan"):
        assert r.rc == 0 and rows[variant]["expected"] == "closed-by-fix: reach gone" and rows[variant]["as_expected"], r
    step = next(s for t in r.json["trials"] for s in t["steps"] if s["blocked"])
    waiter, owner = step["blocked"]["waiter"], step["blocked"]["owner"]
    assert step["text"] == "reach gone" and step["blocked"]["lock"] == "mutex" and owner["point"] == "at_release", step
    assert any(f["function"] == "context_destroy" for f in waiter["stack"]), waiter
    assert any(f["function"] == "entry_disconnected" for f in owner["acquisition"]) and owner["stack"], owner


@pytest.mark.parametrize("plan", ["v1-unguarded", "v2-unguarded"])
def test_without_a_guard_the_c_library_says_it_at_a_threads_exit(holdpoint, plan):
    r = run(holdpoint, plan)
    assert r.rc == 0 and verdicts(r)["faulty", "incall"] == ("reproduced", 2, 2), r
    assert all(f["kind"] == "double-free" and "double free or corruption" in f["text"] for f in r.findings), r.findings


@pytest.mark.parametrize("plan, kind", [("v1", "heap-use-after-free"), ("v2", "heap-use-after-free"), ("v3", "data-race")])
def test_thread_sanitizer_names_all_three(holdpoint, plan, kind):
    r = run(holdpoint, plan, "--variant", "faulty-tsan", trials=1)
    assert r.rc == 0 and r.verdict == "reproduced" and set(r.steps.values()) == {"done"}, r
    named = [(f["known_id"], f["kind"]) for f in r.findings if f["known_id"]]  # it goes on, and tells of what follows too
    assert named == [(TAIL if plan == "v3" else BUG, kind)] and all(f["source"] == "tsan" for f in r.findings), r.findings


# ---- fixes, right and wrong ----

@pytest.mark.parametrize("plan", ["v1", "v2"])
def test_the_fix_is_clean_and_passed_every_step(holdpoint, plan):
    for variant in ("fixed", "fixed-asan", "fixed-tsan"):
        r = run(holdpoint, plan, "--variant", variant)
        assert r.rc == 0 and r.verdict == "clean" and set(r.steps.values()) == {"done"}, r


def test_the_half_fix_closes_v1_and_not_v2(holdpoint):
    assert verdicts(run(holdpoint, "v1", "--variant", "half-fixed"))["half-fixed", "incall"] == ("clean", 0, 2)
    assert verdicts(run(holdpoint, "v2", "--variant", "half-fixed"))["half-fixed", "incall"] == ("reproduced", 2, 2)


@pytest.mark.parametrize("plan", ["v1-deadlock", "v2-deadlock"])
def test_a_fix_that_destroys_under_the_lock_deadlocks(holdpoint, plan):
    r = run(holdpoint, plan, "--variant", "under-lock", trials=1)
    assert r.rc == 0 and r.findings[0]["kind"] == "deadlock", r
    functions = [f for s in r.findings[0]["stacks"] for f in (frame["function"] or "" for frame in s["frames"])]
    assert any("loop_post" in f for f in functions) and any("entry_disconnected" in f for f in functions), r.findings


@pytest.mark.parametrize("missing", FIX)
def test_each_line_of_the_fix_is_needed(holdpoint, tmp_path, missing):
    component = built_with(tmp_path, *(fix for fix in FIX if fix != missing))
    found = [run(holdpoint, SCENARIO / "plans" / f"{plan}.yaml", "--workload", "incall", "--component", component, trials=1)
             for plan in ("v1", "v2")]
    assert any(r.rc == 1 for r in found), found
    assert run(holdpoint, SCENARIO / "plans" / "v2.yaml", "--workload", "incall", "--component", built_with(tmp_path, *FIX), trials=1).rc == 0


# ---- builds ----

@pytest.mark.parametrize("plan", ["v1-builds", "v2-builds"])
def test_stripped_static_shared_rdynamic_and_optimised_builds(holdpoint, plan):
    r = run(holdpoint, plan, trials=1)
    assert r.rc == 0 and len(r.json["verdicts"]) == 7, r
    assert all(row["exercised"] == 1 and row["verdict"] == ("clean" if row["variant"].startswith("fixed") else "reproduced")
               for row in r.json["verdicts"]), r


def test_a_caller_that_can_match_nothing_is_refused_and_one_by_symbol_works(holdpoint, tmp_path):
    plan = yaml.safe_load((SCENARIO / "plans" / "v1.yaml").read_text())
    at_lock = plan["points"]["at_lock"]
    del plan["points"]["loops"], at_lock["not_object_of"]
    for caller, variant, rc in (("PROGRAM!entry_disconnected", "faulty", 0), ("PROGRAM!entry_disconected", "faulty", 129),
                                ("PROGRAM!entry_disconnected", "faulty-stripped", 129)):
        at_lock["caller"] = caller
        own = tmp_path / "own.yaml"
        own.write_text(yaml.safe_dump(plan))
        r = run(holdpoint, own, "--variant", variant, "--workload", "incall", "--expect", "reproduced", trials=1)
        assert r.rc == rc and (rc == 0 or "can match nothing" in r.stderr), (caller, variant, r)


# ---- what is not forced, and what is cut ----

def test_the_server_has_no_shim_unless_the_plan_follows(holdpoint, tmp_path):
    bare = tmp_path / "bare.yaml"
    for text, processes in (("plan: bare", 1), ("plan: bare\nfollow: children", 2)):
        bare.write_text(text)
        r = run(holdpoint, bare, "--variant", "faulty", "--workload", "local", "--expect", "clean", trials=1)
        assert len([p for p in r.trial["ranks"] if p["checked_in"]]) == processes, r.trial["ranks"]


@pytest.mark.parametrize("direction", ["read", "write"])
def test_the_fix_survives_a_peer_that_dies_at_any_seventh_byte(holdpoint, tmp_path, direction):
    plan = tmp_path / "cut.yaml"
    plan.write_text((SCENARIO / "plans" / f"cut-{direction}.yaml").read_text().replace("byte: 1..", "byte: 1.. by 7"))
    r = holdpoint.run("ipc-teardown", "--plan", plan, "--variant", "fixed", "--workload", "conversation", "--expect", "clean", timeout=600)
    assert r.rc == 0 and r.row["sweep"]["kind"] == "byte" and r.row["sweep"]["fired"] == 18, r.row


# Delays that keep luck from doing what a step does: without it, the other thread is always the faster one.
SLOW = {"exiting": {"hook": "thread.exit", "role": "exiting", "dtor": "*!context_destroy"},
        "loop": {"hook": "conn.shutdown", "role": "loop", "side": "return"}}


def lacking(plan, step, slow=None):
    """The plan without this step, and without the points that only it names; None: the whole plan."""
    p = yaml.safe_load((SCENARIO / "plans" / f"{plan}.yaml").read_text())
    p["steps"] = [s for s in p["steps"] if " ".join(s.split()) != step]
    used = {s.split()[1] for s in p["steps"]} | {v for point in p["points"].values() for k, v in point.items() if "object_of" in k or k == "within"}
    p["points"] = {name: point for name, point in p["points"].items() if name in used}
    p["timeout"] = "500ms" if step else p["timeout"]  # nobody waits for steps that never come
    if slow:
        p["points"]["slow"] = SLOW[slow]
        p["faults"] = [{"at": "slow", "do": "delay", "for": "200ms"}]
    return yaml.safe_dump(p)


def without_step(holdpoint, folder, plan, step, workload, trials, slow=None):
    own = folder / "own.yaml"
    own.write_text(lacking(plan, step, slow))
    return run(holdpoint, own, "--variant", "faulty", "--workload", workload, "--expect", "reproduced", trials=trials)


# Every step but `reach at_exit` of v1 and v2, which says first what `pass at_exit` says as well.
@pytest.mark.parametrize("plan, step, workload, slow", [
    ("v1", "reach at_lock", "early", None), ("v1", "pass at_exit", "early", None), ("v1", "reach waiting", "early", "exiting"),
    ("v1", "pass at_lock", "early", "exiting"), ("v2", "pass at_exit", "early", None), ("v2", "reach waiting", "early", "exiting"),
    ("v2", "pass teardown", "early", "exiting"), ("v3", "pass at_exit", "early", None), ("v3", "reach at_release", "idle", "loop"),
    ("v3", "reach gone", "early", "exiting"), ("v3", "pass at_release", "early", "exiting")])
def test_a_plan_without_one_of_its_steps_reproduces_nothing(holdpoint, tmp_path, plan, step, workload, slow):
    r = without_step(holdpoint, tmp_path, plan, step, workload, 2, slow)
    assert r.rc in (1, 125) and r.row["reproduced"] == 0, r
    whole = without_step(holdpoint, tmp_path, plan, None, workload, 2, slow)
    assert whole.rc == 0 and whole.row["reproduced"] == 2, whole


# Here the other thread is the slower one now and then, and no hook stands where it could be delayed.
@pytest.mark.full
@pytest.mark.parametrize("plan, step, workload", [("v2", "reach teardown", "early"), ("v3", "reach at_exit", "incall"), ("v3", "pass teardown", "incall")])
def test_a_plan_without_one_of_its_steps_is_a_matter_of_chance(holdpoint, tmp_path, plan, step, workload):
    r = without_step(holdpoint, tmp_path, plan, step, workload, 30)
    assert r.rc in (1, 125) and r.row["reproduced"] < 30, r
    whole = without_step(holdpoint, tmp_path, plan, None, workload, 30)
    assert whole.rc == 0 and whole.row["reproduced"] == 30, whole


@pytest.mark.parametrize("text, replaced, rc", [
    ("faults:\n  - {at: received, do: sever, byte: 1..}\n", "", 129),                 # no fault at all
    ("byte: 1..", "byte: 100000", 125), ("origin: connected", "origin: accepted", 125)])  # one that never fires
def test_a_cut_that_does_not_happen_is_not_survived(holdpoint, tmp_path, text, replaced, rc):
    plan = tmp_path / "cut.yaml"
    whole = (SCENARIO / "plans" / "cut-read.yaml").read_text()
    assert text in whole
    plan.write_text(whole.replace(text, replaced))
    r = holdpoint.run("ipc-teardown", "--plan", plan, "--variant", "fixed", "--workload", "conversation", "--expect", "clean", timeout=200)
    assert r.rc == rc and (rc == 129 or r.verdict == "not-exercised"), r


def test_without_the_preload_nothing_is_said(holdpoint, tmp_path):
    about = tmp_path / "ipc-teardown"
    subprocess.run(["cp", "-r", SCENARIO, about], check=True)
    text = (about / "scenario.yaml").read_text().replace('"{component} incall"', '"/usr/bin/env -u LD_PRELOAD {component} incall"')
    (about / "scenario.yaml").write_text(text)
    for variant, expected, found in (("faulty", "reproduced", {"not-exercised", "other-finding"}), ("fixed", "clean", {"not-exercised"})):
        r = holdpoint.run(about, "--plan", "v2", "--component", program(variant), "--expect", expected, timeout=200)
        assert r.rc in (1, 125) and r.verdict in found and r.row["exercised"] == 0, r  # the bug may show by itself, unasked


# ---- the long tables ----

@pytest.mark.full
@pytest.mark.parametrize("plan", ["v1", "v2", "v3", "v1-unguarded", "v2-unguarded", "v1-builds", "v2-builds"])
def test_twenty_of_twenty(holdpoint, plan):
    r = run(holdpoint, plan, trials=20)
    assert r.rc == 0, r
    for row in r.json["verdicts"]:
        if row["variant"] == "installed":
            continue
        if row["verdict"] == "reproduced":
            assert row["reproduced"] == 20, row
        else:
            assert row["reproduced"] == 0 and (row["exercised"] == 20 or row["expected"].startswith("closed")), row


@pytest.mark.full
@pytest.mark.parametrize("plan", ["v1-elsewhere", "v2-elsewhere"])
def test_twenty_of_twenty_in_every_other_workload(holdpoint, plan):
    r = run(holdpoint, plan, trials=20)
    assert r.rc == 0 and len(r.json["verdicts"]) == 12, r
    assert all((row["reproduced"], row["exercised"]) == (20 if row["variant"] == "faulty" else 0, 20) for row in r.json["verdicts"]), r


@pytest.mark.full
@pytest.mark.parametrize("variant", ["fixed", "fixed-asan", "fixed-tsan"])
@pytest.mark.parametrize("workload", ["incall", "idle", "early", "many"])
def test_the_fix_is_never_reproduced_whatever_the_plan_and_workload(holdpoint, variant, workload):
    for plan in ("v3", "bare", "chaos"):
        r = run(holdpoint, SCENARIO / "plans" / f"{plan}.yaml", "--variant", variant, "--workload", workload, "--expect", "clean", trials=20)
        assert r.findings == [] and r.row["reproduced"] == 0, r
        if plan != "v3":
            assert r.rc == 0, r
        elif workload != "many":  # there the lock that the loop holds is another thread's
            assert all(t["steps"][-2]["blocked"] for t in r.json["trials"]), r


@pytest.mark.full
def test_bare_and_chance_beside_it(holdpoint, record_property):
    for plan in ("bare", "chaos"):
        r = holdpoint.run("ipc-teardown", "--plan", plan, timeout=1500)
        assert r.rc == 0 and all(row["trials"] == 60 for row in r.json["verdicts"]), r
        for row in r.json["verdicts"]:
            record_property(f"{plan} {row['variant']}", f"{row['reproduced']} of 60")
            assert row["reproduced"] < 60 and (not row["variant"].startswith("fixed") or row["reproduced"] == 0), row


@pytest.mark.full
@pytest.mark.parametrize("direction", ["read", "write"])
def test_the_fix_survives_a_peer_that_dies_at_any_byte(holdpoint, direction):
    r = holdpoint.run("ipc-teardown", "--plan", f"cut-{direction}", timeout=1500)
    assert r.rc == 0 and [row["sweep"]["fired"] for row in r.json["verdicts"]] == [120, 120], r
