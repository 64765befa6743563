"""Many summaries added one after another: the bits of a sum of two, and another, without making all the sums between.

A sum of two summaries finds the union of their keys and orders their kept pixels anew. Here sums stand in one array
that spans all keys seen, and kept pixels wait until there are many to be looked through.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from geouq.errors import SummaryError
from geouq.summary.coverage_profile import POSITIVE, CoverageProfile
from geouq.summary.form import FormSums
from geouq.summary.kept_pixels import BUDGET, FEW, KeptPixels
from geouq.summary.keyed_counts import KeyedCounts
from geouq.summary.ordering_profile import CLASSES, ROWS, OrderingProfile
from geouq.summary.summary import Summary, empty_summary
from geouq.summary.variance_profile import N, VarianceProfile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

OCTAVE = 512
PATIENCE = 1 << 16  # pixels


class RunningTotal:
    """The sum of all summaries added so far, each without leading dimensions."""

    def __init__(self, levels: Iterable[float]) -> None:
        start = empty_summary(levels)
        self._levels = start.levels
        self._moments, self._interval_scores, self._z = start.moments, start.interval_scores, start.z
        self._profile = _RunningProfile(start.variance)
        self._groups: dict[str, tuple[type[CoverageProfile], _RunningCounts]] = {}
        self._ordering: _RunningCounts | None = None
        self._thresholds = start.thresholds
        self._given: float | None = None
        self._form: FormSums | None = None

    def add(self, summary: Summary) -> None:
        """Add one more; SummaryError where its levels are others, or where only some have weights."""
        if summary.levels != self._levels:
            raise SummaryError(f"summaries of levels {self._levels} and {summary.levels} do not add")
        before = int(self._moments.n)
        self._moments = self._moments + summary.moments
        self._interval_scores = self._interval_scores + summary.interval_scores
        self._z = self._z + summary.z
        self._profile.add(summary.variance)
        self._add_groups(summary, before)
        self._add_ordering(summary, before)
        self._add_thresholds(summary, before)
        self._add_given(summary, before)
        self._add_form(summary, before)

    def summary(self) -> Summary:
        """Return what has been added up; of nothing, the summary of no pixel."""
        ordering = None if self._ordering is None else OrderingProfile(*self._ordering.settled())
        groups = {name: kind(*running.settled()) for name, (kind, running) in self._groups.items()}
        return Summary(
            self._levels,
            self._moments,
            self._interval_scores,
            self._z,
            self._profile.profile(),
            groups,
            ordering,
            self._thresholds,
            self._given,
            self._form,
        )

    def _add_groups(self, summary: Summary, before: int) -> None:
        """Add coverage by what all are grouped by; one that has neither groups nor pixels says nothing."""
        if not summary.groups and not summary.n:
            return
        if not self._groups and not before:
            self._groups = {
                name: (type(one), _RunningCounts(-POSITIVE, POSITIVE, one)) for name, one in summary.groups.items()
            }
            return
        self._groups = {name: each for name, each in self._groups.items() if name in summary.groups}
        for name, (_, running) in self._groups.items():
            running.add(summary.groups[name])

    def _add_thresholds(self, summary: Summary, before: int) -> None:
        """Add forecasts of exceeding; one that has neither thresholds nor pixels says nothing."""
        if not self._thresholds.thresholds and not before:
            self._thresholds = summary.thresholds
        elif summary.thresholds.thresholds or summary.n:
            self._thresholds = self._thresholds + summary.thresholds

    def _add_given(self, summary: Summary, before: int) -> None:
        """All that have pixels give intervals of one level, or none does."""
        if summary.n and before and summary.given != self._given:
            raise SummaryError(f"forecasts that give intervals of level {self._given} and {summary.given} do not add")
        if not before:
            self._given = summary.given

    def _add_form(self, summary: Summary, before: int) -> None:
        """Add sums of a form; one that has neither a form nor pixels says nothing."""
        if self._form is None and not before:
            self._form = summary.form
        elif summary.form is not None and self._form is not None:
            self._form = self._form + summary.form
        elif summary.n and (summary.form or self._form):
            raise SummaryError("forecasts that are given in different forms do not add")

    def _add_ordering(self, summary: Summary, before: int) -> None:
        """Add pixels by variance and |z|, as long as all that have pixels keep them."""
        if summary.ordering is None:
            self._ordering = None if summary.n else self._ordering
        elif self._ordering is not None:
            self._ordering.add(summary.ordering)
        elif not before:
            self._ordering = _RunningCounts(0, ROWS * CLASSES, summary.ordering)


class _RunningCounts:
    """Counts in one array that spans all keys; memory is taken only where there are some."""

    def __init__(self, first: int, stop: int, start: KeyedCounts) -> None:
        self._first = first
        self._counts = np.zeros((stop - first, start.counts.shape[-1]))
        self._used = np.zeros(stop - first, np.bool_)
        self.add(start)

    def add(self, more: KeyedCounts) -> None:
        """Add some."""
        self._counts[more.keys - self._first] += more.counts
        self._used[more.keys - self._first] = True

    def settled(self) -> tuple[Ints, Floats]:
        """Keys and counts of what has been added up."""
        used = np.flatnonzero(self._used)
        return used + self._first, self._counts[used]


class _RunningProfile:
    """Sums by key, counted from `first`, and which keys there are; kept pixels of which some may have to go."""

    def __init__(self, start: VarianceProfile) -> None:
        self._shift, self._lowest, self._highest = start.shift, start.lowest, start.highest
        self._first = 0
        self._sums = start.sums
        self._used = np.zeros(0, np.bool_)
        self._kept = start.kept
        self._waiting: list[KeptPixels] = []

    def add(self, other: VarianceProfile) -> None:
        """Add one more; of one without pixels nothing counts but what it would keep, as long as there are none."""
        empty = not self._used.any()
        if not empty and not len(other.keys):
            return
        if empty or self._kept is None or other.kept is None:
            self._kept, self._waiting = other.kept if empty else None, []
        else:
            tail, every = min(self._kept.tail, other.kept.tail), self._keeps_every_with(other.kept)
            self._kept = replace(self._kept, tail=tail, wanted=self._wanted_with(other), every=every)
            self._waiting.append(other.kept)
        self._lowest, self._highest = np.minimum(self._lowest, other.lowest), np.maximum(self._highest, other.highest)
        if empty:
            self._sums = np.empty((0, max(self._sums.shape[-1], other.sums.shape[-1])))
        if len(other.keys):
            self._reach(other)
            place = other.keys - self._first
            self._sums[place] += other.sums
            self._used[place] = True
        if self._are_many():
            self._settle()

    def profile(self) -> VarianceProfile:
        """Return the profile of all; its kept pixels in their one order."""
        self._settle()
        kept = self._kept and self._kept.in_order()
        return self._with(np.flatnonzero(self._used) + self._first, self._sums[self._used], kept)

    def _with(self, keys: Ints, sums: Floats, kept: KeptPixels | None) -> VarianceProfile:
        return VarianceProfile(self._shift, keys, sums, self._lowest, self._highest, kept)

    def _keeps_every_with(self, other: KeptPixels) -> bool:
        """Whether every pixel is kept here and there, and they are few together."""
        if self._kept is None or not (self._kept.every and other.every):
            return False
        return sum(len(part.pixels) for part in (self._kept, *self._waiting, other)) <= FEW

    def _wanted_with(self, other: VarianceProfile) -> Ints:
        """Wanted keys that are complete, or absent, here as in the other."""
        wanted = (
            np.union1d(self._kept.wanted, other.kept.wanted) if self._kept and other.kept else np.empty(0, np.int64)
        )
        if not len(wanted):
            return wanted
        complete = self._with(wanted, self._sums[:0], self._kept).complete_keys()
        wanted = wanted[~self._holds(wanted) | np.isin(wanted, complete)]
        return wanted[~np.isin(wanted, other.keys) | np.isin(wanted, other.complete_keys())]

    def _holds(self, keys: Ints) -> NDArray[np.bool_]:
        return np.isin(keys, self._first + np.flatnonzero(self._used))

    def _are_many(self) -> bool:
        """Whether pixels are to be looked through: more wait than are kept, or the tail has passed its budget."""
        if self._kept is None:
            return False
        waiting = sum(len(part.pixels) for part in self._waiting)
        return waiting > max(len(self._kept.pixels), PATIENCE) or self._pixels_in_tail() > BUDGET

    def _pixels_in_tail(self) -> int:
        """Return the number of pixels of the keys that the tail reaches; all of them are kept."""
        if self._kept is None or self._kept.tail == 0:
            return 0
        keys = self._first + np.flatnonzero(self._used)
        tail = self._with(keys, self._sums[:0], KeptPixels(self._kept.tail)).complete_keys()
        return int(self._sums[tail - self._first, N].sum())

    def _settle(self) -> None:
        """Join the kept pixels, and let those go of keys that are no longer complete."""
        if self._kept is None:
            return
        kept = self._kept.joined(self._waiting)
        self._kept, self._waiting = self._with(np.empty(0, np.int64), self._sums[:0], kept).pruned().kept, []

    def _reach(self, other: VarianceProfile) -> None:
        """Make room for the keys of another profile, a whole octave at a time, and for its fields."""
        first, stop = int(other.keys[0]) // OCTAVE * OCTAVE, (int(other.keys[-1]) // OCTAVE + 1) * OCTAVE
        fields = other.sums.shape[-1]
        if self._used.any():
            if fields != self._sums.shape[-1]:
                raise SummaryError("one of these summaries is weighted and the other is not; they do not add")
            first, stop = min(first, self._first), max(stop, self._first + len(self._used))
        if stop - first == len(self._used) and first == self._first:
            return
        sums, used = np.zeros((stop - first, fields)), np.zeros(stop - first, np.bool_)
        if self._used.any():
            before = slice(self._first - first, self._first - first + len(self._used))
            sums[before], used[before] = self._sums, self._used
        self._first, self._sums, self._used = first, sums, used
