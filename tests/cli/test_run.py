"""`geouq run`: what it writes, what it says, how it ends."""

import html
import json
import re
import subprocess
import sys
from urllib.parse import unquote

import numpy as np
import pytest
import rasterio
from csv_rows import rows_of
from forecasts import heteroscedastic

SHORT = "variables: [height]\noutput: {maps: none, figures: none}\n"


def test_tables_have_the_columns_of_the_contract(tile_folder, geouq, tmp_path):
    geouq("run", tile_folder(text="regions: {west: [a1, a2]}\n"), "--quiet")
    metrics = rows_of(tmp_path / "results/small/tables/metrics.csv")

    columns = "level name variable model metric value units bins group ci_low ci_high ci_level ci_method n n_cells"
    assert list(metrics[0]) == [*columns.split(), "n_effective", "compare_on", "null", "resolution"]
    assert {(row["model"], row["compare_on"]) for row in metrics} == {("", "")}
    assert [(row["level"], row["name"]) for row in metrics[:: len(metrics) // 5]][:5] == [
        ("all", "all"), ("region", "west"), ("tile", "a1"), ("tile", "a2"), ("tile", "b1"),
    ]  # fmt: skip
    assert {row["bins"] for row in metrics if row["metric"] == "ence"} == {"equal-width-10", "equal-count-10"}
    for row in metrics:
        assert repr(float(row["value"])) == row["value"]
    n = {row["name"]: int(row["n"]) for row in metrics if row["variable"] == "height" and row["metric"] == "bias"}
    assert n["all"] == n["a1"] + n["a2"] + n["b1"]
    assert n["west"] == n["a1"] + n["a2"]


def test_curves_are_given_for_the_whole_the_regions_and_the_tiles(tile_folder, geouq, tmp_path):
    text = "regions: {west: [a1, a2]}\ncalibration_levels: [0.2, 0.07]\ncalibration_weights: counts\n"
    geouq("run", tile_folder(text=SHORT + text), "--quiet")
    tables = tmp_path / "results/small/tables"

    curves = [row for row in rows_of(tables / "curves.csv") if row["curve"].startswith("calibration")]
    assert [(row["name"], row["curve"], row["x"]) for row in curves] == [
        (name, curve, level)
        for name in ("all", "west", "a1", "a2", "b1")
        for curve in ("calibration", "calibration_interval")
        for level in ("0.07", "0.2")
    ]
    y = {(row["name"], row["curve"]): [] for row in curves}
    for row in curves:
        y[row["name"], row["curve"]].append(float(row["y"]))
    found = {(row["name"], row["metric"]): float(row["value"]) for row in rows_of(tables / "metrics.csv")}
    for name in ("all", "west", "b1"):
        low, high = y[name, "calibration"]
        assert found[name, "mace"] == pytest.approx((abs(low - 0.07) + abs(high - 0.2)) / 2)
        weighted = 2 * (low * (low - 0.07) ** 2 + high * (high - 0.2) ** 2) / (low + high)
        assert found[name, "calibration_error"] == pytest.approx(weighted)


def test_a_damaged_tile_is_in_the_table_on_the_page_and_in_the_exit_code(tile_folder, geouq, tmp_path):
    config = tile_folder()
    damaged = tmp_path / "predictions" / "a2_variance.tif"
    damaged.write_bytes(damaged.read_bytes()[:9000])
    (tmp_path / "truth" / "b1.tif").unlink()

    done = geouq("run", config, "--quiet")

    assert done.exit_code == 3
    failures = {row["tile"]: row for row in rows_of(tmp_path / "results/small/tables/failures.csv")}
    assert set(failures) == {"a2", "b1"}
    assert "a2_variance.tif" in failures["a2"]["message"]
    assert "b1.tif" in failures["b1"]["message"]
    page = (tmp_path / "results/small/report/index.html").read_text(encoding="utf-8")
    assert "2 failed" in page
    assert "a2_variance.tif" in page
    assert "1 tile evaluated, 2 failed" in done.stdout
    assert {row["name"] for row in rows_of(tmp_path / "results/small/tables/metrics.csv")} == {"all", "a1"}


def test_exact_bins_are_said_to_be_exact(tile_folder, geouq, tmp_path):
    schemes = "[{scheme: equal-count}, {scheme: log-width, count: 7}]"
    config = tile_folder(text=SHORT + f"regions: {{west: [a1, a2]}}\nbins: {{exact: true, schemes: {schemes}}}\n")

    assert geouq("run", config, "--quiet").exit_code == 0
    assert {row["edges"] for row in rows_of(tmp_path / "results/small/tables/bins.csv")} == {"exact"}
    again = geouq("run", config)
    assert "exact bins 1" not in again.output


def test_tiles_and_regions_of_few_pixels_have_exact_bins(tile_folder, geouq, tmp_path):
    """Each tile has 2000 pixels, and all bins, those of an equal split too, are exact from the first sweep on."""
    schemes = "[{scheme: equal-count}, {scheme: log-width, count: 7}, {scheme: equal-split, count: 9}]"
    config = tile_folder(text=SHORT + f"regions: {{west: [a1, a2]}}\nbins: {schemes}\n")

    assert geouq("run", config, "--quiet").exit_code == 0
    assert {row["edges"] for row in rows_of(tmp_path / "results/small/tables/bins.csv")} == {"exact"}
    layers = [
        rasterio.open(tmp_path / f"{name}.tif").read(1).astype(float)
        for name in ("predictions/a1_mean", "predictions/a1_variance", "truth/a1")
    ]
    valid = np.isfinite(sum(layers)) & (layers[1] > 0)
    mean, variance, truth = (layer[valid] for layer in layers)
    parts = np.array_split(np.argsort(variance, kind="stable"), 9)
    mv, mse = (np.array([of[part].mean() for part in parts]) for of in (variance, (mean - truth) ** 2))
    (found,) = [
        float(row["value"])
        for row in rows_of(tmp_path / "results/small/tables/metrics.csv")
        if (row["name"], row["metric"], row["bins"]) == ("a1", "ence", "equal-split-9")
    ]
    assert found == pytest.approx((abs(np.sqrt(mv) - np.sqrt(mse)) / np.sqrt(mv)).mean(), rel=1e-9)


def test_shared_edges_are_the_same_for_every_tile(tile_folder, geouq, tmp_path):
    geouq("run", tile_folder(text="bins: {scope: experiment}\n"), "--quiet")
    rows = rows_of(tmp_path / "results/small/tables/bins.csv")

    edges = {row["upper"] for row in rows if row["bins"] == "equal-count-10" and row["bin"] == "3"}
    assert len(edges) == 3


def test_only_evaluates_what_is_named(tile_folder, geouq, tmp_path):
    config = tile_folder(text=SHORT + "regions: {west: [a1, a2], east: [b1]}\n")

    done = geouq("run", config, "--only", "west", "--quiet")

    assert "2 tiles evaluated" in done.stdout
    names = {row["name"] for row in rows_of(tmp_path / "results/small/tables/metrics.csv")}
    assert names == {"all", "west", "a1", "a2"}


def test_many_configs_have_a_last_line_each(tile_folder, geouq, tmp_path):
    config = tile_folder(text=SHORT)
    other = tmp_path / "other.yaml"
    other.write_text("extends: experiment.yaml\nname: other\ntiles: [a1]\n")

    lines = geouq("run", config, other, "--quiet").stdout.splitlines()

    last = [line for line in lines if "tile" in line]
    assert last[0].startswith(f"{config}: 3 tiles evaluated")
    assert last[1].startswith(f"{other}: 1 tile evaluated")
    assert lines[0].endswith(" in height.")  # the answer, then a line for each variable
    assert lines[1].startswith("height: ")


@pytest.mark.parametrize(("limit", "code"), [("min: 0.01", 0), ("min: 0.999", 1)])
def test_a_gate_that_fails_is_the_exit_code(tile_folder, geouq, limit, code):
    config = tile_folder(text=f"gates: [{{metric: coverage_90, variable: cover, {limit}}}]\n")

    done = geouq("run", config, "--quiet")

    assert done.exit_code == code
    assert ("gate failed: coverage_90 of cover in all" in done.output) == bool(code)


def test_a_gate_on_the_interval_fails_where_the_estimate_passes_but_may_be_lower(tile_folder, geouq, tmp_path):
    config = tile_folder(text="cell_size: 16\n", shape=(96, 96))
    geouq("run", config, "--quiet")
    (row,) = (
        row
        for row in rows_of(tmp_path / "results/small/tables/metrics.csv")
        if (row["level"], row["variable"], row["metric"]) == ("all", "cover", "coverage_90")
    )
    between = (float(row["ci_low"]) + float(row["value"])) / 2
    gate = f"{{metric: coverage_90, variable: cover, min: {between}}}"
    config.write_text(config.read_text() + f"gates: [{gate}, {gate[:-1]}, on: interval}}]\n")
    done = geouq("run", config, "--quiet")
    estimate, interval = json.loads((tmp_path / "results/small/gates.json").read_text())

    assert done.exit_code == 1
    assert (estimate["passed"], interval["passed"]) == (True, False)
    assert interval["low"] < between < interval["value"] < interval["high"]
    assert f"with the interval {interval['low']:.6g} to" in done.output


def test_gates_and_thresholds_go_together(tile_folder, geouq):
    gate = "{metric: coverage_90, variable: cover, min: 0.01}, {metric: threshold_brier_10, variable: cover, max: 1}"
    variables = "variables: {height: {}, cover: {thresholds: [10]}, gini: {}}\n"

    assert geouq("run", tile_folder(text=f"{variables}gates: [{gate}]\n"), "--quiet").exit_code == 0


def test_settings_of_the_intervals_stand_in_the_configuration(tile_folder, geouq, tmp_path):
    text = "cell_size: 16\nintervals: {resamples: 200, block: 16 px, level: 0.8, method: percentile}\n"
    geouq("run", tile_folder(text=text, shape=(96, 96)))
    (row,) = (
        row
        for row in rows_of(tmp_path / "results/small/tables/metrics.csv")
        if row["level"] == "all" and row["variable"] == "cover" and row["metric"] == "bias"
    )

    assert (row["ci_level"], row["ci_method"]) == ("0.8", "percentile")
    assert float(row["ci_low"]) < float(row["value"]) < float(row["ci_high"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("block: 5 miles", "block: '5 miles' is no side of blocks; write auto, tile, or a length such as"),
        ("block: 0 km", "block: '0 km' is no side of blocks"),
        ("block: 500", "block: '500' is no side of blocks"),
        ("resamples: 10", "resamples: '10' is less than 100"),
        ("level: 95", "level: 95 is not between 0 and 1; write 0.95?"),
        ("method: bootstrap-t", "method: 'bootstrap-t' is not known; known are bca, percentile"),
        ("seed: -1", "seed: '-1' is less than 0"),
    ],
)
def test_intervals_that_mean_nothing_are_refused(tile_folder, geouq, wrong, message):
    done = geouq("check", tile_folder(text=f"intervals: {{{wrong}}}\n"))

    assert done.exit_code == 2
    assert f"intervals.{message}" in done.output


def test_where_no_tile_can_be_read_everything_is_written_still(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1", "b2"))
    for path in (tmp_path / "truth").iterdir():
        path.write_bytes(b"")

    done = geouq("run", config, "--quiet")

    assert done.exit_code == geouq("check", config).exit_code == geouq("report", "results/small").exit_code == 3
    assert "0 tiles evaluated, 2 failed" in done.stdout
    assert [row["tile"] for row in rows_of(tmp_path / "results/small/tables/failures.csv")] == ["a1", "b2"]
    assert "b2.tif cannot be read" in (tmp_path / "results/small/report/index.html").read_text(encoding="utf-8")


def test_names_of_any_kind_leave_no_folder_and_break_no_page(tile_folder, geouq, tmp_path):
    text = """variables: {"Mg/ha <x>&'": {units: "<b>%&"}, "..": {units: ""}}
regions: {"../up": ["ö 1#%'&"], "<i>west": [b], index: [b]}
"""
    config = tile_folder(("ö 1#%'&", "b"), text=text)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}

    done = geouq("run", config, "--quiet")

    assert done.exit_code == 0
    new = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert all(path.is_relative_to(tmp_path / "results" / "small") for path in new)
    pages = [path.read_text(encoding="utf-8") for path in new if path.suffix == ".html"]
    assert len(pages) == 4
    assert not any("<i>west" in page or "<b>%" in page or "<x>" in page for page in pages)
    for page in (path for path in new if path.suffix == ".html"):
        for target in re.findall(r'(?:href|src)="([^"#:]+)"', page.read_text(encoding="utf-8")):
            assert (page.parent / unquote(html.unescape(target))).exists()


def test_tiles_of_any_shape_and_emptiness_are_evaluated(tmp_path, geouq, write_raster):
    """One pixel, one row, one column, nothing valid, one valid pixel, a constant variance; nothing warns."""
    shapes = {"pixel": (1, 1), "row": (1, 700), "column": (700, 1), "empty": (9, 9), "single": (9, 9), "flat": (33, 17)}
    for name, shape in shapes.items():
        mean, variance, truth = heteroscedastic(shape, missing=0)
        if name in {"empty", "single"}:
            truth[1:] = truth[:, 1:] = np.nan
        if name == "empty":
            truth[:] = np.nan
        if name == "flat":
            variance[:] = 1
        for layer, array in (("mean", mean), ("variance", variance), ("truth", truth)):
            write_raster(tmp_path / layer / f"{name}.tif", array)
    data = "".join(f"  {layer}: {layer}/{{tile}}.tif\n" for layer in ("mean", "variance", "truth"))
    (tmp_path / "odd.yaml").write_text(f"version: 1\nname: odd\ndata:\n{data}output: {{maps: [z, std, cells]}}\n")

    assert geouq("run", "odd.yaml", "--quiet").exit_code == 0
    n = {row["name"]: row["n"] for row in rows_of("results/odd/tables/metrics.csv") if row["metric"] == "bias"}
    assert n == {"all": "1963", "pixel": "1", "row": "700", "column": "700", "empty": "0", "single": "1", "flat": "561"}


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_standard_error_holds_only_what_geouq_says(tile_folder, tmp_path):
    """No warning of a library, no line of GDAL: of rasters without a place, and of a damaged one."""
    config = tile_folder(("a1", "a2"), text=SHORT)
    for path in [*(tmp_path / "predictions").iterdir(), *(tmp_path / "truth").iterdir()]:
        with rasterio.open(path) as source:
            bands, profile = source.read(), source.profile | {"crs": None, "transform": None, "compress": "deflate"}
        with rasterio.open(path, "w", **profile) as target:
            target.write(bands)
    damaged = tmp_path / "truth" / "a2.tif"
    content = bytearray(damaged.read_bytes())
    content[3000:9000] = bytes(6000)
    damaged.write_bytes(content)

    command = [sys.executable, "-m", "geouq", "run", str(config), "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 3
    lines = done.stderr.splitlines()
    assert [line for line in lines if "a2" in line] == [line for line in lines if not line.startswith("note: ")]
