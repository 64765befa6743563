"""Numbers of the resamples of a pool: which follow from what, and when they tell how certain a number is."""

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geouq.errors import SummaryError
from geouq.inference.bin_gaps import rests_on_few_blocks
from geouq.inference.influence import Probes, influences
from geouq.inference.long_run import LongRun, long_run
from geouq.inference.settings import FEWEST_BLOCKS, FEWEST_CELLS, FEWEST_CERTAIN, FEWEST_EFFECTIVE, FEWEST_TILES
from geouq.inference.squares import Squares
from geouq.metrics import Metric, MetricOptions, Value, evaluate_metric, metrics_of
from geouq.summary import Summary

Floats = NDArray[np.float64]

NOT_KEPT = "not kept by cell"
FEW_TILES = f"{NOT_KEPT}, and fewer than {FEWEST_TILES} tiles"
FEW_IN_A_BIN = "a bin in few blocks"
FEW_IN_UNEVEN_BINS = f"{FEW_IN_A_BIN}; equal-count bins all hold pixels"
FEW_EFFECTIVE = f"fewer than {FEWEST_EFFECTIVE} effective cells"
OUTWEIGHED = "few blocks outweigh the others"
NOT_BY_CELL = {"group", "ordering", "threshold"}


@dataclass(frozen=True)
class Resampled:
    """One number: of the pool, of each resample, and how each block, square and cell influences it.

    of_blocks, of_squares, of_cells : float64, influences of each, to first order.
    """

    value: Value
    replicates: Floats
    of_blocks: Floats
    of_squares: Floats
    of_cells: Floats
    squares: Squares

    @property
    def left_out(self) -> Floats:
        """The number without each block, to first order."""
        return float(self.value.value) - self.of_blocks

    @property
    def effective(self) -> float | None:
        """Number of effective cells; None where the number is missing."""
        return self.long_run.effective if np.isfinite(self.value.value) else None

    @cached_property
    def long_run(self) -> LongRun:
        """The long-run variance of the number."""
        return long_run(self.squares, self.of_squares, self.of_blocks, self.of_cells)


@dataclass(frozen=True)
class Parts:
    """Rows of the blocks, the squares and the cells of a pool, float64 (parts, columns)."""

    blocks: Floats
    cells: Floats
    squares: Squares


def resampled_numbers(
    whole: Summary,
    summarized: Callable[[Floats], Summary],
    drawn: Summary,
    parts: Parts,
    choices: MetricOptions,
    *,
    wanted: Container[str] | None = None,
) -> Iterator[Resampled | Value]:
    """All numbers of a pool and its resamples; a bare value where cells do not keep what it follows from.

    summarized : makes a Summary of summed rows. wanted : names of the metrics, None for all.
    """
    probes = Probes.of(parts.cells)
    probed = summarized(probes.sums)
    numbers: list[Value | tuple[Value, Floats, Floats]] = []
    for metric in (one for one in metrics_of(choices.form) if wanted is None or one.name in wanted):
        values = list(evaluate_metric(metric, whole, choices))
        try:
            others = [of_cells(metric, summary, choices) for summary in (drawn, probed)]
        except SummaryError:
            numbers += values
            continue
        for value, replicates, raised in zip(values, *others, strict=True):
            numbers.append((value, replicates.value, probes.gradient(raised.value)))
    gradients = np.stack([one[2] for one in numbers if isinstance(one, tuple)], axis=-1)
    each = iter(zip(*(influences(rows, gradients).T for rows in (parts.blocks, parts.cells)), strict=True))
    for one in numbers:
        if isinstance(one, Value):
            yield one
            continue
        blocks, cells = next(each)
        yield Resampled(*one[:2], blocks, parts.squares.sums(cells), cells, parts.squares)


def of_cells(metric: Metric, summary: Summary, choices: MetricOptions) -> list[Value]:
    """Return the values of a metric; SummaryError where cells keep too little for it."""
    if metric.choice in NOT_BY_CELL:
        raise SummaryError(f"{metric.name} does not follow from cells")
    return list(evaluate_metric(metric, summary, choices))


def too_few(cells: int, blocks: int) -> str:
    """Why there are no intervals, or nothing."""
    if cells < FEWEST_CELLS:
        return f"fewer than {FEWEST_CELLS} cells"
    return f"fewer than {FEWEST_BLOCKS} blocks" if blocks < FEWEST_BLOCKS else ""


def missing_reason(numbers: Resampled, whole: Summary, drawn: Summary, choices: MetricOptions) -> str:
    """Why resamples do not tell how certain a number is, or nothing."""
    return too_uncertain(numbers.long_run) or few_in_a_bin(numbers, whole, drawn, choices)


def few_in_a_bin(numbers: Resampled, whole: Summary, drawn: Summary, choices: MetricOptions) -> str:
    """Return the reason if a bin of a number lies in so few blocks that its resamples are worthless, or ''."""
    if not rests_on_few_blocks(numbers.value, whole, drawn, choices):
        return ""
    bins = numbers.value.bins
    return FEW_IN_A_BIN if bins.startswith("equal-count") or not bins else FEW_IN_UNEVEN_BINS


def too_uncertain(found: LongRun) -> str:
    """Why the long-run variance of a number gives no limits, or nothing."""
    if found.effective < FEWEST_EFFECTIVE:
        return FEW_EFFECTIVE
    return OUTWEIGHED if found.freedom < FEWEST_CERTAIN else ""
