"""What a set of pixels of one variable contributes.

It is small, it adds exactly, and every number reported is a function of one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.errors import SummaryError
from geouq.summary.coverage_profile import CoverageProfile
from geouq.summary.display import as_html, as_text
from geouq.summary.equality import are_equal
from geouq.summary.form import Form, FormSums, Kind, kind_of
from geouq.summary.moments import Moments, no_moments
from geouq.summary.ordering_profile import OrderingProfile
from geouq.summary.threshold_sums import ThresholdSums, no_thresholds
from geouq.summary.variance_profile import FINE_SHIFT, UNWEIGHTED, VarianceProfile
from geouq.summary.z_histogram import FINE, ZHistogram, edge_probabilities

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Summary:
    """Moments, z histogram and variance profile of a set of pixels; leading dimensions (cells, resamples) are free.

    levels : nominal levels whose coverage and interval scores are kept.
    interval_scores : float64 (..., levels), sums over the pixels.
    groups : by what the pixels are grouped, such as truth, and their coverage by that; a cell has none.
    ordering : pixels by variance and |z|; None where it was not asked for.
    thresholds : forecasts of exceeding some thresholds; a cell has none.
    given : level of the intervals that the forecast gives itself; None where it gives none.
    form : sums of a forecast that is given as an ensemble, quantiles or probabilities. Of the last two, n and weight
        are all that counts beside these: they have no variance, and moments are those of a residual.

    Two sizes exist: of a tile, with 200 quantiles and 512 keys an octave, and of a cell, with 20 and 16.

    Two summaries are equal if all their sums are, to the last bit. A sum of many is `sum(summaries)`.
    """

    levels: tuple[float, ...]
    moments: Moments
    interval_scores: Floats
    z: ZHistogram
    variance: VarianceProfile
    groups: Mapping[str, CoverageProfile] = field(default_factory=dict)
    ordering: OrderingProfile | None = None
    thresholds: ThresholdSums = field(default_factory=no_thresholds)
    given: float | None = None
    form: FormSums | None = None

    @property
    def given_as(self) -> Form | None:
        """The form in which the forecast is given; None where it is by mean and variance alone."""
        return None if self.form is None else self.form.form

    @property
    def kind(self) -> Kind:
        """Name of that form; `normal` where there is none."""
        return kind_of(self.given_as)

    @property
    def n(self) -> Counts:
        """Number of pixels."""
        return self.moments.n

    @property
    def overflows(self) -> bool:
        """Whether a sum leaves the range of floats, so that numbers that follow from it are missing."""
        sums = [self.moments.weight, self.moments.sums, self.moments.products, self.interval_scores, self.variance.sums]
        return not all(np.isfinite(own).all() for own in (*sums, *([] if self.form is None else [self.form.sums])))

    def level_index(self, level: float) -> int:
        """Place of a level among those kept; SummaryError where it is none of them."""
        try:
            return self.levels.index(level)
        except ValueError:
            kept = ", ".join(map(str, self.levels))
            raise SummaryError(f"level {level} was not kept; the levels of this summary are {kept}") from None

    def at_levels(self, levels: tuple[float, ...]) -> Self:
        """Return the same pixels, told of fewer levels; SummaryError where one of these was not kept."""
        if levels == self.levels:
            return self
        chosen = [self.level_index(level) for level in levels]
        z = self.z.at(edge_probabilities(levels, FINE))
        narrow = sorted(self.levels)
        groups = {name: profile.at([narrow.index(level) for level in levels]) for name, profile in self.groups.items()}
        scores, form = self.interval_scores[..., chosen], None if self.form is None else self.form.at_levels(levels)
        return replace(self, levels=levels, interval_scores=scores, z=z, groups=groups, form=form)

    def coverage_by(self, name: str) -> CoverageProfile:
        """Coverage by what the pixels are grouped by; SummaryError where that was not kept."""
        if not self.groups and not self.n.any():
            return CoverageProfile(np.empty(0, np.int64), np.zeros((*self.n.shape, 0, len(self.levels) + 1)))
        try:
            return self.groups[name]
        except KeyError:
            kept = ", ".join(self.groups) or "nothing"
            raise SummaryError(f"coverage by {name} was not kept; this summary groups by {kept}") from None

    def __eq__(self, other: object) -> bool:
        return are_equal(self, other) if isinstance(other, Summary) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equal ones need not be one

    def __radd__(self, other: object) -> Self:
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, Summary):
            return NotImplemented
        if self.levels != other.levels:
            raise SummaryError(f"summaries of levels {self.levels} and {other.levels} do not add")
        return type(self)(
            self.levels,
            self.moments + other.moments,
            self.interval_scores + other.interval_scores,
            self.z + other.z,
            self.variance + other.variance,
            _groups_of_both(self, other),
            _ordering_of_both(self, other),
            _thresholds_of_both(self, other),
            _given_by_both(self, other),
            _form_of_both(self, other),
        )

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def total(self, axis: int = 0) -> Self:
        """Sum over one leading axis."""
        axis = range(self.n.ndim)[axis]
        return type(self)(
            self.levels,
            self.moments.total(axis),
            self.interval_scores.sum(axis),
            self.z.total(axis),
            self.variance.total(axis),
            {name: profile.total(axis) for name, profile in self.groups.items()},
            self.ordering and self.ordering.total(axis),
            self.thresholds.total(axis) if self.thresholds.thresholds else no_thresholds(),
            self.given,
            None if self.form is None else self.form.total(axis),
        )


def _groups_of_both(one: Summary, other: Summary) -> Mapping[str, CoverageProfile]:
    """Coverage by what both are grouped by, or by what one is where the other has no pixel."""
    for empty, full in ((one, other), (other, one)):
        if not empty.groups and not empty.n.any():
            return full.groups
    return {name: profile + other.groups[name] for name, profile in one.groups.items() if name in other.groups}


def _ordering_of_both(one: Summary, other: Summary) -> OrderingProfile | None:
    """Return the order of both, where both keep it, or of one where the other has no pixel."""
    if one.ordering is None or other.ordering is None:
        keeps, lacks = (one, other) if other.ordering is None else (other, one)
        return None if lacks.n.any() else keeps.ordering
    return one.ordering + other.ordering


def _thresholds_of_both(one: Summary, other: Summary) -> ThresholdSums:
    """Return the sums of both; one that has neither thresholds nor pixels says nothing."""
    for empty, full in ((one, other), (other, one)):
        if not empty.thresholds.thresholds and not empty.n.any():
            return full.thresholds
    return one.thresholds + other.thresholds


def _given_by_both(one: Summary, other: Summary) -> float | None:
    """Level of the intervals that both give, or that one does where the other has no pixel."""
    if one.given == other.given or not other.n.any():
        return one.given
    if not one.n.any():
        return other.given
    raise SummaryError(f"forecasts that give intervals of level {one.given} and {other.given} do not add")


def _form_of_both(one: Summary, other: Summary) -> FormSums | None:
    """Return the sums of both; one that has neither a form nor pixels says nothing."""
    if one.form is None or other.form is None:
        has, lacks = (one, other) if other.form is None else (other, one)
        if has.form is not None and lacks.n.any():
            raise SummaryError(f"forecasts given as {has.kind} and as {lacks.kind} do not add")
        return has.form
    return one.form + other.form


def empty_summary(levels: Iterable[float]) -> Summary:
    """Return the summary of no pixel: adding it changes nothing."""
    levels = tuple(levels)
    probabilities = edge_probabilities(levels, FINE)
    return Summary(
        levels,
        no_moments(),
        np.zeros(len(levels)),
        ZHistogram(probabilities, np.zeros(len(probabilities) + 1, np.int64)),
        VarianceProfile(
            FINE_SHIFT, np.empty(0, np.int64), np.empty((0, UNWEIGHTED)), np.array(np.inf), np.array(-np.inf)
        ),
    )


def add_all(summaries: Iterable[Summary]) -> Summary:
    """Sum in the order given, so that the same parts give the same bits; at least one part."""
    return reduce(add, summaries)
