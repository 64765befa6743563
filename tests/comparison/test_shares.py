"""Models and runs are compared by the share of areas above thresholds and of classes."""

import numpy as np
import pytest
from area_maps import SHAPE, TILES, write_models
from csv_rows import rows_of
from landscape import NORTH_UP, write_raster

from geouq import Options, run

CLASSES = """version: 1
name: cover
models: [base, worse]
data:
  probabilities: "{model}/{tile}.tif"
  class_codes: {forest: 1, water: 2}
  truth: truth/{tile}.tif
variables: [cover]
levels: [0.9]
cell_size: 16
output: {maps: none, figures: none}
intervals: {resamples: 100}
"""
SIZE = ("kind", "side_cells", "metric")


@pytest.fixture(scope="module")
def above(tmp_path_factory):
    """The folder of a run of two models with two thresholds, one of which hardly any pixel exceeds."""
    folder = tmp_path_factory.mktemp("above")
    run(write_models(folder, thresholds="[100, 1000]"), Options(out=folder / "run"))
    return folder / "run"


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    """The folder of a run of two forecasts of classes, the second with probabilities that are off in whole blocks."""
    folder, rng = tmp_path_factory.mktemp("classes"), np.random.default_rng(3)
    for number, tile in enumerate(TILES):
        place = NORTH_UP @ NORTH_UP.translation(number * SHAPE[1], 0)
        p = rng.uniform(0.1, 0.9, SHAPE)
        codes = np.where(rng.random(SHAPE) < p, 1, 2).astype(np.uint8)
        off = np.clip(p + np.kron(rng.choice([-0.3, 0.3], (5, 6)), np.ones((16, 16))), 0.02, 0.98)
        write_raster(folder / f"truth/{tile}.tif", codes, transform=place)
        for model, own in (("base", p), ("worse", off)):
            write_raster(folder / model / f"{tile}.tif", np.stack([own, 1 - own]).astype(np.float32), transform=place)
    (folder / "cover.yaml").write_text(CLASSES, encoding="utf-8")
    run(folder / "cover.yaml", Options(out=folder / "run"))
    return folder / "run"


def compared(folder, of):
    rows = rows_of(folder / "tables/aggregate_comparison.csv")
    return [row for row in rows if (row["threshold"] or row["class"]) == of]


@pytest.mark.parametrize(("runs", "of"), [("above", "100.0"), ("classes", "forest")])
def test_a_model_that_is_off_in_whole_blocks_is_worse_in_shares(runs, of, request):
    rows = compared(request.getfixturevalue(runs), of)

    found = {tuple(row[key] for key in SIZE): row for row in rows}
    for metric in ("aggregate_rmse", "aggregate_crps_calibrated", "aggregate_crps_independent"):
        row = found["block", "1", metric]
        assert (row["model"], row["against"], row["better"], row["verdict"]) == ("worse", "base", "base", "worse")
        assert row["units"] == "1"
        assert 0 < float(row["ci_low"]) < float(row["difference"]) < float(row["ci_high"])
        assert row["ci_method"] == "jackknife"


@pytest.mark.parametrize(("runs", "of"), [("above", "100.0"), ("classes", "water")])
def test_shares_have_the_numbers_of_each_model_where_they_have_the_same_areas(runs, of, request):
    folder = request.getfixturevalue(runs)
    alone = {
        (row["model"], *(row[key] for key in SIZE)): row
        for row in rows_of(folder / "tables/aggregates.csv")
        if (row["threshold"] or row["class"]) == of
    }
    rows, same = compared(folder, of), 0

    assert {row["metric"] for row in rows} == {key[-1] for key in alone} - {"aggregate_factor"}
    for row in rows:
        own = [alone[model, *(row[key] for key in SIZE)] for model in ("worse", "base")]
        if {one["n_areas"] for one in own} == {row["n_areas"]}:
            same += 1
            for one, column in zip(own, ("value", "baseline"), strict=True):
                assert float(row[column]) == pytest.approx(float(one["value"]), rel=1e-12)
    assert same


def test_means_are_compared_before_shares(above):
    rows = rows_of(above / "tables/aggregate_comparison.csv")

    assert list(dict.fromkeys(row["threshold"] for row in rows)) == ["", "100.0"]
    assert {row["units"] for row in rows if row["metric"] == "aggregate_rmse" and not row["threshold"]} == {"Mg/ha"}


def test_a_threshold_that_hardly_any_pixel_exceeds_is_not_compared(above):
    assert not compared(above, "1000.0")


def test_classes_have_no_means_of_areas(classes):
    rows = rows_of(classes / "tables/aggregate_comparison.csv")

    assert {row["class"] for row in rows} == {"forest", "water"}


@pytest.mark.parametrize("runs", ["above", "classes"])
def test_models_of_a_run_are_compared_by_shares_as_runs_are(runs, request, geouq, tmp_path):
    folder = request.getfixturevalue(runs)

    done = geouq("compare", f"{folder}@base", f"{folder}@worse", "--out", tmp_path / "out", "--quiet")

    keys = ("threshold", "class", *SIZE, "n_areas", "value", "baseline", "ci_low", "p_value", "verdict")
    assert done.exit_code == 0, done.output
    within, apart = (rows_of(own / "aggregate_comparison.csv") for own in (folder / "tables", tmp_path / "out"))
    assert [[row[key] for key in keys] for row in apart] == [[row[key] for key in keys] for row in within]


CRPS = "aggregate_crps_calibrated"


@pytest.mark.parametrize(
    ("runs", "gate", "code", "said"),
    [
        (
            "above",
            f"{CRPS}:height:1:100",
            1,
            f"small@worse is worse in {CRPS} of height (share 100) over 1 x 1 cells: ",
        ),
        ("above", f"{CRPS}:height:1:90", 2, "there is no share '90' of height in all runs; known are 100, 1000"),
        (
            "above",
            f"{CRPS}:height:1:1000",
            1,
            "of height (share 1000) over 1 x 1 cells: no area",
        ),
        ("above", "aggregate_rmse:height:1", 1, "is worse in aggregate_rmse of height over 1 x 1 cells: "),
        ("classes", f"{CRPS}:cover:1:forest", 1, f"worse in {CRPS} of cover (share forest) over 1 x 1 cells: "),
        ("classes", CRPS, 2, f"cover has no means of areas; add a class, such as {CRPS}:cover:1:forest"),
    ],
)
def test_a_run_that_is_worse_in_a_share_is_the_exit_code(runs, gate, code, said, request, geouq, tmp_path):
    folder = request.getfixturevalue(runs)

    done = geouq(
        "compare", f"{folder}@base", f"{folder}@worse", "--out", tmp_path / "out", "--quiet", "--fail-if-worse", gate
    )

    assert done.exit_code == code
    assert said in done.stderr


@pytest.mark.parametrize(("runs", "of"), [("above", "share of height &gt; 100 Mg/ha"), ("classes", "share of forest")])
def test_the_page_shows_how_models_differ_in_shares(runs, of, request):
    page = (request.getfixturevalue(runs) / "report/index.html").read_text(encoding="utf-8")

    models = page.split('id="models"')[1].split("Means of areas")[1]
    assert of in models
    assert "Differences in means and shares over the areas that all models have" in models
