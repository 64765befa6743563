"""Means and totals of a map without truth are those of all its predictions, with the correlation of an evaluation."""

import csv
import json
import shutil

import numpy as np
import pytest
import rasterio
from area_maps import CLASSES, SHAPE, TILES, write
from landscape import write_raster

import geouq
from geouq.aggregates.correlation import CorrelationModel
from geouq.aggregates.known import KnownCorrelation, read_correlations
from geouq.core.errors import ConfigError


def rows_of(folder):
    with (folder / "tables/areas.csv").open(encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def above_of(folder):
    """Rows of areas above a threshold, by name."""
    with (folder / "tables/areas.csv").open(encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file) if row["threshold"]}


def without_truth(config, more=""):
    """The same configuration without a truth."""
    text = config.read_text(encoding="utf-8").replace("  truth: truth/{tile}.tif\n", "")
    alone = config.with_name("alone.yaml")
    alone.write_text(text + more, encoding="utf-8")
    return alone


def predicted(folder, tiles=TILES, chosen=None):
    """Mean and std of all predicted pixels."""
    found = []
    for name in tiles:
        mean, std, classes = (rasterio.open(folder / f"{of}/{name}.tif").read(1) for of in ("mean", "std", "classes"))
        own = np.isfinite(mean) & ((classes == chosen) if chosen else True)
        found.append(np.stack([mean[own], std[own]]).astype(float))
    return np.concatenate(found, axis=1)


def with_predictions_everywhere(folder):
    """Give a mean to all pixels; a tenth has no truth."""
    for number, name in enumerate(TILES):
        rng = np.random.default_rng(number)
        with rasterio.open(folder / f"mean/{name}.tif", "r+") as file:
            mean = file.read(1)
            file.write(np.where(np.isnan(mean), rng.normal(100, 10, SHAPE), mean).astype(np.float32), 1)


def test_all_predictions_count_also_where_there_is_no_truth(geouq, tmp_path):
    config = write(tmp_path, CLASSES)
    with_predictions_everywhere(tmp_path)
    assert geouq("run", config, "--quiet").exit_code == 0

    done = geouq("aggregate", without_truth(config), "--quiet")

    assert done.exit_code == 0, done.output
    rows = rows_of(tmp_path / "results/small/aggregate")
    each = {"all": (), "west": (("a1", "b1"),), "forest": (TILES, 1)}
    assert rows.keys() == each.keys()
    for name, chosen in each.items():
        mean, std = predicted(tmp_path, *chosen)
        assert int(rows[name]["n"]) == len(mean)
        assert float(rows[name]["mean"]) == pytest.approx(mean.mean(), rel=1e-12)
        assert float(rows[name]["total"]) == pytest.approx(mean.sum() / 100, rel=1e-12)
        assert float(rows[name]["std_full"]) == pytest.approx(std.mean(), rel=1e-12)
        assert float(rows[name]["ci_low"]) < float(rows[name]["mean"]) < float(rows[name]["ci_high"])
        assert rows[name]["mean_error"] == ""
    assert int(rows["all"]["n"]) == 6 * SHAPE[0] * SHAPE[1]


def test_where_truth_is_everywhere_the_numbers_are_those_of_the_evaluation(geouq, tmp_path):
    config = write(tmp_path, CLASSES, gaps=0.0)
    assert geouq("run", config, "--quiet").exit_code == 0

    assert geouq("aggregate", config, "--quiet").exit_code == 0

    evaluated, alone = rows_of(tmp_path / "results/small"), rows_of(tmp_path / "results/small/aggregate")
    for name, row in evaluated.items():
        for column in ("mean", "std", "std_independent", "std_fitted", "std_full", "ci_low", "total_high", "freedom"):
            assert float(alone[name][column]) == pytest.approx(float(row[column]), rel=1e-9), (name, column)


def test_the_area_above_a_threshold_has_the_correlation_of_its_evaluation(geouq, tmp_path):
    config = write(tmp_path, CLASSES, gaps=0.0, thresholds="[100]")
    assert geouq("run", config, "--quiet").exit_code == 0

    done = geouq("aggregate", without_truth(config), "--quiet")

    assert done.exit_code == 0, done.output
    assert "height: share of the area above 100: 0." in done.output
    evaluated, alone = (above_of(tmp_path / "results/small" / folder) for folder in (".", "aggregate"))
    assert evaluated.keys() == alone.keys() == {"all", "west", "forest"}
    for name, row in evaluated.items():
        assert alone[name]["mean_error"] == ""
        for column in ("mean", "std", "std_fitted", "ci_low", "total_high", "freedom"):
            assert float(alone[name][column]) == pytest.approx(float(row[column]), rel=1e-9), (name, column)


