"""A model of correlation with intervals: its parameters, its line by distance; and correlation by the direction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geouq.aggregates.area import half_width
from geouq.aggregates.cells import AreaCells
from geouq.aggregates.correlation import CorrelationModel, Correlogram
from geouq.aggregates.estimation import ErrorCorrelation
from geouq.aggregates.overstated import REASON, overstated
from geouq.metrics.aggregate_names import TRUTH_SHARE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SINGLE = frozenset({"nugget", "constant", "tile", "within_cell", "practical_range", "zms"})  # of all models
LAGS = 4  # cells, up to which directions are compared
OTHER_PARTS = "models without a fold have other parts"
ALIKE = "models without a fold have the same value"


@dataclass(frozen=True)
class Parameter:
    """A parameter with its interval; low and high are NaN if there is none, and `reason` tells why."""

    name: str
    value: float
    units: str
    low: float
    high: float
    reason: str = ""


def parameters_of(correlation: ErrorCorrelation, level: float) -> list[Parameter]:
    """Return the parameters of the model of all cells, with intervals by a jackknife of folds.

    Parameters
    ----------
    correlation : ErrorCorrelation
        Of a variable.
    level : float
        Of the intervals.

    Returns
    -------
    list of Parameter
        Shares, ranges, the range at which the correlation that fades has fallen to 5 %, mean z^2, the share of z^2 that
        is the truth's own error if that is known, and the correlation of neighbouring cells along rows and columns.
    """
    others = correlation.each_left_out
    half = half_width(level, len(others) - 1)
    whole, each = _values(correlation.model), [_values(model) for model in others]
    parts = {len(model.sills) for model in (correlation.model, *others)}
    numbered = whole.keys() - SINGLE if len(parts) > 1 else frozenset[str]()
    found = [
        _with_interval(name, value, [None if name in numbered else own.get(name) for own in each], half)
        for name, value in whole.items()
    ]
    if overstated(correlation.cells) is not None:
        found = [_without_interval(one) if one.name == "within_cell" else one for one in found]
    return found + _truth_share(correlation, half) + _directions(correlation, half)


def parameters_of_truth(cells: AreaCells) -> list[Parameter]:
    """Return the share of z^2 that is the truth's own error, where it leaves no errors from which a model follows."""
    if overstated(cells) is None:
        return []
    return [_without_interval(Parameter(TRUTH_SHARE, cells.finite().truth_share, "1", np.nan, np.nan))]


def _without_interval(parameter: Parameter) -> Parameter:
    return replace(parameter, low=np.nan, high=np.nan, reason=REASON)


def _truth_share(correlation: ErrorCorrelation, half: float) -> list[Parameter]:
    """Return the share of z^2 that is the truth's own error and was removed; nothing if it is not known."""
    cells, value = correlation.cells, correlation.cells.truth_share
    if not np.isfinite(value):
        return []
    noise, total = (np.bincount(correlation.fold, own, correlation.folds) for own in (cells.z_noise, cells.z_square))
    return [_with_interval(TRUTH_SHARE, value, ((noise.sum() - noise) / (total.sum() - total)).tolist(), half)]


def line_by_distance(correlation: ErrorCorrelation) -> tuple[Floats, Floats]:
    """Return the fitted line at the distances of the correlogram, float64 (classes), and its standard errors.

    The errors are those of a jackknife of folds. No interval is made of them: on maps of few independent parts, for
    which a correlation reaches far, they are too small.
    """
    found = correlation.correlogram
    lines = np.array([_line(model, found) for model in correlation.each_left_out])
    return _line(correlation.model, found), np.sqrt((len(lines) - 1) * lines.var(axis=0))


def _line(model: CorrelationModel, found: Correlogram) -> Floats:
    """Return the correlation of a model in each class of a correlogram."""
    return np.where(found.distance > 0, model(found.distance) + model.tile * found.same, model.within)


