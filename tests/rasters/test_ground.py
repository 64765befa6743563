"""Areas of pixels on the ground are those of the ellipsoid, and notes name what they do to means and totals."""

import numpy as np
import pytest
from affine import Affine
from rasterio.crs import CRS

from geouq.core.grid import Grid, Window
from geouq.rasters.areas import pixel_areas
from geouq.rasters.ground import ground_areas, notes_of_pixel_sizes


def grid(code, transform, shape=(101, 201)):
    return Grid(shape, transform, CRS.from_epsg(code).to_wkt() if code else "")


DEGREES = grid(4326, Affine(0.1, 0, 10, 0, -0.1, 70))
MERCATOR = grid(3857, Affine(10_000, 0, 1_000_000, 0, -10_000, 8_000_000))
UTM = grid(32633, Affine(30, 0, 400_000, 0, -30, 6_000_000))
EQUAL_AREA = grid(3035, Affine(1000, 0, 4_000_000, 0, -1000, 3_500_000))


def test_pixels_of_degrees_have_their_exact_areas():
    rows = pixel_areas(DEGREES, Window(0, 0, 101, 1))[[0, 50, 100], 0]

    np.testing.assert_allclose(ground_areas([DEGREES]).reshape(3, 3), np.repeat(rows[:, None], 3, axis=1), rtol=1e-5)


def test_pixels_of_an_equal_area_map_have_the_area_of_the_map():
    np.testing.assert_allclose(ground_areas([EQUAL_AREA]), 1e6, rtol=1e-5)


def test_pixels_of_mercator_have_the_area_that_its_scale_gives():
    y = 8_000_000 - 10_000 * (np.array([0, 50, 100]) + 0.5)
    sphere = 1 / np.cosh(y / 6_378_137) ** 2  # as the projection takes WGS 84 for a sphere

    np.testing.assert_allclose(ground_areas([MERCATOR]).reshape(3, 3)[:, 0], 1e8 * sphere, rtol=0.01)


def test_grids_of_several_crs_keep_their_places():
    each = [ground_areas([one])[0] for one in (UTM, DEGREES, MERCATOR)]

    np.testing.assert_array_equal(ground_areas([UTM, DEGREES, MERCATOR]), each)


def test_a_grid_across_the_date_line_has_finite_areas():
    across = grid(4326, Affine(0.1, 0, 175, 0, -0.1, 5))

    np.testing.assert_allclose(ground_areas([across]), pixel_areas(across, Window(50, 0, 1, 1))[0, 0], rtol=0.01)


@pytest.mark.parametrize(
    "one", [UTM, EQUAL_AREA, grid(0, Affine(1, 0, 0, 0, -1, 0)), grid(4326, Affine(1e-3, 0, 10, 0, -1e-3, 1))]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_nothing_is_said_where_pixels_are_alike(one, weighted):
    assert notes_of_pixel_sizes([one], weighted=weighted) == []


def test_degrees_without_weights_are_named_with_the_remedy():
    (note,) = notes_of_pixel_sizes([DEGREES], weighted=False)

    assert note.startswith("pixels differ in area on the ground by a factor of 1.46 and count alike")
    assert note.endswith("weight each by its area (`weights: area` in data)")
    assert notes_of_pixel_sizes([DEGREES], weighted=True) == []


def test_a_map_that_does_not_keep_areas_is_named_also_with_weights():
    for weighted, count in ((False, 2), (True, 1)):
        notes = notes_of_pixel_sizes([MERCATOR], weighted=weighted)
        assert len(notes) == count
        assert "areas on the map are 2.76 to 3.58 times" in notes[-1]
        assert notes[-1].endswith("bring the rasters to an equal-area CRS")
