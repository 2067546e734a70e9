"""pytest and holdpoint: scenario files as test items, and the `holdpoint` fixture.

A scenario.yaml that pytest meets becomes one item per variant and plan that it expects something of,
named SCENARIO-VARIANT-PLAN. The item runs `holdpoint run` and passes when the verdict is as expected.
Tests written in Python take the fixture: holdpoint.exec(plan, program, ranks=2) -> Result.
May not: judge a trial itself; it reads results.json only.
"""
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

AS_EXPECTED, NOT_AS_EXPECTED, CANNOT_TELL, USAGE = 0, 1, 125, 129


def find_holdpoint():
    """The program: $HOLDPOINT, the build folder beside this one, or PATH."""
    named = os.environ.get("HOLDPOINT")
    if named:
        return named
    built = Path(__file__).resolve().parent.parent / "build" / "holdpoint"
    if built.exists():
        return str(built)
    found = shutil.which("holdpoint")
    if not found:
        pytest.fail("the program holdpoint is neither built (run make) nor on PATH", pytrace=False)
    return found


class Result:
    """What one call of holdpoint left: exit code, texts, results.json and the files beside it."""

    def __init__(self, process, out):
        self.rc, self.stdout, self.stderr = process.returncode, process.stdout, process.stderr
        self.out = Path(out)
        results = self.out / "results.json"
        self.json = json.loads(results.read_text()) if results.exists() else None

    def __repr__(self):
        rows = self.json["verdicts"] if self.json else []
        said = "; ".join(f"{row['verdict']}: {row['reason']}" for row in rows) or "no results.json"
        return f"exit {self.rc}, {said}\n{self.stderr}"

    @property
    def row(self):
        assert self.json and self.json["verdicts"], f"holdpoint left no verdict\n{self!r}"
        return self.json["verdicts"][0]

    @property
    def verdict(self):
        return self.row["verdict"]

    @property
    def reason(self):
        return self.row["reason"]

    @property
    def trial(self):
        assert self.json and self.json["trials"], f"holdpoint left no trial\n{self!r}"
        return self.json["trials"][0]

    @property
    def steps(self):
        """State of each step, by its text: {"reach a": "done", …}; a text that is used twice ends in #2."""
        states = {}
        for step in self.trial["steps"]:
            name, n = step["text"], 1
            while name in states:
                n += 1
                name = f"{step['text']}#{n}"
            states[name] = step["state"]
        return states

    @property
    def faults(self):
        return self.trial["faults"]

    @property
    def findings(self):
        return self.trial["findings"]

    @property
    def kinds(self):
        return [finding["kind"] for finding in self.findings]


class Holdpoint:
    """The `holdpoint` fixture."""

    def __init__(self, folder, program=None):
        self.folder, self.program, self.calls = Path(folder), program or find_holdpoint(), 0

    def call(self, *arguments, timeout=120, env=None):
        """Any command of holdpoint; `--out` is not added."""
        process = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, errors="replace",
                                 timeout=timeout, env={**os.environ, **(env or {})}, check=False)
        return Result(process, self.folder / "none")

    def plan_file(self, plan):
        """A plan as a path, as YAML text or as Python data; returns its path."""
        if isinstance(plan, Path):
            return plan
        file = self.folder / f"plan{self.calls}.yaml"
        file.write_text(plan if isinstance(plan, str) else yaml.safe_dump(plan, sort_keys=False))
        return file

    def exec(self, plan, program, *, ranks=None, arguments=(), timeout=120, env=None):
        """`holdpoint exec` of a program (or a whole command line as a list) under a plan."""
        self.calls += 1
        out = self.folder / f"out{self.calls}"
        command = [self.program, "exec", "--plan", str(self.plan_file(plan)), "--out", str(out), *map(str, arguments)]
        if ranks:
            command += ["--ranks", str(ranks)]
        command += ["--", *map(str, program if isinstance(program, (list, tuple)) else [program])]
        process = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout,
                                 env={**os.environ, **(env or {})}, check=False)
        return Result(process, out)

    def run(self, scenario, *arguments, timeout=600):
        """`holdpoint run` of a scenario by name or folder."""
        self.calls += 1
        out = self.folder / f"out{self.calls}"
        process = subprocess.run([self.program, "run", str(scenario), *map(str, arguments), "--out", str(out)],
                                 capture_output=True, text=True, errors="replace", timeout=timeout, check=False)
        return Result(process, out)


@pytest.fixture
def holdpoint(tmp_path):
    """Runs holdpoint: holdpoint.exec(plan, program, ranks=2), holdpoint.run(scenario), holdpoint.call(…)."""
    return Holdpoint(tmp_path)


class ScenarioFailed(Exception):
    """The verdict was not as expected, or could not be told."""


class ScenarioItem(pytest.Item):
    def __init__(self, *, variant, plan, **keywords):
        super().__init__(**keywords)
        self.variant, self.plan = variant, plan

    def runtest(self):
        folder = self.config._tmp_path_factory.mktemp(self.name, numbered=True)
        result = Holdpoint(folder).run(self.path.parent, "--variant", self.variant, "--plan", self.plan)
        for row in result.json["verdicts"] if result.json else []:
            self.user_properties += [("verdict", row["verdict"]), ("signatures", " ".join(row["signatures"])),
                                     ("reproduced", f"{row['reproduced']} of {row['trials']}")]
        if result.rc == AS_EXPECTED:
            assert result.json and result.json["verdicts"], f"holdpoint said 'as expected' of nothing\n{result!r}"
            return
        skipped = [row["reason"] for row in result.json["verdicts"] if row.get("skipped")] if result.json else []
        if result.rc == CANNOT_TELL and skipped and len(skipped) == len(result.json["verdicts"]):
            pytest.skip(skipped[0])
        raise ScenarioFailed(repr(result))

    def repr_failure(self, excinfo):
        if isinstance(excinfo.value, ScenarioFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, None, self.name


class ScenarioFile(pytest.File):
    def collect(self):
        scenario = yaml.safe_load(self.path.read_text())
        for plan, about in scenario["plans"].items():
            for variant in about.get("expect", {}):
                item = ScenarioItem.from_parent(self, name=f"{scenario['scenario']}-{variant}-{plan}",
                                                variant=variant, plan=plan)
                item.add_marker(pytest.mark.scenario)
                if about.get("default") is False:
                    item.add_marker(pytest.mark.full)
                yield item


def pytest_collect_file(file_path, parent):
    if file_path.name == "scenario.yaml":
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


def pytest_configure(config):
    config.addinivalue_line("markers", "scenario: one plan of a scenario on one variant")
    config.addinivalue_line("markers", "full: long; left out unless asked for by -m")


def pytest_collection_modifyitems(config, items):
    """Without an -m of the user's own, what is marked `full` is left out."""
    if config.option.markexpr:
        return
    long = [item for item in items if item.get_closest_marker("full")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("full")]
