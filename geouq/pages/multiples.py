"""Small multiples: the same diagram of every region and variable as inline SVG, with one scale for each variable."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from geouq.config import Variable
from geouq.core.wording import for_people
from geouq.metrics.record import squared_unit
from geouq.pages.curves import Curves, Point
from geouq.verdict import Place, place_of

MOST = 40  # diagrams on one page
MOST_VARIABLES = 12  # on the page of a region
LEFT, TOP, SIDE = 38.0, 4.0, 138.0  # of the axes, in CSS pixels
MOST_CODES = 8  # of classes along an axis
WIDTH, HEIGHT = LEFT + SIDE + 8, TOP + SIDE + 20
LETTER = 6.2  # width of a letter of a label
LOGARITHMIC = 8  # ratio of the ends from which an axis is logarithmic


@dataclass(frozen=True)
class Scale:
    """An axis of a diagram: its ends, whether it is logarithmic, and where labels stand.

    labels : text of each tick; empty where the number itself is shown.
    """

    low: float
    high: float
    is_log: bool
    ticks: Sequence[float]
    labels: Sequence[str] = ()

    @property
    def texts(self) -> Sequence[str]:
        """Return the text of each tick."""
        return self.labels or [_short(tick) for tick in self.ticks]

    def place(self, value: float) -> float:
        """Return where a value lies along the axis, 0 to 1; values beyond the ends lie on them."""
        if not self.is_log:
            share = (value - self.low) / (self.high - self.low)
        elif value <= 0:
            share = 0.0
        else:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        return min(max(share, 0.0), 1.0)


UNIT = Scale(0.0, 1.0, is_log=False, ticks=(0.0, 0.5, 1.0))
ORDERED = Scale(0.0, 1.0, is_log=False, ticks=(0.0, 1.0), labels=("low", "high"))


@dataclass(frozen=True)
class Multiples:
    """Diagrams by region and variable. rows : name and link of a region, and the markup of a diagram a variable."""

    caption: str
    headings: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[str]]]
    left_out: int = 0
    corner: str = "region"


def multiples(
    variables: Sequence[Variable],
    regions: Mapping[str, str],
    curves: Mapping[Place, Curves],
    most: int = MOST,
) -> Multiples | None:
    """Return the reliability diagrams of these regions; of forms without a variance, the curves of their levels.

    Parameters
    ----------
    regions : mapping
        Link of each region by its name; the link of the whole is empty.
    """
    drawn = [variable for variable in variables if _points(curves.get(place_of("all", variable)))]
    if not drawn:
        return None
    names = list(regions)[: max(1, most // len(drawn))]
    columns = [[_points(curves.get(place_of(name, variable))) for name in names] for variable in drawn]
    has_bins = [bool(own.reliability) if (own := curves.get(place_of("all", v))) else False for v in drawn]
    scales = [_scale(points) if bins else UNIT for points, bins in zip(columns, has_bins, strict=True)]
    wholes = [_points(curves.get(place_of("all", variable))) for variable in drawn]
    rows = [
        (
            name,
            regions[name],
            [
                diagram(
                    columns[k][row],
                    None if name == "all" else wholes[k],
                    Frame(scales[k], scales[k], f"{variable.name}, {name}"),
                )
                for k, variable in enumerate(drawn)
            ],
        )
        for row, name in enumerate(names)
    ]
    headings = [_heading(variable, bins) for variable, bins in zip(drawn, has_bins, strict=True)]
    return Multiples(RELIABILITY if any(has_bins) else LEVELS, headings, rows, len(regions) - len(names))


RELIABILITY = (
    "Across: mean predicted variance of a bin; up: mean squared error in it. Above the dashed line errors are larger "
    "than predicted. Blue: the region, with bands of the bootstrap where there are any; grey: the whole."
)
LEVELS = (
    "Across: predicted probability; up: how often it came true. On the dashed line both agree. Blue: the region; grey: "
    "the whole."
)


BOTH = " Calibration: the share of the truth below each quantile. PIT: its density, 1 where calibrated."
GROUPED = (
    " Coverage: across, the pixels of a region in the order of the group, or its classes by their codes; up, the share "
    "of the truth inside the intervals; dashed, their level."
)


def of_region(variables: Sequence[Variable], region: str, curves: Mapping[Place, Curves]) -> Multiples | None:
    """Return the diagrams of a region: reliability, and coverage by group if it exists.

    Of very many variables only the first are drawn.
    """
    drawn = [one for one in variables if _points(curves.get(place_of("all", one)))][:MOST_VARIABLES]
    first = multiples(drawn, {"all": "", region: ""}, curves, most=2 * len(drawn))
    if first is None:
        return None
    rows = [("reliability" if first.caption == RELIABILITY else "levels", "", first.rows[1][2])]
    both = [[curves.get(place_of(name, one), Curves()) for one in drawn] for name in (region, "all")]
    rows += [(name, "", diagrams) for name, diagrams in _levels_and_pit(drawn, *both)]
    has_both = len(rows) > 1
    own, whole = ([one.by_group for one in some] for some in both)
    for by in dict.fromkeys(by for _, groups in own for by in groups):
        levels = {f"{100 * level:g} %" for level, groups in own if by in groups}
        name = f"coverage of {levels.pop()} intervals by {by}" if len(levels) == 1 else f"coverage by {by}"
        diagrams = [
            _of_groups(groups.get(by, ()), other.get(by, ()), level, f"coverage by {by}, {variable.name}")
            for variable, (level, groups), (_, other) in zip(drawn, own, whole, strict=True)
        ]
        rows.append((name, "", diagrams))
    said = first.caption + (BOTH if has_both else "") + (GROUPED if len(rows) > 1 + 2 * has_both else "")
    return Multiples(said, first.headings, rows, corner="diagram")


def _levels_and_pit(
    drawn: Sequence[Variable], own: Sequence[Curves], whole: Sequence[Curves]
) -> Iterable[tuple[str, Sequence[str]]]:
    """Yield the calibration curves and the PIT histograms of a region, where its forecasts have a variance."""
    if not all(one.calibration and one.pit for one in whole):
        return
    three = list(zip(drawn, own, whole, strict=True))
    yield (
        "calibration",
        [diagram(a.calibration, b.calibration, Frame(UNIT, UNIT, f"calibration, {v.name}")) for v, a, b in three],
    )
    highest = max(density for one in (*own, *whole) for density in one.pit)
    density = Scale(0.0, max(2.0, highest), is_log=False, ticks=(0.0, 1.0, 2.0))
    yield (
        "PIT",
        [diagram(_middles(a.pit), _middles(b.pit), Frame(UNIT, density, f"PIT, {v.name}", 1.0)) for v, a, b in three],
    )


def _middles(densities: Sequence[float]) -> Sequence[Point]:
    return [((k + 0.5) / len(densities), density) for k, density in enumerate(densities)]


def _of_groups(points: Sequence[Point], whole: Sequence[Point], level: float, label: str) -> str:
    """Return the diagram of the coverage of groups: ordered pixels on a line, classes as dots side by side."""
    codes = sorted({point[0] for point in (*points, *whole)})
    if not all(code.is_integer() for code in codes):
        return diagram(points, whole, Frame(ORDERED, UNIT, label, level))
    places = {code: float(k) for k, code in enumerate(codes)}
    shown = codes[:: math.ceil(len(codes) / MOST_CODES)] if codes else []
    ticks, texts = [places[code] for code in shown], [f"{code:.0f}" for code in shown]
    across = Scale(-0.5, max(len(codes), 1) - 0.5, is_log=False, ticks=ticks, labels=texts)
    own, others = ([(places[code], share) for code, share, *_ in some] for some in (points, whole))
    return diagram(own, others, Frame(across, UNIT, label, level, is_joined=False))


@dataclass(frozen=True)
class Frame:
    """Both axes of a diagram, and how its points are read.

    label : describes the diagram to those who cannot see it. level : ideal of all points; None where the ideal is the
    diagonal. is_joined : whether a line joins the points.
    """

    across: Scale
    up: Scale
    label: str
    level: float | None = None
    is_joined: bool = True

    def x(self, value: float) -> str:
        """Return where a value lies from left to right."""
        return f"{LEFT + SIDE * self.across.place(value):.1f}"

    def y(self, value: float) -> str:
        """Return where a value lies from top to bottom."""
        return f"{TOP + SIDE * (1 - self.up.place(value)):.1f}"


def diagram(points: Sequence[Point], whole: Sequence[Point] | None, frame: Frame) -> str:
    """Return a diagram as SVG, with a description for those who cannot see it."""
    ends = (frame.up.low, frame.up.high) if frame.level is None else (frame.level, frame.level)
    ideal = ((frame.across.low, ends[0]), (frame.across.high, ends[1]))
    parts = [*_axes(frame), _line(ideal, frame, "ideal")]
    if whole:
        parts.append(_line(whole, frame, "whole") if frame.is_joined else _dots(whole, frame, "whole"))
    if banded := [point for point in points if len(point) > 2]:
        parts.append(_band(banded, frame))
    if points and frame.is_joined:
        parts.append(_line(points, frame, "own"))
    parts.append(_dots(points, frame, "own") if points else _nothing())
    return (
        f'<svg class="multiple" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" width="{WIDTH:g}" height="{HEIGHT:g}" role="img" '
        f'aria-label="{escape(frame.label)}">{"".join(parts)}</svg>'
    )


def _axes(frame: Frame) -> Iterable[str]:
    yield f'<path class="frame" d="M{LEFT:g} {TOP:g}h{SIDE:g}v{SIDE:g}h-{SIDE:g}z"/>'
    columns, rows = [frame.x(tick) for tick in frame.across.ticks], [frame.y(tick) for tick in frame.up.ticks]
    lines = [*(f"M{x} {TOP:g}v{SIDE:g}" for x in columns), *(f"M{LEFT:g} {y}h{SIDE:g}" for y in rows)]
    yield f'<path class="grid" d="{"".join(lines)}"/>'
    yield from _labels_across(columns, frame.across)
    for y, text in zip(rows, frame.up.texts, strict=True):
        yield f'<text x="{LEFT - 4:g}" y="{float(y) + 4:.1f}" text-anchor="end">{text}</text>'


def _labels_across(columns: Sequence[str], scale: Scale) -> Iterable[str]:
    """Yield the labels below a diagram, but those that would touch the one before; words end at the ends of it."""
    free = -math.inf
    for x, text in zip(columns, scale.texts, strict=True):
        half = LETTER * len(text) / 2
        if float(x) - half < free and not scale.labels:
            continue
        free = float(x) + half + LETTER
        anchor = {LEFT: "start", LEFT + SIDE: "end"}.get(float(x), "middle") if scale.labels else "middle"
        yield f'<text x="{x}" y="{TOP + SIDE + 13:g}" text-anchor="{anchor}">{text}</text>'


def _short(number: float) -> str:
    """Return the label of a tick in few letters.

    >>> [_short(number) for number in (0.3, 9000, 30_000, 2_000_000, 1e10)]
    ['0.3', '9000', '30k', '2M', '1e+10']
    """
    for least, size, letter in ((1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if least <= number < 1e9:
            return f"{number / size:g}{letter}"
    return f"{number:g}" if number >= 1e9 else for_people(number)


def _line(points: Sequence[Point], frame: Frame, kind: str) -> str:
    places = "L".join(f"{frame.x(point[0])} {frame.y(point[1])}" for point in points)
    return f'<path class="{kind}" d="M{places}"/>'


def _band(points: Sequence[Point], frame: Frame) -> str:
    upper = [f"{frame.x(point[0])} {frame.y(point[3])}" for point in points]
    lower = [f"{frame.x(point[0])} {frame.y(point[2])}" for point in reversed(points)]
    return f'<path class="band" d="M{"L".join(upper + lower)}Z"/>'


def _dots(points: Sequence[Point], frame: Frame, kind: str) -> str:
    places = "".join(f"M{frame.x(point[0])} {frame.y(point[1])}h0" for point in points)
    return f'<path class="dots {kind}" d="{places}"/>'


def _nothing() -> str:
    return f'<text x="{LEFT + SIDE / 2:g}" y="{TOP + SIDE / 2:g}" text-anchor="middle">no pixels</text>'


def _scale(columns: Iterable[Sequence[Point]]) -> Scale:
    """Return axes that hold all points; bands may be cut off."""
    values = [value for points in columns for point in points for value in point[:2] if value > 0]
    if not values:
        return UNIT
    low, high = min(values), max(values)
    if high / low < LOGARITHMIC:
        step = _nice(high / 2)
        return Scale(0.0, 1.05 * high, is_log=False, ticks=[k * step for k in range(int(1.05 * high / step) + 1)])
    low, high = low / 1.4, high * 1.4
    return Scale(low, high, is_log=True, ticks=_spaced(low, high))


def _spaced(low: float, high: float) -> list[float]:
    """Return round numbers between two limits, at most five, far enough apart for labels."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [step for e in exponents for m in (1, 3) if low <= (step := float(f"{m}e{e}")) <= high]
    if len(found) > 5:
        found = [step for step in found if f"{step:e}".startswith("1")]
    return found[:: math.ceil(len(found) / 5)] if found else []


def _nice(size: float) -> float:
    """Return the largest of 1, 2 or 5 times a power of ten that is at most a size."""
    power = 10.0 ** math.floor(math.log10(size))
    return next(step * power for step in (5.0, 2.0, 1.0) if step * power <= size)


def _points(curves: Curves | None) -> Sequence[Point]:
    """Return the points of the diagram of a form: reliability, or the first curve of shares."""
    if curves is None:
        return ()
    return curves.reliability or curves.calibration or next(iter(curves.others.values()), ())


def _heading(variable: Variable, has_bins: bool) -> str:  # noqa: FBT001
    if not has_bins or variable.units in ("", "1"):
        return variable.name
    return f"{variable.name}, {squared_unit(variable.units).replace('^2', '²')}"
