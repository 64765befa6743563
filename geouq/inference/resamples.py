"""Numbers of the resamples of a pool: which follow from what, and when they tell how certain a number is."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.errors import SummaryError
from geouq.inference.gaps import rests_on_few_blocks
from geouq.inference.pool import Blocks, Reach
from geouq.inference.settings import FEWEST_BLOCKS, FEWEST_CELLS, FEWEST_CERTAIN, FEWEST_EFFECTIVE, FEWEST_TILES
from geouq.metrics import Choices, Metric, Value, evaluate_metric, metrics_of
from geouq.summary import Summary

Floats = NDArray[np.float64]

NOT_KEPT = "not kept by cell"
FEW_TILES = f"{NOT_KEPT}, and fewer than {FEWEST_TILES} tiles"
FEW_IN_A_BIN = "a bin in few blocks"
FEW_IN_UNEVEN_BINS = f"{FEW_IN_A_BIN}; equal-count bins all hold pixels"
FEW_EFFECTIVE = f"fewer than {FEWEST_EFFECTIVE} effective cells"
OUTWEIGHED = "few blocks outweigh the others"
NOT_BY_CELL = {"group", "ordering", "threshold"}
BY_ERROR = (
    *("bias", "nbias", "z_mean", "pit_mean", "coverage_above", "coverage_below"),
    *("mace", "rmsce", "calibration_error", "miscalibration_area"),
    *("quantile_coverage", "mixture_coverage_above", "mixture_coverage_below"),
)
OF_PREDICTIONS = (
    *("sharpness", "sharpness_rms", "mean_std", "width", "cv", "crossing", "confidence"),
    *("variance_aleatoric", "variance_epistemic", "aleatoric_share", "epistemic_share"),
)
BY_Z_SQUARE = (
    *("zms", "z_std", "coverage", "pit_std", "nll", "ence", "ence_normalized", "ence_excess", "ence_null"),
    *("mace_interval", "rmsce_interval", "calibration_error_interval", "miscalibration_area_interval"),
    *("rmscd", "rmscd_under", "lowest_group_coverage"),
    *("mixture_coverage", "marginal_log_loss", "joint_log_loss", "joint_log_loss_gain", "spread_skill"),
)


@dataclass(frozen=True)
class Resampled:
    """One number: of the pool, of each resample, and without each group of blocks."""

    value: Value
    replicates: Floats
    left_out: Floats


def resampled_numbers(whole: Summary, drawn: Summary, rest: Summary, choices: Choices) -> Iterator[Resampled | Value]:
    """All numbers of all three; a bare value where cells do not keep what it follows from."""
    for metric in metrics_of(choices.form):
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


def untold(value: Value, whole: Summary, drawn: Summary, choices: Choices, reach: Reach) -> str:
    """Why resamples do not tell how certain a number is, or nothing."""
    if reach.effective < FEWEST_EFFECTIVE:
        return FEW_EFFECTIVE
    if not rests_on_few_blocks(value, whole, drawn, choices):
        return ""
    return FEW_IN_A_BIN if value.bins.startswith("equal-count") or not value.bins else FEW_IN_UNEVEN_BINS


def outweighed(reach: Reach, left_out: Floats) -> bool:
    """Whether a number hangs on so few of the blocks that not even its spread is known."""
    return bool(np.isfinite(left_out).all()) and reach.certain_blocks(left_out) < FEWEST_CERTAIN
