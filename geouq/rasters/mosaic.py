"""Parts of one mosaic as tiles: squares of its grid, all or those in a box."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from geouq.config import TileCut
from geouq.core.errors import DataError
from geouq.core.grid import Grid, Window

if TYPE_CHECKING:
    from geouq.rasters.polygon_tiles import Outline

SLACK = 1e-6  # pixels: edges of pixels round in several ways


class MosaicPart(NamedTuple):
    """A tile of a mosaic: its name, its window, and the polygons outside of which its pixels are masked."""

    name: str
    window: Window
    outline: "Outline | None" = None


def squares_of(grid: Grid, cut: TileCut) -> Iterator[tuple[str, Window]]:
    """Yield the name and the pixels of each square into which a grid is cut; names tell row and column, as in r0c12.

    Raises DataError where a box holds no pixel, or the grid is placed by control points.
    """
    if grid.control:
        raise DataError("rasters that are placed by control points cannot be cut into tiles; warp them first")
    yield from _squares(_box(grid, cut), cut.grid)


def _squares(box: Window, side: int) -> Iterator[tuple[str, Window]]:
    """Yield the name and the pixels of each square of the whole grid, as far as it lies in a box."""
    for row in range(box.row // side, -(-(box.row + box.height) // side)):
        for column in range(box.column // side, -(-(box.column + box.width) // side)):
            top, left = max(row * side, box.row), max(column * side, box.column)
            bottom = min((row + 1) * side, box.row + box.height)
            right = min((column + 1) * side, box.column + box.width)
            yield f"r{row}c{column}", Window(top, left, bottom - top, right - left)


def _box(grid: Grid, cut: TileCut) -> Window:
    """Return the pixels of a grid that lie in a box, wholly or in part."""
    rows, columns = grid.shape
    if cut.bbox is None:
        return Window(0, 0, rows, columns)
    left, bottom, right, top = cut.bbox
    corners = [~grid.transform @ (x, y) for x in (left, right) for y in (bottom, top)]
    (first_column, last_column), (first_row, last_row) = (
        (max(0, math.floor(min(ends) + SLACK)), min(most, math.ceil(max(ends) - SLACK)))
        for ends, most in zip(zip(*corners, strict=True), (columns, rows), strict=True)
    )
    if first_row >= last_row or first_column >= last_column:
        raise DataError(f"tiles.bbox: no pixel of the rasters lies in {list(cut.bbox)}; they are on {grid}")
    return Window(first_row, first_column, last_row - first_row, last_column - first_column)
