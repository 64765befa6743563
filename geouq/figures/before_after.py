"""Before against after recalibration."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from geouq.config import CALIBRATION_LEVELS, BinScheme
from geouq.figures.calibration import draw_curve
from geouq.figures.reliability import draw_bins, fit
from geouq.figures.style import (
    DATA,
    GREEN,
    IDEAL,
    WIDE,
    Curve,
    described,
    dress,
    key,
    new_figure,
    note,
    pixels,
    plain,
    squared,
    with_units,
    without_pixels,
)
from geouq.metrics import coverage, zms
from geouq.text.wording import for_people

Floats = NDArray[np.float64]


def before_after_figure(
    before: Curve,
    after: Curve,
    scheme: BinScheme,
    *,
    title: str,
    units: str,
    names: tuple[str, str] = ("before", "after"),
    levels: Sequence[float] = CALIBRATION_LEVELS,
) -> Figure:
    """Reliability diagram of the variance and calibration curve of two forecasts of the same pixels, side by side.

    Each has the bins of its own variances; on the diagonals where calibrated. names : what the two are called.
    """
    figure = new_figure(title, WIDE, 4.2)
    if not (before.summary.n and after.summary.n):
        return without_pixels(figure)
    left, right = figure.subplots(1, 2)
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
    note(left, *(f"{plain(n)}: {_numbers(c)}" for n, c in zip(names, (before, after), strict=True)), width=48)
    note(
        right,
        pixels(before.summary.n),
        described(before.bands, before.bands.calibration if before.bands else None),
        width=48,
    )
    key(figure, [left], columns=4)
    return figure


def _numbers(curve: Curve) -> str:
    covered = f", 90 % covers {100 * float(coverage(curve.summary, 0.9)):.1f} %" if 0.9 in curve.summary.levels else ""
    return f"mean z² {for_people(float(zms(curve.summary)))}{covered}"
