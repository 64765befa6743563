"""`geouq compare` of runs with several models, and of one with some and another without."""

from csv_rows import rows_of

WIDE = 'data: {variance: "wide/{tile}_variance.tif"}\n'


def table(folder):
    return rows_of(folder / "comparison" / "comparison.csv")


MODELS = (
    'models: [predictions, wide]\ndata: {mean: "{model}/{tile}_mean.tif", variance: "{model}/{tile}_variance.tif"}\n'
)


def test_a_model_of_one_run_is_compared_with_the_only_prediction_of_another(runs, geouq, tmp_path):
    small, both, wide = runs(both=MODELS, wide=WIDE)

    done = geouq("compare", small, f"{both}@wide", "--quiet", "--fail-if-worse", "zms:height:west")

    assert done.exit_code == 1
    assert "worse: both@wide is worse in zms of height in west" in done.stderr
    found = table(tmp_path / "results")
    assert {(row["variable"], row["run"]) for row in found} == {("height", "both@wide")}
    geouq("compare", small, wide, "--quiet")
    alone = table(tmp_path / "results")
    for key in ("metric", "name", "value", "difference", "ci_low", "p_value", "verdict"):
        assert [row[key] for row in found] == [row[key] for row in alone]
    same = geouq("compare", f"{both}@predictions", small, "--quiet")
    assert {row["verdict"] for row in table(tmp_path / "results")} == {"no difference"}
    assert "differences from both@predictions" in same.stdout


def test_models_of_one_run_are_compared_as_runs_are(runs, geouq, tmp_path):
    _, both = runs(both=MODELS)

    assert geouq("compare", f"{both}@predictions", f"{both}@wide", "--quiet").exit_code == 0

    keys = ("name", "metric", "bins", "group", "value", "baseline", "difference", "ci_low", "verdict")
    within = rows_of(both / "tables/comparison.csv")
    assert [[row[key] for key in keys] for row in table(tmp_path / "results")] == [
        [row[key] for key in keys] for row in within
    ]


def test_models_beside_one_prediction_say_what_to_do(runs, geouq):
    small, both = runs(both=MODELS)

    for arguments, said in (
        ((small, both), f"{both} has the models predictions, wide, and {small} is one prediction; name the model to "),
        ((both, small), f"name the model to compare, as in {both}@predictions"),
        ((small, f"{both}@wied"), f"{both} has no model 'wied'; did you mean 'wide'?"),
        ((small, f"{small}@wide"), f"{small} has no model 'wide'; it has one prediction alone"),
        ((f"{both}@wide", f"{both}@wide"), "is given twice"),
    ):
        done = geouq("compare", *arguments, "--quiet")
        assert done.exit_code == 2
        assert said in done.stderr
