"""Models of a run are compared by their means of the same areas."""

import pytest
from area_maps import write, write_models
from csv_rows import rows_of
from landscape import SHORT

from geouq import Options, run


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The folder of a run of two models."""
    folder = tmp_path_factory.mktemp("both")
    run(write_models(folder), Options(out=folder / "run"))
    return folder / "run"


@pytest.fixture
def ran(geouq, tmp_path):
    def run(**how):
        done = geouq("run", write_models(tmp_path, **how), "--quiet")
        assert done.exit_code == 0, done.output
        return tmp_path / "results/small"

    return run


def table(run):
    return rows_of(run / "tables/aggregate_comparison.csv")


def test_a_model_with_errors_that_areas_share_is_worse_in_its_means(both):
    rows = table(both)

    (own,) = (
        row for row in rows if (row["kind"], row["side_cells"], row["metric"]) == ("block", "1", "aggregate_rmse")
    )
    assert (own["model"], own["against"], own["better"], own["verdict"]) == ("worse", "base", "base", "worse")
    assert own["units"] == "Mg/ha"
    assert float(own["difference"]) == float(own["value"]) - float(own["baseline"])
    assert 0 < float(own["ci_low"]) < float(own["difference"]) < float(own["ci_high"])
    assert own["ci_method"] == "jackknife"
    assert float(own["p_value"]) <= float(own["p_adjusted"]) < 0.05


def test_numbers_are_those_of_each_model_where_they_have_the_same_areas(both):
    alone = {
        (row["model"], row["kind"], row["side_cells"], row["metric"]): row
        for row in rows_of(both / "tables/aggregates.csv")
    }

    rows = table(both)

    assert {(row["kind"], row["side_cells"]) for row in rows} == {key[1:3] for key in alone}
    assert {row["metric"] for row in rows} == {key[-1] for key in alone} - {"aggregate_factor"}
    for row in rows:
        for model, column in (("worse", "value"), ("base", "baseline")):
            own = alone[model, row["kind"], row["side_cells"], row["metric"]]
            assert float(row[column]) == pytest.approx(float(own["value"]), rel=1e-12)
            assert (row["n_areas"], row["side_metres"]) == (own["n_areas"], own["side_metres"])


def test_a_model_compared_with_itself_differs_by_nothing(ran):
    rows = table(ran(same=True))

    assert {row["verdict"] for row in rows} == {"no difference"}
    tested = [row for row in rows if row["ci_low"]]
    assert tested
    assert {(row["difference"], row["ci_low"], row["ci_high"], row["better"]) for row in tested} == {
        ("0.0", "0.0", "0.0", "")
    }


def test_only_areas_of_both_models_are_compared(ran):
    run = ran(text="compare_on: own\n", gap=True)

    own = {
        (row["model"], row["kind"], row["side_cells"]): int(row["n_areas"])
        for row in rows_of(run / "tables/aggregates.csv")
    }
    assert own["base", "block", "1"] > own["worse", "block", "1"]
    for row in table(run):
        smaller = min(own[model, row["kind"], row["side_cells"]] for model in ("base", "worse"))
        assert int(row["n_areas"]) <= smaller


def test_a_run_without_several_models_removes_the_table_of_an_earlier_one(ran, geouq, tmp_path):
    run = ran()
    assert (run / "tables/aggregate_comparison.csv").exists()
    config = write(tmp_path)

    assert geouq("run", config, "--quiet").exit_code == 0
    assert not (run / "tables/aggregate_comparison.csv").exists()


def test_without_aggregates_there_is_no_comparison_by_them(ran):
    run = ran(text="aggregates: none\n")

    assert (run / "tables/comparison.csv").exists()
    assert not (run / "tables/aggregate_comparison.csv").exists()


def test_the_page_shows_how_models_differ_in_means_of_areas(both):
    page = (both / "report/index.html").read_text(encoding="utf-8")

    _, models = page.split('id="models"')
    assert "Means of areas" in models
    assert "worse minus base" in models.split("Means of areas")[1]


@pytest.fixture
def compare(both, geouq, tmp_path):
    def of(*arguments):
        models = (f"{both}@base", f"{both}@worse")
        return geouq("compare", *models, "--out", tmp_path / "out", "--quiet", *arguments)

    return of


def test_models_of_a_run_are_compared_by_areas_as_runs_are(both, compare, tmp_path):
    assert compare().exit_code == 0

    keys = ("variable", "kind", "side_cells", "n_areas", "metric", "value", "baseline", "ci_low", "p_value", "verdict")
    within, apart = table(both), rows_of(tmp_path / "out/aggregate_comparison.csv")
    assert {row["run"] for row in apart} == {"small@worse"}
    assert [[row[key] for key in keys] for row in apart] == [[row[key] for key in keys] for row in within]


@pytest.mark.parametrize(
    ("gate", "code", "said"),
    [
        ("aggregate_rmse", 1, "worse: small@worse is worse in aggregate_rmse of height over 1 x 1 cells: "),
        ("aggregate_rmse:height:1", 1, "worse: small@worse is worse in aggregate_rmse of height over 1 x 1 cells: "),
        ("aggregate_coverage_calibrated_90:height:1", 0, ""),
        ("aggregate_rmse:height:tile", 1, "worse in aggregate_rmse of height over tiles: 6 areas are too few"),
        ("aggregate_rmse:height:3", 2, "no areas of the size '3'; give one of 1, 2, 4, tile, region"),
        ("aggregate_rmse:height:west", 2, "no areas of the size 'west'"),
        ("rmse:height:2", 2, "there is no region '2'"),
        ("aggregate_factor", 2, "there is no metric 'aggregate_factor'"),
    ],
)
def test_a_run_that_is_worse_in_means_of_areas_is_the_exit_code(compare, gate, code, said):
    done = compare("--fail-if-worse", gate)

    assert done.exit_code == code
    assert said in done.stderr


def test_means_of_areas_that_there_are_not_fail_too(runs, geouq):
    folders = runs(text=SHORT, same="")  # without regions

    done = geouq("compare", *folders, "--fail-if-worse", "aggregate_rmse:height:region", "--quiet")

    assert done.exit_code == 1
    assert (
        "not known whether a run is worse in aggregate_rmse of height over regions: no area of this size" in done.stderr
    )


def test_runs_without_aggregates_are_not_compared_by_them(runs, geouq, tmp_path):
    small, other = runs(other="aggregates: none\n")
    table = tmp_path / "results/comparison/aggregate_comparison.csv"
    table.parent.mkdir()
    table.write_text("of an earlier comparison", encoding="utf-8")

    done = geouq("compare", small, other, "--fail-if-worse", "aggregate_rmse", "--quiet")
    assert done.exit_code == 2
    assert "there is no metric 'aggregate_rmse'" in done.stderr
    assert geouq("compare", small, other, "--quiet").exit_code == 0
    assert not table.exists()


@pytest.mark.loses_items
def test_a_comparison_by_areas_that_fails_costs_itself_alone(geouq, tmp_path, monkeypatch):
    monkeypatch.setattr("geouq.pipeline.evaluate.models_by_areas", lambda *_: 1 / 0)

    done = geouq("run", write_models(tmp_path), "--quiet")

    assert done.exit_code == 3
    assert "failed: comparison of models by means of areas (numbers)" in done.output
    tables = tmp_path / "results/small/tables"
    assert (tables / "aggregates.csv").exists()
    assert not (tables / "aggregate_comparison.csv").exists()
