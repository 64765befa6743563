"""A run with a known error of the truth gives means of areas without it, and says how much of z^2 it was."""

import json
import subprocess
import sys

import numpy as np
import pytest
import rasterio
from area_maps import CLASSES, TILES, write
from csv_rows import rows_of
from landscape import write_raster

import geouq
from geouq.aggregates.overstated import REASON
from geouq.pipeline.data import Options


def with_errors(folder, text="", stated=1.0):
    """Add errors to the truth, whose std is known; stated : the factor by which it is given."""
    config = write(folder, CLASSES)
    rng = np.random.default_rng(7)
    for name in TILES:
        with rasterio.open(folder / "truth" / f"{name}.tif") as source:
            truth, place = source.read(1), source.transform
        noise = rng.uniform(0.5, 4, truth.shape).astype(np.float32)
        truth = (truth + noise * rng.standard_normal(truth.shape)).astype(np.float32)
        for layer, values in (("truth", truth), ("noise", stated * noise)):
            write_raster(folder / layer / f"{name}.tif", values[np.newaxis], crs="EPSG:32633", transform=place)
    said = config.read_text(encoding="utf-8").replace("variables:", "  truth_std: noise/{tile}.tif\nvariables:")
    config.write_text(said + text, encoding="utf-8")
    return config


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("measured")


@pytest.fixture(scope="module")
def results(folder):
    return geouq.run(with_errors(folder), Options(out=folder / "out"))


def pixels(folder, tiles=TILES, chosen=None):
    """Mean, std, std of the truth's error and measured error of the valid pixels of some tiles."""
    found = []
    for name in tiles:
        mean, std, truth, noise, classes = (
            rasterio.open(folder / layer / f"{name}.tif").read(1).astype(float)
            for layer in ("mean", "std", "truth", "noise", "classes")
        )
        valid = np.isfinite(truth) & ((classes == chosen) if chosen else True)
        found.append(np.stack([mean, std, noise, mean - truth])[:, valid])
    return np.concatenate(found, axis=1)


@pytest.mark.parametrize(
    ("region", "chosen"), [("all", {}), ("west", {"tiles": ("a1", "b1")}), ("forest", {"chosen": 1})]
)
def test_the_std_of_a_mean_is_that_of_the_prediction_alone(folder, results, region, chosen):
    areas = results.frames["areas"]
    (row,) = areas[areas.name == region].itertuples()
    mean, std, _, error = pixels(folder, **chosen)

    assert row.mean == pytest.approx(mean.mean(), rel=1e-12)
    assert row.mean_error == pytest.approx(error.mean(), rel=1e-9)
    assert row.std_independent == pytest.approx(np.sqrt((std**2).sum()) / len(std), rel=1e-9)
    assert row.std_full == pytest.approx(std.mean(), rel=1e-9)


def test_what_was_removed_is_in_the_table_and_in_the_json(folder, results):
    _, std, noise, error = pixels(folder)
    own, total = std**2, std**2 + noise**2
    removed = (own * noise**2 / total**2).sum() / (error**2 * own / total**2).sum()
    zms = ((error**2 * own - own * noise**2) / total**2).sum() / (own**2 / total**2).sum()

    frame = results.frames["error_correlation"].set_index("parameter")
    models = json.loads((results.folder / "tables/error_correlation.json").read_text(encoding="utf-8"))
    assert frame.value["truth_share"] == pytest.approx(removed, rel=1e-9)
    assert frame.ci_low["truth_share"] < removed < frame.ci_high["truth_share"]
    assert frame.value["zms"] == models["height"]["zms"] == pytest.approx(zms, rel=1e-9)
    assert models["height"]["truth_error_share_removed"] == pytest.approx(removed, rel=1e-9)


def test_another_process_draws_figures_from_the_summaries(results):
    command = [sys.executable, "-m", "geouq", "figures", str(results.folder), "--only", "error_correlation"]

    subprocess.run(command, check=True, capture_output=True)

    assert (results.folder / "figures/all/height_error_correlation.png").is_file()


def test_means_of_blocks_are_judged_with_the_error_of_the_measured_truth(folder, results):
    frame = results.frames["aggregates"]
    tiles = frame[(frame.kind == "tile")].set_index("metric").value
    each = [pixels(folder, (name,)) for name in TILES]
    squares = [error.sum() ** 2 / (std**2 + noise**2).sum() for _, std, noise, error in each]

    assert tiles["aggregate_zms_independent"] == pytest.approx(np.mean(squares), rel=1e-9)


def test_the_nugget_is_that_of_the_map_whose_truth_has_no_error(results, tmp_path):
    exact = geouq.run(write(tmp_path, CLASSES), Options(out=tmp_path / "out"))

    found, expected = (own.frames["error_correlation"].set_index("parameter") for own in (results, exact))
    assert "truth_share" not in expected.index
    assert found.value["within_cell"] == pytest.approx(expected.value["within_cell"], abs=0.06)
    assert found.ci_low["nugget"] <= expected.value["nugget"] <= found.ci_high["nugget"]
    for region in ("all", "west", "forest"):
        with_error, without = (own.frames["areas"].set_index("name")["std"][region] for own in (results, exact))
        assert with_error == pytest.approx(without, rel=0.15)


def test_a_truth_as_uncertain_as_the_errors_leaves_no_interval_and_says_why(tmp_path):
    config = write(tmp_path, "")
    text = config.read_text(encoding="utf-8").replace("units: Mg/ha", "units: Mg/ha, truth_variance: 400")
    config.write_text(text, encoding="utf-8")

    areas = geouq.run(config, Options(out=tmp_path / "out")).frames["areas"]

    assert areas.ci_low.isna().all()
    assert set(areas.ci_method) == {
        "the truth's own error is as large as all errors, so that those of the map are not known"
    }


def test_any_number_of_workers_gives_the_same_bytes(folder, results, tmp_path):
    geouq.run(folder / "experiment.yaml", Options(out=tmp_path / "one", workers=1))

    for name in ("areas", "aggregates", "error_correlation"):
        one, other = (rows_of(own / "tables" / f"{name}.csv") for own in (results.folder, tmp_path / "one"))
        assert one == other, name


def test_an_error_of_the_truth_that_is_stated_too_large_is_a_warning_and_in_the_table(tmp_path):
    found = geouq.run(with_errors(tmp_path, stated=2.5), Options(out=tmp_path / "out"))

    (warning,) = (own for own in found.warnings if "stated error of the truth" in own)
    assert warning.startswith("height: the stated error of the truth, a std of ")
    assert "Mg/ha, is too large. It is " in warning
    assert "Check its unit, whether a std or a variance is given, and" in warning
    rows = {row["parameter"]: row for row in rows_of(found.folder / "tables/error_correlation.csv")}
    assert rows["truth_share"]["ci_method"] == REASON
    assert rows["truth_share"]["ci_low"] == ""
    page = (found.folder / "report/index.html").read_text(encoding="utf-8")
    assert "height: the stated error of the truth, a std of" in page
    assert "That is too much: the stated error of the truth is larger than the errors" in page


def test_an_error_of_the_truth_that_is_right_is_no_warning(results):
    assert not [own for own in results.warnings if "stated error" in own]
