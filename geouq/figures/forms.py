"""Reliability of what is predicted as an ensemble, as quantiles or as probabilities of classes."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from geouq.figures.style import (
    DATA,
    IDEAL,
    MARKERS,
    PALETTE,
    dress,
    key,
    new_figure,
    note,
    pixels,
    plain,
    without_pixels,
)
from geouq.metrics import form_curves
from geouq.metrics.ensemble import mixture_pit, rank_histogram
from geouq.metrics.form_curves import FORM_CURVES
from geouq.summary import Summary

FormCurve = tuple[str, NDArray[np.float64], NDArray[np.float64]]


def shares_of(summary: Summary) -> tuple[list[FormCurve], str, str]:
    """Return the curves of a summary of quantiles or of classes, and what is predicted and observed."""
    curves = [
        ("quantiles" if name == "quantile_calibration" else name.removeprefix("reliability_"), x, y)
        for name, x, y in form_curves(summary)
    ]
    known = FORM_CURVES[summary.kind]
    return curves, known.predicted, known.observed


def shares_figure(curves: Sequence[FormCurve], n: int, *, title: str, predicted: str, observed: str) -> Figure:
    """Observed shares against predicted ones, a curve each by its name: on the diagonal where calibrated."""
    figure = new_figure(title)
    axes = figure.subplots()
    draw_shares(axes, curves, predicted=predicted, observed=observed)
    note(axes, pixels(n))
    key(figure, [axes], columns=2)
    return figure


def draw_shares(axes: Axes, curves: Sequence[FormCurve], *, predicted: str, observed: str) -> None:
    """Draw a curve each by its name, and the diagonal."""
    colours = (DATA, *(colour for colour in PALETTE if colour not in (DATA, IDEAL)))
    for number, (name, x, y) in enumerate(curves):
        there = np.isfinite(y)
        axes.plot(
            x[there], y[there], color=colours[number % len(colours)], marker=MARKERS[number % len(MARKERS)],
            markersize=4, linewidth=1.2, label=plain(name, 22), zorder=3,
        )  # fmt: skip
    axes.plot([0, 1], [0, 1], color=IDEAL, linewidth=1.5, linestyle="--", label="calibrated", zorder=1)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    dress(axes, predicted, observed)


def ranks_figure(summary: Summary, *, title: str) -> Figure:
    """Ranks of the truth among the members of an ensemble, and the mixture's PIT where members have variances.

    Both are flat at 1 when calibrated; high at both ends they are over-confident, sloping they are biased. Ranks are
    among the members' means: where members have variances, these are not in them.
    """
    densities = summary.given_as.sampled_members > 0
    figure = new_figure(title, height=5.6 if densities else 3.6)
    if not summary.n:
        return without_pixels(figure)
    first, *others = figure.subplots(2 if densities else 1, squeeze=False).ravel()
    members = draw_ranks(first, summary)
    alone = "means alone, without the members' variances" if densities else ""
    note(first, f"{pixels(summary.n)}, {members} members", alone)
    for axes in others:
        pit = mixture_pit(summary)
        _bars(axes, len(pit) * pit, np.linspace(0, 1, len(pit) + 1))
        dress(axes, "PIT of the truth in the mixture (1)", "density (1)")
    key(figure, [first])
    return figure


def draw_ranks(axes: Axes, summary: Summary) -> int:
    """Draw the ranks of the truth; return the number of members."""
    shares = rank_histogram(summary)
    members = len(shares) - 1
    _bars(axes, len(shares) * shares, np.linspace(-0.5, members + 0.5, members + 2))
    dress(axes, "members below the truth (number)", "density (1)")
    return members


def _bars(axes: Axes, density: NDArray[np.float64], edges: NDArray[np.float64]) -> None:
    axes.stairs(density, edges, color=DATA, alpha=0.35, fill=True)
    axes.stairs(density, edges, color=DATA, linewidth=1.4, label="observed")
    axes.axhline(1, color=IDEAL, linewidth=1.5, linestyle="--", label="calibrated", zorder=4)
    axes.set(xlim=(edges[0], edges[-1]), ylim=(0, 1.05 * max(float(density.max()), 1.2)))
