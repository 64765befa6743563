"""The numbers with geouq, named as the peers name them."""

from pathlib import Path

from benchmarks.choices import LEVELS
from benchmarks.peers import Floats, Numbers
from benchmarks.sweeps import sweep_of
from benchmarks.tiles import write_config
from geouq import summarize_arrays
from geouq.config import EQUAL_COUNT_10, EQUAL_WIDTH_10
from geouq.metrics import MetricOptions, evaluate_metrics
from geouq.summary import Summary

CHOICES = MetricOptions(LEVELS, (EQUAL_WIDTH_10, EQUAL_COUNT_10))


def metrics_of(summary: Summary) -> Numbers:
    """Every metric of a summary."""
    values = evaluate_metrics(summary, CHOICES)
    return {f"{value.name} {value.bins or value.group}".strip(): float(value.value) for value in values}


def in_geouq(mean: Floats, variance: Floats, truth: Floats) -> Numbers:
    """Every metric with a sweep of the arrays."""
    return metrics_of(summarize_arrays(mean, variance, truth, LEVELS).whole)


def of_tile(folder: Path, name: str, threads: int) -> list[Numbers]:
    """Every metric of each variable of a tile: configuration, headers, sweep and numbers."""
    (tile,) = sweep_of(write_config(folder, name), threads)()
    return [metrics_of(variable.whole) for variable in tile.variables.values()]
