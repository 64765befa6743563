"""The score by which corrections are compared: that of the intervals that each of them delivers.

Every correction delivers an interval for each configured level, whether its forecast is normal or not. The mean pinball
loss of their ends is proper for these quantiles, and it is the same score for all corrections. The ends of the interval
of level p are the quantiles (1 - p)/2 and (1 + p)/2, whose pinball losses add up to (1 - p)/2 times its interval score.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from geouq.inference.differences import Key, Uncertain
from geouq.inference.resamples import Resampled
from geouq.metrics import METRICS, Value, interval_score, level_name
from geouq.metrics.quantiles import pinball_mean

METRIC = next(metric for metric in METRICS if metric.function is pinball_mean)
SCORE = METRIC.name
PLACE: Key = (SCORE, "", "")


def interval_score_of(level: float) -> Key:
    """Return the place of the interval score of a level among the numbers of a view."""
    return level_name(interval_score.__name__, level), "", ""


def delivered_score(views: Sequence[Mapping[Key, Uncertain]], levels: Sequence[float]) -> Uncertain:
    """Return the mean pinball loss of the ends of the intervals of all levels.

    views : numbers of each view of a forecast, drawn together; the interval of a level is in one of them, or in all.
    """
    parts = [next(view[key] for view in views if key in view) for key in map(interval_score_of, levels)]
    weights = np.array([(1 - level) / (4 * len(levels)) for level in levels])
    value = Value(METRIC, SCORE, "", weights @ [float(part.value.value) for part in parts])
    spreads = [part.spread for part in parts if part.spread is not None]
    if len(spreads) < len(parts):
        return Uncertain(value, reason=next(part.reason for part in parts if part.spread is None))
    fields = ("replicates", "of_blocks", "of_squares", "of_cells")
    mean = {field: weights @ [getattr(spread, field) for spread in spreads] for field in fields}
    return Uncertain(value, Resampled(value, **mean, squares=spreads[0].squares))
