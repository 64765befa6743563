"""Figures of means of areas: their calibration by size, and the correlation of errors from which their std follows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from geouq.figures.style import (
    DATA,
    GREEN,
    IDEAL,
    INK,
    MARKERS,
    PALETTE,
    VERMILION,
    decades,
    dress,
    key,
    new_figure,
    note,
    panel_figure,
    percent,
    tiling,
)
from geouq.metrics.aggregate_names import MOST_UNCERTAIN, coverage_name, zms_name

Floats = NDArray[np.float64]
Row = Mapping[str, Any]

LEVEL = 0.9  # of the intervals whose coverage is shown
COLOURS = {"independent": DATA, "fitted": PALETTE[3], "full": VERMILION, "calibrated": GREEN}
KILOMETRE = 1000.0


def scales_figure(rows: Sequence[Row], *, title: str, width: float | None = None) -> Figure | None:
    """Return mean z² and coverage of means of blocks by the size of the block, under each model of correlation.

    Parameters
    ----------
    rows : sequence of mapping
        Of the table `aggregates`, of a variable.
    title : str
        Of the figure.
    width : float, optional
        In mm.

    Returns
    -------
    Figure or None
        None if no block has a known size and a value.
    """
    blocks = [row for row in rows if row["kind"] == "block" and row["side_metres"] and row["value"] is not None]
    if not blocks:
        return None
    width, across, down = tiling(2, width, 1)
    figure = new_figure(title, width, 66 * down)
    left, right = figure.subplots(down, across, squeeze=False).ravel()
    for place, (model, colour) in enumerate(COLOURS.items()):
        _draw_model(left, _of(blocks, zms_name(model)), model, colour, MARKERS[place])
        _draw_model(right, _of(blocks, coverage_name(model, LEVEL)), model, colour, MARKERS[place])
    _finish(left, 1.0, "mean z² of means (1)", is_share=False)
    _finish(right, LEVEL, f"coverage of {percent(LEVEL)} intervals (1)", is_share=True)
    levels = sorted({row["ci_level"] for row in blocks if row.get("ci_level")})
    bars = f"; bars: {percent(levels[0])} intervals by a jackknife" if levels else ""
    note(figure, f"square blocks of cells; fitted and calibrated: from other parts of the map{bars}")
    key(figure, [left])
    return figure


def _of(blocks: Sequence[Row], metric: str) -> Floats:
    """Return side in km, value and limits of each size, (4, sizes); the limits are the value if there are none."""
    found = [(row["side_metres"] / KILOMETRE, row["value"], *_limits(row)) for row in blocks if row["metric"] == metric]
    return np.array(sorted(found), np.float64).reshape(-1, 4).T


def _limits(row: Row) -> tuple[float, float]:
    low, high = row.get("ci_low"), row.get("ci_high")
    return (row["value"], row["value"]) if low is None or high is None else (low, high)


def _draw_model(axes: Axes, points: Floats, model: str, colour: str, marker: str) -> None:
    side, value, low, high = points
    axes.vlines(side, low, high, color=colour, alpha=0.6, linewidth=0.8)
    axes.plot(side, value, color=colour, marker=marker, markersize=3.5, linewidth=1.2, label=model)


def _finish(axes: Axes, ideal: float, label: str, *, is_share: bool) -> None:
    """Draw the ideal value, scale the axes and label them."""
    axes.axhline(ideal, color=IDEAL, linewidth=1.5, linestyle="--", zorder=1)
    sides = np.concatenate([line.get_xdata() for line in axes.lines[:-1]])
    axes.set(xlim=(sides.min() / 1.3, sides.max() * 1.3))
    if is_share:
        axes.set(ylim=(-0.02, 1.02))
    decades(axes, float(sides.max() / sides.min()), y=False)
    if not is_share:
        decades(axes, 1e3, x=False)
    dress(axes, "side of the block (km)", label)


def error_correlation_figure(
    rows: Sequence[Row], *, title: str, width: float | None = None, removed: float = 0.0
) -> Figure | None:
    """Return the correlation of z of pairs of pixels by distance, and the fitted model.

    Parameters
    ----------
    rows : sequence of mapping
        Of the table `error_correlogram`, of a variable.
    title : str
        Of the figure.
    width : float, optional
        In mm.
    removed : float
        Share of z^2 that is the truth's own error, which the correlation does not contain.

    Returns
    -------
    Figure or None
        None without pairs of different cells whose correlation has a standard error of at most 0.5.
    """
    known = [row for row in rows if row["distance"] > 0 and row["standard_error"] <= MOST_UNCERTAIN]
    if not known:
        return None
    figure = panel_figure(title, width)
    axes = figure.subplots()
    for (same, name), colour, marker in zip(
        {"yes": "in one tile", "no": "in different tiles"}.items(), (DATA, VERMILION), MARKERS, strict=False
    ):
        own = [row for row in known if row["same_tile"] == same]
        if own:
            _draw_pairs(axes, own, name, colour, marker)
    axes.axhline(0, color=INK, linewidth=0.6)
    distances = [row["distance"] / KILOMETRE for row in known]
    lowest = 1.5 * min(row["correlation"] for row in known)
    axes.set(xlim=(min(distances) / 1.3, max(distances) * 1.3), ylim=(min(-0.25, lowest), 1.05))
    decades(axes, max(distances) / min(distances), y=False)
    dress(axes, "distance (km)", "correlation of z (1)")
    errors = f"bars and bands: one standard error; left out if above {MOST_UNCERTAIN:g}"
    without = f"; without the truth's own error, {100 * removed:.0f} % of z²" if removed else ""
    note(figure, f"points: pairs of cells; lines: fitted model; {errors}{without}")
    key(figure, [axes])
    return figure


def _draw_pairs(axes: Axes, rows: Sequence[Row], name: str, colour: str, marker: str) -> None:
    columns = ("distance", "correlation", "standard_error", "fitted", "fitted_error")
    distance, found, error, fitted, of_line = np.array([[row[column] for column in columns] for row in rows]).T
    distance = distance / KILOMETRE
    axes.vlines(distance, found - error, found + error, color=colour, alpha=0.5, linewidth=0.8)
    axes.fill_between(distance, fitted - of_line, fitted + of_line, color=colour, alpha=0.18, linewidth=0)
    axes.plot(distance, found, color=colour, marker=marker, markersize=3, linestyle="", label=name)
    axes.plot(distance, fitted, color=colour, linewidth=1.4, label=f"fitted, {name}")
