"""Curves of each variable in each region for the diagrams of the pages, with the bands of their points."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geouq.inference import Bands, pit_half_width
from geouq.metrics import named
from geouq.metrics.form_curves import curve_label
from geouq.metrics.predicted_std import StdDistribution
from geouq.metrics.record import USUAL_LEVEL
from geouq.verdict import Place, place_of_row

Row = Mapping[str, Any]
Point = tuple[float, ...]  # x, y, and the lower and upper limit of y if they are known

RELIABILITY, CALIBRATION, PIT = "bins", "calibration", "pit_histogram"
GROUPED = "_by_"  # in the names of curves of coverage by group
LARGEST = 1e300  # coordinate of a point


@dataclass(frozen=True)
class Groups:
    """Groups of pixels by one property, such as the truth.

    places : x of each group in the table of curves. edges : values between groups of ordered pixels, one more than
    groups; empty for classes. unit : unit of the values. limits : limits of the coverage of each group, float64
    (2, groups), by the level of the intervals.
    """

    places: Sequence[float]
    edges: Sequence[float] = ()
    unit: str = ""
    limits: Mapping[float, NDArray[np.float64]] = field(default_factory=dict)


@dataclass(frozen=True)
class Covered:
    """Coverage of the groups of a property: points with their limits, and the groups."""

    points: Sequence[Point] = ()
    groups: Groups | None = None


@dataclass(frozen=True)
class Curves:
    """Points of the diagrams of a variable in one region; empty if the form of the forecast has no such curve.

    reliability : mean predicted variance and mean squared error of each bin with pixels. calibration : level and share
    of the truth below its quantile. pit : density of each bin. pit_half_width : how far from 1 a density of a
    calibrated forecast may lie; None if unknown. others : points by the name of the curve, with limits if known.
    groups : groups of the curves of coverage, by the property. std : the predicted std, None without a variance.
    """

    reliability: Sequence[Point] = ()
    calibration: Sequence[Point] = ()
    pit: Sequence[float] = ()
    pit_half_width: float | None = None
    others: Mapping[str, Sequence[Point]] = field(default_factory=dict)
    groups: Mapping[str, Groups] = field(default_factory=dict)
    std: StdDistribution | None = None

    @property
    def shares(self) -> Mapping[str, Sequence[Point]]:
        """Return the observed shares of quantiles or of each class; empty for forecasts with a variance."""
        if self.reliability or self.calibration:
            return {}
        return {name: points for name, points in self.others.items() if points}

    @property
    def by_group(self) -> tuple[float, Mapping[str, Covered]]:
        """Return the level nearest to the usual one, and its coverage in groups by the property."""
        found: dict[float, dict[str, Covered]] = {}
        for name, points in self.others.items():
            start, _, by = name.partition(GROUPED)
            metric = named(start) if by else None
            if metric and metric[0].part == "coverage" and metric[1] is not None and by in self.groups:
                found.setdefault(metric[1], {})[by] = _covered(points, self.groups[by], metric[1])
        level = min(found, key=lambda one: abs(one - USUAL_LEVEL), default=USUAL_LEVEL)
        return level, found.get(level, {})

    def as_record(self) -> dict[str, Any]:
        """Return plain values for scripts, with five digits."""
        if self.shares:
            named_curves = ((curve_label(name), points) for name, points in self.shares.items())
            return {"shares": [[name, [list(map(_short, point)) for point in own]] for name, own in named_curves]}
        return {
            "reliability": [list(map(_short, point)) for point in self.reliability],
            "calibration": [list(map(_short, point)) for point in self.calibration],
            "pit": list(map(_short, self.pit)),
            "halfWidth": None if self.pit_half_width is None else _short(self.pit_half_width),
        }


def curves_of(
    bins: Iterable[Row],
    curves: Iterable[Row],
    scheme: str,
    bands_of: Callable[[Place], Bands | None],
    *,
    groups_of: Callable[[Place], Mapping[str, Groups]] = lambda _: {},
    std_of: Callable[[Place], StdDistribution | None] = lambda _: None,
) -> dict[Place, Curves]:
    """Return the curves of the whole and of each region.

    Parameters
    ----------
    bins, curves : iterable of mapping
        Rows of the tables of these names; rows of tiles are left out.
    scheme : str
        Name of the bins that are shown.
    bands_of : callable
        Returns the bands of a variable in a region, None if there are none.
    groups_of : callable
        Returns the groups of its pixels, by the property.
    std_of : callable
        Returns its predicted std.
    """
    found: dict[Place, dict[str, list[Point | None]]] = {}
    for row in bins:
        if row["level"] != "tile" and row["bins"] == scheme:
            point = _point(row["mean_variance"], row["mse"]) if row["n"] else None
            found.setdefault(place_of_row(row), {}).setdefault(RELIABILITY, []).append(point)
    for row in curves:
        if row["level"] != "tile":
            point = _point(row["x"], row["y"])
            found.setdefault(place_of_row(row), {}).setdefault(row["curve"], []).append(point)
    return {
        place: replace(_curves(own, scheme, bands_of(place)), groups=groups_of(place), std=std_of(place))
        for place, own in found.items()
    }


def _covered(points: Sequence[Point], groups: Groups, level: float) -> Covered:
    """Return the coverage of groups, with limits where they are known; groups without a coverage have no point."""
    limits = groups.limits.get(level)
    if limits is None:
        return Covered(points, groups)
    known = dict(zip(groups.places, limits.T.tolist(), strict=True))
    return Covered([(*point, *own) if np.isfinite(own := known[point[0]]).all() else point for point in points], groups)


def _curves(points: Mapping[str, Sequence[Point | None]], scheme: str, bands: Bands | None) -> Curves:
    heights = points.get(PIT, ())
    pit = [point[1] for point in heights if point] if all(heights) else []
    others = {name: own for name, own in points.items() if name not in (RELIABILITY, CALIBRATION, PIT)}
    return Curves(
        _with_limits(points.get(RELIABILITY, ()), bands.mse.get(scheme) if bands else None),
        _with_limits(points.get(CALIBRATION, ()), bands.calibration if bands else None),
        pit,
        _half_width(bands) if pit else None,
        {name: _with_limits(own, bands.shares.get(name) if bands else None) for name, own in others.items()},
    )


def _point(x: float | None, y: float | None) -> Point | None:
    """Return a point that can be drawn; None if a coordinate is missing or too large for an axis."""
    if x is None or y is None or not max(abs(x), abs(y)) < LARGEST:
        return None
    return x, y


def _half_width(bands: Bands | None) -> float | None:
    if bands is None or not np.isfinite(bands.pit_effective):
        return None
    return pit_half_width(bands.pit_effective, bands.level)


def _with_limits(points: Sequence[Point | None], limits: NDArray[np.float64] | None) -> list[Point]:
    """Return the points that exist, with their limits (2, points) where these are known."""
    if limits is None or limits.shape[1] != len(points):
        return [point for point in points if point]
    both = zip(points, limits.T.tolist(), strict=True)
    return [(*point, *own) if np.isfinite(own).all() else point for point, own in both if point]


def _short(number: float) -> float:
    return float(f"{number:.5g}")
