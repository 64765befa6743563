"""The figures of a run, drawn on axes of matplotlib.

Every function takes arrays (numpy, dask or xarray), or what it names in their place, and draws on `ax`. Without `ax` it
makes a figure of its own, which pyplot does not know: ``ax.figure.savefig("pit.png")``. Nothing global is changed.

>>> import numpy as np
>>> axes = pit(np.zeros(4), np.ones(4), np.array([-1.0, 0.0, 0.5, 2.0]))
>>> axes.get_xlabel()
'PIT of the truth (1)'
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from geouq.api.intervals import Inferred, infer_map, map_of, summarize_map
from geouq.arrays.arguments import as_count, as_text, checked_levels
from geouq.arrays.datasets import units_of
from geouq.arrays.metric_functions import Bins, bin_scheme, summary_of
from geouq.arrays.points import TAIL
from geouq.config import CALIBRATION_LEVELS, EQUAL_COUNT_10, BinScheme, suggestion
from geouq.config.model import LEVELS
from geouq.core.errors import ConfigError, DataError, SummaryError, wrong_type
from geouq.core.units import squared
from geouq.drawing.cells import cell_metrics, function_of_cells, unit_of_cells, values_of_cells
from geouq.figures.calibration import draw_curve, draw_diagonal, draw_pit, draw_ranks, draw_shares, shares_of
from geouq.figures.cells import draw_cells, draw_correlogram
from geouq.figures.predicted_std import draw_error_by_std, draw_sparsification, draw_std
from geouq.figures.regions import draw_groups, draw_regions, draw_shift, region_panels, sorted_names
from geouq.figures.reliability import draw_bins, fit
from geouq.figures.style import INK, LETTERS, MARKERS, PALETTE, Curve, dress, plain, with_units
from geouq.inference import DEFAULTS
from geouq.maps.cell_metrics import scale_of_cells
from geouq.metrics import MetricOptions, evaluate_metrics, unit_of
from geouq.metrics.groups import GROUPS
from geouq.summary import Summary
from geouq.summary.form import GAUSSIAN
from geouq.tables.rows import Row, Table

__all__ = [
    "calibration",
    "cells",
    "correlogram",
    "error_by_std",
    "group_coverage",
    "pit",
    "ranks",
    "regions",
    "reliability",
    "shift",
    "sparsification",
    "std",
]
SIZE = (4.7, 4.2)  # inches, of a figure of its own
ONE = ""  # name of the only forecast, which needs no legend entry of its own


def reliability(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    bins: Bins = EQUAL_COUNT_10,
    units: str | None = None,
    bands: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean squared error against the mean predicted variance in bins of the variance.

    Parameters
    ----------
    mean, variance, truth, std, weights : as in `geouq.evaluate`
        Or a Summary, or a mapping of names to Summaries, such as before and after a recalibration.
    bins : as in `geouq.uce`
    units : str, optional
        Unit of the variable. By default the unit of `truth`, if that is a DataArray.
    bands : bool
        Draw 95 % limits of each bin from a block bootstrap. Needs arrays with positions, as `geouq.intervals`.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    Axes
        Both axes have the squared unit of the variable. Points above the dashed diagonal show errors that are larger
        than predicted.

    Raises
    ------
    DataError, ConfigError, ArgumentError
        As in `geouq.binned`, and if there are no valid pixels.

    Examples
    --------
    >>> axes = reliability([0.0, 0.0], [1.0, 4.0], [1.0, 2.0], bins=2, units="m")
    >>> axes.get_xlabel()
    'predicted: mean variance (m²)'
    """
    scheme = bin_scheme(bins, EQUAL_COUNT_10)
    curves = _curves(mean, variance, truth, std=std, weights=weights, scheme=scheme, bands=bands)
    axes, unit = _axes(ax), squared(units_of(truth, units))
    for number, (name, curve) in enumerate(curves.items()):
        draw_bins(axes, curve, scheme, colour=_colour(number), marker=_marker(number), label=plain(name) or "bins")
    fit(axes, [(curve, None) for curve in curves.values()], scheme)
    dress(axes, with_units("predicted: mean variance", unit), with_units("observed: mean squared error", unit))
    return _with_legend(axes)


