"""A forked program ends as one that was started: its exit code, its words, its folder, its environment."""

import signal
import sys

import pytest
from forked import run_forked


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ("", 0),
        ("raise SystemExit(3)", 3),
        ("raise ValueError('odd')", 1),
        ("import os\nos.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("import os, signal\nsignal.signal(15, signal.SIG_DFL)\nos.kill(os.getpid(), 15)", -signal.SIGTERM),
    ],
    ids=["success", "code", "exception", "killed", "terminated"],
)
def test_the_exit_code_is_that_of_a_started_program(tmp_path, code, ended):
    done = run_forked([sys.executable, "-c", code], tmp_path)

    assert done.returncode == ended
    assert ("ValueError: odd" in done.stderr) == (ended == 1)


def test_it_has_the_arguments_the_folder_and_the_environment_that_it_is_given(tmp_path):
    code = "import os, sys\nprint(sys.argv[1:], os.getcwd(), dict(os.environ))\nprint('odd', file=sys.stderr)"

    done = run_forked([sys.executable, "-c", code, "a", "b"], tmp_path, env={"A": "1"})

    assert done.stdout == f"['a', 'b'] {tmp_path} {{'A': '1'}}\n"
    assert done.stderr == "odd\n"


def test_a_module_runs_as_a_program(tmp_path):
    done = run_forked([sys.executable, "-m", "geouq", "check", "absent.yaml"], tmp_path)

    assert done.returncode == 2
    assert "absent.yaml" in done.stderr
    assert "Traceback" not in done.stderr
