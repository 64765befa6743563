"""What the ideal of a metric says of two values: which of them is better."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from geouq.metrics.evaluation import Value
from geouq.metrics.record import Metric

Floats = NDArray[np.float64]

_NUMBERS: Mapping[str, float] = {"0": 0.0, "1": 1.0, "1/2": 0.5, "1/sqrt(12)": float(1 / np.sqrt(12))}
_OF_LEVEL: Mapping[str, Callable[[float], float]] = {
    "level": lambda level: level,
    "(1-level)/2": lambda level: (1 - level) / 2,
}

_OPPOSITE: Mapping[str, str] = {
    "over-confident": "under-confident",
    "over-prediction": "under-prediction",
    "under-prediction": "over-prediction",
    "errors larger than predicted": "errors smaller than predicted",
    "errors smaller than predicted": "errors larger than predicted",
    "covers too much": "covers too little",
    "truth too often in the tails": "truth too often in the middle",
}


def deviation(metric: Metric, *, is_above: bool) -> str:
    """Return what a value above or below the ideal means, such as over-confident; empty where no word is defined.

    >>> from geouq.metrics import metrics_of
    >>> from geouq.summary.form import GAUSSIAN
    >>> [
    ...     deviation(metric, is_above=False)
    ...     for metric in metrics_of(GAUSSIAN)
    ...     if metric.name in ("z_std", "coverage", "crps")
    ... ]
    ['under-confident', 'covers too little', '']
    """
    if metric.above not in _OPPOSITE:
        return ""
    return metric.above if is_above else _OPPOSITE[metric.above]


def is_judged(metric: Metric) -> bool:
    """Return whether one value of a metric is better than another."""
    return metric.is_judged and metric.ideal != "none"


def ideal_value(metric: Metric, level: float | None = None) -> float | None:
    """Return the ideal value of a metric at a level; None if the ideal is `small` or `large`.

    >>> from geouq.metrics import metrics_of
    >>> from geouq.summary.form import GAUSSIAN
    >>> {
    ...     metric.name: ideal_value(metric, 0.9)
    ...     for metric in metrics_of(GAUSSIAN)
    ...     if metric.name in ("zms", "coverage", "crps")
    ... }
    {'zms': 1.0, 'coverage': 0.9, 'crps': None}
    """
    if metric.ideal in _OF_LEVEL and level is not None:
        return _OF_LEVEL[metric.ideal](level)
    return _NUMBERS.get(metric.ideal)


def change(metric: Metric, difference: float) -> str:
    """Return in one word how a metric differs if no value of the metric is better than another.

    >>> from geouq.metrics import metrics_of
    >>> from geouq.summary.form import GAUSSIAN
    >>> {change(metric, -0.1) for metric in metrics_of(GAUSSIAN) if metric.name in ("width", "ence_null")} == {
    ...     "sharper",
    ...     "smaller",
    ... }
    True
    """
    larger, smaller = ("wider", "sharper") if metric.above == "wide" else ("larger", "smaller")
    return larger if difference > 0 else smaller


def loss(value: Value, numbers: Floats) -> Floats | None:
    """How far numbers of the kind of `value` are from ideal: less is better; None where none is better than another.

    That is the distance to a number that is ideal, the number itself where small is ideal, and less it where large is.
    """
    if not is_judged(value.metric):
        return None
    if value.metric.ideal in ("small", "large"):
        return numbers if value.metric.ideal == "small" else -numbers
    ideal = ideal_value(value.metric, value.level)
    return None if ideal is None else np.abs(numbers - ideal)
