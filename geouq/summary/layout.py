"""What stands in the file of a tile's summaries: names, dimensions, and what each of them says of itself.

The name of an array is that of its statistic and its own: `moments_sums`, and for cells `cell_moments_sums`. Arrays
whose length differs between variables are joined; `..._variable` holds the number of the variable of each element.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from geouq.summary.statistics_file import Coordinate, Variable, arrays_of, as_text, labels_of
from geouq.summary.tile import TileSummary
from geouq.validity import REASONS

FORMAT = "geouq tile summary 8"
CELL = "cell_"
RANGE = "cell_variance_range"
EXPLAINED = {
    "variable": "names of the variables",
    "reason": "why a pixel does not count",
    "cell_entry_variable": "number of the variable that an entry of the cells' profiles belongs to, from 0",
    "cell_entry_cell": "number of the cell that an entry belongs to, in rows from the top left, from 0",
    "cell_key": "leading bits of the float32 variance, shifted right by 19",
    "cell_entry_sums": "sums over the pixels of one cell and key of the predicted variance",
}
ENTRY = {
    "cell_entry_variable": ("cell_entry",),
    "cell_entry_cell": ("cell_entry",),
    "cell_key": ("cell_entry",),
    "cell_entry_sums": ("cell_entry", "field"),
}


def global_attributes(summary: TileSummary, key: str) -> dict[str, Any]:
    """Return what the file says of itself."""
    parts = summary.variables.values()
    return {
        "format": FORMAT,
        "key": key,
        "tile": summary.tile,
        "cell_size": summary.cell_size,
        "shape": list(summary.grid.shape),
        "transform": list(summary.grid.transform)[:6],
        "crs": summary.grid.crs,
        "statistics": as_text(part.whole for part in parts),
        "cell_statistics": as_text(part.cells.statistics for part in parts),
        "summary": "What the valid pixels of one tile contribute to every metric; such files add up to regions.",
    }


def coordinates(summary: TileSummary, columns: int) -> Iterator[Coordinate]:
    """Yield dimensions with a value for each place; `columns` is the number of fields of an entry."""
    yield Coordinate("variable", list(summary.variables), EXPLAINED["variable"])
    yield Coordinate("reason", list(REASONS), EXPLAINED["reason"])
    whole = next(iter(summary.variables.values())).whole
    yield from labels_of(whole.levels, whole, columns)


def variables(summary: TileSummary) -> Iterator[Variable]:
    """Yield all but the entries of the cells' profiles, made one after the other."""
    parts = list(summary.variables.values())
    excluded = np.stack([part.excluded for part in parts])
    yield Variable(
        "excluded", ("variable", "reason"), excluded, "pixels that do not count, each under its first reason"
    )
    sizes: dict[str, int] = {}
    yield from chain(
        arrays_of("", [part.whole for part in parts], (), sizes),
        arrays_of(CELL, [part.cells.statistics for part in parts], ("cell",), sizes),
    )
    extremes = np.stack([part.cells.extremes for part in parts])
    yield Variable(RANGE, ("variable", "cell", "bound"), extremes, "lowest and highest predicted variance, by cell")