def calibration(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    levels: float | Sequence[float] = CALIBRATION_LEVELS,
    bands: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of the truth below each predicted quantile.

    Parameters
    ----------
    mean, variance, truth, std, weights : as in `geouq.evaluate`
        Or a Summary, or a mapping of names to Summaries, such as regions. A Summary of quantiles or of classes has the
        curve of its own levels or probabilities.
    levels : float or sequence of float
        Levels of the quantiles, whole multiples of 0.01.
    bands : bool
        Draw 95 % limits of each point from a block bootstrap. Needs arrays with positions, as `geouq.intervals`.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    Axes
        Both axes have the unit 1; a calibrated forecast lies on the dashed diagonal.

    Raises
    ------
    DataError, ConfigError, SummaryError, ArgumentError
        As in `geouq.calibration_curve`, and if there are no valid pixels.

    Examples
    --------
    >>> calibration([0.0, 0.0], [1.0, 1.0], [-1.0, 1.0]).get_xlabel()
    'predicted quantile (level, 1)'
    """
    own = checked_levels(levels)
    axes = _axes(ax)
    if isinstance(mean, Summary) and not mean.given_as.has_variance:
        shown, predicted, observed = shares_of(_with_pixels(mean))
        draw_shares(axes, shown, predicted=predicted, observed=observed)
        return _with_legend(axes)
    curves = _curves(mean, variance, truth, std=std, weights=weights, bands=bands, levels=own)
    for number, (name, curve) in enumerate(curves.items()):
        draw_curve(axes, curve, own, colour=_colour(number), marker=_marker(number), label=plain(name) or "observed")
    draw_diagonal(axes)
    dress(axes, "predicted quantile (level, 1)", "truth below the quantile (share, 1)")
    return _with_legend(axes)


def pit(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    bands: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the density of the probability integral transform (PIT) of the truth in 20 bins.

    Parameters
    ----------
    mean, variance, truth, std, weights : as in `geouq.evaluate`
        Or a Summary.
    bands : bool
        Take the correlation of the errors into account in the grey band. Needs arrays with positions, as
        `geouq.intervals`; otherwise pixels are taken as independent, and the band is too narrow.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    Axes
        Both axes have the unit 1; the histogram of a calibrated forecast is flat at 1.

    Raises
    ------
    DataError, ArgumentError
        As in `geouq.pit_histogram`, and if there are no valid pixels.

    Examples
    --------
    >>> pit([0.0, 0.0], [1.0, 1.0], [-1.0, 1.0]).get_ylabel()
    'density (1)'
    """
    (curve,) = _curves(mean, variance, truth, std=std, weights=weights, bands=bands, several=False).values()
    axes = _axes(ax)
    draw_pit(axes, curve.summary, curve.bands)
    return _with_legend(axes)


def ranks(summary: Summary, *, ax: Axes | None = None) -> Axes:
    """Draw the ranks of the truth among the members of an ensemble.

    Parameters
    ----------
    summary : Summary
        Of an ensemble, as `geouq.ensemble.summarize` returns it.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    Axes
        Number of members below the truth, and density (unit 1), which is flat at 1 if the ensemble is calibrated.

    Raises
    ------
    SummaryError
        If the summary is not of an ensemble.
    ArgumentError
        If it is no Summary.

    References
    ----------
    Hamill (2001), Interpretation of rank histograms for verifying ensemble forecasts.

    Examples
    --------
    >>> import geouq
    >>> ranks(geouq.ensemble.summarize([[0.0, 1.0], [2.0, 2.0]], [1.0, 3.0])).get_xlabel()
    'members below the truth (number)'
    """
    if not isinstance(summary, Summary):
        raise wrong_type("summary", summary, "give a Summary of geouq.ensemble.summarize")
    if "ranks" not in summary.given_as.fields:
        raise SummaryError("ranks are of members; give a Summary of geouq.ensemble.summarize")
    axes = _axes(ax)
    draw_ranks(axes, _with_pixels(summary))
    return _with_legend(axes)


def error_by_std(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    units: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the density of |error| against the predicted std, with quantiles of |error| in groups of like std.

    Parameters
    ----------
    mean, variance, truth, std, weights : as in `geouq.evaluate`
        Or a Summary that keeps the order of errors: ``geouq.summarize(..., ordering=True)``.
    units : str, optional
        Unit of the variable. By default the unit of `truth`, if that is a DataArray.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    Axes
        Both axes have the unit of the variable. Full lines above the dashed ones show errors larger than predicted.

    Raises
    ------
    SummaryError
        If a Summary does not keep the order of errors.
    DataError, ArgumentError
        As in `geouq.evaluate`, and if there are no valid pixels.

    Examples
    --------
    >>> error_by_std([0.0, 0.0], [1.0, 4.0], [1.0, 3.0], units="m").get_xlabel()
    'predicted std (m)'
    """
    summary = _one(mean, variance, truth, std=std, weights=weights, ordering=True)
    axes = _axes(ax)
    draw_error_by_std(axes, summary, units_of(truth, units))
    return _with_legend(axes)


def sparsification(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    units: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the RMSE of what remains without the pixels of largest predicted variance, and the best order there is.

    Parameters
    ----------
    mean, variance, truth, std, weights : as in `geouq.evaluate`
        Or a Summary that keeps the order of errors: ``geouq.summarize(..., ordering=True)``.
    units : str, optional
        Unit of the variable. By default the unit of `truth`, if that is a DataArray.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    Axes
        Pixels left out in percent, and RMSE in the unit of the variable.

    Raises
    ------
    SummaryError
        If a Summary does not keep the order of errors.
    DataError, ArgumentError
        As in `geouq.evaluate`, and if there are no valid pixels.

    Examples
    --------
    >>> sparsification([0.0, 0.0], [1.0, 4.0], [1.0, 3.0]).get_xlabel()
    'pixels left out (%)'
    """
    summary = _one(mean, variance, truth, std=std, weights=weights, ordering=True)
    axes = _axes(ax)
    draw_sparsification(axes, summary, units_of(truth, units))
    return _with_legend(axes)


def group_coverage(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    level: float | Sequence[float] = (0.5, 0.9),
    by: str = "truth",
    groups: int = GROUPS,
    units: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the coverage of central intervals in groups of pixels.

    Parameters
    ----------
    mean, variance, truth, std, weights : as in `geouq.evaluate`
        Or a Summary that keeps these levels.
    level : float or sequence of float
        Levels of the intervals, at most seven.
    by, groups : as in `geouq.group_coverage`
    units : str, optional
        Unit of the variable. By default the unit of `truth`, if that is a DataArray.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    Axes
        Values between the groups, in the unit of the variable, and coverage in percent; dashed lines are the levels.

    Raises
    ------
    SummaryError
        If a Summary does not keep a level, or the coverage by that.
    DataError, ConfigError, ArgumentError
        As in `geouq.group_coverage`, and if there are no valid pixels.

    Examples
    --------
    >>> group_coverage([0.0, 0.0], [1.0, 4.0], [1.0, 3.0], groups=2).get_xlabel()
    'truth'
    """
    own, number = checked_levels(level, "level"), as_count("groups", groups)
    if len(own) > len(PALETTE):
        raise ConfigError(f"level: {len(own)} levels cannot be distinguished; give at most {len(PALETTE)}")
    summary = _one(mean, variance, truth, std=std, weights=weights, levels=own)
    axes = _axes(ax)
    draw_groups(axes, summary, as_text("by", by), levels=own, groups=number, classes={}, units=units_of(truth, units))
    axes.set_ylabel("covered (%)", fontsize=LETTERS, color=INK)
    return _with_legend(axes)


def std(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    units: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the distribution of the predicted std, with quantiles and the RMSE.

    Parameters
    ----------
    mean, variance, truth, std, weights : as in `geouq.evaluate`
        Or a Summary, or a mapping of names to Summaries, such as regions.
    units : str, optional
        Unit of the variable. By default the unit of `truth`, if that is a DataArray.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    Axes
        Std in the unit of the variable, and a row for each name.

    Raises
    ------
    DataError, ArgumentError
        As in `geouq.evaluate`, and if there are no valid pixels.

    Examples
    --------
    >>> std([0.0, 0.0], [1.0, 4.0], [1.0, 3.0], units="m").get_xlabel()
    'predicted std (m)'
    """
    curves = _curves(mean, variance, truth, std=std, weights=weights)
    axes = _axes(ax)
    draw_std(axes, {name: curve.summary for name, curve in curves.items()}, units_of(truth, units))
    return _with_legend(axes)


def regions(
    table: Any,
    metric: str | None = None,
    *,
    variable: str | None = None,
    bins: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric of each region as a dot with its interval.

    Parameters
    ----------
    table : DataFrame, Table or mapping of names to Summaries
        The table of metrics of a run (``results.metrics``), or Summaries of regions, which have no intervals.
    metric : str, optional
        Name of the metric in the table, such as ``coverage_90``, by default ``zms``.
    variable : str, optional
        Name of the variable; needed if there are several.
    bins : str, optional
        Name of the scheme, by default the first in the table.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    Axes
        The metric in its unit, and a row for each region: the whole first, then from the lowest value to the highest.

    Raises
    ------
    ConfigError
        If the table has no such metric or variable, or several variables.
    ArgumentError
        If an argument has a wrong type.

    Examples
    --------
    >>> import geouq
    >>> north, south = (geouq.summarize([0.0, 0.0], [1.0, 1.0], truth) for truth in ([1.0, 2.0], [0.5, 1.0]))
    >>> axes = regions({"north": north, "south": south})
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['south', 'north']
    """
    found = _rows_of_summaries(table) if isinstance(table, Mapping) else _rows(table)
    found = [row for row in found if row["level"] != "tile"]
    found = _of(found, "variable", variable, "")
    found = _of(_of(found, "metric", _metric(metric), ""), "bins", bins, "first")
    names = sorted_names(found, [(found[0]["variable"], found[0]["metric"])])
    axes = _axes(ax)
    draw_regions(axes, {row["name"]: row for row in found}, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    return _with_legend(axes)


def shift(
    table: Any,
    metric: str | None = None,
    *,
    variable: str | None = None,
    bins: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric in and out of the distribution of the training data, with the interval of the difference.

    Parameters
    ----------
    table : DataFrame or Table
        The table of the shift of a run with `splits`: ``results.tables["shift"]`` or ``results.frames["shift"]``.
    metric, variable, bins, ax : as in `geouq.plot.regions`

    Returns
    -------
    Axes
        The metric in its unit; the bar lies where the value out of distribution would be if the difference had either
        limit of its interval.

    Raises
    ------
    ConfigError
        If the table has no such metric or variable, or several variables.
    ArgumentError
        If an argument has a wrong type.
    """
    found = _of(_rows(table), "variable", variable, "")
    found = _of(_of(found, "metric", _metric(metric), ""), "bins", bins, "first")
    axes = _axes(ax)
    draw_shift(axes, found[0])
    return _with_legend(axes)


def cells(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    metric: str | None = None,
    levels: float | Sequence[float] = LEVELS,
    bins: Bins = EQUAL_COUNT_10,
    units: str | None = None,
    cell_size: int | None = None,
    crs: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a map of a metric in square cells.

    Parameters
    ----------
    mean, variance, truth, std, weights : array (rows, columns)
        Maps with positions, as in `geouq.intervals`.
    metric : str, optional
        Name of the metric, such as ``bias`` or ``coverage_90``, by default ``zms``.
    levels, bins, units, cell_size, crs : as in `geouq.intervals`
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    Axes
        The map with a colour bar, which has the unit of the metric; with a CRS also a scale bar and north. Cells
        without a number are grey; ``axes.legend()`` says so.

    Raises
    ------
    ConfigError
        If cells do not keep the metric.
    DataError, ArgumentError
        As in `geouq.intervals`, and if there are no valid pixels.

    Examples
    --------
    >>> import numpy as np
    >>> axes = cells(np.zeros((40, 60)), 1.0, np.ones((40, 60)), metric="bias", cell_size=16)
    >>> axes.get_xlim() == (0, 60)
    True
    """
    own, scheme = checked_levels(levels), bin_scheme(bins, EQUAL_COUNT_10)
    known, metric = cell_metrics(GAUSSIAN, own), _metric(metric)
    if metric not in known:
        raise ConfigError(f"metric: cells keep no {metric!r}{suggestion(metric, known)}")
    maps = map_of(mean, variance, truth, std=std, weights=weights, crs=crs)
    place, found = summarize_map(maps, (), MetricOptions(own, (scheme,)), cell_size=cell_size)
    parts = [(np.arange(len(found.cells)), found.cells)]
    shown = values_of_cells(place, parts, function_of_cells(metric, scheme, GAUSSIAN))
    if not np.isfinite(shown.values).any():
        raise DataError("no valid pixels: there is nothing to draw")
    axes = _axes(ax)
    scale = scale_of_cells(metric, found.whole, MetricOptions(own, (scheme,)))
    draw_cells(axes, [shown], metric, scale, unit_of_cells(metric, units_of(truth, units)))
    return axes


def correlogram(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    cell_size: int | None = None,
    crs: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the correlation between cells of the mean error, the squared error and z², by their distance.

    Parameters
    ----------
    mean, variance, truth, std, weights : array (rows, columns)
        Maps with positions, as in `geouq.intervals`.
    cell_size, crs : as in `geouq.intervals`
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    Axes
        Distance in km, or in pixels without a CRS, and correlation (unit 1). Dotted lines show the correlation ranges.

    Raises
    ------
    DataError, ArgumentError
        As in `geouq.intervals`, and if there are too few cells.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.random.default_rng(0).normal(size=(160, 160))
    >>> correlogram(np.zeros((160, 160)), 1.0, truth).get_xlabel()
    'distance (pixels)'
    """
    maps = map_of(mean, variance, truth, std=std, weights=weights, crs=crs)
    inferred = infer_map(maps, (), MetricOptions(LEVELS, (EQUAL_COUNT_10,)), DEFAULTS, cell_size=cell_size)
    blocks = inferred.inference.blocks
    if blocks is None or len(blocks.correlation_ranges["error"].correlogram.lags) < 3:
        raise DataError("a correlogram needs more cells; give a larger map, or a smaller cell_size")
    axes = _axes(ax)
    draw_correlogram(axes, blocks)
    return _with_legend(axes)


def _axes(ax: Axes | None) -> Axes:
    """Return the axes given, or those of a new figure, which pyplot does not know."""
    if ax is None:
        figure = Figure(figsize=SIZE, layout="constrained")
        FigureCanvasAgg(figure)
        return figure.subplots()
    if not isinstance(ax, Axes):
        raise wrong_type("ax", ax, "give axes of matplotlib, such as those of plt.subplots()")
    return ax


def _metric(name: str | None) -> str:
    """Return the name of a metric, by default the one by which a run sorts regions."""
    return region_panels()[0] if name is None else as_text("metric", name)


def _with_legend(axes: Axes) -> Axes:
    handles, labels = axes.get_legend_handles_labels()
    each = dict(zip(reversed(labels), reversed(handles), strict=True))  # the first of each name
    if each:
        axes.legend([*reversed(each.values())], [*reversed(each)], loc="best", frameon=False, fontsize=LETTERS)
    return axes


def _colour(number: int) -> str:
    colours = (PALETTE[0], *PALETTE[2:])  # the second one is that of the ideal
    return colours[number % len(colours)]


def _marker(number: int) -> str:
    return MARKERS[number % len(MARKERS)]


def _with_pixels(summary: Summary) -> Summary:
    if np.ndim(summary.n) or not int(summary.n):
        reason = "several summaries; give one" if np.ndim(summary.n) else "no valid pixels"
        raise DataError(f"{reason}: there is nothing to draw")
    return summary


def _one(mean: Any, variance: Any, truth: Any, **options: Any) -> Summary:
    """Return the summary of the arrays, or the one that is given; raise DataError if it has no pixel."""
    found = summary_of(mean, variance, truth, dim=None, **options)
    if not isinstance(found, Summary):
        raise wrong_type("mean", found, "give one Summary: summaries.total(), or one of them by summaries.isel(...)")
    return _with_pixels(found)


def _curves(
    mean: Any,
    variance: Any,
    truth: Any,
    *,
    std: Any,
    weights: Any,
    scheme: BinScheme = EQUAL_COUNT_10,
    levels: Sequence[float] = CALIBRATION_LEVELS,
    bands: bool = False,
    several: bool = True,
) -> dict[str, Curve]:
    """Return what is drawn, by name; with limits from the bootstrap if they are wanted."""
    if isinstance(mean, Mapping) and not isinstance(mean, Summary) and several:
        own = {str(name): Curve(_one(one, None, None, std=None, weights=None)) for name, one in mean.items()}
        return {name: curve for name, curve in own.items() if curve.summary.n} or _nothing(mean)
    if not bands:
        tail = max(TAIL, scheme.count)
        return {ONE: Curve(_one(mean, variance, truth, std=std, weights=weights, tail=tail))}
    options = MetricOptions(LEVELS, (scheme,), calibration_levels=levels)
    found: Inferred = infer_map(map_of(mean, variance, truth, std=std, weights=weights), (), options, DEFAULTS)
    return {ONE: Curve(_with_pixels(found.summary), found.inference.bands)}


def _nothing(mean: Mapping[str, Any]) -> dict[str, Curve]:
    raise DataError(f"mean is an empty {type(mean).__name__}: there is nothing to draw")


def _rows_of_summaries(summaries: Mapping[str, Any]) -> list[Row]:
    """Return the metrics of each region as rows of a table."""
    rows: list[Row] = []
    for name, one in summaries.items():
        summary = _one(one, None, None, std=None, weights=None)
        options = MetricOptions(summary.levels, (EQUAL_COUNT_10,), form=summary.given_as)
        own: Row = {"level": "region", "name": str(name), "variable": "", "ci_low": None, "ci_high": None}
        for value in evaluate_metrics(summary, options):
            number = float(value.value) if np.isfinite(value.value) else None
            units = unit_of(value.metric, "")
            rows.append(own | {"metric": value.name, "bins": value.bins, "value": number, "units": units})
    return rows


def _rows(table: Any) -> list[Row]:
    """Return the rows of a table of a run; missing numbers are None."""
    if isinstance(table, Table):
        return list(table.rows)
    if not isinstance(table, pd.DataFrame):
        raise wrong_type("table", table, "give a table of a run, such as results.metrics")
    plain_rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return [{str(key): value for key, value in row.items()} for row in plain_rows]


def _of(rows: Sequence[Row], column: str, wanted: str | None, several: str) -> list[Row]:
    """Return the rows that have a value in a column; if none is wanted, those of the only one, or of the `first`."""
    there = list(dict.fromkeys(str(row[column]) for row in rows))
    if wanted is None and there and (several or len(there) == 1):
        wanted = there[0]
    if wanted is None and there:
        raise ConfigError(f"which {column}? Give {column}=; there are {', '.join(there)}")
    if wanted not in there:
        raise ConfigError(f"{column}: the table has no {wanted!r}{suggestion(str(wanted), there)}")
    return [row for row in rows if row[column] == wanted]
