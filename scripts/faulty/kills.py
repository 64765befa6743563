"""Processes that are killed at random moments, and full disks: the same command again ends in the same bits."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from faulty.runs import KILLED, Row, counted, ended, experiment, kill, started, tables

SPARE = 16_420  # kB that geouq keeps free, and a little more
SECTION = "kill -9 and full disks"
SOON = 90  # seconds within which a run without its scheduler has to end


def killed(times: int, folder: Path) -> Iterator[Row]:
    """The process itself, a worker of a cluster, and its scheduler."""
    config = experiment(folder)
    begun = time.monotonic()
    ended(started(config, folder / "undisturbed"))
    seconds, wanted = time.monotonic() - begun, tables(folder / "undisturbed")
    random = Random(0)
    outcomes = [_of_process(config, folder / f"killed{i}", random.uniform(0, seconds), wanted) for i in range(times)]
    yield Row(SECTION, "the process, at a random moment; then the same command", times, counted(outcomes))
    some = max(1, times // 10)
    for victim, what in (("worker", "one of two workers of a cluster"), ("scheduler", "the scheduler of a cluster")):
        outcomes = [
            _of_cluster(config, folder / f"{victim}{i}", random.uniform(0, seconds), wanted, victim)
            for i in range(some)
        ]
        yield Row(SECTION, f"{what}, at a random moment; then the same command without it", some, counted(outcomes))


def filled(times: int, folder: Path) -> Iterator[Row]:
    """A disk that fills, of so many sizes."""
    config = experiment(folder)
    ended(started(config, folder / "undisturbed"))
    yield from _full(times, config, folder, tables(folder / "undisturbed"))


def _verdict(out: Path, code: int | str, wanted: object) -> str:
    if code != 0:
        return f"ended with {code}"
    return "the same bits" if tables(out) == wanted else "OTHER BITS"


def _of_process(config: Path, out: Path, seconds: float, wanted: object) -> str:
    process = started(config, out)
    time.sleep(seconds)
    kill(process)
    ended(process)
    return _verdict(out, ended(started(config, out)).code, wanted)


def _of_cluster(config: Path, out: Path, seconds: float, wanted: object, victim: str) -> str:
    with cluster(out.with_suffix(".cluster")) as (address, scheduler, worker):
        process = started(config, out, "--scheduler", address)
        time.sleep(seconds)
        (scheduler if victim == "scheduler" else worker).kill()
        first = ended(process, SOON)
    how = (
        "a run without end, killed; then "
        if first.code == KILLED
        else "Traceback; "
        if "Traceback (" in first.said
        else ""
    )
    return how + _verdict(out, ended(started(config, out)).code, wanted)


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes], subprocess.Popen[bytes]]]:
    """The address of a dask scheduler, its process, and that of one of its two workers."""
    folder.mkdir(parents=True)
    place = folder / "scheduler.json"
    common = ["--scheduler-file", str(place), "--no-dashboard", "--host", "127.0.0.1"]
    alone = ["--nthreads", "1", "--no-nanny", "--local-directory", str(folder), "--death-timeout", "60"]
    commands = [["scheduler", "--port", "0", *common], *[["worker", *common, *alone]] * 2]
    with (folder / "log").open("w") as log:
        processes = [subprocess.Popen([sys.executable, "-m", "dask", *own], stdout=log, stderr=log) for own in commands]
        try:
            yield _address_in(place), processes[0], processes[1]
        finally:
            for process in reversed(processes):
                process.kill()
                process.wait()


def _address_in(place: Path) -> str:
    while not place.exists() or not (found := re.search(r'"address": "(.+?)"', place.read_text())):
        time.sleep(0.05)
    return found[1]


def _full(times: int, config: Path, folder: Path, wanted: object) -> Iterator[Row]:
    """Small disks, which only root can make."""
    tried = "a disk of 16 MiB and a little more, that fills; then the same command with room"
    if os.name != "posix" or os.geteuid() != 0:
        yield Row(SECTION, tried, 0, "only root can mount a small disk")
        return
    outcomes = []
    for size in range(SPARE, SPARE + 200 * times, 200):
        disk = folder / f"disk{size}"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(disk)], check=False).returncode:
            yield Row(SECTION, tried, 0, "this system mounts no small disk")
            return
        try:
            first = ended(started(config, disk / "out"))
            subprocess.run(["mount", "-o", "remount,size=128m", str(disk)], check=True)
            second = ended(started(config, disk / "out"))
            told = "refused plainly" if "No space left" in first.said and "Traceback" not in first.said else first.said
            outcomes.append(f"exit code {first.code}, {told}; then {_verdict(disk / 'out', second.code, wanted)}")
        finally:
            subprocess.run(["umount", str(disk)], check=True)
    yield Row(SECTION, tried, len(outcomes), counted(outcomes))
