"""Predictions from files in other forms than mean and variance: the numbers of the same arrays, and clear faults."""

import csv
from dataclasses import replace

import numpy as np
import pytest
import rasterio
from alike import same
from form_files import (
    CLASSES,
    CODES,
    ENSEMBLES,
    FOREST,
    LEVELS,
    PARTS,
    QUANTILES,
    SHAPE,
    TILES,
    TRUTH,
    classes_of,
    experiment_of,
    members_of,
    options,
    write_forms,
)

import geouq as gq
from geouq.core.errors import ConfigError
from geouq.pipeline.run import run
from geouq.rasters.catalog import find_tiles
from geouq.reading.cutting import MOST_VALUES, reading_for
from geouq.runs.plan import settings_for
from geouq.summary.tiles_file import load_tile


@pytest.fixture
def folder(tmp_path, write_raster):
    return write_forms(tmp_path, write_raster)


def swept(sweep_one, experiment):
    settings = settings_for(experiment, find_tiles(experiment))
    return sweep_one(experiment, **{key: getattr(settings, key) for key in ("form", "groups", "tail", "cell_size")})


def alike(found, expected):
    assert found.n == expected.n
    np.testing.assert_allclose(found.form.sums, expected.form.sums, rtol=1e-12)


@pytest.mark.parametrize("layout", ENSEMBLES)
def test_an_ensemble_from_files_is_that_of_the_arrays(folder, sweep_one, layout):
    experiment = experiment_of(folder, ENSEMBLES[layout] | TRUTH, "levels: [0.5, 0.9]\n")
    found = swept(sweep_one, experiment)
    for i, tile in enumerate(TILES):
        members, variances, truth = members_of(i)
        for k, name in enumerate(("height", "cover")):
            arrays = gq.ensemble.summarize(members[k], truth[k], variance=variances[k], levels=(0.5, 0.9))
            alike(found[tile].variables[name].whole, arrays)
            assert found[tile].variables[name].excluded.sum() == SHAPE[0] * SHAPE[1] - arrays.n


def test_a_variance_in_two_parts_from_files_is_that_of_the_arrays(folder, sweep_one):
    found = swept(sweep_one, experiment_of(folder, PARTS, "levels: [0.5, 0.9]\n"))
    members, variances, truth = members_of(0)
    arrays = gq.ensemble.summarize_split(
        members[0].mean(0), truth[0], aleatoric=variances[0].mean(0), epistemic=members[0].var(0), levels=(0.5, 0.9)
    )

    alike(found["a1"].variables["height"].whole, arrays)
    assert gq.zms(found["a1"].variables["height"].whole) == pytest.approx(float(gq.zms(arrays)))


def test_a_run_of_a_variance_in_two_parts_gives_the_joint_log_loss_in_closed_form_with_intervals_and_maps(folder):
    text = "intervals: {block: 16 px}\noutput: {maps: [epistemic_share, joint_log_loss], figures: none}\n"
    run(experiment_of(folder, PARTS, text), options(folder / "out"))
    rows = {row["metric"]: row for row in rows_of(folder / "out", "metrics") if row["name"] == "all"}
    with rasterio.open(folder / "out/maps/a1_epistemic_share.tif") as file:
        shares = file.read(1)
    members, variances, _ = members_of(0)
    disagreement, noise = members[0].var(0), variances[0].mean(0)

    assert float(rows["joint_log_loss"]["ci_low"]) < float(rows["joint_log_loss"]["value"])
    assert float(rows["joint_log_loss_gain"]["value"]) > 0
    np.testing.assert_allclose(shares[1:], (disagreement / (noise + disagreement))[1:], rtol=1e-5)
    with rasterio.open(folder / "out/maps/cells_height.tif") as file:
        assert file.descriptions == ("joint_log_loss",)


def test_members_by_layer_need_no_variance(folder, sweep_one):
    data = {"members": "by_layer/{tile}.tif", "band_order": "layers"} | TRUTH
    found = swept(sweep_one, experiment_of(folder, data, "levels: [0.5, 0.9]\n"))
    members, _, truth = members_of(0)

    alike(found["a1"].variables["cover"].whole, gq.ensemble.summarize(members[1], truth[1], levels=(0.5, 0.9)))


def test_quantiles_from_files_are_those_of_the_arrays(folder, sweep_one):
    found = swept(sweep_one, experiment_of(folder, QUANTILES | TRUTH))
    members, _, truth = members_of(1)

    alike(found["a2"].variables["height"].whole, gq.quantiles.summarize(np.sort(members[0], 0)[:3], LEVELS, truth[0]))


