"""Summaries that keep all there is to keep, and every number of the registry, by its name."""

import numpy as np

from geouq.arrays.points import Points, summarize_points
from geouq.config import BinScheme, Groups
from geouq.metrics import MetricOptions, evaluate_metrics
from geouq.summary import GROUPED_BY
from geouq.sweep.settings import Settings

LEVELS = (0.5, 0.9)
SCHEMES = tuple(BinScheme(scheme=scheme, count=10) for scheme in ("equal-width", "equal-count", "log-width"))
CHOICES = MetricOptions(LEVELS, SCHEMES, groups=Groups(by=GROUPED_BY), ordering=True)


def summary_of(mean, variance, truth, *, tail=10, thresholds=()):
    """Of arrays of any shape."""
    points = (np.ravel(array) for array in (mean, variance, truth))
    return summarize_points(
        Points(*points), Settings(LEVELS, 16, tail, groups=GROUPED_BY, ordering=True, thresholds=thresholds)
    )


def values_of(summary, choices=CHOICES):
    """Metric and number by (name, bins, group)."""
    found = evaluate_metrics(summary, choices)
    return {(value.name, value.bins, value.group): (value.metric, float(value.value)) for value in found}


def numbers_of(summary, choices=CHOICES):
    """Number by (name, bins, group)."""
    return {name: number for name, (_, number) in values_of(summary, choices).items()}
