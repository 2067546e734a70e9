"""Fixtures of the end-to-end tests: `lab` compiles small C programs and runs them under a plan."""
import signal
import sys

import pytest

from laboratory import REPO, Lab, compile_c

sys.path.insert(0, str(REPO / "scenarios"))
pytest_plugins = ["holdpoint_pytest"]

# A shell starts a background job with these ignored, and what the tests start would inherit that.
for number, action in {signal.SIGINT: signal.default_int_handler, signal.SIGQUIT: signal.SIG_DFL}.items():
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, action)


@pytest.fixture(scope="session")
def lab_library(tmp_path_factory):
    """libt.so, built once a session."""
    folder = tmp_path_factory.mktemp("lab")
    return compile_c(folder / "libt.so", [REPO / "tests" / "lab.c"], "-shared", "-fPIC")


@pytest.fixture
def lab(holdpoint, tmp_path, lab_library):
    return Lab(holdpoint, tmp_path, lab_library)
