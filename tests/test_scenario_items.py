"""Scenario files as pytest items: one passes, fails or is skipped as its row is, and never passes because nothing ran."""
import copy
import os
import subprocess
import sys

import pytest
import yaml

from laboratory import REPO

PLAN = 'plan: p\npoints: {a: {hook: "call:libt.so!a"}}\nsteps: [reach a]\n'
FREE_TWICE = "char *p = malloc(4096); free(p); free(p);"


@pytest.mark.parametrize("body, status, outcome", [("", 0, "1 passed"), (FREE_TWICE, 1, "1 failed"), (None, 125, "1 skipped")],
                         ids=["clean", "reproduced", "not-built"])
def test_an_item_is_what_its_row_is(lab, tmp_path, body, status, outcome):
    program = None if body is None else "int main(void) { a(1); %s return 0; }" % body
    folder = lab.scenario(PLAN, {"made": program}, {"made": "clean"})
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "holdpoint_pytest",
                          f"--basetemp={tmp_path / 'inner'}", folder], capture_output=True, text=True, check=False,
                         env={**os.environ, "HOLDPOINT": str(lab.holdpoint.program), "PYTHONPATH": str(REPO / "scenarios")})
    assert outcome in run.stdout, run.stdout + run.stderr
    r = lab.holdpoint.run(folder)
    assert r.rc == status, r


def scenario_with(lab, change):
    folder = lab.scenario(PLAN, {"made": "int main(void) { a(1); return 0; }"}, {"made": "clean"})
    about = yaml.safe_load((folder / "scenario.yaml").read_text())
    change(about)
    (folder / "scenario.yaml").write_text(yaml.safe_dump(about))
    return folder


def test_a_workload_that_was_not_built_says_what_its_build_needs(lab):
    folder = scenario_with(lab, lambda about: about["workloads"]["w"].update(program="nothere", needs="libnothere 2 or later"))
    r = lab.holdpoint.run(folder)
    assert r.row["skipped"] and r.reason == "libnothere 2 or later" and "missing libnothere 2 or later" in r.stdout, r


def test_a_workload_alone_runs_the_plans_for_it_and_any_that_is_named(lab):
    def change(about):
        about["workloads"]["other"] = copy.deepcopy(about["workloads"]["w"])
        about["plans"]["p"]["workload"] = "w"
        about["plans"]["q"] = {**copy.deepcopy(about["plans"]["p"]), "workload": "other"}
    folder = scenario_with(lab, change)
    ran = lambda *arguments: [(row["plan"], row["workload"]) for row in lab.holdpoint.run(folder, *arguments).json["verdicts"]]
    assert ran() == [("p", "w"), ("q", "other")] and ran("--workload", "other") == [("q", "other")]
    assert ran("--workload", "other", "--plan", "p") == [("p", "other")]
