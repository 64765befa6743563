"""One palette and range for each metric of cells, whether one looks at the page, a figure or a map in QGIS."""

import json
import re
import sqlite3
from contextlib import closing
from itertools import pairwise
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from colour_differences import least_difference

from geouq.drawing.cells import usual_metric
from geouq.figures import save_figure
from geouq.summary.form import GAUSSIAN

TEXT = (
    "variables: [height]\nregions: {west: [a1]}\nintervals: {resamples: 100}\n"
    "bins: [{scheme: equal-width, count: 6}]\noutput: {maps: [cells], figures: none}\n"
)


def rgb(colour):
    return tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5))


def of_page(folder):
    """Values and colours of each metric, as the script of the page has them."""
    text = (folder / "report/assets/data/diagrams_0_0.js").read_text(encoding="utf-8")
    facts = json.loads(re.fullmatch(r'geouq\.take\("diagrams",0,0,(.*)\);\n', text, re.DOTALL)[1])
    return {one["id"]: (one["values"], list(map(rgb, one["colours"]))) for one in facts["metrics"]}


def of_styles(folder):
    """Values between the colours of each metric, and the colours, as the GeoPackage has them for QGIS."""
    with closing(sqlite3.connect(folder / "maps/cells_height.gpkg")) as database:
        rows = database.execute("SELECT styleName, styleQML FROM layer_styles").fetchall()
    found = {}
    for name, text in rows:
        renderer = ET.fromstring(text).find("renderer-v2")  # noqa: S314  written here
        colours = [one.get("value") for one in renderer.iter("Option") if one.get("name") == "color"]
        uppers = [float(one.get("upper")) for one in renderer.iter("range")]
        found[name] = uppers[:-1], [tuple(map(int, one.split(",")[:3])) for one in colours]
    return found


def of_raster(folder):
    """Values and colours of the first band, as its style has them."""
    items = list(ET.parse(folder / "maps/cells_height.qml").iter("item"))  # noqa: S314  written here
    return [float(one.get("value")) for one in items], [rgb(one.get("color")) for one in items]


@pytest.fixture
def meshes(monkeypatch):
    """Cells of the figures that are drawn, by the name of the figure."""
    found = {}

    def keep(figure, path, dots_per_inch):
        found[path.stem] = figure.axes[0].collections[0]
        save_figure(figure, path, dots_per_inch)

    monkeypatch.setattr("geouq.drawing.saved.save_figure", keep)
    return found


def test_page_figure_and_styles_have_the_same_colours_at_the_same_values(tile_folder, geouq, tmp_path, meshes):
    done = geouq("run", tile_folder(text=TEXT), "--out", tmp_path / "out", "--quiet")
    assert done.exit_code == 0, done.output
    page, styles = of_page(tmp_path / "out"), of_styles(tmp_path / "out")
    metrics = [option for name in page for option in ("--metric", name)]
    for region in ("all", "west"):
        geouq("figures", tmp_path / "out", "--only", "cells", *metrics, "--region", region, "--dpi", "50", "--quiet")
        for name, (values, colours) in page.items():
            mesh = meshes["height_cells" if name == usual_metric(GAUSSIAN) else f"height_cells_{name}"]
            assert (mesh.norm.vmin, mesh.norm.vmax) == (values[0], values[-1]), name
            assert [tuple(own) for own in np.rint(255 * mesh.to_rgba(np.array(values))[:, :3])] == colours, name

    assert len(page) >= 8
    for name, (values, colours) in page.items():
        np.testing.assert_allclose(styles[name][0], [(low + high) / 2 for low, high in pairwise(values)], err_msg=name)
        assert styles[name][1] == colours, name
        assert least_difference(colours) >= 10, name
    assert of_raster(tmp_path / "out") == page[next(iter(styles))]


def test_a_run_draws_regions_in_the_colours_of_the_whole_as_the_command_does(tile_folder, geouq, tmp_path):
    text = TEXT.replace("figures: none", "figures: [cells], region_figures: [cells]")
    assert geouq("run", tile_folder(text=text), "--out", tmp_path / "out", "--quiet").exit_code == 0
    drawn = [tmp_path / f"out/figures/{region}/height_cells.png" for region in ("all", "west")]
    before = [path.read_bytes() for path in drawn]
    for path in drawn:
        path.unlink()
    geouq("figures", tmp_path / "out", "--only", "cells", "--quiet")

    assert [path.read_bytes() for path in drawn] == before
