"""Builds each wrong engine of edits.py in a copy of the sources and runs the rule's test on it, which must fail.

The same test passes on the right engine in the same run of the suite; here only the failure is looked for."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edits import WRONG

REPO = Path(__file__).resolve().parent.parent.parent
PARTS = ["holdpoint", "holdpoint-rank", "libholdpoint.so"]


@pytest.fixture(scope="session")
def copy(tmp_path_factory):
    """The sources with their built objects, so that a wrong engine compiles in a second."""
    folder = tmp_path_factory.mktemp("wrong") / "holdpoint"
    folder.mkdir()
    for part in ("harness", "shims", "Makefile"):
        (shutil.copytree if (REPO / part).is_dir() else shutil.copy2)(REPO / part, folder / part)
    (folder / "scenarios").mkdir()
    built = Path(os.environ.get("HOLDPOINT", REPO / "build" / "holdpoint")).parent
    if (built / "obj").is_dir():
        shutil.copytree(built / "obj", folder / "build" / "obj")
    make(folder)
    return folder


def make(folder):
    done = subprocess.run(["make", "-C", folder, "-j2", "BUILD=build", "WARN=-w",
                           *(f"build/{part}" for part in PARTS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name.replace(" ", "-"))
def test_the_rules_test_fails_on_a_wrong_engine(copy, wrong, tmp_path):
    right = {}
    try:
        for file, edits in {wrong.file: wrong.edits, **wrong.also}.items():
            right[file] = (copy / file).read_text()
            text = right[file]
            for old, new in edits:
                place = re.compile(r"\s+".join(map(re.escape, old.split())))  # wherever the lines are broken
                found = place.findall(text)
                assert len(found) == 1, f"{file} has {len(found)} places that read:\n{old}"
                text = text.replace(found[0], new)
            assert text != right[file]
            (copy / file).write_text(text)
        make(copy)
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-x", "--tb=line",
             f"--basetemp={tmp_path / 'inner'}", REPO / wrong.caught_by], cwd=REPO, capture_output=True, text=True,
            env={**os.environ, "HOLDPOINT": str(copy / "build" / "holdpoint")}, timeout=300, check=False)
        assert run.returncode == 1 and "1 failed" in run.stdout, f"{wrong.caught_by} did not fail:\n{run.stdout[-3000:]}"
    finally:
        for file, text in right.items():
            (copy / file).write_text(text)
