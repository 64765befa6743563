"""Intervals of every number of a pool, and tests of its calibration, from the summaries of its cells and tiles."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from geouq.config import Intervals
from geouq.failures import isolated
from geouq.inference.bands import Bands, bands_of
from geouq.inference.bin_gaps import gaps_of
from geouq.inference.bootstrap import resampled
from geouq.inference.certainty import Certainty
from geouq.inference.effective import with_effective
from geouq.inference.evaluation_unit import Blocks, CellsOf, N, cut_into_blocks, side_of_blocks, units_of
from geouq.inference.features import basis_of, summary_of
from geouq.inference.resamples import (
    FEW_TILES,
    NOT_KEPT,
    Parts,
    Resampled,
    missing_reason,
    resampled_numbers,
    too_few,
)
from geouq.inference.settings import DEFAULTS, FEWEST_TILES
from geouq.inference.tile_rows import TileRows, resampled_by_tiles
from geouq.metrics import MetricOptions, Value, evaluate_metrics, ideal_value
from geouq.summary import Summary, TilePlace

Floats = NDArray[np.float64]

OF_TILES = "blocks of tiles"
FAILED = "failed, see failures.csv"
OVERFLOW = "overflow"


@dataclass(frozen=True)
class Interval:
    """Limits of one number; None, with the reason, where there are none.

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
class Inference:
    """Intervals of all numbers of a pool and tests of its calibration; blocks is None where there is no pixel.

    bands : limits of the points of its curves; None where there are too few cells or blocks. effective : numbers of
    independent pixels that the bins are worth, by the name of the scheme; none where they are unknown.
    """

    intervals: tuple[Interval, ...]
    tests: tuple[Test, ...]
    blocks: Blocks | None
    level: float
    bands: Bands | None = None
    effective: Mapping[str, Floats] = field(default_factory=dict)


Assessed = tuple[Resampled | Value, Certainty | str]


def without_intervals(whole: Summary, choices: MetricOptions, settings: Intervals, reason: str) -> Inference:
    """Return the inference that has no interval for any number, for one reason."""
    return Inference(tuple(_without(whole, choices, reason)), (), None, settings.level)


def infer(
    name: str,
    whole: Summary,
    choices: MetricOptions,
    *,
    places: Sequence[TilePlace],
    cells_of: CellsOf,
    settings: Intervals = DEFAULTS,
    tiles: TileRows | None = None,
    wanted: Container[str] | None = None,
) -> Inference:
    """Intervals and tests of one variable of a pool whose summary is `whole`, from the cells of its tiles.

    name : of the pool, from which the draws follow. tiles : what each tile adds to the numbers that cells do not keep,
    which have no intervals otherwise. wanted : names of the metrics of which alone there are to be intervals and tests,
    and no bands. Raises DataError where blocks are given in metres and the size of pixels is not known.
    """
    if not whole.n:
        return without_intervals(whole, choices, settings, "no pixel")
    frame = basis_of(whole, choices)
    units = units_of(places, cells_of, frame)
    blocks, sums = cut_into_blocks(units, *side_of_blocks(units, settings))
    sums = sums[sums[:, N] > 0]
    if reason := too_few(blocks.cells, blocks.count):
        return Inference(tuple(_without(whole, choices, reason)), (), blocks, settings.level)
    choices = replace(choices, shared_edges=frame.edges)
    drawn = summary_of(resampled(sums, settings.resamples, settings.seed, name), frame)
    choices = with_effective(choices, whole, summary_of(sums, frame), blocks)
    parts = Parts(sums, units.rows, units.squares)
    numbers = resampled_numbers(whole, partial(summary_of, frame=frame), drawn, parts, choices, wanted=wanted)
    assessed = list(_assessed(numbers, whole, drawn, choices, settings.method))
    by_tiles = {
        _key(number): (number, how) for number, how in _assessed_by_tiles(name, choices, places, tiles, settings)
    }
    intervals: list[Interval] = []
    tests: list[Test] = []
    for number, how in assessed:
        other = by_tiles.get(_key(number), (number, FEW_TILES if len(places) < FEWEST_TILES else NOT_KEPT))
        one = Interval(*_key(number), reason=FAILED)
        with isolated("intervals", _key(number)[0]):
            one = _interval(number, how, settings, "") if how != NOT_KEPT else _interval(*other, settings, OF_TILES)
            tests += _tests(how, one, settings)
        intervals.append(one)
    bands = None
    if choices.form.has_variance and wanted is None:
        with isolated("intervals", "bands of the curves"):
            bands = bands_of(whole, drawn, choices, blocks, settings.level)
    return Inference(tuple(intervals), tuple(tests), blocks, settings.level, bands, choices.effective)


def _assessed(
    numbers: Iterable[Resampled | Value], whole: Summary, drawn: Summary, choices: MetricOptions, method: str
) -> Iterator[Assessed]:
    """Each number and how certain it is, or why that is not known."""
    for one in numbers:
        how: Certainty | str = NOT_KEPT if isinstance(one, Value) else FAILED
        if not isinstance(one, Value):
            with isolated("intervals", _key(one)[0]):
                how = missing_reason(one, whole, drawn, choices) or _certainty(one, whole, drawn, choices, method)
        yield one, how


def _certainty(one: Resampled, whole: Summary, drawn: Summary, choices: MetricOptions, method: str) -> Certainty:
    """Return how certain a number is."""
    gaps = gaps_of(one.value, whole, drawn, choices)
    return Certainty(one, gaps, method)


def _assessed_by_tiles(
    name: str, choices: MetricOptions, places: Sequence[TilePlace], tiles: TileRows | None, settings: Intervals
) -> Iterator[Assessed]:
    """Yield the same of what cells do not keep, each tile being a block."""
    if tiles is None or len(tiles.rows) < FEWEST_TILES:
        return
    numbers, drawn = resampled_by_tiles(name, choices, tiles, places, settings)
    yield from _assessed(numbers, tiles.frame.whole, drawn, choices, settings.method)


def _key(number: Resampled | Value) -> tuple[str, str, str]:
    value = number if isinstance(number, Value) else number.value
    return value.name, value.bins, value.group


def _without(whole: Summary, choices: MetricOptions, reason: str) -> Iterator[Interval]:
    for value in evaluate_metrics(whole, choices):
        yield Interval(*_key(value), reason=reason)


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
    found = how.p_value(ideal, limits, settings.level, 1 / (settings.resamples + 1))
    yield Test(value.name, value.bins, float(value.value), ideal, found, how.numbers.long_run.effective)
