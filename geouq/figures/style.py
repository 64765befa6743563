"""How all figures look: one palette, one size of letters, notes above the axes and the key below them.

Colours are those of Okabe and Ito (2008), apart for every kind of colour vision; markers differ too, for print in grey.
Figures are drawn at their final size, as wide as a column or a page of a journal, and nothing in them is smaller than
7 points.
"""

import textwrap
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import AutoLocator, FuncFormatter, LogLocator, NullLocator, StrMethodFormatter
from matplotlib.transforms import ScaledTranslation
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from geouq.core.atomic import atomic_write
from geouq.core.errors import ConfigError
from geouq.inference import Bands
from geouq.metrics import heading_of, metric_label, named
from geouq.summary import Summary

Floats = NDArray[np.float64]

INK, IDEAL, FAINT = "#1b1b1b", "#4d5963", "#b9c4cc"
DATA, VERMILION, GREEN = "#0072b2", "#d55e00", "#009e73"
PALETTE = (DATA, VERMILION, GREEN, "#cc79a7", "#e69f00", "#56b4e9", INK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

COLUMN, PAGE = 85.0, 180.0  # mm: widths of a column and of a page of a journal
INCH, POINT = 25.4, 25.4 / 72  # mm
LETTERS, HEADING = 7, 8  # points
MARGIN = 1.5  # mm, around title and notes
WIDEST_NUMBER = 5  # letters, on an axis, with the space to the next one
LINE = 1.3  # distance of lines, in letters
DOTS_PER_INCH = 300
TOO_FEW = "too few effective cells"
COMPRESSION = 4  # of PNG; more takes longer for 2 %
FORMATS = ("png", "pdf", "svg")
TITLE_LINES = 2  # at most
MOST_COLUMNS = 6  # of a key
NOTE = "note"  # marks the notes among the texts of a figure
MISSING = "Glyph .* missing"  # warning of matplotlib
KEY = {"handlelength": 2.0, "handletextpad": 0.6, "columnspacing": 1.4, "labelspacing": 0.35}  # in letters
BELOW_BAR = 4.1  # letters from a colour bar to the key below its numbers and its label
MINUS = "\N{MINUS SIGN}"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Curve:
    """A summary and how certain its curves are; None where that is not known."""

    summary: Summary
    bands: Bands | None = None


def new_figure(title: str, width: float = COLUMN, height: float = 75.0) -> Figure:
    """Return an empty figure with a title; nothing global is touched.

    Parameters
    ----------
    title : str
        A title that is too long for two lines loses its middle.
    width, height : float
        Size in mm. Title, notes and key add to the height.
    """
    figure = Figure(figsize=(width / INCH, height / INCH), layout="constrained")
    FigureCanvasAgg(figure)
    heading = fitted(title, _room(figure), HEADING, TITLE_LINES)
    figure.suptitle(heading, **_at(figure, 0.0), fontsize=HEADING, **_left_and_plain()).set_in_layout(False)
    _grow(figure, _title_height(figure))
    return figure


def panel_figure(title: str, width: float | None, tall: float = 1.0) -> Figure:
    """Return the figure of a single panel, by default as wide as a column; `tall` 1 is the height of most panels."""
    width = width or COLUMN
    return new_figure(title, width, tall * (26 + 0.44 * width))


def tiling(panels: int, width: float | None, in_column: int) -> tuple[float, int, int]:
    """Return the width of a figure of so many panels, and how many lie side by side and below one another.

    On a page three lie side by side, in a column `in_column`; a single one has a column by default.
    """
    width = width or (PAGE if panels > 1 else COLUMN)
    across = min(3 if width >= PAGE else in_column, panels) or 1
    return width, across, -(-panels // across) or 1


def _left_and_plain() -> dict[str, Any]:
    return {"ha": "left", "va": "top", "color": INK, "linespacing": 1.15, "parse_math": False}


def _at(figure: Figure, below: float) -> dict[str, Any]:
    """Return the place at the left of a figure, so many mm below its margin, which stays when the figure grows."""
    offset = ScaledTranslation(MARGIN / INCH, -(MARGIN + below) / INCH, figure.dpi_scale_trans)
    return {"x": 0, "y": 1, "transform": figure.transFigure + offset}


def _title_height(figure: Figure) -> float:
    """Return the height of the title in mm, with the space below it."""
    lines = figure.get_suptitle().split("\n") if figure.get_suptitle() else []
    return len(lines) * LINE * HEADING * POINT


def _grow(figure: Figure, by: float) -> None:
    """Add mm to the height, and keep the panels below title and notes."""
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + by / INCH)
    notes = sum(text.get_text().count("\n") + 1 for text in figure.texts if text.get_gid() == NOTE)
    head = MARGIN + _title_height(figure) + notes * LINE * LETTERS * POINT
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0, 0, 1, 1 - head / INCH / (height + by / INCH)))


