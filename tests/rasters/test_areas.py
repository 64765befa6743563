"""How large pixels are, against integrals, geodesics and the whole Earth."""

import numpy as np
import pytest
from affine import Affine
from hypothesis import given
from hypothesis import strategies as st
from rasterio.crs import CRS

from geouq.core.errors import DataError
from geouq.core.grid import Grid, Window
from geouq.rasters.areas import pixel_areas, require_areas

WGS84 = CRS.from_epsg(4326).to_wkt()
GLOBE = 5.10065621724088e14  # of WGS 84, square metres
ELLIPSOIDS = {  # CRS: semi-major axis in metres, flattening, radians of its unit
    "EPSG:4326": (6378137.0, 1 / 298.257223563, np.pi / 180),
    "EPSG:4267": (6378206.4, 1 / 294.978698213898, np.pi / 180),
    "EPSG:4807": (6378249.2, 1 / 293.466021293627, np.pi / 200),
    "EPSG:4326+5773": (6378137.0, 1 / 298.257223563, np.pi / 180),
    "+proj=longlat +ellps=bessel +towgs84=582,105,414,0,0,0,0": (6377397.155, 1 / 299.1528128, np.pi / 180),
    "+proj=longlat +a=3396190 +b=3376200": (3396190.0, 1 - 3376200 / 3396190, np.pi / 180),
    "+proj=longlat +R=1737400": (1737400.0, 0.0, np.pi / 180),
}


def wkt(text):
    return CRS.from_user_input(text).to_wkt()


def integral(middle, height, a, flattening):
    """Area of a strip one radian wide: the integral over latitude of an element of meridian times one of parallel."""
    e2 = flattening * (2 - flattening)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    latitude = middle + nodes * height / 2
    element = a**2 * (1 - e2) * np.cos(latitude) / (1 - e2 * np.sin(latitude) ** 2) ** 2
    return (element * weights).sum() * height / 2


@pytest.mark.parametrize("rows", [1, 2, 36, 1801])
@pytest.mark.parametrize("upside", [1, -1])
def test_all_pixels_together_are_the_earth(rows, upside):
    grid = Grid((rows, 4), Affine(90, 0, -180, 0, -180 / rows * upside, 90 * upside), WGS84)

    areas = pixel_areas(grid, Window(0, 0, rows, 4))

    assert areas.shape == (rows, 4)
    assert areas.dtype == np.float64
    assert areas.flags.c_contiguous
    assert areas.sum() == pytest.approx(GLOBE, rel=1e-14)


@pytest.mark.parametrize("crs", ELLIPSOIDS)
@pytest.mark.parametrize("latitude", [-80, -33, 0, 0.1, 45, 59])
def test_a_pixel_is_the_integral_over_it_on_any_ellipsoid_in_any_unit(crs, latitude):
    a, flattening, radians = ELLIPSOIDS[crs]
    grid = Grid((3, 3), Affine(0.5, 0, 3, 0, -0.25, latitude), wkt(crs))

    (area,) = pixel_areas(grid, Window(2, 1, 1, 1)).ravel()

    strip = integral((latitude - 2.5 * 0.25) * radians, 0.25 * radians, a, flattening)
    assert area == pytest.approx(0.5 * radians * strip, rel=1e-13)


@given(latitude=st.floats(-89.9, 89.9), height=st.floats(-9, -1).map(lambda power: 10**power))
def test_small_pixels_lose_no_digits(latitude, height):
    """Subtracting the areas up to both parallels would err by 1e-8 already where pixels are 1e-7 degrees high."""
    grid = Grid((1, 1), Affine(1e-4, 0, 0, 0, -height, latitude), WGS84)
    a, flattening, radians = ELLIPSOIDS["EPSG:4326"]

    strip = integral((latitude - height / 2) * radians, height * radians, a, flattening)

    assert pixel_areas(grid, Window(0, 0, 1, 1))[0, 0] == pytest.approx(1e-4 * radians * strip, rel=1e-12)


@pytest.mark.parametrize(("latitude", "size"), [(-62.1, 1e-4), (0, 0.25), (48.2, 1.0), (89, 1.0)])
def test_a_pixel_is_the_polygon_with_geodesics_between_near_points_of_its_parallels(latitude, size):
    geod = pytest.importorskip("pyproj").Geod(ellps="WGS84")
    grid = Grid((1, 1), Affine(size, 0, 20, 0, -size, latitude + size), WGS84)
    along = np.linspace(20, 20 + size, 2001)
    edges = np.concatenate([along, along[::-1]]), np.repeat([latitude, latitude + size], along.size)

    wanted, _ = geod.polygon_area_perimeter(*edges)

    assert pixel_areas(grid, Window(0, 0, 1, 1))[0, 0] == pytest.approx(abs(wanted), rel=1e-9)


