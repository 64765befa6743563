"""How certain the numbers are: intervals and tests of calibration from the summaries of cells."""

from geouq.config import Intervals
from geouq.inference.blocks import Blocks, CorrelationRange
from geouq.inference.correlogram import Correlogram
from geouq.inference.differences import (
    Difference,
    ForecastSample,
    draw_together,
    paired_difference,
    unpaired_difference,
)
from geouq.inference.intervals import (
    DEFAULTS,
    FAILED,
    PIT_BINS,
    Bands,
    Inference,
    Interval,
    Test,
    infer,
    pit_half_width,
    why_never,
    without_intervals,
)
from geouq.inference.limits import false_discovery_adjusted
from geouq.inference.resamples import FEWEST_TILES, LOWEST, TOO_FEW
from geouq.inference.rows import (
    adjusted,
    block_rows,
    correlogram_rows,
    difference_row,
    finite,
    judged,
    test_rows,
    with_intervals,
)
from geouq.inference.tiles import TileRows, group_limits, rows_of_tiles

__all__ = [
    "DEFAULTS",
    "FAILED",
    "FEWEST_TILES",
    "LOWEST",
    "PIT_BINS",
    "TOO_FEW",
    "Bands",
    "Blocks",
    "CorrelationRange",
    "Correlogram",
    "Difference",
    "ForecastSample",
    "Inference",
    "Interval",
    "Intervals",
    "Test",
    "TileRows",
    "adjusted",
    "block_rows",
    "correlogram_rows",
    "difference_row",
    "draw_together",
    "false_discovery_adjusted",
    "finite",
    "group_limits",
    "infer",
    "judged",
    "paired_difference",
    "pit_half_width",
    "rows_of_tiles",
    "test_rows",
    "unpaired_difference",
    "why_never",
    "with_intervals",
    "without_intervals",
]
