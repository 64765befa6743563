"""A map from outside the package: one function with its record is all that is written."""

import ast
import csv
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import rasterio
from landscape import SHORT

import geouq as package
from geouq.maps.pixel_maps import PIXEL_MAPS, as_markdown, pixel_map
from geouq.maps.scales import FAULT, even

PACKAGE = Path(package.__file__).parent
# names that are also those of figures, layers, metrics or sums
NOUNS = {"mean", "std"}
OTHER_NOUNS = {
    "aggregates/blocks.py": {"error", "std"},
    "aggregates/cells.py": {"error", "std", "z"},
    "api/pixel_scores.py": {"mean", "std"},
    "classes.py": {"brier", "confidence"},
    "config/layer_bands.py": {"mean", "std"},
    "config/layer_file.py": {"mean", "std"},
    "runs/layer_table.py": {"mean", "std"},
    "ensemble.py": {"aleatoric_share", "epistemic_share"},
    "inference/blocks.py": {"error", "z"},
    "metrics/__init__.py": {"crps", "nll"},
    "pages/cells.py": {"covered", "crps", "error", "mean", "std", "z"},
    "plot.py": {"pit", "std"},
    **dict.fromkeys(
        (
            f"starting/{name}.py"
            for name in ("layers_as_bands", "layers_as_files", "uncertainty", "units_and_scales", "words")
        ),
        NOUNS,
    ),
    "tables/columns.py": {"error", "mean", "std"},
    "summary/truth_error.py": {"std", "z"},
    "summary/moments.py": {"abs_error", "crps", "error", "nll", "pit", "std", "z"},
}
MAPS = SHORT.replace("maps: none", "maps: [z_squared]")


@pytest.fixture
def z_squared():
    """The square of z."""

    @pixel_map("squared error / predicted variance", limits={"valid_min": "0"}, scale=lambda _: even(0, 9, FAULT))
    def z_squared(forecast):
        return (forecast.truth - forecast.mean) ** 2 / forecast.variance

    yield z_squared
    del PIXEL_MAPS["z_squared"]


def layers_of(folder, tile):
    """Mean, variance and truth of the first variable of a tile, float64, NaN where there is none."""
    for path in (f"predictions/{tile}_mean.tif", f"predictions/{tile}_variance.tif", f"truth/{tile}.tif"):
        with rasterio.open(folder / path) as source:
            yield source.read(1, masked=True).astype(float).filled(np.nan)


@pytest.mark.usefixtures("z_squared")
def test_a_map_from_outside_is_written_with_what_it_says_of_itself_and_its_style(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1", "b1"), text=MAPS)

    assert geouq("run", config, "--quiet").exit_code == 0
    maps = next(tmp_path.rglob("a1_z_squared.tif")).parent
    mean, variance, truth = layers_of(config.parent, "a1")
    with rasterio.open(maps / "a1_z_squared.tif") as found:
        np.testing.assert_allclose(found.read(1), (truth - mean) ** 2 / variance, rtol=1e-6)
        assert found.descriptions == ("z_squared_height",)
        assert found.tags(1)["long_name"] == "squared error / predicted variance"
        assert (found.units, found.tags(1)["valid_min"]) == (("1",), "0")
    values = [float(item.get("value")) for item in ET.parse(maps / "z_squared.qml").iter("item")]  # noqa: S314
    assert values == list(even(0, 9, FAULT).values)
    with rasterio.open(maps / "z_squared.vrt") as mosaic:
        assert mosaic.width == 2 * mean.shape[1]
    results = maps.parent
    with (results / "SHA256SUMS").open(encoding="utf-8", newline="") as sums:
        assert any("a1_z_squared.tif" in line for row in csv.reader(sums) for line in row)
    page = (results / "report" / "index.html").read_text(encoding="utf-8")
    assert all(f'<a href="../maps/{name}">' in page for name in ("a1_z_squared.tif", "z_squared.vrt"))


@pytest.mark.usefixtures("z_squared")
def test_a_map_from_outside_is_suggested_computed_for_arrays_and_in_the_reference(tile_folder, geouq):
    config = tile_folder(("a1",), text=MAPS.replace("z_squared", "z_sqared"))

    assert "'z_sqared' is not a map; did you mean 'z_squared'?" in geouq("run", config).output
    found = package.pixel_scores([1.0, 2.0], [4.0, 1.0], [3.0, 2.0], scores="z_squared")["z_squared"]
    np.testing.assert_allclose(found, [1, 0])
    assert "| `z_squared` | squared error / predicted variance | 1 | numbers |" in as_markdown(PIXEL_MAPS.values())


@pytest.mark.usefixtures("z_squared")
def test_it_is_no_map_of_forecasts_without_a_variance():
    quantiles = {0.1: "{tile}_10.tif", 0.9: "{tile}_90.tif"}
    experiment = {"version": 1, "name": "x", "data": {"quantiles": quantiles, "truth": "{tile}.tif"}}

    with pytest.raises(package.GeouqError, match="'z_squared' is a map of predictions that have a variance"):
        package.load_experiment(experiment | {"output": {"maps": ["z_squared"]}})


def test_a_map_without_colours_or_codes_is_refused():
    with pytest.raises(TypeError, match="give either the scale of its colours or its codes"):
        pixel_map("something")


def listed_in(path):
    """Names of maps of pixels of which two or more stand in one list or mapping of a module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        members = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
        names = {one.value for one in members if isinstance(one, ast.Constant) and isinstance(one.value, str)}
        found |= own if len(own := names & set(PIXEL_MAPS)) > 1 else set()
    return found


def test_no_other_module_lists_maps_of_pixels():
    paths = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
    found = {place: names for place, path in paths.items() if (names := listed_in(path))}

    assert found == OTHER_NOUNS
