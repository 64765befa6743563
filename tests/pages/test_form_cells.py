"""Sums of cells of predictions without a variance, for the map of the pages."""

import re
from functools import partial

import numpy as np
import pytest
import rasterio
from cell_columns import columns_of
from form_files import CLASSES, QUANTILES, TRUTH, experiment_of, options, write_forms

import geouq as gq
from geouq.config import BinScheme
from geouq.forms.classes import Classes
from geouq.metrics.classes import HIT
from geouq.numbers.run_metrics import forecast_samples_of, metric_options_of
from geouq.pages.cells import cell_maps, share_columns, shares_of
from geouq.pipeline.run import run
from geouq.regions import EvaluationUnit
from geouq.runs.store import SavedSummaries
from geouq.summary import add_all
from geouq.summary.form import FormSums

SCHEME = BinScheme(scheme="equal-count", count=10)
QUIET = "output: {maps: none, figures: none}\n"


@pytest.fixture
def folder(tmp_path, write_raster):
    return write_forms(tmp_path, write_raster)


def maps_of(folder, data, text=QUIET):
    """What pages are given of a run, and the summary of its first variable."""
    experiment = experiment_of(folder, data, text)
    record = run(experiment, options(folder / "out")).record
    saved = SavedSummaries(folder / "out", record.tiles, experiment.levels)
    names = [variable.name for variable in record.variables]
    wholes = {name: add_all(tile.variables[name].whole for tile in saved.wholes()) for name in names}
    choices = metric_options_of(experiment, record.variables, saved)
    sides = forecast_samples_of(
        EvaluationUnit("all", "all", record.tiles, wholes), choices, list(map(saved.part, record.tiles)), saved
    )
    return cell_maps(sides, record.variables, SCHEME), wholes[names[0]]


def mean_of(sums, name):
    columns = columns_of(sums)
    return columns[name].sum(dtype=np.float64) / columns["n"].sum()


def test_the_means_of_all_cells_of_quantiles_are_those_of_the_whole(folder):
    maps, whole = maps_of(folder, QUANTILES | TRUTH)
    sums = maps.variables[0]

    assert maps.diagrams
    assert maps.of_shares
    assert columns_of(sums)["n"].sum() == whole.n
    for name, function in (
        ("crps_quantiles", gq.quantiles.crps_quantiles),
        ("wis", gq.quantiles.wis),
        ("coverage_80", partial(gq.quantiles.pair_coverage, level=0.8)),
        ("width_80", partial(gq.quantiles.pair_width, level=0.8)),
    ):
        assert mean_of(sums, name) == pytest.approx(float(function(whole)), rel=1e-6)
    units = {metric.name: metric.unit for metric in sums.metrics}
    assert (units["coverage_80"], units["crps_quantiles"]) == ("in %", "m")


def test_the_page_is_told_what_the_means_are(folder):
    maps, _ = maps_of(folder, QUANTILES | TRUTH)
    (told,) = (one for one in maps.facts_of(0)["metrics"] if one["id"] == "coverage_80")
    assert (told["name"], told["unit"], told["of"], told["part"]) == (
        "coverage of 80 %",
        "in %",
        "coverage",
        "coverage",
    )
    assert told["isPercent"]
    assert maps.facts()["variables"][0]["rows"].keys() == {"cells", "sums", "bins"}
    assert maps.facts_of(0)["shares"] == {"levels": [0.1, 0.5, 0.9]}
    (cells,) = maps.variables[0].files["cells"]
    assert dict(cells.kinds).keys() == {"n", "coverage_80"}  # the map opens on the coverage


def test_a_log_loss_that_is_infinite_somewhere_is_not_on_the_map(folder):
    with rasterio.open(folder / "classes/a1_p.tif", "r+") as p, rasterio.open(folder / "classes/a1.tif") as codes:
        layers, truth = p.read(), codes.read(1)
        row, column = np.argwhere(truth == 3)[-1]
        layers[:, row, column] = 0, 0.5, 0.5
        p.write(layers)
    maps, whole = maps_of(folder, CLASSES, "variables: [forest]\n" + QUIET)
    sums = maps.variables[0]

    assert np.isinf(gq.classes.log_loss(whole))
    shares = {f"share_bias_{name}" for name in ("open", "sparse", "dense")}
    assert {metric.name for metric in sums.metrics} == {"brier", "accuracy", "confidence", "overconfidence", *shares}
    assert mean_of(sums, "brier") == pytest.approx(float(gq.classes.brier(whole)), rel=1e-6)


def test_the_cells_of_quantiles_count_the_truth_below_each_quantile(folder):
    maps, whole = maps_of(folder, QUANTILES | TRUTH)
    columns = columns_of(maps.variables[0])

    for k, level in enumerate((0.1, 0.5, 0.9)):
        share = columns[f"at_most_{k}"].sum() / columns["n"].sum()
        assert share == pytest.approx(float(gq.quantiles.quantile_calibration(whole, level)), rel=1e-6)
        assert (columns[f"below_{k}"] <= columns[f"at_most_{k}"]).all()
        assert columns[f"at_most_{k}"].dtype.kind == "u"


def test_the_cells_of_classes_have_the_bins_of_each_class(folder):
    maps, whole = maps_of(folder, CLASSES, "variables: [forest]\n" + QUIET)
    columns = columns_of(maps.variables[0])
    _, probability, frequency = gq.classes.reliability(whole)

    assert maps.facts_of(0)["shares"] == {"classes": ["open", "sparse", "dense"], "of": 3, "bins": 10}
    for c in range(3):
        n, p, hit = (
            np.array([columns[f"class_{name}_{c}_{b}"].sum() for b in range(10)]) for name in ("n", "p", "hit")
        )
        np.testing.assert_allclose(p / n, probability[c], rtol=1e-5)
        np.testing.assert_allclose(hit / n, frequency[c], rtol=1e-6)


def test_two_bins_of_many_classes_are_joined_and_the_first_eight_classes_are_kept():
    form = Classes(tuple(range(1, 11)), tuple(f"class {k}" for k in range(10)))
    sums = FormSums(form, np.random.default_rng(0).random((4, form.width)))
    columns = share_columns([sums])
    by_class = sums.of("by_class")

    assert shares_of(form) == {"classes": [f"class {k}" for k in range(8)], "of": 10, "bins": 5}
    assert len(columns) == 8 * 5 * 3
    np.testing.assert_allclose(columns["class_hit_7_4"], by_class[:, 7, 8, HIT] + by_class[:, 7, 9, HIT])


def test_numbers_of_classes_stand_in_the_order_of_the_classes(folder):
    run(experiment_of(folder, CLASSES, "variables: [forest]\n" + QUIET), options(folder / "out"))

    page = (folder / "out" / "report" / "index.html").read_text("utf-8")

    columns = re.findall(r"<button[^>]*>predicted minus observed share of (\w+), in percentage points</button>", page)
    assert columns == ["open", "sparse", "dense"]
