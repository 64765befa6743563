"""QGIS itself opens the maps of a run, where it is installed: what it reads, and what it then draws."""

import json
import subprocess
from itertools import pairwise
from pathlib import Path

import landscape
import numpy as np
import pyogrio.raw
import pytest
import qgis_program
import shapely
from PIL import Image

import geouq
from geouq.maps.scales import colours_of_codes, hexadecimal
from geouq.pipeline.data import Options

PYTHON = Path("/usr/bin/python3")  # for which distributions package QGIS
QUIET = {"QT_QPA_PLATFORM": "offscreen", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
TEXT = (
    "variables: [height, cover]\nintervals: {resamples: 100}\n"
    "output: {maps: [cells, z, status, covered_90], figures: none}\n"
)


def has_qgis():
    command = [PYTHON, "-c", "import qgis.core"]
    return PYTHON.exists() and subprocess.run(command, env=QUIET, capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not has_qgis(), reason="QGIS is not installed for /usr/bin/python3")


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("qgis")
    geouq.run(landscape.write_tiles(folder, shape=(96, 96), text=TEXT), Options(out=folder / "out"))
    return folder / "out/maps"


@pytest.fixture(scope="module")
def opened(maps):
    """What QGIS says of the maps."""
    command = [PYTHON, qgis_program.__file__, maps, maps / "drawn.png"]
    environment = QUIET | {"HOME": str(maps.parent), "XDG_RUNTIME_DIR": str(maps.parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr, done.stderr
    assert "Warning" not in done.stderr, done.stderr
    return json.loads(done.stdout)


def test_a_package_opens_in_its_first_style_and_lists_all_others_with_what_they_show(opened):
    assert list(opened["packages"]) == ["cells_cover", "cells_height"]
    for own in opened["packages"].values():
        assert own["valid"]
        assert own["crs"]
        assert own["error"] == ""
        assert (own["renderer"], own["by"]) == ("graduatedSymbol", "coverage_90")
        lows, highs, labels, colours, parts = zip(*own["classes"], strict=True)
        assert all(low < high for low, high in zip(lows, highs, strict=True))
        assert lows[1:] == highs[:-1]
        assert labels[0].startswith("below ")
        assert labels[-1].startswith("above ")
        assert len(set(colours)) == len(colours) == 7
        assert set(parts) == {1}
        assert own["styles"]["zms"] == "mean z²"
        assert own["count"] == len(own["styles"]) > 40


def test_each_raster_loads_the_style_next_to_it(opened):
    assert list(opened["rasters"]) == ["cells_cover", "cells_height", "covered_90", "status", "z"]
    for name, own in opened["rasters"].items():
        assert own["valid"]
        assert own["loaded"], own["message"]
        values = [value for value, _, _ in own["classes"]]
        assert all(low < high for low, high in pairwise(values)), name
    assert opened["rasters"]["cells_cover"]["by"] == "coverage_90"
    assert opened["rasters"]["z"]["classes"][0][1:] == ["≤ \N{MINUS SIGN}3", "#b2182b"]
    assert opened["rasters"]["z"]["classes"][-1][1:] == ["≥ 3", "#2166ac"]
    missed, covered = map(hexadecimal, colours_of_codes(("missed", "covered")))
    assert opened["rasters"]["covered_90"]["classes"] == [[0, "missed", missed], [1, "covered", covered]]


def test_the_layer_definition_opens_every_map_and_draws_the_polygons_of_one_variable(opened):
    definition = opened["definition"]

    assert definition["loaded"], definition["error"]
    assert opened["messages"] == []
    assert all(layer["valid"] and layer["crs"] for layer in definition["layers"])
    assert len(definition["layers"]) == 2 * 5
    (first,) = [layer for layer in definition["layers"] if layer["drawn"]]
    assert first["group"] == "cells (polygons)"
    assert first["name"].endswith(": coverage of 90 %")
    assert [layer["name"] for layer in definition["layers"] if layer["open"]] == [first["name"]]
    assert {layer["by"] for layer in definition["layers"]} == {
        "coverage_90", "z_height", "z_cover", "status_height", "status_cover", "covered_90_height", "covered_90_cover",
    }  # fmt: skip


def test_what_is_drawn_at_first_has_the_colour_of_its_class_in_every_cell_and_no_seams(opened, maps):
    """A seam between two cells would be tinted by the green of the background."""
    definition = opened["definition"]
    assert definition["errors"] == []
    (first,) = [layer for layer in definition["layers"] if layer["drawn"]]
    path = maps / f"{first['name'].partition(':')[0]}.gpkg"
    meta, _, geometry, columns = pyogrio.raw.read(path, layer=path.stem)
    values = dict(zip(meta["fields"], columns, strict=True))[first["by"]]
    cells = shapely.from_wkb(geometry)
    picture = np.asarray(Image.open(maps / "drawn.png").convert("RGB"))
    west, south, east, north = definition["box"]

    def colour_at(x, y):
        row, column = (north - y) / (north - south) * picture.shape[0], (x - west) / (east - west) * picture.shape[1]
        return tuple(map(int, picture[int(row), int(column)]))

    for cell, value in zip(shapely.centroid(cells), values.astype(float), strict=True):
        expected = next(colour for low, high, _, colour, _ in first["classes"] if low <= value <= high)
        assert hexadecimal(colour_at(cell.x, cell.y)) == expected
    left, bottom, right, top = shapely.total_bounds(cells)
    across, down = np.linspace(left, right, 1001)[5:-5], np.linspace(bottom, top, 301)[5:-5]
    assert len(cells) >= 100
    assert max(green - max(red, blue) for x in across for y in down for red, green, blue in [colour_at(x, y)]) < 10