def _values(model: CorrelationModel) -> dict[str, float]:
    """Return the parameters of a model by name."""
    order = np.argsort(model.ranges)
    values = {"nugget": model.nugget, "constant": model.constant, "tile": model.tile, "within_cell": model.within}
    for number, k in enumerate(order.tolist(), 1):
        values |= {f"sill_{number}": model.sills[k], f"range_{number}": model.ranges[k]}
    if model.sills:
        values["practical_range"] = _practical_range(model)
    return values | {"zms": model.zms}


def _practical_range(model: CorrelationModel) -> float:
    """Return the distance at which what fades of the correlation has fallen to 5 % of its value at 0."""
    low, high = 0.0, 4 * max(model.ranges)
    for _ in range(60):
        middle = (low + high) / 2
        left = sum(sill * np.exp(-middle / reach) for sill, reach in zip(model.sills, model.ranges, strict=True))
        low, high = (middle, high) if left > 0.05 * sum(model.sills) else (low, middle)
    return high


def _with_interval(name: str, value: float, others: Sequence[float | None], half: float) -> Parameter:
    """Return a parameter whose interval follows from those of models without a fold; lengths on their logarithm."""
    is_length = "range" in name
    units = "m" if is_length else "1"
    known = [own for own in others if own is not None]
    if len(known) < len(others):
        return Parameter(name, value, units, np.nan, np.nan, OTHER_PARTS)
    if np.ptp(known) == 0:
        return Parameter(name, value, units, np.nan, np.nan, ALIKE)
    if is_length or name == "zms":
        factor = float(np.exp(half * _spread(np.log(known))))
        return Parameter(name, value, units, value / factor, value * factor)
    away = half * _spread(np.array(known))
    return Parameter(name, value, units, max(value - away, 0.0), min(value + away, 1.0))


def _spread(others: Floats) -> float:
    """Return the standard error by the jackknife."""
    return float(np.sqrt((len(others) - 1) * np.var(others)))


def _directions(correlation: ErrorCorrelation, half: float) -> list[Parameter]:
    """Return the mean correlation up to four cells apart along columns and along rows of the lattice."""
    found = []
    for name, step in (("along_columns", (1, 0)), ("along_rows", (0, 1))):
        own = correlation.cells.informative
        products, weights = _neighbours(correlation.cells.some(own), correlation.fold[own], correlation.folds, step)
        if not weights.sum() > 0:
            found.append(Parameter(f"correlation_{name}", np.nan, "1", np.nan, np.nan, "no two cells are neighbours"))
            continue
        zms = correlation.model.zms
        value = float(products.sum() / weights.sum() / zms)
        with np.errstate(invalid="ignore", divide="ignore"):
            left_out = (products.sum() - products) / (weights.sum() - weights) / zms
        known = left_out[np.isfinite(left_out)]
        away = half * _spread(known) if len(known) > 1 else np.nan
        found.append(Parameter(f"correlation_{name}", value, "1", value - away, value + away))
    return found


def _neighbours(cells: AreaCells, fold: Ints, folds: int, step: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return sums of z z' and of their weights over pairs of cells of a tile up to four steps apart, by fold."""
    wide = int(cells.column.max()) + LAGS + 1  # a neighbour beyond the right border is no cell of the next row
    high = int(cells.row.max()) + LAGS + 1
    place = (cells.tile * high + cells.row) * wide + cells.column
    products, weights = np.zeros(folds), np.zeros(folds)
    for lag in range(1, LAGS + 1):
        wanted = place + lag * (step[0] * wide + step[1])
        other = np.minimum(np.searchsorted(place, wanted), len(place) - 1)
        one = np.flatnonzero(place[other] == wanted)
        other = other[one]
        products += np.bincount(fold[one], cells.z[one] * cells.z[other], folds)
        weights += np.bincount(fold[one], cells.z_weight[one] * cells.z_weight[other], folds)
    return products, weights
