"""Least squares under the one condition that values do not decrease."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def pooled(values: Floats, weights: Floats) -> list[slice]:
    """Blocks whose weighted means increase strictly: neighbours that violate that are pooled (Ayer et al. 1955).

    Giving each block its mean is the isotonic regression of the values.

    >>> pooled(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4))
    [slice(0, 1, None), slice(1, 3, None), slice(3, 4, None)]
    """
    blocks: list[tuple[int, int, float, float]] = []
    for i, (value, weight) in enumerate(zip(values.tolist(), weights.tolist(), strict=True)):
        start, total, sum_ = i, weight, weight * value
        while blocks and blocks[-1][3] * total >= sum_ * blocks[-1][2]:
            start, _, more, before = blocks.pop()
            total, sum_ = total + more, sum_ + before
        blocks.append((start, i + 1, total, sum_))
    return [slice(start, stop) for start, stop, _, _ in blocks]
