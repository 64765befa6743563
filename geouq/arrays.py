"""Summaries of arrays in memory, with the bits that a sweep of the same pixels gives."""

from collections.abc import Sequence

import numpy as np
from affine import Affine
from numpy.typing import ArrayLike, NDArray

from geouq.cutting import Reading, pieces_of
from geouq.errors import DataError
from geouq.grid import Grid, Window
from geouq.kernel import SQUARE
from geouq.piecework import sweep_windows
from geouq.reader import NO_STATUS, NO_WEIGHT, VariableWindow
from geouq.settings import Settings, cell_size_for
from geouq.summary import VariableSummary
from geouq.tile_sum import InMemory, TileSum
from geouq.validity import WEIGHT_ZERO, Nodata


def summarize_arrays(
    mean: ArrayLike,
    variance: ArrayLike,
    truth: ArrayLike,
    levels: Sequence[float] = (0.5, 0.8, 0.9, 0.95),
    *,
    weight: ArrayLike | None = None,
    cell_size: int | None = None,
    tail: int = 10,
) -> VariableSummary:
    """Summary of one variable in memory, arrays (rows, columns), with the bits that a sweep of the same pixels gives.

    A pixel that is not finite in any of the first three, has no positive variance, or no positive weight, is excluded.
    Raises DataError for a negative variance or weight.
    """
    m, v, y = (np.atleast_2d(_as_float(array)) for array in (mean, variance, truth))
    w, status = _weights(weight, y.shape)
    if not m.shape == v.shape == y.shape == (y.shape if weight is None else w.shape):
        shapes = f"{m.shape}, {v.shape} and {y.shape}" + ("" if weight is None else f", weights {w.shape}")
        raise DataError(f"mean, variance and truth have the shapes {shapes}; give one shape")
    grid = Grid(y.shape, Affine.identity(), "")
    settings = Settings(tuple(levels), cell_size or cell_size_for([grid]), tail)

    def read(_: int, window: Window) -> VariableWindow:
        part = window.slices
        some = (w[part], status[part]) if w.size else (NO_WEIGHT, NO_STATUS)
        return VariableWindow(m[part], v[part], y[part], some[1], Nodata.of(None, None, None), some[0])

    total = TileSum.empty("array", grid, ("array",), settings, InMemory(), weighted=weight is not None)
    for piece in pieces_of(grid, Reading(SQUARE, -(-grid.shape[1] // SQUARE) * SQUARE)):  # whole rows need no copy
        total.add(sweep_windows(read, piece, [([0], piece.windows)], settings, ["array"], weighted=weight is not None))
    return total.summary().variables["array"]


def _as_float(array: ArrayLike) -> NDArray[np.floating]:
    values = np.asarray(array)
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _weights(weight: ArrayLike | None, shape: tuple[int, ...]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Weights with 0 where they say nothing, and the status of such pixels."""
    if weight is None:
        return NO_WEIGHT, NO_STATUS
    values = np.broadcast_to(np.asarray(weight, np.float64), shape)
    if (values < 0).any():
        raise DataError(f"the lowest weight is {np.nanmin(values):.6g}; weights are >= 0")
    none = ~(np.isfinite(values) & (values > 0))
    return np.where(none, 0.0, values), none.astype(np.uint8) * np.uint8(WEIGHT_ZERO + 1)
