"""Rasters that are placed by ground control points or a sensor model alone."""

import numpy as np
import pytest
from rasterio.control import GroundControlPoint
from rasterio.rpc import RPC

from geouq.checks.placement import of_overlaps
from geouq.checks.sample import Patch
from geouq.config import load_experiment
from geouq.rasters.catalog import find_tiles

pytestmark = pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")

SHAPE = (40, 50)
CORNERS = ((0, 0), (0, 50), (40, 0), (40, 50))
NOWHERE = {"crs": None, "transform": None}


def points_at(longitude):
    points = [
        GroundControlPoint(row, column, longitude + column / 100, 50 - row / 100, 0, id=str(i))
        for i, (row, column) in enumerate(CORNERS)
    ]
    return {"gcps": points, "crs": "EPSG:4326", "transform": None}


def model_at(longitude):
    ones = [1.0] * 20
    model = RPC(0, 1, 50, 1, ones, ones, 20, 1, longitude, 1, ones, ones, 25, 1)
    return NOWHERE | {"rpcs": model}


@pytest.fixture
def tile(tmp_path, write_raster):
    """Find the only tile, whose truth has another place than its mean and variance; its failures."""

    def make(predicted, of_truth):
        for name, place in (("mean", predicted), ("variance", predicted), ("truth", of_truth)):
            write_raster(tmp_path / f"t_{name}.tif", np.ones(SHAPE, np.float32), **place)
        data = "".join(f"  {name}: '{{tile}}_{name}.tif'\n" for name in ("mean", "variance", "truth"))
        (tmp_path / "one.yaml").write_text(f"version: 1\nname: one\ndata:\n{data}", encoding="utf-8")
        return find_tiles(load_experiment(tmp_path / "one.yaml")).failures

    return make


@pytest.mark.parametrize("placed", [points_at, model_at])
def test_layers_of_other_places_are_refused(tile, placed):
    (failure,) = tile(placed(10), placed(15))

    assert failure.error == "GridError"
    assert "its ground control points, or the coefficients of its sensor model, differ" in failure.message
    shown = [line for line in failure.message.splitlines() if "rows x" in line]
    assert len(set(shown)) == 2
    if placed is points_at:
        assert "the first: row 0, column 0 at (10, 50), EPSG:4326" in shown[0]


@pytest.mark.parametrize("placed", [points_at, model_at])
def test_layers_of_one_place_are_one_grid(tile, placed):
    assert not tile(placed(10), placed(10))


@pytest.mark.parametrize("placed", [points_at, model_at])
def test_a_layer_without_a_place_is_not_on_the_pixels_of_one_that_has_one(tile, placed):
    (failure,) = tile(placed(10), NOWHERE)

    assert failure.error == "GridError"


@pytest.mark.parametrize(("longitude", "overlap"), [(15, False), (10, True)])
def test_tiles_overlap_only_if_they_have_the_same_control_points(tmp_path, write_raster, longitude, overlap):
    for tile, place in (("a", points_at(10)), ("b", points_at(longitude))):
        for name in ("mean", "variance", "truth"):
            write_raster(tmp_path / f"{tile}_{name}.tif", np.ones(SHAPE, np.float32), **place)
    data = "".join(f"  {name}: '{{tile}}_{name}.tif'\n" for name in ("mean", "variance", "truth"))
    (tmp_path / "one.yaml").write_text(f"version: 1\nname: one\ndata:\n{data}", encoding="utf-8")
    tiles = find_tiles(load_experiment(tmp_path / "one.yaml")).tiles
    patches = [Patch(tile.name, "v", 0, *3 * [np.ones(SHAPE)], None) for tile in tiles]

    assert bool(list(of_overlaps(tiles, patches))) == overlap