def test_a_threshold_that_its_run_lacks_has_a_note(geouq, tmp_path):
    assert geouq("run", write(tmp_path), "--quiet").exit_code == 0

    done = geouq("aggregate", without_truth(write(tmp_path, thresholds="[100]")), "--quiet")

    assert "note: height > 100: the evaluation has no correlation of errors for this threshold" in done.stderr
    row = above_of(tmp_path / "results/small/aggregate")["all"]
    assert row["ci_low"] == ""
    assert row["ci_method"] == "no evaluation has a correlation of errors for this threshold or class"


def test_without_an_evaluation_only_the_bounds_are_given(geouq, tmp_path):
    done = geouq("aggregate", without_truth(write(tmp_path)), "--quiet")

    assert done.exit_code == 0
    assert "note: height: no evaluation tells how errors are correlated" in done.stderr
    row = rows_of(tmp_path / "results/small/aggregate")["all"]
    assert row["std"] == row["ci_low"] == row["std_fitted"] == ""
    assert float(row["std_independent"]) < float(row["std_full"])
    assert row["ci_method"] == "no evaluation tells how errors are correlated"


def test_a_second_call_reads_no_pixel(geouq, tmp_path):
    config = without_truth(write(tmp_path))
    geouq("aggregate", config, "--quiet")
    first = (tmp_path / "results/small/aggregate/tables/areas.csv").read_bytes()

    again = geouq("aggregate", config)

    assert "6 of 6 tiles are summarised already" in again.stderr
    assert (tmp_path / "results/small/aggregate/tables/areas.csv").read_bytes() == first


def test_the_run_of_another_folder_gives_the_correlation(geouq, tmp_path):
    config = write(tmp_path)
    assert geouq("run", config, "--quiet", "--out", tmp_path / "elsewhere").exit_code == 0

    done = geouq("aggregate", without_truth(config), "--quiet", "--correlation", tmp_path / "elsewhere")

    assert done.exit_code == 0
    assert rows_of(tmp_path / "results/small/aggregate")["all"]["ci_method"] == "student"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file or directory"),
        ("[1, 2]", "is no file of correlations of errors; give tables/error_correlation.json of a run"),
        ('{"height": {"sills": [2]}}', "is no file of correlations of errors"),
        ("not json", "is no file of correlations of errors"),
    ],
)
def test_a_wrong_file_of_correlations_is_named(geouq, tmp_path, text, said):
    path = tmp_path / "model.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")

    done = geouq("aggregate", without_truth(write(tmp_path)), "--correlation", path)

    assert done.exit_code == 2
    assert f"{path}" in done.stderr
    assert said in done.stderr


def test_a_variable_without_a_correlation_is_named(geouq, tmp_path):
    config = write(tmp_path)
    assert geouq("run", config, "--quiet").exit_code == 0
    other = without_truth(config)
    other.write_text(other.read_text(encoding="utf-8").replace("height:", "volume:"), encoding="utf-8")

    done = geouq("aggregate", other, "--correlation", tmp_path / "results/small")

    assert done.exit_code == 2
    assert "has no correlation of volume; it has height" in done.stderr


def test_of_two_variables_the_one_without_a_correlation_has_the_bounds_and_a_note(geouq, tmp_path):
    config = write(tmp_path)
    assert geouq("run", config, "--quiet").exit_code == 0
    other = without_truth(config)
    both = other.read_text(encoding="utf-8").replace("{height: {", "{height: {}, volume: {")
    for layer in ("mean", "std"):
        both = both.replace(f"{layer}/{{tile}}.tif", f"'{{variable}}/{layer}/{{tile}}.tif'")
        for variable in ("height", "volume"):
            shutil.copytree(tmp_path / layer, tmp_path / variable / layer)
    other.write_text(both, encoding="utf-8")

    done = geouq("aggregate", other, "--correlation", tmp_path / "results/small")

    assert "note: volume: no evaluation tells how errors are correlated" in done.stderr
    with (tmp_path / "results/small/aggregate/tables/areas.csv").open(encoding="utf-8") as file:
        rows = {row["variable"]: row for row in csv.DictReader(file)}
    assert rows["volume"]["std"] == ""
    assert float(rows["height"]["std"]) > 0


def test_a_variable_that_its_own_run_lacks_has_the_bounds_and_a_note(geouq, tmp_path):
    config = write(tmp_path)
    assert geouq("run", config, "--quiet").exit_code == 0
    (tmp_path / "results/small/tables/error_correlation.json").write_text("{}", encoding="utf-8")

    done = geouq("aggregate", without_truth(config), "--quiet")

    assert done.exit_code == 0
    assert "note: height: no evaluation tells how errors are correlated" in done.stderr


