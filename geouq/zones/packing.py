"""The pixels of a zone brought together, so that what goes over them does not go over those beside it."""

import numpy as np
from numpy.typing import NDArray

from geouq.compiled import compiled, inlined
from geouq.zones.part import Mask

Bits = NDArray[np.uint8]
Places = NDArray[np.int64]

NOWHERE = -1
BYTE, FIRST_BIT = 8, 0x80


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
    array([[100, 151, 202,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1]])
    """
    cells = -(-columns // size)
    counts = np.zeros(cells, np.int64)
    for r in range(bits.shape[0]):
        for b in range(bits.shape[1]):
            counts[b * BYTE // size] += _bits_in(bits[r, b])
    places = np.full((-(-counts.max() // size), cells * size), NOWHERE, np.int64)
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
