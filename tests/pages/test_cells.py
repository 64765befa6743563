"""Cells for the map of the pages: where they lie, how they are joined, and that their sums add up to the whole."""

import base64
import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
from affine import Affine
from cell_columns import columns_of
from landscape import NORTH_UP

from geouq.config import BinScheme, Variable
from geouq.core.grid import Grid
from geouq.inference import ForecastSample
from geouq.maps.pixel_maps import PIXEL_MAPS
from geouq.maps.scales import cell_scale, hexadecimal
from geouq.metrics import MetricOptions, Value, binned, coverage, crps, named, r2, zms
from geouq.pages.cells import LARGEST_FILE, MOST_CELLS, SUMS, _ground, _joined, _narrow, cell_maps, joined, layout_of
from geouq.summary import TilePlace, add_all, empty_summary

SCHEME = BinScheme(scheme="equal-count", count=10)


def place(name, row, column, shape=(64, 64), cell_size=16, crs="EPSG:32633"):
    return TilePlace(name, Grid(shape, NORTH_UP @ Affine.translation(column, row), crs), cell_size)


def test_tiles_lie_as_on_the_ground_but_for_wide_strips_without_any():
    layout = layout_of([place("a", 1000, 0), place("b", 1064, 0), place("c", 0, 64)], 1)

    assert [(tile.top, tile.left) for tile in layout.tiles] == [(80, 0), (144, 0), (0, 64)]
    assert "strips" in layout.where


def test_tiles_side_by_side_on_the_ground_need_no_word():
    assert layout_of([place("a", 0, 0), place("b", 0, 64)], 1).where == ""


@pytest.mark.parametrize("other", [place("b", 0.5, 64), place("b", 0, 0), place("b", 0, 64, crs="EPSG:32634")])
def test_tiles_that_make_no_map_are_drawn_apart(other):
    layout = layout_of([place("a", 0, 0), other], 1)

    (one, two) = layout.tiles
    assert "side by side" in layout.where
    assert two.left >= one.left + 64 or two.top >= one.top + 64


def test_cells_are_joined_until_they_are_few_enough():
    places = [place(f"t{k}", 0, 640 * k, (640, 640)) for k in range(200)]  # 40 x 40 cells each

    assert layout_of(places[:62], 1).side == 1
    layout = layout_of(places, 1)
    assert layout.side == 2
    assert layout.count == 200 * 20 * 20 <= MOST_CELLS
    assert layout_of(places, 12).side == 4


def test_joined_cells_add_up_within_the_tile():
    tile = layout_of([place("a", 0, 0, (48, 80))], 1).tiles[0]  # 3 x 5 cells
    rows = np.arange(15.0)[:, np.newaxis]
    blocks = replace(tile, blocks=(2, 3))

    np.testing.assert_array_equal(joined(rows, blocks, 2)[:, 0], [0 + 1 + 5 + 6, 2 + 3 + 7 + 8, 4 + 9, 21, 25, 14])


@pytest.fixture
def side(tile_folder, sweep_one):
    tiles = sweep_one(tile_folder(("a1", "a2")), levels=(0.5, 0.9))
    whole = add_all(tile.variables["height"].whole for tile in tiles.values())
    places = [TilePlace(name, tiles[name].grid, tiles[name].cell_size) for name in sorted(tiles)]

    def cells_of(name):
        cells = tiles[name].variables["height"].cells
        yield np.arange(len(cells)), cells

    return ForecastSample(whole, MetricOptions((0.5, 0.9), (SCHEME,)), places, cells_of)


def test_the_sums_of_all_cells_are_those_of_the_whole(side):
    (sums,) = cell_maps({"height": side}, [Variable(name="height", band=1)], SCHEME).variables
    total = {name: column.sum(dtype=np.float64) for name, column in columns_of(sums).items()}

    assert "weight" not in total
    assert total["n"] == side.whole.n
    assert total["z_square"] / total["n"] == pytest.approx(float(zms(side.whole)), rel=1e-6)
    assert total["crps"] / total["n"] == pytest.approx(float(crps(side.whole)), rel=1e-6)
    deviation, squared = (total[f"{name}deviation"] / total["n"] for name in ("", "squared_"))
    assert 1 - total["squared_error"] / total["n"] / (squared - deviation**2) == pytest.approx(float(r2(side.whole)))
    assert total["covered"] == round(float(coverage(side.whole, 0.9)) * side.whole.n)
    per_bin = binned(side.whole, SCHEME)
    for k in range(10):
        assert total[f"pit_{2 * k}"] == side.whole.z.regular(20)[2 * k]
        assert total[f"variance_{k}"] == pytest.approx(per_bin.variance[k], rel=1e-5)
        assert total[f"squared_error_{k}"] == pytest.approx(per_bin.squared_error[k], rel=1e-5)


