"""Whether tiles lie side by side on one lattice of pixels, and where each of them is then."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from affine import Affine

from geouq.core.grid import TOLERANCE, Grid
from geouq.summary import TilePlace

LARGEST_MOSAIC = 25_000_000  # pixels
SMALL_MOSAIC = 200_000  # pixels, which cost little even if nearly all of them are empty
PIXELS_A_CELL = 50  # more than which a mosaic is mostly empty, or much finer than its cells


@dataclass(frozen=True)
class Lattice:
    """The grid that holds all tiles, and the row and column in it of each tile's corner."""

    grid: Grid
    corners: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Mosaic:
    """The grid that all tiles share, whose pixel is the largest square that divides cells and offsets alike.

    step : side of a mosaic's pixel in pixels of the tiles; corners : row and column of each tile's corner, in the same.
    """

    grid: Grid
    step: int
    corners: Mapping[str, tuple[int, int]]


def mosaic_of(tiles: Sequence[TilePlace]) -> Mosaic | None:
    """Return the mosaic of tiles; None if they do not make one of a sensible size."""
    lattice = _of_like_cells(tiles)
    if lattice is None:
        return None
    mosaic = mosaic_on(lattice, tiles)
    cells = sum(tile.cell_grid.pixels for tile in tiles)
    sensible = mosaic.grid.pixels <= min(LARGEST_MOSAIC, max(SMALL_MOSAIC, PIXELS_A_CELL * cells))
    return mosaic if sensible else None


def mosaic_on(lattice: Lattice, tiles: Iterable[TilePlace]) -> Mosaic:
    """Return the mosaic of the cells of tiles on a lattice."""
    whole, corners = lattice.grid, lattice.corners
    sizes = {tile.cell_size for tile in tiles}
    step = math.gcd(*sizes, *(number for corner in corners.values() for number in corner))
    shape = -(-whole.shape[0] // step), -(-whole.shape[1] // step)
    return Mosaic(Grid(shape, whole.transform @ Affine.scale(step), whole.crs), step, corners)


def corners_on_lattice(tiles: Sequence[TilePlace]) -> dict[str, tuple[int, int]] | None:
    """Return row and column of the corner of each tile, relative to the first one, in pixels.

    None where tiles overlap, or their pixels or cells are not on one lattice.
    """
    lattice = _of_like_cells(tiles)
    if lattice is None:
        return None
    top, left = lattice.corners[tiles[0].tile]
    return {name: (row - top, column - left) for name, (row, column) in lattice.corners.items()}


def _of_like_cells(tiles: Sequence[TilePlace]) -> Lattice | None:
    """Return the lattice of tiles that all lie on it, with cells of one size."""
    found = lattices_of(tiles) if len({tile.cell_size for tile in tiles}) == 1 else []
    return found[0] if len(found) == 1 else None


def lattices_of(tiles: Sequence[TilePlace]) -> list[Lattice | None]:
    """Return a lattice for each set of tiles that share one, ordered by their first tile; None if tiles overlap."""
    groups: list[dict[str, tuple[Grid, int, int]]] = []
    for tile in tiles:
        for group in groups:
            first = next(iter(group.values()))[0]
            if (corner := _offset(first, tile.grid)) is not None:
                group[tile.tile] = (tile.grid, *corner)
                break
        else:
            groups.append({tile.tile: (tile.grid, 0, 0)})
    return [_lattice(group) for group in groups]


def _lattice(group: Mapping[str, tuple[Grid, int, int]]) -> Lattice | None:
    boxes = [(row, column, *grid.shape) for grid, row, column in group.values()]
    if _overlap(boxes):
        return None
    top, left = min(box[0] for box in boxes), min(box[1] for box in boxes)
    shape = max(box[0] + box[2] for box in boxes) - top, max(box[1] + box[3] for box in boxes) - left
    first = next(iter(group.values()))[0]
    corners = {name: (row - top, column - left) for name, (_, row, column) in group.items()}
    return Lattice(Grid(shape, first.transform @ Affine.translation(left, top), first.crs), corners)


def _offset(first: Grid, other: Grid) -> tuple[int, int] | None:
    """Return the rows and columns from one grid's corner to another's; None where they are not on one pixel lattice."""
    if first.crs != other.crs:
        return None
    back = ~first.transform
    (column, row), (far_column, far_row) = (back @ (other.transform @ p) for p in ((0, 0), other.shape[::-1]))
    whole = (round(row), round(column))
    expected = (row, column, row + other.shape[0], column + other.shape[1])
    found = (*whole, far_row, far_column)
    if any(abs(a - b) > TOLERANCE for a, b in zip(expected, found, strict=True)):
        return None
    return whole


def _overlap(boxes: Sequence[tuple[int, int, int, int]]) -> bool:
    """Return whether any two boxes (row, column, height, width) share a pixel; a sweep from top to bottom."""
    active: list[tuple[int, int, int, int]] = []
    for box in sorted(boxes):
        active = [other for other in active if other[0] + other[2] > box[0]]
        if any(other[1] < box[1] + box[3] and box[1] < other[1] + other[3] for other in active):
            return True
        active.append(box)
    return False
