"""Small multiples: the same diagrams of every region and variable, with one scale for each variable."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from geouq.config import Variable
from geouq.core.units import squared
from geouq.metrics.form_curves import CLASS_CURVE, curve_label
from geouq.metrics.predicted_std import StdDistribution
from geouq.pages.curves import Covered, Curves, Groups, Point
from geouq.pages.diagrams import (
    DIAGONAL,
    UNIT,
    Frame,
    Role,
    Scale,
    axes,
    banded,
    chance,
    diagram,
    diamond,
    dots,
    even,
    fitted,
    in_percent,
    line,
    nothing,
    quantile_scale,
    ratios,
    stairs,
    upright,
)
from geouq.verdict import place_of

MOST, MOST_OF_ALL = 40, 100  # diagrams of a type on one page, and of all types
MOST_VARIABLES = 12  # on a page, of several types
MOST_CODES = 8  # of classes along an axis
LOWEST_COVERAGE = 0.5  # of an axis; lower where a group is covered less
SHARES = in_percent(UNIT)
AGREE = "On the dashed line both agree."
APART = 0.09  # of an axis, between labels that do not touch

Parts = Sequence[str]


@dataclass(frozen=True)
class Kind:
    """A type of diagram for some variables.

    key : name in the address of a page. title : in sentence case. about : how to read the diagram. frames : axes of
    each variable. drawn : returns the SVG of the curves of a region in the frame of a variable; empty without pixels.
    bands : a sentence about the shaded areas.
    """

    key: str
    title: str
    about: str
    frames: Sequence[Frame]
    drawn: Callable[[Curves, int, Role], str]
    bands: str = " Shaded, or bars at single points: bands of the bootstrap where there are any."


@dataclass(frozen=True)
class Row:
    """A row of diagrams, one for each variable.

    name : the region or the type of diagram. link : page of the region, empty if there is none.
    """

    name: str
    link: str
    diagrams: Sequence[str]


@dataclass(frozen=True)
class Multiples:
    """A table of diagrams: a column for each variable, and a row for each region or type of diagram.

    left_out : number of regions without a row. corner : heading of the rows. reading : how to read the diagrams, if the
    caption does not explain it. key, title : of the type of diagram, if there is only one.
    """

    caption: str
    headings: Sequence[str]
    rows: Sequence[Row]
    left_out: int = 0
    corner: str = "region"
    reading: str = ""
    key: str = ""
    title: str = ""


ROLES = "Blue: the region; grey: the whole."
MOST_CURVES = 8  # of shares, one for each class


def multiples(
    variables: Sequence[Variable],
    regions: Mapping[str, str],
    curves: Mapping[tuple[str, str, str, str], Curves],
    most: int = MOST,
) -> list[Multiples]:
    """Return the diagrams of these regions, one table for each type of diagram that the forms have.

    Parameters
    ----------
    regions : mapping
        Link of each region by its name; the link of the whole is empty.
    """
    drawn = _drawn(variables, curves)
    if not drawn:
        return []
    types = len(kinds(drawn, [[curves.get(place_of("all", variable), Curves())] for variable in drawn]))
    names = list(regions)[: max(1, min(most // len(drawn), MOST_OF_ALL // (types * len(drawn))))]
    columns = [[curves.get(place_of(name, variable), Curves()) for name in names] for variable in drawn]
    headings = [variable.name for variable in drawn]
    return [
        Multiples(
            f"{kind.about} {ROLES}{kind.bands}", headings,
            [Row(name, regions[name], _shared_row(kind, drawn, columns, row, name)) for row, name in enumerate(names)],
            len(regions) - len(names), key=kind.key, title=kind.title,
        )
        for kind in kinds(drawn, columns)
    ]  # fmt: skip


def _drawn(
    variables: Sequence[Variable], curves: Mapping[tuple[str, str, str, str], Curves], most: int = MOST
) -> list[Variable]:
    """Return the variables that have a curve."""
    return [one for one in variables if _has_points(curves.get(place_of("all", one)))][:most]


def _has_points(curves: Curves | None) -> bool:
    return curves is not None and bool(curves.reliability or curves.calibration or any(curves.others.values()))


def _shared_row(
    kind: Kind, variables: Sequence[Variable], columns: Sequence[Sequence[Curves]], row: int, name: str
) -> list[str]:
    """Return the diagrams of a region; the first row, the whole, defines the axes and curves that other rows reuse."""
    found = []
    for k, variable in enumerate(variables):
        frame, of = kind.frames[k], f"{kind.key}-{k}"
        own = kind.drawn(columns[k][row], k, "own") or nothing()
        if len(columns[k]) == 1:
            parts = [axes(frame), own]
        elif row == 0:
            shared = f'<g id="{of}-axes">{axes(frame)}</g><defs><g id="{of}-whole">'
            parts = [shared, kind.drawn(columns[k][0], k, "whole"), "</g></defs>", own]
        else:
            parts = [f'<use href="#{of}-axes"/><use href="#{of}-whole"/>', own]
        found.append(diagram(parts, frame, f"{kind.title}, {variable.name}, {name}"))
    return found


def of_region(
    variables: Sequence[Variable], region: str, curves: Mapping[tuple[str, str, str, str], Curves]
) -> Multiples | None:
    """Return the diagrams of a region, a row for each type; None without curves. At most 12 variables are drawn."""
    drawn = _drawn(variables, curves, MOST_VARIABLES)
    if not drawn:
        return None
    own, whole = ([curves.get(place_of(name, one), Curves()) for one in drawn] for name in (region, "all"))
    found = kinds(drawn, list(zip(whole, own, strict=True)))
    rows = [
        Row(
            kind.title, "",
            [
                diagram(
                    [axes(frame), kind.drawn(whole[k], k, "whole"), kind.drawn(own[k], k, "own") or nothing()],
                    frame, f"{kind.title}, {drawn[k].name}, {region}",
                )
                for k, frame in enumerate(kind.frames)
            ],
        )
        for kind in found
    ]  # fmt: skip
    titles: dict[str, list[str]] = {}
    for kind in found:
        titles.setdefault(kind.about, []).append(kind.title)
    said = " ".join(f"{' and '.join(own)}: {about[0].lower()}{about[1:]}" for about, own in titles.items())
    return Multiples(f"{ROLES}{found[0].bands}", [one.name for one in drawn], rows, corner="diagram", reading=said)


def kinds(drawn: Sequence[Variable], columns: Sequence[Sequence[Curves]]) -> list[Kind]:
    """Return the types of diagram that some variable has.

    columns : for each variable the curves that share its scale, those of the whole first.
    """
    whole = [column[0] for column in columns]
    found = []
    if any(one.reliability for one in whole):
        found.append(_reliability(drawn, columns))
    if any(one.calibration for one in whole):
        found.append(_calibration(drawn))
    if any(one.pit for one in whole):
        found.append(_pit(drawn, columns))
    found += _levels(drawn, whole)
    groupings = dict.fromkeys(by for one in whole for by in one.by_group[1])
    found += [_covered(columns, by, number) for number, by in enumerate(groupings)]
    if any(one.std for one in whole):
        found.append(_std(drawn, whole))
    return found


def _curve(points: Sequence[Point], frame: Frame, role: Role, *, is_dotted: bool = False) -> str:
    """Return a line with its band, and dots for the region only: dots of the whole would hide them."""
    if not points:
        return ""
    dotted = dots(points, frame, role) if is_dotted and role == "own" else ""
    return banded(points, frame, role) + line(points, frame, role) + dotted


def _reliability(drawn: Sequence[Variable], columns: Sequence[Sequence[Curves]]) -> Kind:
    frames = []
    for variable, column in zip(drawn, columns, strict=True):
        scale = fitted(value for one in column for point in one.reliability for value in point[:2])
        unit = squared(variable.units) if variable.units not in ("", "1") else ""
        frames.append(Frame(scale, scale, ((scale.low, scale.low), (scale.high, scale.high)), unit))
    return Kind(
        "reliability", "Reliability",
        "Across: mean predicted variance of a bin; up: mean squared error in it. Above the dashed line errors are "
        "larger than predicted.", frames,
        lambda one, k, role: _curve(one.reliability, frames[k], role, is_dotted=True),
    )  # fmt: skip


def _calibration(drawn: Sequence[Variable]) -> Kind:
    frame = Frame(SHARES, SHARES, DIAGONAL)
    return Kind(
        "calibration", "Calibration",
        f"Across: predicted quantile; up: share of the truth below it; both in per cent. {AGREE}",
        [frame] * len(drawn), lambda one, _, role: _curve(one.calibration, frame, role),
    )  # fmt: skip


def _pit(drawn: Sequence[Variable], columns: Sequence[Sequence[Curves]]) -> Kind:
    highest = max(density for column in columns for one in column for density in one.pit)
    ticks = (0.0, 1.0, 2.0) if highest < 3 else (0.0, 1.0, float(math.floor(highest)))
    frame = Frame(UNIT, Scale(0.0, max(2.0, highest), is_log=False, ticks=ticks), ((0.0, 1.0), (1.0, 1.0)))

    def histogram(one: Curves, _: int, role: Role) -> str:
        """Return the histogram of a region with the band around 1; empty without a PIT."""
        edges = [k / len(one.pit) for k in range(len(one.pit) + 1)] if one.pit else []
        return chance(one.pit_half_width, frame, role) + stairs(one.pit, edges, frame, role) if one.pit else ""

    return Kind(
        "pit", "PIT",
        "Across: where the truth lies in the predicted distribution; up: density, 1 where calibrated. If all bars are "
        "inside the band around 1, the differences may be chance. A band tests one region alone. Verdicts are "
        "adjusted for the number of regions.", [frame] * len(drawn), histogram,
    )  # fmt: skip


def _levels(drawn: Sequence[Variable], whole: Sequence[Curves]) -> Iterator[Kind]:
    """Yield the diagrams of predicted and observed shares, of quantiles and of each class."""
    names = list(dict.fromkeys(name for one in whole for name in one.shares))
    shown = names[:MOST_CURVES]
    more = f" Shown are the first {len(shown)} of {len(names)} classes." if len(names) > len(shown) else ""
    for number, name in enumerate(shown):
        yield _shares(name, f"levels-{number}", drawn, more)


def _shares(name: str, key: str, drawn: Sequence[Variable], more: str) -> Kind:
    """Return the diagram of the quantiles or of a class."""
    frame, is_class = Frame(SHARES, SHARES, DIAGONAL), name.startswith(CLASS_CURVE)
    across, up = ("predicted probability of the class", "how often it is the true one") if is_class else (
        "level of a quantile", "share of the truth at most the quantile"
    )  # fmt: skip
    return Kind(
        key, f"Reliability of {curve_label(name)}", f"Across: {across}; up: {up}; both in per cent. {AGREE}{more}",
        [frame] * len(drawn), lambda one, _, role: _curve(one.shares.get(name, ()), frame, role, is_dotted=True),
    )  # fmt: skip


COVERED = "Up: share of the truth inside the intervals, per cent; dashed: the level."
OF_VALUES = "Across: values that divide the pixels of the whole into groups of equal size; a group lies at its values."
OF_CLASSES = "Across: codes of the classes."
LIMITS = {
    True: "Intervals are from resamples of tiles; groups without one have too few independent tiles.",
    False: "No intervals: too few independent tiles.",
}


def _covered(columns: Sequence[Sequence[Curves]], by: str, number: int) -> Kind:
    """Return the coverage by group: a line for groups of ordered values, separate dots for classes."""
    found = [[one.by_group[1].get(by, Covered()) for one in column] for column in columns]
    levels = [column[0].by_group[0] for column in columns]
    up = _coverage_scale(levels, [point for column in found for one in column for point in one.points])
    codes = [sorted({point[0] for one in column for point in one.points}) for column in found]
    frames = [
        Frame(_across(column[0].groups, own), up, ((0.0, level), (1.0, level)), _titled(by, column[0].groups))
        for column, own, level in zip(found, codes, levels, strict=True)
    ]

    def coverage_of_groups(one: Curves, k: int, role: Role) -> str:
        """Return the coverage of the groups of a region in the frame of variable k; empty without groups."""
        own, whole, frame = one.by_group[1].get(by, Covered()), found[k][0].groups, frames[k]
        if own.groups is None or whole is None or not own.points:
            return ""
        if own.groups.edges:
            return _curve(_along(own.points, own.groups, whole), frame, role, is_dotted=True)
        points = _side_by_side(own.points, codes[k], role)
        return upright(points, frame, role) + dots(points, frame, role)

    of_level = f" of {100 * levels[0]:g} % intervals" if len(set(levels)) == 1 else ""
    first = found[0][0].groups
    has_limits = any(len(point) > 2 for column in found for one in column for point in one.points)
    about = f"{COVERED} {OF_VALUES if first and first.edges else OF_CLASSES} {LIMITS[has_limits]}"
    return Kind(f"groups-{number}", f"Coverage{of_level} by {by}", about, frames, coverage_of_groups)


def _titled(by: str, groups: Groups | None) -> str:
    unit = groups.unit.replace("^2", "²") if groups and groups.edges else ""
    return f"{by}, {unit}" if unit not in ("", "1") else by


def _across(groups: Groups | None, codes: Sequence[float]) -> Scale:
    """Return the axis of groups: values of the whole, or equally spaced codes of classes."""
    if groups is None:
        return UNIT
    if groups.edges:
        return quantile_scale(groups.edges)
    shown = range(0, len(codes), math.ceil(len(codes) / MOST_CODES) or 1)
    places = _places(codes)
    return Scale(
        0.0, 1.0, is_log=False, ticks=[places[codes[k]] for k in shown], labels=[f"{codes[k]:.0f}" for k in shown]
    )


def _places(codes: Sequence[float]) -> dict[float, float]:
    return {code: (k + 0.5) / len(codes) for k, code in enumerate(codes)}


def _side_by_side(points: Sequence[Point], codes: Sequence[float], role: Role) -> list[Point]:
    """Return the points of classes, equally spaced; points of the whole lie a little to the right of the region's."""
    places, aside = _places(codes), (0.12 / len(codes) if role == "whole" else 0.0)
    return [(places[point[0]] + aside, *point[1:]) for point in points]


