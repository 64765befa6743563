"""The kernel alone: one variable in memory, one thread, against peers that have the same arrays."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import dask.array as da
import numpy as np

from benchmarks.choices import Choice
from benchmarks.lazily import in_dask
from benchmarks.measure import RATIO, Table, compare_all, ratio_row
from benchmarks.notebook import in_notebook
from benchmarks.ours import in_geouq
from benchmarks.peers import Floats, in_numpy
from benchmarks.rasters import valid_forecast

CHUNK = 1024


def kernel_section(choice: Choice) -> Table:
    """Time of each peer by the time of the same or more with geouq."""
    layers = valid_forecast(choice.kernel_size)
    peers = _peers(*layers)
    there = {what: work for what, (work, _) in peers.items() if work is not None}
    ratios = dict(
        zip(there, compare_all(list(there.values()), partial(in_geouq, *layers), choice.times()), strict=True)
    )
    rows = [ratio_row(what, ratios.get(what, "not installed"), target) for what, (_, target) in peers.items()]
    return Table(
        "Kernel: peer / geouq with all metrics",
        f"One variable of {layers[0].size / 1e6:.1f} million valid pixels in memory, float32, one thread.",
        ("peer", *RATIO),
        tuple(rows),
    )


def _peers(mean: Floats, variance: Floats, truth: Floats) -> dict[str, tuple[Callable[[], object] | None, str]]:
    """Return what each peer does, None where it is not installed, and how many times longer it is to take."""
    lazy = [da.from_array(layer, chunks=CHUNK) for layer in (mean, variance, truth)]
    crps = {
        "scoringrules.crps_normal alone": _optional("scoringrules", "crps_normal"),
        "properscoring.crps_gaussian alone": _optional("properscoring", "crps_gaussian"),
    }
    std = np.sqrt(variance)
    return {
        "the notebook's four calls": (partial(in_notebook, [mean], [variance], [truth]), ">= 20"),
        "numpy, all metrics": (partial(in_numpy, mean, variance, truth), ">= 20"),
        "dask.array, all metrics, quantiles approximate": (
            partial(in_dask, *lazy, gaps=False, scheduler="synchronous"),
            ">= 15",
        ),
        **{what: (score and partial(score, truth, mean, std), "> 1") for what, score in crps.items()},
    }


def _optional(module: str, name: str) -> Callable[..., Any] | None:
    try:
        found: Callable[..., Any] = getattr(import_module(module), name)
    except ImportError:
        return None
    return found
