"""Limits of a number at any level, and the level at which they reach an ideal; compiled.

Arguments that functions share:

- `half`, of the limits of a normal deviation at the level, in standard deviations; `alpha`, 1 less the level.
- `replicates`: these, float64 (R), sorted and finite, and their bias and acceleration, 0 of percentile limits.
- `spread`, of the number: chances and deviations, float64 (models), and degrees of freedom of a mixture of Student's
  distributions, and the standard deviation of replicates.
- `bounds`, which the number cannot pass.
"""

import math

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, compiled_for
from geouq.core.gaussian import SQRT_HALF

Floats = NDArray[np.float64]
Replicates = tuple[Floats, float, float]
Spread = tuple[Floats, Floats, float, float]
Bounds = tuple[float, float]

STEPS = 60  # of Newton's method, of which some five are needed
ENOUGH = 1e-14  # of a half width
HALVINGS = 30
WIDEST = 64.0  # standard deviations
LARGEST_EXPONENT = math.log(np.finfo(np.float64).max)
TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


@compiled
def quantile_of(replicates: Floats, probability: float) -> float:
    """Return a quantile of sorted replicates, to the bits of `numpy.quantile`, which would sort them each time."""
    last = len(replicates) - 1
    place = probability * last
    before = min(max(math.floor(place), 0), last)
    low, high = replicates[before], replicates[min(before + 1, last)]
    share, step = place - before, high - low
    return high - step * (1 - share) if share >= 0.5 else low + step * share  # as numpy rounds


@compiled_for("Tuple((f8[::1], f8, f8)), f8")
def limits_of_replicates(replicates: Replicates, half: float) -> tuple[float, float]:
    """Return the bias-corrected and accelerated limits of the replicates alone."""
    ordered, bias, acceleration = replicates
    low = _probability(bias - half, bias, acceleration)
    high = _probability(bias + half, bias, acceleration)
    return quantile_of(ordered, low), quantile_of(ordered, high)


@compiled
def _probability(z: float, bias: float, acceleration: float) -> float:
    """Return the probability of the quantile that takes the place of that of z."""
    moved = bias + z / max(1 - acceleration * z, 0.1)
    return 0.5 * math.erfc(-moved * SQRT_HALF)


@compiled_for("f8, UniTuple(f8, 2), f8, UniTuple(f8, 2)")
def widened_limits(
    estimate: float, limits: tuple[float, float], widening: float, bounds: Bounds
) -> tuple[float, float]:
    """Return limits that much farther from the estimate, on the scale on which bounds are infinitely far."""
    (low, high), (lowest, highest) = limits, bounds
    if not (lowest < min(estimate, low, high) and max(estimate, low, high) < highest):
        low, high = estimate + widening * (low - estimate), estimate + widening * (high - estimate)
        return max(low, lowest), min(high, highest)
    middle = _unbounded(estimate, lowest, highest)
    low = middle + widening * (_unbounded(low, lowest, highest) - middle)
    high = middle + widening * (_unbounded(high, lowest, highest) - middle)
    return _bounded(low, lowest, highest), _bounded(high, lowest, highest)


@compiled
def _unbounded(x: float, lowest: float, highest: float) -> float:
    """Logarithm of the distance from the lower bound, less that from the upper one; x itself where there is neither."""
    if math.isinf(lowest) and math.isinf(highest):
        return x
    below = 0.0 if math.isinf(lowest) else math.log(x - lowest)
    return below - (0.0 if math.isinf(highest) else math.log(highest - x))


@compiled
def _bounded(x: float, lowest: float, highest: float) -> float:
    """Return what `_unbounded` makes x of."""
    if math.isinf(lowest):
        return x if math.isinf(highest) else highest - _exp(-x)
    return lowest + _exp(x) if math.isinf(highest) else lowest + (highest - lowest) / (1 + _exp(-x))


@compiled
def _exp(x: float) -> float:
    """Return e^x; infinity where that overflows."""
    return math.exp(x) if x < LARGEST_EXPONENT else math.inf


@compiled
def half_width(half: float, alpha: float, chances: Floats, deviations: Floats, freedom: float) -> float:
    """Return what the size of the deviation exceeds with the probability alpha, that of a normal one beyond `half`.

    Tails of Student's distribution by Wallace 1959, The Annals of Mathematical Statistics 30, 1124. The half width lies
    between those of the models, which follow without a search; Newton's method finds it on the logarithm of the tail.
    """
    factor = (8 * freedom + 1) / (8 * freedom + 3)
    scale = min(math.sqrt(freedom * math.expm1((half / factor) ** 2 / freedom)), WIDEST)
    low, high = scale * deviations.min(), scale * deviations.max()
    found = scale * (chances * deviations).sum()
    for _ in range(STEPS):
        if not high - low > ENOUGH * high:
            break
        beyond, slope = _tail(found, factor, chances, deviations, freedom)
        low, high = (found, high) if beyond > alpha else (low, found)
        moved = found + beyond * math.log(beyond / alpha) / slope if beyond > 0 and slope > 0 else math.nan
        if abs(moved - found) <= ENOUGH * found:
            return moved
        found = moved if low < moved < high else (low + high) / 2
    return found


@compiled
def _tail(at: float, factor: float, chances: Floats, deviations: Floats, freedom: float) -> tuple[float, float]:
    """Return the probability that the size of the deviation is above `at`, and how fast it falls there."""
    beyond = slope = 0.0
    for k in range(len(chances)):
        away = at / deviations[k]
        ratio = away * away / freedom
        root = math.sqrt(freedom * math.log1p(ratio) / 2)
        beyond += chances[k] * math.erfc(factor * root)
        if root > 0:
            change = factor * away / (2 * (1 + ratio) * root * deviations[k])
            slope += chances[k] * TWO_OVER_ROOT_PI * math.exp(-((factor * root) ** 2)) * change
    return beyond, slope


@compiled_for("f8, f8, Tuple((f8[::1], f8[::1], f8, f8))")
def widening_at(half: float, alpha: float, spread: Spread) -> float:
    """Return the factor by which deviations of replicates are multiplied to hold the level."""
    chances, deviations, freedom, drawn = spread
    return half_width(half, alpha, chances, deviations, freedom) / (half * drawn) if drawn > 0 else 1.0


@compiled_for("f8, f8, f8, Tuple((f8[::1], f8, f8)), Tuple((f8[::1], f8[::1], f8, f8)), UniTuple(f8, 2)")
def half_reaching(  # noqa: PLR0917  compiled functions take no keywords
    ideal: float, estimate: float, half: float, replicates: Replicates, spread: Spread, bounds: Bounds
) -> float:
    """Return the smallest `half`, up to the given one, at which the limits of a number hold an ideal.

    0 where they hold it at any, infinite where they do not even hold it at the given one.
    """
    low, high = 0.0, half
    for step in range(HALVINGS):
        middle = (low + high) / 2 if step else half
        widening = widening_at(middle, math.erfc(middle * SQRT_HALF), spread)
        limits = widened_limits(estimate, limits_of_replicates(replicates, middle), widening, bounds)
        if limits[0] <= ideal <= limits[1]:
            high = middle
        elif not step:
            return math.inf
        else:
            low = middle
    return high if low > 0 else 0.0
