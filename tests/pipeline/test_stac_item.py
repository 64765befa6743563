"""The STAC item of a run."""

import json
from datetime import datetime

import numpy as np
import pytest
import rasterio
from affine import Affine
from forecasts import heteroscedastic

TEXT = "variables: [height]\noutput: {maps: [cells, z], figures: none}\n"


@pytest.fixture
def item(tile_folder, geouq, tmp_path):
    """Run tiles with these options of the rasters; the item and its folder."""

    def run(text=TEXT, **profile):
        config = tile_folder(("a1", "a2"), text=text)
        for path in tmp_path.rglob("*.tif") if profile else ():
            with rasterio.open(path) as file:
                bands, own = file.read(), file.profile
            with rasterio.open(path, "w", **own | profile) as target:
                target.write(bands)
                target.descriptions = ("height", "cover", "gini")
        geouq("run", config, "--quiet")
        folder = tmp_path / "results/small"
        return json.loads((folder / "item.json").read_text(encoding="utf-8")), folder

    return run


def test_the_box_is_that_of_all_tiles_in_degrees(item):
    found, _ = item()
    corners = [(500_000, 6_999_600), (501_000, 6_999_600), (500_000, 7_000_000), (501_000, 7_000_000)]
    x, y = rasterio.warp.transform("EPSG:32633", "EPSG:4326", *zip(*corners, strict=True))

    assert found["bbox"] == pytest.approx([min(x), min(y), max(x), max(y)], abs=1e-5)
    ring = found["geometry"]["coordinates"][0]
    assert ring[0] == ring[-1] == found["bbox"][:2]
    assert ring[2] == found["bbox"][2:]
    assert found["properties"]["proj:code"] == "EPSG:32633"
    datetime.fromisoformat(found["properties"]["datetime"])


def test_assets_exist_and_name_their_type(item):
    found, folder = item()

    for asset in found["assets"].values():
        assert (folder / asset["href"]).is_file()
        assert asset["roles"]
    types = {name: asset["type"] for name, asset in found["assets"].items()}
    assert types["maps/a1_z.tif"] == "image/tiff; application=geotiff; profile=cloud-optimized"
    assert types["tables/metrics.csv"] == "text/csv"
    assert {"report/index.html", "results.json", "config.yaml", "maps/cells_height.gpkg", "maps/maps.qlr"} <= set(types)
    assert found["properties"]["geouq:success"] is True


def test_a_gate_that_fails_is_no_success(item):
    found, _ = item(TEXT + "gates: [{metric: coverage_90, variable: height, min: 0.999}]\n")

    assert found["properties"]["geouq:success"] is False


def test_tiles_without_crs_have_no_place(item):
    found, _ = item(crs=None)

    assert found["geometry"] is None
    assert "bbox" not in found
    assert not [key for key in found["properties"] if key.startswith("proj:")]


def test_tiles_across_180_degrees_have_a_box_around_the_world(tmp_path, write_raster, geouq):
    place = {"crs": "EPSG:32601", "transform": Affine(1000, 0, 140_000, 0, -1000, 100_000)}  # 180 degrees is inside
    for name, layer in zip(("mean", "variance", "truth"), heteroscedastic((40, 48)), strict=True):
        write_raster(tmp_path / f"{name}.tif", np.asarray(layer), nodata=np.nan, **place)
    data = "data: {mean: mean.tif, variance: variance.tif, truth: truth.tif}\n"
    (tmp_path / "x.yaml").write_text(f"version: 1\nname: x\n{data}output: {{maps: none, figures: none}}\n")
    assert geouq("run", "x.yaml", "--quiet").exit_code == 0
    found = json.loads((tmp_path / "results/x/item.json").read_text(encoding="utf-8"))

    assert found["bbox"][::2] == [-180, 180]


def test_the_item_is_valid(item):
    pystac = pytest.importorskip("pystac")
    validation = pytest.importorskip("pystac.validation")
    found, folder = item()

    assert pystac.Item.from_file(folder / "item.json").bbox == found["bbox"]
    validation.validate_dict(found | {"stac_extensions": []})  # schemas of extensions need the network


def test_a_report_writes_the_same_item(item, geouq):
    found, folder = item()
    geouq("report", folder, "--quiet")

    again = json.loads((folder / "item.json").read_text(encoding="utf-8"))
    assert again["assets"] == found["assets"]
    assert again["bbox"] == found["bbox"]
