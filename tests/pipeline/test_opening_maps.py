"""QGIS shows at first what the map of the first page shows: the same variable and the same number."""

import html
import json
import re
import shutil
from itertools import product
from xml.etree import ElementTree as ET

import landscape
import numpy as np
import pytest
from form_files import CLASSES, ENSEMBLES, PARTS, QUANTILES, TILES, TRUTH, experiment_of, options, write_forms

import geouq
from geouq.forms.quantiles import Quantiles
from geouq.maps.cell_metrics import opening_of
from geouq.metrics import Value, level_name, metrics_of
from geouq.pipeline.data import Options
from geouq.pipeline.run import run
from geouq.summary.form import GAUSSIAN

REST = "intervals: {resamples: 100}\noutput: {maps: [cells], figures: none}\n"
COPIES = {0.05: 0.1, 0.25: 0.1, 0.75: 0.9, 0.95: 0.9}  # levels of two central intervals, and whose values they have
TWO_PAIRS = {"quantiles": "{" + ", ".join(f"{p}: 'quantiles/{{tile}}_{p}.tif'" for p in (*COPIES, 0.5)) + "}"}
OPENINGS = {
    "members": (ENSEMBLES["files"] | TRUTH, "coverage of 90 %"),
    "quantiles": (QUANTILES | TRUTH, "coverage of 80 %"),
    "quantiles of two intervals": (TWO_PAIRS | TRUTH, "coverage of 90 %"),
    "classes": (CLASSES, "confidence less accuracy"),
    "parts of a variance": (PARTS, "coverage of 90 %"),
}


def of_page(folder):
    """Variable on which the page opens, and the headings of the numbers on which it opens, one for each variable."""
    page = (folder / "report/index.html").read_text(encoding="utf-8")
    (first,) = re.findall(r'data-first="([^"]*)"', page)
    tabs = re.findall(r'name="tab"[^>]* value="(\w+)"', page)
    headings = set()
    for path in (folder / "report/assets/data").glob("diagrams_*_0.js"):
        metrics = json.loads(re.search(r"\{.*\}", path.read_text(encoding="utf-8"), re.DOTALL)[0])["metrics"]
        headings.add(next(one["name"] for tab in tabs for one in metrics if one["part"] == tab))
    return html.unescape(first), headings


def of_qgis(folder):
    """Names of the layers that are drawn."""
    root = ET.fromstring((folder / "maps/maps.qlr").read_text(encoding="utf-8").partition("\n")[2])  # noqa: S314  written here
    groups = root.findall("layer-tree-group/layer-tree-group/layer-tree-group[@checked='Qt::Checked']")
    return [one.get("name") for group in groups for one in group.findall("layer-tree-layer[@checked='Qt::Checked']")]


@pytest.mark.parametrize("key", OPENINGS)
def test_pages_and_qgis_open_on_the_same_number_of_the_same_variable(key, tmp_path, write_raster):
    data, heading = OPENINGS[key]
    text = "variables: [forest]\n" if data is CLASSES else ""
    folder = write_forms(tmp_path, write_raster)
    for tile, (level, own) in product(TILES, COPIES.items()):
        shutil.copy(folder / f"quantiles/{tile}_{own}.tif", folder / f"quantiles/{tile}_{level}.tif")
    run(experiment_of(folder, data, text + REST), options(tmp_path / "out"))
    first, headings = of_page(tmp_path / "out")

    assert headings == {heading}
    assert of_qgis(tmp_path / "out") == [f"cells_{first}: {heading}"]


def test_the_variable_is_the_worst_one_and_the_level_the_one_nearest_to_90_percent(tmp_path):
    config = landscape.write_tiles(tmp_path, shape=(96, 96), text="levels: [0.5, 0.8, 0.95, 0.99]\n" + REST)
    landscape.scaled(tmp_path, "variance", "predictions", lambda bands: bands * np.array([1, 1, 0.05])[:, None, None])
    geouq.run(config, Options(out=tmp_path / "out"))

    assert of_page(tmp_path / "out") == ("gini", {"coverage of 95 %"})
    assert of_qgis(tmp_path / "out") == ["cells_gini: coverage of 95 %"]


def values_of(names, form):
    """Numbers of a form with these levels, in the order of the records."""
    levels = [0.5, 0.8, 0.9]
    return [
        Value(one, name, "", np.array(0.5), level=level)
        for one in metrics_of(form)
        for level, name in [(None, one.name), *((level, level_name(one.name, level)) for level in levels)]
        if name in names
    ]


def test_maps_open_on_coverage_else_on_spread_else_on_the_first_number_of_the_pages():
    pairs = Quantiles((0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95))

    assert opening_of(values_of(["zms", "z_std", "coverage_50", "coverage_80"], GAUSSIAN)) == "coverage_80"
    assert opening_of(values_of(["coverage_50", "coverage_80", "coverage_90", "wis"], pairs)) == "coverage_90"
    assert opening_of(values_of(["zms", "z_std", "bias"], GAUSSIAN)) == "z_std"
    assert opening_of(values_of(["nll", "uce", "zms"], GAUSSIAN)) == "zms"
    assert opening_of(values_of(["pit_std"], GAUSSIAN)) == "pit_std"
    assert opening_of([]) == ""
