"""Several models whose predictions are given as ensembles, quantiles or class probabilities, in one run."""

import numpy as np
import pytest
from affine import Affine
from csv_rows import rows_of
from form_files import TILES, classes_of, experiment_of, members_of, options

import geouq as gq
from geouq.config import load_experiment, to_yaml
from geouq.core.errors import ConfigError
from geouq.pipeline.run import run
from geouq.rasters.catalog import find_tiles

LEVELS = (0.1, 0.5, 0.9)
SHIFTS = {"near": 0.0, "far.2": 3.0}
MODELS = "models: [near, far.2]\nlevels: [0.9]\noutput: {maps: none, figures: none}\n"
DATA = {
    "bands": {
        "members": "bands/{model}/{tile}.tif",
        "member_variance": "variances/{model}/{tile}.tif",
        "truth": "truth/{tile}.tif",
    },
    "files": {"members": "of/{model}/{tile}_m{member}.tif", "truth": "truth/{tile}.tif"},
    "quantiles": {
        "quantiles": "{" + ", ".join(f"{p}: 'of/{{model}}/{{tile}}_q{p}.tif'" for p in LEVELS) + "}",
        "truth": "truth/{tile}.tif",
    },
    "classes": {
        "probabilities": "of/{model}/{tile}_p.tif",
        "class_codes": "{open: 3, sparse: 7, dense: 9}",
        "truth": "codes/{tile}.tif",
    },
}


def of_model(tile, model):
    """Members, their variances and probabilities of one model, and truth and codes; one pixel fewer in `far.2`."""
    members, variances, truth = members_of(tile)
    p, codes = classes_of(tile)
    members = members + np.float32(SHIFTS[model])
    if model != "near":
        members[:, 2, 5, 5] = np.nan
        p = p[::-1].copy()
    return members, variances, truth, p, codes


@pytest.fixture
def folder(tmp_path, write_raster):
    for i, tile in enumerate(TILES):
        where = {"transform": Affine(10, 0, 5e5 + i * 500, 0, -10, 7e6), "nodata": np.nan}
        for model in SHIFTS:
            members, variances, truth, p, codes = of_model(i, model)
            write_raster(tmp_path / f"bands/{model}/{tile}.tif", members.reshape(-1, *truth.shape[1:]), **where)
            write_raster(tmp_path / f"variances/{model}/{tile}.tif", variances.reshape(-1, *truth.shape[1:]), **where)
            for k in range(4):
                write_raster(tmp_path / f"of/{model}/{tile}_m{k}.tif", members[:, k], **where)
            for k, level in enumerate(LEVELS):
                write_raster(tmp_path / f"of/{model}/{tile}_q{level}.tif", np.sort(members, 1)[:, k], **where)
            write_raster(tmp_path / f"of/{model}/{tile}_p.tif", p, **where)
        write_raster(tmp_path / f"truth/{tile}.tif", truth, names=("height", "cover"), units=("m", "%"), **where)
        write_raster(tmp_path / f"codes/{tile}.tif", codes, **where | {"nodata": 0})
    return tmp_path


def values_of(folder, data, text=""):
    """Values of the whole by variable, model and metric, and the rows of the comparison."""
    run(experiment_of(folder, DATA[data], MODELS + text), options(folder / "out"))
    metrics = rows_of(folder / "out/tables/metrics.csv")
    found = {
        (row["variable"], row["model"], row["metric"]): float(row["value"] or "nan")
        for row in metrics
        if row["level"] == "all"
    }
    return found, rows_of(folder / "out/tables/comparison.csv")


@pytest.mark.parametrize("data", ["bands", "files"])
def test_ensembles_of_models_are_evaluated_on_the_pixels_that_count_for_all(folder, data):
    found, compared = values_of(folder, data)
    score = "crps_mixture" if data == "bands" else "crps_ensemble"  # with and without variances of members
    for model in SHIFTS:
        parts = []
        for i in range(len(TILES)):
            members, variances, truth, *_ = of_model(i, model)
            apart = np.where(np.isfinite(of_model(i, "far.2")[0][0]).all(0), truth[0], np.nan)
            given = variances[0] if data == "bands" else None
            parts.append(gq.ensemble.summarize(members[0], apart, variance=given, levels=(0.9,)))
        expected = parts[0] + parts[1]
        assert found["height", model, score] == pytest.approx(float(getattr(gq.ensemble, score)(expected)))
        assert found["height", model, "rmse"] == pytest.approx(float(gq.rmse(expected)))

    (row,) = (row for row in compared if (row["level"], row["variable"], row["metric"]) == ("all", "height", score))
    assert (row["model"], row["against"]) == ("far.2", "near")
    assert float(row["difference"]) > 1
    assert row["verdict"] == "worse"


@pytest.mark.parametrize(("data", "metric"), [("quantiles", "crps_quantiles"), ("classes", "brier")])
def test_the_worse_of_two_models_is_told(folder, data, metric):
    text = "variables: [forest]\n" if data == "classes" else ""
    variable = "forest" if data == "classes" else "cover"
    found, compared = values_of(folder, data, text)

    assert found[variable, "far.2", metric] > found[variable, "near", metric] + 0.1
    (row,) = (row for row in compared if (row["level"], row["variable"], row["metric"]) == ("all", variable, metric))
    assert row["verdict"] == "worse"
    page = (folder / "out/report/index.html").read_text(encoding="utf-8")
    _, _, models = page.partition("Models compared")
    assert "far.2 minus near" in models
    assert {"crps_quantiles": "2 x mean pinball", "brier": "Brier score"}[metric] in models
    assert "mean z²" not in models.partition("All tiles together")[0]


def test_a_configuration_of_models_is_the_same_when_written_and_read(folder):
    for data in DATA.values():
        experiment = experiment_of(folder, data, MODELS)
        (folder / "again.yaml").write_text(to_yaml(experiment), encoding="utf-8")

        assert load_experiment(folder / "again.yaml") == experiment


@pytest.mark.parametrize(
    ("data", "text", "said"),
    [
        (
            {"members": "bands/near/{tile}.tif"},
            MODELS,
            "data.members: .* needs {model} where the name",
        ),
        (DATA["quantiles"], "", "data.quantiles.0.1: .*{model} needs a list of the models' names"),
    ],
)
def test_a_path_that_lacks_the_model_or_holds_it_without_need_is_told(folder, data, text, said):
    with pytest.raises(ConfigError, match=said):
        experiment_of(folder, {"truth": "truth/{tile}.tif"} | data, text)


def test_models_with_other_numbers_of_members_are_told(folder, write_raster):
    members = of_model(0, "near")[0][:, :3]
    where = {"transform": Affine(10, 0, 5e5, 0, -10, 7e6), "nodata": np.nan}
    for kind in ("bands", "variances"):
        write_raster(folder / f"{kind}/near/a1.tif", np.abs(members).reshape(-1, *members.shape[2:]), **where)
    failures = find_tiles(experiment_of(folder, DATA["bands"], MODELS)).failures

    assert [failure.tile for failure in failures] == ["a1"]
    assert "models near and far.2 differ in their members; give as many, or compare runs" in failures[0].message


def test_a_file_that_one_model_lacks_is_told(folder):
    (folder / "of/far.2" / "a2_m3.tif").unlink()
    failures = find_tiles(experiment_of(folder, DATA["files"], MODELS)).failures

    assert [failure.tile for failure in failures] == ["a2"]
    assert "far.2/a2_m3.tif" in failures[0].message
