"""Summaries of arrays in memory, with the bits that a sweep of the same pixels gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from affine import Affine
from numpy.typing import ArrayLike, NDArray

from geouq.arrays.arguments import as_numbers, checked_levels, given_variance
from geouq.config.model import LEVELS
from geouq.core.errors import DataError
from geouq.core.grid import SQUARE, Grid, Window
from geouq.core.validity import WEIGHT_ZERO, Nodata
from geouq.kernel.gather import Layers
from geouq.reading.cutting import BAND, Pieces, Reading
from geouq.reading.decoded import NO_STATUS, merged
from geouq.reading.variable_window import NO_TRUTH_VARIANCE, NO_WEIGHT, VariableWindow
from geouq.summary import Summary, VariableSummary
from geouq.sweep.settings import Settings, cell_size_for
from geouq.sweep.tile_sum import InMemory, TileSum, sweep_windows

TAIL, ARRAY = Settings.tail, "array"
NOTHING_DECLARED = Nodata.of(None, None, None)


def summarize_arrays(
    mean: ArrayLike,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    levels: Sequence[float] = LEVELS,
    *,
    std: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    cell_size: int | None = None,
    tail: int = TAIL,
    thresholds: Sequence[float] = (),
    tile: str = ARRAY,
) -> VariableSummary:
    """Return the summary of a raster in memory with its cells, to the bits of a sweep of these pixels.

    Parameters
    ----------
    mean, variance, truth : array (rows, columns)
        Prediction and truth. A pixel that is not finite in one of them, or whose variance is not positive, does not
        count.
    levels : sequence of float
        Levels of the intervals whose coverage and scores are kept.
    std : array (rows, columns), optional
        Predicted standard deviation, instead of the variance.
    weight : array (rows, columns), optional
        How much each pixel counts; a pixel with weight 0 does not.
    cell_size : int, optional
        Side of a cell in pixels. By default it fits the raster.
    tail : int
        Number of equal-width bins that are exact.
    thresholds : sequence of float
        Values whose forecasts of being exceeded are kept.
    tile : str
        Name of the tile. It defines the order of pixels with equal variance.

    Returns
    -------
    VariableSummary
        Summary of all pixels as `whole`, and of each cell.

    Raises
    ------
    DataError
        If a variance or weight is negative, or shapes do not match.
    """
    m, v, y = (np.atleast_2d(_as_float(array)) for array in (mean, given_variance(variance, std, truth), truth))
    w, _ = _weights(weight, y.shape)
    if not m.shape == v.shape == y.shape == (y.shape if weight is None else w.shape):
        shapes = f"{m.shape}, {v.shape} and {y.shape}" + ("" if weight is None else f", weights {w.shape}")
        raise DataError(f"mean, variance and truth have the shapes {shapes}; give one shape")
    grid = Grid(y.shape, Affine.identity(), "")
    settings = Settings(
        checked_levels(levels),
        cell_size or cell_size_for([grid]),
        tail,
        thresholds=as_numbers("thresholds", thresholds),
    )
    return summarize_grid((m, v, y), grid, settings, weight=weight, tile=tile)


def summarize_grid(
    layers: tuple[NDArray[np.floating], NDArray[np.floating], NDArray[np.floating]],
    grid: Grid,
    settings: Settings,
    *,
    weight: ArrayLike | None = None,
    truth_variance: NDArray[np.float64] = NO_TRUTH_VARIANCE,
    tile: str = ARRAY,
) -> VariableSummary:
    """Return the summary of mean, variance and truth on a grid, with its cells, as a sweep of these pixels gives it.

    truth_variance : of the truth's own error, which the variance contains. Raises DataError for a negative variance or
    weight.
    """
    m, v, y = layers
    w, status = _weights(weight, y.shape)

    def read(_: int, window: Window) -> VariableWindow:
        """Return the layers of a window."""
        part = window.slices
        some = (w[part], status[part]) if w.size else (NO_WEIGHT, NO_STATUS)
        noise = truth_variance[part] if truth_variance.size else truth_variance
        return VariableWindow(m[part], v[part], y[part], some[1], NOTHING_DECLARED, some[0], truth_variance=noise)

    return _swept(read, grid, settings, tile, weighted=weight is not None)


@dataclass(frozen=True)
class Points:
    """Pixels without a place, all arrays (points); mean, variance and truth of float32 or float64.

    weight : None where all count alike. bounds : ends of the interval that the forecast gives. groups : values of
    covariates and codes of classes, NaN if missing. status : reason + 1 of each pixel that is excluded already.
    layers : members, quantiles or probabilities, where the prediction is given by these.
    """

    mean: NDArray[np.floating]
    variance: NDArray[np.floating]
    truth: NDArray[np.floating]
    weight: NDArray[np.float64] | None = None
    bounds: tuple[NDArray[np.float64], ...] = ()
    groups: tuple[NDArray[np.float32], ...] = ()
    status: NDArray[np.uint8] = field(default_factory=lambda: NO_STATUS)
    layers: Layers | None = None


def summarize_points(points: Points, settings: Settings) -> Summary:
    """Return the summary of points; its bits depend on their order and on nothing else.

    The points are laid out in rows of 256 to 8192, at most 256 rows as long as that is enough. Where at most 2^16 of
    them are valid, all are kept, so that every binning is exact. What is excluded, and what raises DataError, is as in
    `summarize_arrays`.
    """
    w, weightless = _weights(points.weight, points.truth.shape)
    status = merged(points.status, weightless)
    width = min(max(-(-len(points.truth) // SQUARE**2), 1) * SQUARE, BAND)
    grid = Grid((-(-len(points.truth) // width), width), Affine.identity(), "")

    def read(_: int, window: Window) -> VariableWindow:
        """Return the layers of a window of the laid-out points."""

        def rows(values: NDArray[Any], empty: float) -> NDArray[Any]:
            """Return the values of the window as rows."""
            part = slice(window.row * width, (window.row + window.height) * width)
            return _rows(values[part], (window.height, window.width), empty)

        m, v, y = (rows(layer, np.nan) for layer in (points.mean, points.variance, points.truth))
        weight = rows(w, 0) if w.size else NO_WEIGHT
        hidden = rows(status, WEIGHT_ZERO + 1) if status.size else NO_STATUS
        layers = points.layers and points.layers._replace(first=window.row * width)
        bounds, groups = (tuple(rows(layer, np.nan) for layer in layers) for layers in (points.bounds, points.groups))
        return VariableWindow(m, v, y, hidden, NOTHING_DECLARED, weight, bounds=bounds, groups=groups, layers=layers)

    return _swept(read, grid, settings, weighted=points.weight is not None).whole


def _rows(points: NDArray[Any], shape: tuple[int, int], empty: float) -> NDArray[Any]:
    """Return the points as rows; the last of all rows is filled up."""
    short = shape[0] * shape[1] - len(points)
    return (np.pad(points, (0, short), constant_values=empty) if short else points).reshape(shape)


def _swept(
    read: Callable[[int, Window], VariableWindow], grid: Grid, settings: Settings, tile: str = ARRAY, *, weighted: bool
) -> VariableSummary:
    """Return the sum over all windows of a grid."""
    thresholds = settings.thresholds
    total = TileSum.empty(tile, grid, {ARRAY: thresholds}, settings, InMemory(), weighted=weighted)
    for piece in Pieces(grid, Reading(SQUARE, -(-grid.shape[1] // SQUARE) * SQUARE)):  # whole rows need no copy
        visits = [([0], piece.windows)]
        total.add(sweep_windows(read, piece, visits, settings, [ARRAY], thresholds=[thresholds], weighted=weighted))
    return total.summary().variables[ARRAY]


def _as_float(array: Any) -> NDArray[np.floating]:
    values = np.asarray(array)
    if values.dtype.kind not in "biuf":
        raise DataError(f"an array holds values of type {values.dtype}; give numbers")
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _weights(weight: ArrayLike | None, shape: tuple[int, ...]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return the weights with 0 where they say nothing, and the status of such pixels."""
    if weight is None:
        return NO_WEIGHT, NO_STATUS
    values = np.broadcast_to(np.asarray(weight, np.float64), shape)
    if (values < 0).any():
        raise DataError(f"the lowest weight is {np.nanmin(values):.6g}; weights are >= 0")
    none = ~(np.isfinite(values) & (values > 0))
    return np.where(none, 0.0, values), none.astype(np.uint8) * np.uint8(WEIGHT_ZERO + 1)
