"""What stands beside mean, variance and truth: given intervals, the truth's own error, rasters to group by."""

import csv

import numpy as np
import pytest
from alike import same
from forecasts import heteroscedastic

from geouq import metrics
from geouq.config import load_experiment
from geouq.core.gaussian import half_width
from geouq.rasters.catalog import find_tiles
from geouq.reading.stack import open_stack
from geouq.runs.plan import settings_for
from geouq.runs.store import path_of_tile
from geouq.summary.interval_scores import GivenLevel
from geouq.summary.tile_file import save_tile
from geouq.summary.tiles_file import load_tile

SHAPE = (300, 290)


@pytest.fixture
def one_tile(tmp_path, write_raster):
    """A configuration of one tile and one variable: its layers by key as arrays, and the rest of `data` as text."""

    def make(layers, text="", **profile):
        lines = []
        for layer, values in layers.items():
            key, _, name = layer.partition(".")
            write_raster(
                tmp_path / f"t_{name or key}.tif",
                values,
                **profile.get(layer, {"nodata": np.nan} if values.dtype.kind == "f" else {}),
            )
            lines.append(
                f"  {key}: {{{name}: '{{tile}}_{name}.tif'}}\n" if name else f"  {key}: '{{tile}}_{key}.tif'\n"
            )
        config = tmp_path / "one.yaml"
        config.write_text(f"version: 1\nname: one\ntiles: [t]\ndata:\n{''.join(lines)}{text}\n")
        return config

    return make


@pytest.fixture
def swept(sweep_one):
    """The one variable of the one tile of a configuration, swept with what that asks for."""

    def sweep(config):
        experiment = load_experiment(config)
        settings = settings_for(experiment, find_tiles(experiment))
        kept = {"groups": settings.groups, "classes": settings.classes}
        outcome = sweep_one(experiment, negative=settings.negative, **kept)["t"]
        if not hasattr(outcome, "variables"):
            return outcome
        (part,) = outcome.variables.values()
        return part

    return sweep


def forecast(seed=1):
    """Mean, variance and truth; where all three are valid, and the same in float64."""
    layers = dict(zip(("mean", "variance", "truth"), heteroscedastic(SHAPE, seed), strict=True))
    exact = [values.astype(np.float64) for values in layers.values()]
    return layers, np.isfinite(sum(exact)), exact


