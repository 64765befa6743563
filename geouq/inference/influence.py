"""How much each part of an evaluation unit moves a number: its linear influence.

A number is a function of summed columns. Its gradient times the columns of a cell is what the cell adds to the
number's deviation, to first order. So every number has a residual of its own, whose correlation it feels.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.compiled import compiled

Floats = NDArray[np.float64]

STEP = 1e-6  # of the sum of the sizes of a column
ROUNDING = 1e-13  # changes below are those of last digits
WEIGHT = 1  # column of the weights


@dataclass(frozen=True)
class Probes:
    """Summed columns of an evaluation unit, and the same with one column raised at a time.

    sums : float64 (1 + raised, columns). raised : int64, which columns are raised; steps : float64, by how much.
    """

    sums: Floats
    raised: NDArray[np.int64]
    steps: Floats

    @classmethod
    def of(cls, rows: Floats) -> "Probes":
        """Return the probes of rows (parts, columns) that add to the unit."""
        total, size = _column_sums(rows)
        raised = np.flatnonzero((size > 0) & np.isfinite(size))
        steps = STEP * size[raised]
        sums = np.tile(total, (len(raised) + 1, 1))
        sums[np.arange(1, len(sums)), raised] += steps
        return cls(sums, raised, steps)

    def gradient(self, numbers: Floats) -> Floats:
        """Return the gradient (columns) of a number, from its values (1 + raised); 0 where one is missing."""
        found = np.zeros(self.sums.shape[1])
        with np.errstate(invalid="ignore"):
            change = numbers[1:] - numbers[0]
            change = np.where(np.abs(change) > ROUNDING * np.abs(numbers[0]), change, 0.0)
        found[self.raised] = np.where(np.isfinite(change), change, 0.0) / self.steps
        return found


def influences(rows: Floats, gradients: Floats) -> Floats:
    """Return the influence of each part on each number, (parts, numbers); those of a number add to 0.

    Parameters
    ----------
    rows : float64 (parts, columns)
        What each part adds.
    gradients : float64 (columns, numbers)
        Gradients of the numbers.
    """
    found = np.zeros((len(rows), gradients.shape[1]))
    _multiply(rows, np.ascontiguousarray(gradients), found)
    weight = rows[:, WEIGHT]
    return found - weight[:, np.newaxis] / weight.sum() * found.sum(axis=0)


@compiled
def _column_sums(rows: Floats) -> tuple[Floats, Floats]:
    total, size = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for i in range(len(rows)):
        for j in range(rows.shape[1]):
            total[j] += rows[i, j]
            size[j] += abs(rows[i, j])
    return total, size


@compiled
def _multiply(rows: Floats, gradients: Floats, out: Floats) -> None:
    """Add rows (parts, columns) times gradients (columns, numbers) to out, in a fixed order."""
    for i in range(len(rows)):
        for j in range(rows.shape[1]):
            value = rows[i, j]
            if value != 0 and np.isfinite(value):
                for k in range(out.shape[1]):
                    out[i, k] += value * gradients[j, k]
