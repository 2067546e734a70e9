"""Scenario ompi-modex-fence on three releases of Open MPI: the one that is installed here, and those of Debian trixie and sid,
each in a folder (ci/rootfs.sh). Which steps of the initialisation are affected is the table in the scenario's README, which
is what the sweeps are compared with."""
import re
import shutil
import subprocess

import pytest

from laboratory import REPO
from holdpoint_pytest import Result

BUG = "open-mpi/ompi#14302"
CAUGHT = "a store there was caught at its instruction"
RELEASES = {"4.1.4": None, "5.0.7": "trixie", "6.0.0rc2": "sid"}

pytestmark = [pytest.mark.full, pytest.mark.skipif(not shutil.which("mpirun"), reason="mpirun is not installed")]


class Release:
    """Runs holdpoint where one release of Open MPI is installed."""

    def __init__(self, version, holdpoint, folder):
        self.version, self.suite, self.holdpoint, self.folder = version, RELEASES[version], holdpoint, folder

    def call(self, *arguments):
        """In the folder of its suite."""
        process = subprocess.run([REPO / "ci" / "rootfs.sh", "--out", self.folder, self.suite, "build/holdpoint", *map(str, arguments)],
                                 capture_output=True, text=True, check=False, timeout=3600)
        if process.returncode == 125 and "rootfs.sh: missing" in process.stderr:
            pytest.skip(process.stderr.strip())
        return Result(process, self.folder)

    def run(self, plan, *arguments):
        arguments = ("ompi-modex-fence", "--variant", "installed", "--plan", plan, *arguments)
        result = self.call("run", *arguments) if self.suite else self.holdpoint.run(*arguments)
        found = result.row["component"].split()[-1]
        if self.suite == "sid" and found != self.version:
            pytest.skip(f"sid has Open MPI {found} by now")
        assert found == self.version, result
        return result


@pytest.fixture
def release(holdpoint, tmp_path, request):
    return Release(request.param, holdpoint, tmp_path / "out")


def on(*versions):
    return pytest.mark.parametrize("release", versions, indirect=True)


def bugs(trial):
    return [found for found in trial["findings"] if found["known_id"] == BUG]


@on("5.0.7", "6.0.0rc2")
@pytest.mark.parametrize("ranks, trials", [(2, 20), (32, 3)])
def test_late_callback_of_sessions_20_of_20_and_3_of_3_at_32(release, ranks, trials):
    r = release.run("session-late-callback", "--ranks", ranks, "--trials", trials)
    assert r.rc == 0 and (r.row["reproduced"], r.row["trials"]) == (trials, trials), r
    for trial in r.json["trials"]:
        assert len(bugs(trial)) == 1 and CAUGHT in bugs(trial)[0]["text"] and len(trial["ranks"]) == ranks, bugs(trial)
        assert all(step["state"] == "done" for step in trial["steps"]), trial["steps"]


@on("5.0.7", "6.0.0rc2")
def test_late_callback_of_the_classic_path(release):
    r = release.run("late-callback", "--ranks", 2, "--trials", 5)
    assert r.rc == 0 and r.row["reproduced"] == 5 and all(CAUGHT in bugs(t)[0]["text"] for t in r.json["trials"]), r


def affected(version, call):
    """The column of the README's table: {function: whether it is affected}."""
    rows = [[cell.strip(" `") for cell in line.strip("| \n").split("|")]
            for line in (REPO / "scenarios" / "ompi-modex-fence" / "README.md").read_text().splitlines() if line.startswith("|")]
    heads = [row for row in rows if row[0] == "function that fails"]
    assert len(heads) == 1, heads
    column = [re.sub("`", "", head) for head in heads[0]].index(f"{version} {call}")
    functions = [row for row in rows if re.fullmatch("(ompi|mca)_[a-z_0-9]+", row[0]) and len(row) == len(heads[0])]
    assert {row[column] for row in functions} <= {"affected", "–"}, functions
    return {row[0]: row[column] == "affected" for row in functions}


@on(*RELEASES)
@pytest.mark.parametrize("plan, call", [("sweep", "MPI_Init"), ("session-sweep", "MPI_Session_init"), ("ft", "MPI_Init")])
def test_the_sweeps_come_out_as_the_table_says(release, plan, call):
    if release.version == "4.1.4" and plan != "sweep":
        pytest.skip("4.1.4 has neither Sessions nor fault tolerance")
    r = release.run(plan, "--ranks", 2)
    elements = {element["name"]: element for element in r.row["sweep"]["elements"]}
    said = {name: told for name, told in affected(release.version, call).items() if name in elements}
    assert said == {name: element["fired"] for name, element in elements.items()} and any(said.values()), r
    for trial, element in zip(r.json["trials"], r.row["sweep"]["elements"]):
        assert not element["fired"] or (element["verdict"] == "reproduced" and CAUGHT in bugs(trial)[0]["text"]), (element, trial["findings"])


@on(*RELEASES)
@pytest.mark.parametrize("plan", ["heal", "session-heal"])
def test_heal_keeps_the_canary_and_the_verdict_says_reproduced_healed(release, plan):
    if release.version == "4.1.4" and plan != "heal":
        pytest.skip("4.1.4 has no Sessions")
    r = release.run(plan, "--ranks", 2, "--trials", 3)
    assert r.rc == 0 and (r.row["verdict"], r.row["reproduced"]) == ("reproduced", 3), r
    for trial in r.json["trials"]:
        assert [found["healed"] for found in bugs(trial)] == [True] and "healed" in trial["reason"], trial
        assert not trial["missing"] and "canary=intact" in (r.out / "trials" / trial["id"] / "rank.0.out").read_text(), trial


@on("5.0.7")
def test_a_late_peer_is_enough_for_5_0(release):
    r = release.run("late-peer", "--trials", 5)
    assert r.rc == 0 and r.row["reproduced"] == 5 and all(CAUGHT in bugs(t)[0]["text"] for t in r.json["trials"]), r
    assert [fault["text"].split()[1] for fault in r.faults] == ["still_waiting"], r.faults


@on(*RELEASES)
def test_a_lookup_that_finds_nothing_is_survived_and_nothing_is_flagged(release):
    for plan in ("lookup-fails", "session-lookup-fails")[:1 if release.version == "4.1.4" else 2]:
        r = release.run(plan, "--trials", 3)
        assert r.rc == 0 and r.verdict == "clean" and r.findings == [] and r.faults[0]["fired"] == 1, r


@on("6.0.0rc2")
def test_6_0_needs_no_option_at_all(release):
    """Async modex is on by default there: nothing is in the environment."""
    folder = "scenarios/ompi-modex-fence/plans/session-late-callback.yaml"
    r = release.call("exec", "--plan", folder, "--ranks", 2, "--trials", 3, "--expect", "reproduced", "--", "mpirun", "--allow-run-as-root",
                     "--oversubscribe", "-np", 2, "holdpoint", "rank", "build/scenarios/ompi-modex-fence/workload/session", "/nonexistent")
    assert r.rc == 0 and r.row["reproduced"] == 3, r
