"""Runs on GeoTIFFs of forecasts that are not normal: calibrated ones score calibrated."""

import json

import numpy as np
import pytest
import rasterio
from csv_rows import rows_of

from geouq.core.errors import ConfigError
from geouq.reading.stack import open_stack

SHAPE = (96, 128)
CONFIG = """\
version: 1
name: x
data: {{mean: "{{tile}}_m.tif", std: "{{tile}}_s.tif", truth: "{{tile}}_y.tif"}}
variables: {{v: {{{how}, units: m}}}}
"""
SCALED = """\
version: 1
name: x
data:
  mean: {path: "{tile}_m.tif", scale: 0.01}
  std: {path: "{tile}_s.tif", scale: 0.01}
  truth: "{tile}_y.tif"
variables: {v: {transform: log1p, units: m}}
"""


def lognormal(rng):
    mean, share = rng.uniform(5, 50, SHAPE), rng.uniform(0.1, 1, SHAPE)
    scale = np.sqrt(np.log1p(share**2))
    return mean, share * mean, mean * np.exp(scale * rng.standard_normal(SHAPE) - scale**2 / 2)


def truncated_normal(rng):
    mean, std = rng.uniform(-1, 4, SHAPE), rng.uniform(1, 3, SHAPE)
    truth = mean + std * rng.standard_normal(SHAPE)
    while (truth < 0).any():
        truth = np.where(truth < 0, mean + std * rng.standard_normal(SHAPE), truth)
    return mean, std, truth


def gamma(rng):
    mean, share = rng.uniform(5, 50, SHAPE), rng.uniform(0.1, 1, SHAPE)
    return mean, share * mean, rng.gamma(share**-2, mean * share**2)


def student_t(rng):
    mean, std = rng.uniform(5, 50, SHAPE), rng.uniform(1, 5, SHAPE)
    return mean, std, mean + std * np.sqrt(3 / 5) * rng.standard_t(5, SHAPE)


def transformed(back):
    def of(rng):
        mean, std = rng.uniform(0.5, 2, SHAPE), rng.uniform(0.2, 0.8, SHAPE)
        return mean, std, back(mean + std * rng.standard_normal(SHAPE))

    return of


FORECASTS = {
    "distribution: lognormal": lognormal,
    "distribution: truncated_normal": truncated_normal,
    "distribution: gamma": gamma,
    "distribution: student_t, degrees: 5": student_t,
    "transform: log": transformed(np.exp),
    "transform: log1p": transformed(np.expm1),
    "transform: sqrt": transformed(np.square),
}


@pytest.fixture(params=FORECASTS)
def how(request):
    return request.param


@pytest.fixture
def run(tmp_path, write_raster, geouq):
    """Run a configuration on two tiles of a forecast; the folder of its results."""

    def of(how, more="", forecast=None):
        for seed, tile in enumerate("ab"):
            for name, values in zip("msy", (forecast or FORECASTS[how])(np.random.default_rng(seed)), strict=True):
                write_raster(tmp_path / f"{tile}_{name}.tif", values.astype(np.float32))
        (tmp_path / "x.yaml").write_text(CONFIG.format(how=how) + more)
        done = geouq("run", "x.yaml", "--quiet")
        assert done.exit_code == 0, done.output
        return tmp_path / "results/x"

    return of


def numbers(folder):
    rows = rows_of(folder / "tables/metrics.csv")
    whole = (row for row in rows if row["level"] == "all" and not row["bins"] and not row["group"] and row["value"])
    return {row["metric"]: float(row["value"]) for row in whole}


def test_calibrated_forecasts_score_calibrated(how, run):
    found = numbers(run(how))

    for level in (50, 80, 90, 95):
        assert found[f"coverage_{level}"] == pytest.approx(level / 100, abs=0.01)
        assert found[f"coverage_above_{level}"] == pytest.approx((1 - level / 100) / 2, abs=0.006)
    assert found["pit_mean"] == pytest.approx(0.5, abs=0.006)
    assert found["pit_std"] == pytest.approx(1 / np.sqrt(12), abs=0.004)
    assert found["mace"] < 0.008
    assert found["zms"] == pytest.approx(1, abs=0.1)


def test_taken_as_normal_they_do_not(run):
    found = numbers(run("band: 1", forecast=lognormal))

    assert abs(found["coverage_50"] - 0.5) > 0.05


def test_maps_of_pixels_are_those_of_the_distribution(how, run):
    folder = run(how, "output: {maps: [cells, pit, crps, covered_90]}\n")

    found = numbers(folder)
    maps = {}
    for name in ("pit", "crps", "covered_90"):
        parts = []
        for tile in "ab":
            with rasterio.open(next((folder / "maps").glob(f"{tile}_{name}*.tif"))) as source:
                parts.append(source.read(1))
        maps[name] = np.stack(parts)
    assert maps["pit"].mean() == pytest.approx(found["pit_mean"], abs=1e-6)
    assert maps["crps"].mean() == pytest.approx(found["crps"], rel=1e-6)
    assert maps["covered_90"].mean() == pytest.approx(found["coverage_90"], abs=1e-9)


