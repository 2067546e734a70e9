"""What the tests share: small C programs compiled in a test's own folder, and questions about a result."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import yaml

REPO = Path(__file__).resolve().parent.parent


def compile_c(out, sources, *flags, compiler="gcc"):
    command = [compiler, "-g", "-O0", "-D_GNU_SOURCE", "-pthread", "-o", str(out), *map(str, sources), *map(str, flags)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return out


class Lab:
    def __init__(self, holdpoint, folder, library):
        self.holdpoint, self.folder, self.library, self.programs = holdpoint, folder, library, 0

    def program(self, body, *flags, compiler="gcc", suffix=".c", name=None):
        """Compiles C text that may use everything in lab.h, linked with libt.so; returns the program."""
        self.programs += 1
        source = self.folder / f"program{self.programs}{suffix}"
        source.write_text('#include "lab.h"\n' + body)
        return compile_c(self.folder / (name or f"program{self.programs}"), [source], *flags, f"-I{REPO / 'tests'}",
                         f"-L{self.library.parent}", "-lt", f"-Wl,-rpath,{self.library.parent}", compiler=compiler)

    def run(self, plan, body, *flags, **options):
        """The program in `body` under `plan`."""
        return self.holdpoint.exec(plan, self.program(body, *flags), **options)

    def scenario(self, plan, variants, expect):
        """A scenario of one plan that brings out a double free, with its variants built (from C text) or not (None). From now
        on holdpoint is a copy that lies beside them. Returns the scenario's folder."""
        built, folder = self.folder / "build", self.folder / "made"
        (built / "scenarios" / "made").mkdir(parents=True)
        folder.mkdir()
        for part in ("holdpoint", "holdpoint-rank", "libholdpoint.so"):
            shutil.copy2(Path(self.holdpoint.program).parent / part, built / part)
        for name, body in variants.items():
            if body:
                shutil.copy2(self.program(body), built / "scenarios" / "made" / name)
        (folder / "plan.yaml").write_text(plan)
        (folder / "scenario.yaml").write_text(yaml.safe_dump({
            "scenario": "made", "title": "made by a test", "component": {"kind": "program", "what": "test"},
            "variants": {name: {"make": name} for name in variants},
            "workloads": {"w": {"program": "{component}", "launcher": "local", "ranks": [1]}},
            "plans": {"p": {"file": "plan.yaml", "signature": "double-free", "expect": expect}}}))
        self.holdpoint.program = built / "holdpoint"
        return folder


def lines(result):
    """What the program said, in order, without holdpoint's own lines below it and the ranks before it."""
    said = []
    for line in result.stdout.splitlines():
        if re.match(r"(ok  |NOT ) exec  ", line):
            break
        said += [re.sub(r"^\[rank \d+\] ", "", line)]
    return said


def in_order(result, *expected):
    """The lines `expected` were said, in this order."""
    said = [line for line in lines(result) if line in expected]
    assert said == list(expected), f"said {said}, wanted {list(expected)}\n{result!r}"


def point(result, name):
    """Counts of one point in the (only) trial."""
    found = [p for p in result.trial["points"] if p["name"] == name]
    assert found, f"no point {name} in {result.trial['points']}"
    return found[0]


def undone(result, *steps):
    """These steps never became done."""
    assert all(result.steps[step] in ("pending", "lost") for step in steps), result.steps
    return True


def without_unused_points(plan):
    """A plan (as data) that something was taken out of, without the points that nothing names any more, which would be refused."""
    named = {word for step in plan["steps"] for word in step.split()[1:]} | {plan.get("frames", {}).get("guard")}
    for entry in [*plan["points"].values(), *plan.get("faults", [])]:
        named |= {word for value in entry.values() for word in str(value).split()}
    return {**plan, "points": {name: point for name, point in plan["points"].items() if name in named}}


def processes_with(text):
    """Ids of live processes whose command line or environment has `text`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                told = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if text.encode() in told and state != "Z":
                found.append(int(entry.name))
    return found
