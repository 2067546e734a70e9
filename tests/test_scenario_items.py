"""Scenario files as pytest items: one passes, fails or is skipped as its row is, and never passes because nothing ran."""
import os
import subprocess
import sys

import pytest

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
