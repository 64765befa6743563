"""How the pixels of a mask are brought together: by cells, none twice and none left out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from geouq.core.grid import NOWHERE
from geouq.zones.masks import strips_of

FIRST, STRIDE = 100, 300


def by_cell(mask, size):
    """Return the places of the pixels of each cell, row by row of the cell, and by the first row of the cells."""
    rows, columns = np.nonzero(mask)
    found = {}
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        place = FIRST + row * STRIDE + column
        found.setdefault(row // size * size, {}).setdefault(column // size, []).append(place)
    return found


@given(st.integers(1, 70), st.integers(1, 70), st.sampled_from([16, 32, 64]), st.floats(0, 1), st.integers(0, 99))
def test_each_strip_has_the_pixels_of_a_row_of_cells_in_their_order(height, width, size, share, seed):
    mask = np.random.default_rng(seed).random((height, width)) < share
    strips, expected = strips_of(mask, size, FIRST, STRIDE), by_cell(mask, size)

    assert strips.boxes[:, 4].tolist() == sorted(expected)
    bottom = 0
    for top, left, end, right, row in strips.boxes.tolist():
        assert (top, left, right) == (bottom, 0, -(-width // size) * size)
        strip, bottom = strips.places[top:end], end
        for cell in range(right // size):
            own = strip[:, cell * size : (cell + 1) * size].ravel()
            pixels = expected[row].get(cell, [])
            assert own[: len(pixels)].tolist() == pixels
            assert (own[len(pixels) :] == NOWHERE).all()
        assert end - top == max(-(-len(pixels) // size) for pixels in expected[row].values())
    assert bottom == len(strips.places)
