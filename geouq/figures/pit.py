"""PIT histogram."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from geouq.figures.style import (
    DATA,
    FAINT,
    IDEAL,
    TOO_FEW,
    dress,
    key,
    new_figure,
    note,
    percent,
    pixels,
    without_pixels,
)
from geouq.gaussian import quantile
from geouq.inference import DEFAULTS, Bands
from geouq.metrics import coverage, z_mean, z_std
from geouq.summary import Summary
from geouq.text.wording import for_people

PIT_BINS = 20


def pit_histogram(summary: Summary, *, title: str, bands: Bands | None = None, verdict: str = "") -> Figure:
    """Density of the probability integral transform in 20 bins; flat at 1 when calibrated.

    High ends are over-confident, a high middle under-confident, a slope a bias. The grey band would hold each bar of a
    calibrated forecast as often as its level says: of as many independent pixels as the bootstrap finds the histogram
    to be worth (no band where that is not to be told), or, without `bands`, of all of them, which is too narrow where
    errors are correlated. The note shows `verdict`, the verdict in words, where it is given.
    """
    figure = new_figure(title, height=4.2)
    if not summary.n:
        return without_pixels(figure)
    axes = figure.subplots()
    level, effective = draw_pit(axes, summary, bands)
    known = bool(np.isfinite(effective))
    covered = f", {percent(0.9)} interval covers {100 * float(coverage(summary, 0.9)):.1f} %"
    centre, spread = for_people(float(z_mean(summary))), for_people(float(z_std(summary)))
    size = f"worth {for_people(effective)} independent ones" if bands else "taken as independent"
    note(
        axes,
        f"{pixels(summary.n)}{covered if 0.9 in summary.levels else ''}",
        f"mean of z {centre}, std of z {spread}",
        *([verdict] if verdict else []),
        f"band: {percent(level)} of each bar if calibrated, pixels {size}" if known else f"no band: {TOO_FEW}",
    )
    key(figure, [axes])
    return figure


def draw_pit(axes: Axes, summary: Summary, bands: Bands | None = None) -> tuple[float, float]:
    """Draw the histogram and its band; return level and number of independent pixels of the band."""
    density = PIT_BINS * summary.z.regular(PIT_BINS) / summary.moments.weight
    left = np.arange(PIT_BINS) / PIT_BINS
    level, effective = (bands.level, bands.pit_effective) if bands else (DEFAULTS.level, float(summary.n))
    known = bool(np.isfinite(effective))
    half = expected_half_width(effective, level) if known else 0.0
    axes.bar(left, density, 1 / PIT_BINS, align="edge", color=DATA, alpha=0.35, linewidth=0)
    if known:
        axes.axhspan(max(0, 1 - half), 1 + half, color=FAINT, alpha=0.45, linewidth=0, zorder=2, label="if calibrated")
    axes.stairs(density, np.append(left, 1.0), color=DATA, linewidth=1.4, zorder=3, label="observed")
    axes.axhline(1, color=IDEAL, linewidth=1.5, linestyle="--", label="calibrated", zorder=4)
    axes.set(xlim=(0, 1), ylim=(0, 1.05 * max(float(density.max()), 1.2, 1 + min(half, 1))))
    dress(axes, "PIT of the truth (1)", "density (1)")
    return level, effective


def expected_half_width(effective: float, level: float) -> float:
    """How far from 1 the density of one of 20 bins may be for so many independent pixels, at that level.

    The normal limits of a binomial share of 1/20.

    >>> round(expected_half_width(7600, 0.95), 4)
    0.098
    """
    return quantile((1 + level) / 2) * float(np.sqrt((PIT_BINS - 1) / effective))
