"""Where the cells of a run lie on the map of its pages: as on the ground, or tile by tile."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.maps import corners_on_lattice
from geouq.summary import TilePlace

Floats = NDArray[np.float64]

MOST_CELLS = 100_000  # of one variable
MOST_IN_ALL = 250_000  # of all variables
MOST_PIXELS = 4_000_000  # of the map as it is drawn
APART = "Tiles are drawn side by side in the order of their names, not where they are on the ground."
SQUEEZED = "Wide strips between tiles are cut out."
LEAST_COVERED = 0.04  # of the map by tiles


@dataclass(frozen=True)
class Placed:
    """A tile on the map: its upper left corner and size in pixels of the tile, and rows and columns of its blocks.

    first : place of its first block among those of all tiles.
    """

    place: TilePlace
    top: int
    left: int
    blocks: tuple[int, int]
    first: int

    @property
    def count(self) -> int:
        """Number of its blocks."""
        return self.blocks[0] * self.blocks[1]


@dataclass(frozen=True)
class Layout:
    """All tiles on the map. side : of a block in cells; where : what to know of how they lie, in a sentence."""

    tiles: Sequence[Placed]
    side: int
    where: str = ""

    @property
    def count(self) -> int:
        """Number of blocks of all tiles."""
        return sum(tile.count for tile in self.tiles)


def layout_of(places: Sequence[TilePlace], variables: int) -> Layout:
    """Blocks of as few cells as keep the pages small, each of them within one tile."""
    most = min(MOST_CELLS, MOST_IN_ALL // max(1, variables))
    side, longest = 1, max(max(place.cell_grid.shape) for place in places)
    while side < longest and sum(math.prod(_blocks(place, side)) for place in places) > most:
        side *= 2
    corners, where = _corners(places)
    tiles, first = [], 0
    for place in places:
        tiles.append(Placed(place, *corners[place.tile], _blocks(place, side), first))
        first += tiles[-1].count
    return Layout(tiles, side, where)


def joined(rows: Floats, tile: Placed, side: int) -> Floats:
    """Return sums of the rows of a tile's cells, float64 (cells, columns), over each of its blocks."""
    if side == 1:
        return rows
    down, across = (np.arange(cells) // side for cells in tile.place.cell_grid.shape)
    block = (down[:, np.newaxis] * tile.blocks[1] + across).ravel()
    sums = np.zeros((tile.count, rows.shape[1]))
    np.add.at(sums, block, rows)
    return sums


def _blocks(place: TilePlace, side: int) -> tuple[int, int]:
    rows, columns = place.cell_grid.shape
    return -(-rows // side), -(-columns // side)


def _corners(places: Sequence[TilePlace]) -> tuple[Mapping[str, tuple[int, int]], str]:
    """Rows and columns of the tiles' corners, as far as can be as on the ground; and what to know of them."""
    ground = corners_on_lattice(places)
    if ground is None:
        return _side_by_side(places), APART
    sizes = [place.grid.shape for place in places]
    rows, columns = ([corner[axis] for corner in ground.values()] for axis in (0, 1))
    rows, squeezed_rows = _squeezed(rows, [size[0] for size in sizes])
    columns, squeezed_columns = _squeezed(columns, [size[1] for size in sizes])
    height = max(row + size[0] for row, size in zip(rows, sizes, strict=True))
    width = max(column + size[1] for column, size in zip(columns, sizes, strict=True))
    drawn = math.sqrt(height * width / MOST_PIXELS)  # side of a pixel of the map
    covered = sum(map(math.prod, sizes)) / (height * width)
    if covered < LEAST_COVERED or min(map(min, sizes)) < 2 * drawn:
        return _side_by_side(places), APART
    corners = dict(zip(ground, zip(rows, columns, strict=True), strict=True))
    return corners, SQUEEZED if squeezed_rows or squeezed_columns else ""


def _squeezed(starts: Sequence[int], lengths: Sequence[int]) -> tuple[list[int], bool]:
    """Return starts of intervals, from 0, with gaps no wider than a quarter of the longest interval.

    The second value is whether anything was cut.

    >>> _squeezed([1000, 0, 1008], [8, 8, 8])
    ([10, 0, 18], True)
    """
    gap, reached, cut, found = max(1, max(lengths) // 4), min(starts), min(starts), {}
    for start, length in sorted(zip(starts, lengths, strict=True)):
        cut += max(0, start - reached - gap)
        reached = max(reached, start + length)
        found[start] = start - cut
    return [found[start] for start in starts], cut > min(starts)


def _side_by_side(places: Sequence[TilePlace]) -> Mapping[str, tuple[int, int]]:
    """Corners of the tiles in rows, in their order, with room between them."""
    height, width = (max(place.grid.shape[axis] for place in places) for axis in (0, 1))
    gap = max(1, max(height, width) // 16)
    across = max(1, round(math.sqrt(len(places) * (height + gap) / (width + gap))))
    return {
        place.tile: (number // across * (height + gap), number % across * (width + gap))
        for number, place in enumerate(places)
    }