def test_what_has_no_truth_is_no_run_to_evaluate(geouq, tmp_path):
    geouq("aggregate", without_truth(write(tmp_path)), "--quiet")
    folder = tmp_path / "results/small/aggregate"

    for command in (["report"], ["recalibrate"], ["figures"], ["compare", tmp_path]):
        done = geouq(command[0], folder, *command[1:])

        assert done.exit_code == 2
        assert f"{folder} has means and totals of predictions without truth; name the folder of a run" in done.stderr


def test_a_run_still_needs_the_truth(geouq, tmp_path):
    done = geouq("run", without_truth(write(tmp_path)))

    assert done.exit_code == 2
    assert "missing key 'truth'" in done.stderr


def test_an_ensemble_has_no_means_of_areas_here(geouq, tmp_path):
    config = write(tmp_path)
    config.write_text(
        "version: 1\nname: small\ndata:\n  members: members/{tile}_{member}.tif\nvariables: [height]\n",
        encoding="utf-8",
    )

    done = geouq("aggregate", config)

    assert done.exit_code == 2
    assert "has no means of areas here" in done.stderr


def test_areas_of_classes_without_truth_are_those_of_the_probabilities(geouq, tmp_path):
    rng, drawn = np.random.default_rng(0), []
    for tile in ("a", "b"):
        probabilities = rng.dirichlet([1, 2, 3], (40, 48)).transpose(2, 0, 1).astype(np.float32)
        probabilities[:, :5, :7] = np.nan
        drawn.append(probabilities[:, np.isfinite(probabilities[0])].astype(float))
        write_raster(tmp_path / f"classes/{tile}.tif", probabilities)
    config = tmp_path / "classes.yaml"
    config.write_text(
        "version: 1\nname: small\nvariables: [cover]\nregions: {first: [a]}\ndata:\n"
        "  probabilities: classes/{tile}.tif\n  class_codes: {open: 4, sparse: 7, dense: 9}\n",
        encoding="utf-8",
    )

    done = geouq("aggregate", config, "--quiet")

    assert done.exit_code == 0, done.stderr
    assert "cover: share of the area of open: 0.166; no interval: " in done.stdout
    with (tmp_path / "results/small/aggregate/tables/areas.csv").open(encoding="utf-8") as file:
        rows = {(row["name"], row["class"]): row for row in csv.DictReader(file)}
    assert {one for _, one in rows} == {"open", "sparse", "dense"}
    for name, pixels in (("all", np.concatenate(drawn, axis=1)), ("first", drawn[0])):
        for p, kind in zip(pixels, ("open", "sparse", "dense"), strict=True):
            row = rows[name, kind]
            assert float(row["mean"]) == pytest.approx(p.mean(), rel=1e-9)
            assert float(row["std_independent"]) == pytest.approx(np.sqrt((p * (1 - p)).sum()) / p.size, rel=1e-6)
            assert float(row["std_full"]) == pytest.approx(np.sqrt(p * (1 - p)).mean(), rel=1e-6)
            assert row["mean_error"] == ""
            assert int(row["n"]) == p.size


def test_bands_of_the_truth_are_forgotten_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = np.random.default_rng(0).uniform(1, 2, (3, 32, 32)).astype(np.float32)
    write_raster(tmp_path / "stack/a.tif", values)
    data = {"mean": "stack/{tile}.tif", "std": "stack/{tile}.tif", "truth": "lost/{tile}.tif"}
    bands = {"height": {"mean": 3, "std": 1, "truth": 2, "truth_std": 2}}

    found = geouq.aggregate({"version": 1, "name": "stacked", "data": data, "variables": bands})

    assert next(iter(found.areas.rows))["mean"] == pytest.approx(values[2].astype(float).mean())


def test_a_correlation_is_the_same_from_its_file(tmp_path):
    model = CorrelationModel((0.4, 0.1), (500.0, 9000.0), 0.05, 0.2, 0.6, 160.0, 1.4)
    known = KnownCorrelation(model, (model, model), (40.0, 3.0), 12.0)
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"height": known.as_json()}), encoding="utf-8")

    assert read_correlations(path) == {"height": known}


@pytest.mark.parametrize("change", [{"nugget": 0}, {"ranges": [-1.0]}, {"sills": [1.5]}, {"zms": 0}, {"tiles": None}])
def test_a_damaged_correlation_is_refused(tmp_path, change):
    model = CorrelationModel((0.4,), (500.0,), 0.05, 0.2, 0.6, 160.0, 1.4)
    plain = KnownCorrelation(model, (model,), (40.0,), 12.0).as_json() | change
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"height": plain}), encoding="utf-8")

    if change == {"nugget": 0}:  # follows from the others
        assert read_correlations(path)["height"].model.nugget == pytest.approx(0.35)
    else:
        with pytest.raises(ConfigError, match="is no file of correlations"):
            read_correlations(path)
