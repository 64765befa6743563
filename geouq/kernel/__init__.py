"""The compiled heart: pixels of a window to the sums of a summary."""

from geouq.kernel.accumulators import CellSums, Totals, new_cells, new_scratch, new_totals
from geouq.kernel.window import collect_keys, sweep_window

__all__ = ["CellSums", "Totals", "collect_keys", "new_cells", "new_scratch", "new_totals", "sweep_window"]
