"""Processes that are killed at random moments, and full disks: the same command again ends in the same bits."""

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random

from faulty.runs import KILLED, Row, counted, ended, experiment, kill, started, tables

SPARE = 16_420  # kB that geouq keeps free, and a little more
SECTION = "kill -9 and full disks"
TOGETHER = 10
SOON = 90  # seconds within which a run without its scheduler has to end


@dataclass(frozen=True)
class Undisturbed:
    """A run that nothing disturbed: its configuration, how long it took, and its tables."""

    config: Path
    seconds: float
    tables: Mapping[str, bytes]


@cache
def undisturbed() -> Undisturbed:
    """Make small rasters, and evaluate them twice, as the first time compiles; once for all sections."""
    folder = Path(tempfile.mkdtemp(prefix="geouq-undisturbed-"))
    atexit.register(shutil.rmtree, folder)
    config = experiment(folder)
    for _ in range(2):
        begun = time.monotonic()
        ended(started(config, folder / "undisturbed", "--fresh"))
    return Undisturbed(config, time.monotonic() - begun, tables(folder / "undisturbed"))


def killed(times: int, folder: Path) -> Iterator[Row]:
    """Yield the process itself, a worker of a cluster, and its scheduler."""
    random, whole = Random(), undisturbed()

    def moment() -> float:
        return random.uniform(0, 1.5 * whole.seconds)  # other programs may slow it down

    def process(out: Path) -> str | None:
        run = started(whole.config, out)
        time.sleep(moment())
        was_running = run.poll() is None
        kill(run)
        ended(run)
        return "" if was_running else None

    some = max(1, times // 4)
    yield _row("the process", times, folder / "process", whole, process)
    for victim in ("one of two workers of a cluster", "the scheduler of a cluster"):
        once = partial(_of_cluster, whole.config, moment, folder / "cluster", scheduler="scheduler" in victim)
        yield _row(victim, some, folder / victim.replace(" ", ""), whole, once)


def _row(victim: str, times: int, folder: Path, whole: Undisturbed, once: Callable[[Path], str | None]) -> Row:
    """Kill so many times, again and again in one folder up to `TOGETHER` times, and then go on to the end.

    once : kills, and tells what was wrong, '' for nothing; None where all had ended before.
    """
    kills, outcomes = 0, list[str]()
    while kills < times:
        out = folder / str(len(outcomes))
        for _ in range(min(TOGETHER, times - kills)):
            if (wrong := once(out)) is None:
                break
            kills += 1
            outcomes += [wrong] * bool(wrong)
        outcomes.append(_verdict(out, ended(started(whole.config, out)).code, whole.tables))
    tried = f"{victim}, at a random moment, up to {TOGETHER} times in one folder; then the same command to its end"
    return Row(SECTION, tried, kills, f"{kills} kills; the folders: {counted(outcomes)}")


def filled(times: int, folder: Path) -> Iterator[Row]:
    """Yield a disk that fills, of so many sizes."""
    whole = undisturbed()
    yield from _full(times, whole.config, folder, whole.tables)


def _verdict(out: Path, code: int | str, wanted: object) -> str:
    if code != 0:
        return f"ended with {code}"
    return "the same bits" if tables(out) == wanted else "OTHER BITS"


def _of_cluster(config: Path, moment: Callable[[], float], folder: Path, out: Path, *, scheduler: bool) -> str | None:
    """Kill the scheduler or a worker during a run; without its scheduler a run cannot go on, without a worker it must.

    A folder that lost its scheduler goes on with what was finished, one that lost a worker starts anew.
    """
    place = folder / f"{out.parent.name}{out.name}-{time.monotonic_ns()}"
    with cluster(place) as (address, of_scheduler, of_worker):
        run = started(config, out, "--scheduler", address, *([] if scheduler else ["--fresh"]))
        time.sleep(moment())
        was_running = run.poll() is None
        (of_scheduler if scheduler else of_worker).kill()
        end = ended(run, SOON)
    if not was_running:
        return None
    if end.code == KILLED:
        return "a run WITHOUT END"
    if "Traceback (" in end.said:
        return "traceback"
    return "" if end.code in ((0, 2) if scheduler else (0,)) else f"ended with {end.code}"


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes], subprocess.Popen[bytes]]]:
    """Yield the address of a dask scheduler, its process, and that of one of its two workers."""
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
