"""Progress of long work: a bar on a terminal, a line a tile in a log, or silence."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Reporter(Protocol):
    """Told of the stages of a run; `advance` is one step, `say` a line that stays."""

    def stage(self, name: str, total: int) -> None: ...  # noqa: D102
    def advance(self, done: str) -> None: ...  # noqa: D102
    def say(self, line: str) -> None: ...  # noqa: D102


class Silent:
    """Says nothing."""

    def stage(self, name: str, total: int) -> None:
        """Do nothing."""

    def advance(self, done: str) -> None:
        """Do nothing."""

    def say(self, line: str) -> None:
        """Do nothing."""


class Log:
    """A line for each step, with the seconds since the start, for files and batch systems."""

    def __init__(self) -> None:
        self._start, self._stage, self._total, self._done = time.monotonic(), "", 0, 0

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of `total` steps."""
        self._stage, self._total, self._done = name, total, 0

    def advance(self, done: str) -> None:
        """Tell of one step."""
        self._done += 1
        self.say(f"{self._stage} {self._done}/{self._total}: {done}")

    def say(self, line: str) -> None:
        """Write a line."""
        print(f"[{time.monotonic() - self._start:7.1f} s] {line}", file=sys.stderr, flush=True)  # noqa: T201  a log


class Bars:
    """A bar for each stage."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._task = progress, progress.add_task("starting", total=None)

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of `total` steps."""
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task(name, total=total)

    def advance(self, done: str) -> None:  # noqa: ARG002  the bar tells how far, not what
        """Move the bar by one step."""
        self._progress.advance(self._task)

    def say(self, line: str) -> None:
        """Write a line above the bar."""
        self._progress.console.print(line, markup=False, highlight=False)


@contextmanager
def reporter(*, quiet: bool) -> Iterator[Reporter]:
    """The reporter that fits where standard error goes."""
    console = Console(stderr=True)
    if quiet:
        yield Silent()
    elif console.is_terminal:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console, transient=True) as progress:
            yield Bars(progress)
    else:
        yield Log()
