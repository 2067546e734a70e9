"""What the commands say of the machine, of a program and of their own progress, and where the board lies."""
import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

from laboratory import compile_c
from test_verdicts import REACH_A, scenario

CALLS_A = "int main(void) { a(1); return 0; }"


def test_doctor_says_what_a_trial_needs_and_what_to_do(lab, tmp_path):
    r = lab.holdpoint.call("doctor", "--out", tmp_path)
    said = {line.split()[1]: line for line in r.stdout.splitlines()}
    assert r.rc == 0 and said["shim"].startswith("has") and said["shim"].endswith("loads") and str(tmp_path) in said["output"], r.stdout
    alone = shutil.copy2(lab.holdpoint.program, tmp_path / "holdpoint")
    r = subprocess.run([alone, "doctor", "--out", tmp_path / "nowhere"], capture_output=True, text=True, check=False)
    needs = {line.split()[1]: line for line in r.stdout.splitlines() if line.startswith("NEEDS")}
    assert r.returncode == 125 and set(needs) == {"rank", "shim", "output"} and "make" in needs["shim"], r.stdout


def test_doctor_names_a_shim_that_does_not_load(lab, tmp_path):
    for part in ("holdpoint", "holdpoint-rank"):
        shutil.copy2(Path(lab.holdpoint.program).parent / part, tmp_path / part)
    (tmp_path / "libholdpoint.so").write_text("no library")
    r = subprocess.run([tmp_path / "holdpoint", "doctor"], capture_output=True, text=True, check=False)
    assert r.returncode == 125 and "does not load" in r.stdout and "rebuild" in r.stdout, r.stdout


def test_hooks_of_a_program_names_each_way_and_module(lab):
    r = lab.holdpoint.call("hooks", lab.program(CALLS_A))
    ways = {line.split()[0]: line for line in r.stdout.splitlines()[1:]}
    assert r.rc == 0 and "slots, called from program1" in ways["libt.so"] and "way 1" in ways["lock.acquire"], r.stdout
    assert "none of the program's own has it" in ways["pmix.fence_nb"] and "none" not in ways["thread.exit"], r.stdout


@pytest.mark.skipif(not shutil.which("mpirun"), reason="mpirun is not installed")
def test_the_launcher_that_was_asked_for_starts_the_ranks(lab):
    r = lab.run(REACH_A, 'int main(void) { a(1); return !getenv("OMPI_COMM_WORLD_RANK"); }', ranks=2, arguments=["--launcher", "mpirun"])
    assert r.verdict == "clean" and r.row["launcher"] == r.trial["launcher"] == "mpirun", r
    r = lab.run(REACH_A, CALLS_A, arguments=["--launcher", "rsh"])
    assert r.rc == 129 and "local or mpirun" in r.stderr, r


def test_progress_on_a_terminal_is_one_line_that_goes_away(lab, tmp_path):
    plan = REACH_A.replace("steps: [reach a]", "steps: [pass a, pass a]")
    folder = scenario(tmp_path / "slow")
    (folder / "plan.yaml").write_text(plan)
    master, slave = pty.openpty()
    r = subprocess.run([lab.holdpoint.program, "run", folder, "--component", lab.program("int main(void) { a(1); nap(2000); a(2); return 0; }"),
                        "--out", tmp_path / "out"], stdout=subprocess.PIPE, stderr=slave, text=True, check=False)
    os.close(slave)
    drawn = os.read(master, 65536).decode()
    os.close(master)
    assert r.returncode == 0 and "\n" not in drawn and drawn.endswith("\r\033[K"), repr(drawn)
    assert "slow given, p, 1 rank, trial 1 of 1" in drawn and "step 2 of 2, pass a" in drawn, repr(drawn)


NETWORK = """
#include <string.h>
#include <sys/vfs.h>
int statfs(const char *path, struct statfs *s) { (void)path; memset(s, 0, sizeof *s); s->f_type = 0x6969; return 0; } /* NFS */
"""


@pytest.mark.parametrize("keep", [[], ["--keep"]], ids=["dropped", "kept"])
def test_on_a_network_file_system_the_board_lies_on_a_local_disk(lab, tmp_path, keep):
    (tmp_path / "network.c").write_text(NETWORK)
    network = compile_c(tmp_path / "network.so", [tmp_path / "network.c"], "-shared", "-fPIC")
    r = lab.run(REACH_A, CALLS_A, arguments=keep, env={"LD_PRELOAD": str(network)})
    board = r.out / r.trial["folder"] / "board"
    assert r.verdict == "clean" and board.is_symlink() == bool(keep), r
    if keep:
        lies = Path(os.readlink(board))
        assert str(lies).startswith(("/dev/shm/holdpoint.", "/tmp/holdpoint.")) and lies.stat().st_mode & 0o777 == 0o600, lies
        assert lab.holdpoint.call("collect", board.parent).rc == 0
        shutil.rmtree(lies.parent)
