"""How all figures look: one palette, one size of letters, notes above the axes and the key below them.

Colours are those of Okabe and Ito (2008), apart for every kind of colour vision; markers differ too, for print in grey.
Figures are drawn at their final size, 12 or 18 cm wide, and nothing in them is smaller than 8 points.
"""

import textwrap
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullLocator, StrMethodFormatter
from numpy.typing import ArrayLike, NDArray

from geouq.core.atomic import atomic_write
from geouq.core.errors import ConfigError
from geouq.inference import Bands
from geouq.metrics import metric_label, named
from geouq.summary import Summary

Floats = NDArray[np.float64]

INK, IDEAL, FAINT = "#1b1b1b", "#4d5963", "#b9c4cc"
DATA, VERMILION, GREEN = "#0072b2", "#d55e00", "#009e73"
PALETTE = (DATA, VERMILION, GREEN, "#cc79a7", "#e69f00", "#56b4e9", INK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
SEQUENTIAL, DIVERGING = "cividis", "RdBu_r"

NARROW, WIDE = 4.72, 7.09  # inches: 12 and 18 cm
LETTERS, HEADING = 8, 10  # points
DOTS_PER_INCH = 200
TOO_FEW = "too few effective cells"
FORMATS = ("png", "pdf", "svg")
LETTERS_AN_INCH = 10  # of a title, which has two lines at most


@dataclass(frozen=True)
class Curve:
    """A summary and how certain its curves are; None where that is not known."""

    summary: Summary
    bands: Bands | None = None


def new_figure(title: str, width: float = NARROW, height: float = 4.4) -> Figure:
    """Return an empty figure with a title; nothing global is touched."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    across = int(width * LETTERS_AN_INCH)
    lines = textwrap.wrap(shortened(title, 2 * across - 12), across)
    figure.suptitle("\n".join(lines), fontsize=HEADING, color=INK, parse_math=False)
    return figure


def without_pixels(figure: Figure) -> Figure:
    """Return the figure of nothing, which says so."""
    figure.text(0.5, 0.5, "no valid pixels", ha="center", va="center", fontsize=HEADING, color=INK)
    return figure


def dress(axes: Axes, x: str = "", y: str = "", *, grid: bool = True) -> None:
    """Names with units on the axes, letters of one size, a faint grid behind the data."""
    axes.set_xlabel(x, fontsize=LETTERS, color=INK, parse_math=False)
    axes.set_ylabel(y, fontsize=LETTERS, color=INK, parse_math=False)
    axes.tick_params(which="both", labelsize=LETTERS, colors=INK, width=0.6)
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_offset_text().set_fontsize(LETTERS)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[:].set_linewidth(0.6)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(visible=True, color=FAINT, linewidth=0.4)


def note(axes: Axes, *lines: str, width: int = 62) -> None:
    """Text above the axes, where no data can lie; lines longer than `width` characters are broken."""
    text = "\n".join(part for line in lines if line for part in textwrap.wrap(line, width))
    # a fixed y spares the search for a place, which measures all ticks
    axes.set_title(text, loc="left", y=1.0, fontsize=LETTERS, color=INK, parse_math=False)


def key(figure: Figure, panels: Iterable[Axes], columns: int = 3) -> None:
    """One key for all panels, below them."""
    found: dict[str, Artist] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        figure.legend(
            list(found.values()), list(found), loc="outside lower center", ncols=columns, frameon=False,
            fontsize=LETTERS, handlelength=2.2, columnspacing=1.4,
        )  # fmt: skip


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
            powers = LogFormatterSciNotation(minor_thresholds=(np.inf, np.inf))
            axis.set_major_formatter(StrMethodFormatter("{x:g}") if plainly else powers)
            axis.set_minor_locator(NullLocator())


def save_figure(figure: Figure, path: Path, dots_per_inch: int = DOTS_PER_INCH) -> None:
    """Write PNG, PDF or SVG by the end of the name; the bytes depend on the figure alone.

    Raises ConfigError for any other format.
    """
    kind = path.suffix.removeprefix(".")
    if kind not in FORMATS:
        raise ConfigError(f"{path}: figures are written as {', '.join(FORMATS)}, not as {kind or 'nothing'}")
    metadata = {"png": {"Software": None}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}[kind]
    letters: dict[Any, Any] = {"svg.hashsalt": "geouq", "pdf.fonttype": 42}
    with atomic_write(path) as part, mpl.rc_context(letters), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # letters without a font are drawn as boxes
        _lay_out(figure, dots_per_inch)
        figure.savefig(part, format=kind, dpi=dots_per_inch, metadata=metadata)


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


def squared(units: str) -> str:
    """Return the units of a variance.

    >>> squared("m"), squared("Mg ha-1"), squared("1"), squared("")
    ('m²', '(Mg ha-1)²', '1', '')
    """
    if units in ("", "1"):
        return units
    return f"{units}²" if units.isalpha() or units == "%" else f"({units})²"


def called(name: str) -> str:
    """Return what people call a number, by its name in tables.

    >>> called("zms"), called("coverage_90"), called("crps_quantiles"), called("std")
    ('mean z²', 'coverage of 90 %', '2 x mean pinball', 'std')
    """
    found = named(name)
    if found is None or found[0].label or not found[0].heading:
        return metric_label(name)
    metric, level = found
    return metric.heading if level is None else f"{metric.heading} of {100 * level:g} %"


def with_units(name: str, units: str) -> str:
    """Return what a metric or a quantity is called, and its units where these are known.

    >>> with_units("std", "m"), with_units("std", ""), with_units("zms", "1")
    ('std (m)', 'std', 'mean z² (1)')
    """
    label = called(name)
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
