"""What a run hands back to Python, and results.json."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from forecasts import heteroscedastic

import geouq
from geouq.arrays.points import summarize_arrays
from geouq.config import EQUAL_COUNT_10, Variable, load_experiment
from geouq.core.failures import Failure
from geouq.metrics import MetricOptions
from geouq.numbers.gates import GateResult
from geouq.pipeline.results import Results, write_outcome
from geouq.regions import EvaluationUnit
from geouq.runs.progress import Silent
from geouq.runs.provenance import RunRecord
from geouq.tables.rows import metric_rows, sorted_table
from geouq.verdict import verdicts_of

P95 = Variable(name="P95", band=1, units="m")


@pytest.fixture(scope="module")
def metrics():
    """Rows of the whole, a region and a tile."""
    variables = {P95.name: summarize_arrays(*heteroscedastic((80, 80)), (0.5, 0.9)).whole}
    pools = [
        EvaluationUnit(level, name, ("t",), variables)
        for level, name in (("all", "all"), ("region", "west"), ("tile", "t"))
    ]
    choices = {P95.name: MetricOptions((0.5, 0.9), (EQUAL_COUNT_10,))}
    return sorted_table("metrics", [row for pool in pools for row in metric_rows(pool, [P95], choices)])


class Heard(Silent):
    """Keeps the stages of a run and how many of their steps are left."""

    def __init__(self):
        self.left = {}

    def stage(self, name, total):
        self.left[name], self.last = total, name

    def advance(self, _):
        self.left[self.last] -= 1


def test_progress_goes_on_until_the_last_file_is_written(tile_folder):
    heard = Heard()
    geouq.run(tile_folder(("a1",)), reporter=heard)

    last = ["numbers", "tables", "cell maps", "pages", "figures", "results"]
    assert list(heard.left.items())[-6:] == [(stage, 0) for stage in last]


def test_a_path_or_an_experiment_gives_tables_as_frames_and_the_files_written(tile_folder):
    config = tile_folder(("a1",))

    results = geouq.run(str(config))

    assert list(results.frames) == list(results.tables)
    written = pd.read_csv(results.folder / "tables" / "metrics.csv")
    np.testing.assert_array_equal(results.metrics["value"].astype(float), written["value"])
    assert results.metrics["metric"].tolist() == written["metric"].tolist()
    assert all(path.is_file() for path in results.files)
    kept = {path for path in results.folder.rglob("*") if path.is_file() and path.parent.name != "summaries"}
    left = {path.name for path in kept - set(results.files)}
    assert left == {"config.yaml", "run.json", ".geouq.lock"}
    again = geouq.run(load_experiment(config))
    pd.testing.assert_frame_equal(again.metrics, results.metrics)


def record(**changes):
    plain = {"name": "x", "tiles": ("t",), "variables": (P95,), "failures": (), "notes": (), "reused": 0}
    plain |= {"settings": {}, "inputs": {}, "started": "", "seconds": 1.0, "peak_memory_mib": 1.0}
    return RunRecord(**plain | {"config_sha256": "abc"} | changes)


def results_of(metrics, gates=(), failures=(), folder=Path(), **warnings):
    tables, verdicts = {"metrics": metrics}, verdicts_of(metrics.rows, ())
    return Results(folder, record(), tables, verdicts, tuple(gates), failures=failures, **{"warnings": ()} | warnings)


def gate(**changes):
    plain = {"metric": "coverage_90", "variable": "P95", "model": "", "region": "all", "bins": "", "min": 0.85}
    plain |= {"max": 0.95, "value": 0.96, "on": "estimate", "low": 0.9, "high": 0.99, "passed": False, "reason": ""}
    return GateResult(**plain | changes)


def test_results_tell_each_bound_of_a_gate_and_the_numbers_but_those_of_tiles(metrics, tmp_path):
    path = write_outcome(results_of(metrics, [gate()], folder=tmp_path))
    found = json.loads(path.read_text(encoding="utf-8"))

    assert (found["success"], found["gates_passed"], found["config_sha256"]) == (False, False, "abc")
    assert "geouq" in found["versions"]
    assert [(one["op"], one["limit"], one["value"], one["passed"]) for one in found["gates"]] == [
        (">=", 0.85, 0.96, True),
        ("<=", 0.95, 0.96, False),
    ]
    assert found["gates"][1]["name"] == "coverage_90 of P95 in all <= 0.95"
    assert {row["level"] for row in found["numbers"]} == {"all", "region"}
    assert {(one["level"], one["verdict"]) for one in found["verdicts"]} == {
        ("all", "cannot be tested"),
        ("region", "cannot be tested"),
    }
    (whole,) = (one for one in found["verdicts"] if one["level"] == "all" and one["variable"] == "P95")
    assert whole["effect"]["std_too_small_factor"] == whole["parts"]["spread"]["value"]
    assert len(found["numbers"]) == sum(row["level"] != "tile" for row in metrics.rows)


def test_each_number_stands_in_a_line_of_its_own(metrics, tmp_path):
    path = write_outcome(results_of(metrics, folder=tmp_path))

    rows = [json.loads(line.rstrip(",")) for line in path.read_text().splitlines() if line.startswith('  {"level"')]
    assert rows == json.loads(path.read_text())["numbers"]
    assert [row["value"] for row in rows] == [row["value"] for row in metrics.without_tiles()]


def test_results_hold_warnings_about_the_input_apart_from_notes_on_the_numbers(metrics):
    about_input, notes = ("height: different units",), ("read equal-count bins",)
    found = results_of(metrics, warnings=about_input + notes, input_warnings=about_input).outcome

    assert found["warnings"] == ["height: different units"]
    assert found["notes"] == ["read equal-count bins"]


@pytest.mark.parametrize(
    ("gates", "failures", "success"),
    [
        ([], (), True),
        ([gate(passed=True, max=None)], (), True),
        ([gate()], (), False),
        ([], (Failure("t", "sweep", "DataError", "why"),), False),
    ],
)
def test_a_run_succeeds_where_all_gates_pass_and_no_tile_failed(metrics, gates, failures, success):
    assert results_of(metrics, gates, failures).outcome["success"] is success


def test_a_gate_on_an_interval_tells_the_end_that_was_judged(metrics):
    low, high = results_of(metrics, [gate(on="interval")]).outcome["gates"]

    assert (low["value"], low["passed"]) == (0.9, True)
    assert (high["value"], high["passed"]) == (0.99, False)
    missing, _ = results_of(metrics, [gate(on="interval", low=None, high=None)]).outcome["gates"]
    assert (missing["value"], missing["passed"]) == (None, False)
