"""ARCHITECTURE.md: dependencies point one way. Read from the #include and import lines alone."""
import ast
import re
import sys

from laboratory import REPO

UNIT_TEST = re.compile(r"_test\.c$")


def includes(folder, pattern="**/*.[ch]"):
    """(file, what it includes) of our own headers, below a folder; its unit tests left aside."""
    files = [file for file in sorted((REPO / folder).glob(pattern)) if not UNIT_TEST.search(file.name)]
    assert files, f"no {pattern} in {folder}"
    return [(file, name) for file in files for name in re.findall(r'^#include "([^"]+)"', file.read_text(), re.M)]


def lies_in(name, folder):
    return any((REPO / folder).glob(f"**/{name.rsplit('/', 1)[-1]}"))


def test_the_board_knows_nothing_else():
    wrong = [(f.name, name) for f, name in includes("harness/board") if not lies_in(name, "harness/board") and "hooks.def" not in name]
    assert wrong == []


def test_harness_and_shims_meet_at_the_board():
    shims = {file.name for file in (REPO / "shims").rglob("*.h")}
    wrong = [(f.name, name) for f, name in includes("harness") if name in shims and not lies_in(name, "harness")]
    harness = {file.name for file in (REPO / "harness").glob("*.h")} | {file.name for file in (REPO / "harness/rank").glob("*.h")}
    wrong += [(f.name, name) for f, name in includes("shims") if name in harness and not lies_in(name, "shims")]
    assert wrong == []


def test_a_hook_family_includes_no_other():
    families = {file.stem for file in (REPO / "shims").glob("hook_*.c")}
    wrong = [(f.name, name) for f, name in includes("shims", "hook_*.c") if name.rsplit(".", 1)[0] in families]
    assert len(families) > 5 and wrong == []


def test_no_scenario_is_named_in_harness_or_shims():
    scenarios = [file.parent.name for file in (REPO / "scenarios").glob("*/scenario.yaml")]
    code = [file for folder in ("harness", "shims") for file in (REPO / folder).rglob("*.[chS]") if not UNIT_TEST.search(file.name)]
    wrong = [(file.name, name) for file in code for name in scenarios if re.search(rf"\b{name}\b", file.read_text())]
    assert len(scenarios) >= 3 and wrong == []


def test_reports_import_only_themselves_and_jinja():
    own = {file.stem for file in (REPO / "reports").glob("*.py")}
    used = set()
    for file in (REPO / "reports").glob("report*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in getattr(node, "names", [])] \
                if isinstance(node, ast.Import) else []
            used |= {name.split(".")[0] for name in names}
    assert used - own - set(sys.stdlib_module_names) == {"jinja2"}
