"""Programs in processes of their own that start with their imports done, which take longer than most runs.

A server imports them once for all tests of a worker, and forks. What a test says of imports, of how Python ends or of
its options has to be seen in a program that starts as users start it, by `subprocess`.
"""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

LOADED = ["geouq.cli", "geouq.pipeline.run", "pandas", "pyarrow.parquet", "scipy.linalg", "numba.typed"]


class Forked:
    """A process that runs `python -m MODULE ...` or `python -c CODE ...`, with the methods of `subprocess.Popen`."""

    def __init__(self, command, *, stdout, stderr, cwd=None, env=None):
        python, kind, program, *arguments = map(str, command)
        assert python == sys.executable
        environment = dict(os.environ if env is None else env)
        self.args = command
        self._process = _context().Process(
            target=_become,
            args=(kind, program, arguments, str(cwd or Path.cwd()), environment, str(stdout), str(stderr)),
        )
        self._process.start()
        self.pid = self._process.pid

    @property
    def returncode(self):
        return self._process.exitcode

    def poll(self):
        return self._process.exitcode

    def wait(self, timeout=None):
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self._process.exitcode

    def kill(self):
        self._process.kill()


def run_forked(command, cwd, *, env=None, timeout=600):
    """Run a program to its end, as `subprocess.run` does with text, whatever its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        said = [Path(folder) / name for name in ("stdout", "stderr")]
        process = Forked(command, stdout=said[0], stderr=said[1], cwd=cwd, env=env)
        code = process.wait(timeout)
        return subprocess.CompletedProcess(command, code, *(path.read_text(encoding="utf-8") for path in said))


@cache
def _context():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    return context


def _become(kind, program, arguments, cwd, environment, stdout, stderr):
    """Turn this process into one that was started with a command."""
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in ((1, stdout), (2, stderr)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [program if kind == "-m" else "-c", *arguments]
    if kind == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102
