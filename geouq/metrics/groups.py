"""Whether coverage holds in every group of pixels, and not only on average.

Groups hold equal numbers of pixels, in the order of their truth, predicted mean or predicted variance. Groups by truth
follow UQRegressors; where noise grows with the truth they blame a perfect forecaster, who cannot know the truth: read
those by variance or mean beside them.
"""

from typing import get_args

import numpy as np
from numpy.typing import NDArray

from geouq.config.values import GroupedBy
from geouq.core.units import squared_unit
from geouq.metrics.record import SHARE, GroupGaps, metric
from geouq.metrics.sources import UQREGRESSORS
from geouq.summary import ClassCoverage, Summary

Floats = NDArray[np.float64]
GROUPS = 10


def group_coverage(summary: Summary, level: float, by: str = "truth", groups: int = GROUPS) -> Floats:
    """Share of |z| <= h_p in each group, (..., groups); unit 1, ideal the level, missing where a group is empty.

    Groups differ by one pixel at most. Pixels whose values differ by less than 1 part in 512, and equal ones, count as
    covered alike where a border falls among them. Raises SummaryError where the summary does not keep coverage by that.
    """
    inside = summary.coverage_by(by).grouped(groups, summary.n)
    within = sorted(summary.levels).index(summary.levels[summary.level_index(level)])
    return inside[..., within] / np.where(inside[..., -1] > 0, inside[..., -1], np.nan)


def group_places(summary: Summary, by: str = "truth", groups: int = GROUPS) -> Floats:
    """Return where each group stands: the middle of the share of pixels that it holds; or the code of its class."""
    profile = summary.coverage_by(by)
    return profile.keys.astype(np.float64) if isinstance(profile, ClassCoverage) else (np.arange(groups) + 0.5) / groups


def group_edges(summary: Summary, by: str = "truth", groups: int = GROUPS) -> Floats:
    """Return the lowest value of each group and the highest of all, (groups + 1), to 1 part in 512."""
    return summary.coverage_by(by).group_edges(groups, int(summary.n))


def unit_of_groups(by: str, units: str) -> str:
    """Return the unit of what pixels are grouped by; nothing of a raster of its own.

    >>> unit_of_groups("truth", "m"), unit_of_groups("variance", "m"), unit_of_groups("slope", "m")
    ('m', 'm^2', '')
    """
    if by not in get_args(GroupedBy):
        return ""
    return squared_unit(units) if by == "variance" else units


@metric(
    "RMSCD",
    unit="1",
    ideal="0",
    above="coverage differs between groups",
    source=UQREGRESSORS,
    choice="group",
    gaps=GroupGaps("root mean square"),
)
def rmscd(summary: Summary, level: float, by: str = "truth", groups: int = GROUPS) -> Floats:
    """Root mean squared coverage deviation of the groups from the level; unit 1, ideal 0 (UQRegressors)."""
    return np.sqrt(_mean((group_coverage(summary, level, by, groups) - level) ** 2))


@metric(
    "RMSCD_u",
    unit="1",
    ideal="0",
    above="some groups are covered less",
    source=UQREGRESSORS,
    choice="group",
    gaps=GroupGaps("root mean square below"),
)
def rmscd_under(summary: Summary, level: float, by: str = "truth", groups: int = GROUPS) -> Floats:
    """The same over the groups covered less than the level; unit 1, ideal 0, 0 if there are none (UQRegressors)."""
    away = group_coverage(summary, level, by, groups) - level
    under = _mean(np.where(away < 0, away**2, np.nan))
    return np.where(np.isnan(away).all(-1), np.nan, np.sqrt(np.where(np.isnan(under), 0.0, under)))


@metric(
    "min coverage",
    unit="1",
    ideal="level",
    above="covers too much in every group",
    source=UQREGRESSORS,
    choice="group",
    bounds=SHARE,
)
def lowest_group_coverage(summary: Summary, level: float, by: str = "truth", groups: int = GROUPS) -> Floats:
    """Coverage of the group that is covered least; unit 1, ideal the level (UQRegressors)."""
    return np.fmin.reduce(group_coverage(summary, level, by, groups), axis=-1, initial=np.nan)


def _mean(values: Floats) -> Floats:
    """Return the mean of the values that are not NaN; NaN without one."""
    there = (~np.isnan(values)).sum(-1)
    return np.nansum(values, axis=-1) / np.where(there > 0, there, np.nan)
