"""Sums by number that take memory where there are any."""

import numpy as np
from numpy.typing import NDArray

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
        """Add rows of these numbers, which are increasing."""
        if not len(self.numbers):
            self.numbers, self.sums = numbers.copy(), rows.copy()
            return
        place = np.searchsorted(self.numbers, numbers)
        if not self._holds(numbers, place):
            self._make_room(np.union1d(self.numbers, numbers))
            place = np.searchsorted(self.numbers, numbers)
        self.sums[place] += rows

    def _holds(self, numbers: Ints, place: Ints) -> bool:
        """Return whether there is a row for each of these numbers, which would stand at these places."""
        return bool((self.numbers[np.minimum(place, len(self.numbers) - 1)] == numbers).all())

    def _make_room(self, numbers: Ints) -> None:
        sums = np.zeros((len(numbers), self.sums.shape[-1]))
        sums[np.searchsorted(numbers, self.numbers)] = self.sums
        self.numbers, self.sums = numbers, sums
