"""semantics.md, Verdicts: what a verdict needs, and what takes it away."""
import json
import subprocess

import pytest
import yaml

from laboratory import compile_c, lines

REACH_A = 'plan: reach-a\npoints: {a: {hook: "call:libt.so!a"}}\nsteps: [reach a]\n'
FREE_TWICE = 'char *p = malloc(4096); free(p); free(p);'


def scenario(folder, **about):
    """A scenario in a folder of its own; its component is given by path."""
    folder.mkdir(exist_ok=True)
    (folder / "plan.yaml").write_text(REACH_A)
    (folder / "scenario.yaml").write_text(yaml.safe_dump({
        "scenario": folder.name, "title": "made by a test", "component": {"kind": "program", "what": "test"},
        "variants": {"made": {"make": "program"}},
        "workloads": {"w": {"program": "{component}", "launcher": "local", "ranks": [1], **about.pop("workload", {})}},
        "plans": {"p": {"file": "plan.yaml", "signature": "double-free", "expect": {"made": "clean"}}}, **about}))
    return folder


def test_verdict_02_what_a_rank_executes_afterwards_takes_nothing_away(lab):
    r = lab.run(REACH_A, 'int main(void) { a(1); execl("/bin/true", "true", (char *)0); return 1; }')
    assert r.verdict == "clean" and r.rc == 0, r


def test_verdict_01_reproduced_is_a_finding_after_the_first_step(lab):
    r = lab.run(REACH_A, "int main(void) { a(1); " + FREE_TWICE + " return 0; }")
    assert r.verdict == "reproduced" and r.rc == 1 and "double-free" in r.kinds, r


def test_verdict_01_a_finding_before_the_plan_began_is_another_finding(lab):
    r = lab.run(REACH_A, "int main(void) { " + FREE_TWICE + " a(1); return 0; }")
    assert r.verdict == "other-finding" and "double-free" in r.kinds, r


def test_verdict_01_not_exercised_comes_before_clean(lab):
    r = lab.run(REACH_A, "int main(int argc, char **argv) { (void)argv; return argc > 9 ? a(1) : 0; }")
    assert r.verdict == "not-exercised" and r.rc == 125, r
    assert "reach a" in r.reason, r


def test_verdict_02_a_rank_must_end_as_the_outcome_says(lab):
    r = lab.run(REACH_A, "int main(void) { a(1); return 3; }")
    assert r.verdict == "not-exercised" and r.rc == 125 and "expected exit 0, got 3" in r.reason, r


def test_verdict_02_a_rank_that_never_checked_in_is_not_exercised(lab):
    program = lab.folder / "static"
    (lab.folder / "s.c").write_text("int main(void) { return 0; }")
    compile_c(program, [lab.folder / "s.c"], "-static")
    r = lab.holdpoint.exec("plan: bare", program)
    assert r.verdict == "not-exercised" and r.rc == 125 and "static" in r.reason, r


def test_verdict_02_a_program_that_drops_the_preload_is_not_exercised(lab):
    program = lab.program("int main(void) { return 0; }")
    r = lab.holdpoint.exec("plan: bare", ["/usr/bin/env", "-u", "LD_PRELOAD", program])
    assert r.verdict == "not-exercised", r


def test_verdict_02_a_misspelt_function_is_not_exercised(lab):
    r = lab.run('plan: misspelt\npoints: {a: {hook: "call:libt.so!aa"}}\nsteps: [reach a]',
                "int main(void) { a(1); return 0; }")
    assert r.rc == 125 and r.verdict == "not-exercised" and "call:libt.so!aa: no module calls it" in r.reason, r


def test_verdict_02_a_fault_that_never_fires_is_not_exercised(lab):
    r = lab.run('plan: late\npoints: {a: {hook: "call:libt.so!a"}}\nfaults: [{at: a, do: fail, return: 0, nth: 5}]',
                "int main(void) { a(1); return 0; }")
    assert r.verdict == "not-exercised" and "fail a" in r.reason, r


def test_verdict_02_a_detector_that_is_not_alive_is_an_error(lab):
    r = lab.run(REACH_A + "detect: [asan]", "int main(void) { a(1); return 0; }")
    assert r.verdict == "error" and r.rc == 125 and "asan" in r.reason.lower(), r


def test_verdict_02_a_live_detector_is_proven_in_the_rank(lab):
    r = lab.run(REACH_A + "detect: [asan]", "int main(void) { a(1); return 0; }", "-fsanitize=address")
    assert r.verdict == "clean" and r.rc == 0, r


def test_verdict_02_asan_sees_the_use_after_the_step(lab):
    r = lab.run(REACH_A + "detect: [asan]",
                "int main(void) { char *p = malloc(9); a(1); free(p); return p[3]; }", "-fsanitize=address")
    assert r.verdict == "reproduced" and r.kinds[0] == "heap-use-after-free", r
    assert {s["role"] for s in r.findings[0]["stacks"]} >= {"use", "free", "alloc"}, r.findings


