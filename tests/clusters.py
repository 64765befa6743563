"""A dask scheduler and workers, each a process of its own, as users start them."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from geouq.core.extensions import load_extensions

LONG = 300  # seconds for what takes a few


def ready(folder):
    """Note in a folder that this process is prepared."""
    with (folder / "ready").open("a") as file:
        file.write(f"{os.getpid()}\n")


def prepared(folder):
    """Return which process this is, if it was prepared."""
    return os.getpid() if str(os.getpid()) in (folder / "ready").read_text().split() else None


def extensions():
    """Return how often this process has loaded extensions."""
    return load_extensions.cache_info().currsize


class Cluster:
    """Processes of a cluster in a folder of their own, in which they also work; the scheduler writes `place`.

    settings : of dask, such as {"SCHEDULER__ALLOWED_FAILURES": "0"}.
    """

    def __init__(self, folder, settings):
        folder.mkdir()
        self.folder, self.place, self.processes = folder, folder / "scheduler.json", []
        path = os.pathsep.join([str(Path(__file__).parent), *sys.path])  # workers import this module, too
        self._environment = (
            os.environ | {"PYTHONPATH": path} | {f"DASK_DISTRIBUTED__{name}": value for name, value in settings.items()}
        )
        self.scheduler = self.start_scheduler()

    @property
    def address(self):
        return re.search(r'"address": "(.+?)"', self.place.read_text())[1]

    def start_scheduler(self):
        self.place.unlink(missing_ok=True)
        self.scheduler = self._start("scheduler", "--port", "0")
        self.until(lambda: self.place.exists() and '"address"' in self.place.read_text())
        return self.scheduler

    def start_workers(self, count=1, *, nanny=False, preload=None, threads=1):
        """Start workers; `preload` is code that they run first."""
        options = ["--nthreads", str(threads), "--local-directory", str(self.folder)]
        options += [] if nanny else ["--no-nanny"]
        if preload:
            file = self.folder / f"preload{len(self.processes)}.py"
            file.write_text(preload)
            options += ["--preload", str(file)]
        return [self._start("worker", *options) for _ in range(count)]

    def until(self, happened, *others):
        """Wait until something has happened, as long as the scheduler and other processes live."""
        end = time.monotonic() + LONG
        while not happened():
            assert time.monotonic() < end, self.log
            assert all(process.poll() is None for process in (self.processes[-1], *others)), self.log
            time.sleep(0.02)

    @property
    def log(self):
        return (self.folder / "log").read_text()

    def _start(self, kind, *options):
        common = ["--scheduler-file", str(self.place), "--no-dashboard", "--host", "127.0.0.1"]
        with (self.folder / "log").open("a") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", kind, *common, *options],
                stdout=log, stderr=log, cwd=self.folder, env=self._environment, start_new_session=True,
            )  # fmt: skip
        self.processes.append(process)
        return process

    def end(self):
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # a nanny with its worker
            process.wait(LONG)


@contextlib.contextmanager
def cluster(folder, count=0, settings=None, **options):
    """Yield a cluster with some workers, none of which a nanny starts again unless `nanny` says so."""
    pytest.importorskip("distributed")
    found = Cluster(folder, settings or {})
    try:
        found.start_workers(count, **options)
        yield found
    finally:
        found.end()
