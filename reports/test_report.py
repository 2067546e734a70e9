"""Reports from made-up results: every state of a row, every part of a trial, hostile and missing texts."""
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import report_markdown  # noqa: E402
import report_picture  # noqa: E402
import report_rows  # noqa: E402
import report_table  # noqa: E402
from report_junit import junit  # noqa: E402

HASH = "0x00112233445566aa"
HOSTILE = '<script>alert("x")</script> | `a` & \x1b[31m \x00 *b*'


def step(text, line, state="done", rank=0, tid=101, at=1.0, detail=""):
    kind, point = text.split()
    done = state == "done"
    return {"text": text, "line": line, "kind": kind, "point": point, "sequence": None, "state": state,
            "rank": rank if done else None, "pid": 100 if done else None, "tid": tid if done else None,
            "arrival": 1 if done else None, "at_ms": at if done else None, "detail": detail}


def process(rank, exit_code=0, **about):
    return {"rank": rank, "node": 0, "pid": 100 + rank, "program": "/opt/app", "follower": False, "checked_in": True, "exit": exit_code,
            "signal": None, "started_ms": -3.0, "ended_ms": 90.5, "live_detectors": ["frames"], "heap": None, "guarded": 0, "stacks_guarded": 0, "bound": {"call:libmpi.so.40!init": 2},
            "threads": 3, "promised": 1, "delivered": 1, "dropped": 0, "problem": "", **about}


def frame(function, module="/usr/lib/libmpi.so.40", source=None, offset="0x00000000000ed830"):
    return {"module": module, "function": function, "source": source, "offset": offset}


def finding(**about):
    return {"kind": "stack-use-after-return", "signature": "stack-use-after-return:callback=libmpi.so.40!fence_release",
            "known_id": "open-mpi/ompi#14302", "expected": True, "rank": 5, "node": 0, "pid": 105, "tid": 201, "at_ms": None, "source": "shim",
            "text": "the callback writes into a frame that has returned", "file": None, "suspect": False, "healed": False,
            "before_plan": False, "by_plan": False,
            "stacks": [{"role": "callback", "frames": [frame("fence_release", source="ompi_mpi_init.c:381"), frame(None)]},
                       {"role": "dead-frame", "frames": [frame("ompi_mpi_init")]}], **about}


def trial(row, number, verdict="clean", **about):
    return {"id": f"sample-{row}-t{number}", "name": "a sample", "row": row, "verdict": verdict, "reason": "everything happened",
            "exercised": True, "errors": [], "missing": [], "launcher": "mpirun", "ranks_wanted": 32, "command": ["./init", "--fast"],
            "sanitizer": None, "ending": "ended", "wall_ms": 4321, "plan_name": "late-callback", "plan_hash": HASH,
            "detectors": ["frames"],
            "steps": [step("reach at_exit", 9, at=0.084, tid=101), step("reach at_lock", 10, at=20.1, tid=102),
                      step("pass at_exit", 11, at=20.2, tid=101), step("reach waiting", 12, at=22.9, tid=101),
                      step("pass at_lock", 13, at=23.0, tid=102)],
            "holds": [{"point": "at_exit", "rank": 0, "pid": 100, "tid": 101, "arrival": 1, "from_ms": 0.08, "to_ms": 20.2, "ended": "pass"},
                      {"point": "at_lock", "rank": 0, "pid": 100, "tid": 102, "arrival": 2, "from_ms": 20.1, "to_ms": 23.0, "ended": "pass"}],
            "points": [{"name": "at_exit", "hook": "thread.exit", "side": "enter", "gate": True, "arrivals": 1, "early": 0, "bystanders": 0,
                        "in_handler": 0}],
            "faults": [{"text": "fail init_step rank 5 return -1", "line": 20, "point": "init_step", "arrivals": 1, "fired": 1, "rank": 5,
                        "pid": 105, "tid": 105, "arrival": 1, "at_ms": 12.5, "released": 0, "timed_out": 0, "seed": None}],
            "ranks": [process(rank) for rank in range(32)],
            "modules": [{"path": "/usr/lib/libmpi.so.40", "build_id": "0123abcd", "component": True}],
            "timeline": [{"at_ms": 12.5, "event": "fault", "rank": 5, "pid": 105, "tid": 105, "point": "init_step",
                          "fault": "fail init_step rank 5 return -1"}, {"at_ms": 13.0, "event": "exit", "rank": 5, "pid": 105, "tid": 105}],
            "timeline_note": "", "findings": [], "folder": f"trials/sample-{row}-t{number}", "files": ["board", "rank.0.err"],
            "again": "holdpoint run ompi-modex-fence", **about}


