"""What the ideal of a metric says of two values: which of them is better."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from geouq.metrics.registry import Metric, Value

Floats = NDArray[np.float64]

# what the bins and the truth are like, not the forecast; and shares of a largest gap that may itself be large
NOT_JUDGED = frozenset({"ence_null", "uce_normalized", "ence_normalized", "threshold_uncertainty", "threshold_within"})
_NUMBERS: Mapping[str, float] = {"0": 0.0, "1": 1.0, "1/2": 0.5, "1/sqrt(12)": float(1 / np.sqrt(12))}
_OF_LEVEL: Mapping[str, Callable[[float], float]] = {
    "level": lambda level: level,
    "(1-level)/2": lambda level: (1 - level) / 2,
}


def ideal_value(metric: Metric, level: float | None = None) -> float | None:
    """The number that is ideal for a metric, of a level where it has one; None where that is `small` or `large`.

    >>> from geouq.metrics import METRICS
    >>> {metric.name: ideal_value(metric, 0.9) for metric in METRICS if metric.name in ("zms", "coverage", "crps")}
    {'zms': 1.0, 'coverage': 0.9, 'crps': None}
    """
    if metric.ideal in _OF_LEVEL and level is not None:
        return _OF_LEVEL[metric.ideal](level)
    return _NUMBERS.get(metric.ideal)


def loss(value: Value, numbers: Floats) -> Floats | None:
    """How far numbers of the kind of `value` are from ideal: less is better; None where none is better than another.

    That is the distance to a number that is ideal, the number itself where small is ideal, and less it where large is.
    """
    if value.metric.name in NOT_JUDGED:
        return None
    if value.metric.ideal in ("small", "large"):
        return numbers if value.metric.ideal == "small" else -numbers
    ideal = ideal_value(value.metric, value.level)
    return None if ideal is None else np.abs(numbers - ideal)
