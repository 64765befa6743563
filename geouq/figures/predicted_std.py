"""The predicted std: its distribution, the error against it, and what is left without the least certain pixels."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from geouq.core.errors import SummaryError
from geouq.core.gaussian import half_width
from geouq.core.wording import for_people
from geouq.figures.style import (
    COLUMN,
    DATA,
    FAINT,
    GREEN,
    IDEAL,
    INK,
    LETTERS,
    VERMILION,
    decades,
    dress,
    key,
    new_figure,
    note,
    panel_figure,
    percent,
    pixels,
    plain,
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
from geouq.metrics.predicted_std import StdDistribution, std_distributions
from geouq.summary import Summary

Floats = NDArray[np.float64]

ROW = 5.0  # mm


def std_figure(regions: Mapping[str, Summary], *, title: str, units: str, width: float | None = None) -> Figure:
    """How the predicted std is distributed in each region: density, 5, 25, 50, 75 and 95 % quantiles, and the RMSE.

    Quantiles are those of the variance profile, exact to 1 part in 512. The RMSE of a calibrated forecast is the root
    of its mean variance, and so right of most of the bar. The axis is logarithmic where the quantiles span more than a
    factor of ten.
    """
    used = {name: summary for name, summary in regions.items() if summary.n}
    rows = max(4, 1.4 * len(used) if len(used) < 12 else len(used))
    figure = new_figure(title, width or COLUMN, 14 + ROW * rows)
    if not used:
        return without_pixels(figure)
    axes = figure.subplots()
    draw_std(axes, used, units)
    note(figure, f"{pixels(next(iter(used.values())).n)} in {plain(next(iter(used)), 20)}")
    key(figure, [axes])
    return figure


def draw_std(axes: Axes, used: Mapping[str, Summary], units: str) -> None:
    """Draw a row for each region with pixels."""
    found = list(std_distributions(used).values())
    edges = found[0].edges
    for row, one in enumerate(found):
        _draw_row(axes, row, one)
    axes.plot(
        [one.rmse for one in found],
        range(len(found)),
        color=VERMILION,
        marker="D",
        markersize=4,
        linestyle="none",
        label="RMSE",
        zorder=4,
    )
    axes.set_xlim(edges[0], edges[-1])
    if found[0].is_logarithmic:
        decades(axes, edges[-1] / edges[0], y=False)
    dress(axes, with_units("predicted std", units))
    axes.set_yticks(range(len(used)), [plain(name) for name in used])
    axes.set_ylim(len(used) - 0.4, -0.9)


def _draw_row(axes: Axes, row: int, one: StdDistribution) -> None:
    quantiles, edges, share, first = one.quantiles, one.edges, one.share, row == 0
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


LEVELS = (0.5, 0.9)
GROUPS = 20
ACROSS, DOWN, PLACES = 60, 60, 4


def error_by_std_figure(summary: Summary, *, title: str, units: str, width: float | None = None) -> Figure:
    """Density of |error| against the predicted std, with quantiles of |error| in 20 groups of pixels of like std.

    Dashed lines are the quantiles of calibrated normal forecasts; other distributions have no dashed lines. Full lines
    above dashed lines show errors larger than predicted. Drawn from the pixels counted by variance and |z|, in classes
    of 1 part in 12 of |z|: |error| is |z| std, spread evenly over its class. Raises SummaryError if the summary has no
    ordering.
    """
    figure = panel_figure(title, width, 1.15)
    if not summary.n:
        return without_pixels(figure)
    axes = figure.subplots()
    shown = draw_error_by_std(axes, summary, units)
    note(figure, f"{pixels(summary.n)}, {shown:.1f} % inside the axes")
    key(figure, [axes])
    return figure


def draw_error_by_std(axes: Axes, summary: Summary, units: str) -> float:
    """Draw the density with its colour bar and the quantiles; return the percentage of pixels inside the axes."""
    std, error, weight = _points(summary)
    across, down = _edges(std, weight, ACROSS, 0.0005, 0.9995), _edges(error, weight, DOWN, 0.01, 0.9995)
    counts, _, _ = np.histogram2d(std, error, bins=(across, down), weights=weight / weight.sum() * 100)
    mesh = axes.pcolormesh(across, down, np.where(counts > 0, counts, np.nan).T, cmap="Greys", rasterized=True)
    _draw_quantiles(axes, std, error, weight, across[[0, -1]] if summary.distribution.is_normal else None)
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
    """Return the std, |error| and weight of the pixels; a class of |z| has four positions."""
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


def _draw_quantiles(axes: Axes, std: Floats, error: Floats, weight: Floats, ends: Floats | None) -> None:
    """Draw the quantiles of |error|; ends : range of the quantiles of normal forecasts."""
    for level, colour, marker in zip(LEVELS, (DATA, GREEN), ("o", "s"), strict=True):
        x, y = _quantiles(std, error, weight, level)
        described = f"{percent(level)} if calibrated"
        axes.plot(x, y, color=colour, marker=marker, markersize=3.5, linewidth=1.4, label=f"{percent(level)} of pixels")
        if ends is not None:
            axes.plot(ends, half_width(level) * ends, color=colour, linewidth=1.2, linestyle="--", label=described)


COARSE = 0.01  # resolution that a reader must know


def sparsification_figure(summary: Summary, *, title: str, units: str, width: float | None = None) -> Figure:
    """RMSE of what remains when the pixels of largest predicted variance are left out, beside the best order there is.

    The grey area between both, divided by the RMSE, is AUSE: 0 where the std puts errors in their true order. A flat
    line is a std that says nothing. Numbers whose resolution is coarser than 0.01 are given with it. Raises
    SummaryError where the summary keeps no ordering.
    """
    figure = panel_figure(title, width)
    if not summary.n:
        return without_pixels(figure)
    axes = figure.subplots()
    draw_sparsification(axes, summary, units)
    own_error = _with_resolution(ause(summary), ause_resolution(summary))
    correlation = _with_resolution(spearman(summary), spearman_resolution(summary))
    note(figure, pixels(summary.n), f"AUSE {own_error}, rank correlation {correlation}")
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