def verdict_row(scenario, variant, plan, verdict, expected, status, **about):
    return {"scenario": scenario, "variant": variant, "component": "Open MPI 4.1.4", "workload": "init", "plan": plan, "plan_hash": HASH,
            "seeds": [], "ranks": 32, "launcher": "mpirun", "gpu": "none", "trials": 1, "exercised": 1, "reproduced": 0, "of_verdict": 1,
            "verdict": verdict, "expected": expected, "rate": None, "as_expected": status == 0, "status": status, "signatures": [],
            "reason": "", "sweep": None, "gate": None, "skipped": False, "again": f"holdpoint run {scenario} --variant {variant}", **about}


def sample():
    """One row of each state, and one whose texts are hostile."""
    lost = [step("reach at_exit", 9, at=0.084), step("reach at_lock", 10, "timeout", detail="no step was done for 5 s"),
            step("pass at_exit", 11, "pending")]
    held = [{"point": "at_exit", "rank": 0, "pid": 100, "tid": 101, "arrival": 1, "from_ms": 0.08, "to_ms": 5000.0, "ended": "released"}]
    crashed = [process(rank) for rank in range(31)] + [process(31, None, signal=11)]
    return {
        "schema": "holdpoint-results/1", "holdpoint": "0.1.0", "started": "2026-08-21T10:11:12Z",
        "machine": {"architecture": "x86_64", "kernel": "Linux 6.1", "cpus": 2, "memory_bytes": 8 << 30, "libc": "glibc 2.36",
                    "distribution": "Debian GNU/Linux 12 (bookworm)"},
        "signature_note": "kind, then frames",
        "verdicts": [
            verdict_row("ompi-modex-fence", "installed", "late-callback", "reproduced", "reproduced", 0, reproduced=3, trials=3, of_verdict=3,
                        exercised=3, signatures=["open-mpi/ompi#14302"]),
            verdict_row("ompi-modex-fence", "fixed", "late-callback", "other-finding", "clean", 1, reason="crash in rank 31",
                        signatures=["crash:use=libmpi.so.40!mca_btl_vader_component_progress<libopen-pal.so.40!opal_progress"]),
            verdict_row("tiny", "fixed", "exit-during-teardown", "not-exercised", "clean", 125, exercised=0,
                        reason="step 2, `reach at_lock` (line 10), ended by timeout: no step was done for 5 s"),
            verdict_row("nccl-inspector", "installed", "stale-stop", "not-exercised", "reproduced", 125, trials=0, of_verdict=0, exercised=0,
                        skipped=True, reason="libnccl is not installed (Debian: libnccl2)"),
            verdict_row("hostile", HOSTILE, "p", "reproduced", None, 1, signatures=[HOSTILE], reason=HOSTILE, again=HOSTILE,
                        rate=0.5, seeds=[7]),
        ],
        "trials": [
            *[trial(0, n, "reproduced", reason="open-mpi/ompi#14302", findings=[finding()]) for n in (1, 2, 3)],
            trial(1, 1, "other-finding", reason="crash in rank 31", ranks=crashed, ending="timed out",
                  findings=[finding(kind="crash", known_id=None, source="signal", rank=31, tid=None, stacks=[],
                                    signature="crash", text="app ended by signal 11 (SIGSEGV)"),
                            finding(suspect=True), finding(kind="abort", by_plan=True), finding(before_plan=True, healed=True)]),
            trial(2, 1, "not-exercised", reason="step 2 ended by timeout", exercised=False, steps=lost, holds=held, faults=[],
                  missing=["step 2 ended by timeout", "rank 1: expected exit 0, got 3"]),
            trial(4, 1, "reproduced", reason=HOSTILE, steps=[], holds=[], faults=[], points=[], ranks=[], modules=[], timeline=[],
                  timeline_note="there is no board", plan_name=None, plan_hash=None, errors=[HOSTILE],
                  findings=[finding(text=HOSTILE, signature=HOSTILE, rank=None,
                                    stacks=[{"role": "use", "frames": [frame(HOSTILE, None, HOSTILE, None), frame(None, None, None, None)]}])]),
        ],
    }


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "results.json").write_text(json.dumps(sample()))
    return tmp_path


