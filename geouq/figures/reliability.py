"""Reliability diagram of the variance, of one forecast, and before and after a recalibration."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from geouq.config import CALIBRATION_LEVELS, BinScheme
from geouq.core.units import squared
from geouq.core.wording import for_people
from geouq.figures.calibration import draw_curve
from geouq.figures.style import (
    DATA,
    FAINT,
    GREEN,
    IDEAL,
    INK,
    PAGE,
    Curve,
    decades,
    described,
    dress,
    key,
    new_figure,
    note,
    panel_figure,
    pixels,
    plain,
    with_units,
    without_pixels,
)
from geouq.inference import Bands
from geouq.metrics import binned, coverage, ence, uce, zms
from geouq.summary import Binned, Summary

Floats = NDArray[np.float64]

STEPS = 60  # of a density


def reliability_diagram(
    summary: Summary,
    scheme: BinScheme,
    *,
    title: str,
    units: str,
    edges: Floats | None = None,
    bands: Bands | None = None,
    width: float | None = None,
) -> Figure:
    """Return the observed against predicted variance, bin by bin, above the density of the variances.

    Above the diagonal, errors are larger than predicted. Both axes are logarithmic where the
    bins span more than a factor of ten. edges : of the bins, where they are not the summary's own. bands : of the mean
    squared error of each bin.
    """
    figure = panel_figure(title, width, 1.3)
    per_bin = binned(summary, scheme, edges)
    used = per_bin.n > 0
    if not used.any():
        return without_pixels(figure)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    draw_bins(top, Curve(summary, bands), scheme, edges)
    fit(top, [(Curve(summary, bands), edges)], scheme)
    dress(top, "", with_units("observed: mean squared error", squared(units)))
    dress(bottom, with_units("predicted: mean variance", squared(units)), "density")
    _draw_density(bottom, summary, per_bin)
    gap = f"{for_people(float(uce(summary, scheme, edges)))} {squared(units).removesuffix('1')}".rstrip()
    numbers = f"UCE {gap}, ENCE {for_people(float(ence(summary, scheme, edges)))}"
    size = f"{pixels(summary.n)}, {used.sum()} of {len(used)} {scheme.scheme} bins"
    note(figure, size, numbers, _shown(bands, scheme))
    key(figure, [top])
    return figure


def _shown(bands: Bands | None, scheme: BinScheme) -> str:
    return described(bands, bands.mse[scheme.name] if bands else None)


def draw_bins(
    axes: Axes,
    curve: Curve,
    scheme: BinScheme,
    edges: Floats | None = None,
    *,
    colour: str = DATA,
    marker: str = "o",
    label: str = "bins",
) -> None:
    """Draw the bins that hold a pixel as points, with their bands."""
    per_bin = binned(curve.summary, scheme, edges)
    used = per_bin.n > 0
    predicted, observed = per_bin.mean_variance[used], per_bin.mse[used]
    if curve.bands is not None:
        low, high = curve.bands.mse[scheme.name][:, used]
        axes.fill_between(predicted, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.vlines(predicted, low, high, color=colour, alpha=0.6, linewidth=0.8)
    axes.plot(predicted, observed, color=colour, marker=marker, markersize=4.5, linewidth=1.2, zorder=3, label=label)


def fit(axes: Axes, curves: list[tuple[Curve, Floats | None]], scheme: BinScheme) -> None:
    """Draw the diagonal, and set limits that hold all points and bands on equal axes."""
    found = []
    for curve, edges in curves:
        per_bin = binned(curve.summary, scheme, edges)
        used = per_bin.n > 0
        found += [per_bin.mean_variance[used], per_bin.mse[used]]
        if curve.bands is not None:
            band = curve.bands.mse[scheme.name][:, used]
            found.append(band[np.isfinite(band)])
    points = np.concatenate(found)
    points = points[np.isfinite(points)]
    lowest, highest = points[points > 0].min(initial=np.inf), points.max(initial=0.0)
    if not highest > 0:  # sums of all bins overflow, or there is no error
        limits = 0.0, 1.0
    elif highest > 10 * lowest and (points > 0).all():
        limits = lowest / 1.6, highest * 1.6
        axes.set(xlim=limits, ylim=limits)
        decades(axes, highest / lowest)
    else:
        limits = 0, highest * 1.12
    axes.plot(limits, limits, color=IDEAL, linewidth=1.5, linestyle="--", label="calibrated", zorder=1)
    axes.set(xlim=limits, ylim=limits)


def _draw_density(axes: Axes, summary: Summary, per_bin: Binned) -> None:
    """Draw how the variances are distributed along the axis, with the edges of the bins below."""
    low, high = axes.get_xlim()
    steps = np.geomspace(low, high, STEPS + 1) if axes.get_xscale() == "log" else np.linspace(low, high, STEPS + 1)
    share = summary.variance.binned(steps).share
    top = float(np.nanmax(share)) or 1.0
    axes.stairs(share, steps, fill=True, color=FAINT)
    axes.vlines(per_bin.edges[np.isfinite(per_bin.edges)], -0.12 * top, 0, color=INK, linewidth=0.6)
    axes.set(xlim=(low, high), ylim=(-0.12 * top, 1.1 * top))
    axes.set_yticks([])


def before_after_figure(
    before: Curve,
    after: Curve,
    scheme: BinScheme,
    *,
    title: str,
    units: str,
    names: tuple[str, str] = ("before", "after"),
    levels: Sequence[float] = CALIBRATION_LEVELS,
    width: float | None = None,
) -> Figure:
    """Reliability diagram of the variance and calibration curve of two forecasts of the same pixels.

    They are side by side on a page, and one below the other in a column. Each has the bins of its own
    variances; on the diagonals where calibrated. names : what the two are called.
    """
    width = width or PAGE
    down, across = (1, 2) if width >= PAGE else (2, 1)
    figure = new_figure(title, width, down * 78)
    if not (before.summary.n and after.summary.n):
        return without_pixels(figure)
    left, right = figure.subplots(down, across, squeeze=False).ravel()
    styles = zip((before, after), names, (DATA, GREEN), ("o", "s"), strict=True)
    for curve, name, colour, marker in styles:
        draw_bins(left, curve, scheme, colour=colour, marker=marker, label=plain(name))
        draw_curve(right, curve, levels, colour=colour, marker=marker, label=plain(name))
    fit(left, [(before, None), (after, None)], scheme)
    right.plot([0, 1], [0, 1], color=IDEAL, linewidth=1.5, linestyle="--", zorder=1)
    right.set(xlim=(0, 1), ylim=(0, 1))
    dress(
        left,
        with_units("predicted: mean variance", squared(units)),
        with_units("observed: mean squared error", squared(units)),
    )
    dress(right, "predicted quantile (level, 1)", "truth below the quantile (share, 1)")
    note(
        figure,
        pixels(before.summary.n),
        *(f"{plain(n)}: {_numbers(c)}" for n, c in zip(names, (before, after), strict=True)),
        described(before.bands, before.bands.calibration if before.bands else None),
    )
    key(figure, [left])
    return figure


def _numbers(curve: Curve) -> str:
    covered = f", 90 % covers {100 * float(coverage(curve.summary, 0.9)):.1f} %" if 0.9 in curve.summary.levels else ""
    return f"mean z² {for_people(float(zms(curve.summary)))}{covered}"
