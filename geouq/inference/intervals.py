"""Intervals of every number of a pool, and tests of its calibration, from the summaries of its cells."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geouq.config import Intervals
from geouq.errors import SummaryError
from geouq.inference.bands import Bands, bands_of
from geouq.inference.bootstrap import left_out, resampled
from geouq.inference.features import frame_of, summary_of
from geouq.inference.gaps import Gaps, gaps_of, is_folded, rests_on_few_blocks
from geouq.inference.limits import bca_limits, folded_limits, p_value, percentile_limits, widened
from geouq.inference.pool import Blocks, CellsOf, Reach, blocks_of
from geouq.inference.settings import DEFAULTS, FEWEST_BLOCKS, FEWEST_CELLS
from geouq.metrics import METRICS, Choices, Metric, Value, evaluate_metric
from geouq.summary import Summary, TilePlace

Floats = NDArray[np.float64]

NOT_KEPT = "not kept by cell"
FEW_IN_A_BIN = "a bin in few blocks"
NOT_BY_CELL = {"group", "ordering", "threshold"}
SHARES = ("coverage", "coverage_above", "coverage_below", "pit_mean", "uce_normalized", "ence_normalized")
AT_LEAST_0 = (
    *("zms", "z_std", "cv", "sharpness", "sharpness_rms", "mean_std", "width", "mae", "rmse", "nmae", "nrmse"),
    *("pit_std", "crps", "interval_score", "ence_null"),
)
BY_ERROR = (
    *("bias", "nbias", "z_mean", "pit_mean", "coverage_above", "coverage_below"),
    *("mace", "rmsce", "calibration_error", "miscalibration_area"),
)
OF_PREDICTIONS = ("sharpness", "sharpness_rms", "mean_std", "width", "cv")
BY_Z_SQUARE = ("zms", "z_std", "coverage", "pit_std", "nll", "ence", "ence_normalized", "ence_excess", "ence_null")


@dataclass(frozen=True)
class Interval:
    """Limits of one number; None, with the reason, where there are none. method : bca, percentile or folded."""

    metric: str
    bins: str
    group: str
    low: float | None = None
    high: float | None = None
    method: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Test:
    """Whether a number is compatible with its value for a perfect forecaster, `ideal`; p_value in (0, 1]."""

    metric: str
    bins: str
    value: float
    ideal: float
    p_value: float


@dataclass(frozen=True)
class Inference:
    """Intervals of all numbers of a pool and tests of its calibration; blocks is None where there is no pixel.

    bands : limits of the points of its curves; None where there are too few cells or blocks.
    """

    intervals: tuple[Interval, ...]
    tests: tuple[Test, ...]
    blocks: Blocks | None
    level: float
    bands: Bands | None = None


@dataclass(frozen=True)
class Resampled:
    """One number: of the pool, of each resample, and without each group of blocks."""

    value: Value
    replicates: Floats
    left_out: Floats


def infer(
    name: str,
    whole: Summary,
    choices: Choices,
    *,
    places: Sequence[TilePlace],
    cells_of: CellsOf,
    settings: Intervals = DEFAULTS,
) -> Inference:
    """Intervals and tests of one variable of a pool whose summary is `whole`, from the cells of its tiles.

    name : of the pool, from which the draws follow. Raises DataError where blocks are given in metres and the size of
    pixels is not known.
    """
    if not whole.n:
        return Inference(tuple(_without(whole, choices, "no pixel")), (), None, settings.level)
    frame = frame_of(whole, choices)
    blocks, sums = blocks_of(places, cells_of, frame, settings)
    if reason := too_few(blocks.cells, blocks.count):
        return Inference(tuple(_without(whole, choices, reason)), (), blocks, settings.level)
    choices = replace(choices, shared_edges=frame.edges)
    drawn = summary_of(resampled(sums, settings.resamples, settings.seed, name), frame)
    rest = summary_of(left_out(sums), frame)
    intervals: list[Interval] = []
    tests: list[Test] = []
    for values in resampled_numbers(whole, drawn, rest, choices):
        if isinstance(values, Value):
            intervals.append(Interval(values.name, values.bins, values.group, reason=NOT_KEPT))
            continue
        if rests_on_few_blocks(values.value, whole, drawn, choices):
            number = values.value
            intervals.append(Interval(number.name, number.bins, number.group, reason=FEW_IN_A_BIN))
            continue
        gaps = gaps_of(values.value, whole, drawn, choices) if is_folded(values.value) else None
        reach = reach_of(values.value, blocks)
        known = np.isfinite(values.left_out).all()
        widening = reach.widening(settings.level, values.left_out if known else None)
        intervals.append(_interval(values, gaps, widening, settings))
        tests += _tests(values, gaps, widening, choices)
    bands = bands_of(whole, drawn, choices, blocks, settings.level)
    return Inference(tuple(intervals), tuple(tests), blocks, settings.level, bands)


def reach_of(value: Value, blocks: Blocks) -> Reach:
    """The residual whose correlation a number feels: errors, their size in the unit, or their size beside the std.

    Numbers of predictions alone are given the one that widens most.
    """
    name = value.metric.name
    if name in OF_PREDICTIONS:
        return min(blocks.reaches.values(), key=lambda reach: reach.kept)
    return blocks.reaches["error" if name in BY_ERROR else "z_square" if name in BY_Z_SQUARE else "squared_error"]


def too_few(cells: int, blocks: int) -> str:
    """Why there are no intervals, or nothing."""
    if cells < FEWEST_CELLS:
        return f"fewer than {FEWEST_CELLS} cells"
    return f"fewer than {FEWEST_BLOCKS} blocks" if blocks < FEWEST_BLOCKS else ""


def _without(whole: Summary, choices: Choices, reason: str) -> Iterator[Interval]:
    for metric in METRICS:
        for value in evaluate_metric(metric, whole, choices):
            yield Interval(value.name, value.bins, value.group, reason=reason)


def resampled_numbers(whole: Summary, drawn: Summary, rest: Summary, choices: Choices) -> Iterator[Resampled | Value]:
    """All numbers of all three; a bare value where cells do not keep what it follows from."""
    for metric in METRICS:
        values = list(evaluate_metric(metric, whole, choices))
        try:
            others = [of_cells(metric, summary, choices) for summary in (drawn, rest)]
        except SummaryError:
            yield from values
            continue
        for value, replicates, without in zip(values, *others, strict=True):
            yield Resampled(value, replicates.value, without.value)


def of_cells(metric: Metric, summary: Summary, choices: Choices) -> list[Value]:
    """The values of a metric; SummaryError where cells keep too little for it."""
    if metric.choice in NOT_BY_CELL:
        raise SummaryError(f"{metric.name} does not follow from cells")
    return list(evaluate_metric(metric, summary, choices))


def _interval(numbers: Resampled, gaps: tuple[Gaps, Floats] | None, widening: float, settings: Intervals) -> Interval:
    value = numbers.value
    name = value.name, value.bins, value.group
    estimate = float(value.value)
    if not np.isfinite(estimate):
        return Interval(*name, reason="no value")
    if gaps is not None:
        own, others = gaps
        if not own.whole:
            return Interval(*name, reason="a bin without any error")
        limits = folded_limits(own.signed, widening * (others - own.signed), own.norm, settings.level)
        return Interval(*name, *rounded((limits[0] - own.subtracted, limits[1] - own.subtracted)), "folded")
    defined = np.isfinite(numbers.replicates)
    if defined.sum() < settings.level * len(defined) or not np.isfinite(numbers.left_out).all():
        return Interval(*name, reason="not defined in all resamples")
    replicates = numbers.replicates[defined]
    if settings.method == "bca":
        limits = bca_limits(estimate, replicates, numbers.left_out, settings.level)
    else:
        limits = percentile_limits(replicates, settings.level)
    limits = widened(estimate, limits, widening, _bounds(value.metric.name))
    return Interval(*name, *rounded(limits), settings.method)


def _bounds(metric: str) -> tuple[float, float]:
    """Lowest and highest value that a number can have."""
    lowest = 0.0 if metric in SHARES or metric in AT_LEAST_0 else -np.inf
    return lowest, 1.0 if metric in SHARES or metric == "r2" else np.inf


def rounded(limits: tuple[float, float]) -> tuple[float, float]:
    """Limits to 12 digits: logarithms have other last digits on other machines."""
    low, high = (float(f"{limit:.12g}") for limit in limits)
    return low, high


def _tests(numbers: Resampled, gaps: tuple[Gaps, Floats] | None, widening: float, choices: Choices) -> Iterator[Test]:
    """Tests of z^2 (in the logarithm, in which its noise is alike wherever it stands), coverage, and excess of ENCE."""
    value, replicates = numbers.value, numbers.replicates
    estimate, name = float(value.value), value.metric.name
    if not np.isfinite(estimate):
        return
    if name == "zms" and estimate > 0:
        with np.errstate(divide="ignore"):  # a resample without any error is infinitely far
            null = widening * np.abs(np.log(replicates / estimate))
        yield Test(value.name, "", estimate, 1.0, p_value(abs(np.log(estimate)), null))
    elif name == "coverage":
        (level,) = (p for p in choices.levels if value.name == f"coverage_{round(100 * p, 10):g}")
        null = widening * np.abs(replicates - estimate)
        yield Test(value.name, "", estimate, level, p_value(abs(estimate - level), null))
    elif name == "ence_excess" and gaps is not None and gaps[0].whole:
        own, others = gaps
        null = own.norm(widening * (others - own.signed))
        yield Test(value.name, value.bins, estimate, 0.0, p_value(estimate + own.subtracted, null))