def test_zones_of_a_class_raster_are_scored_alike(run, tmp_path, write_raster):
    codes = np.ones(SHAPE, np.uint8)
    codes[:, 64:] = 2
    write_raster(tmp_path / "zones.tif", codes)

    folder = run("distribution: gamma", "regions: {cover: {classes: zones.tif, names: {1: west, 2: east}}, one: [a]}\n")

    rows = [
        row for row in rows_of(folder / "tables/metrics.csv") if row["metric"] in ("coverage_90", "width_90", "crps")
    ]
    found = {(row["name"], row["metric"]): float(row["value"]) for row in rows}
    for metric in ("coverage_90", "width_90", "crps"):
        halves = [found[name, metric] for name in ("west", "east")]
        assert np.mean(halves) == pytest.approx(found["all", metric], rel=1e-9)


def test_truth_that_cannot_be_has_an_infinite_log_score_that_is_left_out(run):
    def with_zero(rng):
        mean, std, truth = lognormal(rng)
        truth[0, 0] = 0
        return mean, std, truth

    folder = run("distribution: lognormal", forecast=with_zero)

    found, rows = numbers(folder), rows_of(folder / "tables/metrics.csv")
    assert "nll" not in found
    reasons = {row["metric"]: row["ci_method"] for row in rows if row["level"] == "all" and not row["value"]}
    assert reasons["nll"] == "a truth lies where the distribution has no density"
    assert reasons["ence_excess"] == "of normal forecasts alone"
    assert np.isfinite(found["crps"])
    assert found["coverage_90"] == pytest.approx(0.9, abs=0.01)


def test_predictions_without_a_distribution_do_not_count(run):
    def with_negative(rng):
        mean, std, truth = lognormal(rng)
        mean[:2] = -1
        return mean, std, truth

    folder = run("distribution: lognormal", forecast=with_negative)

    rows = rows_of(folder / "tables/excluded.csv")
    assert {(row["reason"], row["n"]) for row in rows} == {("not_a_distribution", str(2 * SHAPE[1]))}


def test_a_run_that_is_not_normal_is_not_recalibrated(run, geouq):
    run("distribution: lognormal")

    refused = geouq("recalibrate", "results/x")

    assert refused.exit_code == 2
    assert "v has a distribution or a transform" in refused.output


@pytest.fixture
def scaled(tmp_path, write_raster):
    """Integers of 100 log(1 + x) with nodata, as soil maps have them; the text of their configuration."""
    rng = np.random.default_rng(1)
    mean, std = rng.uniform(3.5, 5.5, SHAPE), rng.uniform(0.1, 0.4, SHAPE)
    truth = np.expm1(mean + std * rng.standard_normal(SHAPE))
    stored = [np.rint(100 * values).astype(np.int16) for values in (mean, std)]
    stored[0][3, 4] = -9999
    for name, values in zip("ms", stored, strict=True):
        write_raster(tmp_path / f"a_{name}.tif", values, nodata=-9999)
    write_raster(tmp_path / "a_y.tif", truth.astype(np.float32))
    return SCALED


def test_values_are_scaled_before_they_are_transformed_back(scaled, tmp_path, geouq):
    (tmp_path / "x.yaml").write_text(scaled)

    done = geouq("run", "x.yaml", "--quiet")

    assert done.exit_code == 0, done.output
    found, folder = numbers(tmp_path / "results/x"), tmp_path / "results/x/tables"
    assert found["coverage_90"] == pytest.approx(0.9, abs=0.015)
    assert found["rmse"] > 10  # on the scale of the truth
    assert [(row["reason"], row["n"]) for row in rows_of(folder / "excluded.csv")] == [("mean_nodata", "1")]


def test_what_mean_and_std_are_taken_as_is_told_but_no_warning(scaled, tmp_path, geouq):
    (tmp_path / "x.yaml").write_text(scaled)
    told = "v: mean and std are taken as those of a normal forecast of log1p of the variable"

    assert f"prediction {told}" in geouq("check", "x.yaml").output
    assert f"note: {told}" in geouq("run", "x.yaml").output

    outcome = json.loads((tmp_path / "results/x/results.json").read_text(encoding="utf-8"))
    assert told in outcome["notes"]
    assert told not in outcome["warnings"]


def test_a_unit_of_transformed_values_is_refused(scaled, tmp_path, geouq):
    (tmp_path / "x.yaml").write_text(scaled.replace("scale: 0.01", "scale: 0.01, units: cm"))

    refused = geouq("check", "x.yaml")

    assert "units 'cm' are of values with transform: log1p" in refused.output


def test_a_stack_of_forecasts_that_are_not_normal_is_refused(scaled, tmp_path):
    (tmp_path / "x.yaml").write_text(scaled)

    with pytest.raises(ConfigError, match="variable v has a distribution or a transform"):
        open_stack(tmp_path / "x.yaml")
