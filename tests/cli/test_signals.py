"""Signals that end the program: one message, the conventional exit code, and no partial file."""

import os
import pty
import signal
import subprocess
import sys

import pytest
from forked import run_forked
from signalled import signalled

SIGNALS = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}
TEXT = "variables: [height]\noutput: {maps: none, figures: none}\nintervals: {resamples: 100}\n"


def ended_by(name, arguments, folder, **place):
    """Run the program until it sends itself a signal; require its exit code and one message."""
    command = signalled(getattr(signal, name), arguments, **place)
    done = run_forked(command, folder)

    assert done.returncode == SIGNALS[name], done.stderr
    assert done.stderr.count("geouq: ") == 1
    assert f"geouq: stopped by {name}; " in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    return done


def hidden_files(folder):
    return {path.name for path in folder.rglob(".*")}


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_ends_a_run_and_the_next_run_continues(name, tile_folder, tmp_path):
    names = [f"t{number}" for number in range(12)]
    config = tile_folder(names, shape=(300, 300), text=TEXT)
    arguments = ["run", config, "--workers", "1"]
    ended_by(name, arguments, tmp_path, text="sweep 2/")

    folder = tmp_path / "results" / "small"
    kept = {path.stem for path in (folder / "summaries").glob("[!.]*.nc")}
    assert 2 <= len(kept) < 12
    assert hidden_files(folder) == {".geouq.lock"}
    again = [sys.executable, "-m", "geouq", *map(str, arguments)]
    done = run_forked(again, tmp_path)
    assert done.returncode == 0
    assert f"{len(kept)} of 12 tiles are summarised already" in done.stderr


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_ends_a_check(name, tile_folder, tmp_path):
    config = tile_folder(("a1", "a2"), text=TEXT)

    ended_by(name, ["check", config, "--deep"], tmp_path)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize(("command", "text"), [("report", "numbers"), ("recalibrate", "judgement")])
def test_a_signal_ends_what_follows_from_a_run(name, command, text, runs, tmp_path):
    (run,) = runs()
    before = {path: path.read_bytes() for path in (run / "summaries").rglob("*.nc")}

    ended_by(name, [command, run], tmp_path, text=text)
    assert hidden_files(run) <= {".geouq.lock"}
    assert {path: path.read_bytes() for path in (run / "summaries").rglob("*.nc")} == before


def test_a_second_signal_does_not_interrupt_the_removal_of_partial_files(tmp_path):
    program = """
import os, signal, sys
from pathlib import Path
from geouq.core.atomic import atomic_write
from geouq.core.interrupts import Interrupted, interrupts
signal.signal(signal.SIGINT, signal.SIG_DFL)
try:
    with interrupts(), atomic_write(Path(sys.argv[1])) as part:
        part.write_text("half")
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
                os.kill(os.getpid(), number)
except Interrupted as error:
    print(error)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "a.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)

    assert done.stdout == "SIGTERM\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_ends_the_imports_of_the_program(name):
    program = f"""
import os, signal, sys

signal.signal(signal.{name}, signal.SIG_DFL)

class SignalsAtClick:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.{name})

from geouq.__main__ import main
sys.meta_path.insert(0, SignalsAtClick())
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=600)

    assert (done.returncode, done.stderr) == (SIGNALS[name], f"geouq: stopped by {name}; nothing was done\n")


def test_a_further_signal_after_the_message_changes_nothing(tmp_path):
    program = """
import atexit, os, signal, sys

atexit.register(lambda: [os.kill(os.getpid(), number) for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)])
sys.argv[1:] = ["check", "absent.yaml"]
from geouq import config
from geouq.__main__ import main
config.load_experiment = lambda _: os.kill(os.getpid(), signal.SIGTERM)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
main()
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)

    assert done.returncode == SIGNALS["SIGTERM"]
    assert done.stderr.startswith("geouq: stopped by SIGTERM; ")
    assert done.stderr.count("\n") == 1


def test_a_signal_whose_exception_was_dropped_ends_no_later_work():
    program = """
import os, signal
from geouq.core.interrupts import deferred_interrupts, interrupts, received

class Signalling:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)

with interrupts():
    Signalling()
    print(received() == signal.SIGTERM)
with deferred_interrupts():
    print(received())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=600)

    assert (done.returncode, done.stdout) == (0, "True\n0\n"), done.stderr


def test_a_signal_that_the_caller_ignores_stays_ignored():
    program = """
import os, signal
from geouq.core.interrupts import interrupts, received
signal.signal(signal.SIGHUP, signal.SIG_IGN)
with interrupts():
    os.kill(os.getpid(), signal.SIGHUP)
    print(received())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=600)

    assert done.stdout == "0\n"


def test_a_terminal_that_closes_ends_a_run_with_the_code_of_sighup(tile_folder, tmp_path):
    names = [f"t{number}" for number in range(12)]
    config = tile_folder(names, shape=(300, 300), text=TEXT)
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may ignore it, as nohup does
        os.chdir(tmp_path)
        os.execv(  # noqa: S606
            sys.executable, [sys.executable, "-m", "geouq", "run", str(config), "--workers", "1", "-v"]
        )
    read = b""
    while b"sweep 2/" not in read:
        read += os.read(terminal, 1024)
    os.close(terminal)

    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == SIGNALS["SIGHUP"]
    assert hidden_files(tmp_path / "results") == {".geouq.lock"}
