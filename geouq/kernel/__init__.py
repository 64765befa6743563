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
from geouq.kernel.gathered_pixels import GatheredPixels, errors_of, gather_valid, pixels_of_cells, runs_of_places
from geouq.kernel.optional_statistics import add_grouped, add_interval
from geouq.kernel.taking import added_rows, take_cells, take_counts, take_keys
from geouq.kernel.window import collect_all, collect_by_cell, collect_keys, prune_tail, sweep_boxes, sweep_gathered

__all__ = [
    "CellSums",
    "GatheredPixels",
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
    "errors_of",
    "gather_valid",
    "new_cells",
    "new_sampled",
    "new_scratch",
    "new_totals",
    "pixels_of_cells",
    "prune_tail",
    "runs_of_places",
    "sweep_boxes",
    "sweep_gathered",
    "take_cells",
    "take_counts",
    "take_keys",
]