def _along(points: Sequence[Point], own: Groups, whole: Groups) -> list[Point]:
    """Return the points of a region's groups, each at the position of its values on the axis of the whole."""
    if own is whole:
        return list(points)
    ends = np.interp(own.edges, whole.edges, np.linspace(0, 1, len(whole.edges)))
    middles = {place: (a + b) / 2 for place, (a, b) in zip(own.places, pairwise(ends.tolist()), strict=True)}
    return [(middles[point[0]], *point[1:]) for point in points]


def _coverage_scale(levels: Sequence[float], points: Sequence[Point]) -> Scale:
    """Return an axis in per cent that includes all points and intervals, with a label at the level."""
    lowest = min((end for point in points for end in point[1:]), default=1.0)
    low = min(LOWEST_COVERAGE, math.floor(10 * lowest) / 10)
    apart = APART * (1 - low)
    others = [tick for tick in (low, (1 + low) / 2, 1.0) if all(abs(tick - level) > apart for level in levels)]
    return in_percent(Scale(low, 1.0, is_log=False, ticks=sorted({*others, *levels})))


DENSITY = Scale(-0.32, 1.05, is_log=False, ticks=())
BARS = {"own": -0.1, "whole": -0.23}  # below the density


def _std(drawn: Sequence[Variable], whole: Sequence[Curves]) -> Kind:
    frames = []
    for variable, curves in zip(drawn, whole, strict=True):
        unit = f", {variable.units}" if variable.units not in ("", "1") else ""
        frames.append(Frame(_std_scale(curves.std), DENSITY, title=f"predicted std{unit}"))
    return Kind(
        "std", "Predicted std",
        "Density of the predicted std. Bars: 5 to 95 % and 25 to 75 % of the pixels, with the median; diamond: RMSE, "
        "which is the root of the mean variance if the spread is right.",
        frames, lambda one, k, role: _spread(one.std, frames[k], role) if one.std else "",
    )  # fmt: skip


def _std_scale(found: StdDistribution | None) -> Scale:
    if found is None:
        return UNIT
    low, high = float(found.edges[0]), float(found.edges[-1])
    return ratios(low, high) if found.is_logarithmic else even(low, high)


def _spread(found: StdDistribution, frame: Frame, role: Role) -> str:
    """Return the density, the bars with the median, and the RMSE."""
    share = found.share.reshape(-1, 2).sum(1)  # steps of the figure are narrower than a line here
    heights, edges = (share / (share.max() or 1.0)).tolist(), found.edges[::2].tolist()
    low, lower, middle, upper, high = map(float, found.quantiles)
    up = BARS[role]
    return "".join((
        stairs(heights, edges, frame, f"area {role}"),
        line([(low, up), (high, up)], frame, role),
        line([(lower, up), (upper, up)], frame, f"{role} box"),
        line([(middle, up + 0.05), (middle, up - 0.05)], frame, f"{role} median"),
        diamond((found.rmse, up), frame, role) if math.isfinite(found.rmse) else "",
    ))  # fmt: skip
