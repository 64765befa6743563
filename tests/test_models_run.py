"""Runs of several models: tables, figures, maps, pages and gates."""

from dataclasses import replace

import numpy as np
import rasterio
from csv_rows import rows_of
from two_models import LISTED, MODELS, SHAPE, config_of, layers_of, valid

from geouq.config import load_experiment
from geouq.rasters.catalog import find_tiles
from geouq.reading.stack import open_stack
from geouq.runs.plan import settings_for
from geouq.runs.store import key_of_tile, path_of_tile


def one_alone(folder, model, more=""):
    layers = (
        f"mean: 'mean_{model}_{{tile}}.tif', variance: 'variance_{model}_{{tile}}.tif', truth: 'truth_{{tile}}.tif'"
    )
    return config_of(folder, f"data: {{{layers}}}\n{more}", f"only-{model}")


def numbers(path, *left):
    """Rows of a table without some columns."""
    return [{key: value for key, value in row.items() if key not in left} for row in rows_of(path)]


def test_each_on_its_own_pixels_gives_the_numbers_of_runs_on_their_own(tmp_path, models_folder, geouq):
    models_folder()
    text = "output: {maps: none}\n"
    assert geouq("run", config_of(tmp_path, LISTED + "compare_on: own\n" + text), "--quiet").exit_code == 0

    for model in MODELS:
        assert geouq("run", one_alone(tmp_path, model, text), "--quiet").exit_code == 0
        for name in ("metrics", "bins", "curves", "tests", "correlograms", "blocks", "excluded"):
            together = tmp_path / f"results/x/tables/{name}.csv"
            alone = numbers(tmp_path / f"results/only-{model}/tables/{name}.csv", "model", "compare_on", "p_adjusted")
            own = [row for row in rows_of(together) if row["model"] == model]
            found = [{key: row[key] for key in alone[0]} for row in own]
            assert sorted(map(repr, found)) == sorted(map(repr, alone))
    assert {row["compare_on"] for row in rows_of(tmp_path / "results/x/tables/metrics.csv")} == {"own"}


def test_a_run_of_models_gives_tables_figures_maps_pages_and_gates(tmp_path, models_folder, geouq):
    models_folder()
    models_folder(layers_of(7), "b")
    gates = "gates: [{metric: coverage_90, variable: h, model: ens, min: 0.99}, {metric: n_x, variable: h, max: 1}]\n"
    text = (
        LISTED
        + "regions: {west: [a]}\noutput: {maps: [cells, z], figures: [pit], region_figures: [pit, reliability]}\n"
    )
    refused = geouq("run", config_of(tmp_path, text + gates))
    assert refused.exit_code == 2
    config = config_of(tmp_path, text + gates.replace(", {metric: n_x, variable: h, max: 1}", ""))

    done = geouq("run", config, "--quiet")

    run = tmp_path / "results/x"
    assert done.exit_code == 1
    assert "gate failed: coverage_90 of h (ens) in all is" in done.output
    rows = rows_of(run / "tables/metrics.csv")
    assert {(row["variable"], row["model"]) for row in rows} == {(v, m) for v in "hc" for m in MODELS}
    assert {row["compare_on"] for row in rows} == {"common"}
    n = {(row["name"], row["variable"], row["model"]): row["n"] for row in rows}
    assert all(n[name, variable, "base"] == n[name, variable, "ens"] for name, variable, _ in n)
    compared = [
        row for row in rows_of(run / "tables/comparison.csv") if row["variable"] == "h" and row["name"] == "all"
    ]
    (wider,) = (row for row in compared if row["metric"] == "mean_std")
    values = {
        row["model"]: row["value"]
        for row in rows
        if (row["name"], row["variable"], row["metric"]) == ("all", "h", "mean_std")
    }
    assert (wider["model"], wider["against"]) == ("ens", "base")
    assert (wider["value"], wider["baseline"]) == (values["ens"], values["base"])
    assert float(wider["difference"]) == float(values["ens"]) - float(values["base"])
    # the std is smooth: few of its cells are independent
    assert (wider["better"], wider["significant"]) == ("", "")
    assert wider["verdict"] == "not tested: fewer than 8 effective cells"
    tested = [row for row in compared if row["ci_low"]]
    assert tested
    assert all(float(row["ci_low"]) <= float(row["difference"]) <= float(row["ci_high"]) for row in tested)
    assert "| h | all | zms |" in (run / "tables/comparison.md").read_text(encoding="utf-8")
    assert r"\begin{tabular}" in (run / "tables/comparison.tex").read_text(encoding="utf-8")
    assert {path.name for path in (run / "figures").glob("*.png")} == {"comparison_h.png", "comparison_c.png"}
    figures = {path.name for path in (run / "figures/west").iterdir()}
    assert {f"{v}@{m}_{figure}.png" for v in "hc" for m in MODELS for figure in ("pit", "reliability")} <= figures
    with rasterio.open(run / "maps/a_z.tif") as source:
        assert source.descriptions == tuple(f"z_{v} ({m})" for v in "hc" for m in MODELS)
        base, ens = np.isfinite(source.read((1, 2)))
    np.testing.assert_array_equal(base, ens)
    assert {path.name for path in run.glob("maps/cells*.tif")} == {f"cells_{v}@{m}.tif" for v in "hc" for m in MODELS}
    page = (run / "report/index.html").read_text(encoding="utf-8")
    assert "h (ens)" in page
    assert "Models of a variable are evaluated on the pixels that count for all of them." in page
    assert "figures/all/h@ens_pit.png" in page
    assert "| h (base) | west |" in (run / "tables/metrics.md").read_text(encoding="utf-8")
    before = (run / "tables/metrics.csv").read_bytes()
    assert geouq("report", run, "--quiet").exit_code == 1
    assert (run / "tables/metrics.csv").read_bytes() == before