def rows_of(folder, table, **wanted):
    with (folder / "tables" / f"{table}.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if all(row[key] == value for key, value in wanted.items())]


# intervals


def lopsided(level=0.9):
    """An interval about the mean that reaches twice as far above it as below."""
    layers, valid, (mean, variance, _) = forecast()
    reach = half_width(level) * np.sqrt(variance)
    ends = (mean - reach * 0.7).astype(np.float32), (mean + reach * 1.4).astype(np.float32)
    return {"mean": layers["mean"], "lower": ends[0], "upper": ends[1], "truth": layers["truth"]}, valid


def test_a_given_interval_is_judged_as_it_was_given(one_tile, swept):
    layers, valid = lopsided()
    part = swept(one_tile(layers, "  level: 0.9"))
    low, high, truth = (layers[name][valid].astype(np.float64) for name in ("lower", "upper", "truth"))
    below, above = np.maximum(low - truth, 0), np.maximum(truth - high, 0)

    for of in (part.whole, part.cells.summary().total()):
        assert of.n == valid.sum()
        assert metrics.coverage(of, 0.9) == pytest.approx(((low <= truth) & (truth <= high)).mean(), abs=1e-15)
        assert metrics.coverage_below(of, 0.9) == pytest.approx((below > 0).mean(), abs=1e-15)
        assert metrics.coverage_above(of, 0.9) == pytest.approx((above > 0).mean(), abs=1e-15)
        assert metrics.width(of, 0.9) == pytest.approx((high - low).mean(), rel=1e-13)
        assert metrics.interval_score(of, 0.9) == pytest.approx((high - low + 20 * (below + above)).mean(), rel=1e-13)


def test_truth_at_the_end_of_a_given_interval_lies_inside(one_tile, swept):
    ends = np.arange(SHAPE[0] * SHAPE[1], dtype=np.float32).reshape(SHAPE) * np.float32(0.1)
    part = swept(one_tile({"mean": ends - 1, "lower": ends - 2, "upper": ends, "truth": ends}, "  level: 0.8"))

    assert metrics.coverage(part.whole, 0.8) == 1
    assert metrics.interval_score(part.whole, 0.8) == metrics.width(part.whole, 0.8)


def test_the_std_of_a_given_interval_is_its_width_over_that_of_a_standard_normal(one_tile, swept):
    layers, valid = lopsided()
    config = one_tile(layers, "  level: 0.9")
    std = (layers["upper"].astype(np.float64) - layers["lower"])[valid] / (2 * half_width(0.9))

    assert metrics.mean_std(swept(config).whole) == pytest.approx(std.mean(), rel=1e-13)
    found = open_stack(load_experiment(config), "t").compute()
    np.testing.assert_allclose(np.sqrt(found.variance.values[found.valid.values]), std, rtol=1e-13)


def test_the_other_levels_are_those_of_the_normal_forecast(one_tile, swept):
    layers, valid = lopsided()
    whole = swept(one_tile(layers, "  level: 0.9")).whole
    mean, low, high, truth = (layers[name][valid].astype(np.float64) for name in ("mean", "lower", "upper", "truth"))
    std = (high - low) / (2 * half_width(0.9))

    assert whole.levels == (0.5, 0.8, 0.9, 0.95)
    assert metrics.coverage(whole, 0.5) == pytest.approx((abs(truth - mean) <= half_width(0.5) * std).mean(), abs=1e-15)


def test_reversed_ends_are_named_with_their_pixel(one_tile, swept):
    layers, _ = lopsided()
    row, column = np.argwhere(np.isfinite(sum(layers.values())))[700]
    layers["upper"][row, column] = layers["lower"][row, column] - 1
    config = one_tile(layers, "  level: 0.9")

    message = swept(config).message
    assert "t_upper.tif" in message
    assert f"lies below the lower {layers['lower'][row, column]:.6g} at row {row}, column {column}" in message
    config.write_text(config.read_text() + "variance: {negative: exclude}\n")
    assert swept(config).excluded[5] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lower: '{tile}l.tif', upper: '{tile}u.tif'", "missing key 'level': an interval needs lower, upper and level"),
        ("upper: '{tile}u.tif', level: 0.9", "missing key 'lower'"),
        ("variance: '{tile}v.tif', level: 0.9", "give either variance or level, not both"),
        ("lower: '{tile}l.tif', upper: '{tile}u.tif', level: 90", "90 is not between 0 and 1; write 0.9?"),
        (
            "lower: '{tile}l.tif', upper: '{tile}u.tif', level: 0.9, truth_variance: '{tile}v.tif'",
            "truth_variance: an interval is taken as it was given",
        ),
    ],
)
def test_half_an_interval_is_refused(tmp_path, text, message):
    config = tmp_path / "x.yaml"
    config.write_text(f"version: 1\nname: x\ndata: {{mean: '{{tile}}m.tif', truth: '{{tile}}t.tif', {text}}}\n")

    with pytest.raises(Exception, match=message.replace("?", r"\?")):
        load_experiment(config)


def test_a_given_interval_is_saved_and_read_again(one_tile, tmp_path, geouq):
    layers, valid = lopsided()
    assert geouq("run", one_tile(layers, "  level: 0.85")).exit_code == 0
    saved = load_tile(path_of_tile(tmp_path / "results" / "one", "t"))
    (part,) = saved.variables.values()
    (row,) = rows_of(tmp_path / "results/one", "metrics", metric="coverage_85", level="all")
    inside = (layers["lower"] <= layers["truth"]) & (layers["truth"] <= layers["upper"])

    assert part.whole["given"] == part.cells.statistics["given"] == GivenLevel(0.85)
    assert float(row["value"]) == pytest.approx(inside[valid].mean(), abs=1e-15)


# the truth's own error


