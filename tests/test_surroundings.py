"""The runner's own surroundings: closed files, limits, full disks. The trial works, or the error says what to do."""
import os
import subprocess
from pathlib import Path

import pytest

from laboratory import lines, processes_with

PLAN = 'plan: p\npoints: {a: {hook: "call:libt.so!a"}}\nsteps: [reach a]\n'
CALLS_A = 'int main(void) { a(1); say("program ran"); return 0; }'


def through_a_shell(lab, line, plan=PLAN, body=CALLS_A):
    """`holdpoint exec` as "$@" of a shell's line, all in a process group of its own; returns (exit code, stderr, out)."""
    out, token = lab.folder / "out", f"SURROUNDINGS_{os.getpid()}_{lab.folder.name}"
    process = subprocess.run(
        ["sh", "-c", line, "sh", lab.holdpoint.program, "exec", "--plan", lab.holdpoint.plan_file(plan), "--out", out, "--",
         lab.program(body)], capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "TOKEN": token})
    assert processes_with(token) == [], process
    return process.returncode, process.stderr, out


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_standard_files_change_nothing(lab, closed):
    rc, _, out = through_a_shell(lab, f'exec "$@" {closed}')
    assert rc == 0 and '"verdict": "clean"' in (out / "results.json").read_text()


def test_a_limit_of_file_size_is_named(lab):
    rc, stderr, _ = through_a_shell(lab, 'ulimit -f 10; exec "$@"')
    assert rc == 125 and "ulimit -f" in stderr and "board" in stderr, (rc, stderr)


def test_a_program_keeps_its_own_way_with_a_limit_of_file_size(lab):
    rc, stderr, out = through_a_shell(lab, 'ulimit -f 20000; exec "$@"', body="""
int main(void) { a(1); struct sigaction now; sigaction(SIGXFSZ, NULL, &now); return now.sa_handler != SIG_DFL; }""")
    assert rc == 0, (rc, stderr, out)


def test_the_runtime_that_a_component_needs_stands_first_and_is_told_to_nobody_else(lab):
    program = lab.program('int main(void) { a(1); say(getenv("LD_PRELOAD")); say(getenv("HOLDPOINT_RUNTIME") ? "told" : "not told"); return 0; }')
    r = lab.holdpoint.exec(PLAN, ["env", f"HOLDPOINT_RUNTIME={lab.library}", "holdpoint", "rank", program], ranks=1)
    preload, told = lines(r)
    assert preload.startswith(f"{lab.library}:") and "libholdpoint.so" in preload and told == "not told" and r.verdict == "clean", r


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if line.split()[-2] != "A"}


def test_nothing_of_ours_is_visible_but_what_stands_before_a_function(lab):
    shim = Path(lab.holdpoint.program).parent / "libholdpoint.so"
    libc = next(line.split()[2] for line in subprocess.run(["ldd", lab.holdpoint.program], capture_output=True, text=True,
                                                           check=True).stdout.splitlines() if line.strip().startswith("libc.so.6"))
    ours = {name for name in exported(shim) if not name.startswith("PMIx_")}
    assert len(ours) > 50 and ours - exported(libc) == set(), ours - exported(libc)


@pytest.mark.parametrize("flags", [[], ["-fsanitize=thread"], ["-fsanitize=address"]])
def test_a_wait_on_a_condition_arrives_whoever_asks_for_its_original(lab, flags):
    plan = 'plan: p\npoints: {w: {hook: cond.wait, side: asleep}, s: {hook: cond.signal}}\nsteps: [reach w, reach s]'
    r = lab.run(plan, """static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t cond = PTHREAD_COND_INITIALIZER; static int set;
        static void *f(void *u) { nap(200); pthread_mutex_lock(&m); set = 1; pthread_cond_signal(&cond); pthread_mutex_unlock(&m); return u; }
        int main(void) { pthread_t t = go(f); pthread_mutex_lock(&m); while (!set) pthread_cond_wait(&cond, &m); pthread_mutex_unlock(&m);
        join(t); return 0; }""", *flags)
    assert r.verdict == "clean" and r.rc == 0, r
