"""Small multiples: the same diagram of every region and variable as inline SVG, with one scale for each variable."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from geouq.config import Variable
from geouq.core.wording import for_people
from geouq.pages.curves import Curves, Point
from geouq.verdict import Place

MOST = 60  # diagrams on one page
MOST_VARIABLES = 12  # on the page of a region
LEFT, TOP, SIDE = 38.0, 4.0, 138.0  # of the axes, in CSS pixels
WIDTH, HEIGHT = LEFT + SIDE + 8, TOP + SIDE + 20
DECADES = 8  # ratio of the ends from which an axis is logarithmic


@dataclass(frozen=True)
class Scale:
    """Both axes of a diagram: their ends, whether they are logarithmic, and where labels stand."""

    low: float
    high: float
    is_log: bool
    ticks: Sequence[float]

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
    drawn = [variable for variable in variables if _points(curves.get(_place("all", variable)))]
    if not drawn:
        return None
    names = list(regions)[: max(1, most // len(drawn))]
    columns = [[_points(curves.get(_place(name, variable))) for name in names] for variable in drawn]
    has_bins = [bool(own.reliability) if (own := curves.get(_place("all", v))) else False for v in drawn]
    scales = [_scale(points) if bins else UNIT for points, bins in zip(columns, has_bins, strict=True)]
    wholes = [_points(curves.get(_place("all", variable))) for variable in drawn]
    rows = [
        (
            name,
            regions[name],
            [
                diagram(columns[k][row], None if name == "all" else wholes[k], scales[k], f"{variable.name}, {name}")
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


def of_region(variables: Sequence[Variable], region: str, curves: Mapping[Place, Curves]) -> Multiples | None:
    """Return the diagrams of a region: reliability, and coverage by group if it exists.

    Of very many variables only the first are drawn.
    """
    variables = variables[:MOST_VARIABLES]
    first = multiples(variables, {"all": "", region: ""}, curves, most=2 * len(variables))
    if first is None:
        return None
    rows = [("reliability" if first.caption == RELIABILITY else "levels", "", first.rows[1][2])]
    own, whole = (
        [curves.get(_place(name, v), Curves()).by_group for v in variables[:MOST]] for name in (region, "all")
    )
    for by in dict.fromkeys(by for _, groups in own for by in groups):
        diagrams = [
            diagram(groups.get(by, ()), other.get(by), UNIT, f"coverage by {by}, {variable.name}", level)
            for variable, (level, groups), (_, other) in zip(variables, own, whole, strict=False)
        ]
        rows.append((f"coverage of {100 * own[0][0]:g} % intervals by {by}, from low to high", "", diagrams))
    return Multiples(first.caption, first.headings, rows, corner="diagram")


def diagram(
    points: Sequence[Point], whole: Sequence[Point] | None, scale: Scale, label: str, level: float | None = None
) -> str:
    """Return a diagram as SVG, with a description for those who cannot see it.

    level : ideal of all points; None where the ideal is the diagonal.
    """
    ends = (scale.low, scale.high) if level is None else (level, level)
    parts = [*_axes(scale), _line(((scale.low, ends[0]), (scale.high, ends[1])), scale, "ideal")]
    if whole:
        parts.append(_line(whole, scale, "whole"))
    if banded := [point for point in points if len(point) > 2]:
        parts.append(_band(banded, scale))
    parts += [_line(points, scale, "own"), *_dots(points, scale)] if points else [_nothing()]
    return (
        f'<svg class="multiple" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" width="{WIDTH:g}" height="{HEIGHT:g}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _axes(scale: Scale) -> Iterable[str]:
    yield f'<rect class="frame" x="{LEFT:g}" y="{TOP:g}" width="{SIDE:g}" height="{SIDE:g}"/>'
    for tick in scale.ticks:
        x, y = _x(tick, scale), _y(tick, scale)
        text = for_people(tick) if tick < 10_000 else f"{for_people(tick / 1000)}k"
        yield f'<path class="grid" d="M{x} {TOP:g}V{TOP + SIDE:g}M{LEFT:g} {y}H{LEFT + SIDE:g}"/>'
        yield f'<text x="{x}" y="{TOP + SIDE + 13:g}" text-anchor="middle">{text}</text>'
        yield f'<text x="{LEFT - 4:g}" y="{float(y) + 4:.1f}" text-anchor="end">{text}</text>'


def _line(points: Sequence[Point], scale: Scale, kind: str) -> str:
    places = "L".join(f"{_x(point[0], scale)} {_y(point[1], scale)}" for point in points)
    return f'<path class="{kind}" d="M{places}"/>'


def _band(points: Sequence[Point], scale: Scale) -> str:
    upper = [f"{_x(point[0], scale)} {_y(point[3], scale)}" for point in points]
    lower = [f"{_x(point[0], scale)} {_y(point[2], scale)}" for point in reversed(points)]
    return f'<path class="band" d="M{"L".join(upper + lower)}Z"/>'


def _dots(points: Sequence[Point], scale: Scale) -> Iterable[str]:
    for point in points:
        title = f"predicted {for_people(point[0])}, observed {for_people(point[1])}"
        yield f'<circle cx="{_x(point[0], scale)}" cy="{_y(point[1], scale)}" r="2.2"><title>{title}</title></circle>'


def _nothing() -> str:
    return f'<text x="{LEFT + SIDE / 2:g}" y="{TOP + SIDE / 2:g}" text-anchor="middle">no pixels</text>'


def _x(value: float, scale: Scale) -> str:
    return f"{LEFT + SIDE * scale.place(value):.1f}"


def _y(value: float, scale: Scale) -> str:
    return f"{TOP + SIDE * (1 - scale.place(value)):.1f}"


def _scale(columns: Iterable[Sequence[Point]]) -> Scale:
    """Return axes that hold all points; bands may be cut off."""
    values = [value for points in columns for point in points for value in point[:2] if value > 0]
    if not values:
        return UNIT
    low, high = min(values), max(values)
    if high / low < DECADES:
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


def _place(name: str, variable: Variable) -> Place:
    return "all" if name == "all" else "region", name, variable.variable, variable.model


def _heading(variable: Variable, has_bins: bool) -> str:  # noqa: FBT001
    if not has_bins or variable.units in ("", "1"):
        return variable.name
    return f"{variable.name}, ({variable.units})²" if " " in variable.units else f"{variable.name}, {variable.units}²"