def size_of(axes: Axes) -> tuple[float, float]:
    """Return width and height of axes in points; before they are laid out, nearly what they are afterwards."""
    points = 72 / axes.figure.dpi
    return axes.bbox.width * points, axes.bbox.height * points


def _room(figure: Figure) -> float:
    """Return the points between the left and the right margin."""
    return (figure.get_figwidth() * INCH - 2 * MARGIN) / POINT


def fitted(text: str, room: float, size: float = LETTERS, most: int = 0) -> str:
    """Return a text in lines of so many points at most; one that needs more than `most` lines loses its middle."""
    for across in range(int(room / size * 2.5), 8, -2):
        lines = textwrap.wrap(shortened(text, most * across - 12) if most else text, across)
        if all(width_of(line, size) <= room for line in lines):
            break
    return "\n".join(lines)


@lru_cache(maxsize=1024)
def width_of(text: str, size: float) -> float:
    """Return the width of a text in points, the larger one of a screen and of print, as letters keep to pixels."""
    font = FontProperties(size=size)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", MISSING)
        return max(_width_in_print(text, font, dpi) for dpi in (100, DOTS_PER_INCH))


def _width_in_print(text: str, font: FontProperties, dots_per_inch: int) -> float:
    renderer: Any = RendererAgg(1, 1, dots_per_inch)  # type: ignore[no-untyped-call]
    return float(renderer.get_text_width_height_descent(text, font, ismath=False)[0] * 72 / dots_per_inch)


def without_pixels(figure: Figure) -> Figure:
    """Return the figure of nothing, which says so."""
    figure.text(0.5, 0.5, "no valid pixels", ha="center", va="center", fontsize=HEADING, color=INK)
    return figure


def dress(axes: Axes, x: str = "", y: str = "", *, grid: bool = True) -> None:
    """Label the axes with names and units, in one letter size, and draw a light grid behind the data.

    Long names are broken where they exceed the axes, which are not laid out yet: they are nearly as large afterwards.
    """
    across, down = size_of(axes)
    axes.set_xlabel(fitted(x, 0.95 * across), fontsize=LETTERS, color=INK, parse_math=False)
    axes.set_ylabel(fitted(y, 1.05 * down), fontsize=LETTERS, color=INK, parse_math=False)
    if isinstance(axes.xaxis.get_major_locator(), AutoLocator):  # which takes numbers for shorter than they may be
        axes.locator_params(axis="x", nbins=max(3, int(across / LETTERS / WIDEST_NUMBER)))
    axes.tick_params(which="both", labelsize=LETTERS, colors=INK, width=0.6)
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_offset_text().set_fontsize(LETTERS)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[:].set_linewidth(0.6)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(visible=True, color=FAINT, linewidth=0.4)


def note(figure: Figure, *lines: str) -> None:
    """Write notes between the title and the panels, where no data can lie; long lines are broken."""
    text = "\n".join(fitted(line, _room(figure)) for line in lines if line)
    if text:
        place = _at(figure, _title_height(figure))
        figure.text(s=text, **place, **_left_and_plain(), fontsize=LETTERS, gid=NOTE, in_layout=False)
        _grow(figure, (text.count("\n") + 1) * LINE * LETTERS * POINT)


