"""Many summaries added one after another: the bits of a sum of two, and another, without making all the sums between.

A sum of two summaries finds the union of their keys and orders their kept pixels anew. Here each statistic has a sum of
its own kind, such as one array that spans all keys, and kept pixels wait until there are many to be looked through.
"""

from collections.abc import Iterable
from typing import Any

from geouq.core.errors import SummaryError
from geouq.summary.statistic import Running, Statistic
from geouq.summary.summary import Summary, empty_summary, names_of_sum


class RunningTotal:
    """The sum of all summaries added so far, each without leading dimensions."""

    def __init__(self, levels: Iterable[float]) -> None:
        start = empty_summary(levels)
        self._levels, self._has_pixels, self._is_new = start.levels, False, True
        self._only: Summary | None = None
        self._running: dict[str, Running[Any]] = {name: own.running() for name, own in start.items()}
        self._kinds: dict[str, type[Statistic]] = {name: type(own) for name, own in start.items()}

    def add(self, summary: Summary) -> None:
        """Add one more.

        Raises
        ------
        SummaryError
            Where its levels are others, or it has other statistics that a summary must have.
        """
        if summary.levels != self._levels:
            raise SummaryError(f"summaries of levels {self._levels} and {summary.levels} do not add")
        if self._is_new and summary.n:  # most regions lie in one tile
            self._only, self._is_new = summary, False
            return
        self._is_new = False
        if self._only is not None:
            only, self._only = self._only, None
            self._join(only)
        self._join(summary)

    def _join(self, summary: Summary) -> None:
        has_pixels = bool(summary.n)
        names = names_of_sum(self._kinds, summary, (self._has_pixels, has_pixels))
        self._kinds = {name: self._kinds.get(name) or type(summary[name]) for name in names}
        self._running = {name: self._with(name, summary) for name in names}
        self._has_pixels |= has_pixels

    def _with(self, name: str, summary: Summary) -> Running[Any]:
        """Return the sum of a statistic with the statistic of one more summary."""
        if name not in self._running:
            return summary[name].running()
        if name in summary:
            self._running[name].add(summary[name])
        return self._running[name]

    def summary(self) -> Summary:
        """Return the sum of all summaries added: of none, the summary of no pixel; of a single one, that summary."""
        if self._only is not None:
            return self._only
        return Summary(self._levels, {name: running.settled() for name, running in self._running.items()})
