"""Sparsification curves."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from geouq.figures.style import (
    DATA,
    FAINT,
    IDEAL,
    INK,
    dress,
    key,
    new_figure,
    note,
    pixels,
    with_units,
    without_pixels,
)
from geouq.metrics import (
    LEFT_OUT,
    ause,
    ause_resolution,
    oracle_curve,
    sparsification_curve,
    spearman,
    spearman_resolution,
)
from geouq.summary import Summary
from geouq.text.wording import for_people

COARSE = 0.01  # resolution that a reader must know


def sparsification_figure(summary: Summary, *, title: str, units: str) -> Figure:
    """RMSE of what remains when the pixels of largest predicted variance are left out, beside the best order there is.

    The grey area between both, divided by the RMSE, is AUSE: 0 where the std puts errors in their true order. A flat
    line is a std that says nothing. Numbers whose resolution is coarser than 0.01 are given with it. Raises
    SummaryError where the summary keeps no ordering.
    """
    figure = new_figure(title, height=4.2)
    if not summary.n:
        return without_pixels(figure)
    axes = figure.subplots()
    draw_sparsification(axes, summary, units)
    own_error = _with_resolution(ause(summary), ause_resolution(summary))
    correlation = _with_resolution(spearman(summary), spearman_resolution(summary))
    note(axes, pixels(summary.n), f"AUSE {own_error}, rank correlation {correlation}")
    key(figure, [axes])
    return figure


def draw_sparsification(axes: Axes, summary: Summary, units: str) -> None:
    """Draw both curves and the area between them."""
    x, own, best = 100 * LEFT_OUT, sparsification_curve(summary), oracle_curve(summary)
    axes.fill_between(x, best, own, color=FAINT, alpha=0.5, linewidth=0)
    axes.plot(x, own, color=DATA, linewidth=1.6, label="by predicted std")
    axes.plot(x, best, color=IDEAL, linewidth=1.6, linestyle="--", label="by error (oracle)")
    axes.axhline(own[0], color=INK, linewidth=1, linestyle=":", label="in any order")
    axes.set(xlim=(0, 100))
    if np.isfinite(own).all():
        axes.set(ylim=(0, 1.1 * own.max()))
    dress(axes, "pixels left out (%)", with_units("RMSE of those that remain", units))


def _with_resolution(value: NDArray[np.float64], resolution: NDArray[np.float64]) -> str:
    """Return a number, and its resolution where that is coarse.

    >>> _with_resolution(np.array(0.5), np.array(0.002)), _with_resolution(np.array(0.5), np.array(0.123))
    ('0.5', '0.5 (to within 0.12)')
    """
    text = for_people(float(value))
    return f"{text} (to within {resolution:.2g})" if resolution > COARSE else text
