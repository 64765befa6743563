"""Sums by number that take memory where there are any."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class GrowingRows:
    """Rows of sums by number, in the order of the numbers; room is made for `together` neighbours at once.

    Thousands of objects like this are small, whatever the numbers, as long as few rows of each are in use.

    >>> rows = GrowingRows(1, 16)
    >>> rows.add(np.array([3, 70000]), np.array([[1.0], [2.0]]))
    >>> rows.add(np.array([3]), np.array([[5.0]]))
    >>> numbers, sums = rows.used()
    >>> numbers.tolist(), sums.ravel().tolist()
    ([3, 70000], [6.0, 2.0])
    """

    def __init__(self, columns: int, together: int) -> None:
        self._together = together
        self._chunks: Ints = np.empty(0, np.int64)
        self._sums: Floats = np.empty((0, together, columns))

    def add(self, numbers: Ints, rows: Floats) -> None:
        """Add rows of these numbers, of which none is repeated."""
        chunk, within = np.divmod(numbers, self._together)
        place = np.searchsorted(self._chunks, chunk)
        if not self._holds(chunk, place):
            self._make_room(np.union1d(self._chunks, chunk))
            place = np.searchsorted(self._chunks, chunk)
        self._sums[place, within] += rows

    def used(self) -> tuple[Ints, Floats]:
        """The numbers, increasing, of rows that are not 0, and these rows."""
        chunk, within = np.nonzero(self._sums.any(-1))
        return self._chunks[chunk] * self._together + within, self._sums[chunk, within]

    def _holds(self, chunk: Ints, place: Ints) -> bool:
        """Whether there is room for each of these, which would stand at these places."""
        if not len(self._chunks):
            return not len(chunk)
        return bool((self._chunks[np.minimum(place, len(self._chunks) - 1)] == chunk).all())

    def _make_room(self, chunks: Ints) -> None:
        sums = np.zeros((len(chunks), *self._sums.shape[1:]))
        sums[np.searchsorted(chunks, self._chunks)] = self._sums
        self._chunks, self._sums = chunks, sums
