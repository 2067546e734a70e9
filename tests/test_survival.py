"""kill -9 of the runner, of the guard, and Ctrl-C: nothing of the trial lives on, and what happened is not lost."""
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from laboratory import processes_with
from test_verdicts import scenario

PLAN = """
plan: held
points: {a: {hook: "call:libt.so!a", rank: 0}, b: {hook: "call:libt.so!b", rank: 0}}
steps: [reach a, reach b, pass a]
timeout: 60s
"""
HANGS = """
int main(void) {
    if (fork() == 0) { setsid(); for (;;) pause(); }
    char *p = malloc(4096);
    a(1); say("never"); free(p); return 0;
}"""


class Running:
    """A trial that stands at a hold, and its processes."""

    def __init__(self, lab, ranks=2):
        self.token, self.out = f"SURVIVAL_{os.getpid()}_{lab.folder.name}", lab.folder / "out"
        self.runner = subprocess.Popen(
            [lab.holdpoint.program, "exec", "--plan", lab.holdpoint.plan_file(PLAN), "--ranks", str(ranks), "--out", self.out,
             "--timeout", "60s", "--", lab.program(HANGS, name="hangs")],
            env={**os.environ, "TOKEN": self.token}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True)
        self.wait_for(lambda: len(self.ranks()) > ranks, "the ranks to start")  # and their daemons
        time.sleep(0.5)  # rank 0 comes to stand at its point

    def ranks(self):
        return [pid for pid in processes_with(self.token) if self.name(pid) == "hangs"]

    def guard(self):
        own = [pid for pid in processes_with(self.token) if self.name(pid) not in ("hangs", "") and pid != self.runner.pid]
        assert len(own) == 1, f"expected one guard, found {[(pid, self.name(pid)) for pid in own]}"
        return own[0]

    @staticmethod
    def name(pid):
        try:
            return Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            return ""

    @staticmethod
    def wait_for(condition, what, seconds=15):
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until, f"waited {seconds} s for {what}"
            time.sleep(0.05)

    def all_gone(self):
        return processes_with(self.token) == []


@pytest.fixture
def running(lab):
    trial = Running(lab)
    yield trial
    for pid in [trial.runner.pid, *processes_with(trial.token)]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    trial.runner.communicate()


def trial_folder(out):
    found = list(Path(out).rglob("board"))
    assert len(found) == 1, f"boards below {out}: {found}"
    return found[0].parent


def test_kill_9_of_the_runner_ends_the_trial_and_collect_rebuilds_it(lab, running):
    os.kill(running.runner.pid, signal.SIGKILL)
    running.wait_for(running.all_gone, "the trial to end after its runner died", seconds=5)
    r = lab.holdpoint.call("collect", trial_folder(running.out))
    assert r.rc == 125 and "reach a" in r.stdout + r.stderr, r


def test_kill_9_of_the_guard_ends_the_trial_with_an_error(lab, running):
    os.kill(running.guard(), signal.SIGKILL)
    running.wait_for(running.all_gone, "the trial to end after its guard died", seconds=5)
    assert running.runner.wait(5) == 125
    r = lab.holdpoint.call("collect", trial_folder(running.out))
    assert "reach a" in r.stdout + r.stderr, r


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_stops_the_tree_and_nothing_else(running, number):
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        os.kill(running.runner.pid, number)
        running.wait_for(running.all_gone, "the trial to end after the interrupt", seconds=5)
        assert running.runner.wait(5) not in (0, 1)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.parametrize("use", ["mapped", "open"])
