"""The compiled heart: pixels of a window to the sums of a summary."""

from geouq.kernel.accumulators import CellSums, Pixels, Scratch, Totals, new_cells, new_scratch, new_totals
from geouq.kernel.window import SQUARE, collect_keys, prune_tail, sweep_box

__all__ = [
    "SQUARE",
    "CellSums",
    "Pixels",
    "Scratch",
    "Totals",
    "collect_keys",
    "new_cells",
    "new_scratch",
    "new_totals",
    "prune_tail",
    "sweep_box",
]
