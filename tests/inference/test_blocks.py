"""Blocks cover their tile, cross no edge, and are as large as was asked."""

import numpy as np
import pytest
from affine import Affine
from hypothesis import given, settings
from hypothesis import strategies as st
from rasterio.crs import CRS

from geouq.core.errors import DataError
from geouq.core.grid import Grid
from geouq.inference.blocks import block_numbers, block_sides, cell_metres, side_in_cells


@settings(deadline=None)
@given(rows=st.integers(1, 40), columns=st.integers(1, 40), side=st.integers(1, 50))
def test_blocks_are_rectangles_no_narrower_than_asked_unless_the_tile_is(rows, columns, side):
    numbers = block_numbers((rows, columns), side).reshape(rows, columns)

    down, across = block_sides((rows, columns), side)
    assert numbers.max() + 1 == len(np.unique(numbers)) == len(down) * len(across)
    assert (down.sum(), across.sum()) == (rows, columns)
    for number in np.unique(numbers):
        r, c = np.nonzero(numbers == number)
        height, width = np.ptp(r) + 1, np.ptp(c) + 1
        assert len(r) == height * width
        assert min(side, rows) <= height < 2 * side or height == rows
        assert min(side, columns) <= width < 2 * side or width == columns


def test_a_length_in_metres_becomes_cells():
    assert side_in_cells("2 km", 16, 160.0) == 12
    assert side_in_cells("100 m", 16, 160.0) == 1
    assert side_in_cells("64 px", 16, np.nan) == 4


def test_metres_without_a_known_pixel_are_told():
    with pytest.raises(DataError, match="give it in pixels"):
        side_in_cells("2 km", 16, cell_metres(Grid((8, 8), Affine.identity(), ""), 16))


def test_a_cell_of_degrees_is_narrower_towards_the_pole():
    wgs84 = CRS.from_epsg(4326).to_wkt()
    sides = [cell_metres(Grid((2, 2), Affine(0.001, 0, 0, 0, -0.001, north), wgs84), 16) for north in (0, 60)]

    assert sides[0] == pytest.approx(1775, rel=0.01)
    assert sides[1] / sides[0] == pytest.approx(np.sqrt(0.5), rel=0.01)
