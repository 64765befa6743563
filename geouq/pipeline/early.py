"""Processes that start before a run: they import and compile the code for the work after the sweep.

This module imports little, so that the processes start while this one still imports.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module

from geouq.config import Experiment
from geouq.core.compiled import compile_ahead, is_compiled, is_kept
from geouq.core.processes import Helpers, helpers
from geouq.core.usage import keep_what_is_imported, machine_memory

WORTH_SHARING = 16  # variables in regions: a second or two
ZONES = 8  # regions that a layer of polygons or classes is taken to have
ROOM = 2 << 30  # bytes for each process; with less, none starts before the memory of the run is planned


@contextmanager
def helping_early(experiment: Experiment, workers: int | None, memory: str | None) -> Iterator[Helpers]:
    """Provide processes for a run that is long, and one for a short run that compiles.

    There is none if the memory is limited or scarce.
    """
    processors = os.cpu_count() or 1
    most = 0 if memory else min(workers or processors, processors, machine_memory() // ROOM) - 1
    is_long = regions_of(experiment) * len(experiment.variables or ()) >= WORTH_SHARING
    # `is_kept` imports numba, which takes time: the processes of a long run begin first
    count = most if is_long or most < 1 else int(is_kept() and not is_compiled())
    with helpers(count) as shared:
        shared.prepare(import_and_compile)
        yield shared


def regions_of(experiment: Experiment) -> int:
    """Return about how many regions there are, with the whole."""
    return 1 + len(experiment.tile_lists) + ZONES * len(experiment.zone_layers)


def import_and_compile() -> None:
    """Import and compile the code that computes numbers, then import the code that writes maps and draws."""
    import_module("geouq.numbers.unit_numbers")
    import_module("geouq.aggregates")
    compile_ahead()
    for package in ("pyogrio", "pyarrow.parquet"):  # optional
        with suppress(ImportError):
            import_module(package)
    import_module("geouq.drawing")
    import_module("geouq.pipeline.figures")
    keep_what_is_imported()  # loky collects garbage after its first work
