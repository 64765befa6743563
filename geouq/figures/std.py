"""Distribution of the predicted std of several regions."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from geouq.figures.style import (
    DATA,
    IDEAL,
    INK,
    NARROW,
    decades,
    dress,
    key,
    new_figure,
    note,
    pixels,
    plain,
    with_units,
    without_pixels,
)
from geouq.metrics import rmse
from geouq.summary import Summary

Floats = NDArray[np.float64]

STEPS = 60
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
ROW = 0.24  # inches


def std_figure(regions: Mapping[str, Summary], *, title: str, units: str) -> Figure:
    """How the predicted std is distributed in each region: density, 5, 25, 50, 75 and 95 % quantiles, and the RMSE.

    Quantiles are those of the variance profile, exact to 1 part in 512. The RMSE of a calibrated forecast is the root
    of its mean variance, and so right of most of the bar. The axis is logarithmic where the quantiles span more than a
    factor of ten.
    """
    used = {name: summary for name, summary in regions.items() if summary.n}
    figure = new_figure(title, NARROW, 1.6 + ROW * max(4, 1.4 * len(used) if len(used) < 12 else len(used)))
    if not used:
        return without_pixels(figure)
    axes = figure.subplots()
    draw_std(axes, used, units)
    note(axes, f"{pixels(next(iter(used.values())).n)} in {plain(next(iter(used)), 20)}")
    key(figure, [axes])
    return figure


def draw_std(axes: Axes, used: Mapping[str, Summary], units: str) -> None:
    """Draw a row for each region with pixels."""
    quantiles = {name: np.sqrt(summary.variance.quantiles(QUANTILES)) for name, summary in used.items()}
    ends = np.array([(own[0], own[-1]) for own in quantiles.values()])
    errors = [float(rmse(summary)) for summary in used.values()]
    logarithmic = bool(ends.min() > 0 and ends.max() > 10 * ends.min())
    edges = _edges(ends, logarithmic=logarithmic)
    for row, (name, summary) in enumerate(used.items()):
        _draw(axes, row, summary, quantiles[name], edges)
    axes.plot(errors, range(len(used)), color=IDEAL, marker="D", markersize=4, linestyle="none", label="RMSE", zorder=4)
    axes.set_xlim(edges[0], edges[-1])
    if logarithmic:
        decades(axes, edges[-1] / edges[0], y=False)
    dress(axes, with_units("predicted std", units))
    axes.set_yticks(range(len(used)), [plain(name) for name in used])
    axes.set_ylim(len(used) - 0.4, -0.9)


def _edges(ends: Floats, *, logarithmic: bool) -> Floats:
    low, high = float(ends.min()), float(ends.max())
    if logarithmic:
        return np.geomspace(low / 1.3, high * 1.3, STEPS + 1)
    return np.linspace(max(0.0, low - 0.2 * (high - low)), high + 0.2 * (high - low) or low + 1.0, STEPS + 1)


def _draw(axes: Axes, row: int, summary: Summary, quantiles: Floats, edges: Floats) -> None:
    share = summary.variance.binned(edges**2).share
    first = row == 0
    if share.max() > 0:
        height = 0.75 * share / share.max()
        axes.stairs(
            row - height, edges, baseline=row, fill=True, color=DATA, alpha=0.3, linewidth=0,
            label="density" if first else None,
        )  # fmt: skip
    axes.plot(quantiles[[0, 4]], [row, row], color=INK, linewidth=0.8, label="5 to 95 %" if first else None)
    axes.plot(
        quantiles[[1, 3]], [row, row], color=INK, linewidth=3, solid_capstyle="butt",
        label="25 to 75 %" if first else None,
    )  # fmt: skip
    axes.plot(
        quantiles[2], row, color="white", marker="o", markersize=4, markeredgecolor=INK, linestyle="none",
        label="median" if first else None, zorder=4,
    )  # fmt: skip
