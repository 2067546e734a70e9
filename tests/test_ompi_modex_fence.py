"""Scenario ompi-modex-fence: the finding is earned. Each mutant takes one thing away, and no mutant keeps the verdict."""
import os
import shutil
import time

import pytest
import yaml

from laboratory import REPO

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


def test_without_the_preload_nothing_is_exercised(holdpoint, tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text(PLAN.read_text() + "env: {0: {OMPI_MCA_pmix_base_async_modex: 1}}\n")
    program = REPO / "build" / "scenarios" / "ompi-modex-fence" / "workload" / "init"
    r = holdpoint.exec(own, ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", "holdpoint", "rank",
                             "env", "-u", "LD_PRELOAD", program, "/etc/passwd"],
                       arguments=["--expect", "reproduced", "--timeout", "30s"])
    assert r.rc == 125 and r.verdict == "not-exercised" and "preload" in r.reason, r


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


def test_heal_without_its_detector_is_refused(holdpoint, tmp_path):
    file = tmp_path / "healed.yaml"
    file.write_text(PLAN.read_text().replace("detect: [frames]", "heal: true"))
    r = holdpoint.call("plan", "check", file)
    assert r.rc == 129 and "add `detect: [frames]`" in r.stderr, r.stderr


# ---- the client component ----

def client(holdpoint, plan, variant, *arguments):
    return holdpoint.run("ompi-modex-fence", "--workload", "client", "--plan", plan, "--variant", variant, *arguments, timeout=900)


def test_client_the_callback_of_the_faulty_one_stores_into_its_dead_frame(holdpoint):
    for variant, role in (("faulty", "callback"), ("faulty-asan", "use")):
        r = client(holdpoint, "client-late", variant)
        assert r.rc == 0 and r.row["signatures"] == [BUG], r
        shown = stacks(r.findings[0])
        assert "run" in shown["dead-frame"][0] and shown[role][0].startswith("fence_over"), shown


@pytest.mark.parametrize("plan, arm", [("callback-frees", "client_free_in_callback"), ("error-path-frees", "client_free_in_init")])
def test_client_each_arm_of_the_handoff_is_shown_taken(holdpoint, plan, arm):
    for variant in ("fixed", "fixed-asan", "fixed-tsan"):
        r = client(holdpoint, plan, variant)
        assert r.rc == 0 and r.verdict == "clean" and r.steps["reach frees"] == "done", r
    assert arm in (SCENARIO / "plans" / f"{plan}.yaml").read_text()


def test_client_what_frees_on_one_arm_only_leaks_and_the_shim_does_not_hide_it(holdpoint):
    r = client(holdpoint, "nobody-frees", "half-fixed-asan")
    assert r.rc == 0 and r.kinds == ["leak"] and stacks(r.findings[0])["alloc"][1].startswith("run"), r.findings


def test_client_a_callback_that_wins_is_not_flagged(holdpoint):
    r = client(holdpoint, "callback-first", "faulty")
    assert r.rc == 0 and r.verdict == "clean" and r.findings == [] and set(r.steps.values()) == {"done"}, r


@pytest.mark.full
@pytest.mark.parametrize("plan", ["client-late", "callback-first", "callback-frees", "error-path-frees", "nobody-frees"])
@pytest.mark.parametrize("ranks, trials", [(2, 20), (32, 3)])
def test_client_twenty_of_twenty(holdpoint, plan, ranks, trials):
    r = holdpoint.run("ompi-modex-fence", "--workload", "client", "--plan", plan, "--ranks", ranks, "--trials", trials, timeout=1800)
    assert r.rc == 0, r
    for row in r.json["verdicts"]:  # under AddressSanitizer the report ends the rank within its last step
        assert row["reproduced" if row["verdict"] == "reproduced" else "exercised"] == trials, row