def report(*arguments):
    return subprocess.run([sys.executable, HERE / "report.py", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_the_sample_agrees_with_the_schema():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((HERE / "results.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    assert [error.message for error in validator.iter_errors(sample())] == []
    broken = sample()
    broken["trials"][0]["steps"][0]["state"] = "perhaps"
    del broken["verdicts"][0]["reason"]
    assert len(list(validator.iter_errors(broken))) == 2


def test_all_reports_are_written_and_the_table_is_printed(folder):
    done = report(folder)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["index.html", "junit.xml", "results.json", "summary.md"]
    assert "not-exercised" in done.stdout and "ended by timeout" in done.stdout and "libnccl is not installed" in done.stdout
    assert "1 as expected, 2 not as expected, 1 could not tell, 1 skipped" in done.stdout
    assert "\033" not in done.stdout, "no colours when nobody looks, and none of others"


def test_out_and_quiet(folder, tmp_path):
    done = report(folder / "results.json", "--out", tmp_path / "else" / "where", "--quiet")
    assert done.returncode == 0 and done.stdout == "", done.stdout
    assert (tmp_path / "else" / "where" / "index.html").exists() and not (folder / "index.html").exists()


@pytest.mark.parametrize("content, said", [(None, "No such file"), ("{", "no JSON"), ('{"schema": "holdpoint-results/9"}', "another version"),
                                           ("[]", "another version")])
def test_results_that_cannot_be_read(tmp_path, content, said):
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    done = report(tmp_path)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert not (tmp_path / "index.html").exists()


def test_junit_tells_failure_error_and_skipped_apart(folder):
    root = ET.fromstring(junit(report_rows.read(folder)))
    cases = {case.get("classname"): case for case in root.iter("testcase")}
    assert len(cases) == 5
    installed = cases["ompi-modex-fence.installed"]
    assert not [child.tag for child in installed if child.tag in ("failure", "error", "skipped")]
    failure = cases["ompi-modex-fence.fixed"].find("failure")
    assert failure.get("type") == "other-finding" and "expected clean, got other-finding in 1 of 1" in failure.get("message")
    error = cases["tiny.fixed"].find("error")
    assert error.get("type") == "not-exercised" and "ended by timeout" in error.text
    assert cases["nccl-inspector.installed"].find("skipped").get("message") == "libnccl is not installed (Debian: libnccl2)"
    properties = {p.get("name"): p.get("value") for p in installed.iter("property")}
    assert properties["signatures"] == "open-mpi/ompi#14302" and properties["plan_hash"] == HASH
    said = installed.find("system-out").text
    assert "done     reach at_exit  rank 0, thread 101" in said and "libmpi.so.40!fence_release ompi_mpi_init.c:381" in said


def test_junit_counts_of_the_suites_add_up(folder):
    root = ET.fromstring(junit(report_rows.read(folder)))
    for suite in root:
        for attribute, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(attribute)) == len(list(suite.iter(tag))), (suite.get("name"), attribute)
    assert [suite.get("name") for suite in root] == ["ompi-modex-fence", "tiny", "nccl-inspector", "hostile"]


def test_texts_of_others_cannot_break_a_report(folder):
    assert report(folder, "--quiet").returncode == 0
    ET.fromstring((folder / "junit.xml").read_bytes())
    page = (folder / "index.html").read_text()
    assert "<script" not in page and "&lt;script&gt;" in page
    row = next(line for line in (folder / "summary.md").read_text().splitlines() if "hostile" in line and line.startswith("|"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 10 and "<script" not in row, row


def swept(*elements, kind="over", note=""):
    """The sample with its first row made a sweep: (name, fired, verdict) each."""
    about = sample()
    about["verdicts"][0].update(of_verdict=1, sweep={
        "kind": kind, "fired": sum(fired for _, fired, _ in elements), "note": note, "elements": [
            {"name": name, "fired": fired, "verdict": verdict, "reason": f"because of {name}", "trial": "sample-0-t1"}
            for name, fired, verdict in elements]})
    return about


def test_a_sweep_is_a_table_of_its_elements(folder):
    about = swept(("ompi_win_init", True, "reproduced"), (HOSTILE, False, "not-exercised"), ("gone", False, "error"))
    (folder / "results.json").write_text(json.dumps(about))
    done = report(folder)
    assert done.returncode == 0, done.stderr
    assert "1 of 1 fired" in report_table.table(report_rows.read(folder), width=250)
    page, text = (folder / "index.html").read_text(), (folder / "summary.md").read_text()
    assert "Sweep: 1 of 3 points fired, 1 reproduced" in page and page.count("not fired</span>") == 2, page
    assert "<script" not in page and page.count('<table class="cards sweep">') == 1
    assert "| ompi\\_win\\_init | yes | reproduced | because of ompi\\_win\\_init |" in text, text
    assert "| gone | not fired | error | because of gone |" in text and "1 of 3 points fired, 1 reproduced" in text, text
    assert "&lt;script&gt;" in next(line for line in text.splitlines() if "| not fired |" in line)


def test_a_sweep_that_was_ended_early_says_why(folder):
    about = swept(("nth 1", True, "reproduced"), kind="nth", note="ended after 1000 runs")
    (folder / "results.json").write_text(json.dumps(about))
    assert report(folder, "--quiet").returncode == 0
    for name in ("index.html", "summary.md"):
        assert "1 of 1 runs fired, 1 reproduced; ended after 1000 runs" in (folder / name).read_text(), name


@pytest.mark.parametrize("needed, told", [
    (3, "gate passed at 0.99: the baseline reproduced 20 of 20, a rate of at least 0.794; trials needed: 3"),
    (None, "gate not passed at 0.99: the baseline reproduced 0 of 20")])
def test_what_a_gate_came_to_is_one_line_everywhere(folder, needed, told):
    about = sample()
    about["verdicts"][0]["gate"] = {"confidence": 0.99, "baseline_reproduced": 20 if needed else 0, "baseline_trials": 20,
                                    "rate_at_least": 0.79433 if needed else 0, "trials_needed": needed, "passed": bool(needed)}
    (folder / "results.json").write_text(json.dumps(about))
    done = report(folder)
    assert done.returncode == 0 and f"{told}\n" in done.stdout and done.stdout.count(told) == 1, done.stdout + done.stderr
    page, text = (folder / "index.html").read_text(), (folder / "summary.md").read_text()
    assert page.count(f"<p>{told}</p>") == 1 and text.splitlines().count(told) == 1, text


def test_the_page_fetches_nothing(folder):
    report(folder, "--quiet")
    page = (folder / "index.html").read_text()
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", page) and "url(" not in page and "@import" not in page


def test_the_page_shows_every_part_of_a_trial(folder):
    report(folder, "--quiet")
    page = (folder / "index.html").read_text()
    for text in ("open-mpi/ompi#14302", "reach at_exit", "fail init_step rank 5 return -1", "fence_release", "ompi_mpi_init.c:381", "dead-frame",
                 "0-31", "0-30", "signal 11", "no step was done for 5 s", "rank 1: expected exit 0, got 3", "a suspect", "brought about by the plan",
                 "0123abcd", "holdpoint run tiny --variant fixed", "call:libmpi.so.40!init: 2", "timed out", "8.0 GiB"):
        assert text in page, text
    assert page.count("<svg") == 5


def test_the_picture_has_a_lane_a_thread_and_bars_from_reach_to_pass():
    drawn = report_picture.picture(trial(0, 1))
    assert [lane["label"] for lane in drawn.lanes] == ["rank 0, thread 101", "rank 0, thread 102", "rank 5, thread 105"]
    assert [mark["kind"] for mark in drawn.marks] == ["reach", "fault", "reach", "pass", "reach", "pass"]
    at = {(mark["kind"], mark["text"]): mark for mark in drawn.marks}
    for bar, point in zip(drawn.bars, ("at_exit", "at_lock")):
        start, stop = at["reach", f"reach {point}"], at["pass", f"pass {point}"]
        assert (bar["x"], bar["x"] + bar["width"], bar["y"]) == (start["x"], stop["x"], start["y"]), bar
    assert len({mark["x"] for mark in drawn.marks}) == 6 and drawn.width >= max(mark["x"] for mark in drawn.marks)


def test_the_picture_shows_what_never_came_to_be():
    unfinished = sample()["trials"][4]
    drawn = report_picture.picture(unfinished)
    assert [(mark["kind"], mark["text"]) for mark in drawn.marks] == [("reach", "reach at_exit"), ("never", "reach at_lock"), ("never", "pass at_exit")]
    assert [column["text"] for column in drawn.columns] == ["0.084 ms", "timeout", "pending"]
    assert drawn.bars[0]["ended"] == "released"


def test_the_picture_shows_the_hold_of_a_fault_and_the_finding():
    hold = {**trial(0, 1)["faults"][0], "text": "hold fence_done rank 5 until returned", "point": "fence_done", "released": 1}
    drawn = report_picture.picture(trial(0, 1, steps=[step("reach returned", 1, rank=5, at=20.0)], holds=[], faults=[hold],
                                         findings=[finding(at_ms=21.0)],
                                         timeline=[{"at_ms": 20.5, "event": "fault-end", "rank": 5, "pid": 105, "tid": 201, "fault": hold["text"]}]))
    assert [(mark["kind"], mark["text"]) for mark in drawn.marks] == [("fault", hold["text"]), ("reach", "reach returned"),
                                                                    ("found", "stack-use-after-return")]
    assert [(bar["x"], bar["x"] + bar["width"], bar["ended"]) for bar in drawn.bars] == [(drawn.marks[0]["x"], drawn.marks[1]["x"], "pass")]
    endless = report_picture.picture(trial(0, 1, steps=[], holds=[], faults=[{**hold, "released": 0}], timeline=[]))
    assert endless.bars[0]["ended"] == "never"


def test_the_picture_of_a_hold_without_a_reach_and_of_many_threads():
    alone = trial(0, 1, steps=[step("pass a", 1, at=50.0)], faults=[],
                  holds=[{"point": "a", "rank": 0, "pid": 100, "tid": 101, "arrival": 1, "from_ms": 10.0, "to_ms": 50.0, "ended": "pass"}])
    drawn = report_picture.picture(alone)
    assert [mark["kind"] for mark in drawn.marks] == ["stands", "pass"]
    assert drawn.bars[0]["x"] == drawn.marks[0]["x"] and drawn.bars[0]["x"] + drawn.bars[0]["width"] == drawn.marks[1]["x"]
    crowd = trial(0, 1, holds=[], faults=[], steps=[step("reach a", 1, rank=rank, tid=rank, at=float(rank + 1)) for rank in range(32)])
    assert report_picture.picture(crowd).left_out == 22 and len(report_picture.picture(crowd).lanes) == 10
    assert report_picture.picture(trial(0, 1, steps=[], holds=[], faults=[])) is None


def test_markdown_names_each_surprise_and_how_to_repeat_it(folder):
    text = report_markdown.markdown(report_rows.read(folder))
    assert text.count("\n## ") == 4 and "Again: `holdpoint run tiny --variant fixed`" in text
    assert "late-callback, init, 32 ranks" in text and "1 as expected, 2 not as expected" in text


def test_the_table_is_cut_to_the_terminal(folder):
    results = report_rows.read(folder)
    rows = report_table.table(results, width=60).splitlines()[:6]
    assert max(map(len, rows)) == 60 and all(line.endswith("…") for line in rows if len(line) == 60)
    assert "\033[32m" in report_table.table(results, colour=True, width=200)


def test_nothing_ran(tmp_path):
    empty = {**sample(), "verdicts": [], "trials": []}
    (tmp_path / "results.json").write_text(json.dumps(empty))
    done = report(tmp_path)
    assert done.returncode == 0 and "nothing ran" in done.stdout, done.stderr
    assert ET.parse(tmp_path / "junit.xml").getroot().tag == "testsuites"