def test_no_shared_memory_is_left_however_late_it_was_made(lab, use):
    name = f"survival_{os.getpid()}_"
    program = lab.program(r"""
#include <fcntl.h>
#include <sys/mman.h>
int main(int argc, char **argv) {
    char old[99] = "/none", new[99]; int before = -1, maps = argc == 3 && *argv[2] == 'm';
    for (int i = 0;; i++) { /* always one, and never the same for long */
        snprintf(new, sizeof new, "/%s%d", argv[1], i); int fd = shm_open(new, O_CREAT | O_RDWR, 0600);
        if (maps && (ftruncate(fd, 4096) || mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)) return 1;
        close(maps ? fd : before); before = fd; shm_unlink(old); strcpy(old, new); nap(1);
    }
}""")
    for number in (signal.SIGINT, signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
        runner = subprocess.Popen([lab.holdpoint.program, "exec", "--plan", lab.holdpoint.plan_file("plan: bare"), "--out",
                                   lab.folder / "out", "--", program, name, use], stderr=subprocess.PIPE)
        Running.wait_for(lambda: any(x.startswith(name) for x in os.listdir("/dev/shm")), "the program to start")
        runner.send_signal(number)
        runner.communicate()
        Running.wait_for(lambda: processes_with(name) == [], "the trial to end", seconds=5)
        time.sleep(0.3)
        assert [x for x in os.listdir("/dev/shm") if x.startswith(name)] == []


def test_what_a_program_wrote_to_a_file_in_shared_memory_stays(lab):
    file = Path(f"/dev/shm/survival_output_{os.getpid()}")
    program = lab.program(r"""
int main(int argc, char **argv) { (void)argc; FILE *f = fopen(argv[1], "w"); nap(1200); fputs("output", f); fflush(f); nap(60000); return 0; }""")
    r = lab.holdpoint.exec("plan: bare", [program, file], arguments=["--timeout", "2s"])
    try:
        assert "hang" in r.kinds and file.read_text() == "output", r
    finally:
        file.unlink(missing_ok=True)


def test_a_rank_killed_by_sigkill_is_a_finding(lab):
    r = lab.run('plan: killed\npoints: {a: {hook: "call:libt.so!a"}}\nsteps: [reach a]',
                "int main(void) { a(1); kill(getpid(), SIGKILL); return 0; }")
    assert r.verdict == "other-finding" and r.kinds == ["crash"] and r.steps["reach a"] == "done", r


def test_a_rank_that_hangs_is_a_finding_with_its_stacks(lab):
    r = lab.run('plan: hangs\npoints: {a: {hook: "call:libt.so!a"}}\nsteps: [reach a]',
                "int main(void) { a(1); for (;;) pause(); }", arguments=["--timeout", "3s"])
    assert "hang" in r.kinds and r.verdict == "reproduced", r
    assert "pause" in "".join(path.read_text(errors="replace") for path in r.out.rglob("evidence.txt")), r


def test_collect_says_what_the_run_said(lab, tmp_path):
    about = scenario(tmp_path / "collected", plans={"p": {"file": "plan.yaml", "signature": "bug#1", "expect": {"made": "clean"}}})
    (about / "known.yaml").write_text("[{id: bug#1, kind: heap-use-after-free, frames: {use: ['*!reader']}}]")
    program = lab.program("__attribute__((noinline)) static char reader(char *p) { return *p; }\n"
                          "int main(void) { char *p = malloc(10); *p = 0; free(p); a(1); return reader(p); }", "-fsanitize=address")
    r = lab.holdpoint.run(about, "--component", program, "--keep")
    assert r.verdict == "reproduced" and r.row["signatures"] == ["bug#1"], r
    shutil.rmtree(about)  # what is known of the trial is in its folder
    found = lab.holdpoint.call("collect", r.out / r.trial["folder"], "--out", tmp_path / "deep" / "again")
    collected = json.loads((tmp_path / "deep" / "again" / "results.json").read_text())
    assert found.rc == 1 and "reader" in found.stdout and "#0" in found.stdout, found.stdout
    assert collected["verdicts"][0]["verdict"] == "reproduced" and collected["verdicts"][0]["signatures"] == ["bug#1"], found.stdout
    assert collected["trials"][0]["launcher"] == collected["verdicts"][0]["launcher"] == "local", found.stdout
