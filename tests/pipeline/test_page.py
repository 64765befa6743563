"""The page of a run: one short module that calls the stages in their order, and nothing else."""

import ast
from pathlib import Path

import pytest

from geouq.pipeline import run as page
from geouq.pipeline.data import Options
from geouq.runs.progress import Silent

SOURCE = Path(page.__file__).read_text(encoding="utf-8")
STAGES = ["prepare", "sweep", "evaluate", "publish"]
TYPES = {
    "geouq.config": {"Configuration"},
    "geouq.core.compiled": {"mark_compiled"},
    "geouq.core.processes": {"Helpers"},
    "geouq.pipeline.data": {"DEFAULTS", "Job", "Options"},
    "geouq.pipeline.early": {"helping_early"},
    "geouq.pipeline.results": {"Results"},
    "geouq.runs.progress": {"Reporter"},
}
TEXT = "variables: [height]\noutput: {maps: none, figures: none}\nintervals: {resamples: 100}\n"


@pytest.fixture
def called(monkeypatch):
    """Names of the stages of the page, in the order in which they are called."""
    names = []

    def noted(name, stage):
        def call(*arguments):
            names.append(name)
            return stage(*arguments)

        return call

    for name in STAGES:
        monkeypatch.setattr(page, name, noted(name, getattr(page, name)))
    return names


def test_the_page_is_at_most_a_hundred_lines():
    assert len(SOURCE.splitlines()) <= 100


def test_the_page_imports_nothing_but_the_stages_their_helpers_and_the_types_that_they_pass():
    imported = {
        node.module: {alias.name for alias in node.names}
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.ImportFrom)
    }

    assert not [node for node in ast.walk(ast.parse(SOURCE)) if isinstance(node, ast.Import)]
    assert imported.keys() == TYPES.keys() | {f"geouq.pipeline.{stage}" for stage in STAGES}
    assert {module: names for module, names in imported.items() if module in TYPES} == TYPES


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_imports_no_other_stage(stage):
    source = (Path(page.__file__).parent / f"{stage}.py").read_text(encoding="utf-8")
    modules = {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}

    others = {f"geouq.pipeline.{other}" for other in (*STAGES, "run") if other != stage}
    assert not modules & others


def test_a_run_calls_the_stages_in_their_order_and_a_report_the_last_two(tile_folder, called):
    results = page.run(tile_folder(("a1",), text=TEXT))
    assert called == STAGES

    called.clear()
    again = page.report(results.folder)

    assert called == STAGES[2:]
    assert again.tables["metrics"] == results.tables["metrics"]


def test_a_run_sweeps_once_more_where_files_changed(tile_folder, called):
    config = tile_folder(("a1", "a2"), text=TEXT)
    truth = config.parent / "truth" / "a1.tif"
    data = truth.read_bytes()

    class Touching(Silent):
        """Write the truth of the first tile anew when the sweep begins."""

        times = 1

        def stage(self, name, total):
            if name == "sweep" and total and self.times:
                self.times -= 1
                truth.unlink()
                truth.write_bytes(data)

    results = page.run(config, Options(workers=1), Touching())

    assert called == ["prepare", "sweep", "sweep", "evaluate", "publish"]
    assert results.record.tiles == ("a1", "a2")
