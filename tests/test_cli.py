"""The commands as a user types them: what they write, what they say, how they end."""

import csv
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
import rasterio
import xarray as xr
import yaml
from click.testing import CliRunner
from forecasts import heteroscedastic

from geouq.cli import main

CONFIGS = sorted((Path(__file__).parents[1] / "configs").glob("*.yaml"))
SHORT = "variables: [height]\noutput: {maps: none}\n"


@pytest.fixture
def geouq(tmp_path, monkeypatch):
    """Run a command in the test's folder; a traceback is never an answer."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        assert "Traceback" not in result.output
        return result

    return run


def rows_of(path):
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_from_two_folders_to_a_report(tile_folder, geouq, tmp_path):
    tile_folder()
    written = geouq("init", "predictions", "truth")
    (tmp_path / "forest.yaml").write_text(written.output, encoding="utf-8")
    checked = geouq("check", "forest.yaml")
    done = geouq("run", "forest.yaml", "--quiet")

    assert written.exit_code == checked.exit_code == done.exit_code == 0
    assert "tiles      3" in checked.output
    assert "height (m)" in checked.output
    assert done.stdout.splitlines()[-1].startswith("forest.yaml: 3 tiles evaluated, 0 failed")
    folder = tmp_path / "results" / "predictions"
    expected = """config.yaml run.json summaries/a1.nc
        tables/metrics.csv tables/metrics.parquet tables/metrics.md tables/bins.csv
        tables/curves.csv tables/excluded.csv tables/failures.csv maps/cells_height.tif
        figures/all/height_reliability.png figures/all/gini_pit.png report/index.html"""
    assert not [name for name in expected.split() if not (folder / name).is_file()]
    assert not list(folder.rglob(".*"))
    with xr.open_dataset(folder / "summaries" / "a1.nc") as summary:
        assert summary["n"].sizes == {"variable": 3}


def test_tables_have_the_columns_of_the_contract(tile_folder, geouq, tmp_path):
    geouq("run", tile_folder(text="regions: {west: [a1, a2]}\n"), "--quiet")
    metrics = rows_of(tmp_path / "results/small/tables/metrics.csv")

    columns = "level name variable metric value units bins group ci_low ci_high ci_level ci_method n"
    assert list(metrics[0]) == columns.split()
    assert [(row["level"], row["name"]) for row in metrics[:: len(metrics) // 5]][:5] == [
        ("all", "all"), ("region", "west"), ("tile", "a1"), ("tile", "a2"), ("tile", "b1"),
    ]  # fmt: skip
    assert {row["bins"] for row in metrics if row["metric"] == "ence"} == {"equal-width-10", "equal-count-10"}
    for row in metrics:
        assert repr(float(row["value"])) == row["value"]
    n = {row["name"]: int(row["n"]) for row in metrics if row["variable"] == "height" and row["metric"] == "bias"}
    assert n["all"] == n["a1"] + n["a2"] + n["b1"]
    assert n["west"] == n["a1"] + n["a2"]


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
    assert "1 tiles evaluated, 2 failed" in done.stdout
    assert {row["name"] for row in rows_of(tmp_path / "results/small/tables/metrics.csv")} == {"all", "a1"}


def spoil(path):
    """Overwrite the pixels of a compressed file so that none can be read, and nothing else of it."""
    with rasterio.open(path) as source:
        where = [
            (int(source.get_tag_item(f"BLOCK_OFFSET_0_{row}", "TIFF", bidx=band)), 40)
            for band in source.indexes
            for row in range(-(-source.height // source.block_shapes[0][0]))
        ]
    times = path.stat()
    with path.open("r+b") as file:
        for offset, length in where:
            file.seek(offset)
            file.write(b"\xff" * length)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_a_second_run_with_other_regions_bins_and_levels_reads_no_pixel(tile_folder, geouq, tmp_path):
    """All rasters are spoiled in between: a run that read one pixel would fail."""
    config = tile_folder(text="variables: [height]\noutput: {maps: [cells, error]}\n")
    for path in [*tmp_path.glob("predictions/*.tif"), *tmp_path.glob("truth/*.tif")]:
        rasterio.shutil.copy(path, path.with_suffix(".new"), driver="GTiff", compress="deflate")
        path.with_suffix(".new").replace(path)
    geouq("run", config, "--quiet")
    first = {tuple(row.items()) for row in rows_of(tmp_path / "results/small/tables/metrics.csv")}
    for path in [*tmp_path.glob("predictions/*.tif"), *tmp_path.glob("truth/*.tif")]:
        spoil(path)

    config.write_text(
        config.read_text() + "regions: {east: [b1]}\nlevels: [0.9]\n"
        "bins: [{scheme: equal-width, count: 10}, {scheme: equal-width, count: 20}, {scheme: log-width, count: 7}]\n"
    )
    again = geouq("run", config)

    assert again.exit_code == 0, again.output
    assert "3 of 3 tiles are summarised already" in again.output
    table = rows_of(tmp_path / "results/small/tables/metrics.csv")
    assert {row["name"] for row in table} == {"all", "east", "a1", "a2", "b1"}
    assert {"equal-width-20", "log-width-7"} <= {row["bins"] for row in table}
    assert {row["metric"] for row in table if row["metric"].startswith("coverage_")} == {
        "coverage_90",
        "coverage_above_90",
        "coverage_below_90",
    }
    shared = [row for row in table if row["name"] != "east" and row["bins"] in ("", "equal-width-10")]
    assert {tuple(row.items()) for row in shared} <= first
    assert geouq("run", config, "--fresh").exit_code == 3


def test_another_level_is_swept_for(tile_folder, geouq):
    config = tile_folder(text=SHORT)
    geouq("run", config, "--quiet")
    config.write_text(config.read_text() + "levels: [0.7]\n")

    assert "summarised already" not in geouq("run", config).output


def test_a_changed_file_is_read_again(tile_folder, geouq, tmp_path):
    config = tile_folder(text=SHORT)
    geouq("run", config, "--quiet")
    shutil.copy(tmp_path / "truth" / "a1.tif", tmp_path / "a1.tif")
    os.utime(tmp_path / "a1.tif", ns=(1, 1))
    (tmp_path / "a1.tif").replace(tmp_path / "truth" / "a1.tif")

    assert "2 of 3 tiles are summarised already" in geouq("run", config).output


def test_report_writes_the_same_tables_again(tile_folder, geouq, tmp_path):
    geouq("run", tile_folder(text="regions: {west: [a1, a2]}\n"), "--quiet")
    folder = tmp_path / "results" / "small"
    first = {path.name: path.read_bytes() for path in (folder / "tables").iterdir()}
    shutil.rmtree(folder / "tables")
    shutil.rmtree(tmp_path / "predictions")

    again = geouq("report", folder, "--quiet")

    assert again.exit_code == 0
    assert {path.name: path.read_bytes() for path in (folder / "tables").iterdir() if path.suffix != ".parquet"} == {
        name: content for name, content in first.items() if not name.endswith(".parquet")
    }


def test_exact_bins_are_said_to_be_exact(tile_folder, geouq, tmp_path):
    schemes = "[{scheme: equal-count}, {scheme: log-width, count: 7}]"
    config = tile_folder(text=SHORT + f"regions: {{west: [a1, a2]}}\nbins: {{exact: true, schemes: {schemes}}}\n")

    assert geouq("run", config, "--quiet").exit_code == 0
    assert {row["edges"] for row in rows_of(tmp_path / "results/small/tables/bins.csv")} == {"exact"}
    again = geouq("run", config)
    assert "exact bins 1" not in again.output


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

    assert lines[0].startswith(f"{config}: 3 tiles")
    assert lines[1].startswith(f"{other}: 1 tiles")


@pytest.mark.parametrize(("limit", "code"), [("min: 0.01", 0), ("min: 0.999", 1)])
def test_a_gate_that_fails_is_the_exit_code(tile_folder, geouq, limit, code):
    config = tile_folder(text=f"gates: [{{metric: coverage_90, variable: cover, {limit}}}]\n")

    done = geouq("run", config, "--quiet")

    assert done.exit_code == code
    assert ("gate failed: coverage_90 of cover in all" in done.output) == bool(code)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "nothing.yaml"], "nothing.yaml"),
        (["run", "."], "."),
        (["check", "broken.yaml"], "broken.yaml:3"),
        (["run", "unknown.yaml"], "did you mean 'truth'"),
        (
            ["run", "experiment.yaml", "--only", "a9"],
            "a9: there is no such tile or region; known are a1, a2, b1",
        ),
        (["run", "experiment.yaml", "--memory", "lots"], "write a size such as"),
        (["run", "experiment.yaml", "--memory", "1MB"], "give more memory"),
        (["run", "experiment.yaml", "--scheduler", "tcp://127.0.0.1:1"], "no dask scheduler answers"),
        (["run", "experiment.yaml", "experiment.yaml", "--out", "x"], "--out names the folder of one run"),
        (["run", "experiment.yaml", "twin.yaml"], "give them different names"),
        (["run", "gate.yaml"], "gate.yaml:7: gates.0: there is no coverage_91"),
        (["check", "gate.yaml"], "did you mean 'coverage_95'"),
        (["report", "truth"], "holds no run"),
        (["init", "nowhere", "truth"], "there is no folder nowhere"),
        (["init", "truth", "truth"], "NAME_mean.tif"),
        (["init", "predictions", "predictions"], "no truth file is named after a tile"),
        (["run"], "Missing argument"),
        (["run", "experiment.yaml", "--workers", "0"], "--workers"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_gets_one_message_and_exit_code_2(tile_folder, geouq, tmp_path, monkeypatch, arguments, said):
    config = tile_folder()
    (tmp_path / "broken.yaml").write_text("version: 1\nname: [x\n")
    (tmp_path / "unknown.yaml").write_text(config.read_text().replace("truth:", "trth:"))
    (tmp_path / "twin.yaml").write_text(config.read_text())
    gate = "gates: [{metric: coverage_91, variable: cover, min: 0.5}]\n"
    (tmp_path / "gate.yaml").write_text(config.read_text() + gate)

    monkeypatch.setattr("geouq.workers.PATIENCE", 1.0)

    result = geouq(*arguments)

    assert result.exit_code == 2
    assert said in result.output
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "experiment.yaml", "--quiet", "--out", "experiment.yaml"],
        ["run", "experiment.yaml", "--quiet", "--out", "experiment.yaml/below"],
        ["report", "experiment.yaml"],
        ["check", "truth/a1.tif"],
        ["check", ""],
        ["init", "truth/a1.tif", "truth"],
    ],
    ids=" ".join,
)
def test_a_path_of_the_wrong_kind_is_a_mistake_too(tile_folder, geouq, arguments):
    tile_folder()

    result = geouq(*arguments)

    assert result.exit_code == 2
    assert result.stderr.startswith("geouq: ")
    assert result.stdout == ""


def test_a_damaged_run_is_told_by_report_and_mended_by_run(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1",), text=SHORT)
    geouq("run", config, "--quiet")
    folder = tmp_path / "results" / "small"
    damages = {"summaries/a1.nc": b"junk", "config.yaml": b"version: 1", "run.json": b"[]"}
    for name, content in [*damages.items(), ("run.json", b"{"), *((name, None) for name in damages)]:
        whole = (folder / name).read_bytes()
        (folder / name).unlink()
        if content is not None:
            (folder / name).write_bytes(content)
        told = geouq("report", "results/small", "--quiet")
        assert told.exit_code == 2
        assert Path(name).name in told.stderr
        (folder / name).write_bytes(whole)
    for name, content in damages.items():
        (folder / name).write_bytes(content)

    assert geouq("run", config, "--quiet").exit_code == 0
    assert geouq("report", "results/small", "--quiet").exit_code == 0


def test_where_no_tile_can_be_read_everything_is_written_still(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1", "b2"))
    for path in (tmp_path / "truth").iterdir():
        path.write_bytes(b"")

    done = geouq("run", config, "--quiet")

    assert done.exit_code == geouq("check", config).exit_code == geouq("report", "results/small").exit_code == 3
    assert "0 tiles evaluated, 2 failed" in done.stdout
    assert [row["tile"] for row in rows_of(tmp_path / "results/small/tables/failures.csv")] == ["a1", "b2"]
    assert "b2.tif cannot be read" in (tmp_path / "results/small/report/index.html").read_text(encoding="utf-8")


def test_a_failed_tile_is_tried_again(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1", "a2"), text=SHORT)
    path = tmp_path / "truth" / "a2.tif"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    first = geouq("run", config, "--quiet")
    path.write_bytes(whole)
    again = geouq("run", config)

    assert (first.exit_code, again.exit_code) == (3, 0)
    assert "1 of 2 tiles are summarised already" in again.stderr
    assert rows_of(tmp_path / "results/small/tables/failures.csv") == []


def test_a_mask_put_beside_a_file_is_noticed(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1", "a2"), text=SHORT)
    geouq("run", config, "--quiet")
    with (
        rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False),
        rasterio.open(tmp_path / "truth" / "a2.tif", "r+", IGNORE_COG_LAYOUT_BREAK=True) as target,
    ):
        target.write_mask(np.zeros((40, 50), np.uint8))

    assert geouq("run", config, "--quiet").exit_code == 0
    rows = rows_of(tmp_path / "results/small/tables/metrics.csv")
    assert {row["n"] for row in rows if (row["level"], row["name"]) == ("tile", "a2")} == {"0"}


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
    assert not any("<i>" in page or "<b>%" in page or "<x>" in page for page in pages)
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


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.name)
def test_the_schema_knows_the_keys_of_the_configurations_that_are_shipped(geouq, config):
    schema = json.loads(geouq("schema").output)
    written = yaml.safe_load(config.read_text(encoding="utf-8"))

    assert schema["$schema"].endswith("2020-12/schema")
    assert set(schema["then"]["required"]) <= set(written) <= set(schema["properties"])
    assert set(written["data"]) <= set(schema["$defs"]["Data"]["properties"])


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from click.testing import CliRunner; from geouq.cli import main; "
        "r = CliRunner().invoke(main, ['--help']); assert 'run' in r.output; "
        "print([m for m in ('numpy', 'numba', 'rasterio', 'xarray', 'dask', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_ctrl_c_ends_at_once_and_the_next_run_goes_on(tile_folder, tmp_path):
    names = [f"t{number}" for number in range(12)]
    config = tile_folder(names, shape=(300, 300), text="output: {maps: none}\n")
    command = [sys.executable, "-m", "geouq", "run", str(config), "--workers", "1"]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    said = ""
    while "sweep 2/" not in said:
        said = running.stderr.readline()
        assert said, "the run ended too early"
    running.send_signal(signal.SIGINT)
    sent = time.monotonic()
    rest = running.communicate(timeout=60)[1]

    assert time.monotonic() - sent < 15
    assert running.returncode == 130
    assert "stopped; finished tiles are kept" in rest
    assert "Traceback" not in rest
    folder = tmp_path / "results" / "small"
    kept = {path.stem for path in (folder / "summaries").glob("[!.]*.nc")}
    assert 2 <= len(kept) < 12
    assert not list(folder.rglob(".*"))
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"{len(kept)} of 12 tiles are summarised already" in again.stderr
