"""No pixel value ends a run: what overflows is missing with a reason, and every other number stays as it was."""

import csv
import json

import numpy as np
import pytest
from affine import Affine
from form_files import CLASSES, ENSEMBLES, QUANTILES, TRUTH, experiment_of, options, write_forms
from landscape import NORTH_UP, write_raster

import geouq

pytestmark = [pytest.mark.loses_items, pytest.mark.renders]

SHAPE = (64, 96)
HUGE = (1e160, -1e160, 1.7e308, -1.7e308, 1e39)
TINY = (1e-16, 1e-300, 5e-324, 1e-45, -0.0)
MAPS = "mean, std, error, abs_error, z, pit, nll, crps, status, covered_90, cells"
FIGURES = (
    "reliability, pit, cells, std, correlogram, sparsification, error_by_std, calibration, group_coverage, regions"
)


def layers_of(seed):
    """Mean, variance, truth and weights of a calibrated forecast, two bands each."""
    rng = np.random.default_rng(seed)
    field = np.add.outer(np.sin(np.linspace(0, 3, SHAPE[0])), np.cos(np.linspace(0, 3, SHAPE[1])))
    variance = np.exp(0.8 * field + 0.3 * rng.standard_normal((2, *SHAPE)))
    mean = 10 + 3 * field + np.zeros((2, 1, 1))
    truth = mean + np.sqrt(variance) * rng.standard_normal(variance.shape)
    return {"mean": mean, "variance": variance, "truth": truth, "weights": np.ones(SHAPE)}


def scattered(values, *, positive=False):
    """Change that puts each value in a pixel of its own."""

    def change(layer):
        for i, value in enumerate(values):
            layer[..., 3 * i + 1, 5] = abs(value) if positive else value

    return change


def filled(value):
    """Change that makes all pixels alike."""

    def change(layer):
        layer[...] = value

    return change


CASES = {
    "huge means": ("mean", scattered(HUGE)),
    "tiny means": ("mean", scattered(TINY)),
    "means of 1e160": ("mean", filled(1e160)),
    "huge variances": ("variance", scattered(HUGE, positive=True)),
    "tiny variances": ("variance", scattered(TINY, positive=True)),
    "one variance of 1e-16": ("variance", scattered([1e-16])),
    "variances of 1e308": ("variance", filled(1e308)),
    "variances of 1e-300": ("variance", filled(1e-300)),
    "huge truth": ("truth", scattered(HUGE)),
    "truth of 0": ("truth", filled(-0.0)),
    "huge weights": ("weights", scattered(HUGE, positive=True)),
    "tiny weights": ("weights", scattered(TINY, positive=True)),
    "weights of 1e308": ("weights", filled(1e308)),
    "weights of 1e-308": ("weights", filled(1e-308)),
}


def evaluate(folder, layer="", change=None, *, more="", weights=False, figures="none", scales=None):
    """Run two tiles, of which a change is made to the first band of a layer of the first; results by file."""
    for i, name in enumerate(("a1", "b1")):
        for key, bands in layers_of(i).items():
            if name == "a1" and key == layer:
                change(bands if key == "weights" else bands[0])
            place = {"transform": NORTH_UP @ Affine.translation(i * SHAPE[1], 0), "nodata": np.nan}
            own = scales if name == "a1" and key == layer else None
            write_raster(folder / f"{key}/{name}.tif", bands, scales=own, **place)
    layers = ["mean", "variance", "truth", *(["weights"] if weights else [])]
    config = folder / "extreme.yaml"
    config.write_text(
        "version: 1\nname: extreme\ndata:\n"
        + "".join(f"  {key}: '{key}/{{tile}}.tif'\n" for key in layers)
        + "variables: {A: {band: 1, thresholds: [10]}, B: {band: 2}}\nregions: {west: [a1], east: [b1]}\n"
        f"cell_size: 16\nordering: true\nintervals: {{resamples: 100}}\n{more}"
        f"output: {{maps: [{MAPS}], figures: {figures}, region_figures: {figures}}}\n",
        encoding="utf-8",
    )
    return geouq.run(config, options(folder / "out"))


def numbers_of(results, *, of):
    """Rows of the metrics of some places, by all that names them."""
    key = ("level", "name", "variable", "metric", "bins", "group")
    return {
        tuple(row[column] for column in key): row
        for row in results.tables["metrics"].rows
        if row["variable"] == "B" or row["name"] in of
    }


