"""Sums and places of cells are those of their pixels."""

import numpy as np
import pytest
from affine import Affine
from rasterio.crs import CRS
from scipy.stats import norm

from geouq import classes, summarize_arrays
from geouq.aggregates.cells import APART, area_cells, cell_side, common_frame, positions
from geouq.aggregates.shares import Share
from geouq.core.errors import SummaryError
from geouq.core.grid import Grid
from geouq.summary import Moments, TilePlace
from geouq.summary.exceedance import Exceedance
from geouq.summary.moments import PRODUCTS, SUMS

RNG = np.random.default_rng(1)
UTM, WGS84 = CRS.from_epsg(32633).to_wkt(), CRS.from_epsg(4326).to_wkt()


def place(name="a", crs=UTM, transform=None, shape=(64, 96), cell_size=16):
    return TilePlace(name, Grid(shape, transform or Affine(10, 0, 500000, 0, -10, 200000), crs), cell_size)


def moments_of(rng, cells, n, weight):
    """Moments of n pixels in each cell with weights, and the pixels: error, truth, std, z."""
    pixels = {name: rng.normal(size=(cells, n)) for name in ("error", "truth")} | {"std": rng.uniform(1, 2, (cells, n))}
    pixels["z"] = -pixels["error"] / pixels["std"]
    pixels["variance"] = pixels["std"] ** 2
    sums, products = np.zeros((cells, len(SUMS))), np.zeros((cells, len(PRODUCTS)))
    for name in ("error", "truth", "std", "z", "variance"):
        sums[:, SUMS.index(name)] = (weight * pixels[name]).sum(1)
    away = pixels["z"] - (weight * pixels["z"]).sum(1, keepdims=True) / weight.sum(1, keepdims=True)
    products[:, PRODUCTS.index(("z", "z"))] = (weight * away**2).sum(1)
    return Moments(np.full(cells, n), weight.sum(1), sums, products), pixels