@pytest.mark.parametrize("order", ["variables", "layers"])
def test_levels_of_bands_may_be_written_in_any_order(folder, sweep_one, write_raster, order):
    members, _, truth = members_of(0)
    values = np.sort(members, 1)[:, :3]
    for tile in TILES:
        bands = values[:, [2, 0, 1]] if order == "variables" else values[:, [2, 0, 1]].swapaxes(0, 1)
        with rasterio.open(folder / f"truth/{tile}.tif") as file:
            write_raster(folder / f"q/{tile}.tif", bands.reshape(-1, *SHAPE), nodata=np.nan, transform=file.transform)
    levels = "{" + ", ".join(f"{LEVELS[k]}: 'q/{{tile}}.tif'" for k in (2, 0, 1)) + "}"
    found = swept(sweep_one, experiment_of(folder, {"quantiles": levels, "band_order": order} | TRUTH))

    alike(found["a1"].variables["cover"].whole, gq.quantiles.summarize(values[1], LEVELS, truth[1]))


def test_probabilities_from_files_are_those_of_the_arrays(folder, sweep_one):
    found = swept(sweep_one, experiment_of(folder, CLASSES, "variables: [forest]\n"))["a1"].variables["forest"]
    p, codes = classes_of(0)

    alike(found.whole, gq.classes.summarize(p, np.where(codes == 0, np.nan, codes), codes=CODES))
    reasons = {"truth_nodata": 1, "not_a_distribution": 1, "class_not_mapped": 1}
    from geouq.core.validity import REASONS

    assert {REASONS[i]: int(n) for i, n in enumerate(found.excluded) if n} == reasons


@pytest.mark.parametrize("data", [ENSEMBLES["by variable"] | TRUTH, QUANTILES | TRUTH, CLASSES], ids=["e", "q", "c"])
def test_a_file_of_summaries_holds_the_form(folder, tmp_path, sweep_one, data):
    from geouq.summary.tile_file import save_tile

    summary = swept(sweep_one, experiment_of(folder, data))["a1"]
    save_tile(summary, tmp_path / "a1.nc", "key")

    for name, part in load_tile(tmp_path / "a1.nc").variables.items():
        assert same(part.whole.form, summary.variables[name].whole.form)
        assert same(part.cells.statistics["form"], summary.variables[name].cells.statistics["form"])
        alike(part.cells.summary().total(), part.whole)


def rows_of(folder, table):
    with (folder / "tables" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("steps", "count"), [(255, 3), (100, 9)])
def test_probabilities_rounded_to_scaled_integers_count_whatever_their_rounding(tmp_path, write_raster, steps, count):
    rng = np.random.default_rng(3)
    stored = np.round(steps * rng.dirichlet(np.ones(count), SHAPE).transpose(2, 0, 1)).astype(np.uint8)
    assert (abs(stored.sum(0) / steps - 1) > 1e-3).mean() > 0.2
    stored[:, 0, 0] = steps // 2
    write_raster(tmp_path / "p.tif", stored)
    write_raster(tmp_path / "truth.tif", rng.integers(0, count, SHAPE).astype(np.uint8))
    codes = "{" + ", ".join(f"c{k}: {k}" for k in range(count)) + "}"
    data = {"probabilities": f"{{path: p.tif, scale: {1 / steps}}}", "class_codes": codes, "truth": "truth.tif"}
    run(experiment_of(tmp_path, data, "variables: [cover]\n"), options(tmp_path / "out"))

    with (tmp_path / "out/tables/excluded.csv").open() as file:
        excluded = {(row["reason"], row["n"]) for row in csv.DictReader(file)}
    assert excluded == {("not_a_distribution", "1")}


