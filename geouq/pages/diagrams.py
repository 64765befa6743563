"""Small diagrams as inline SVG: axes and curves of one variable in one region."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from html import escape
from itertools import groupby, pairwise
from typing import Literal

from geouq.core.wording import for_people, true_minus

Point = tuple[float, ...]  # x, y, and the lower and upper limit of y if they are known
Role = Literal["own", "whole", "full"]

LEFT, TOP, SIDE = 38.0, 4.0, 138.0  # of the axes, in CSS pixels
WIDTH, BELOW, TITLE = LEFT + SIDE + 8, 20.0, 14.0
CAP = 3.0  # half of the width of the ends of an error bar
LETTER = 6.2  # width of a letter of a label
ANCHORS = {LEFT: ' text-anchor="start"', LEFT + SIDE: ' text-anchor="end"'}  # of words at the ends of the x axis
LOGARITHMIC = 8  # ratio of the ends from which an axis is logarithmic


@dataclass(frozen=True)
class Scale:
    """An axis of a diagram: its ends, whether it is logarithmic, and the values with a label.

    labels : text of each tick; empty to show the numbers.
    """

    low: float
    high: float
    is_log: bool
    ticks: Sequence[float]
    labels: Sequence[str] = ()

    @property
    def texts(self) -> Sequence[str]:
        """Return the text of each tick."""
        return self.labels or [short(tick) for tick in self.ticks]

    def place(self, value: float) -> float:
        """Return where a value lies along the axis, 0 to 1; values beyond the ends lie on them."""
        if not self.is_log:
            share = (value - self.low) / (self.high - self.low)
        elif value <= 0:
            share = 0.0
        else:
            low = math.log(self.low)  # ratios of the ends may leave the range of floats
            share = (math.log(value) - low) / (math.log(self.high) - low)
        return 0.0 if share < 0 else 1.0 if share > 1 else share


UNIT = Scale(0.0, 1.0, is_log=False, ticks=(0.0, 0.5, 1.0))
DIAGONAL = ((0.0, 0.0), (1.0, 1.0))


@dataclass(frozen=True)
class Frame:
    """Both axes of a diagram.

    ideal : points of the line of a perfect forecast. title : title of the x axis; empty if the caption names it.
    """

    across: Scale
    up: Scale
    ideal: Sequence[Point] = ()
    title: str = ""

    @property
    def height(self) -> float:
        """Return the height of the diagram in CSS pixels."""
        return TOP + SIDE + BELOW + (TITLE if self.title else 0.0)

    def x(self, value: float) -> str:
        """Return where a value lies from left to right."""
        return _pixels(LEFT + SIDE * self.across.place(value))

    def y(self, value: float) -> str:
        """Return where a value lies from top to bottom."""
        return _pixels(TOP + SIDE * (1 - self.up.place(value)))

    def tenths(self, x: float, y: float) -> tuple[int, int]:
        """Return a place in tenths of a pixel."""
        return round(10 * (LEFT + SIDE * self.across.place(x))), round(10 * (TOP + SIDE * (1 - self.up.place(y))))


def diagram(parts: Iterable[str], frame: Frame, label: str) -> str:
    """Return a diagram as SVG, with a description for those who cannot see it."""
    return (
        f'<svg class="multiple" viewBox="0 0 {WIDTH:g} {frame.height:g}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def axes(frame: Frame) -> str:
    """Return the frame, the grid, the labels and the line of a perfect forecast."""
    columns, rows = [frame.x(tick) for tick in frame.across.ticks], [frame.y(tick) for tick in frame.up.ticks]
    lines = [*(f"M{x} {TOP:g}v{SIDE:g}" for x in columns), *(f"M{LEFT:g} {y}h{SIDE:g}" for y in rows)]
    parts = [
        f'<path class="frame" d="M{LEFT:g} {TOP:g}h{SIDE:g}v{SIDE:g}h-{SIDE:g}z"/>',
        f'<path class="grid" d="{"".join(lines)}"/>',
        *_labels_across(columns, frame.across),
        _labels_up(rows, frame.up),
    ]
    if frame.title:
        parts.append(f'<text x="{LEFT + SIDE / 2:g}" y="{TOP + SIDE + 27:g}">{escape(frame.title)}</text>')
    if frame.ideal:
        parts.append(line(frame.ideal, frame, "ideal"))
    return "".join(parts)


def _labels_up(rows: Sequence[str], scale: Scale) -> str:
    """Return the labels of the y axis, which end at it."""
    texts = zip(rows, scale.texts, strict=True)
    labels = (f'<text x="{LEFT - 4:g}" y="{_pixels(float(y) + 4)}">{text}</text>' for y, text in texts)
    return f'<g text-anchor="end">{"".join(labels)}</g>'


def _labels_across(columns: Sequence[str], scale: Scale) -> Iterable[str]:
    """Yield the labels of the x axis, without numbers that would overlap; the first and last word end at the axis."""
    free = -math.inf
    for x, text in zip(columns, scale.texts, strict=True):
        half = LETTER * len(text) / 2
        if float(x) - half < free and not scale.labels:
            continue
        free = float(x) + half + LETTER
        anchor = ANCHORS.get(float(x), "") if scale.labels else ""
        yield f'<text x="{x}" y="{TOP + SIDE + 13:g}"{anchor}>{escape(text)}</text>'


def line(points: Sequence[Point], frame: Frame, kind: str) -> str:
    """Return a line through points."""
    return f'<path class="{kind}" d="{_path([frame.tenths(*point[:2]) for point in points])}"/>'


def dots(points: Sequence[Point], frame: Frame, role: Role) -> str:
    """Return a dot at each point."""
    return f'<path class="dots {role}" d="{_path([frame.tenths(*point[:2]) for point in points], "m", "h0")}"/>'


def banded(points: Sequence[Point], frame: Frame, role: Role) -> str:
    """Return the band of the points that have limits, empty if none has; an error bar where neighbours have none."""
    runs = [list(run) for is_known, run in groupby(points, lambda point: len(point) > 2) if is_known]
    return "".join(upright(run, frame, role) if len(run) == 1 else _filled(run, frame, role) for run in runs)


def _filled(points: Sequence[Point], frame: Frame, role: Role) -> str:
    upper = [frame.tenths(point[0], point[3]) for point in points]
    lower = [frame.tenths(point[0], point[2]) for point in reversed(points)]
    return f'<path class="band {role}" d="{_path(upper + lower)}z"/>'


def upright(points: Sequence[Point], frame: Frame, role: Role, *, is_capped: bool = True) -> str:
    """Return an error bar from the lower to the upper limit of each point that has limits; else empty."""
    ends = [(float(frame.x(point[0])), frame.y(point[2]), frame.y(point[3])) for point in points if len(point) > 2]
    bars = [
        f"M{x - CAP:g} {low}h{2 * CAP:g}m-{CAP:g} 0V{high}m-{CAP:g} 0h{2 * CAP:g}"
        if is_capped
        else f"M{x:g} {low}V{high}"
        for x, low, high in ends
    ]
    return f'<path class="{role} limits" d="{"".join(bars)}"/>' if bars else ""


def chance(half_width: float | None, frame: Frame, role: Role) -> str:
    """Return the band around 1 that holds the density of a calibrated forecast; empty if it is unknown."""
    if half_width is None:
        return ""
    top, bottom = frame.y(1 + half_width), frame.y(1 - half_width)
    return f'<path class="band {role}" d="M{LEFT:g} {top}h{SIDE:g}V{bottom}h-{SIDE:g}z"/>'


def stairs(heights: Sequence[float], edges: Sequence[float], frame: Frame, kind: str) -> str:
    """Return the outline of a histogram; each height lies between two edges."""
    corners = [frame.tenths(end, height) for height, ends in zip(heights, pairwise(edges), strict=True) for end in ends]
    first, last = frame.tenths(edges[0], 0.0), frame.tenths(edges[-1], 0.0)
    return f'<path class="{kind}" d="{_path([first, *corners, last])}"/>'


def diamond(point: Point, frame: Frame, role: Role) -> str:
    """Return a diamond at a point."""
    return f'<path class="diamond {role}" d="{_path([frame.tenths(*point[:2])])}m-4 0l4-4l4 4l-4 4z"/>'


def _path(places: Sequence[tuple[int, int]], join: str = "l", after: str = "") -> str:
    """Return a short SVG path through positions in tenths of a pixel, with relative coordinates.

    >>> _path([(380, 40), (381, 35), (381, 40)])
    'M38 4l.1-.5v.5'
    """
    found = [f"M{_number(places[0][0])} {_number(places[0][1])}{after}"]
    for (x0, y0), (x1, y1) in pairwise(places):
        across, down = x1 - x0, y1 - y0
        if join == "l" and not across * down:
            found.append(f"h{_number(across)}" if across else f"v{_number(down)}" if down else "")
        else:
            found.append(f"{join}{_number(across)}{'' if down < 0 else ' '}{_number(down)}{after}")
    return "".join(found)


@lru_cache(2048)
def _number(tenths: int) -> str:
    sign, text = "-" if tenths < 0 else "", f"{abs(tenths) / 10:g}"
    return sign + (text.removeprefix("0") or "0")


def nothing() -> str:
    """Return a note in place of points."""
    return f'<text x="{LEFT + SIDE / 2:g}" y="{TOP + SIDE / 2:g}">no values</text>'


def short(number: float) -> str:
    """Return a short label of a tick.

    >>> [short(number) for number in (0.3, 9000, 30_000, 2_000_000)]
    ['0.3', '9000', '30k', '2M']
    >>> short(1e10) == "1\N{MULTIPLICATION SIGN}10\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT ZERO}"
    True
    """
    for least, size, letter in ((1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if least <= abs(number) < 1e9:
            return true_minus(f"{float(f'{number / size:.3g}'):g}{letter}")
    return true_minus(f"{number:g}" if abs(number) >= 1e9 else for_people(number)).replace("\u00a0", "")


def fitted(values: Iterable[float]) -> Scale:
    """Return an axis that includes all values; logarithmic if the largest is over 8 times the smallest."""
    known = [value for value in values if value > 0]
    if not known:
        return UNIT
    low, high = min(known), max(known)
    if high / low < LOGARITHMIC:
        return even(0.0, 1.05 * high)
    return ratios(low / 1.4, high * 1.4)


def even(low: float, high: float) -> Scale:
    """Return a linear axis with round numbers along it."""
    step = _nice((high - low) / 2.1)
    first = math.ceil(low / step - 1e-9)
    return Scale(low, high, is_log=False, ticks=[k * step for k in range(first, int(high / step + 1e-9) + 1)])


def ratios(low: float, high: float) -> Scale:
    """Return a logarithmic axis with round numbers along it."""
    return Scale(low, high, is_log=True, ticks=_spaced(low, high))


def quantile_scale(edges: Sequence[float]) -> Scale:
    """Return an axis on which groups of equal numbers of pixels are equally wide, with the values between them."""
    count, texts = len(edges) - 1, [short(edge) for edge in edges]
    width = max(map(len, texts)) * LETTER
    steps = [k for k in range(1, count + 1) if count % k == 0]
    step = next((k for k in steps if SIDE * k / count >= 1.5 * width + LETTER), count)
    shown = range(0, count + 1, step)
    return Scale(0.0, 1.0, is_log=False, ticks=[k / count for k in shown], labels=[texts[k] for k in shown])


def in_percent(scale: Scale) -> Scale:
    """Return an axis of shares with its labels in per cent."""
    return replace(scale, labels=[f"{100 * tick:g}" for tick in scale.ticks])


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


def _pixels(place: float) -> str:
    return f"{place:.1f}".removesuffix(".0")
