"""The table of `geouq check`: each layer with its file, band, unit, scale, share of nodata and one value."""

import json

import numpy as np
import pytest
import rasterio

import geouq
from geouq.runs.layer_table import lines_of_table

TILE = {"height": 40, "width": 50}


def layers_of(config):
    return geouq.check(config).layers


@pytest.fixture
def product(tmp_path, write_raster):
    """Write a tile whose mean is in tenths, whose std is in per cent, and whose truth is in another unit."""

    def write(truth=None, **settings):
        mean = np.full((40, 50), 1203, np.int16)
        mean[:10] = -1
        bands = np.stack([mean, np.full_like(mean, 118)])
        write_raster(tmp_path / "agb.tif", bands, names=("mean", "cv"), nodata=-1, scales=(0.1, 0.1))
        given = np.full((40, 50), 11.8) if truth is None else truth
        write_raster(tmp_path / "plots.tif", given, nodata=-9999.0, units=("kg m-2",))
        config = {
            "version": 1,
            "name": "product",
            "data": {"mean": "agb.tif", "relative_std": {"path": "agb.tif", "units": "%"}, "truth": "plots.tif"},
            "variables": {"AGB": {"mean": 1, "relative_std": 2, "truth": 1, "units": "Mg ha-1"}},
        } | settings
        (tmp_path / "product.yaml").write_text(json.dumps(config), encoding="utf-8")
        return tmp_path / "product.yaml"

    return write


def test_values_are_those_that_are_evaluated_at_one_pixel(product):
    table = layers_of(product())

    assert {line.layer: round(line.value, 6) for line in table.lines} == {
        "mean": 120.3,
        "relative_std": 0.118,
        "truth": 118.0,
    }
    assert (table.tile, table.row, table.column) == ("product", 19, 24)


def test_units_and_scales_are_shown_as_stored_and_as_used(product):
    table = layers_of(product())

    shown = {line.layer: (line.band, line.stored_units, line.units, round(line.scale, 9)) for line in table.lines}
    assert shown == {
        "mean": (1, "", "", 0.1),
        "relative_std": (2, "", "1", 0.001),
        "truth": (1, "kg m-2", "Mg ha-1", 10.0),
    }


def test_the_share_of_nodata_is_that_of_the_window(product):
    nodata = {line.layer: line.nodata for line in layers_of(product()).lines}

    assert nodata == {"mean": 0.25, "relative_std": 0.0, "truth": 0.0}


def test_lines_name_the_file_the_band_the_conversion_and_the_pixel(product):
    lines = lines_of_table(layers_of(product()))

    assert [" ".join(line.split()) for line in lines] == [
        "layer file band unit stored values nodata value",
        "mean agb.tif 1 mean Mg ha-1 (assumed) x 0.1 25 % 120.3",
        "relative_std agb.tif 2 cv none -> 1 x 0.001 0 % 0.118",
        "truth plots.tif 1 kg m-2 -> Mg ha-1 x 10 0 % 118",
        "values at row 19, column 24 of tile product; nodata: share of its rows 0 to 39, columns 0 to 49 alone",
    ]


def test_the_pixel_has_all_layers_where_one_has(product):
    truth = np.full((40, 50), -9999.0)
    truth[33, 7] = 12.0

    table = layers_of(product(truth))

    assert (table.row, table.column) == (33, 7)
    assert table.lines[-1].value == pytest.approx(120)


def test_layers_without_a_common_pixel_show_which_one_has_no_value(product):
    truth = np.full((40, 50), -9999.0)
    truth[3, 7] = 12.0  # where the mean has none

    values = [line.value for line in layers_of(product(truth)).lines]

    assert sum(value is None for value in values) == 1


def test_a_later_tile_is_shown_where_the_first_one_has_no_truth(tile_folder):
    config = tile_folder()
    with rasterio.open(config.parent / "truth/a1.tif", "r+") as target:
        target.write(np.full((3, 40, 50), np.nan, np.float32))

    assert layers_of(config).tile == "a2"


def test_a_variance_is_shown_with_its_std(tile_folder, geouq):
    config = tile_folder(("a1",), text="variables: [height]\n")

    line = next(line for line in geouq("check", config).stdout.splitlines() if line.startswith("variance"))

    *_, variance, _, power = line.split()
    assert float(power.removesuffix("^2")) ** 2 == pytest.approx(float(variance), rel=1e-3)


def test_hidden_pixels_have_no_value(tmp_path, write_raster, product):
    config = product()
    hidden = np.zeros((40, 50), bool)
    hidden[10:, :40] = True
    write_raster(tmp_path / "plots.tif", np.full((40, 50), 11.8), mask=hidden)

    table = layers_of(config)

    assert table.column >= 40
    assert table.lines[-1].nodata == pytest.approx(0.6)


def test_pixels_that_cannot_be_read_leave_the_headers(tile_folder, write_raster):
    config = tile_folder(("a1",), text="variables: [height]\n")
    path = config.parent / "truth/a1.tif"
    write_raster(path, np.random.default_rng(0).normal(size=(1, 40, 50)), compress="deflate")
    content = bytearray(path.read_bytes())
    content[-12_000:-4_000] = bytes(8000)
    path.write_bytes(content)

    table = layers_of(config)

    assert {line.value for line in table.lines} == {None}
    assert lines_of_table(table)[-1] == "layers of tile a1; its pixels were not read"


def test_no_tile_has_no_table(tile_folder):
    config = tile_folder(("a1",), text="variables: [height]\n")
    (config.parent / "truth/a1.tif").write_bytes(b"no raster")

    assert layers_of(config) is None


@pytest.mark.parametrize(("count", "shown"), [(4, ["1", "2", "3", "4"]), (9, ["1", "2", "3", "4", "9"])])
def test_of_many_members_the_first_and_the_last_are_shown(tmp_path, write_raster, count, shown):
    write_raster(tmp_path / "m.tif", np.arange(count * 600.0).reshape(count, 20, 30))
    write_raster(tmp_path / "t.tif", np.ones((20, 30)))
    data = {"members": str(tmp_path / "m.tif"), "truth": str(tmp_path / "t.tif")}

    table = layers_of({"version": 1, "name": "x", "data": data})

    assert [line.layer for line in table.lines] == [*(f"members {i}" for i in shown), "truth"]


def test_quantiles_in_one_file_are_shown_by_level(tmp_path, write_raster):
    write_raster(tmp_path / "q.tif", np.stack([np.full((20, 30), float(level)) for level in (90, 10, 50)]))
    write_raster(tmp_path / "t.tif", np.ones((20, 30)))
    data = {"quantiles": dict.fromkeys((0.9, 0.1, 0.5), str(tmp_path / "q.tif")), "truth": str(tmp_path / "t.tif")}

    table = layers_of({"version": 1, "name": "x", "data": data})

    assert {line.layer: (line.band, line.value) for line in table.lines[:3]} == {
        "quantiles 0.1": (2, 10.0),
        "quantiles 0.5": (3, 50.0),
        "quantiles 0.9": (1, 90.0),
    }
