"""Compiled functions for the limits of a number at any level, and for its p-value.

The functions share these arguments:

- `half` gives the level: half the width of the central interval of the standard normal distribution.
- `alpha` is 1 minus the level.
- `replicates` holds the sorted, finite replicates, float64 (R), their bias and their acceleration. Bias and
  acceleration are 0 for percentile limits.
- `spread` describes the deviation of the number as a mixture of Student's distributions: probabilities and standard
  deviations, float64 (models), and degrees of freedom. Its last item is the standard deviation of the replicates.
- `bounds` are the lowest and the highest possible value of the number.
"""

import math

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, compiled_for
from geouq.core.gaussian import SQRT_HALF

Floats = NDArray[np.float64]
ReplicateParts = tuple[Floats, float, float]
Spread = tuple[Floats, Floats, float, float]
Bounds = tuple[float, float]

STEPS = 60  # most steps of Newton's method, which usually needs five
ENOUGH = 1e-14  # relative error of a half width
HALVINGS = 30
WIDEST = 64.0  # standard deviations
LARGEST_EXPONENT = math.log(np.finfo(np.float64).max)
TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


@compiled
def quantile_of(replicates: Floats, probability: float) -> float:
    """Return a quantile of sorted replicates, bit by bit as `numpy.quantile`, which sorts them each time."""
    last = len(replicates) - 1
    place = probability * last
    before = min(max(math.floor(place), 0), last)
    low, high = replicates[before], replicates[min(before + 1, last)]
    share, step = place - before, high - low
    return high - step * (1 - share) if share >= 0.5 else low + step * share  # as numpy rounds


@compiled_for("Tuple((f8[::1], f8, f8)), f8")
def limits_of_replicates(replicates: ReplicateParts, half: float) -> tuple[float, float]:
    """Return the bias-corrected and accelerated limits, not yet widened."""
    ordered, bias, acceleration = replicates
    low = _probability(bias - half, bias, acceleration)
    high = _probability(bias + half, bias, acceleration)
    return quantile_of(ordered, low), quantile_of(ordered, high)


@compiled
def _probability(z: float, bias: float, acceleration: float) -> float:
    """Return the corrected probability of a limit that is z standard deviations from the mean."""
    moved = bias + z / max(1 - acceleration * z, 0.1)
    return 0.5 * math.erfc(-moved * SQRT_HALF)


@compiled_for("f8, UniTuple(f8, 2), f8, UniTuple(f8, 2)")
def widened_limits(
    estimate: float, limits: tuple[float, float], widening: float, bounds: Bounds
) -> tuple[float, float]:
    """Return limits farther from the estimate by a factor, on a scale without bounds."""
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
    """Return x on a scale without bounds: a logarithm for one bound, a logit for two."""
    if math.isinf(lowest) and math.isinf(highest):
        return x
    below = 0.0 if math.isinf(lowest) else math.log(x - lowest)
    return below - (0.0 if math.isinf(highest) else math.log(highest - x))


@compiled
def _bounded(x: float, lowest: float, highest: float) -> float:
    """Return the inverse of `_unbounded`."""
    if math.isinf(lowest):
        return x if math.isinf(highest) else highest - _exp(-x)
    return lowest + _exp(x) if math.isinf(highest) else lowest + (highest - lowest) / (1 + _exp(-x))


@compiled
def _exp(x: float) -> float:
    """Return e^x; infinity where that overflows."""
    return math.exp(x) if x < LARGEST_EXPONENT else math.inf


@compiled
def half_width_of_mixture(half: float, alpha: float, chances: Floats, deviations: Floats, freedom: float) -> float:
    """Return half the width of the central interval of a mixture of Student's distributions.

    Each model alone has a half width in closed form. The mixture lies between the smallest and the largest of them.
    Newton's method finds it on the logarithm of the tail. The tails of Student's distribution are approximations by
    Wallace 1959, The Annals of Mathematical Statistics 30, 1124.
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
    """Return the probability of a deviation larger than `at`, and minus the derivative of this probability."""
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
    """Return the factor that widens the deviations of replicates so that the limits hold the level."""
    chances, deviations, freedom, drawn = spread
    return half_width_of_mixture(half, alpha, chances, deviations, freedom) / (half * drawn) if drawn > 0 else 1.0


@compiled_for("f8, f8, f8, Tuple((f8[::1], f8, f8)), Tuple((f8[::1], f8[::1], f8, f8)), UniTuple(f8, 2)")
def half_reaching(  # noqa: PLR0917  compiled functions take no keywords
    ideal: float, estimate: float, largest: float, replicates: ReplicateParts, spread: Spread, bounds: Bounds
) -> float:
    """Return the smallest `half` whose limits contain an ideal; infinity if the limits of `largest` do not."""
    if not _contain(ideal, estimate, largest, replicates, spread, bounds):
        return math.inf
    low, high = 0.0, largest
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _contain(ideal, estimate, middle, replicates, spread, bounds):
            high = middle
        else:
            low = middle
    return high if low > 0 else 0.0


@compiled
def _contain(  # noqa: PLR0917  compiled functions take no keywords
    ideal: float, estimate: float, half: float, replicates: ReplicateParts, spread: Spread, bounds: Bounds
) -> bool:
    """Return whether the limits of a number contain an ideal."""
    widening = widening_at(half, math.erfc(half * SQRT_HALF), spread)
    low, high = widened_limits(estimate, limits_of_replicates(replicates, half), widening, bounds)
    return low <= ideal <= high