def test_a_run_of_classes_gives_tables_intervals_maps_and_pages(folder, tmp_path):
    text = (
        "variables: [forest]\nregions: {both: [a1, a2]}\noutput: {maps: [confidence, correct, brier]}\n"
        "gates: [{metric: accuracy, variable: forest, min: 0.3}]\n"
    )
    results = run(experiment_of(folder, CLASSES, text).model_copy(), options(tmp_path / "out"))
    metrics = {row["metric"]: row for row in rows_of(tmp_path / "out", "metrics") if row["level"] == "all"}

    assert results.gates[0].passed
    assert {"brier", "ece", "accuracy"} <= set(metrics)
    assert not {"zms", "uce", "coverage_90"} & set(metrics)
    assert float(metrics["brier"]["ci_low"]) < float(metrics["brier"]["value"]) < float(metrics["brier"]["ci_high"])
    assert {row["curve"] for row in rows_of(tmp_path / "out", "curves")} == {f"reliability_{name}" for name in FOREST}
    assert not rows_of(tmp_path / "out", "bins")
    page = (tmp_path / "out" / "report" / "index.html").read_text(encoding="utf-8")
    assert "Brier score" in page
    assert "RMV" not in page


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"members": "by_variable/{tile}.tif", "quantiles": "{0.5: 'quantiles/{tile}_0.5.tif'}"}, "not both"),
        ({"member_variance": "variances/{tile}.tif", "members": "single/{tile}_m{member}.tif"}, "stands in one of"),
        ({"probabilities": "classes/{tile}_p.tif"}, "missing key 'class_codes'"),
        ({"probabilities": "classes/{tile}_p.tif", "class_codes": "{a: 1, b: 1}"}, "code of another class"),
        ({key: path for key, path in PARTS.items() if key != "variance_epistemic"}, "missing key 'variance_epistemic'"),
        ({key: path for key, path in PARTS.items() if key != "mean"}, "missing key 'mean': a variance in two parts"),
        (PARTS | {"variance": "truth/{tile}.tif"}, "data.variance: the prediction is given in another form already"),
        (PARTS | {"members": "by_variable/{tile}.tif"}, "give either members or variance_aleatoric, not both"),
        ({"quantiles": "{1.5: 'quantiles/{tile}_0.5.tif'}"}, "not between 0 and 1"),
        (
            {"members": "by_variable/{tile}.tif", "truth_variance": "truth/{tile}.tif"},
            "the error of the truth is added",
        ),
    ],
)
def test_faults_of_forms_are_told(folder, data, said):
    with pytest.raises(ConfigError, match=said):
        experiment_of(folder, data | TRUTH)


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        (QUANTILES | TRUTH, "z", "have a variance"),
        (CLASSES, "epistemic_share", "map of ensembles"),
        (ENSEMBLES["by variable"] | TRUTH, "correct", "map of class probabilities"),
    ],
)
def test_maps_that_a_form_does_not_have_are_told(folder, data, name, said):
    with pytest.raises(ConfigError, match=said):
        experiment_of(folder, data, f"output: {{maps: [{name}]}}\n")


def test_bands_that_do_not_fit_the_truth_are_told(folder):
    data = {
        "quantiles": "{0.1: 'by_variable/{tile}.tif', 0.5: 'by_variable/{tile}.tif', 0.9: 'by_variable/{tile}.tif'}"
    }
    failures = find_tiles(experiment_of(folder, data | TRUTH)).failures

    assert "has 8 bands; 3 quantiles of the requested variables are 6" in failures[0].message


@pytest.mark.parametrize(
    ("data", "text", "layers"),
    [
        (QUANTILES | TRUTH, "", r"quantiles 0\.1, 0\.5, 0\.9; .*geouq\.quantiles\.summarize"),
        (CLASSES, "variables: [forest]\n", r"classes open \(3\).*geouq\.classes\.summarize"),
    ],
)
def test_a_stack_of_a_forecast_without_a_variance_is_refused(folder, data, text, layers):
    with pytest.raises(ConfigError, match=f"neither but {layers}.*geouq.evaluate takes"):
        gq.open_stack(experiment_of(folder, data, text), "a1")


def test_a_stack_of_members_has_the_mean_and_variance_of_their_mixture(folder):
    stack = gq.open_stack(experiment_of(folder, ENSEMBLES["files"] | TRUTH), "a1").load(scheduler="synchronous")
    members, variances, _ = members_of(0)

    valid, wanted = stack["valid"].values, variances.mean(1) + members.var(1)
    assert valid.mean() > 0.9
    np.testing.assert_allclose(stack["variance"].values[valid], wanted[valid], rtol=1e-5)


def test_a_tile_that_lacks_a_member_is_told(folder):
    (folder / "single" / "a2_m3.tif").unlink()
    failures = find_tiles(experiment_of(folder, ENSEMBLES["files"] | TRUTH)).failures

    assert [failure.tile for failure in failures] == ["a2"]
    assert "a2_m3.tif" in failures[0].message


def test_windows_of_many_members_hold_no_more_values_than_those_of_few(folder):
    (tile, *_) = find_tiles(experiment_of(folder, ENSEMBLES["by variable"] | TRUTH)).tiles
    large = replace(tile.grid, shape=(40_000, 40_000))
    for members in (4, 50, 500):
        own = tile.predictions[""]
        rasters = {key: replace(raster, grid=large, block=(1, 40_000)) for key, raster in own.rasters.items()}
        many = replace(own, rasters=rasters, form=replace(own.form, members=members))
        reading = reading_for(replace(tile, grid=large, predictions={"": many}))

        assert reading.height * reading.width * 2 * members <= max(MOST_VALUES, 256 * 256 * 2 * members)
        assert reading.height % 256 == reading.width % 256 == 0
