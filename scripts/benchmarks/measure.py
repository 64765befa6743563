"""Ratios of times, measured in pairs, and the memory and disturbance that go with them."""

import math
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

Work = Callable[[], object]
Clock = Callable[[], float]
MIB = 1 << 20
POLL = 0.02  # seconds
FAMILY_POLL = 0.1  # seconds, as a look takes milliseconds


@dataclass(frozen=True)
class Ratio:
    """Median, lowest and highest of the ratios of all rounds.

    others : processors that other processes kept busy meanwhile; NaN where the system does not tell.
    """

    median: float
    low: float
    high: float
    others: float

    @property
    def cells(self) -> tuple[str, str, str]:
        """Median, spread and disturbance as a table shows them."""
        others = "?" if self.others != self.others else f"{self.others:.2f}"
        return _short(self.median), f"{_short(self.low)} - {_short(self.high)}", others


@dataclass(frozen=True)
class Table:
    """A section's result: what was compared, a row each."""

    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """Return the table in Markdown, under its title and note."""
        lines = [f"## {self.title}", "", self.note, "", _row(self.columns), _row(["---"] * len(self.columns))]
        return "\n".join([*lines, *map(_row, self.rows)]) + "\n"


RATIO = ("ratio", "spread", "target", "others' CPUs")


def ratio_row(what: str, ratio: Ratio | str, target: str) -> tuple[str, ...]:
    """Return a row of a table of ratios; a text says why there is none."""
    if isinstance(ratio, str):
        return (what, ratio, "", target, "")
    median, spread, others = ratio.cells
    return (what, median, spread, target, others)


def compare(work: Work, base: Work, rounds: int, clock: Clock = time.perf_counter) -> Ratio:
    """Time of `work` by that of `base`: each once to warm up, then in turns, the order reversed each round."""
    return compare_all([work], base, rounds, clock)[0]


def compare_all(works: Sequence[Work], base: Work, rounds: int, clock: Clock = time.perf_counter) -> list[Ratio]:
    """Ratios of several works to one base, which all run once in each round."""
    everything = [base, *works]
    for one in everything:
        one()
    watch, ratios = Watch(), [[] for _ in works]
    for number in range(rounds):
        order = range(len(everything))
        times = {i: seconds(everything[i], clock) for i in (order if number % 2 else reversed(order))}
        for i, found in enumerate(ratios, 1):
            found.append(times[i] / times[0])
    return [summarized(found, watch) for found in ratios]


def seconds(work: Work, clock: Clock = time.perf_counter) -> float:
    """Wall time of one call, or the time of another clock."""
    start = clock()
    work()
    return clock() - start


def summarized(ratios: Sequence[float], watch: "Watch") -> Ratio:
    """Median and spread of the ratios found since `watch` was made."""
    return Ratio(statistics.median(ratios), min(ratios), max(ratios), watch.others())


class Watch:
    """Tells how many processors other processes have kept busy since it was made."""

    def __init__(self) -> None:
        self._start = _busy(), _own(), time.perf_counter()

    def others(self) -> float:
        """Processors that neither this process nor its children used, on average."""
        busy, own, now = (
            end - start for end, start in zip((_busy(), _own(), time.perf_counter()), self._start, strict=True)
        )
        return max(busy - own, 0.0) / now if not math.isnan(busy) else busy


def peak_of(command: Sequence[str]) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Peak resident memory in MiB of a program of its own, and how it ended.

    The system's record of the highest mark is read again and again, as it goes with the process.
    """
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, peak_mib(process.pid))
            time.sleep(POLL)
        output = process.stdout.read() if process.stdout else ""
    return peak, subprocess.CompletedProcess(command, process.returncode, output)


def peaks_of(command: Sequence[str]) -> tuple[tuple[float, float], subprocess.CompletedProcess[str]]:
    """Peaks of a program that starts others, and how it ended: that of its largest process, and of all together.

    In MiB; of all, memory that several share is counted once, and marks between two looks are missed.
    """
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        largest = together = 0.0
        while process.poll() is None:
            family = _family(process.pid)
            largest = max(largest, *map(peak_mib, family))
            together = max(together, sum(map(_share_mib, family)))
            time.sleep(FAMILY_POLL)
        output = process.stdout.read() if process.stdout else ""
    return (largest, together), subprocess.CompletedProcess(command, process.returncode, output)


def _family(pid: int) -> list[int]:
    """Return a process and all that it and its children have started."""
    found = [pid]
    for one in found:
        try:
            found += map(int, Path(f"/proc/{one}/task/{one}/children").read_text(encoding="ascii").split())
        except OSError:
            continue  # it has ended
    return found


def _share_mib(pid: int) -> float:
    """Return the resident memory of a process in MiB, pages that n processes share as the nth part; 0 if it ended."""
    try:
        words = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").split()
    except OSError:
        return 0.0
    return next((int(value) * 1024 / MIB for word, value in pairwise(words) if word == "Pss:"), 0.0)


def peak_mib(pid: int | str = "self") -> float:
    """Peak resident memory of a process so far in MiB, 0 where it has ended."""
    return _status_mib(pid, "VmHWM:")


def resident_mib(pid: int | str = "self") -> float:
    """Resident memory of a process in MiB, 0 where it has ended."""
    return _status_mib(pid, "VmRSS:")


def _status_mib(pid: int | str, key: str) -> float:
    try:
        words = Path(f"/proc/{pid}/status").read_text(encoding="ascii").split()
    except OSError:
        return 0.0
    return next((int(value) * 1024 / MIB for word, value in pairwise(words) if word == key), 0.0)


def _busy() -> float:
    """Seconds that all processors have been busy since the start of the system."""
    try:
        with Path("/proc/stat").open(encoding="ascii") as file:
            user, nice, system, _, _, irq, soft = map(int, file.readline().split()[1:8])
    except OSError:
        return float("nan")
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def _own() -> float:
    """Seconds of processor time of this process and the children that have ended."""
    return time.process_time() + children_seconds()


def children_seconds() -> float:
    """Seconds of processor time of the children that have ended, and of theirs."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def _short(value: float) -> str:
    return f"{value:.3g}" if value >= 10 else f"{value:.2f}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