@pytest.mark.parametrize("scale", [1.0, 250.0, 1e-308, 1e300])
def test_the_sums_of_a_cell_are_those_of_its_pixels(scale):
    rng = np.random.default_rng(0)
    given = scale * np.repeat(rng.uniform(0.5, 1.5, (24, 1)), 9, axis=1) if scale != 1 else np.ones((24, 9))
    moments, pixels = moments_of(rng, 24, 9, given)
    weight = given / given.mean()

    cells = area_cells([place()], lambda _: (np.arange(24), {"moments": moments}))

    wanted = {
        "mean": weight * (pixels["truth"] + pixels["error"]),
        "error": weight * pixels["error"],
        "std": weight * pixels["std"],
        "variance": (weight * pixels["std"]) ** 2,
        "z": weight * pixels["z"],
        "z_square": (weight * pixels["z"]) ** 2,
        "weight_square": weight**2,
        "n": np.ones((24, 9)),
        "area": np.full((24, 9), 100.0),
    }
    for name, values in wanted.items():
        np.testing.assert_allclose(getattr(cells, name), values.sum(1), rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("weights", [None, 250.0])
def test_the_sums_of_a_cell_above_a_threshold_are_those_of_its_pixels(weights):
    rng = np.random.default_rng(3)
    mean, truth = rng.normal(10, 4, (2, 64, 96))
    std = rng.uniform(1, 3, (64, 96))
    weight = None if weights is None else weights * np.kron(rng.uniform(0.5, 1.5, (4, 6)), np.ones((16, 16)))
    found = summarize_arrays(mean, std**2, truth, weight=weight, cell_size=16, thresholds=[9.0, 12.0])
    statistics = found.cells.statistics

    cells = area_cells([place()], lambda _: (np.arange(24), statistics), Share(12.0, 1))

    p, exceeded = norm.sf(12, mean, std), truth > 12
    a = np.ones(mean.shape) if weight is None else weight / weight.mean()
    wanted = {
        "mean": a * p,
        "error": a * (p - exceeded),
        "z": a * (p - exceeded),
        "std": a * np.sqrt(p * (1 - p)),
        "variance": a**2 * p * (1 - p),
        "z_square": (a * (p - exceeded)) ** 2,
        "weight": a,
        "weight_square": a**2,
    }
    for name, values in wanted.items():
        each = values.reshape(4, 16, 6, 16).sum((1, 3)).ravel()
        np.testing.assert_allclose(getattr(cells, name), each, rtol=1e-11, err_msg=name)
    assert found.whole["exceedance_0"].sums[1] == pytest.approx(found.whole.moments.weight * (a * (truth > 9)).mean())


@pytest.mark.parametrize("weighted", [False, True])
def test_the_sums_of_a_class_are_those_of_its_pixels(weighted):
    rng = np.random.default_rng(5)
    probabilities = rng.dirichlet((0.5, 1.0, 3.0), size=5000).T
    truth = rng.integers(0, 3, 5000)
    weights = rng.uniform(0.5, 2, 5000) if weighted else None
    found = classes.summarize(probabilities, truth.astype(float), weights=weights)

    a = np.ones(5000) if weights is None else weights
    for place, p in enumerate(probabilities):
        is_there = truth == place
        spread = p * (1 - p)
        expected = [np.sum(a * own) for own in (p, is_there, np.sqrt(spread), spread, (p - is_there) ** 2)]
        own = Share(f"class {place}", place).sums(found.statistics)
        np.testing.assert_allclose(own.sums, expected, rtol=1e-12)


def test_sums_above_different_thresholds_do_not_add():
    with pytest.raises(SummaryError, match="above 1 and above 2"):
        Exceedance(1.0, np.zeros(5)) + Exceedance(2.0, np.zeros(5))


def test_cells_stand_at_their_centres_in_the_order_of_the_tile():
    rng = np.random.default_rng(1)
    moments, _ = moments_of(rng, 3, 4, np.ones((3, 4)))

    cells = area_cells([place()], lambda _: (np.array([7, 0, 23]), {"moments": moments}))

    assert cells.row.tolist() == [0, 1, 3]
    assert cells.column.tolist() == [0, 1, 5]
    np.testing.assert_allclose(cells.position[1], [500000 + 1.5 * 160, 200000 - 1.5 * 160, 0])


def test_distances_on_the_sphere_are_chords_of_great_circles():
    grid = Grid((180, 360), Affine(1, 0, -180, 0, -1, 90), WGS84)
    row, column = np.array([20, 50]), np.array([10, 200])

    one, other = positions(grid, row, column, None)

    longitude, latitude = np.radians(column + 0.5 - 180), np.radians(90 - row - 0.5)
    cosine = np.prod(np.sin(latitude)) + np.prod(np.cos(latitude)) * np.cos(longitude[0] - longitude[1])
    assert np.linalg.norm(one - other) == pytest.approx(2 * 6371008.8 * np.sin(np.arccos(cosine) / 2), rel=1e-12)


def test_tiles_of_different_zones_have_their_true_distance():
    east = CRS.from_epsg(32634).to_wkt()
    frame = common_frame([UTM, east])
    west_grid = Grid((1, 1), Affine(1, 0, 699999.5, 0, -1, 5000000.5), UTM)  # 3 degrees apart at the same latitude
    east_grid = Grid((1, 1), Affine(1, 0, 299999.5, 0, -1, 5000000.5), east)
    zero = np.array([0])

    apart = np.linalg.norm(positions(west_grid, zero, zero, frame) - positions(east_grid, zero, zero, frame))

    assert frame is None
    assert apart == pytest.approx(72_000, rel=0.02)  # 2 x (3 degrees - 2.55) of longitude at 45 degrees north


def test_units_of_a_map_in_feet_become_metres():
    feet = CRS.from_epsg(2225).to_wkt()
    grid = Grid((4, 4), Affine(100, 0, 0, 0, -100, 0), feet)

    corner, right = positions(grid, np.array([0, 0]), np.array([0, 1]), common_frame([feet]))

    assert right[0] - corner[0] == pytest.approx(100 * 1200 / 3937)


def test_tiles_in_the_same_place_are_far_apart():
    rng = np.random.default_rng(2)
    moments, _ = moments_of(rng, 24, 4, np.ones((24, 4)))

    cells = area_cells([place("2010"), place("2020")], lambda _: (np.arange(24), {"moments": moments}))

    assert np.ptp(cells.position[cells.tile == 1, 2]) == 0
    assert cells.position[cells.tile == 1, 2][0] == APART


def test_the_side_of_a_cell_is_in_metres_in_any_crs():
    degree = place(crs=WGS84, transform=Affine(0.1, 0, 10, 0, -0.1, 3.2), shape=(64, 64))

    assert cell_side([place()]) == pytest.approx(160)
    assert cell_side([degree]) == pytest.approx(1.6 * np.pi / 180 * 6371008.8, rel=1e-3)


def test_parts_of_cells_are_shares_of_their_valid_pixels():
    every = area_cells([place()], lambda _: (np.arange(24), {"moments": moments_of(RNG, 24, 9, np.ones((24, 9)))[0]}))
    some = area_cells([place()], lambda _: (np.array([3, 17]), {"moments": moments_of(RNG, 2, 3, np.ones((2, 3)))[0]}))

    assert every.parts_of(every).part.tolist() == [1] * 24
    np.testing.assert_allclose(some.parts_of(every).part, [1 / 3, 1 / 3])