def notes_of(figure: Figure) -> str:
    """Return the notes of a figure."""
    return "\n".join(text.get_text() for text in figure.texts if text.get_gid() == NOTE)


def key(figure: Figure, panels: Iterable[Axes]) -> None:
    """Draw one key for all panels, below them, in as many columns as fit."""
    found = _labelled(panels)
    if not found:
        return
    columns = _columns(list(found), _room(figure) / LETTERS)
    _grow(figure, (-(-len(found) // columns) * (1.15 + KEY["labelspacing"]) + 1) * LETTERS * POINT)
    figure.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=columns, frameon=False, fontsize=LETTERS,
        **KEY,
    )  # fmt: skip


def key_below(bar: Axes, panels: Iterable[Axes]) -> None:
    """Draw one key for all panels below a colour bar and its label, in one row; the layout counts it to the bar."""
    found = _labelled(panels)
    if not found:
        return
    figure: Any = bar.figure
    height = (1.65 + KEY["labelspacing"]) * LETTERS
    _grow(figure, height * POINT)
    below = bar.transAxes + ScaledTranslation(0, -BELOW_BAR * LETTERS / 72, figure.dpi_scale_trans)
    bar.legend(
        list(found.values()), list(found), loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=below,
        ncols=len(found), frameon=False, fontsize=LETTERS, borderaxespad=0, **KEY,
    )  # fmt: skip


def _labelled(panels: Iterable[Axes]) -> dict[str, Artist]:
    """Return what has a label in the panels, once for each label."""
    found: dict[str, Artist] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return found


def _columns(labels: Sequence[str], room: float) -> int:
    """Return how many columns of a key fit into so many letters."""
    widths = [width_of(label, LETTERS) / LETTERS + KEY["handlelength"] + KEY["handletextpad"] for label in labels]
    for columns in range(min(MOST_COLUMNS, len(labels)), 1, -1):
        # matplotlib fills the first columns with one label more each, if they cannot be even
        ends = np.cumsum([0, *(len(labels) // columns + (k < len(labels) % columns) for k in range(columns))])
        widest = sum(max(widths[first:end]) for first, end in pairwise(ends))
        if widest + (columns - 1) * KEY["columnspacing"] + 1 <= room:
            return columns
    return 1


def decades(axes: Axes, span: float, *, x: bool = True, y: bool = True) -> None:
    """Set logarithmic axes with ticks far enough apart for their numbers: decades, and some in each of a few decades.

    There are no minor ticks: to measure them takes half of the time of a figure.
    """
    for wanted, axis, scale in ((x, axes.xaxis, axes.set_xscale), (y, axes.yaxis, axes.set_yscale)):
        if wanted:
            scale("log")
            axis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7) if span < 8 else (1, 3) if span < 100 else (1,)))
            low, high = sorted(axis.get_view_interval())
            plainly = low >= 1e-3 and high <= 1e5
            axis.set_major_formatter(StrMethodFormatter("{x:g}") if plainly else FuncFormatter(_power))
            axis.set_minor_locator(NullLocator())


def _power(number: float, place: int | None = None) -> str:  # noqa: ARG001  matplotlib calls it with a place
    """Return a number as a power of ten whose exponent is no smaller than other letters.

    >>> _power(1000.0), _power(3e-12)
    ('10³', '3·10⁻¹²')
    """
    digits, _, exponent = f"{number:.0e}".partition("e")
    power = f"10{str(int(exponent)).translate(RAISED)}"
    return power if digits == "1" else f"{digits}·{power}"


def save_figure(figure: Figure, path: Path, dots_per_inch: int = DOTS_PER_INCH) -> None:
    """Write PNG, PDF or SVG by the end of the name; the bytes depend on the figure alone.

    Raises ConfigError for any other format.
    """
    kind = path.suffix.removeprefix(".")
    if kind not in FORMATS:
        raise ConfigError(f"{path}: figures are written as {', '.join(FORMATS)}, not as {kind or 'nothing'}")
    letters: dict[Any, Any] = {"svg.hashsalt": "geouq", "pdf.fonttype": 42}
    with atomic_write(path) as part, mpl.rc_context(letters), warnings.catch_warnings():
        warnings.filterwarnings("ignore", MISSING)  # letters without a font are drawn as boxes
        _lay_out(figure, dots_per_inch)
        if kind == "png":
            _write_png(figure, part, dots_per_inch)
        else:
            undated = {"pdf": "CreationDate", "svg": "Date"}[kind]
            figure.savefig(part, format=kind, dpi=dots_per_inch, metadata={undated: None})


def _write_png(figure: Figure, path: Path, dots_per_inch: int) -> None:
    """Draw a figure once, where matplotlib would draw it twice, and write it without the alpha of opaque pixels."""
    figure.set_dpi(dots_per_inch)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    rgba = np.asarray(canvas.buffer_rgba())
    image = Image.fromarray(rgba)
    is_opaque = bool((rgba[..., 3] == 255).all())
    (image.convert("RGB") if is_opaque else image).save(
        path, "PNG", dpi=(dots_per_inch, dots_per_inch), compress_level=COMPRESSION
    )


def _lay_out(figure: Figure, dots_per_inch: int) -> None:
    """Place the axes once and for all: matplotlib would draw the whole figure once more to place them."""
    engine = figure.get_layout_engine()
    if engine is not None and figure.axes:
        figure.set_dpi(dots_per_inch)
        engine.execute(figure)
        figure.set_layout_engine("none")


def pixels(number: ArrayLike) -> str:
    """Return how many pixels.

    >>> pixels(1), pixels(1234567).replace(chr(0x202F), " ")
    ('1 pixel', '1 234 567 pixels')
    """
    return f"{(n := int(np.asarray(number))):,} {'pixel' if n == 1 else 'pixels'}".replace(",", "\u202f")


def percent(share: float) -> str:
    """Return a share as a percentage.

    >>> percent(0.9), percent(0.6827)
    ('90 %', '68.27 %')
    """
    return f"{round(100 * share, 10):g} %"


def described(bands: Bands | None, limits: Floats | None) -> str:
    """Return what the bands with these limits are, or why there are none, for a note; empty without inference."""
    if bands is None or limits is None:
        return ""
    if not np.isfinite(limits).any():
        return f"no bands: {TOO_FEW}"
    return f"bands: {percent(bands.level)} of each point, bootstrap of {bands.blocks} blocks"


def readable_name(name: str) -> str:
    """Return what people call a number, by its name in tables.

    >>> readable_name("zms"), readable_name("coverage_90"), readable_name("crps_quantiles"), readable_name("std")
    ('mean z²', 'coverage of 90 %', '2 x mean pinball', 'std')
    """
    found = named(name)
    if found is None or found[0].label or not found[0].heading:
        return metric_label(name)
    return heading_of(name)


def with_units(name: str, units: str) -> str:
    """Return what a metric or a quantity is called, and its units where these are known.

    >>> with_units("std", "m"), with_units("std", ""), with_units("zms", "1")
    ('std (m)', 'std', 'mean z² (1)')
    """
    label = readable_name(name)
    return f"{label} ({units})" if units else label


def shortened(text: str, longest: int) -> str:
    """Return the text whose middle is left out where it is too long, as names often differ at their ends alone.

    >>> shortened("region of lakes 12", 10)
    'region… 12'
    """
    behind = (longest - 1) * 2 // 5
    return text if len(text) <= longest else f"{text[: longest - 1 - behind]}…{text[-behind:]}"


def plain(text: str, longest: int = 32) -> str:
    """Return a label that is not too long, and in which no $ begins a formula."""
    return shortened(text, longest).replace("$", r"\$")


def span_of(values: Sequence[float] | Floats) -> float:
    """Return how many times the smallest of positive values the largest is."""
    return float(np.max(values) / np.min(values))
