"""What a set of pixels of a variable contributes.

It is small, it adds exactly, and every number reported is a function of one.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from geouq.core.distribution import NORMAL, Distribution
from geouq.core.errors import AbsentError, SummaryError
from geouq.core.sending import Sendable
from geouq.summary.coverage_profile import CoverageProfile
from geouq.summary.display import as_html, as_text
from geouq.summary.equality import are_equal
from geouq.summary.form import GAUSSIAN, Form, FormSums
from geouq.summary.interval_scores import GivenLevel, IntervalScores, IntervalWidths
from geouq.summary.moments import Moments, no_moments
from geouq.summary.ordering_profile import OrderingProfile
from geouq.summary.statistic import Statistic
from geouq.summary.threshold_sums import ThresholdSums, no_thresholds
from geouq.summary.variance_profile import FINE_SHIFT, UNWEIGHTED, VarianceProfile
from geouq.summary.z_histogram import FINE, ZHistogram, edge_probabilities

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

COVERAGE_BY = "coverage_by_"
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Summary(Sendable, Mapping[str, Statistic]):
    """A mapping of names to the statistics of a set of pixels; leading dimensions (cells, resamples) are free.

    Summaries add: `a + b` is the summary of all pixels of both, and `sum(summaries)` that of many. Two summaries are
    equal if all their sums are equal, to the last bit.

    Parameters
    ----------
    levels : tuple of float
        Nominal levels whose coverage and interval scores are kept.
    statistics : mapping of names to statistics
        Always `moments`, `interval_scores`, `z` and `variance`. If requested, or if the forecast has them, also
        `coverage_by_truth` (mean, variance, or the name of a layer), `ordering`, `thresholds`, `given`,
        `widths` and `form`. An absent statistic was not kept.

    Notes
    -----
    The summary of a tile has 200 quantiles and 512 keys an octave. That of a cell has 20 and 16, and no coverage by
    groups, ordering or thresholds.
    """

    levels: tuple[float, ...]
    statistics: Mapping[str, Statistic]

    def __getitem__(self, name: str) -> Statistic:
        try:
            return self.statistics[name]
        except KeyError:
            kept = ", ".join(self.statistics)
            raise AbsentError(f"this summary does not keep {name}; it keeps {kept}") from None

    def __contains__(self, name: object) -> bool:
        return name in self.statistics  # without the message of an absent one, which takes longer than a number

    def __iter__(self) -> Iterator[str]:
        return iter(self.statistics)

    def __len__(self) -> int:
        return len(self.statistics)

    def once(self, name: str, choice: Hashable, function: Callable[[], T]) -> T:
        """Return function(), which is called once for a name and a choice: what several metrics need."""
        key = name, choice
        if key not in self._found:
            self._found[key] = function()
        return cast("T", self._found[key])

    @cached_property
    def _found(self) -> dict[tuple[str, Hashable], Any]:
        return {}

    @property
    def moments(self) -> Moments:
        """Return the counts, sums and centred products."""
        return cast("Moments", self["moments"])

    @property
    def interval_scores(self) -> Floats:
        """Return the sums of the interval score of each level, float64 (..., levels)."""
        return cast("IntervalScores", self["interval_scores"]).sums

    @property
    def z(self) -> ZHistogram:
        """Return the counts of z."""
        return cast("ZHistogram", self["z"])

    @property
    def variance(self) -> VarianceProfile:
        """Return the sums by predicted variance."""
        return cast("VarianceProfile", self["variance"])

    @property
    def groups(self) -> Mapping[str, CoverageProfile]:
        """Return the coverage by what the pixels are grouped by, such as truth."""
        return {
            name.removeprefix(COVERAGE_BY): cast("CoverageProfile", own)
            for name, own in self.items()
            if name.startswith(COVERAGE_BY)
        }

    @property
    def ordering(self) -> OrderingProfile | None:
        """Return the pixels by variance and |z|; None where that was not kept."""
        return cast("OrderingProfile | None", self.statistics.get("ordering"))

    @property
    def thresholds(self) -> ThresholdSums:
        """Return the forecasts of exceeding some thresholds."""
        return cast("ThresholdSums", self.statistics.get("thresholds", no_thresholds()))

    @property
    def given(self) -> float | None:
        """Return the level of the intervals that the forecast gives itself; None where it gives none."""
        level = cast("GivenLevel | None", self.statistics.get("given"))
        return None if level is None else level.level

    @property
    def widths(self) -> IntervalWidths | None:
        """Return the sums of the widths of the intervals; None for the normal distribution."""
        return cast("IntervalWidths | None", self.statistics.get("widths"))

    @property
    def distribution(self) -> Distribution:
        """Return the distribution that mean and variance describe."""
        return NORMAL if self.widths is None else self.widths.distribution

    @property
    def form(self) -> FormSums | None:
        """Return the sums of a forecast that is given as an ensemble, quantiles or probabilities.

        Of the last two, n and weight are all that counts beside these: they have no variance, and moments are those of
        a residual.
        """
        return cast("FormSums | None", self.statistics.get("form"))

    @property
    def given_as(self) -> Form:
        """Return the form of the forecast."""
        return GAUSSIAN if self.form is None else self.form.form

    @property
    def kind(self) -> str:
        """Return the key of the form; `normal` for mean and variance."""
        return self.given_as.key

    @property
    def n(self) -> Counts:
        """Number of pixels."""
        return self.moments.n

    @property
    def overflows(self) -> bool:
        """Return whether a sum leaves the range of floats, so that numbers that follow from it are missing."""
        sums = [self.moments.weight, self.moments.sums, self.moments.products, self.interval_scores, self.variance.sums]
        return not all(np.isfinite(own).all() for own in (*sums, *([] if self.form is None else [self.form.sums])))

    def having(self, **statistics: Statistic | None) -> Self:
        """Return the same with other statistics; without those that are None."""
        changed = {**self.statistics, **statistics}
        return type(self)(self.levels, {name: own for name, own in changed.items() if own is not None})

    def level_index(self, level: float) -> int:
        """Place of a level among those kept; SummaryError where it is none of them."""
        try:
            return self.levels.index(level)
        except ValueError:
            kept = ", ".join(map(str, self.levels))
            raise SummaryError(f"level {level} was not kept; the levels of this summary are {kept}") from None

    def at_levels(self, levels: tuple[float, ...]) -> Self:
        """Return the same pixels with fewer levels; SummaryError where one of these was not kept."""
        if levels == self.levels:
            return self
        for level in levels:
            self.level_index(level)
        return type(self)(levels, {name: own.at_levels(levels, self.levels) for name, own in self.items()})

    def coverage_by(self, name: str) -> CoverageProfile:
        """Return the coverage by what the pixels are grouped by; SummaryError where that was not kept."""
        groups = self.groups
        if not groups and not self.n.any():
            return CoverageProfile(np.empty(0, np.int64), np.zeros((*self.n.shape, 0, len(self.levels) + 1)))
        try:
            return groups[name]
        except KeyError:
            kept = ", ".join(groups) or "nothing"
            raise SummaryError(f"coverage by {name} was not kept; this summary groups by {kept}") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Summary):
            return NotImplemented
        return are_equal((self.levels, self.statistics), (other.levels, other.statistics))

    __hash__ = None  # type: ignore[assignment]  # equal ones need not be one

    def __radd__(self, other: object) -> Self:
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, Summary):
            return NotImplemented
        if self.levels != other.levels:
            raise SummaryError(f"summaries of levels {self.levels} and {other.levels} do not add")
        names = names_of_sum(self, other, (bool(self.n.any()), bool(other.n.any())))
        pairs = {name: [one[name] for one in (self, other) if name in one] for name in names}
        return type(self)(self.levels, {name: reduce(add, pair) for name, pair in pairs.items()})

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def save(self, path: str | Path) -> None:
        """Write it to a NetCDF-4 file, from which `Summary.load` reads the same bits.

        Parameters
        ----------
        path : str or Path
            Of the file, which is replaced where there is one.

        Raises
        ------
        SummaryError
            Where it has leading dimensions; save the sum, or each part.
        """
        if self.n.ndim:
            raise SummaryError(f"a summary of shape {self.n.shape} cannot be saved; save its total() or each part")
        from geouq.summary.statistics_file import save_statistics  # noqa: PLC0415  loads h5py

        save_statistics(Path(path), self.levels, self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a summary that `save` has written.

        Parameters
        ----------
        path : str or Path
            Of the file.

        Raises
        ------
        SummaryError
            Where the file is damaged or not one of these.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import numpy as np, geouq
        >>> summary = geouq.summarize(np.zeros(4), np.ones(4), np.array([0.5, -1.0, 2.0, 0.0]))
        >>> with TemporaryDirectory() as folder:
        ...     summary.save(Path(folder, "one.nc"))
        ...     geouq.Summary.load(Path(folder, "one.nc")) == summary
        True
        """
        from geouq.summary.statistics_file import load_statistics  # noqa: PLC0415  loads h5py

        return cls(*load_statistics(Path(path)))

    def total(self, axis: int = 0) -> Self:
        """Sum over one leading axis."""
        axis = range(self.n.ndim)[axis]
        return type(self)(self.levels, {name: own.total(axis) for name, own in self.items()})


