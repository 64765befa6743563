"""STAC items and tile indices, given as sources, are recognised and evaluated as they were simulated."""

from pathlib import Path

import numpy as np
import products
import published
import pytest
import yaml

import geouq as package

QUICK = {"output": {"maps": "none", "figures": "none"}, "intervals": {"resamples": 100}}


def numbers_of(config, folder):
    experiment = package.load_experiment(config, overrides=QUICK)
    assert not package.run(experiment).failures
    return products.numbers_of_run(folder / "results" / experiment.name)


def started(geouq, *sources):
    done = geouq("init", *sources, "--out", "tiles.yaml")
    assert done.exit_code == 0, done.output
    checked = geouq("check", "tiles.yaml")
    assert checked.exit_code == 0, checked.output
    return yaml.safe_load(Path("tiles.yaml").read_text(encoding="utf-8"))


def test_items_of_two_bands_are_tiles(geouq, tmp_path):
    layers = products.boreal(tmp_path)

    written = started(geouq, "items.json", "lidar")

    assert written["data"] == {"mean": {"band": 1}, "std": {"band": 2}, "truth": "lidar/{tile}.tif"}
    assert written["tiles"] == {"stac": "items.json", "asset": "cog"}
    for name, found in numbers_of("tiles.yaml", tmp_path).items():
        assert found == pytest.approx(products.numbers(*layers[name]), rel=1e-4)


def test_assets_are_recognised_by_their_names(geouq, tmp_path):
    roles = {"agb": published.mean, "agb_se": published.std, "field_truth": published.truth}
    for name, layer in roles.items():
        published.each(tmp_path, f"cog/{{}}-{name[-2:]}.tif", layer)
    products.write_items(
        tmp_path / "items.json",
        *(
            products.item(tile, {name: {"href": f"cog/{tile}-{name[-2:]}.tif"} for name in roles})
            for tile in published.TILES
        ),
    )

    written = started(geouq, "items.json")

    assert written["data"] == {key: {"asset": name} for key, name in zip(("mean", "std", "truth"), roles, strict=True)}
    assert numbers_of("tiles.yaml", tmp_path)[published.TILES[0]]["zms"] == pytest.approx(1, abs=0.04)


def test_an_index_of_tiles_is_recognised_by_the_attributes_that_hold_paths(geouq, tmp_path):
    layers = products.bluetopo(tmp_path)

    written = started(geouq, "scheme.gpkg", "sonar")

    assert written["tiles"] == {"index": "scheme.gpkg", "path": "GeoTIFF_Link", "name": "tile"}
    assert written["data"] == {"mean": {"band": 1}, "std": {"band": 2}, "truth": "sonar/{tile}.tif"}
    for name, found in numbers_of("tiles.yaml", tmp_path).items():
        assert found == pytest.approx(products.numbers(*layers[name]), rel=1e-4)


@pytest.mark.parametrize(("source", "said"), [("items.json", "of assets"), ("scheme.gpkg", "of attributes")])
def test_a_list_that_does_not_say_which_layer_is_which_is_refused(geouq, tmp_path, source, said):
    products.boreal(tmp_path)
    products.bluetopo(tmp_path)
    for path in (*(tmp_path / "cog").iterdir(), *(tmp_path / "UTM19").iterdir()):
        published.write_raster(path, np.full((2, 60, 70), 1.0), names=("red", "green"))

    refused = geouq("init", source)

    assert refused.exit_code == 2
    assert f"names {said} and descriptions of bands do not say which are a mean and its uncertainty" in refused.stderr


def test_paths_of_lists_are_relative_to_the_file(geouq, tmp_path):
    products.boreal(tmp_path)
    (tmp_path / "configs").mkdir()

    geouq("init", "items.json", "lidar", "--out", "configs/boreal.yaml")

    assert "tiles: {stac: ../items.json, asset: cog}" in (tmp_path / "configs/boreal.yaml").read_text(encoding="utf-8")
