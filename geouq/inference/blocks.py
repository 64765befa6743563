"""Square blocks of cells: what the bootstrap draws. No block crosses the edge of a tile."""

import numpy as np
from numpy.typing import NDArray

from geouq.config import length
from geouq.errors import DataError
from geouq.grid import Grid, Window
from geouq.rasters.areas import pixel_areas

Ints = NDArray[np.int64]


def block_numbers(shape: tuple[int, int], side: int) -> Ints:
    """Return the number of the block of each cell of a tile of `shape` cells, in rows from the top left; int64 (cells).

    A tile is cut into as many rows and columns of blocks of `side` cells as fit, of nearly equal height and width, so
    that no block is narrower than `side` unless the tile is.

    >>> block_numbers((2, 5), 2).reshape(2, 5)
    array([[0, 0, 0, 1, 1],
           [0, 0, 0, 1, 1]])
    """
    (down, _), (across, blocks) = (_cut(cells, side) for cells in shape)
    return (down[:, np.newaxis] * blocks + across).ravel()


def block_sides(shape: tuple[int, int], side: int) -> tuple[Ints, Ints]:
    """Heights of the rows and widths of the columns of blocks of a tile, in cells."""
    down, across = (np.bincount(_cut(cells, side)[0]) for cells in shape)
    return down, across


def cell_metres(grid: Grid, cell_size: int) -> float:
    """Side of a square of the area of the cell in the middle of a tile, in metres; NaN where that is not known."""
    row, column = grid.shape[0] // 2, grid.shape[1] // 2
    try:
        area = pixel_areas(grid, Window(row, column, 1, 1))[0, 0]
    except DataError:
        return np.nan
    return cell_size * float(np.sqrt(area))


def side_in_cells(block: str, cell_size: int, metres: float) -> int:
    """Side of the blocks that a length asks for, in cells, at least 1.

    Raises DataError where it is in metres and the size of a pixel is not known.

    >>> side_in_cells("500 px", 64, 640.0), side_in_cells("5 km", 64, 640.0)
    (8, 8)
    """
    number, unit = length(block)
    if unit == "m" and not metres > 0:
        raise DataError(f'block: {block}: how large a pixel is in metres is not known; give it in pixels, as "512 px"')
    return max(1, round(number / (metres if unit == "m" else cell_size)))


def _cut(cells: int, side: int) -> tuple[Ints, int]:
    parts = max(1, cells // side)
    return np.arange(cells) * parts // cells, parts
