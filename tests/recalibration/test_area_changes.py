"""A recalibration shows what it does to means of areas, and how errors of the corrected map are correlated."""

import csv
import json

import pytest
import rasterio
from area_maps import TILES, write

import geouq
from geouq.config import Recalibration
from geouq.pipeline.aggregate import aggregate
from geouq.pipeline.data import Options


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def overconfident(folder, text="", **more):
    """Run an evaluation of a map with correlated errors, whose predicted stds are half of what they should be."""
    config = write(folder, f"levels: [0.5, 0.9]\nintervals: {{resamples: 100}}\n{text}", gaps=0, **more)
    for name in TILES:
        with rasterio.open(folder / "std" / f"{name}.tif", "r+") as std:
            std.write(std.read() / 2)
    geouq.run(config, Options(out=folder / "run"))
    return folder / "run"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the folder of a run that is recalibrated by a factor, with its rasters."""
    folder = overconfident(tmp_path_factory.mktemp("recalibrated"), thresholds="[100]")
    geouq.recalibrate(folder, Recalibration(method="scale", apply=("all",)))
    return folder


def numbers(run, when, metric, threshold=""):
    rows = rows_of(run / "recalibration/aggregates.csv")
    own = (row for row in rows if row["metric"] == metric and row["when"] == when and row["threshold"] == threshold)
    return [float(row["value"]) for row in own if row["value"]]


def test_the_factor_of_means_of_every_size_is_one_after_the_stds_are_corrected(run):
    before, after = (numbers(run, when, "aggregate_factor") for when in ("before", "after"))

    assert len(before) == len(after) >= 4
    assert [own / of for own, of in zip(before, after, strict=True)] == pytest.approx([2] * len(before), rel=0.05)
    assert after[0] == pytest.approx(1, abs=0.15)


def test_numbers_before_are_those_of_the_run(run):
    rows = rows_of(run / "tables/aggregates.csv")

    for threshold in ("", "100.0"):
        assert numbers(run, "before", "aggregate_coverage_fitted_90", threshold) == [
            float(row["value"])
            for row in rows
            if (row["metric"], row["threshold"]) == ("aggregate_coverage_fitted_90", threshold) and row["value"]
        ]
    assert {row["judged"] for row in rows_of(run / "recalibration/aggregates.csv")} == {"k-fold"}


def test_the_factor_is_the_root_of_the_mean_square(run):
    for name in ("tables", "recalibration"):
        rows = rows_of(run / name / "aggregates.csv")
        factors = [row for row in rows if row["metric"] == "aggregate_factor"]
        squares = [row for row in rows if row["metric"] == "aggregate_zms_fitted"]
        for column in ("value", "ci_low", "ci_high"):
            pairs = zip(factors, squares, strict=True)
            assert all(float(f[column]) ** 2 == pytest.approx(float(z[column])) for f, z in pairs if z[column])


def test_the_correlation_of_the_corrected_errors_has_their_size(run):
    before, after = (
        json.loads((run / name / "error_correlation.json").read_text(encoding="utf-8"))["height"]
        for name in ("tables", "recalibration")
    )

    assert before["zms"] == pytest.approx(4, rel=0.1)
    assert after["zms"] == pytest.approx(1, rel=0.1)
    assert after["within_cell"] == pytest.approx(before["within_cell"], abs=0.02)


def test_totals_of_the_corrected_rasters_have_the_std_of_the_corrected_map(run, tmp_path):
    area, share = rows_of(run / "tables/areas.csv")
    totals = aggregate(
        run / "recalibration/evaluate.yaml", correlation=run / "recalibration", options=Options(out=tmp_path)
    )

    row, above = totals.areas.rows
    assert row["mean"] == pytest.approx(float(area["mean"]), rel=1e-6)
    assert row["std_independent"] == pytest.approx(2 * float(area["std_independent"]), rel=0.02)
    assert row["std"] == pytest.approx(float(area["std"]), rel=0.1)  # that before holds the factor already
    assert above["threshold"] == float(share["threshold"]) == 100
    assert above["ci_low"] < above["mean"] - above["std"] < above["mean"] < above["ci_high"]


def test_areas_above_a_threshold_are_calibrated_after_the_stds_are_corrected(run):
    squares = [numbers(run, when, "aggregate_zms_independent", "100.0") for when in ("before", "after")]
    before, after = (
        json.loads((run / name / "error_correlation.json").read_text(encoding="utf-8"))["height > 100"]["zms"]
        for name in ("tables", "recalibration")
    )

    assert len(squares[0]) == len(squares[1]) >= 3
    assert before > 1.5
    assert after == pytest.approx(1, abs=0.1)


def test_without_aggregates_nothing_is_said_of_means(tmp_path):
    folder = overconfident(tmp_path, "aggregates: none\n")
    found = geouq.recalibrate(folder, Recalibration(method="scale"))

    assert not {"aggregates.csv", "error_correlation.json"} & {
        path.name for path in (folder / "recalibration").iterdir()
    }
    assert not any("means" in note for note in found.notes)


def test_intervals_without_a_variance_give_means_no_std(run, tmp_path):
    found = geouq.recalibrate(run, Recalibration(method="conformal"), out=tmp_path)

    assert "height: conformal gives no variance, so that means of areas have no std" in found.notes
    assert not (tmp_path / "error_correlation.json").exists()
