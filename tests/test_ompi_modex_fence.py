"""Scenario ompi-modex-fence: the finding is earned. Each mutant takes one thing away, and no mutant keeps the verdict."""
import os
import shutil
import time

import pytest
import yaml

from laboratory import REPO, without_unused_points

SCENARIO = REPO / "scenarios" / "ompi-modex-fence"
PLAN = SCENARIO / "plans" / "late-callback.yaml"
BUG = "open-mpi/ompi#14302"

pytestmark = pytest.mark.skipif(not shutil.which("mpirun"), reason="mpirun is not installed")


def late_callback(holdpoint, *arguments, plan="late-callback"):
    return holdpoint.run("ompi-modex-fence", "--variant", "installed", "--plan", plan, *arguments)


def stacks(finding):
    return {stack["role"]: [frame["function"] or frame["module"] for frame in stack["frames"]] for stack in finding["stacks"]}


def test_the_late_callback_is_named_with_initiator_dead_frame_and_callback(holdpoint):
    r = late_callback(holdpoint, "--ranks", 2)
    assert r.rc == 0 and r.verdict == "reproduced" and r.row["signatures"] == [BUG], r
    assert set(r.steps.values()) == {"done"} and all(fault["fired"] == 1 for fault in r.faults), r
    found = [f for f in r.findings if f["known_id"] == BUG]
    assert len(found) == 1 and found[0]["kind"] == "stack-use-after-return" and found[0]["rank"] == 0, r.findings
    shown = stacks(found[0])
    assert "ompi_mpi_init" in shown["initiator"] and shown["dead-frame"] and shown["callback"], shown
    assert "libmpi.so" in shown["use"][0] and "a store there was caught at its instruction" in found[0]["text"], (shown, found[0]["text"])
    assert [rank["stacks_guarded"] for rank in r.trial["ranks"]] == [1, 0], r.trial["ranks"]


