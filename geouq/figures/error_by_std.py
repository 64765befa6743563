"""Size of the error against the predicted std."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from geouq.errors import SummaryError
from geouq.figures.style import (
    DATA,
    GREEN,
    LETTERS,
    decades,
    dress,
    key,
    new_figure,
    note,
    percent,
    pixels,
    with_units,
    without_pixels,
)
from geouq.gaussian import half_width
from geouq.summary import Summary

Floats = NDArray[np.float64]

LEVELS = (0.5, 0.9)
GROUPS = 20
ACROSS, DOWN, PLACES = 60, 60, 4


def error_by_std_figure(summary: Summary, *, title: str, units: str) -> Figure:
    """Density of |error| against the predicted std, with quantiles of |error| in 20 groups of pixels of like std.

    Dashed lines are the quantiles that calibrated normal forecasts would have, so full lines above them
    show errors larger than predicted. Drawn from the pixels counted by variance and |z|, in classes of 1 part in 12
    of |z|: |error| is |z| std, spread evenly over its class. Raises SummaryError where the summary keeps no ordering.
    """
    figure = new_figure(title, height=4.9)
    if not summary.n:
        return without_pixels(figure)
    axes = figure.subplots()
    shown = draw_error_by_std(axes, summary, units)
    note(axes, f"{pixels(summary.n)}, of which {shown:.1f} % lie inside the axes")
    key(figure, [axes], columns=2)
    return figure


def draw_error_by_std(axes: Axes, summary: Summary, units: str) -> float:
    """Draw the density with its colour bar and the quantiles; return the percentage of pixels inside the axes."""
    std, error, weight = _points(summary)
    across, down = _edges(std, weight, ACROSS, 0.0005, 0.9995), _edges(error, weight, DOWN, 0.01, 0.9995)
    counts, _, _ = np.histogram2d(std, error, bins=(across, down), weights=weight / weight.sum() * 100)
    mesh = axes.pcolormesh(across, down, np.where(counts > 0, counts, np.nan).T, cmap="Greys", rasterized=True)
    _draw_quantiles(axes, std, error, weight, across[[0, -1]])
    axes.set(xlim=across[[0, -1]], ylim=down[[0, -1]])
    decades(axes, across[-1] / across[0], y=False)
    decades(axes, down[-1] / down[0], x=False)
    dress(axes, with_units("predicted std", units), with_units("|error|", units), grid=False)
    bar = axes.figure.colorbar(mesh, ax=axes, pad=0.02, aspect=30)
    bar.set_label("pixels (%)", fontsize=LETTERS)
    bar.ax.tick_params(labelsize=LETTERS)
    return float(counts.sum())


def error_quantiles(summary: Summary, probability: float) -> tuple[Floats, Floats]:
    """Mean std of each of 20 groups of pixels of like std, and a quantile of |error| there; both float64 (groups)."""
    return _quantiles(*_points(summary), probability)


def _points(summary: Summary) -> tuple[Floats, Floats, Floats]:
    """Std, |error| and weight of the pixels: those of a class of |z| at four places in it."""
    profile = summary.ordering
    if profile is None:
        raise SummaryError("this summary does not keep the order of errors; ask for it with ordering: true")
    (low, high), std = profile.z_ends, np.sqrt(profile.variance)
    z = low[:, np.newaxis] + (high - low)[:, np.newaxis] * (np.arange(PLACES) + 0.5) / PLACES
    return np.repeat(std, PLACES), (std[:, np.newaxis] * z).ravel(), np.repeat(profile.n / PLACES, PLACES)


def _quantiles(std: Floats, error: Floats, weight: Floats, probability: float) -> tuple[Floats, Floats]:
    order = np.argsort(std, kind="stable")
    std, error, weight = std[order], error[order], weight[order]
    _, first, key_of = np.unique(std, return_index=True, return_inverse=True)
    totals = np.add.reduceat(weight, first)
    middle = np.cumsum(totals) - totals / 2  # pixels of one key are not torn apart
    group = np.minimum((GROUPS * middle / totals.sum()).astype(np.int64), GROUPS - 1)[key_of]
    own = [group == k for k in np.unique(group)]
    found = [_of_group(std[some], error[some], weight[some], probability) for some in own]
    x, y = np.array(found).T
    return x, y


def _of_group(std: Floats, error: Floats, weight: Floats, probability: float) -> tuple[float, float]:
    order = np.argsort(error, kind="stable")
    up_to = np.cumsum(weight[order])
    place = np.searchsorted(up_to, probability * up_to[-1])
    return float((std * weight).sum() / weight.sum()), float(error[order][place])


def _edges(values: Floats, weight: Floats, steps: int, low: float, high: float) -> Floats:
    """Edges in equal ratios that hold all but the shares `low` and `1 - high` of the pixels at either end."""
    order = np.argsort(values, kind="stable")
    order = order[values[order] > 0]
    up_to = np.cumsum(weight[order])
    first, last = values[order][np.searchsorted(up_to, np.array([low, high]) * up_to[-1])]
    return np.geomspace(first / 1.2, last * 1.2, steps + 1)


def _draw_quantiles(axes: Axes, std: Floats, error: Floats, weight: Floats, ends: Floats) -> None:
    for level, colour, marker in zip(LEVELS, (DATA, GREEN), ("o", "s"), strict=True):
        x, y = _quantiles(std, error, weight, level)
        described = f"{percent(level)} if calibrated"
        axes.plot(x, y, color=colour, marker=marker, markersize=3.5, linewidth=1.4, label=f"{percent(level)} of pixels")
        axes.plot(ends, half_width(level) * ends, color=colour, linewidth=1.2, linestyle="--", label=described)
