"""The input checks on files: each fault gives its finding, and right input gives none."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from affine import Affine
from correlated import gaussian_field
from landscape import NORTH_UP, SHORT

from geouq.checks import DEEP, examine, placement
from geouq.config import load_experiment
from geouq.rasters.catalog import find_tiles
from geouq.runs.provenance import CHECKSUM, load_record

SIDE = 288
REPOSITORY = Path(__file__).parents[2]
SHARED = REPOSITORY.parent / "shared" / "data"


@dataclass(frozen=True)
class Maps:
    """Mean, variance and truth (variables, rows, columns) of each tile, and where these lie in the row of tiles."""

    mean: np.ndarray
    variance: np.ndarray
    truth: np.ndarray
    columns: tuple[int, ...]


@pytest.fixture(scope="module")
def clean():
    """Two tiles of two variables that vary over some pixels, forecast well."""
    rng = np.random.default_rng(3)
    field = np.array([[gaussian_field(rng, SIDE, 6) for _ in range(2)] for _ in range(2)])
    mean = np.array([20.0, 60.0])[:, None, None] + np.array([5.0, 12.0])[:, None, None] * field
    variance = np.exp(1.5 + 0.4 * rng.standard_normal(mean.shape))
    truth = mean + np.sqrt(variance) * rng.standard_normal(mean.shape)
    return Maps(mean, variance, truth, (0, SIDE))


@pytest.fixture
def findings(tmp_path, write_raster):
    """Write maps and examine them."""

    def found(maps, text="", spread="variance"):
        for i, column in enumerate(maps.columns):
            where = {"transform": NORTH_UP @ Affine.translation(column, 0), "names": ["height", "cover"]}
            for layer in ("mean", "variance", "truth"):
                write_raster(tmp_path / f"t{i}_{layer}.tif", getattr(maps, layer)[i].astype(np.float32), **where)
        config = tmp_path / "experiment.yaml"
        config.write_text(
            "version: 1\nname: questioned\n"
            f"data: {{mean: '{{tile}}_mean.tif', {spread}: '{{tile}}_variance.tif', truth: '{{tile}}_truth.tif'}}\n"
            f"{text}",
            encoding="utf-8",
        )
        experiment = load_experiment(config)
        return examine(experiment, find_tiles(experiment), DEEP)

    return found


def kinds(findings):
    return [(finding.kind, finding.about) for finding in findings]


def moved_by(finding):
    """Rows and columns of a shift, as it is told."""
    return tuple(map(float, re.search(r"moved by (\S+) rows and (\S+) columns", finding.evidence).groups()))


def test_clean_data_have_no_finding(clean, findings):
    assert findings(clean) == []


def test_a_std_given_as_variance_is_told_and_the_right_key_is_named(clean, findings):
    large = replace(clean, variance=np.sqrt(9 * clean.variance), truth=clean.mean + 3 * (clean.truth - clean.mean))

    found = findings(large)

    assert kinds(found) == [("std stored as variance", "height"), ("std stored as variance", "cover")]
    assert "write `std:` in the place of `variance:`" in found[0].remedy


def test_a_variance_given_as_std_is_told(clean, findings):
    found = findings(clean, spread="std")

    assert kinds(found) == [("variance stored as std", "height"), ("variance stored as std", "cover")]


@pytest.mark.parametrize("factor", [0.5, 1.5])
def test_an_uncertainty_that_is_merely_wrong_by_a_half_is_no_mistaken_reading(clean, findings, factor):
    assert findings(replace(clean, variance=clean.variance * factor**2)) == []


@pytest.mark.parametrize("power", [-3, -2, -1, 1, 2, 3])
def test_units_that_differ_by_a_power_of_ten_are_told(clean, findings, power):
    truth = clean.truth.copy()
    truth[:, 0] *= 10.0**power

    found = [one for one in findings(replace(clean, truth=truth)) if one.kind == "different units"]

    assert kinds(found) == [("different units", "height")]
    assert f"{10 ** abs(power)} times" in found[0].evidence


@pytest.mark.parametrize(("down", "across"), [(2, 0), (0, -1), (1, 1)])
def test_a_shift_by_whole_pixels_is_told_in_rows_and_columns(clean, findings, down, across):
    moved = replace(clean, mean=np.roll(clean.mean, (-down, -across), (-2, -1)))

    found = [one for one in findings(moved) if one.kind == "shifted pixels"]
    assert kinds(found) == [("shifted pixels", "height"), ("shifted pixels", "cover")]
    assert moved_by(found[0]) == pytest.approx((down, across), abs=0.3)


def test_a_shift_by_half_a_pixel_is_told(clean, findings):
    found = findings(replace(clean, mean=(clean.mean + np.roll(clean.mean, 1, -2)) / 2))

    assert kinds(found) == [("shifted pixels", "height"), ("shifted pixels", "cover")]
    assert moved_by(found[0]) == pytest.approx((-0.5, 0), abs=0.15)


@pytest.mark.parametrize(
    ("flip", "word"),
    [
        (lambda values: values[..., ::-1, :], "upside down"),
        (lambda values: values[..., ::-1], "left to right"),
        (lambda values: values[..., ::-1, ::-1], "half a turn"),
        (lambda values: values.swapaxes(-1, -2), "rows for columns"),
    ],
)
def test_flipped_axes_are_told_with_the_way_they_are_flipped(clean, findings, flip, word):
    found = findings(replace(clean, mean=flip(clean.mean)))

    assert kinds(found) == [("flipped axes", "height"), ("flipped axes", "cover")]
    assert word in found[0].evidence


def test_correlations_of_moved_maps_with_gaps_are_those_of_the_pixels_that_both_have():
    rng = np.random.default_rng(5)
    one, other = rng.standard_normal((2, 40, 50)) + 7
    one[rng.random(one.shape) < 0.3] = np.nan
    other[:, :9] = np.nan

    found = placement.correlations(placement.moments(one, other))

    for down, across in ((0, 0), (3, -4), (-2, 1)):
        lower, right = max(0, down), max(0, across)
        ours = one[max(0, -down) : 40 - lower, max(0, -across) : 50 - right]
        theirs = other[lower : 40 + min(0, down), right : 50 + min(0, across)]
        assert found[down + 4, across + 4] == pytest.approx(placement.correlation(ours, theirs), abs=1e-9)


def test_a_constant_variance_is_told(clean, findings):
    variance = clean.variance.copy()
    variance[:, 1] = 20.25

    assert kinds(findings(replace(clean, variance=variance))) == [("constant variance", "cover")]


def test_a_variance_of_few_values_is_told(clean, findings):
    variance = clean.variance.copy()
    variance[:, 1] = np.clip(np.round(variance[:, 1] / 4), 1, 4) * 4

    assert kinds(findings(replace(clean, variance=variance))) == [("few distinct variances", "cover")]


@pytest.mark.parametrize(("layer", "fill"), [("truth", -9999), ("mean", 65535), ("truth", -32768)])
def test_nodata_that_the_file_does_not_declare_is_told_with_its_value(clean, findings, layer, fill):
    values = getattr(clean, layer).copy()
    values[:, 0, :40] = fill

    found = [one for one in findings(replace(clean, **{layer: values})) if one.kind == "undeclared nodata"]

    assert kinds(found) == [("undeclared nodata", "height")]
    assert f"of the {layer} is {fill}" in found[0].evidence


def test_zeros_that_are_values_are_no_undeclared_nodata(clean, findings):
    cut = {"truth": np.maximum(clean.truth - 20, 0), "mean": np.maximum(clean.mean - 20, 0)}

    assert findings(replace(clean, **cut)) == []


def test_a_truth_that_is_the_prediction_is_told(clean, findings):
    truth = clean.truth.copy()
    truth[:, 1, :80] = clean.mean[:, 1, :80]

    found = [one for one in findings(replace(clean, truth=truth)) if one.kind.startswith("truth equal")]

    assert kinds(found) == [("truth equal to the prediction", "cover")]


def test_tiles_that_lie_on_each_other_are_told_with_their_names(clean, findings):
    found = findings(replace(clean, columns=(0, SIDE - 10)))

    assert kinds(found) == [("overlapping tiles", "tiles")]
    assert "t0 and t1 (2880 pixels)" in found[0].evidence


def test_years_of_one_place_are_no_overlap_but_the_same_truth_twice_is(clean, findings):
    one_place = replace(clean, columns=(0, 0))
    assert findings(one_place) == []

    found = findings(replace(one_place, truth=clean.truth[[0, 0]], mean=clean.mean[[0, 0]]))
    assert kinds(found) == [("overlapping tiles", "tiles")]


def test_tiles_that_the_model_was_trained_on_are_told(clean, findings):
    found = findings(clean, "training_tiles: [t1, elsewhere]\n")

    assert kinds(found) == [("training tiles", "tiles")]
    assert "1 of 2 tiles" in found[0].evidence


def test_bands_in_another_order_than_named_are_told(clean, findings):
    found = findings(replace(clean, mean=clean.mean[:, ::-1], variance=clean.variance[:, ::-1]))

    order = [one for one in found if one.kind == "bands in another order"]
    assert [one.about for one in order] == ["height, cover"]


def test_the_sample_data_have_no_finding():
    experiment = load_experiment(REPOSITORY / "configs" / "samples.yaml")

    assert examine(experiment, find_tiles(experiment), DEEP) == []


# the biomass of the Amazon lies half a row off its predictors: in each tile the correlation of mean and truth without
# their trends is largest at a shift of -0.3 to -0.9 rows; that of the other variables is largest at 0 to 0.5
REAL = {"amazon_agb": ["AGB: shifted pixels"], "seas5_tas": []}


@pytest.mark.skipif(not SHARED.is_dir(), reason="real rasters are not here")
@pytest.mark.parametrize("folder", REAL)
def test_real_maps_raise_what_is_known_of_them(folder, tmp_path):
    config = tmp_path / "real.yaml"
    data = {layer: f"{SHARED}/{folder}/predictions/{{tile}}_{layer}.tif" for layer in ("mean", "variance")}
    config.write_text(f"version: 1\nname: real\ndata: {data | {'truth': f'{SHARED}/{folder}/truth/{{tile}}.tif'}}\n")
    experiment = load_experiment(config)

    found = [f"{one.about}: {one.kind}" for one in examine(experiment, find_tiles(experiment), DEEP)]

    assert found == REAL[folder]


def test_check_deep_prints_findings_and_a_run_warns_and_remembers(clean, findings, geouq, tmp_path):
    findings(replace(clean, columns=(0, SIDE - 10)))

    deep = geouq("check", "experiment.yaml", "--deep")
    assert deep.exit_code == 0
    assert "finding    tiles: overlapping tiles: 1 pairs" in deep.output

    first, second = geouq("run", "experiment.yaml", "--quiet"), geouq("run", "experiment.yaml", "--quiet")
    assert first.exit_code == second.exit_code == 0
    for result in (first, second):
        assert "warning: tiles: overlapping tiles" in result.output
    folder = tmp_path / "results" / "questioned"
    assert not (folder / "tables" / "failures.csv").read_text().count("t0")
    (warning,) = json.loads((folder / "results.json").read_text())["warnings"]
    assert warning.startswith("tiles: overlapping tiles: 1 pairs")
    page = (folder / "report" / "index.html").read_text()
    assert page.index("overlapping tiles") < page.index('id="verdict"')


def test_a_run_keeps_its_findings_and_those_of_files_that_call_them_doubts(clean, findings, geouq, tmp_path):
    findings(replace(clean, columns=(0, SIDE - 10)), SHORT)
    assert geouq("run", "experiment.yaml", "--quiet").exit_code == 0
    file = tmp_path / "results" / "questioned" / "run.json"

    now = json.loads(file.read_text())
    assert [one.split(":")[:2] for one in now["findings"]] == [["tiles", " overlapping tiles"]]

    earlier = {{"findings": "doubts"}.get(key, key): value for key, value in now.items() if key != CHECKSUM}
    file.write_text(json.dumps(earlier))
    assert list(load_record(file.parent).findings) == now["findings"]


def test_strict_commands_end_with_their_own_exit_code_if_there_is_a_finding(clean, findings, geouq):
    findings(replace(clean, columns=(0, SIDE - 10)), SHORT)

    assert geouq("check", "experiment.yaml").exit_code == 0
    assert geouq("check", "experiment.yaml", "--strict").exit_code == 5
    assert geouq("run", "experiment.yaml", "--quiet", "--strict").exit_code == 5
    assert geouq("run", "experiment.yaml", "--quiet", "--strict").exit_code == 5  # no tile waits
    assert geouq("run", "experiment.yaml", "--quiet").exit_code == 0


def test_strict_commands_end_with_0_without_findings_and_a_gate_comes_first(clean, findings, geouq):
    findings(clean, SHORT)
    assert geouq("check", "experiment.yaml", "--strict").exit_code == 0
    assert geouq("run", "experiment.yaml", "--quiet", "--strict").exit_code == 0

    findings(replace(clean, columns=(0, SIDE - 10)), f"{SHORT}gates: [{{metric: rmse, variable: height, max: 0.1}}]\n")
    assert geouq("run", "experiment.yaml", "--quiet", "--strict").exit_code == 1
