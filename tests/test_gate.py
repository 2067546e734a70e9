"""semantics.md, Verdicts 6: the gate. How often the bug shows fixes how many clean trials a fix owes."""
import json
import shutil

import pytest
import yaml

from laboratory import REPO

REACH_A = 'plan: reach-a\npoints: {a: {hook: "call:libt.so!a"}}\nsteps: [reach a]\n'
FREE_TWICE = "char *p = malloc(4096); free(p); free(p);"
FAULTY, FIXED = "a(1); " + FREE_TWICE, "a(1);"
# Every other run of one folder: the file is there or not, in turn.
SELDOM = 'a(1); if (unlink("%s/odd") != 0) {{ fclose(fopen("%s/odd", "w")); {then} }}'


@pytest.fixture
def gate(lab):
    """gate(faulty, fixed, options…): the plan's gate of a scenario made here, of its variant `fixed` unless told otherwise."""
    def run(faulty, fixed, *options, plan=REACH_A, under_test=("--variant", "fixed"), confidence="0.99", expect="reproduced"):
        variants = {name: body and "int main(void) { %s return 0; }" % body for name, body in (("fixed", fixed), ("faulty", faulty))}
        folder = lab.scenario(plan, variants, {"fixed": "clean", "faulty": expect})
        result = lab.holdpoint.run(folder, "--plan", "p", "--gate", confidence, *under_test, *options)
        if result.json:
            jsonschema = pytest.importorskip("jsonschema")
            jsonschema.validate(result.json, json.loads((REPO / "reports" / "results.schema.json").read_text()))
        return result, result.json["verdicts"] if result.json else []
    return run


def test_verdict_06_twenty_of_twenty_ask_for_three_clean_trials(gate):
    r, (baseline, judged) = gate(FAULTY, FIXED)
    assert r.rc == 0 and baseline["variant"] == "faulty" and judged["variant"] == "fixed", r
    assert baseline["gate"] is None and (baseline["reproduced"], baseline["trials"]) == (20, 20), baseline
    assert judged["verdict"] == "clean" and judged["trials"] == judged["exercised"] == 3, judged
    assert judged["gate"].pop("rate_at_least") == pytest.approx(0.794, abs=0.001)
    assert judged["gate"] == {"confidence": 0.99, "baseline_reproduced": 20, "baseline_trials": 20, "trials_needed": 3,
                              "passed": True}
    assert "gate passed at 0.99: the baseline reproduced 20 of 20, a rate of at least 0.794; trials needed: 3" in r.stdout, r.stdout


def test_verdict_06_a_component_by_path_is_judged_like_a_variant(gate, lab):
    given = lab.program("int main(void) { a(1); return 0; }")
    r, (baseline, judged) = gate(FAULTY, FIXED, "--trials", "2", under_test=("--component", given), confidence="0.9")
    assert r.rc == 0 and baseline["reproduced"] == 2 and judged["variant"] == "given", r
    assert judged["gate"]["trials_needed"] == judged["trials"] == 7 and judged["component"] == str(given), judged
    assert "--variant faulty" in baseline["again"] and f"--component {given}" in judged["again"], r.json["verdicts"]
    assert "--gate 0.9 --trials 2" in judged["again"], judged


def test_verdict_06_a_reproduction_stops_it(gate):
    r, (baseline, judged) = gate(FAULTY, FIXED, "--trials", "4", under_test=("--variant", "faulty"))
    assert r.rc == 1 and baseline["reproduced"] == 4, r
    assert judged["verdict"] == "reproduced" and judged["trials"] == 1 and judged["status"] == 1, judged
    assert judged["gate"]["trials_needed"] == 13, judged
    assert judged["gate"]["passed"] is False and "gate not passed" in r.stdout, r.stdout
    assert len({trial["folder"] for trial in r.json["trials"]}) == 5, "the two rows of one variant share no folder"


def test_verdict_06_nothing_but_a_reproduction_stops_it(gate, tmp_path):
    seldom = SELDOM.format(then="return 3;") % (tmp_path, tmp_path)
    r, (_, judged) = gate(FAULTY, seldom, "--trials", "4", confidence="0.9")
    assert r.rc == 125 and judged["verdict"] == "not-exercised" and judged["gate"]["passed"] is False, r
    assert judged["trials"] == judged["gate"]["trials_needed"] > 1 and judged["of_verdict"] < judged["trials"], judged


