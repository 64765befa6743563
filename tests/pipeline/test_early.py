"""Processes begin before a run where it is long or compiles, and compile what the numbers will call."""

import sys
import textwrap
from pathlib import Path
from subprocess import run

import pytest

from geouq.config import load_experiment
from geouq.pipeline import early

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "configs" / "samples.yaml"
CALLED = """
    import sys
    from pathlib import Path
    import geouq
    from geouq.core import compiled
    from geouq.core.compiled import _Compiled, _declared

    ROOMS = ("geouq.inference", "geouq.metrics", "geouq.summary")
    geouq.run(sys.argv[1], geouq.Options(out=Path(sys.argv[2]), workers=1))
    for function, types in _declared:
        called = {str(one) for one in function._compiler().signatures}
        declared = str(compiled.arguments_of(types))
        if called != {declared}:
            print("declared", function.__qualname__, declared, "called", *called)

    declared = {id(function) for function, _ in _declared}
    modules = [module for name, module in sys.modules.items() if name.startswith(ROOMS)]
    found = {id(one): one for module in modules for one in vars(module).values() if isinstance(one, _Compiled)}
    for key, one in found.items():
        if key not in declared and one._made is not None and one._made.signatures:
            print("not declared", one.__qualname__)
"""


@pytest.fixture
def counts(counts_in, monkeypatch):
    """Numbers of processes that are asked for; none is started."""
    monkeypatch.setattr(early, "machine_memory", lambda: 64 << 30)
    monkeypatch.setattr(early.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(early, "is_kept", lambda: True)
    monkeypatch.setattr(early, "is_compiled", lambda: True)
    return counts_in(early)


def count_of(counts, variables=5, workers=4, memory=None):
    experiment = load_experiment(SAMPLES)
    experiment = experiment.model_copy(update={"variables": experiment.variables[:variables]})
    with early.helping_early(experiment, workers, memory):
        return counts[-1]


def test_a_long_run_has_a_process_for_each_worker_but_the_first(counts):
    assert count_of(counts) == 3
    assert count_of(counts, workers=1) == 0
    assert count_of(counts, workers=64) == 3  # more than there are processors would wait for each other


def test_a_short_run_has_a_process_only_if_it_compiles(counts, monkeypatch):
    assert count_of(counts, variables=1) == 0

    monkeypatch.setattr(early, "is_compiled", lambda: False)

    assert count_of(counts, variables=1) == 1
    assert count_of(counts, variables=1, workers=1) == 0


def test_where_nothing_is_kept_no_process_compiles_ahead(counts, monkeypatch):
    monkeypatch.setattr(early, "is_compiled", lambda: False)
    monkeypatch.setattr(early, "is_kept", lambda: False)

    assert count_of(counts, variables=1) == 0


def test_no_process_begins_early_where_memory_is_limited_or_scarce(counts, monkeypatch):
    assert count_of(counts, memory="8GB") == 0

    monkeypatch.setattr(early, "machine_memory", lambda: 3 << 30)

    assert count_of(counts) == 0


def test_a_run_calls_after_its_sweep_what_is_compiled_ahead_and_with_these_types(tmp_path):
    # what a compiled function calls is compiled with it, but not called where the function is loaded
    run([sys.executable, "-c", "from geouq.pipeline.early import import_and_compile; import_and_compile()"], check=True)

    command = [sys.executable, "-c", textwrap.dedent(CALLED), str(SAMPLES), str(tmp_path / "out")]
    done = run(command, check=True, capture_output=True, text=True)

    assert done.stdout == ""
