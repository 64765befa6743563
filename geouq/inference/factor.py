"""Inverse of small covariance matrices, in loops of fixed order: a LAPACK would give other last digits elsewhere."""

import numpy as np
from numpy.typing import NDArray

from geouq.compiled import compiled

Floats = NDArray[np.float64]

SMALLEST = 1e-12  # square of a diagonal element of the factor


def without_mean(covariance: Floats, mean: Floats) -> tuple[Floats, float]:
    """Return the inverse of a covariance, projected so that multiples of `mean` drop out, and the log-determinants.

    The latter are minus half the logarithm of the determinant of the covariance and of mean' inverse mean, as in a
    restricted likelihood.
    """
    factor = _factor(covariance)
    inverse = _inverse(factor)
    precision = _gram(inverse)
    solved = _times(precision, mean)
    size = float((solved * mean).sum())
    projected = precision - solved[:, np.newaxis] * solved / size
    return projected, -float(np.log(np.diagonal(factor)).sum()) - 0.5 * float(np.log(size))


@compiled
def _factor(covariance: Floats) -> Floats:
    """Return the lower triangular L with L L' = covariance."""
    n = len(covariance)
    factor = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = covariance[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = np.sqrt(max(total, SMALLEST)) if i == j else total / factor[j, j]
    return factor


@compiled
def _inverse(factor: Floats) -> Floats:
    """Return the inverse of a lower triangular matrix, transposed."""
    n = len(factor)
    found = np.zeros((n, n))
    for j in range(n):
        found[j, j] = 1 / factor[j, j]
        for i in range(j + 1, n):
            total = 0.0
            for k in range(j, i):
                total -= factor[i, k] * found[j, k]
            found[j, i] = total / factor[i, i]
    return found


@compiled
def _gram(upper: Floats) -> Floats:
    """Return U U' of an upper triangular matrix."""
    n = len(upper)
    found = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, n):
                total += upper[i, k] * upper[j, k]
            found[i, j] = found[j, i] = total
    return found


@compiled
def _times(matrix: Floats, vector: Floats) -> Floats:
    found = np.zeros(len(vector))
    for i in range(len(vector)):
        for j in range(len(vector)):
            found[i] += matrix[i, j] * vector[j]
    return found
