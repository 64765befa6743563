"""Calibration curves of one or several regions."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from geouq.config import CALIBRATION_LEVELS
from geouq.figures.style import (
    FAINT,
    IDEAL,
    MARKERS,
    PALETTE,
    Curve,
    described,
    dress,
    key,
    new_figure,
    note,
    pixels,
    plain,
    without_pixels,
)
from geouq.metrics import calibration_curve, mace

MOST = 6  # curves that can be told apart


def calibration_figure(
    curves: Mapping[str, Curve], *, title: str, levels: Sequence[float] = CALIBRATION_LEVELS
) -> Figure:
    """Share of the truth below each predicted quantile, by the name of the region, above how far that is off.

    On the diagonal where calibrated; an over-confident forecast is above it at low levels and below it at high ones,
    one with a bias is on one side. Of more than six regions those farthest from the diagonal have a colour (the first
    always has), and the others are grey. The bands of the bootstrap hold each point for itself.
    """
    figure = new_figure(title, height=5.4)
    curves = {name: curve for name, curve in curves.items() if curve.summary.n}
    if not curves:
        return without_pixels(figure)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2.6, 1))
    chosen = _farthest(curves, levels)
    for name, curve in curves.items():
        if name not in chosen:
            _draw(top, bottom, curve, levels, colour=FAINT, label="other regions")
    for number, name in enumerate(chosen):
        own, colour = curves[name], PALETTE[(number - 1) % len(PALETTE)]
        _draw(top, bottom, own, levels, colour=colour, label=_named(name, own), marker=MARKERS[number % len(MARKERS)])
    _diagonal(top, bottom)
    dress(top, "", "truth below the quantile (share, 1)")
    dress(bottom, "predicted quantile (level, 1)", "less the level (1)")
    first = next(iter(curves.values()))
    shown = f"{len(chosen)} of {len(curves)} regions in colour" if len(chosen) < len(curves) else ""
    note(top, pixels(first.summary.n), shown, described(first.bands, first.bands.calibration if first.bands else None))
    key(figure, [top], columns=2)
    return figure


def draw_curve(
    axes: Axes, curve: Curve, levels: Sequence[float], *, colour: str, label: str, marker: str = "", minus: float = 0
) -> None:
    """One curve with its band; `minus` 1 draws how far it is from the diagonal."""
    x = np.asarray(levels)
    y = calibration_curve(curve.summary, levels) - minus * x
    weight = 1.2 if marker else 0.8
    axes.plot(x, y, color=colour, marker=marker, markersize=3, linewidth=weight, label=label, zorder=3 if marker else 2)
    if marker and curve.bands is not None:
        low, high = curve.bands.calibration - minus * x
        axes.fill_between(x, low, high, facecolor=colour, alpha=0.1, linewidth=0)
        axes.plot(x, np.transpose([low, high]), color=colour, linewidth=0.5, alpha=0.6, zorder=2)


def _draw(
    top: Axes, bottom: Axes, curve: Curve, levels: Sequence[float], *, colour: str, label: str, marker: str = ""
) -> None:
    draw_curve(top, curve, levels, colour=colour, label=label, marker=marker)
    draw_curve(bottom, curve, levels, colour=colour, label=label, marker=marker, minus=1)


def _farthest(curves: Mapping[str, Curve], levels: Sequence[float]) -> list[str]:
    """Return the first name, then those with the largest mean distance from the diagonal, in the order given."""
    first, *others = curves
    ranked = sorted(others, key=lambda name: -float(mace(curves[name].summary, levels)))[: MOST - 1]
    return [first, *(name for name in others if name in ranked)]


def _named(name: str, curve: Curve) -> str:
    return f"{plain(name, 16)} ({pixels(curve.summary.n)})"


def draw_diagonal(axes: Axes) -> None:
    """Draw the curve of a calibrated forecast."""
    axes.plot([0, 1], [0, 1], color=IDEAL, linewidth=1.5, linestyle="--", label="calibrated", zorder=1)
    axes.set(xlim=(0, 1), ylim=(0, 1))


def _diagonal(top: Axes, bottom: Axes) -> None:
    draw_diagonal(top)
    bottom.axhline(0, color=IDEAL, linewidth=1.5, linestyle="--", zorder=1)
    away = max(0.01, *(abs(limit) for limit in bottom.get_ylim()))
    bottom.set_ylim(-away, away)
    bottom.yaxis.set_major_locator(MaxNLocator(4, symmetric=True))