@pytest.mark.parametrize("kind", ["raster", "number"])
def test_noise_of_the_truth_is_no_fault_of_the_forecast(one_tile, swept, kind):
    """A calibrated forecast, judged by truth with noise of its own: over-confident, unless that noise is told."""
    layers, valid, (mean, variance, truth) = forecast(3)
    rng = np.random.default_rng(4)
    noise = np.where(kind == "raster", rng.uniform(0.2, 3, SHAPE), 1.5).astype(np.float32)
    layers["truth"] = (truth + np.sqrt(noise) * rng.standard_normal(SHAPE)).astype(np.float32)
    untold = swept(one_tile(layers)).whole
    text = "variables: {v: {truth_variance: 1.5}}" if kind == "number" else ""
    told = swept(one_tile(layers | ({"truth_variance": noise} if kind == "raster" else {}), text)).whole
    total = variance[valid] + noise[valid].astype(np.float64)

    assert metrics.zms(untold) > 1.8
    assert abs(metrics.zms(told) - 1) < 4 * np.sqrt(2 / valid.sum())
    assert abs(metrics.coverage(told, 0.9) - 0.9) < 4 * np.sqrt(0.09 / valid.sum())
    assert metrics.sharpness(told) == pytest.approx(total.mean(), rel=1e-12)
    error = mean[valid] - layers["truth"][valid]
    assert metrics.zms(told) == pytest.approx((error**2 / total).mean(), rel=1e-12)


def test_a_truth_variance_that_says_nothing_excludes_the_pixel_as_truth_does(one_tile, swept):
    layers, valid, _ = forecast()
    before = swept(one_tile(layers))
    noise = np.ones(SHAPE, np.float32)
    row, column = np.argwhere(valid)[10]
    noise[row, column] = np.nan
    after = swept(one_tile(layers | {"truth_variance": noise}))

    assert after.whole.n == before.whole.n - 1
    assert after.excluded[0] == before.excluded[0] + 1


def test_a_negative_variance_is_not_hidden_by_that_of_the_truth(one_tile, swept):
    layers, valid, _ = forecast()
    row, column = np.argwhere(valid)[10]
    layers["variance"][row, column] = -0.5

    message = swept(one_tile(layers | {"truth_variance": np.ones(SHAPE, np.float32)})).message
    assert f"the predicted variance is -0.5 at row {row}, column {column}" in message


def test_a_negative_truth_variance_names_file_and_pixel(one_tile, swept):
    noise = np.ones(SHAPE, np.float32)
    noise[7, 8] = -2
    layers, _, _ = forecast()

    assert (
        "t_truth_variance.tif: the truth's variance is -2 at row 7, column 8"
        in swept(one_tile(layers | {"truth_variance": noise})).message
    )


def test_scaled_noise_is_raw_times_scale(one_tile, swept):
    layers, _, _ = forecast()
    plain = swept(one_tile(layers | {"truth_variance": np.full(SHAPE, 4, np.float32)})).whole
    scaled = {"dtype": "uint8", "scales": [0.5]}
    packed = swept(one_tile(layers | {"truth_variance": np.full(SHAPE, 8, np.uint8)}, truth_variance=scaled)).whole

    assert same(packed.moments, plain.moments)


# rasters to group by


@pytest.mark.parametrize("weighted", [False, True])
def test_coverage_by_a_covariate_and_by_classes_is_that_of_the_pixels(one_tile, swept, weighted):
    layers, valid, (mean, variance, truth) = forecast(5)
    rng = np.random.default_rng(6)
    slope = np.exp2(rng.integers(-300, 300, SHAPE) / 100).astype(np.float32)  # no key holds two values
    cover = rng.choice([0, 1, 7, 300, 65535, 9], SHAPE).astype(np.uint16)
    slope[rng.random(SHAPE) < 0.1] = np.nan
    beside = {"covariates.slope": slope, "classes.cover": cover}
    weight = rng.uniform(0.5, 2, SHAPE).astype(np.float32) if weighted else np.ones(SHAPE)
    more = {"weights": weight} if weighted else {}
    part = swept(one_tile(layers | beside | more, **{"classes.cover": {"nodata": 9}}))
    inside = abs(truth - mean) <= half_width(0.9) * np.sqrt(variance)

    codes = [0, 1, 7, 300, 65535]
    expected = [np.average(inside[own], weights=weight[own]) for own in (valid & (cover == code) for code in codes)]
    assert metrics.group_places(part.whole, "cover").tolist() == codes
    np.testing.assert_allclose(metrics.group_coverage(part.whole, 0.9, "cover"), expected, rtol=1e-12)
    assert metrics.rmscd(part.whole, 0.9, "cover") == pytest.approx(np.sqrt(np.mean((np.array(expected) - 0.9) ** 2)))

    profile, known = part.whole.coverage_by("slope"), valid & np.isfinite(slope)
    values = np.unique(slope[known])
    assert len(profile.keys) == len(values)
    covered = [weight.astype(np.float64)[known & inside & (slope == value)].sum() for value in values]
    np.testing.assert_allclose(profile.counts[:, :3].sum(-1), covered, rtol=1e-12)
    assert part.whole.n == valid.sum()