def test_verdict_02_the_workloads_own_mark_is_wanted(lab, tmp_path):
    said, silent = (lab.program("int main(void) { a(1); %s return 0; }" % end)
                    for end in ('say("holdpoint-workload: done");', ""))
    about = scenario(tmp_path / "mark", workload={"mark": True})
    r = lab.holdpoint.run(about, "--component", said)
    assert r.verdict == "clean" and r.rc == 0, r
    r = lab.holdpoint.run(about, "--component", silent)
    assert r.verdict == "not-exercised" and r.rc == 125 and "done" in r.reason, r


def test_verdict_01_the_first_verdict_that_any_trial_has_counts(lab, tmp_path):
    program = lab.program('int main(void) { a(1); if (access("%s/seen", F_OK) == 0) { %s }'
                          ' fclose(fopen("%s/seen", "w")); return 0; }' % (tmp_path, FREE_TWICE, tmp_path))
    r = lab.holdpoint.run(scenario(tmp_path / "two", default={"trials": 2}), "--component", program,
                          "--expect", "reproduced")
    assert [t["verdict"] for t in r.json["trials"]] == ["clean", "reproduced"], r
    assert r.verdict == "reproduced" and r.row["reproduced"] == 1 and r.row["trials"] == 2, r
    assert r.rc == 1 and r.row["as_expected"] is False, r  # expect: reproduced wants it in every trial


def test_verdict_02_a_given_component_built_with_a_sanitizer_must_have_it_alive(lab, tmp_path):
    about = scenario(tmp_path / "built")
    body = 'int main(void) { a(1); return 0; }'
    for flags, sanitizer in (["-fsanitize=address"], "address"), ([], None):
        r = lab.holdpoint.run(about, "--component", lab.program(body, *flags))
        assert r.verdict == "clean" and r.trial["sanitizer"] == sanitizer, r


def test_verdict_07_a_component_given_by_path_is_expected_clean(lab, tmp_path):
    faulty = lab.program("int main(void) { a(1); " + FREE_TWICE + " return 0; }")
    fixed = lab.program("int main(void) { a(1); return 0; }")
    about = scenario(tmp_path / "bypath")
    assert lab.holdpoint.run(about, "--component", faulty).rc == 1
    assert lab.holdpoint.run(about, "--component", fixed).rc == 0
    assert lab.holdpoint.run(about, "--component", faulty, "--expect", "reproduced").rc == 0


DAMAGE = """
int main(void) {
    FILE *board = fopen(getenv("HOLDPOINT_BOARD"), "r+");
    a(1); %s
    return 0;
}"""


@pytest.mark.parametrize("damage", ['fseek(board, 200, SEEK_SET); for (int i = 0; i < 99; i++) fputc(0x5a, board); fclose(board);',
                                    "for (int i = 0; i < 300; i++) fputc(0x5a, board); fclose(board);",  # counts and offsets too
                                    "fflush(board); if (ftruncate(fileno(board), 4096)) return 9; _exit(0);"],
                         ids=["overwritten", "head-overwritten", "truncated"])
def test_verdict_09_a_damaged_board_is_an_error(lab, damage):
    r = lab.run(REACH_A, DAMAGE % damage)
    assert r.verdict == "error" and r.rc == 125 and "board" in r.reason, r


def test_verdict_09_an_exit_code_alone_decides_nothing(lab):
    r = lab.run(REACH_A, 'int main(void) { a(1); fputs("free(): double free detected in tcache 2\\n", stderr); abort(); }')
    assert r.verdict == "reproduced" and "double-free" in r.kinds, r
    quiet = lab.run('plan: exit\npoints: {x: {hook: process.exit}}\nsteps: [reach x]', "int main(void) { exit(0); }")
    assert quiet.verdict == "clean" and quiet.steps == {"reach x": "done"} and lines(quiet) == [], quiet


def test_results_agree_with_their_schema(lab):
    jsonschema = pytest.importorskip("jsonschema")
    from laboratory import REPO
    schema = json.loads((REPO / "reports" / "results.schema.json").read_text())
    for body in ("a(1);", "", "a(1); " + FREE_TWICE):
        jsonschema.validate(lab.run(REACH_A, "int main(void) { %s return 0; }" % body).json, schema)


def test_reports_are_made_from_the_results_alone(lab):
    import sys
    from laboratory import REPO
    r = lab.run(REACH_A, "int main(void) { return 0; }")
    made = subprocess.run([sys.executable, REPO / "reports" / "report.py", r.out], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert "not-exercised" in made.stdout and (r.out / "index.html").exists(), made.stdout
    assert "<error" in (r.out / "junit.xml").read_text() and "not-exercised" in (r.out / "summary.md").read_text()
