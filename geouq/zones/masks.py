"""Pixels of a zone in a window: where they are, and how they are brought together."""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, inlined
from geouq.core.grid import NOWHERE, Places, Window
from geouq.rasters.raster import Raster

Mask = NDArray[np.bool_]
Bits = NDArray[np.uint8]


BYTE, FIRST_BIT = 8, 0x80


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


def as_bits(mask: Mask) -> Bits:
    """Return a mask (rows, columns), eight columns in a byte."""
    return np.packbits(mask, axis=1)


@compiled
def places_of(bits: Bits, columns: int, size: int, first: int, stride: int) -> Places:
    """Places of a mask's pixels, those of each cell together: (rows, cells side by side x size), NOWHERE beyond them.

    bits : as `as_bits` gives them, of at most `size` rows and of `columns` columns. size : pixels of a cell's side, a
    multiple of 8. first : place of the mask's first pixel in the array that is to be taken from, whose rows are
    `stride` long.

    >>> places_of(as_bits(np.eye(3, 9, dtype=bool)), 9, 8, 100, 50)
    array([[100, 151, 202,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1]], dtype=int32)
    """
    cells = -(-columns // size)
    counts = np.zeros(cells, np.int64)
    for r in range(bits.shape[0]):
        for b in range(bits.shape[1]):
            counts[b * BYTE // size] += _bits_in(bits[r, b])
    places = np.full((-(-counts.max() // size), cells * size), NOWHERE, np.int32)
    row, column = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    for r in range(bits.shape[0]):
        for b in range(bits.shape[1]):
            cell, place = b * BYTE // size, first + r * stride + b * BYTE
            for i in range(BYTE if bits[r, b] else 0):
                if bits[r, b] & (FIRST_BIT >> i):
                    places[row[cell], cell * size + column[cell]] = place + i
                    column[cell] += 1
                    if column[cell] == size:
                        row[cell], column[cell] = row[cell] + 1, 0
    return places


@inlined
def _bits_in(byte: np.uint8) -> int:
    found = 0
    while byte:
        byte &= byte - np.uint8(1)
        found += 1
    return found
