"""The commands as a user types them: one after the other, mistakes, help and schema."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr
import yaml

from geouq.core.compiled import is_compiled, mark_compiled
from geouq.pipeline.run import run as run_experiment

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))


def test_a_run_prints_a_verdict_for_each_variable_and_that_it_compiles(tile_folder, geouq, monkeypatch):
    monkeypatch.setattr("geouq.core.compiled.is_compiled", lambda: False)

    done = geouq("run", tile_folder(("a1",), text="variables: [height, cover]\noutput: {maps: none, figures: none}\n"))

    answer, *verdicts, last = done.stdout.splitlines()
    assert answer.startswith(("Not ", "No ", "Miscalibrated"))
    names = [line.partition(": ")[0] for line in verdicts]
    assert names == ["cover", "height"]  # the worst first, as on the page
    assert all("; 90 % intervals cover " in line for line in verdicts)
    assert ": 1 tile evaluated, 0 failed; see " in last
    assert done.stderr.splitlines()[0].endswith(
        "] compiling what this run needs; this takes half a minute, once on each machine"
    )


def test_code_counts_as_compiled_once_a_run_has_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("geouq.core.compiled._cache_folder", lambda: str(tmp_path))
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "window.nbi").touch()  # as a run leaves it that was cut off
    assert not is_compiled()
    mark_compiled()
    assert is_compiled()


def test_a_run_that_ends_records_that_its_code_is_compiled(tile_folder, geouq, monkeypatch):
    marked = []
    monkeypatch.setattr("geouq.pipeline.run.mark_compiled", lambda: marked.append(1))
    text = "variables: [height]\noutput: {maps: none, figures: none}\n"

    config = tile_folder(("a1",), text=text)
    geouq("run", config)
    assert marked == [1]
    monkeypatch.setattr("geouq.pipeline.run.publish", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_experiment(config)
    assert marked == [1]


def test_from_two_folders_to_a_report(tile_folder, geouq, tmp_path):
    tile_folder()
    written = geouq("init", "predictions", "truth", "--out", "forest.yaml")
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
        figures/all/height_reliability.png figures/all/gini_calibration.png report/index.html"""
    assert not [name for name in expected.split() if not (folder / name).is_file()]
    assert [path.name for path in folder.rglob(".*")] == [".geouq.lock"]
    with xr.open_dataset(folder / "summaries" / "a1.nc") as summary:
        assert summary["moments_n"].sizes == {"variable": 3}


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
        (["init", "nowhere", "truth"], "there is no folder or file nowhere"),
        (["init", "truth", "truth"], "NAME_mean.tif"),
        (["init"], "Missing argument"),
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

    monkeypatch.setattr("geouq.sweep.workers.PATIENCE", 1.0)

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


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.name)
def test_the_schema_knows_the_keys_of_the_configurations_that_are_shipped(geouq, config):
    schema = json.loads(geouq("schema").output)
    written = yaml.safe_load(config.read_text(encoding="utf-8"))

    assert schema["$schema"].endswith("2020-12/schema")
    required = set() if "extends" in written else set(schema["then"]["required"])
    assert required <= set(written) <= set(schema["properties"])
    layers = [set(schema["$defs"][section]["properties"]) for section in ("Data", "FormData")]
    assert any(set(written.get("data", ())) <= known for known in layers)


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from click.testing import CliRunner; from geouq.cli import main; "
        "r = CliRunner().invoke(main, ['--help']); assert 'run' in r.output; "
        "print([m for m in ('numpy', 'numba', 'rasterio', 'xarray', 'dask', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
