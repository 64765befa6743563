"""A sample of pixels for the joint log-loss, that adds, and that no chunking changes.

Each pixel has a number that follows from its tile, row and column by hashing; the pixels with the lowest numbers are a
uniform sample, and those of two sets together are among those of each.
"""

import hashlib
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled

Floats = NDArray[np.float64]
Numbers = NDArray[np.uint64]

SIZE = 2048


@dataclass(frozen=True)
class JointSample:
    """The pixels with the lowest numbers, at most `SIZE`, lowest first.

    number : uint64 (pixels). log_density : float64 (pixels, members), the logarithm of each member's density at the
    truth.
    """

    number: Numbers
    log_density: Floats

    @classmethod
    def empty(cls, members: int) -> Self:
        """Return the sample of no pixel."""
        return cls(np.empty(0, np.uint64), np.empty((0, members)))

    @classmethod
    def lowest(cls, number: Numbers, log_density: Floats) -> Self:
        """Return the sample of these pixels; those of a number are ordered by their densities."""
        order = np.lexsort((log_density[:, 0], number))[:SIZE]
        return cls(number[order], log_density[order])

    def __add__(self, other: Self) -> Self:
        if not len(other.number):
            return self
        parts = np.concatenate([self.number, other.number]), np.concatenate([self.log_density, other.log_density])
        return self.lowest(*parts)


def salt_of(name: str) -> np.uint64:
    """Return what a tile of that name adds to the numbers of its pixels before they are hashed."""
    return np.frombuffer(hashlib.sha256(name.encode()).digest()[:8], "<u8")[0]


@compiled
def numbers_of(places: Numbers, salt: np.uint64) -> Numbers:
    """Hashed numbers of pixels, whose places (row * 2^32 + column) are all different within a tile; splitmix64.

    >>> numbers_of(np.array([0, 1], np.uint64), np.uint64(0)).tolist()
    [16294208416658607535, 7960286522194355700]
    """
    numbers = np.empty(places.shape, np.uint64)
    for i in range(len(places)):
        mixed = (places[i] + salt + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        numbers[i] = mixed ^ (mixed >> np.uint64(31))
    return numbers