def names_of_sum(one: Mapping[str, Any], other: Mapping[str, Any], have_pixels: tuple[bool, bool]) -> list[str]:
    """Return the statistics that the sum of two summaries has, in their order.

    A summary without pixels lacks nothing. Of two with pixels, the sum has what both have.

    Raises
    ------
    SummaryError
        Where one of two summaries with pixels lacks what a summary must not lack.
    """
    found = [name for name in one if name in other or not have_pixels[1]]
    found += [name for name in other if name not in one and not have_pixels[0]]
    if all(have_pixels):
        for name in one.keys() ^ other.keys():
            if (one.get(name) or other[name]).required:
                raise SummaryError(f"a summary with {name.replace('_', ' ')} and one without do not add")
    return found


def empty_summary(levels: Iterable[float]) -> Summary:
    """Return the summary of no pixel: adding it changes nothing."""
    levels = tuple(levels)
    probabilities = edge_probabilities(levels, FINE)
    none, no_sums = np.empty(0, np.int64), np.empty((0, UNWEIGHTED))
    return Summary(
        levels,
        {
            "moments": no_moments(),
            "interval_scores": IntervalScores(np.zeros(len(levels))),
            "z": ZHistogram(probabilities, np.zeros(len(probabilities) + 1, np.int64)),
            "variance": VarianceProfile(FINE_SHIFT, none, no_sums, np.array(np.inf), np.array(-np.inf)),
        },
    )


def add_all(summaries: Iterable[Summary]) -> Summary:
    """Sum in the order given, so that the same parts give the same bits; at least one part."""
    return reduce(add, summaries)
