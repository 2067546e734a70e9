"""Bad input: a clear error with its place, or a verdict with its reason; and nothing left behind."""
import os
import time
import shutil
import tempfile
from pathlib import Path

import pytest

from laboratory import in_order, processes_with

PLAN = 'plan: p\npoints: {a: {hook: "call:libt.so!a"}}\nsteps: [reach a]\n'
CALLS_A = 'int main(void) { a(1); say("program ran"); return 0; }'

WRONG_PLANS = {  # text, what the error must say, its line
    "unknown key": ("plan: p\nponits: {}\n", "points", 2),
    "unknown key of a point": ('plan: p\npoints:\n  a: {hook: "call:libt.so!a", sied: return}\n', "side", 3),
    "wrong type": ("plan: p\npoints: [a, b]\n", "points", 2),
    "number wanted": ('plan: p\npoints:\n  a: {hook: "call:libt.so!a", nth: many}\n', "many", 3),
    "unknown hook": ("plan: p\npoints:\n  a: {hook: thread.strat}\n", "thread.start", 3),
    "unknown point": ('plan: p\npoints: {at_exit: {hook: thread.exit}}\nsteps: [reach at_exti]\n', "at_exit", 3),
    "no step": ('plan: p\npoints: {a: {hook: thread.exit}}\nsteps: [wait a]\n', "reach", 3),
    "key twice": ("plan: p\nplan: q\n", "plan", 2),
    "detector of a later version": ("plan: p\ndetect: [handles]\n", "handles", 2),
    "broken yaml": ("plan: p\npoints: {a: [\n", "", 0),
    "empty": ("", "", 0),
    "no mapping": ("- a\n- b\n", "", 1),
    "negative time": ("plan: p\ntimeout: -5s\n", "-5s", 2),
    "fault that cannot be": ('plan: p\npoints: {a: {hook: thread.exit}}\nfaults: [{at: a, do: fail, return: 0}]\n', "fail", 3),
}


@pytest.mark.parametrize("case", WRONG_PLANS, ids=lambda name: name.replace(" ", "-"))
def test_a_wrong_plan_is_refused_at_its_line(lab, case):
    text, word, line = WRONG_PLANS[case]
    for r in (lab.run(text, CALLS_A), lab.holdpoint.call("plan", "check", lab.holdpoint.plan_file(text))):
        assert r.rc == 129 and "program ran" not in r.stdout, r
        assert word in r.stderr and f".yaml:{line}:" in r.stderr if line else ".yaml" in r.stderr, r
    assert "errno" not in r.stderr and "Segmentation" not in r.stderr, r


def test_a_plan_that_is_right_passes_the_check(lab):
    assert lab.holdpoint.call("plan", "check", lab.holdpoint.plan_file(PLAN)).rc == 0


def test_the_check_shows_each_point_as_the_plan_says_it(lab):
    text = 'plan: p\npoints: {a: {hook: lock.acquire, within: conn.teardown}, b: {hook: cond.wait, within: a}}\nsteps: [reach a, reach b]\n'
    r = lab.holdpoint.call("plan", "check", lab.holdpoint.plan_file(text))
    assert r.rc == 0 and "a: lock.acquire, side enter, within conn.teardown\n" in r.stdout, r
    assert "b: cond.wait, side enter, within a\n" in r.stdout, r


@pytest.mark.parametrize("content", [b"plan: p\n" + b"# filler\n" * 120_000, os.urandom(5000), b"\0" * 100],
                         ids=["one-megabyte", "random-bytes", "zeros"])
def test_a_huge_or_binary_plan_is_refused(lab, content):
    file = lab.folder / "odd.yaml"
    file.write_bytes(content)
    r = lab.holdpoint.exec(file, lab.program(CALLS_A))
    assert r.rc == 129 and "odd.yaml" in r.stderr and len(r.stderr) < 2000, r


def test_the_holdpoint_program_itself_is_no_plan(lab):
    r = lab.holdpoint.call("plan", "check", lab.holdpoint.program)
    assert r.rc == 129 and r.stderr.count("\n") <= 3, r


def test_a_missing_plan_or_scenario_is_named(lab):
    r = lab.holdpoint.exec(Path("/nowhere/plan.yaml"), "/bin/true")
    assert r.rc == 129 and "/nowhere/plan.yaml" in r.stderr, r
    r = lab.holdpoint.run("tinny")
    assert r.rc == 129 and "tiny" in r.stderr, r


