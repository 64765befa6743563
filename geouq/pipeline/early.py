"""Processes that begin before a run: they import and compile what the work after the sweep needs.

This module imports little, so that they start while this process still imports.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from geouq.config import Experiment
from geouq.core.compiled import compile_ahead, is_compiled, is_kept
from geouq.core.processes import Helpers, helpers
from geouq.core.usage import machine_memory

WORTH_SHARING = 16  # variables in regions: a second or two
ZONES = 8  # regions that a layer of polygons or classes is taken to have
ROOM = 2 << 30  # bytes for each process; with less, none starts before the memory of the run is planned


@contextmanager
def helping_early(experiment: Experiment, workers: int | None, memory: str | None) -> Iterator[Helpers]:
    """Provide processes for a run that is long or compiles; no process where the memory is scarce or limited.

    A run that compiles takes one of them if it is not long.
    """
    processors = os.cpu_count() or 1
    most = 0 if memory else min(workers or processors, processors, machine_memory() // ROOM) - 1
    is_long = regions_of(experiment) * len(experiment.variables or ()) >= WORTH_SHARING
    # that takes numba, which is large: not before the processes of a long run have begun
    count = most if is_long or most < 1 else int(is_kept() and not is_compiled())
    with helpers(count) as shared:
        shared.make_ready(make_ready)
        yield shared


def regions_of(experiment: Experiment) -> int:
    """Return about how many regions there are, with the whole."""
    return 1 + len(experiment.tile_lists) + ZONES * len(experiment.zone_layers)


def make_ready() -> None:
    """Import and compile what computes numbers, then import what draws."""
    import_module("geouq.numbers.unit_numbers")
    compile_ahead()
    import_module("geouq.drawing")
    import_module("geouq.pipeline.figures")
