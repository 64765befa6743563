"""Numbers of resamples: how each part of an evaluation unit influences them, and when they tell how certain they are.

A number is a function of summed columns. Its gradient times the columns of a cell is what the cell adds to the
number's deviation, to first order. So every number has a residual of its own, whose correlation it feels.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import cast

import numpy as np
from numpy.typing import NDArray

from geouq.config import Intervals
from geouq.core.compiled import compiled_for
from geouq.core.errors import SummaryError
from geouq.inference.bin_gaps import binned_as_shared, rests_on_few_blocks
from geouq.inference.blocks import Blocks, Units
from geouq.inference.bootstrap import WEIGHT, resampled
from geouq.inference.limits import Replicates
from geouq.inference.long_run import LongRun, Squares, long_runs
from geouq.metrics import Metric, MetricOptions, Value, evaluate_metric, metrics_of
from geouq.summary import Summary

FEWEST_CELLS = 8
FEWEST_BLOCKS = 8
FEWEST_TILES = 8
FEWEST_EFFECTIVE = 8  # cells: of fewer, intervals of simulated maps hold the number too rarely
FEWEST_CERTAIN = 3  # degrees of freedom: the spread is known to 40 % of itself, as 1 / sqrt(2 n)
Floats = NDArray[np.float64]
STEP = 1e-6  # of the sum of the sizes of a column
ROUNDING = 1e-13  # changes below are those of last digits
NOT_KEPT = "not kept by cell"
FEW_TILES = f"{NOT_KEPT}, and fewer than {FEWEST_TILES} tiles"
FEW_IN_A_BIN = "a bin in few blocks"
FEW_IN_UNEVEN_BINS = f"{FEW_IN_A_BIN}; equal-count bins all hold pixels"
FEW_CELLS = f"fewer than {FEWEST_CELLS} cells"
FEW_BLOCKS = f"fewer than {FEWEST_BLOCKS} blocks"
FEW_EFFECTIVE = f"fewer than {FEWEST_EFFECTIVE} effective cells"
TOO_FEW = frozenset({FEW_CELLS, FEW_BLOCKS, FEW_EFFECTIVE})  # reasons that are the same for all metrics
LOWEST = "the lowest of several noisy numbers"
OUTWEIGHED = "few blocks outweigh the others"
NOT_BY_CELL = {"group", "ordering", "threshold"}


@dataclass(frozen=True)
class Probes:
    """Summed columns of an evaluation unit, and the same with one column raised at a time.

    sums : float64 (1 + raised, columns). raised : int64, which columns are raised; steps : float64, by how much.
    """

    sums: Floats
    raised: NDArray[np.int64]
    steps: Floats

    @classmethod
    def of(cls, rows: Floats) -> "Probes":
        """Return the probes of rows (parts, columns) that add to the unit."""
        total, size = _column_sums(rows)
        raised = np.flatnonzero((size > 0) & np.isfinite(size))
        steps = STEP * size[raised]
        sums = np.tile(total, (len(raised) + 1, 1))
        sums[np.arange(1, len(sums)), raised] += steps
        return cls(sums, raised, steps)

    def gradient(self, numbers: Floats) -> Floats:
        """Return the gradient (..., columns) of numbers from their values (..., 1 + raised); 0 where one is missing."""
        gradient, own = np.zeros((*numbers.shape[:-1], self.sums.shape[1])), numbers[..., :1]
        with np.errstate(invalid="ignore"):
            change = numbers[..., 1:] - own
            change = np.where(np.abs(change) > ROUNDING * np.abs(own), change, 0.0)
        gradient[..., self.raised] = np.where(np.isfinite(change), change, 0.0) / self.steps
        return gradient


def influences(rows: Floats, gradients: Floats) -> Floats:
    """Return the influence of each part on each number, (parts, numbers); those of a number add to 0.

    Parameters
    ----------
    rows : float64 (parts, columns)
        What each part adds.
    gradients : float64 (columns, numbers)
        Gradients of the numbers.
    """
    influence = np.zeros((len(rows), gradients.shape[1]))
    _multiply(rows, np.ascontiguousarray(gradients), influence)
    weight = rows[:, WEIGHT]
    return influence - weight[:, np.newaxis] / weight.sum() * influence.sum(axis=0)


@compiled_for("f8[:,::1]")
def _column_sums(rows: Floats) -> tuple[Floats, Floats]:
    total, size = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for i in range(len(rows)):
        for j in range(rows.shape[1]):
            total[j] += rows[i, j]
            size[j] += abs(rows[i, j])
    return total, size


@compiled_for("f8[:,::1], f8[:,::1], f8[:,::1]")
def _multiply(rows: Floats, gradients: Floats, out: Floats) -> None:
    """Add rows (parts, columns) times gradients (columns, numbers) to out, in a fixed order."""
    for i in range(len(rows)):
        for j in range(rows.shape[1]):
            value = rows[i, j]
            if value != 0 and np.isfinite(value):
                for k in range(out.shape[1]):
                    out[i, k] += value * gradients[j, k]


@dataclass(frozen=True)
class Influences:
    """What each part adds to several numbers, to first order.

    of_blocks, of_squares, of_cells : float64 (numbers, blocks), (numbers, squares), (numbers, cells).
    """

    of_blocks: Floats
    of_squares: Floats
    of_cells: Floats
    squares: Squares

    @cached_property
    def long_runs(self) -> list[LongRun]:
        """Return the long-run variance of each number."""
        return long_runs(self.squares, self.of_squares, self.of_blocks, self.of_cells)


@dataclass(frozen=True)
class Together:
    """Several numbers of an evaluation unit, whose replicates are sorted in one call.

    Parameters
    ----------
    estimates : float64 (numbers)
    replicates : float64 (numbers, R)
    of_blocks : float64 (numbers, blocks)
        Influence of each block.
    """

    estimates: Floats
    replicates: Floats
    of_blocks: Floats

    @cached_property
    def corrected(self) -> Mapping[int, Replicates]:
        """Return the bias-corrected replicates of the numbers without a missing one, by their place."""
        known = np.isfinite(self.estimates) & np.isfinite(self.replicates).all(-1) & np.isfinite(self.of_blocks).all(-1)
        estimates = self.estimates[known]
        left_out = estimates[:, np.newaxis] - self.of_blocks[known]
        found = Replicates.each_corrected(estimates, self.replicates[known], left_out)
        return dict(zip(np.flatnonzero(known).tolist(), found, strict=True))


@dataclass(frozen=True)
class Resampled:
    """One number: of the evaluation unit, of each resample, and its place among those whose influences are known."""

    value: Value
    replicates: Floats
    influences: Influences
    place: int = 0
    together: Together | None = None

    @property
    def corrected(self) -> Replicates | None:
        """Return the bias-corrected replicates, if none is missing and they were drawn with those of other numbers."""
        return None if self.together is None else self.together.corrected.get(self.place)

    @property
    def of_blocks(self) -> Floats:
        """Return the influence of each block."""
        return cast("Floats", self.influences.of_blocks[self.place])

    @property
    def left_out(self) -> Floats:
        """Return the number without each block, to first order."""
        return float(self.value.value) - self.of_blocks

    @property
    def effective(self) -> float | None:
        """Number of effective cells; None where the number is missing."""
        return self.long_run.effective if np.isfinite(self.value.value) else None

    @property
    def long_run(self) -> LongRun:
        """Return the long-run variance of the number."""
        return self.influences.long_runs[self.place]


def resampled_by_cells(
    name: str,
    whole: Summary,
    metric_options: MetricOptions,
    *,
    units: Units,
    blocks: Blocks,
    sums: Floats,
    settings: Intervals,
    wanted: Container[str] | None = None,
) -> tuple[MetricOptions, Summary, Iterator[Resampled | Value]]:
    """Return the choices with the bins of the whole, the summary of the resamples, and all numbers of the whole.

    The summary has some rows more than there are resamples, from which the gradients of the numbers follow. Curves and
    bins of all rows are computed once, and the first rows of them are those of the resamples.

    Parameters
    ----------
    name : str
        Name of the evaluation unit, from which the draws follow.
    units, blocks
        The cells, and how the blocks are.
    sums : float64 (blocks, columns)
        Sums of the blocks that are drawn.
    wanted : container of str, optional
        Names of the metrics; all by default.
    """
    basis, probes = units.basis, Probes.of(units.rows)
    drawn = resampled(sums, settings.resamples, settings.seed, name)
    metric_options = with_effective(
        replace(metric_options, shared_edges=basis.edges), whole, basis.summary(sums), blocks
    )
    both = basis.summary(np.concatenate([drawn, probes.sums]))  # one call a metric takes half the time of two
    return metric_options, both, _numbers(whole, metric_options, both, units, sums, probes=probes, wanted=wanted)


def _numbers(
    whole: Summary,
    metric_options: MetricOptions,
    both: Summary,
    units: Units,
    sums: Floats,
    *,
    probes: Probes,
    wanted: Container[str] | None,
) -> Iterator[Resampled | Value]:
    """Yield all numbers with their resamples; a bare value where cells do not keep what it follows from.

    both : Summary
        Of the resamples and, after these, of the probes.
    """
    numbers: list[tuple[Value, Floats | None]] = []
    for metric in (one for one in metrics_of(metric_options.form) if wanted is None or one.name in wanted):
        values = list(evaluate_metric(metric, whole, metric_options))
        others = of_cells(metric, both, metric_options)
        found: list[Floats | None] = [None] * len(values) if others is None else [other.value for other in others]
        numbers += zip(values, found, strict=True)
    every = np.stack([each for _, each in numbers if each is not None])
    resamples = every.shape[1] - len(probes.sums)
    replicates, gradients = every[:, :resamples], probes.gradient(every[:, resamples:]).T
    by_block, by_cell = (influences(rows, gradients) for rows in (sums, units.rows))
    own, place = Influences(by_block.T, units.squares.sums(by_cell).T, by_cell.T, units.squares), count()
    estimates = np.array([float(value.value) for value, each in numbers if each is not None])
    together = Together(estimates, replicates, np.ascontiguousarray(by_block.T))
    for value, each in numbers:
        yield value if each is None else Resampled(value, replicates[k := next(place)], own, k, together)


def of_cells(metric: Metric, summary: Summary, metric_options: MetricOptions) -> list[Value] | None:
    """Return the values of a metric; None where cells keep too little for it."""
    if metric.choice in NOT_BY_CELL:
        return None
    try:
        return list(evaluate_metric(metric, summary, metric_options))
    except SummaryError:
        return None


def too_few(cells: int, blocks: int) -> str:
    """Return why there are no intervals, or nothing."""
    if cells < FEWEST_CELLS:
        return FEW_CELLS
    return FEW_BLOCKS if blocks < FEWEST_BLOCKS else ""


def missing_reason(numbers: Resampled, whole: Summary, drawn: Summary, metric_options: MetricOptions) -> str:
    """Return why resamples do not tell how certain a number is, or nothing."""
    return too_uncertain(numbers.long_run) or few_in_a_bin(numbers, whole, drawn, metric_options)


def few_in_a_bin(numbers: Resampled, whole: Summary, drawn: Summary, metric_options: MetricOptions) -> str:
    """Return the reason if a bin of a number lies in so few blocks that its resamples are worthless, or ''.

    The lowest coverage of several groups has none either: noise alone makes it low, which resamples do not tell.
    """
    if is_lowest_of_groups(numbers.value.metric):
        return LOWEST
    if not rests_on_few_blocks(numbers.value, whole, drawn, metric_options):
        return ""
    bins = numbers.value.bins
    return FEW_IN_A_BIN if bins.startswith("equal-count") or not bins else FEW_IN_UNEVEN_BINS


def is_lowest_of_groups(metric: Metric) -> bool:
    """Return whether a metric is the number of one of several groups, and not a norm of the gaps of all."""
    return metric.choice == "group" and metric.gaps is None


def too_uncertain(spread: LongRun) -> str:
    """Return why the long-run variance of a number gives no limits, or nothing."""
    if spread.effective < FEWEST_EFFECTIVE:
        return FEW_EFFECTIVE
    return OUTWEIGHED if spread.freedom < FEWEST_CERTAIN else ""


def with_effective(metric_options: MetricOptions, whole: Summary, each: Summary, blocks: Blocks) -> MetricOptions:
    """Return the choices with the effective number of pixels of each bin, for the schemes where it is known.

    Parameters
    ----------
    choices : MetricOptions
        With the shared edges of all schemes.
    whole, each : Summary
        Of all pixels, and of each block.
    blocks : Blocks
        How these are.
    """
    correlation_range = blocks.correlation_ranges["squared_error"]
    if correlation_range.effective < FEWEST_EFFECTIVE:
        return metric_options
    return replace(
        metric_options, effective=effective_pixels(metric_options, whole, each, correlation_range.long_run.ratio)
    )


def effective_pixels(
    metric_options: MetricOptions, whole: Summary, each: Summary, ratio: float
) -> Mapping[str, Floats]:
    """Return effective numbers of pixels, float64 (bins), by scheme; without schemes where a used bin has none.

    Of n independent normal errors with predicted variances v, the relative variance of the mean square is
    2 sum v^2 / (sum v)^2. What each block adds gives that variance, without any draw; `ratio`, of the long-run
    deviation to the deviation of blocks, accounts for the correlation between blocks.
    """
    effective = {}
    for scheme in metric_options.schemes:
        total, part = (binned_as_shared(summary, scheme, metric_options) for summary in (whole, each))
        used = total.n > 0
        with np.errstate(all="ignore"):  # what overflows or is not defined leaves the scheme out
            added = part.squared_error[:, used] / total.squared_error[used] - part.weight[:, used] / total.weight[used]
            observed = ratio**2 * np.square(added).sum(axis=0)
            independent = 2 * total.squared_variance[used] / np.square(total.variance[used])
        if np.isfinite(observed).all() and np.isfinite(independent).all() and (observed > 0).all():
            numbers = np.zeros(len(total.n))
            numbers[used] = total.n[used] * np.minimum(1.0, independent / observed)
            effective[scheme.name] = numbers
    return effective