def test_verdict_06_a_lower_rate_asks_for_more_trials(gate, tmp_path):
    seldom = SELDOM.format(then=FREE_TWICE) % (tmp_path, tmp_path)
    r, (baseline, judged) = gate(seldom, FIXED, "--trials", "8", confidence="0.9")
    assert (baseline["reproduced"], baseline["trials"], baseline["as_expected"]) == (4, 8, True), baseline
    assert r.rc == 0 and judged["gate"]["rate_at_least"] == pytest.approx(0.2397, abs=0.0001), judged
    assert judged["trials"] == judged["gate"]["trials_needed"] == 9, judged


def test_verdict_06_without_the_bug_in_the_baseline_nothing_can_be_said(gate):
    r, (baseline, judged) = gate(FIXED, FIXED, "--trials", "2")
    assert r.rc == 125 and baseline["reproduced"] == 0 and baseline["trials"] == 2, r
    assert judged["trials"] == 0 and judged["status"] == 125 and "nothing can be said" in judged["reason"], judged
    assert judged["gate"]["trials_needed"] is None and judged["gate"]["rate_at_least"] == 0, judged


@pytest.mark.parametrize("faulty, fixed", [(FAULTY, None), (None, FIXED)], ids=["the-fix", "the-baseline"])
def test_verdict_06_what_was_not_built_passes_no_gate(gate, faulty, fixed):
    r, (_, judged) = gate(faulty, fixed, "--trials", "2")
    assert r.rc == 125 and judged["gate"]["passed"] is False, r


INSTALLED = """
int main(int argc, char **argv) {
    (void)argc;
    a(1);
    const char *libraries = getenv("LD_LIBRARY_PATH");
    if (!libraries || !strstr(libraries, argv[1]) || !strstr(getenv("PATH"), argv[1])) { %s }
    return 0;
}""" % FREE_TWICE


@pytest.mark.skipif(not shutil.which("mpirun"), reason="mpirun is not installed")
def test_verdict_06_an_installation_by_path_does_not_take_part_in_its_own_baseline(lab, tmp_path):
    folder, prefix = tmp_path / "installed", tmp_path / "prefix"
    folder.mkdir()
    (prefix / "bin").mkdir(parents=True)
    (folder / "plan.yaml").write_text(REACH_A)
    (folder / "scenario.yaml").write_text(yaml.safe_dump({
        "scenario": "installed", "title": "made by a test", "component": {"kind": "prefix", "what": "open-mpi"},
        "variants": {"installed": {"find": "open-mpi"}},
        "workloads": {"w": {"program": f"{lab.program(INSTALLED)} {prefix}", "launcher": "local", "ranks": [1]}},
        "plans": {"p": {"file": "plan.yaml", "signature": "double-free", "expect": {"installed": "reproduced"}}}}))
    r = lab.holdpoint.run(folder, "--plan", "p", "--gate", "0.9", "--trials", "4", "--component", prefix)
    baseline, judged = r.json["verdicts"]
    assert r.rc == 0 and baseline["variant"] == "installed" and baseline["reproduced"] == 4, r
    assert judged["verdict"] == "clean" and judged["gate"]["passed"] is True, r


@pytest.mark.parametrize("plan, told", [(REACH_A + "detect: [frames]\nheal: true\n", "heal"),
                                        (REACH_A + "faults: [{at: a, do: fail, return: 0, nth: 1..}]\n", "sweep")],
                         ids=["heal", "sweep"])
def test_verdict_06_a_plan_that_heals_or_sweeps_has_no_gate(gate, plan, told):
    r, rows = gate(FAULTY, FIXED, plan=plan)
    assert r.rc == 129 and not rows and told in r.stderr and "--gate" in r.stderr, r


def test_verdict_06_a_gate_needs_a_variant_with_the_bug(gate):
    r, rows = gate(FAULTY, FIXED, expect="clean")
    assert r.rc == 129 and not rows and "baseline" in r.stderr, r


@pytest.mark.parametrize("options, told", [
    (("--gate", "0.5", "--plan", "p", "--variant", "fixed"), "0.5"),
    (("--gate", "1", "--plan", "p", "--variant", "fixed"), "0.9999"),
    (("--gate", "0.99", "--variant", "fixed"), "--plan"),
    (("--gate", "0.99", "--plan", "lost-wakeup"), "--component"),
    (("--gate", "0.99", "--plan", "./plan.yaml", "--variant", "fixed"), "plan.yaml"),
    (("--gate", "0.99", "--plan", "lost-wakeup", "--variant", "fixed", "--expect", "clean"), "--expect")])
def test_a_gate_says_what_it_needs(lab, options, told):
    r = lab.holdpoint.run("tiny", *options)
    assert r.rc == 129 and not r.json and told in r.stderr, r
