"""Progress of long work: a bar on a terminal, a line a tile in a log, JSON for machines, or silence.

A step of a stage, such as a tile, may be long: then the progress shows how much of it is done.
"""

import json
import logging
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

from geouq.core.interrupts import raise_if_interrupted
from geouq.core.wording import counted

OF_TILES = frozenset({"checksums", "sweep", "exact bins", "zones", "maps", "judgement", "recalibrated rasters"})
How = Literal["fitting", "quiet", "verbose", "json"]
PATIENCE = 30.0  # seconds without a line after which a log tells how far a step is


class Reporter(Protocol):
    """Receives the progress of a run."""

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of `total` steps."""

    def under_way(self, step: str, share: float) -> None:
        """Report the share of a step that is done."""

    def advance(self, done: str) -> None:
        """Report that a step is done."""

    def say(self, line: str) -> None:
        """Show a line that stays."""


class Silent:
    """Says nothing."""

    def stage(self, name: str, total: int) -> None:
        """Do nothing."""

    def under_way(self, step: str, share: float) -> None:
        """Do nothing."""

    def advance(self, done: str) -> None:
        """Do nothing."""

    def say(self, line: str) -> None:
        """Do nothing."""


class Logged:
    """Passes stages, steps and lines to the logger `geouq.progress`: those of calls from Python that name no reporter.

    Stages and lines have the level INFO, steps DEBUG.
    """

    def __init__(self) -> None:
        self._log = logging.getLogger("geouq.progress")
        self._stage, self._total, self._done = "", 0, 0

    def stage(self, name: str, total: int) -> None:
        """Log the stage and the number of its steps."""
        self._stage, self._total, self._done = name, total, 0
        if total:
            self._log.info("%s: %s", name, counted(total, "step"))

    def under_way(self, step: str, share: float) -> None:
        """Do nothing."""

    def advance(self, done: str) -> None:
        """Log a step."""
        self._done += 1
        self._log.debug("%s %d/%d: %s", self._stage, self._done, self._total, done)

    def say(self, line: str) -> None:
        """Log a line."""
        self._log.info("%s", line)


class Log:
    """A line for each tile, and for all steps of a stage of other things, with the seconds since the start.

    stages : names of the stages that print a line for each step; None for all of them.
    """

    def __init__(self, stages: Collection[str] | None = OF_TILES) -> None:
        self._stages, self._start = stages, time.monotonic()
        self._last = self._start
        self._stage, self._total, self._done = "", 0, 0

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of `total` steps."""
        self._stage, self._total, self._done = name, total, 0

    def under_way(self, step: str, share: float) -> None:
        """Tell how far a step is where nothing was said for long."""
        if self._is_silent_for_long():
            self.say(f"{self._stage}: {step} {100 * share:.0f} %")

    def advance(self, done: str) -> None:
        """Tell of one step, or of the last one."""
        self._done += 1
        if self._stages is None or self._stage in self._stages:
            self.say(f"{self._stage} {self._done}/{self._total}: {done}")
        elif self._done == self._total or self._is_silent_for_long():
            self.say(f"{self._stage} {self._done}/{self._total}")

    def say(self, line: str) -> None:
        """Write a line."""
        self._last = time.monotonic()
        print(f"[{self._last - self._start:7.1f} s] {line}", file=sys.stderr, flush=True)  # noqa: T201  a log

    def _is_silent_for_long(self) -> bool:
        return time.monotonic() - self._last >= PATIENCE


class JsonLog:
    """A JSON object a line: `seconds` since the start with `stage`, `step`, `done` and `total`, or with `message`."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._stage, self._total, self._done = "", 0, 0

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of `total` steps."""
        self._stage, self._total, self._done = name, total, 0

    def under_way(self, step: str, share: float) -> None:
        """Say nothing of parts of a step."""

    def advance(self, done: str) -> None:
        """Tell of one step."""
        self._done += 1
        self._write(stage=self._stage, step=done, done=self._done, total=self._total)

    def say(self, line: str) -> None:
        """Tell a message."""
        self._write(message=line)

    def _write(self, **told: str | int) -> None:
        seconds = round(time.monotonic() - self._start, 1)
        print(json.dumps({"seconds": seconds} | told), file=sys.stderr, flush=True)  # noqa: T201  a log


class Interruptible:
    """A reporter that ends the work at its next word after a signal, as Python drops its exception now and then."""

    def __init__(self, told: Reporter) -> None:
        self._told = told

    def stage(self, name: str, total: int) -> None:
        """Begin a stage."""
        raise_if_interrupted()
        self._told.stage(name, total)

    def under_way(self, step: str, share: float) -> None:
        """Tell how far a step is."""
        raise_if_interrupted()
        self._told.under_way(step, share)

    def advance(self, done: str) -> None:
        """Tell of one step."""
        raise_if_interrupted()
        self._told.advance(done)

    def say(self, line: str) -> None:
        """Write a line that stays."""
        raise_if_interrupted()
        self._told.say(line)


@contextmanager
def reporter(how: How = "fitting") -> Iterator[Reporter]:
    """Provide a reporter; within `interrupts`, a signal ends the work at its next word at the latest.

    fitting : a bar on a terminal, a log elsewhere. verbose : a log with a line for each step.
    """
    with _shown(how) as told:
        yield Interruptible(told)


@contextmanager
def _shown(how: How) -> Iterator[Reporter]:
    """Yield the requested reporter, or one that fits where standard error goes."""
    if how == "quiet":
        yield Silent()
    elif how == "json":
        yield JsonLog()
    elif how == "verbose":
        yield Log(None)
    else:
        from geouq.runs.progress_bars import bars_on_terminal  # noqa: PLC0415  its imports take long

        with bars_on_terminal() as bars:
            yield bars or Log()
