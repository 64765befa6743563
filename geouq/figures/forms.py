"""Reliability of what is predicted as quantiles or as probabilities of classes."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from geouq.figures.style import DATA, IDEAL, MARKERS, PALETTE, dress, key, new_figure, note, pixels, plain

FormCurve = tuple[str, NDArray[np.float64], NDArray[np.float64]]


def shares_figure(curves: Sequence[FormCurve], n: int, *, title: str, predicted: str, observed: str) -> Figure:
    """Observed shares against predicted ones, a curve each by its name: on the diagonal where calibrated."""
    figure = new_figure(title)
    axes = figure.subplots()
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
    note(axes, pixels(n))
    key(figure, [axes], columns=2)
    return figure