def test_cells_of_small_tiles_have_the_same_sums_together_and_alone(side, monkeypatch):
    (together,) = cell_maps({"height": side}, [Variable(name="height", band=1)], SCHEME).variables
    monkeypatch.setattr("geouq.pages.cells.TOGETHER", 1)
    (alone,) = cell_maps({"height": side}, [Variable(name="height", band=1)], SCHEME).variables

    assert together.files == alone.files


def test_a_column_in_parts_is_as_narrow_as_in_one():
    whole, half, large = np.array([3.0, 255.0]), np.array([0.5, 7.0]), np.array([2.0**24 + 2.5, 2.0])

    for parts in ([whole, whole], [whole, whole * 255], [whole, half], [half, whole * 2**20], [large, whole]):
        together, apart = _narrow(np.concatenate(parts)), _joined([_narrow(part) for part in parts])
        assert apart.dtype == together.dtype
        np.testing.assert_array_equal(apart, together)


def test_files_hold_the_columns_in_pieces_of_bounded_size(side):
    maps = cell_maps({"height": side}, [Variable(name="height", band=1, units="m")], SCHEME)
    written = dict(maps.files())

    facts = maps.facts()
    assert list(written) == ["cells_0_0.js", "sums_0_0.js", "bins_0_0.js"]
    assert (facts["names"], facts["size"], facts["variables"][0]["units"]) == (["a1", "a2"], 16, "m")
    columns = {}
    for name, text in written.items():
        packed = json.loads(text.split(",", 3)[3].removesuffix(");\n"))
        width = sum(int(kind[1]) for _, kind in packed["columns"])
        assert len(gzip.decompress(base64.b64decode(packed["data"]))) == packed["count"] * width
        kind = name.partition("_")[0]
        columns[kind] = [name for name, _ in packed["columns"]]
        assert facts["variables"][0]["rows"][kind] * width * 4 / 3 <= LARGEST_FILE
    assert columns["cells"] == ["n", "covered"]  # all that the map needs as it opens
    assert columns["sums"] == list(SUMS)
    assert columns["bins"][0] == "pit_0"


def test_the_map_has_the_colours_of_the_cell_maps_and_the_coordinates_of_the_tiles(side):
    maps = cell_maps({"height": side}, [Variable(name="height", band=1)], SCHEME)
    facts = maps.facts()
    shown = {one["id"]: one for one in maps.facts_of(0)["metrics"]}
    moments = {"z_mean", "z_std", "zms", "bias", "rmse", "r2", "sharpness_rms"}
    assert set(shown) == moments | {"coverage_90", "crps", "uce", "ence"}
    scale = cell_scale(Value(named("zms")[0], "zms", "", zms(side.whole)), side.whole)
    assert shown["zms"]["values"] == list(scale.values)
    assert shown["zms"]["colours"] == list(map(hexadecimal, scale.colours))
    ground = facts["ground"]
    assert [ground["x"][0], ground["y"][0]] == [side.places[0].grid.transform.c, side.places[0].grid.transform.f]
    assert ground["crs"] == "EPSG:32633"
    assert ground["metres"] == pytest.approx(abs(NORTH_UP.a), rel=1e-2)


def test_pictures_of_tiles_have_the_colours_of_the_maps_of_pixels(side):
    variable = cell_maps({"height": side}, [Variable(name="height", band=1)], SCHEME).facts_of(0)

    assert list(variable["pixels"]) == ["mean", "std", "error", "z"]
    for name, shown in variable["pixels"].items():
        scale = PIXEL_MAPS[name].scale(side.whole)
        assert shown["values"] == list(scale.values)
        assert shown["colours"] == list(map(hexadecimal, scale.colours))


def test_tiles_with_pixels_of_other_sizes_have_no_common_coordinates():
    places = [
        place("a", 0, 0),
        replace(place("b", 0, 64), grid=Grid((64, 64), NORTH_UP @ Affine.scale(2), "EPSG:32633")),
    ]

    assert _ground(places) is None


def test_a_run_without_a_pixel_has_no_map(side):
    empty = ForecastSample(empty_summary((0.5, 0.9)), side.metric_options, side.places, side.cells_of)

    assert cell_maps({"height": empty}, [Variable(name="height", band=1)], SCHEME) is None