def test_a_covariate_finds_where_a_forecast_fails(one_tile, swept):
    """Errors that are three times as large on steep slopes: coverage by slope tells, that by variance does not."""
    layers, _, (mean, _, truth) = forecast(7)
    slope = np.random.default_rng(8).uniform(0, 45, SHAPE).astype(np.float32)
    layers["truth"] = np.where(slope > 40.5, mean + 3 * (truth - mean), truth).astype(np.float32)
    whole = swept(one_tile(layers | {"covariates.slope": slope}, "groups: [variance]")).whole

    by_slope = metrics.group_coverage(whole, 0.9, "slope")
    assert by_slope[-1] < 0.5
    assert by_slope[:-1].min() > 0.88
    assert metrics.group_coverage(whole, 0.9, "variance").min() > 0.84


def test_a_class_that_is_no_code_names_file_and_pixel(one_tile, swept):
    layers, valid, _ = forecast()
    cover = np.ones(SHAPE, np.float32)
    row, column = np.argwhere(valid)[40]
    cover[row, column] = 2.5

    message = swept(one_tile(layers | {"classes.cover": cover})).message
    assert f"t_cover.tif: the class is 2.5 at row {row}, column {column}; codes are whole numbers from 0" in message


def test_groups_by_rasters_stand_in_the_tables_and_in_the_file(one_tile, tmp_path, geouq):
    layers, _, _ = forecast()
    cover = (np.arange(SHAPE[1]) // 100 + np.zeros(SHAPE)).astype(np.uint8)
    config = one_tile(layers | {"covariates.slope": layers["variance"], "classes.cover": cover}, "groups: [variance]")
    assert geouq("run", config).exit_code == 0
    folder = tmp_path / "results/one"

    assert len(rows_of(folder, "metrics", metric="rmscd_90", group="cover", level="all")) == 1
    slope, variance = (
        rows_of(folder, "metrics", metric="rmscd_90", group=by, level="all") for by in ("slope", "variance")
    )
    assert slope[0]["value"] == variance[0]["value"]
    curve = rows_of(folder, "curves", curve="coverage_90_by_cover", level="all")
    assert [float(row["x"]) for row in curve] == [0, 1, 2]
    assert "1 of 1 tiles are summarised already" in geouq("run", config).output
    saved = load_tile(path_of_tile(folder, "t"))
    save_tile(saved, tmp_path / "again.nc", "key")
    assert same(load_tile(tmp_path / "again.nc"), saved)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("covariates: {truth: '{tile}s.tif'}", "'truth' names the groups by the truth itself"),
        ("covariates: {a: '{tile}s.tif'}, classes: {a: '{tile}c.tif'}", "a covariate has this name"),
        ("covariates: {a: slope.tif}", "needs {tile}"),
    ],
)
def test_groupings_that_cannot_be_are_refused(tmp_path, text, message):
    config = tmp_path / "x.yaml"
    layers = ", ".join(f"{layer}: '{{tile}}_{layer}.tif'" for layer in ("mean", "variance", "truth"))
    config.write_text(f"version: 1\nname: x\ndata: {{{layers}, {text}}}\n")

    with pytest.raises(Exception, match=message):
        load_experiment(config)
