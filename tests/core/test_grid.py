"""Where pixels are, and that two rasters lie on the same ones."""

import numpy as np
import pytest
from affine import Affine
from hypothesis import given, settings
from hypothesis import strategies as st
from rasterio.crs import CRS

from geouq.core.errors import GridError
from geouq.core.grid import Grid, require_same_grid, shift_in_pixels

UTM = CRS.from_epsg(32633).to_wkt()
PLACE = Affine(10, 0, 500_000, 0, -10, 7_000_000)
GRID = Grid((64, 80), PLACE, UTM)


@pytest.mark.parametrize("moved", [1e-9, 1e-4, 0.05])
def test_a_hair_of_difference_is_the_same_grid(moved):
    require_same_grid(GRID, Grid(GRID.shape, Affine.translation(moved, -moved) @ PLACE, UTM), "a.tif", "b.tif")


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Grid(GRID.shape, PLACE @ Affine.translation(1, 0), UTM), "shifted by +1 columns and +0 rows"),
        (Grid(GRID.shape, PLACE @ Affine.translation(-0.5, 0.5), UTM), "shifted by -0.5 columns and +0.5 rows"),
        (Grid(GRID.shape, PLACE @ Affine.scale(1.001), UTM), "its pixels are 1.001 times as wide"),
        (Grid(GRID.shape, PLACE @ Affine.scale(1, 2), UTM), "1 times as wide and 2 times as high"),
        (Grid(GRID.shape, PLACE @ Affine.rotation(30), UTM), "and flipped or turned"),
        (Grid((64, 81), PLACE, UTM), "64 x 81 pixels, not 64 x 80"),
        (Grid(GRID.shape, PLACE, CRS.from_epsg(32634).to_wkt()), "EPSG:32634, not EPSG:32633"),
        (Grid(GRID.shape, PLACE, ""), "its CRS is no CRS"),
        (Grid(GRID.shape, PLACE @ Affine.translation(0, 64) @ Affine.scale(1, -1), UTM), "+64 rows, and flipped"),
    ],
    ids=[
        "one pixel",
        "half a pixel",
        "pixel size",
        "pixel height",
        "rotation",
        "shape",
        "CRS",
        "no CRS",
        "upside down",
    ],
)
def test_what_does_not_match_is_shown(other, said):
    with pytest.raises(GridError) as caught:
        require_same_grid(GRID, other, "a.tif", "b.tif")

    message = str(caught.value)
    assert said in message
    assert str(GRID) in message
    assert str(other) in message


@pytest.mark.parametrize("turned", [Affine(0, 10, 0, 10, 0, 0), PLACE @ Affine.rotation(90), PLACE @ Affine.shear(20)])
def test_turned_grids_are_compared_along_their_own_axes(turned):
    grid = Grid(GRID.shape, turned, UTM)

    require_same_grid(grid, Grid(GRID.shape, turned @ Affine.translation(1e-6, 0), UTM), "a.tif", "b.tif")
    with pytest.raises(GridError, match=r"shifted by \+1 columns and [+-]\S+ rows\n"):
        require_same_grid(grid, Grid(GRID.shape, turned @ Affine.translation(1, 0), UTM), "a.tif", "b.tif")


def test_pixels_without_size_are_a_plain_error():
    nowhere = Grid(GRID.shape, Affine(0, 0, 5, 0, 0, 5), UTM)

    require_same_grid(nowhere, nowhere, "a.tif", "a.tif")
    for one, other in ((GRID, nowhere), (nowhere, GRID)):
        with pytest.raises(GridError, match="have no size"):
            require_same_grid(one, other, "a.tif", "b.tif")


@given(
    column=st.floats(-100, 100),
    row=st.floats(-100, 100),
    turn=st.floats(0, 360),
    size=st.floats(1e-3, 1e4),
)
def test_the_shift_is_measured_in_pixels_whatever_the_grid(column, row, turn, size):
    place = Affine.translation(5e5, 7e6) @ Affine.rotation(turn) @ Affine.scale(size, -size)
    moved = Grid(GRID.shape, place @ Affine.translation(column, row), UTM)

    assert shift_in_pixels(Grid(GRID.shape, place, UTM), moved) == pytest.approx(np.hypot(column, row), abs=1e-3)


def test_one_crs_written_in_two_ways_is_the_same():
    renamed = UTM.replace("WGS 84 / UTM zone 33N", "some name")

    require_same_grid(GRID, Grid(GRID.shape, PLACE, renamed), "a.tif", "b.tif")


@settings(deadline=None)
@given(rows=st.integers(1, 99), columns=st.integers(1, 99), size=st.integers(1, 128))
def test_windows_hold_each_pixel_once(rows, columns, size):
    seen = np.zeros((rows, columns), int)
    for window in Grid((rows, columns), PLACE, UTM).windows(size):
        seen[window.slices] += 1

    assert (seen == 1).all()


ALBERS = "+proj=aea +lat_1=-5 +lat_2=-42 +lon_0={} +units=m"


@pytest.mark.parametrize(
    ("proj4", "name"),
    [
        (ALBERS.format(-60), "Albers Conic Equal Area, metre"),
        ("+proj=aea +lat_1=29.5 +lat_2=45.5 +units=us-ft", "Albers Conic Equal Area, US survey foot"),
        ("+proj=longlat +R=6371000", "longitude and latitude, degree"),
        ("+proj=utm +zone=33 +datum=WGS84", "EPSG:32633"),
    ],
)
def test_a_crs_without_a_name_is_called_by_its_projection_and_unit(proj4, name):
    wkt = CRS.from_proj4(proj4).to_wkt()

    assert Grid(GRID.shape, PLACE, wkt).crs_name == name
    if not name.startswith("EPSG"):
        assert Grid(GRID.shape, PLACE, wkt.replace("unknown", "unnamed", 1)).crs_name == name
        assert Grid(GRID.shape, PLACE, wkt.replace("unknown", "mine", 1)).crs_name == "CRS 'mine'"


def test_of_two_crs_without_a_name_and_of_one_projection_the_other_one_is_said_to_differ():
    one, other = (Grid(GRID.shape, PLACE, CRS.from_proj4(ALBERS.format(lon)).to_wkt()) for lon in (-60, -50))
    with pytest.raises(GridError, match="its CRS is another Albers Conic Equal Area, metre"):
        require_same_grid(one, other, "mean", "truth")
