"""ci/rootfs.sh: its refusals, each before anything is made, and that what it started ends with it."""
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from laboratory import REPO, processes_with

TOOL = REPO / "ci" / "rootfs.sh"
AS_ROOT = pytest.mark.skipif(subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0,
                             reason="needs root, and leave to mount")


def rootfs(*arguments, start=(), path=None):
    environment = {**os.environ, **({"PATH": str(path)} if path else {})}
    return subprocess.run([*start, TOOL, *arguments], capture_output=True, text=True, check=False, timeout=60, env=environment)


def only(folder, *programs):
    """A folder for PATH with nothing but these programs."""
    for program in programs:
        where = next(Path(p, program) for p in ("/usr/bin", "/bin", "/usr/sbin", "/sbin") if Path(p, program).exists())
        (folder / program).symlink_to(where)
    return folder


NEEDED = ("bash", "env", "dirname", "readlink", "realpath", "id", "apt-get", "cat")


@pytest.mark.parametrize("arguments, rc, sentence", [
    ([], 129, "SUITE is missing"),
    (["--out"], 129, "--out needs a value"),
    (["--nonsense", "sid"], 129, "unknown option --nonsense"),
    (["../etc"], 129, "'../etc' is not the name of a Debian release"),
    (["--folder", "/", "sid"], 129, "not the root of this machine"),
    (["--limit", "1h", "sid"], 129, "whole seconds"),
])
def test_what_is_written_wrongly_is_refused(arguments, rc, sentence):
    r = rootfs(*arguments)
    assert r.returncode == rc and sentence in r.stderr and "usage:" in r.stderr, r


@pytest.mark.skipif(not Path("/usr/share/debootstrap/scripts").is_dir(), reason="debootstrap is not installed")
def test_a_release_that_debootstrap_does_not_know_is_named(tmp_path):
    r = rootfs("--folder", tmp_path, "bookwurm")
    assert r.returncode == 125 and "knows no release 'bookwurm'" in r.stderr and "bookworm" in r.stderr, r
    assert not any(tmp_path.iterdir())


@AS_ROOT
def test_without_its_tools_it_says_which_packages_to_install(tmp_path):
    path, folder = tmp_path / "path", tmp_path / "folder"
    path.mkdir()
    only(path, *NEEDED)
    r = rootfs("--folder", folder, "trixie", path=path)
    assert r.returncode == 125 and "missing: unshare setpriv debootstrap" in r.stderr, r
    only(path, "unshare")
    r = rootfs("--folder", folder, "trixie", path=path, start=["unshare", "--user"])
    assert r.returncode == 125 and "missing: bwrap mmdebstrap newuidmap" in r.stderr and "run this as root" in r.stderr, r
    assert not folder.exists()


@AS_ROOT
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_it_started_ends_with_it_and_no_mount_is_left(tmp_path, number):
    """In the middle of making a folder: its bootstrap has mounted something, and does not come to an end."""
    path, folder, mark = tmp_path / "path", tmp_path / "folder", f"rootfs-test-{os.getpid()}-{number.value}"
    path.mkdir()
    waits = path / "debootstrap"
    waits.write_text(f"#!/bin/sh\nmkdir -p {folder}/trixie.part && mount -t tmpfs {mark} {folder}/trixie.part "
                     f"&& touch {folder}/mounted && exec sleep 1000\n")
    waits.chmod(0o755)
    before = Path("/proc/self/mounts").read_text()
    run = subprocess.Popen([TOOL, "--folder", folder, "trixie"], stderr=subprocess.DEVNULL,
                           env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}", "HOLDPOINT_TEST_MARK": mark})
    wait_for(lambda: (folder / "mounted").exists())
    assert processes_with(mark)
    run.send_signal(number)
    assert run.wait(timeout=20) in (-number, 128 + number)
    wait_for(lambda: not processes_with(mark))
    assert Path("/proc/self/mounts").read_text() == before


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