def outcome_of(results):
    """results.json, which is strict JSON."""

    def refused(constant):
        raise AssertionError(constant)

    return json.loads((results.folder / "results.json").read_text(encoding="utf-8"), parse_constant=refused)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The same two tiles without and with weights, as they are."""
    return {
        weights: evaluate(tmp_path_factory.mktemp("plain"), weights=weights, figures="none")
        for weights in (False, True)
    }


@pytest.mark.parametrize("case", CASES)
def test_extreme_pixels_cost_their_own_numbers_alone(case, tmp_path, plain):
    layer, change = CASES[case]
    weights = layer == "weights"
    found = evaluate(tmp_path, layer, change, weights=weights)

    assert not [failure for failure in found.failures if failure.tile]
    assert not [str(failure) for failure in found.failures]
    assert outcome_of(found)["tiles"] == 2
    untouched = ["b1", "east"]
    expected = numbers_of(plain[weights], of=untouched)
    kept = numbers_of(found, of=untouched)
    if weights:  # both variables have the same weights
        expected, kept = ({k: r for k, r in rows.items() if k[1] in untouched} for rows in (expected, kept))
    assert kept == expected
    for row in found.tables["metrics"].rows:
        if row["value"] is None and row["level"] != "tile":
            assert row["ci_method"]


def halves(layer):
    """Give every second column a huge weight."""
    layer[:, ::2] = 1e308


def scaled(power):
    """Change that multiplies all weights by a power of two, which changes no number."""
    return filled(2.0**power)


def tile_numbers(results):
    """Values and reasons of a tile, by metric, bins and group."""
    rows = [row for row in results.tables["metrics"].rows if (row["name"], row["variable"]) == ("west", "A")]
    return {(row["metric"], row["bins"], row["group"]): (row["value"], row["ci_method"]) for row in rows}


@pytest.mark.parametrize("change", [filled(1e308), halves], ids=["all", "some"])
def test_weights_whose_sum_overflows_leave_no_number_but_a_reason(change, tmp_path):
    found = evaluate(tmp_path, "weights", change, weights=True, figures=f"[{FIGURES}]")

    assert set(tile_numbers(found).values()) == {(None, "overflow")}
    assert {failure.stage for failure in found.failures} == {"figures"}
    assert {failure.message for failure in found.failures} == {
        "the weights add up to more than the largest float; divide them by a constant"
    }
    figures = found.folder / "figures"
    drawn = {path.relative_to(figures).as_posix() for path in figures.rglob("*.png")}
    assert {"east/A_pit.png", "east/A_reliability.png", "all/A_regions.png"} <= drawn


@pytest.mark.parametrize("power", [600, 1000, -600, -1000])
def test_weights_times_a_power_of_two_give_the_same_numbers_or_a_reason(power, tmp_path, plain):
    """Squares of weights, of which the null of ENCE is made, may leave the range of floats."""
    expected, found = (
        tile_numbers(plain[True]),
        tile_numbers(evaluate(tmp_path, "weights", scaled(power), weights=True)),
    )

    assert found.keys() == expected.keys()
    for key, (value, reason) in found.items():
        if value is None and expected[key][0] is not None:
            assert reason == "overflow"
            assert key[0] in {"ence_null", "ence_excess"}
        else:
            assert value == pytest.approx(expected[key][0], rel=1e-12), key


def test_values_that_become_infinite_by_their_scale_do_not_count(tmp_path, plain):
    found = evaluate(tmp_path, "mean", scattered([1e10]), scales=[1e300, 1])

    reasons = {(row["tile"], row["variable"], row["reason"]): row["n"] for row in found.tables["excluded"].rows}
    assert reasons["a1", "A", "not_finite"] >= 1
    assert numbers_of(found, of=["b1"]) == numbers_of(plain[False], of=["b1"])


@pytest.mark.parametrize("case", ["huge means", "variances of 1e308", "tiny variances"])
def test_figures_and_pages_of_extreme_pixels_cost_themselves_at_most(case, tmp_path):
    found = evaluate(tmp_path, *CASES[case], figures=f"[{FIGURES}]")

    assert {failure.stage for failure in found.failures} <= {"figures"}
    assert (found.folder / "report" / "index.html").is_file()
    assert (found.folder / "figures" / "all" / "B_reliability.png").is_file()
    with (found.folder / "tables" / "failures.csv").open(encoding="utf-8", newline="") as file:
        assert [row["item"] for row in csv.DictReader(file)] == [failure.item for failure in found.failures]


FORMS = {
    "members": (ENSEMBLES["by variable"] | TRUTH, "by_variable", HUGE + TINY),
    "member variances": (ENSEMBLES["by variable"] | TRUTH, "variances", tuple(map(abs, HUGE + TINY[:-1]))),
    "quantiles": (QUANTILES | TRUTH, "quantiles", HUGE + TINY),
    "classes": (CLASSES, "classes", TINY),
}


@pytest.mark.parametrize("form", FORMS)
def test_extreme_pixels_of_other_forms_cost_their_own_numbers_alone(form, tmp_path):
    data, folder, values = FORMS[form]

    def written(path, bands, **header):
        bands = bands.astype(np.float64) if bands.dtype == np.float32 else bands
        if folder in path.parts and "a1" in path.name and bands.dtype == np.float64:
            for i, value in enumerate(values):
                bands[0, 3 * i + 1, 5] = value
        return write_raster(path, bands, **header)

    write_forms(tmp_path, written)
    text = "regions: {west: [a1], east: [a2]}\nintervals: {resamples: 100}\noutput: {maps: [cells], figures: none}\n"
    found = geouq.run(experiment_of(tmp_path, data, text), options(tmp_path / "out"))

    assert not [str(failure) for failure in found.failures]
    east = [row for row in outcome_of(found)["numbers"] if row["name"] == "east" and row["metric"] != "nbias"]
    assert east
    assert all(row["value"] is not None or row["ci_method"] for row in east)
