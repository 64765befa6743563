"""Corrections from a Summary alone: no pixel is read."""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import StatisticsError

import numpy as np
from numpy.typing import NDArray

from geouq.errors import SummaryError
from geouq.gaussian import half_width, quantile
from geouq.recalibration.corrections import (
    Affine,
    Conformal,
    Isotonic,
    IsotonicVariance,
    Scale,
    ScaleBias,
    Single,
    Unchanged,
)
from geouq.recalibration.monotone import pooled
from geouq.summary import Summary

Floats = NDArray[np.float64]

MOST_BINS, PIXELS_IN_BIN = 100, 200
ROUNDS, CLOSE = 200, 1e-12
PREFERRED_LEVEL = 0.9


def fit(method: str, summary: Summary) -> Single:
    """Return the correction of that method that fits the pixels of a summary best.

    Raises SummaryError if nothing can be fitted: there is no pixel, errors are all 0, or numbers overflow.
    """
    if not summary.n:
        raise SummaryError(f"{method} cannot be fitted: there is no valid pixel")
    overflow = f"{method} cannot be fitted: a number that it needs exceeds the largest float"
    spread = summary.moments.product("z", "z")
    if np.isnan(spread):
        raise SummaryError(overflow)
    if spread <= 0:
        raise SummaryError(f"{method} cannot be fitted: z = (truth - mean) / std is the same everywhere")
    try:
        found = FITTED[method](summary)
    except (ArithmeticError, StatisticsError, np.linalg.LinAlgError) as error:
        raise SummaryError(overflow) from error
    if not all(np.isfinite(value).all() for value in vars(found).values()):
        raise SummaryError(overflow)
    return found


def scale(summary: Summary) -> Scale:
    """Return the factor of the variance that minimises the NLL, mean z^2 (Laves 2021, arXiv 2104.12376)."""
    return Scale(float(summary.moments.mean_square("z")))


def scale_bias(summary: Summary) -> ScaleBias:
    """Return the mean error, and the factor that makes the mean variance the variance of the errors.

    The factor that minimises the NLL would need sums of error / variance, which no summary keeps.
    """
    factor = summary.moments.product("error", "error") / summary.moments.mean("variance")
    return ScaleBias(float(summary.moments.mean("error")), float(factor))


def affine(summary: Summary) -> Affine:
    """Slope and intercept, neither below 0, that minimise the NLL, to the profile's resolution of 1/512 in variance."""
    variance, squared_error = (summary.variance.sums[:, column] for column in (0, 1))
    weight = summary.variance.sums[:, -1]
    v, m = summary.moments.mean("variance"), summary.moments.mean_square("error")
    x, y = variance / weight / v, squared_error / weight / m
    found = [(float((weight * y / x).sum() / weight.sum()), 0.0), (0.0, 1.0)]
    if len(x) > 1:
        found.insert(1, _line(x, y, weight))
    slope, intercept = min(found, key=lambda line: _loss(line, x, y, weight))
    return Affine(float(slope * m / v), float(intercept * m))


def _line(x: Floats, y: Floats, weight: Floats) -> tuple[float, float]:
    """Slope and intercept >= 0 by Fisher scoring, each step halved until the loss falls."""
    line = np.array([0.5, 0.5])
    for _ in range(ROUNDS):
        fitted = line[0] * x + line[1]
        root = np.sqrt(weight) / fitted
        wanted, *_ = np.linalg.lstsq(np.stack([root * x, root], axis=-1), root * y, rcond=None)
        before, step = _loss((line[0], line[1]), x, y, weight), 1.0
        while step > CLOSE:
            tried = np.maximum(line + step * (wanted - line), 0.0)
            if tried.any() and _loss((tried[0], tried[1]), x, y, weight) <= before:
                break
            step /= 2
        else:
            break
        moved, line = np.abs(tried - line).max(), tried
        if moved < CLOSE:
            break
    return float(line[0]), float(line[1])


