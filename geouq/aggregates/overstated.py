"""Whether the stated error of the truth is larger than the errors that were found: then too much is removed."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geouq.aggregates.area import half_width
from geouq.aggregates.cells import AreaCells
from geouq.aggregates.estimation import FEWEST_FOLDS, is_truth_alone
from geouq.aggregates.folds import folds_of
from geouq.config import Variable
from geouq.core.wording import for_people

Floats = NDArray[np.float64]
LEVEL = 0.95  # of the interval that must exclude an error as large as stated
LEAST = 0.1  # share by which the variance that is found is smaller than stated; with less, little too much is removed
REASON = "the stated error of the truth is larger than the errors that pixels do not share"


class Overstated(NamedTuple):
    """The stated std of the truth's error (root mean square), and by which factor it is too large at least.

    factor : of the std, infinite if pixels share all errors.
    """

    stated: float
    factor: float


def overstated(cells: AreaCells) -> Overstated | None:
    """Return the stated error of the truth if errors of pixels are too small for it; None otherwise.

    Notes
    -----
    Errors of the truth are taken as independent from pixel to pixel. So they are part of the errors that pixels of a
    cell do not share: all squared errors without what products of different pixels tell. Where the truth's error
    alone is stated to be larger by more than chance, by a jackknife of folds, the statement is wrong, or pixels share
    errors of the truth.
    """
    cells = cells.finite()
    cells = cells.some(cells.informative)
    if not cells.noise.any():
        return None
    fold = folds_of(cells)
    each = np.stack([np.bincount(fold, own) for own in _sums(cells)]).astype(np.float64)
    excess = float(_excess(each.sum(axis=1)))
    if not (excess > 0 and (is_truth_alone(cells) or _is_certain(each, excess))):
        return None
    stated = float(np.sqrt(cells.noise.sum() / cells.weight_square.sum()))
    return Overstated(stated, 1 / float(np.sqrt(1 - excess)) if excess < 1 else np.inf)


def _sums(cells: AreaCells) -> tuple[Floats, ...]:
    """Return what the truth's error adds to z^2, z^2, products of pixels of a cell with weights, and those of z^2."""
    products = cells.z**2 - cells.z_square, cells.z_weight**2 - cells.z_weight_square
    return cells.z_noise, cells.z_square, *products, cells.z_weight_square


def _excess(sums: Floats) -> Floats:
    """Return the share of the stated variance that is more than the errors that pixels do not share."""
    noise, total, products, weights, squares = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = np.where(weights > 0, products / weights * squares, 0.0)
    return np.asarray(1 - (total - shared) / noise)


def _is_certain(each: Floats, excess: float) -> bool:
    folds = each.shape[1]
    if folds < FEWEST_FOLDS or excess < LEAST:
        return False
    left_out = _excess(each.sum(axis=1, keepdims=True) - each)
    spread = float(np.sqrt((folds - 1) * left_out.var()))
    return excess > half_width(LEVEL, folds - 1) * spread


def warning_of(variable: Variable, found: Overstated) -> str:
    """Return the warning in words, with what to check."""
    units = f" {variable.units}" if variable.units else ""
    stated, factor = (for_people(float(f"{value:.3g}")) for value in found)
    larger = f"{factor} times as large as" if np.isfinite(found.factor) else "larger than all of"
    return (
        f"{variable.name}: the stated error of the truth, a std of {stated}{units}, is too large. It is {larger} the "
        "errors that pixels do not share, of truth and map together. Too much is removed from the errors of the map, "
        "so that std and intervals of means of areas are wrong or missing. Check its unit, whether a std or a variance "
        "is given, and whether pixels share errors of the truth"
    )
