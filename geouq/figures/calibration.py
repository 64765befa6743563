"""Calibration of levels: the curve, the PIT histogram, the ranks of ensembles, and curves of quantiles and classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from geouq.config import CALIBRATION_LEVELS
from geouq.core.wording import for_people, true_minus
from geouq.figures.style import (
    DATA,
    FAINT,
    IDEAL,
    MARKERS,
    PALETTE,
    TOO_FEW,
    Curve,
    described,
    dress,
    key,
    note,
    panel_figure,
    percent,
    pixels,
    plain,
    without_pixels,
)
from geouq.inference import DEFAULTS, PIT_BINS, Bands, pit_half_width
from geouq.metrics import calibration_curve, coverage, form_curves, mace, z_mean, z_std
from geouq.metrics.ensemble import mixture_pit, rank_histogram
from geouq.metrics.form_curves import FORM_CURVES, curve_label
from geouq.summary import Summary

MOST = 6  # curves that a reader can distinguish
MOST_BANDS = 2  # of more curves, only the first has its band
STEP, WIDTH = 1.5, 6.0  # points between neighbouring error bars, and at most between the first and the last


def calibration_figure(
    curves: Mapping[str, Curve],
    *,
    title: str,
    levels: Sequence[float] = CALIBRATION_LEVELS,
    width: float | None = None,
) -> Figure:
    """Share of the truth below each predicted quantile, by the name of the region, above how far that is off.

    On the diagonal where calibrated; an over-confident forecast is above it at low levels and below it at high ones,
    one with a bias is on one side. Of more than six regions those farthest from the diagonal have a colour (the first
    always has), and the others are grey. The bands of the bootstrap hold each point for itself; of more than two
    curves only the first has a band.
    """
    figure = panel_figure(title, width, 1.3)
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
        if number and len(chosen) > MOST_BANDS:
            own = replace(own, bands=None)
        _draw(top, bottom, own, levels, colour=colour, label=_named(name, own), marker=MARKERS[number % len(MARKERS)])
    _diagonal(top, bottom)
    dress(top, "", "truth below the quantile (share, 1)")
    dress(bottom, "predicted quantile (level, 1)", "difference (1)")
    first = next(iter(curves.values()))
    shown = f"{len(chosen)} of {len(curves)} regions in colour" if len(chosen) < len(curves) else ""
    if len(chosen) > MOST_BANDS and first.bands is not None:
        shown = "; ".join(filter(None, (shown, f"band only for {next(iter(curves))}")))
    bands = described(first.bands, first.bands.calibration if first.bands else None)
    note(figure, pixels(first.summary.n), shown, bands)
    key(figure, [top])
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


def pit_histogram(
    summary: Summary, *, title: str, bands: Bands | None = None, verdict: str = "", width: float | None = None
) -> Figure:
    """Return the density of the probability integral transform in 20 bins; flat at 1 when calibrated.

    High ends are over-confident, a high middle under-confident, a slope a bias. The grey band would hold all bars of a
    calibrated forecast as often as its level says: of as many independent pixels as the bootstrap finds the histogram
    to be worth (no band where that is not to be told), or, without `bands`, of all of them, which is too narrow where
    errors are correlated. The note shows `verdict`, the verdict in words, where it is given.
    """
    figure = panel_figure(title, width)
    if not summary.n:
        return without_pixels(figure)
    axes = figure.subplots()
    level, effective = draw_pit(axes, summary, bands)
    known = bool(np.isfinite(effective))
    covered = f", {percent(0.9)} interval covers {100 * float(coverage(summary, 0.9)):.1f} %"
    centre, spread = for_people(float(z_mean(summary))), for_people(float(z_std(summary)))
    size = f"{for_people(effective)} independent pixels" if bands else "pixels taken as independent"
    note(
        figure,
        f"{pixels(summary.n)}{covered if 0.9 in summary.levels else ''}",
        true_minus(f"mean of z {centre}, std of z {spread}"),
        f"verdict, adjusted for regions: {verdict}" if verdict else "",
        f"band: {percent(level)} for all bars if calibrated; {size}" if known else f"no band: {TOO_FEW}",
    )
    key(figure, [axes])
    return figure


def draw_pit(axes: Axes, summary: Summary, bands: Bands | None = None) -> tuple[float, float]:
    """Draw the histogram and its band; return level and number of independent pixels of the band."""
    density = PIT_BINS * summary.z.regular(PIT_BINS) / summary.moments.weight
    left = np.arange(PIT_BINS) / PIT_BINS
    level, effective = (bands.level, bands.pit_effective) if bands else (DEFAULTS.level, float(summary.n))
    known = bool(np.isfinite(effective))
    half = pit_half_width(effective, level) if known else 0.0
    if known:
        axes.axhspan(max(0, 1 - half), 1 + half, color=FAINT, alpha=0.6, linewidth=0, zorder=1, label="if calibrated")
    _outlined(axes, density, np.append(left, 1.0))
    axes.axhline(1, color=IDEAL, linewidth=1.5, linestyle="--", label="calibrated", zorder=4)
    axes.set(xlim=(0, 1), ylim=(0, 1.05 * max(float(density.max()), 1.2, 1 + min(half, 1))))
    dress(axes, "PIT of the truth (1)", "density (1)")
    return level, effective


@dataclass(frozen=True)
class Shares:
    """Observed shares of the quantiles, or of a class, against predicted ones; each has a value.

    limits : float64 (2, points), NaN where they are unknown; None without an inference.
    """

    label: str
    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    limits: NDArray[np.float64] | None = None


def shares_of(summary: Summary, bands: Bands | None = None) -> tuple[list[Shares], str, str]:
    """Return the curves of a summary of quantiles or of classes, and what is predicted and observed."""
    known, found = FORM_CURVES[summary.kind], []
    for name, x, y in form_curves(summary):
        there, limits = np.isfinite(y), bands.shares.get(name) if bands else None
        found.append(Shares(curve_label(name), x[there], y[there], limits))
    return found, known.predicted, known.observed


def shares_figure(summary: Summary, *, title: str, bands: Bands | None = None, width: float | None = None) -> Figure:
    """Return the observed shares of quantiles or classes against predicted ones: on the diagonal where calibrated.

    A curve for each class. The bands of the bootstrap hold each point for itself; of more than two curves they are
    error bars.
    """
    figure = panel_figure(title, width, 1.1)
    if not summary.n:
        return without_pixels(figure)
    axes = figure.subplots()
    curves, predicted, observed = shares_of(summary, bands)
    draw_shares(axes, curves, predicted=predicted, observed=observed)
    limits = [curve.limits for curve in curves if curve.limits is not None]
    note(figure, pixels(summary.n), described(bands, np.concatenate(limits, axis=1) if limits else None))
    key(figure, [axes])
    return figure


def draw_shares(axes: Axes, curves: Sequence[Shares], *, predicted: str, observed: str) -> None:
    """Draw a curve each by its name with its bands, and the diagonal."""
    for number, curve in enumerate(curves):
        colour, marker = PALETTE[number % len(PALETTE)], MARKERS[number % len(MARKERS)]
        if curve.limits is not None and len(curves) <= MOST_BANDS:
            axes.fill_between(curve.predicted, *curve.limits, color=colour, alpha=0.18, linewidth=0)
        if curve.limits is not None:
            offset = (number - (len(curves) - 1) / 2) * min(STEP, WIDTH / len(curves))
            _draw_bars(axes, curve.predicted, curve.limits, colour, offset)
        axes.plot(
            curve.predicted, curve.observed, color=colour, marker=marker, markersize=4, linewidth=1.2,
            label=plain(curve.label, 22), zorder=3,
        )  # fmt: skip
    axes.plot([0, 1], [0, 1], color=IDEAL, linewidth=1.5, linestyle="--", label="calibrated", zorder=1)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    dress(axes, predicted, observed)


def _draw_bars(axes: Axes, x: NDArray[np.float64], limits: NDArray[np.float64], colour: str, offset: float) -> None:
    """Draw error bars, `offset` points to the right, so that the bars of other curves do not hide them."""
    place = axes.transData + ScaledTranslation(offset / 72, 0, axes.figure.dpi_scale_trans)
    axes.vlines(x, *limits, color=colour, alpha=0.8, linewidth=0.8, transform=place)


def ranks_figure(summary: Summary, *, title: str, width: float | None = None) -> Figure:
    """Ranks of the truth among the members of an ensemble, and the mixture's PIT where members have variances.

    Both are flat at 1 when calibrated; high at both ends they are over-confident, sloping they are biased. Ranks are
    among the members' means: where members have variances, these are not in them.
    """
    densities = summary.given_as.sampled_members > 0
    figure = panel_figure(title, width, 1.5 if densities else 0.8)
    if not summary.n:
        return without_pixels(figure)
    first, *others = figure.subplots(2 if densities else 1, squeeze=False).ravel()
    members = draw_ranks(first, summary)
    alone = "means alone, without the members' variances" if densities else ""
    note(figure, f"{pixels(summary.n)}, {members} members", alone)
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


def _outlined(axes: Axes, density: NDArray[np.float64], edges: NDArray[np.float64]) -> None:
    """Draw bars as outlines, so that a band behind them stays visible."""
    axes.vlines(edges[1:-1], 0, np.minimum(density[:-1], density[1:]), color=DATA, linewidth=0.5, zorder=2)
    axes.stairs(density, edges, color=DATA, linewidth=1.4, zorder=3, label="observed")


def _bars(axes: Axes, density: NDArray[np.float64], edges: NDArray[np.float64]) -> None:
    _outlined(axes, density, edges)
    axes.axhline(1, color=IDEAL, linewidth=1.5, linestyle="--", label="calibrated", zorder=4)
    axes.set(xlim=(edges[0], edges[-1]), ylim=(0, 1.05 * max(float(density.max()), 1.2)))
