"""Pixels of a zone in a window: where they are, and how they are brought together."""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, inlined
from geouq.core.grid import NOWHERE, Places, Window
from geouq.rasters.raster import Raster

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]


class Part(NamedTuple):
    """The pixels of a zone in a window: `zone` counts in the layer's names, `mask` has the shape of `box`.

    box : the rectangle of the tile in which these pixels lie, within the window; so many small zones cost little.
    """

    zone: int
    box: Window
    mask: Mask


class Zones(Protocol):
    """Zones of a tile; small enough to be sent to a worker, and read there window by window."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the zones that may have pixels in the tile."""

    @property
    def fingerprint(self) -> str:
        """Return what changes when the pixels of a zone, or their order, may."""

    def extent(self, zone: int) -> Window:
        """Return a window that holds all pixels of a zone; it may reach beyond the tile."""

    @property
    def rasters(self) -> tuple[Raster, ...]:
        """Return the rasters that tell which pixels belong to the zones."""

    def with_rasters(self, rasters: Mapping[str, Raster]) -> Self:
        """Return the same zones with these rasters, by their paths."""

    def only(self, names: Collection[str]) -> Self:
        """Return those zones alone that have these names."""

    def zones_in(self, window: Window) -> Iterator[Part]:
        """Return the zones that have pixels in a window, in the order of their numbers; none has an empty mask."""


def shrunk(zone: int, box: Window, mask: Mask) -> Part | None:
    """Return the part with the smallest box that holds all its pixels; None where there are none."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return None
    top, left, height, width = rows[0], columns[0], rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1
    smallest = Window(box.row + int(top), box.column + int(left), int(height), int(width))
    return Part(zone, smallest, np.ascontiguousarray(mask[top : top + height, left : left + width]))


def meet(one: Window, other: Window) -> Window | None:
    """Return the pixels of both windows; None where there are none."""
    row, column = max(one.row, other.row), max(one.column, other.column)
    height = min(one.row + one.height, other.row + other.height) - row
    width = min(one.column + one.width, other.column + other.width) - column
    return Window(row, column, height, width) if height > 0 and width > 0 else None


def within(box: Window, outer: Window) -> tuple[slice, slice]:
    """Return the rows and columns of a box in an array that covers `outer`."""
    return Window(box.row - outer.row, box.column - outer.column, box.height, box.width).slices


class Strips(NamedTuple):
    """Places of the pixels of a mask, those of each cell together; a strip for each row of cells that has some.

    places : int32 (rows, cells side by side x their side), strip by strip; NOWHERE beyond the pixels of a cell. boxes :
    int64 (strips, 5), first row and column of each strip in `places`, and those behind the last; and the first row of
    the cells in the mask.
    """

    places: Places
    boxes: Ints


def strips_of(mask: Mask, size: int, first: int, stride: int) -> Strips:
    """Return the pixels of a mask by cells.

    size : pixels of a cell's side. first : place of the mask's first pixel in the array that is to be
    taken from, whose rows are `stride` long.

    >>> strips_of(np.eye(3, 9, dtype=bool), 8, 100, 50).places
    array([[100, 151, 202,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1]], dtype=int32)
    """
    places, height = _by_cell(np.ascontiguousarray(mask), size, first, stride)
    used, end = np.flatnonzero(height), np.cumsum(height)
    boxes = np.zeros((len(used), 5), np.int64)
    boxes[:, 0], boxes[:, 2], boxes[:, 3], boxes[:, 4] = (end - height)[used], end[used], places.shape[1], used * size
    return Strips(places, boxes)


@compiled
def _by_cell(mask: Mask, size: int, first: int, stride: int) -> tuple[Places, Ints]:
    """Return the places of the pixels, and how many rows of them each row of cells has."""
    rows, columns = mask.shape
    cells, down = (columns + size - 1) // size, (rows + size - 1) // size
    counts, height = np.zeros((rows, cells), np.int64), np.zeros(down, np.int64)
    for d in range(down):
        for cell in range(cells):
            total = 0
            for r in range(d * size, min((d + 1) * size, rows)):
                counts[r, cell] = _count(mask[r, cell * size : (cell + 1) * size])
                total += counts[r, cell]
            height[d] = max(height[d], (total + size - 1) // size)
    places, top = np.full((height.sum(), cells * size), NOWHERE, np.int32), 0
    for d in range(down):
        for cell in range(cells):
            n = 0
            for r in range(d * size, min((d + 1) * size, rows)):
                if counts[r, cell] > 0:
                    c = cell * size
                    _take_row(mask[r, c : c + size], first + r * stride + c, n, size, places[top:, c : c + size])
                    n += counts[r, cell]
        top += height[d]
    return places, height


@inlined
def _count(flags: Mask) -> np.int64:
    found = np.uint32(0)
    for i in range(len(flags)):
        found += np.uint32(flags[i])
    return np.int64(found)


@inlined
def _take_row(flags: Mask, first: int, n: int, size: int, places: Places) -> None:
    """Write the places of the pixels of a row behind the first n of its cell."""
    to, column = n // size, n % size
    for i in range(len(flags)):
        if flags[i]:
            places[to, column] = first + i
            column += 1
            if column == size:
                to, column = to + 1, 0