def test_a_gate_that_fits_several_models_asks_for_one(tmp_path, models_folder, geouq):
    models_folder()
    done = geouq("check", config_of(tmp_path, LISTED + "gates: [{metric: zms, variable: h, max: 2}]\n"))

    assert done.exit_code == 2
    assert "gates.0.metric: zms is given more than once; add one of model: base, ens" in done.output


def test_the_plan_names_the_models_and_counts_variables_once(tmp_path, models_folder, geouq):
    models_folder()
    text = geouq("check", config_of(tmp_path, LISTED)).output

    assert "variables  2: h, c" in text
    assert "models     2: base, ens; on the pixels that count for all of them" in text
    own = geouq("check", config_of(tmp_path, LISTED + "compare_on: own\n")).output
    assert "each on the pixels that count for it" in own


def test_any_number_of_workers_gives_the_same_bits(tmp_path, models_folder, geouq):
    models_folder()
    models_folder(layers_of(9), "b")
    config = config_of(tmp_path, LISTED + "variables: [h]\noutput: {maps: none}\nbins: {exact: true}\n")
    found = []
    for workers in (1, 3):
        assert geouq("run", config, "--quiet", "--workers", workers, "--out", tmp_path / str(workers)).exit_code == 0
        found.append(
            [(path.name, path.read_bytes()) for path in sorted((tmp_path / str(workers) / "tables").iterdir())]
        )

    assert found[0] == found[1]
    bins = rows_of(tmp_path / "1/tables/bins.csv")
    assert {row["edges"] for row in bins} == {"exact"}


def test_zones_are_summed_for_each_model(tmp_path, models_folder, geouq, write_raster):
    layers = models_folder()
    codes = np.ones(SHAPE, np.uint8)
    codes[:, 140:] = 2
    write_raster(tmp_path / "cover_a.tif", codes)
    zones = "regions: {cover: {classes: 'cover_{tile}.tif', names: {1: left, 2: right}}}\n"
    text = LISTED + zones + "variables: [h]\noutput: {maps: none}\n"
    assert geouq("run", config_of(tmp_path, text), "--quiet").exit_code == 0

    common = valid(layers, "base", 0) & valid(layers, "ens", 0)
    for row in rows_of(tmp_path / "results/x/tables/metrics.csv"):
        if row["name"] == "right":
            assert int(row["n"]) == common[:, 140:].sum()


def test_summaries_serve_again_until_models_or_their_pixels_change(tmp_path, models_folder, geouq):
    models_folder()
    quick = "variables: [h]\noutput: {maps: none}\n"
    assert geouq("run", config_of(tmp_path, LISTED + quick)).exit_code == 0
    first = load_experiment(tmp_path / "x.yaml")
    assert "1 of 1 tiles are summarised already" in geouq("run", tmp_path / "x.yaml").output
    keys = set()
    for text in (LISTED, LISTED + "compare_on: own\n", LISTED.replace("[base, ens]", "[ens, base]")):
        experiment = load_experiment(config_of(tmp_path, text))
        catalog = find_tiles(experiment)
        keys.add(key_of_tile(catalog.tiles[0], settings_for(experiment, catalog)))

    assert len(keys) == 3
    assert path_of_tile(tmp_path / "results/x", "a").exists()
    assert first.models == MODELS


def test_a_stack_holds_each_variable_of_each_model(tmp_path, models_folder):
    layers = models_folder()
    stack = open_stack(load_experiment(config_of(tmp_path, LISTED)), "a").load()
    common = valid(layers, "base", 1) & valid(layers, "ens", 1)

    assert stack["variable"].values.tolist() == ["h (base)", "h (ens)", "c (base)", "c (ens)"]
    assert stack["model"].values.tolist() == [*MODELS, *MODELS]
    np.testing.assert_array_equal(stack["mean"].sel(variable="c (ens)"), layers["mean_ens"][1])
    np.testing.assert_array_equal(stack["valid"].sel(variable="c (base)"), common)


def test_checksums_are_put_into_the_rasters_of_their_models(tmp_path, models_folder):
    models_folder()
    (tile,) = find_tiles(load_experiment(config_of(tmp_path, LISTED))).tiles
    marked = {key: replace(raster, compression=key) for key, raster in tile.rasters.items()}

    again = tile.with_rasters(marked)
    assert again.rasters == marked
    assert again.predictions["ens"].variance.compression == "models.ens.variance"