@given(row=st.integers(0, 30), column=st.integers(0, 30), height=st.integers(1, 9), width=st.integers(1, 9))
def test_a_window_has_the_areas_of_its_part_of_the_grid(row, column, height, width):
    grid = Grid((40, 40), Affine(0.1, 0, 5, 0, -0.1, 64), WGS84)
    window = Window(row, column, height, width)

    assert np.array_equal(pixel_areas(grid, window), pixel_areas(grid, Window(0, 0, 40, 40))[window.slices])


def test_rows_that_a_pole_cuts_have_the_part_this_side_of_it():
    """Where pixels are centred on the poles, the first and the last row reach half a pixel beyond them."""
    grid = Grid((181, 1), Affine(360, 0, -180.5, 0, -1, 90.5), WGS84)

    areas = pixel_areas(grid, Window(0, 0, 181, 1))[:, 0]

    half = pixel_areas(Grid((1, 1), Affine(360, 0, 0, 0, -0.5, 90), WGS84), Window(0, 0, 1, 1))[0, 0]
    assert areas[[0, -1]] == pytest.approx([half, half], rel=1e-13)
    assert areas.sum() == pytest.approx(GLOBE, rel=1e-14)


@pytest.mark.parametrize(
    ("crs", "size", "area"),
    [
        ("EPSG:32633", Affine(10, 0, 5e5, 0, -10, 7e6), 100),
        ("EPSG:32633", Affine(10, 0, 5e5, 0, -10, 7e6) @ Affine.rotation(30), 100),
        ("EPSG:2263", Affine(100, 0, 9e5, 0, -100, 2e5), (100 * 1200 / 3937) ** 2),
        ("EPSG:27700+5701", Affine(25, 0, 0, 0, 25, 0), 625),
    ],
    ids=["metres", "rotated", "feet", "with heights"],
)
def test_a_projected_pixel_has_its_area_on_the_map(crs, size, area):
    areas = pixel_areas(Grid((8, 9), size, wkt(crs)), Window(3, 2, 4, 5))

    assert areas.shape == (4, 5)
    assert areas.flags.c_contiguous
    assert areas == pytest.approx(np.full((4, 5), area), rel=1e-12)


def test_moved_poles_are_no_matter_on_a_sphere():
    moved = "+proj=ob_tran +o_proj=longlat +o_lon_p=0 +o_lat_p=39.25 +lon_0=18 +to_meter=0.0174532925199433"
    grid = Grid((2, 2), Affine(1, 0, 3, 0, -1, 60), wkt(f"{moved} +R=6371000"))
    plain = Grid(grid.shape, grid.transform, wkt("+proj=longlat +R=6371000"))

    assert pixel_areas(grid, Window(0, 0, 2, 2)) == pytest.approx(pixel_areas(plain, Window(0, 0, 2, 2)), rel=1e-13)
    with pytest.raises(DataError, match=r"the poles of the CRS are moved.*gdalwarp"):
        pixel_areas(Grid(grid.shape, grid.transform, wkt(f"{moved} +ellps=WGS84")), Window(0, 0, 2, 2))


NORTH_UP = Affine(1, 0, 10, 0, -1, 50)


@pytest.mark.parametrize(
    ("transform", "crs", "said"),
    [
        (NORTH_UP, "", r"no CRS gives the size of a pixel; give the file one"),
        (NORTH_UP, "rubbish", "the CRS cannot be read"),
        (NORTH_UP, 'LOCAL_CS["x",UNIT["metre",1]]', "the CRS is neither geographic nor projected"),
        (NORTH_UP @ Affine.rotation(10), WGS84, r"rows do not run along parallels; .*gdalwarp"),
        (Affine(0, 1, 10, 1, 0, 50), WGS84, "rows do not run along parallels"),
        (Affine(1, 0, 10, 0, 0, 50), WGS84, "pixels have no size"),
        (Affine(np.nan, 0, 10, 0, -1, 50), WGS84, "pixels have no size"),
        (Affine(1, 0, 0, 0, -1, 92), WGS84, "row 0 lies beyond a pole, around latitude 91.5;"),
        (Affine(1, 0, 0, 0, -1, -85), WGS84, "row 8 lies beyond a pole, around latitude -93.5;"),
        (Affine(10, 0, 5e5, 0, -10, 7e6), WGS84, "row 0 lies beyond a pole"),
    ],
)
def test_where_areas_are_not_known_the_file_is_named_with_what_to_do(transform, crs, said):
    with pytest.raises(DataError, match=rf"^a_mean\.tif: {said}.*; or give weights as rasters"):
        require_areas(Grid((9, 9), transform, crs), "a_mean.tif")


def test_columns_may_lean_as_long_as_rows_run_along_parallels():
    leaning = Grid((9, 9), NORTH_UP @ Affine(1, 0.3, 0, 0, 1, 0), WGS84)
    barely_turned = Grid((9, 9), NORTH_UP @ Affine.rotation(1e-9), WGS84)
    upright = pixel_areas(Grid((9, 9), NORTH_UP, WGS84), Window(0, 0, 9, 9))

    for grid in (leaning, barely_turned):
        require_areas(grid, "a_mean.tif")
        assert pixel_areas(grid, Window(0, 0, 9, 9)) == pytest.approx(upright, rel=1e-9)
