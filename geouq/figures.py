"""Figures from summaries: each a function that returns a matplotlib Figure and touches nothing else."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter
from numpy.typing import NDArray

from geouq.atomic import written_whole
from geouq.config import BinScheme
from geouq.inference import Blocks
from geouq.metrics import binned, coverage, ence, uce, zms
from geouq.summary import Binned, Summary
from geouq.wording import calibration_word, for_people

Floats = NDArray[np.float64]

# Blue and orange of Okabe and Ito's palette, apart for every kind of colour vision and in grey
INK, DATA, IDEAL, FAINT = "#1b1b1b", "#0072b2", "#d55e00", "#b9c4cc"
GREEN = "#009e73"
SIZE = (5.2, 5.2)
DOTS_PER_INCH = 150
PIT_BINS = 20


def reliability_diagram(
    summary: Summary, scheme: BinScheme, *, title: str, units: str, edges: Floats | None = None
) -> Figure:
    """Observed against predicted variance, bin by bin, above the share of the pixels in each bin.

    Points above the diagonal are over-confident: errors are larger than predicted. Both axes are logarithmic where the
    bins span more than a factor of ten. edges : of the bins, where they are not the summary's own.
    """
    figure = _figure(title)
    per_bin = binned(summary, scheme, edges)
    used = per_bin.n > 0
    if not used.any():
        return _without_pixels(figure)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    shown = per_bin.mean_variance[used], per_bin.mse[used]
    _draw_reliability(top, *shown)
    _draw_shares(bottom, per_bin)
    squared = _squared(units)
    unit = f", {squared}" if units else ""
    top.set_ylabel(f"observed: mean squared error{unit}")
    bottom.set_xlabel(f"predicted: mean variance{unit}")
    gap = for_people(float(uce(summary, scheme, edges))) + (f" {squared}" if squared not in ("", "1") else "")
    numbers = f"UCE {gap}   ENCE {for_people(float(ence(summary, scheme, edges)))}"
    _note(top, f"{_pixels(summary)}   {used.sum()} of {len(used)} {scheme.scheme} bins\n{numbers}")
    return figure


def pit_histogram(summary: Summary, *, title: str) -> Figure:
    """Density of the probability integral transform in 20 bins; flat at 1 when calibrated.

    High ends are over-confident, a high middle under-confident, a slope a bias.
    """
    figure = _figure(title)
    if not summary.n:
        return _without_pixels(figure)
    axes = figure.subplots()
    density = PIT_BINS * summary.z.regular(PIT_BINS) / summary.moments.weight
    left = np.arange(PIT_BINS) / PIT_BINS
    axes.bar(left, density, 1 / PIT_BINS, align="edge", color=DATA, edgecolor="white", linewidth=0.5)
    axes.axhline(1, color=IDEAL, linewidth=1.5, linestyle="--", label="calibrated")
    axes.set(xlim=(0, 1), ylim=(0, 1.05 * max(float(density.max()), 1.2)), xlabel="PIT of the truth (1)")
    axes.set_ylabel("density (1)")
    above = _pixels(summary)
    if 0.9 in summary.levels:
        above += f"   90 % interval covers {100 * float(coverage(summary, 0.9)):.1f} %"
    mean_square = float(zms(summary))
    _note(axes, f"{above}\nmean z² {for_people(mean_square)}, {calibration_word(mean_square)}")
    return figure


def correlogram_figure(blocks: Blocks, *, title: str) -> Figure:
    """Correlation between cells of what each adds to the mean error, squared error and z², by their distance.

    Dotted lines show how far each reaches; blocks of the bootstrap are to be at least as large.
    """
    figure = _figure(title)
    axes = figure.subplots()
    metres = np.isfinite(blocks.cell_metres)
    cell, unit = (blocks.cell_metres / 1000, "km") if metres else (blocks.cell_pixels, "pixels")
    for reach, colour, name in zip(blocks.reaches.values(), (DATA, IDEAL, GREEN), ("e", "e²", "z²"), strict=True):
        one = reach.correlogram
        axes.plot(one.lags * cell, one.correlation, color=colour, marker="o", markersize=3, linewidth=1.2, label=name)
        axes.axvline(one.reach * cell, color=colour, linewidth=1, linestyle=":")
    axes.axhline(0, color=INK, linewidth=0.6)
    axes.set(xlabel=f"distance, {unit}", ylabel="correlation (1)", ylim=(-0.4, 1.05))
    error = blocks.reaches["error"]
    axes.set_xlim(0, max(1, len(error.correlogram.lags) - 1) * cell)
    side = f"{for_people(blocks.side * cell)} {unit} a side" if blocks.side else "one a tile"
    size = for_people(error.effective)
    _note(axes, f"{blocks.count} blocks, {side}\n{blocks.cells} cells, of the mean error as good as {size}")
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a PNG whose bytes depend on the figure alone."""
    with written_whole(path) as part:
        figure.savefig(part, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})


def _figure(title: str) -> Figure:
    figure = Figure(figsize=SIZE, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(_shortened(title), fontsize=12, color=INK)
    return figure


def _without_pixels(figure: Figure) -> Figure:
    figure.text(0.5, 0.5, "no valid pixels", ha="center", va="center", fontsize=14, color=INK)
    return figure


def _draw_reliability(axes: Axes, predicted: Floats, observed: Floats) -> None:
    positive = np.concatenate([predicted, observed[observed > 0]])
    lowest, highest = positive.min(), positive.max()
    if highest > 10 * lowest and (observed > 0).all():
        axes.set(xscale="log", yscale="log")
        _mark_decades(axes, highest / lowest)
        limits = lowest / 1.6, highest * 1.6
    else:
        limits = 0, highest * 1.12
    axes.plot(limits, limits, color=IDEAL, linewidth=1.5, linestyle="--", label="calibrated")
    axes.plot(predicted, observed, color=DATA, marker="o", markersize=6, linewidth=1.2, clip_on=False, zorder=3)
    axes.set(xlim=limits, ylim=limits)
    axes.grid(visible=True, color=FAINT, linewidth=0.4)


def _mark_decades(axes: Axes, span: float) -> None:
    """Ticks far enough apart for their numbers: decades, and 3 in each where there are few."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 3) if span < 100 else (1,)))
        axis.set_major_formatter(LogFormatterSciNotation(minor_thresholds=(np.inf, np.inf)))
        axis.set_minor_formatter(NullFormatter())


def _draw_shares(axes: Axes, per_bin: Binned) -> None:
    used = per_bin.n > 0
    axes.bar(
        per_bin.edges[:-1][used], per_bin.share[used], np.diff(per_bin.edges)[used], align="edge",
        color=FAINT, edgecolor=INK, linewidth=0.6,
    )  # fmt: skip
    # a bin of one single value has no width to show
    axes.plot(per_bin.mean_variance[used], per_bin.share[used], color=DATA, marker="o", markersize=3, linestyle="none")
    axes.set(ylabel="share (1)", ylim=(0, 1.15 * float(np.nanmax(per_bin.share))))


def _note(axes: Axes, text: str) -> None:
    """Text and key above the axes, where no data can lie."""
    axes.set_title(text, loc="left", fontsize=9, color=INK)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2, frameon=False, fontsize=9)


def _pixels(summary: Summary) -> str:
    return f"{int(summary.n):,} {'pixel' if summary.n == 1 else 'pixels'}".replace(",", "\u202f")


def _squared(units: str) -> str:
    if units == "1":
        return "1"
    return f"{units}²" if units.isalpha() or units == "%" else f"({units})²"


def _shortened(title: str) -> str:
    return title if len(title) <= 60 else f"{title[:57]}…"
