"""The command line that repeats a trial: a shell takes it as it stands, and the same comes out."""
import subprocess
from pathlib import Path

import pytest

from test_verdicts import FREE_TWICE, REACH_A, scenario


def repeat(lab, line):
    """The line in a shell that finds holdpoint."""
    return subprocess.run(f'PATH="{Path(lab.holdpoint.program).parent}:$PATH"; {line}', shell=True, capture_output=True, text=True,
                          check=False, timeout=60)


@pytest.mark.parametrize("own_plan", [False, True], ids=["plan-of-the-scenario", "plan-file"])
def test_a_row_of_a_scenario_in_a_folder_is_repeated(lab, tmp_path, own_plan):
    folder, plan = scenario(tmp_path / "its own"), tmp_path / "my plan.yaml"
    plan.write_text(REACH_A)
    program = lab.program("int main(void) { a(1); %s return 0; }" % FREE_TWICE, name="it's built")
    r = lab.holdpoint.run(folder, "--component", program, "--plan", plan if own_plan else "p", "--time-scale", "2")
    line = r.trial["again"]
    assert r.rc == 1 and "--time-scale 2" in line and line == r.row["again"], line
    done = repeat(lab, f"{line} --out {tmp_path / 'again'}")
    assert done.returncode == 1 and (tmp_path / "again" / "results.json").exists(), line + done.stderr


def test_exec_is_repeated_with_the_words_it_had(lab):
    program = lab.program('int main(int argc, char **argv) { a(1); for (int i = 1; i < argc; i++) printf("<%s>", argv[i]); return 0; }')
    r = lab.holdpoint.exec(REACH_A, [program, "it's", "", "a (b) `c` $d", "*"])
    done = repeat(lab, r.trial["again"])
    assert done.returncode == 0 and "<it's><><a (b) `c` $d><*>" in done.stdout, r.trial["again"] + done.stderr
