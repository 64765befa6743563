"""Which share of the truth lies inside the central intervals; closed intervals, exact counts.

Where a forecast gives intervals itself, those of their level are judged as they were given, and the others are the
central ones of the normal forecast whose interval of that level is as wide.
"""

import numpy as np
from numpy.typing import NDArray

from geouq.metrics.record import IN_DIFFERENCES, SHARE, metric
from geouq.metrics.sources import DEFINITION
from geouq.summary import Summary

Floats = NDArray[np.float64]


@metric(
    "coverage",
    unit="1",
    ideal="level",
    above="covers too much",
    source=DEFINITION,
    choice="level",
    bounds=SHARE,
    is_tested=True,
    part="coverage",
    heading="coverage",
    percent="%",
    rank=10,
    shown=(*IN_DIFFERENCES, "recalibration", "corrections", "cell sums"),
)
def coverage(summary: Summary, level: float) -> Floats:
    """Share of |z| <= h_p; unit 1, ideal the level, below it errors are larger than predicted.

    For other distributions, the share of PIT within level / 2 of 1/2.
    """
    if level == summary.given:
        return 1 - coverage_above(summary, level) - coverage_below(summary, level)
    outside = summary.z.below((1 - level) / 2) + summary.z.above((1 + level) / 2)
    return _share(summary.z.counts.sum(-1) - outside, summary)


@metric(
    "above",
    unit="1",
    ideal="(1-level)/2",
    above="truth escapes upwards",
    source=DEFINITION,
    choice="level",
    bounds=SHARE,
)
def coverage_above(summary: Summary, level: float) -> Floats:
    """Share of the truth above the interval; unit 1, ideal (1 - level) / 2."""
    if level == summary.given:
        return summary.moments.mean("given_above")
    return _share(summary.z.above((1 + level) / 2), summary)


@metric(
    "below",
    unit="1",
    ideal="(1-level)/2",
    above="truth escapes downwards",
    source=DEFINITION,
    choice="level",
    bounds=SHARE,
)
def coverage_below(summary: Summary, level: float) -> Floats:
    """Share of the truth below the interval; unit 1, ideal (1 - level) / 2."""
    if level == summary.given:
        return summary.moments.mean("given_below")
    return _share(summary.z.below((1 - level) / 2), summary)


def _share(count: NDArray[np.int64], summary: Summary) -> Floats:
    return count / np.where(summary.n > 0, summary.moments.weight, np.nan)