def test_a_missing_program_is_named(lab):
    r = lab.holdpoint.exec(PLAN, "/nowhere/program")
    assert r.rc == 125 and r.verdict == "error" and "/nowhere/program does not exist" in r.reason, r


def test_a_misspelt_function_offers_the_nearest(lab):
    r = lab.run('plan: p\npoints: {a: {hook: "call:libt.so!sleepi"}}\nsteps: [reach a]\n', CALLS_A)
    assert r.rc == 125 and r.verdict == "not-exercised" and "plan1.yaml:2:" in r.stderr and "sleepy" in r.stderr, r


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a setuid program")
def test_a_setuid_program_is_not_exercised(lab):
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    try:
        os.chmod(folder, 0o755)
        program = shutil.copy(lab.program("int main(void) { return 0; }"), folder / "setuid")
        os.chown(program, 65534, 65534)
        os.chmod(program, 0o4755)
        r = lab.holdpoint.exec("plan: bare", program)
        assert r.verdict == "not-exercised" and r.rc == 125 and "setuid" in r.reason, r
    finally:
        shutil.rmtree(folder)


SCRIPT = '#!/bin/sh\necho script\n"%s"\necho after\n'


def script(lab):
    file = lab.folder / "start.sh"
    file.write_text(SCRIPT % lab.program(CALLS_A, name="realprogram"))
    file.chmod(0o755)
    return file


def test_a_shell_script_that_starts_the_program_without_follow_is_not_exercised(lab):
    r = lab.holdpoint.exec(PLAN, script(lab))
    in_order(r, "script", "program ran", "after")
    assert r.verdict == "not-exercised" and "follow" in r.reason, r


@pytest.mark.parametrize("follow", ["children", "realprogram"])
def test_a_shell_script_that_starts_the_program_works_with_follow(lab, follow):
    r = lab.holdpoint.exec(PLAN + f"follow: {follow}\n", script(lab))
    in_order(r, "script", "program ran", "after")
    assert r.verdict == "clean" and r.rc == 0, r


def shared_memory():
    return set(os.listdir("/dev/shm"))


@pytest.mark.parametrize("plan, body, status", [
    (PLAN, CALLS_A, 0),
    (PLAN, "int main(void) { a(1); char *p = malloc(4096); free(p); free(p); return 0; }", 1),
    (PLAN, 'int main(void) { if (fork() == 0) { setsid(); nap(60000); } a(1); return 0; }', 0),
    ("plan: [", CALLS_A, 129),
    (PLAN, "int main(void) { signal(SIGTERM, SIG_IGN); a(1); for (;;) pause(); }", 1),
], ids=["clean", "crash", "daemon", "wrong-plan", "hang"])
def test_nothing_is_left_behind(lab, plan, body, status, tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    shm, token = shared_memory(), f"LEFTOVER_{os.getpid()}_{tmp_path.name}"
    r = lab.run(plan, body, env={"TMPDIR": str(temporary), "TOKEN": token}, arguments=["--timeout", "4s"])
    assert r.rc == status, r
    assert processes_with(token) == [], r
    end = time.monotonic() + 20  # what tests beside this one have there is gone by then
    while not shared_memory() <= shm and time.monotonic() < end:
        time.sleep(0.2)
    assert shared_memory() <= shm, shared_memory() - shm
    assert os.listdir(temporary) == [], os.listdir(temporary)


@pytest.mark.parametrize("arguments", [["frobnicate"], ["run"], ["exec"], ["exec", "--", "true"], ["run", "tiny", "--ranks", "many"],
                                       ["run", "tiny", "--variant", "no-such"], ["collect"], ["collect", "/nowhere"], ["plan", "chekc"]],
                         ids=" ".join)
def test_wrong_usage_is_129_with_a_hint(lab, arguments):
    r = lab.holdpoint.call(*arguments)
    assert r.rc == 129 and r.stderr.strip() and "errno" not in r.stderr, r


@pytest.mark.parametrize("command", ["run", "exec", "rank", "collect", "plan", "hooks", "doctor"])
def test_every_command_has_its_help(lab, command):
    r = lab.holdpoint.call(command, "--help")
    assert r.rc == 0 and command in r.stdout and len(r.stdout) > 60, r


def test_hooks_of_a_program_tells_what_can_be_hooked(lab):
    everything = lab.holdpoint.call("hooks")
    assert everything.rc == 0 and "thread.exit" in everything.stdout, everything
    r = lab.holdpoint.call("hooks", "--all", lab.program(CALLS_A))
    assert r.rc == 0 and "call:libt.so!a" in r.stdout and "call:libt.so!b" not in r.stdout, r