def test_without_the_guard_the_store_is_seen_by_what_it_left(holdpoint, tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text("".join(line for line in PLAN.read_text().splitlines(True) if "guard:" not in line and "  init: " not in line))
    r = holdpoint.run("ompi-modex-fence", "--plan", own, "--variant", "installed", "--workload", "init", "--ranks", 2, "--trials", 1, "--expect", "reproduced")
    found = [f for f in r.findings if f["known_id"] == BUG]
    assert r.verdict == "reproduced" and len(found) == 1 and "the callback stored there" in found[0]["text"], (r, r.findings)


def test_the_verdict_needs_no_scenario_only_a_plan(holdpoint, tmp_path):
    """The same, by people's own launch line."""
    own = tmp_path / "own.yaml"
    own.write_text(PLAN.read_text() + "env: {0: {OMPI_MCA_pmix_base_async_modex: 1}}\n")
    program = REPO / "build" / "scenarios" / "ompi-modex-fence" / "workload" / "init"
    r = holdpoint.exec(own, ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", "holdpoint", "rank", program],
                       arguments=["--expect", "reproduced"])
    assert r.rc == 0 and r.verdict == "reproduced" and "stack-use-after-return" in r.kinds, r


def the_other_rank(plan):
    for point in [*plan["points"].values(), *plan["faults"]]:
        point["rank"] = 1


MUTANTS = {
    "misspelt function": (lambda p: p["points"]["init_step"].update(hook="call:*!ompi_reqest_init"),
                          "ompi_reqest_init: no module calls it"),
    "fault never fires": (lambda p: p["faults"][1].update(nth=99), "never fired"),
    "no fault": (lambda p: p["faults"].pop(0), ""),
    "callback is not held": (lambda p: p["steps"].remove("pass  fence_done"), ""),
    "the other rank": (the_other_rank, ""),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_no_mutant_keeps_the_verdict(holdpoint, tmp_path, mutant):
    change, sentence = MUTANTS[mutant]
    plan = yaml.safe_load(PLAN.read_text())
    change(plan)
    plan["timeout"] = "3s"
    file = tmp_path / "mutant.yaml"
    file.write_text(yaml.safe_dump(plan, sort_keys=False))
    r = late_callback(holdpoint, "--ranks", 2, "--timeout", "30s", "--expect", "reproduced", plan=file)
    assert r.rc == 125 and r.verdict == "not-exercised" and sentence in r.reason and r.reason, r


@pytest.mark.full
@pytest.mark.parametrize("plan", ["init-wedged", "init-callback-first"])
@pytest.mark.parametrize("fault", [0, 1])
def test_no_plan_keeps_its_verdict_without_one_of_its_faults(holdpoint, tmp_path, plan, fault):
    """Without one of its steps, what happens is a matter of luck."""
    p = yaml.safe_load((SCENARIO / "plans" / f"{plan}.yaml").read_text())
    del p["faults"][fault]
    p["timeout"] = "3s"
    own = tmp_path / "own.yaml"
    own.write_text(yaml.safe_dump(without_unused_points(p), sort_keys=False))
    r = late_callback(holdpoint, "--ranks", 2, "--timeout", "30s", "--workload", "init", "--expect", CLASSIC[plan], plan=own)
    assert r.rc in (1, 125) and r.verdict != CLASSIC[plan], r


def test_without_the_preload_nothing_is_exercised(holdpoint, tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text(PLAN.read_text() + "env: {0: {OMPI_MCA_pmix_base_async_modex: 1}}\n")
    program = REPO / "build" / "scenarios" / "ompi-modex-fence" / "workload" / "init"
    r = holdpoint.exec(own, ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", "holdpoint", "rank",
                             "env", "-u", "LD_PRELOAD", program, "/etc/passwd"],
                       arguments=["--expect", "reproduced", "--timeout", "30s"])
    assert r.rc == 125 and r.verdict == "not-exercised" and "preload" in r.reason, r


CLASSIC = {"init-callback-first": "clean", "init-wedged": "reproduced", "misconfigured": "reproduced", "heal": "reproduced", "mpi-normal": "clean",
           "mpi-normal-async": "clean", "lookup-fails": "clean"}


@pytest.mark.full
@pytest.mark.parametrize("plan", CLASSIC)
def test_every_other_plan_20_of_20(holdpoint, plan):
    r = late_callback(holdpoint, "--ranks", 2, "--trials", 20, plan=plan)
    rows = [row for row in r.json["verdicts"] if not row["skipped"]]
    assert r.rc == 0 and rows and all((row["verdict"], row["of_verdict"], row["exercised"]) == (CLASSIC[plan], 20, 20) for row in rows), r


def test_misconfigured_needs_no_fault(holdpoint):
    r = late_callback(holdpoint, plan="misconfigured")
    assert r.rc == 0 and r.faults == [] and r.row["signatures"][0] == BUG and set(r.steps.values()) == {"done"}, r


def test_the_error_is_back_before_the_peer_has_entered(holdpoint, record_property):
    r = late_callback(holdpoint, plan="init-wedged")
    at = {step["text"]: step["at_ms"] for step in r.trial["steps"]}
    record_property("ms from the failed step to the returned error", at["reach init_returned"] - at["pass init_step"])
    assert r.rc == 0 and at["reach init_returned"] <= at["pass peer_fence"], r.trial["steps"]


def test_a_program_that_uses_its_stack_again_does_not_hide_the_store(holdpoint, tmp_path):
    """Its stack pointer is below the flag by then, as if the frame were alive; by the guard, and without it."""
    for guarded in (True, False):
        own = tmp_path / "own.yaml"
        own.write_text("".join(line for line in PLAN.read_text().splitlines(True)
                               if guarded or ("guard:" not in line and "  init: " not in line)))
        r = holdpoint.run("ompi-modex-fence", "--plan", own, "--variant", "installed", "--workload", "init", "--ranks", 2, "--trials", 1, "--expect", "reproduced")
        said = (r.out / "trials" / r.trial["id"] / "rank.0.out").read_text()
        assert r.rc == 0 and [f["known_id"] for f in r.findings if f["source"] == "shim"] == [BUG], (r, r.findings)
        assert ("canary=changed" in said) == (not guarded), said


@pytest.mark.full
def test_twenty_of_twenty_at_2_ranks(holdpoint):
    r = late_callback(holdpoint, "--ranks", 2, "--trials", 20)
    assert r.rc == 0 and (r.row["reproduced"], r.row["trials"]) == (20, 20), r
    for trial in r.json["trials"]:
        found = [f for f in trial["findings"] if f["known_id"] == BUG]  # mpirun itself may crash as well when it ends the job
        assert len(found) == 1 and "caught at its instruction" in found[0]["text"], trial["findings"]


@pytest.mark.full
def test_three_of_three_at_32_ranks(holdpoint):
    r = late_callback(holdpoint, "--ranks", 32, "--trials", 3)
    assert r.rc == 0 and (r.row["reproduced"], r.row["trials"]) == (3, 3), r
    assert all(len(trial["ranks"]) == 32 for trial in r.json["trials"])


def test_an_mpi_job_leaves_no_shared_memory(holdpoint):
    segments = lambda: {name for name in os.listdir("/dev/shm") if name.startswith("vader_segment")}
    before = segments()
    r = late_callback(holdpoint, "--ranks", 2)
    assert r.rc == 0, r
    left = segments() - before
    end = time.monotonic() + 60  # some may be those of MPI jobs that run beside this one; they go as well
    while left & segments() and time.monotonic() < end:
        time.sleep(0.5)
    assert not left & segments()


def test_verdict_04_a_healed_trial_is_reproduced_and_marked(holdpoint, tmp_path):
    plan = yaml.safe_load(PLAN.read_text())
    plan["heal"] = True
    file = tmp_path / "healed.yaml"
    file.write_text(yaml.safe_dump(plan, sort_keys=False))
    r = late_callback(holdpoint, "--ranks", 2, "--expect", "clean", plan=file)
    assert r.rc == 1 and r.verdict == "reproduced" and "healed" in r.reason, r
    assert all(f["healed"] and "was dropped" in f["text"] for f in r.findings if f["source"] == "shim") and r.findings, r.findings
    assert [(rank["delivered"], rank["dropped"]) for rank in r.trial["ranks"] if rank["rank"] == 0] == [(0, 1)]


def test_heal_keeps_what_the_program_has_in_the_frames_place(holdpoint, tmp_path):
    def run(plan):
        r = late_callback(holdpoint, "--ranks", 2, "--expect", "reproduced", plan=plan)
        return r, (r.out / "trials" / r.trial["id"] / "rank.0.out").read_text()
    r, said = run("heal")
    assert r.rc == 0 and "healed" in r.trial["reason"] and "canary=intact" in said and not r.trial["missing"], (r, said)
    file = tmp_path / "unhealed.yaml"
    file.write_text((SCENARIO / "plans" / "heal.yaml").read_text().replace("heal: true", ""))
    r, said = run(file)
    assert "healed" not in r.trial["reason"] and "canary=changed" in said, (r, said)


def test_heal_without_its_detector_is_refused(holdpoint, tmp_path):
    file = tmp_path / "healed.yaml"
    file.write_text(PLAN.read_text().replace("detect: [frames]", "heal: true"))
    r = holdpoint.call("plan", "check", file)
    assert r.rc == 129 and "add `detect: [frames]`" in r.stderr, r.stderr