def _loss(line: tuple[float, float], x: Floats, y: Floats, weight: Floats) -> float:
    """Twice the NLL of squared errors y of variance line(x), but for a constant."""
    fitted = line[0] * x + line[1]
    return float((weight * (np.log(fitted) + y / fitted)).sum() / weight.sum())


def isotonic_variance(summary: Summary) -> IsotonicVariance:
    """Isotonic regression of the mean squared error in 100 equal-count bins of the variance, of 200 pixels at least."""
    bins = min(MOST_BINS, max(1, int(summary.n) // PIXELS_IN_BIN))
    per_bin = summary.variance.binned(summary.variance.quantiles([k / bins for k in range(bins + 1)]))
    used = per_bin.weight > 0
    variance, error, weight = per_bin.mean_variance[used], per_bin.mse[used], per_bin.weight[used]
    knots = [
        (float(variance[end]), float(np.average(error[block], weights=weight[block])))
        for block in pooled(error, weight)
        for end in sorted({block.start, block.stop - 1})
    ]
    variances, errors = zip(*((v, e) for v, e in knots if e > 0), strict=True)
    return IsotonicVariance(variances, errors)


def isotonic(summary: Summary) -> Isotonic:
    """R(p) = share of PIT <= p at every edge of the z histogram: the isotonic regression of Kuleshov 2018.

    The empirical distribution function increases already, so that there is nothing to pool.
    """
    moments, counts = summary.moments, summary.z.counts
    shares = np.cumsum(counts)[:-1] / counts.sum()
    new = np.diff(shares, prepend=0.0) > 0
    knots = [
        (quantile(float(p)), quantile(float(share)))
        for p, share, is_new in zip(summary.z.probabilities, shares, new, strict=True)
        if is_new and 0 < share < 1
    ]
    z, scores = zip(*knots, strict=True) if knots else ((), ())
    return Isotonic(z, scores, float(moments.mean("z")), float(np.sqrt(moments.product("z", "z"))))


def conformal(summary: Summary) -> Conformal:
    """Return the smallest edge of the z histogram that holds the ceil((n + 1) level)-th smallest |z|, for each level.

    Edges lie 1 % of a standard normal apart, so that coverage exceeds the level by as much as the pixels between two.
    """
    found = [_multiple(summary, level) for level in summary.levels]
    multiples, guaranteed = zip(*found, strict=True)
    return Conformal(summary.levels, multiples, guaranteed, nearest_level(summary.levels))


def nearest_level(levels: Sequence[float]) -> float:
    """Return the level next to 0.9, whose interval stands for a conformal forecast where one is needed."""
    return min(levels, key=lambda one: abs(one - PREFERRED_LEVEL))


def _multiple(summary: Summary, level: float) -> tuple[float, bool]:
    """Half width in std of the conformal interval, and whether it is guaranteed to cover enough."""
    n, weight = int(summary.n), float(summary.moments.weight)
    rank = math.ceil((n + 1) * level)
    if rank > n:
        raise SummaryError(f"conformal cannot be fitted at level {level}: that needs more than {n} pixels")
    upper = summary.z.probabilities[summary.z.probabilities > 0.5]
    inside = [weight - float(summary.z.below(1 - p) + summary.z.above(p)) for p in upper.tolist()]
    for p, count in zip(upper.tolist(), inside, strict=True):
        if count >= rank * weight / n:
            return quantile(p), True
    held = inside[-1] / weight
    if held > 0:
        return quantile(float(upper[-1])) * half_width(level) / half_width(held), False
    return float(np.sqrt(summary.moments.mean_square("z"))) * half_width(level), False


FITTED: Mapping[str, Callable[[Summary], Single]] = {
    "none": lambda _: Unchanged(),
    "scale": scale,
    "scale_bias": scale_bias,
    "affine": affine,
    "isotonic_variance": isotonic_variance,
    "isotonic": isotonic,
    "conformal": conformal,
}
