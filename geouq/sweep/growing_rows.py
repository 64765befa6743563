"""Sums by number that take memory where there are any."""

import numpy as np
from numpy.typing import NDArray

from geouq.kernel import added_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class GrowingRows:
    """Rows of sums by number, in the order of the numbers; thousands of objects like this are small.

    numbers : int64 (rows), increasing. sums : float64 (rows, columns).

    >>> rows = GrowingRows(1)
    >>> rows.add(np.array([3, 70000]), np.array([[1.0], [2.0]]))
    >>> rows.add(np.array([3]), np.array([[5.0]]))
    >>> rows.numbers.tolist(), rows.sums.ravel().tolist()
    ([3, 70000], [6.0, 2.0])
    """

    def __init__(self, columns: int) -> None:
        self.numbers: Ints = np.empty(0, np.int64)
        self.sums: Floats = np.empty((0, columns))

    def add(self, numbers: Ints, rows: Floats) -> None:
        """Add rows of these numbers, which are increasing. The first rows are taken as they are, and may change."""
        if not len(self.numbers):
            self.numbers, self.sums = numbers, rows
            return
        self.numbers, self.sums = added_rows(self.numbers, self.sums, numbers, rows)
