"""The compiled heart: pixels of a window to the sums of a summary."""

from geouq.kernel.accumulators import (
    CellSums,
    Pixels,
    Sampled,
    Scratch,
    Totals,
    new_cells,
    new_sampled,
    new_scratch,
    new_totals,
)
from geouq.kernel.optional_statistics import add_grouped, add_interval
from geouq.kernel.swept_pixels import collect_swept
from geouq.kernel.taking import added_rows, take_cells, take_counts, take_keys
from geouq.kernel.window import collect_all, collect_by_cell, collect_keys, prune_tail, sweep_boxes

__all__ = [
    "CellSums",
    "Pixels",
    "Sampled",
    "Scratch",
    "Totals",
    "add_grouped",
    "add_interval",
    "added_rows",
    "collect_all",
    "collect_by_cell",
    "collect_keys",
    "collect_swept",
    "new_cells",
    "new_sampled",
    "new_scratch",
    "new_totals",
    "prune_tail",
    "sweep_boxes",
    "take_cells",
    "take_counts",
    "take_keys",
]
