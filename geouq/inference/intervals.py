"""Intervals of every number of an evaluation unit, tests of its calibration and bands of its curves."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geouq.config import Intervals
from geouq.core.errors import SummaryError
from geouq.core.failures import isolated
from geouq.core.gaussian import quantile
from geouq.inference.bin_gaps import Gaps, binned_as_shared, gaps_of
from geouq.inference.blocks import (
    Blocks,
    block_numbers,
    cell_metres,
    cut_into_blocks,
    side_in_cells,
    side_of_blocks,
    units_of,
)
from geouq.inference.bootstrap import CellsOf, N, basis_of_cells
from geouq.inference.folded import Noise, folded_limits, folded_p_value
from geouq.inference.limits import Replicates, consistent_p_value, rounded, widened
from geouq.inference.resamples import (
    FEW_TILES,
    FEWEST_EFFECTIVE,
    FEWEST_TILES,
    LOWEST,
    NOT_KEPT,
    Resampled,
    is_lowest_of_groups,
    missing_reason,
    of_cells,
    resampled_by_cells,
    too_few,
)
from geouq.inference.tiles import TileRows, group_limits, resampled_by_tiles
from geouq.metrics import (
    Metric,
    MetricOptions,
    Value,
    calibration_curve,
    evaluate_metrics,
    ideal_value,
)
from geouq.metrics.form_curves import FORM_CURVES
from geouq.summary import Summary, TilePlace, empty_summary
from geouq.summary.form import no_sums
from geouq.summary.pixel_statistic import NO_PIXELS, PIXEL_STATISTICS

Floats = NDArray[np.float64]

DEFAULTS = Intervals()
PIT_BINS = 20
OF_TILES = "blocks of tiles"
FAILED = "failed, see failures.csv"
OVERFLOW = "overflow"


@dataclass(frozen=True)
class Interval:
    """Limits of a number; None, with the reason, where there are none.

    method : bca, percentile or folded. effective : number of effective cells of the number; None where it is unknown.
    """

    metric: str
    bins: str
    group: str
    low: float | None = None
    high: float | None = None
    method: str = ""
    reason: str = ""
    effective: float | None = None


@dataclass(frozen=True)
class Test:
    """Whether a number is compatible with its value for a perfect forecaster, `ideal`; p_value in (0, 1]."""

    metric: str
    bins: str
    value: float
    ideal: float
    p_value: float
    effective: float


@dataclass(frozen=True)
class Bands:
    """Limits of the points of the curves of an evaluation unit, by the percentile bootstrap of its blocks.

    level : of each point for itself. blocks : number of blocks drawn. calibration : float64 (2, calibration levels), of
    the share of the truth below each quantile; mse : float64 (2, bins) by the name of the scheme; NaN where there are
    none. pit_effective : number of independent pixels whose PIT histogram of 20 bins would vary as much, NaN where the
    residuals are worth too few independent cells to tell, as are the limits then. shares : float64 (2, points with a
    value) by the name of a curve, of the observed shares of quantiles and classes.
    """

    level: float
    blocks: int
    calibration: Floats
    mse: Mapping[str, Floats]
    pit_effective: float
    shares: Mapping[str, Floats] = field(default_factory=dict)


@dataclass(frozen=True)
class Inference:
    """Intervals of all numbers of an evaluation unit, and tests of its calibration.

    Parameters
    ----------
    blocks : Blocks or None
        None if there is no pixel.
    bands : Bands or None
        Limits of the points of the curves. None if there are too few cells or blocks.
    effective : mapping
        Number of independent pixels of each bin, by the name of the scheme. Empty if it is unknown.
    group_limits : mapping
        Limits of the coverage of each group, by grouping and level, float64 (2, groups). Empty if tiles are too few.
    """

    intervals: tuple[Interval, ...]
    tests: tuple[Test, ...]
    blocks: Blocks | None
    level: float
    bands: Bands | None = None
    effective: Mapping[str, Floats] = field(default_factory=dict)
    group_limits: Mapping[tuple[str, float], Floats] = field(default_factory=dict)


@dataclass(frozen=True)
class Certainty:
    """A number and its resamples, and how its limits follow.

    gaps : of a norm of gaps, None of any other number. method : bca or percentile, of a number that is no norm.
    """

    numbers: Resampled
    gaps: Gaps | None
    method: str

    @property
    def missing_reason(self) -> str:
        """Return why there are no limits, or nothing."""
        if not np.isfinite(self.numbers.value.value):
            return "no value"
        return "a bin without any error" if self.gaps and not self.gaps.whole else ""

    def defined(self, level: float) -> bool:
        """Return whether enough resamples have the number for limits of that level."""
        if self.gaps is None and self.numbers.corrected is not None:
            return True
        if not np.isfinite(self.numbers.of_blocks).all():
            return False
        if self.gaps is not None:
            return self.gaps.defined and bool(np.isfinite(self.numbers.long_run.widening(level)))
        return len(self._defined) >= level * len(self.numbers.replicates)

    def limits(self, level: float) -> tuple[float, float]:
        """Return the limits of a level."""
        gaps, widening = self.gaps, self.numbers.long_run.widening(level)
        if gaps is not None:
            return rounded(folded_limits(gaps.signed, self._noise(widening), level))
        estimate, bounds = float(self.numbers.value.value), self.numbers.value.metric.bounds
        return rounded(widened(estimate, self._of_replicates.limits(level), widening, bounds))

    def _noise(self, widening: float) -> Noise:
        """Return the noise of the gaps, which the limits and the p-value share."""
        if widening not in self._noises and self.gaps is not None:
            self._noises[widening] = self.gaps.noise(widening)
        return self._noises[widening]

    @cached_property
    def _noises(self) -> dict[float, Noise]:
        return {}

    @cached_property
    def _defined(self) -> Floats:
        """Return the replicates that are not missing."""
        replicates = self.numbers.replicates
        return replicates[np.isfinite(replicates)]

    @cached_property
    def _of_replicates(self) -> Replicates:
        if self.method == "bca":
            if (found := self.numbers.corrected) is not None:
                return found
            return Replicates.corrected(float(self.numbers.value.value), self._defined, self.numbers.left_out)
        return Replicates(np.sort(self._defined))

    def p_value(self, number: float, limits: tuple[float, float], level: float, least: float) -> float:
        """Return 1 minus the highest level whose limits exclude a number, `least` at least; `limits` are of `level`."""
        value, gaps, long_run = self.numbers.value, self.gaps, self.numbers.long_run
        if gaps is None:
            estimate = float(value.value)
            p = self._of_replicates.p_value(number, estimate, long_run.spread, value.metric.bounds, least)
        else:
            p = folded_p_value(number, gaps.signed, self._noise(long_run.widening(level)))
        return consistent_p_value(p, excluded=not limits[0] <= number <= limits[1], level=level, least=least)


Assessed = tuple[Resampled | Value, Certainty | str]


def without_intervals(
    whole: Summary, metric_options: MetricOptions, settings: Intervals, reason: str, blocks: Blocks | None = None
) -> Inference:
    """Return the inference that has no interval for any number, for one reason."""
    intervals = (Interval(*_key(value), reason=reason) for value in evaluate_metrics(whole, metric_options))
    return Inference(tuple(intervals), (), blocks, settings.level)


def infer(
    name: str,
    whole: Summary,
    metric_options: MetricOptions,
    *,
    places: Sequence[TilePlace],
    cells_of: CellsOf,
    settings: Intervals = DEFAULTS,
    tiles: TileRows | None = None,
    wanted: Container[str] | None = None,
) -> Inference:
    """Return intervals and tests of a variable of an evaluation unit, from the cells of its tiles.

    Parameters
    ----------
    name : str
        Name of the evaluation unit, from which the seed of the resamples follows.
    whole : Summary
        Summary of all pixels of the evaluation unit.
    tiles : TileRows, optional
        Contribution of each tile to the numbers that cells do not keep. Without it these have no interval.
    wanted : container of str, optional
        Names of the metrics that get intervals and tests; then there are no bands. By default all metrics.

    Raises
    ------
    DataError
        If blocks are given in metres and the size of pixels is unknown.
    """
    if not whole.n:
        return without_intervals(whole, metric_options, settings, "no pixel")
    units = units_of(places, cells_of, basis_of_cells(whole, metric_options))
    blocks, sums = cut_into_blocks(units, *side_of_blocks(units, settings))
    sums = sums[sums[:, N] > 0]
    if reason := too_few(blocks.cells, blocks.count):
        return without_intervals(whole, metric_options, settings, reason, blocks)
    metric_options, drawn, numbers = resampled_by_cells(
        name, whole, metric_options, units=units, blocks=blocks, sums=sums, settings=settings, wanted=wanted
    )
    assessed = list(_assessed(numbers, whole, drawn, metric_options, settings.method))
    not_kept = {number.metric.name for number, how in assessed if how == NOT_KEPT and isinstance(number, Value)}
    by_tiles = {
        _key(number): (number, how)
        for number, how in _assessed_by_tiles(name, metric_options, places, tiles, settings, wanted=not_kept)
    }
    intervals, tests = list[Interval](), list[Test]()
    for number, how in assessed:
        other = by_tiles.get(_key(number), (number, FEW_TILES if len(places) < FEWEST_TILES else NOT_KEPT))
        one = Interval(*_key(number), reason=FAILED)
        with isolated("intervals", _key(number)[0]):
            one = _interval(number, how, settings, "") if how != NOT_KEPT else _interval(*other, settings, OF_TILES)
            tests += _tests(how, one, settings)
        intervals.append(one)
    bands, of_groups = None, dict[tuple[str, float], Floats]()
    if wanted is None:
        with isolated("intervals", "bands of the curves"):
            of = bands_of if metric_options.form.has_variance else bands_of_shares
            bands = of(whole, drawn, metric_options, blocks, settings.level, resamples=settings.resamples)
    if metric_options.form.has_variance and wanted is None:
        with isolated("intervals", "limits of groups"):
            of_groups = _limits_of_groups(name, metric_options, places, tiles, settings)
    return Inference(tuple(intervals), tuple(tests), blocks, settings.level, bands, metric_options.effective, of_groups)


def _limits_of_groups(
    name: str,
    metric_options: MetricOptions,
    places: Sequence[TilePlace],
    tiles: TileRows | None,
    settings: Intervals,
) -> dict[tuple[str, float], Floats]:
    """Return the limits of the coverage of groups, which cells do not keep; nothing where tiles are too few."""
    if tiles is None or len(tiles.rows) < FEWEST_TILES or not metric_options.groupings:
        return {}
    return group_limits(name, metric_options, tiles, places, settings)


def _assessed(
    numbers: Iterable[Resampled | Value], whole: Summary, drawn: Summary, metric_options: MetricOptions, method: str
) -> Iterator[Assessed]:
    """Yield each number and how certain it is, or why that is not known."""
    for one in numbers:
        how: Certainty | str = NOT_KEPT if isinstance(one, Value) else FAILED
        if not isinstance(one, Value):
            with isolated("intervals", _key(one)[0]):
                how = missing_reason(one, whole, drawn, metric_options) or _certainty(
                    one, gaps_of(one.value, whole, drawn, metric_options), method
                )
        yield one, how


def _certainty(number: Resampled, gaps: Gaps | None, method: str) -> Certainty:
    return Certainty(number, gaps.of_first(len(number.replicates)) if gaps else None, method)


def _assessed_by_tiles(
    name: str,
    metric_options: MetricOptions,
    places: Sequence[TilePlace],
    tiles: TileRows | None,
    settings: Intervals,
    *,
    wanted: Container[str],
) -> Iterator[Assessed]:
    """Yield the same of the metrics of these names, which cells do not keep; each tile is a block."""
    if tiles is None or len(tiles.rows) < FEWEST_TILES:
        return
    numbers, drawn = resampled_by_tiles(name, metric_options, tiles, places, settings, wanted=wanted)
    yield from _assessed(numbers, tiles.whole, drawn, metric_options, settings.method)


def _key(number: Resampled | Value) -> tuple[str, str, str]:
    value = number if isinstance(number, Value) else number.value
    return value.name, value.bins, value.group


def _interval(number: Resampled | Value, how: Certainty | str, settings: Intervals, blocks: str) -> Interval:
    """Return the interval of a number, or why it has none; blocks : what they are, where they are not made of cells."""
    reason = how if isinstance(how, str) else how.missing_reason
    if not reason and isinstance(how, Certainty) and not how.defined(settings.level):
        reason = "not defined in all resamples"
    effective = None if isinstance(number, Value) else number.effective
    if reason or isinstance(how, str):
        return Interval(*_key(number), reason=reason, effective=effective)
    method = "folded" if how.gaps is not None else how.method
    limits, method = how.limits(settings.level), ", ".join(filter(None, (method, blocks)))
    if not np.isfinite(limits).all():
        return Interval(*_key(number), reason=OVERFLOW, effective=effective)
    return Interval(*_key(number), *limits, method, effective=effective)


def _tests(how: Certainty | str, interval: Interval, settings: Intervals) -> Iterator[Test]:
    """Yield a test of a number that has an interval: it is significant if the interval excludes the ideal."""
    if isinstance(how, str) or interval.low is None or interval.high is None:
        return
    value = how.numbers.value
    ideal = ideal_value(value.metric, value.level) if value.metric.is_tested else None
    if ideal is None:
        return
    limits = interval.low, interval.high
    p = how.p_value(ideal, limits, settings.level, 1 / (settings.resamples + 1))
    yield Test(value.name, value.bins, float(value.value), ideal, p, how.numbers.long_run.effective)


def why_never(metric: Metric, metric_options: MetricOptions, places: Sequence[TilePlace], settings: Intervals) -> str:
    """Return why a metric of these tiles has no interval whatever their pixels are; "" if it may have one."""
    if is_lowest_of_groups(metric):
        return LOWEST
    if len(places) < FEWEST_TILES and not _follows_from_cells(metric, metric_options):
        return FEW_TILES
    cells = sum(place.cell_grid.pixels for place in places)
    return too_few(cells, _most_blocks(places, settings, cells))


def _follows_from_cells(metric: Metric, metric_options: MetricOptions) -> bool:
    """Return whether the metric follows from the summary of a cell (here a cell without pixels)."""
    edges = {scheme.name: np.linspace(0, 1, scheme.count + 1) for scheme in metric_options.schemes}
    others = {name: kind.of_pixels(NO_PIXELS, 1).total() for name, kind in PIXEL_STATISTICS.items()}
    whole = empty_summary(metric_options.levels).having(form=no_sums(metric_options.form), **others)
    metric_options = replace(metric_options, shared_edges=edges)
    basis = basis_of_cells(whole, metric_options)
    with np.errstate(invalid="ignore", divide="ignore"):  # numbers of no pixel, which nobody reads
        return of_cells(metric, basis.summary(np.zeros((1, basis.width))), metric_options) is not None


def _most_blocks(places: Sequence[TilePlace], settings: Intervals, cells: int) -> int:
    """Return how many blocks there are if every cell holds a pixel; of `auto`, no more than cells."""
    if settings.block == "auto":
        return cells
    if settings.block == "tile":
        return len(places)
    size = places[0].cell_size if places else 1
    metres = float(np.mean([cell_metres(place.grid, size) for place in places] or [1]))
    side = side_in_cells(settings.block, size, metres)
    return sum(int(block_numbers(place.cell_grid.shape, side).max()) + 1 for place in places)


def bands_of(
    whole: Summary, drawn: Summary, metric_options: MetricOptions, blocks: Blocks, level: float, *, resamples: int
) -> Bands:
    """Bands around the curves of `whole`, whose resamples are the first rows of `drawn`; bins have the shared edges."""
    widening = _widening(blocks, level)
    mse = {}
    for scheme in metric_options.schemes:
        observed, replicates = (binned_as_shared(one, scheme, metric_options).mse for one in (whole, drawn))
        mse[scheme.name] = _limits(observed, replicates[:resamples], widening["squared_error"], level, (0.0, np.inf))
    farthest = float(np.maximum(widening["error"], widening["z_square"]))
    levels, calibration = (
        metric_options.calibration_levels,
        np.full((2, len(metric_options.calibration_levels)), np.nan),
    )
    with suppress(SummaryError):  # levels between those at which cells count
        others = calibration_curve(drawn, levels)[:resamples]
        calibration = _limits(calibration_curve(whole, levels), others, widening["error"], level, (0.0, 1.0))
    return Bands(level, blocks.count, calibration, mse, _pit_effective(whole, drawn, resamples) / farthest**2)


def bands_of_shares(
    whole: Summary, drawn: Summary, metric_options: MetricOptions, blocks: Blocks, level: float, *, resamples: int
) -> Bands | None:
    """Return the bands around the observed shares of quantiles or classes; None if the form has no such curves."""
    known = FORM_CURVES.get(metric_options.form.key)
    if known is None or not known.observed or not known.of_many:
        return None
    widening = float(np.max(list(_widening(blocks, level).values())))
    both = zip(known.curves(whole), known.curves(drawn), strict=True)
    shares = {}
    for (name, _, y), (_, _, others) in both:
        limits = _limits(y, others[:resamples], widening, level, (0.0, 1.0))
        limits[:, limits[0] == limits[1]] = np.nan  # a share that no resample changes does not tell how certain it is
        shares[name] = limits[:, np.isfinite(y)]
    return Bands(level, blocks.count, np.empty((2, 0)), {}, np.nan, shares)


def _widening(blocks: Blocks, level: float) -> dict[str, float]:
    """Return the widening of each residual, NaN where it is worth too few independent cells."""
    return {
        name: correlation_range.widening(level) if correlation_range.effective >= FEWEST_EFFECTIVE else np.nan
        for name, correlation_range in blocks.correlation_ranges.items()
    }


def pit_half_width(effective: float, level: float) -> float:
    """Return how far from 1 the densities of all PIT bins are at most at a level, of so many independent pixels.

    These are the normal limits of a binomial share of 1/20, for 20 bins together (Bonferroni).

    >>> round(pit_half_width(7600, 0.95), 4)
    0.1512
    """
    return quantile(1 - (1 - level) / (2 * PIT_BINS)) * float(np.sqrt((PIT_BINS - 1) / effective))


def _limits(estimates: Floats, drawn: Floats, widening: float, level: float, bounds: tuple[float, float]) -> Floats:
    """Return the limits (2, points) of points from their replicates (R, points)."""
    limits, replicates = np.full((2, len(estimates)), np.nan), np.sort(np.ascontiguousarray(drawn.T))
    known = np.isfinite(estimates) & np.isfinite(widening) & np.isfinite(replicates).all(-1)
    for k in np.flatnonzero(known):
        limits[:, k] = widened(float(estimates[k]), Replicates(replicates[k]).limits(level), widening, bounds)
    return limits


def _pit_effective(whole: Summary, drawn: Summary, resamples: int) -> float:
    """Independent pixels whose shares of 20 bins would vary as much as those of the resamples; at most all pixels."""
    n, drawn_shares = float(whole.n), drawn.z.regular(PIT_BINS) / drawn.moments.weight[:, np.newaxis]
    shares = whole.z.regular(PIT_BINS) / whole.moments.weight
    spread = float(np.square(drawn_shares[:resamples] - shares).mean(0).sum())
    return min(n, float((shares * (1 - shares)).sum()) / spread) if spread > 0 else n
