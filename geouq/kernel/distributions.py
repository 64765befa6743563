"""Scores of distributions other than the normal one, each given by its mean and its variance.

A pixel has a PIT, a CRPS, a negative log-likelihood (infinite where the density is 0) and the ends of its central
intervals. exp, log and the normal distribution function are polynomials that stay in registers, so that loops over
pixels use the lanes. What has no closed form is read off tables by cubic interpolation: the location of a truncated
normal distribution, and quantiles in units of the std, which depend on the ratio of mean and std alone. Tests hold the
tables to within 1e-9 of the std.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, entry, inlined_fused
from geouq.core.distribution import FAMILIES, LOWEST_RATIO, Distribution, truncated_moments
from geouq.core.gaussian import INV_SQRT_PI, LOG_2PI, SQRT_HALF, cdf, half_width, quantile
from geouq.kernel.mixture import exp_below_zero, share_beyond
from geouq.kernel.vector_ops import bits_of_double, double_of_bits, polynomial
from geouq.summary.moments import SUMS

Floats = NDArray[np.float64]

LOGNORMAL, TRUNCATED, SQUARED = (FAMILIES.index(name) for name in ("lognormal", "truncated_normal", "squared_normal"))
NLL, CRPS = SUMS.index("nll"), SUMS.index("crps")
PIT, PIT_SQUARE = SUMS.index("pit"), SUMS.index("pit_square")
LARGEST_EXPONENT = 700.0
SMALLEST = 2.0**-1000  # log of less is taken to be log of this
FAR = 40.0  # std; beyond it a normal distribution holds nothing
INV_SQRT_2PI = 1 / math.sqrt(2 * math.pi)
SQRT_2 = math.sqrt(2)
LOG_2_HIGH, LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
MANTISSA, BITS_OF_ONE, BITS_OF_2_52 = (1 << 52) - 1, 1023 << 52, (1023 + 52) << 52
BIAS = 2.0**52 + 1023
log_of_ratio = polynomial([2 / (2 * k + 1) for k in range(10, -1, -1)])  # of s^2: log((1 + s) / (1 - s)) / s

NODES = 1024  # steps of a table
HIGHEST = 8.5  # mean / std before the truncation at 0, from which that changes no digit


class Scoring(NamedTuple):
    """What the kernel needs to score a distribution; L levels.

    family, parameter : as of `Distribution`. first, per_unit : the first place of the table, and its steps in a unit.
    table : float64 (steps + 1, 1 + 2 L, 2), values and slopes by step of: the location in units of the scale, then the
    lower and the upper end of each level, as distance from the mean in std. half_width, penalty : float64 (L), h_p and
    2 / (1 - p).
    """

    family: int
    parameter: float
    first: float
    per_unit: float
    table: Floats
    half_width: Floats
    penalty: Floats


@inlined_fused
def exp_of(x):
    """Return exp(x), which is held between exp(-700) and exp(700)."""
    return exp_below_zero(min(x, LARGEST_EXPONENT))


@inlined_fused
def log_of(x):
    """Return log(x) for x > 0."""
    bits = bits_of_double(max(x, SMALLEST))
    exponent = double_of_bits((bits >> 52) | BITS_OF_2_52) - BIAS
    mantissa = double_of_bits((bits & MANTISSA) | BITS_OF_ONE)
    above = mantissa > SQRT_2
    mantissa = 0.5 * mantissa if above else mantissa
    exponent = exponent + 1.0 if above else exponent
    s = (mantissa - 1.0) / (mantissa + 1.0)
    return exponent * LOG_2_HIGH + (s * log_of_ratio(s * s) + exponent * LOG_2_LOW)


@inlined_fused
def log_of_one_and(x):
    """Return log(1 + x) for x >= 0, with all digits where x is small."""
    total = 1.0 + x
    rest = total - 1.0
    return x if rest == 0 else log_of(total) * (x / rest)


@inlined_fused
def share_below(z):
    """Return the distribution function of the standard normal."""
    beyond = share_beyond(z, exp_below_zero(-0.5 * z * z))
    return beyond if z < 0 else 1.0 - beyond


@inlined_fused
def lognormal(shift, mean, variance, truth):
    """PIT, CRPS and NLL of a log-normal X + shift."""
    m, y = mean + shift, truth + shift
    square = log_of_one_and(variance / (m * m))
    scale, inside = math.sqrt(square), y > 0
    log_truth = log_of(y)
    z = (log_truth - (log_of(m) - 0.5 * square)) / scale
    w = min(max(z, -FAR), FAR)
    pit = share_below(w) if inside else 0.0
    beside = share_below(w - scale) if inside else 0.0
    crps = (y - m) * (2.0 * pit - 1.0) + 2.0 * m * ((pit - beside) - (share_below(scale * SQRT_HALF) - 0.5))
    nll = log_truth + 0.5 * (log_of(square) + LOG_2PI + z * z)
    return pit, crps, nll if inside else np.inf


@inlined_fused
def truncated(ratio, mean, variance, truth):
    """PIT, CRPS and NLL of a normal distribution truncated at 0; ratio : its mean / std before the truncation."""
    bell = exp_below_zero(-0.5 * ratio * ratio)
    share, beyond = share_beyond(ratio, bell), 0.0
    share = share if ratio < 0 else 1.0 - share
    hazard = INV_SQRT_2PI * bell / share
    scale = math.sqrt(variance / (1.0 - hazard * (ratio + hazard)))
    z = max((truth - (mean - scale * hazard)) / scale, -ratio)
    bell_at = exp_below_zero(-0.5 * z * z)
    beyond = share_beyond(z, bell_at)
    beyond = (1.0 - beyond if z < 0 else beyond) / share
    both = share_below(ratio * SQRT_2)
    within = z * (1.0 - 2.0 * beyond) + (2.0 * INV_SQRT_2PI * bell_at - INV_SQRT_PI * both / share) / share
    nll = 0.5 * (z * z + LOG_2PI) + log_of(scale * share)
    pit = min(max(1.0 - beyond, 0.0), 1.0)
    return pit if truth > 0 else 0.0, scale * within + max(-truth, 0.0), nll if truth >= 0 else np.inf


@inlined_fused
def squared_moments(mean, variance):
    """Mean and variance of the normal N of which the square has this mean and variance."""
    away = mean * mean - 0.5 * variance
    square = math.sqrt(max(away, 0.0))
    return math.sqrt(square), 0.5 * variance / (mean + square)


@inlined_fused
def squared(mean, variance, truth):
    """PIT, CRPS and NLL of the square of a normal N."""
    m, v = squared_moments(mean, variance)
    s, y, inside = math.sqrt(v), max(truth, 0.0), truth > 0
    root = math.sqrt(y)
    high, low = (root - m) / s, (-root - m) / s
    bell_high, bell_low = exp_below_zero(-0.5 * high * high), exp_below_zero(-0.5 * low * low)
    share_high, share_low = share_beyond(high, bell_high), share_beyond(low, bell_low)
    share_high = share_high if high < 0 else 1.0 - share_high
    pit = share_high - share_low
    density_high, density_low = INV_SQRT_2PI * bell_high, INV_SQRT_2PI * bell_low
    part = (m * m + v) * pit - v * (high * density_high - low * density_low) - 2 * m * s * (density_high - density_low)
    ratio = m / s
    spread = INV_SQRT_PI * s * (
        2 * m * (1.0 - 2.0 * share_below(-SQRT_2 * ratio)) + 2 * INV_SQRT_PI * s * exp_below_zero(-ratio * ratio)
    )
    crps = mean - truth + 2.0 * (y * pit - part) - spread
    nll = 0.5 * LOG_2PI + log_of(2.0 * root * s) + 0.5 * high * high
    nll -= log_of_one_and(exp_below_zero(-2.0 * root * m / v))
    return pit if inside else 0.0, crps, nll if inside else np.inf


@inlined_fused
def truncated_place(mean, variance):
    """Place in the table of a truncated normal distribution."""
    return log_of(max(mean * mean / variance - 1.0, SMALLEST))


@inlined_fused
def step_of(scoring, place):
    """Step of the table in which a place lies, and how far from its start in steps."""
    away = min(max((place - scoring.first) * scoring.per_unit, 0.0), scoring.table.shape[0] - 1.0)
    step = min(np.int64(away), scoring.table.shape[0] - 2)
    return step, away - step


@inlined_fused
def interpolated(table, step, t, column):
    """Return the cubic with the values and slopes at both ends of a step."""
    low, high = table[step, column, 0], table[step + 1, column, 0]
    at_low, at_high = table[step, column, 1], table[step + 1, column, 1]
    gap = high - low
    return low + t * (at_low + t * ((3.0 * gap - 2.0 * at_low - at_high) + t * (at_low + at_high - 2.0 * gap)))


@inlined_fused
def truncated_ratio(scoring, mean, variance):
    """Mean / std, before the truncation at 0, of the normal distribution of which the rest has these moments."""
    square = mean * mean / variance
    step, t = step_of(scoring, truncated_place(mean, variance))
    found = interpolated(scoring.table, step, t, 0)
    return math.sqrt(square) if square > HIGHEST * HIGHEST else found


@inlined_fused
def scores_of(scoring, mean, variance, truth):
    """PIT, CRPS and NLL of one pixel."""
    if scoring.family == LOGNORMAL:
        return lognormal(scoring.parameter, mean, variance, truth)
    if scoring.family == TRUNCATED:
        return truncated(truncated_ratio(scoring, mean, variance), mean, variance, truth)
    return squared(mean, variance, truth)


@inlined_fused
def place_of(scoring, mean, variance):
    """Place of one pixel in the table."""
    if scoring.family == TRUNCATED:
        return truncated_place(mean, variance)
    if scoring.family == SQUARED:
        m, v = squared_moments(mean, variance)
        s = math.sqrt(v)
        return s / (s + m)
    return 0.0


@inlined_fused
def ends_of(scoring, level, mean, variance):
    """Lower and upper end of the central interval of a level, by its number, of one pixel."""
    if scoring.family == LOGNORMAL:
        m, half = mean + scoring.parameter, scoring.half_width[level]
        square = log_of_one_and(variance / (m * m))
        middle, factor = m * exp_of(-0.5 * square), exp_of(half * math.sqrt(square))
        return middle / factor - scoring.parameter, middle * factor - scoring.parameter
    step, t = step_of(scoring, place_of(scoring, mean, variance))
    std, column = math.sqrt(variance), 1 + 2 * level
    low = mean + std * interpolated(scoring.table, step, t, column)
    return low, mean + std * interpolated(scoring.table, step, t, column + 1)


@entry
def add_distribution(n, scratch, scoring, lattice, cells, cell):
    """Add the scores of the n pixels in the buffers to a cell, and put each pixel in the bucket of its PIT."""
    pit, bucket, weighted = scratch.pit, scratch.bucket, len(scratch.weight) > 0
    sums, last = cells.sums[cell], np.uint32(len(lattice.first) - 1)
    _fill(n, scratch, scoring)
    crps, nll, first, second = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        w, away = scratch.weight[i] if weighted else 1.0, pit[i] - 0.5
        crps += w * scratch.crps[i]
        nll += w * scratch.nll[i]
        first += w * away
        second += w * away * away
        bucket[i] = min(np.uint32(np.int32(pit[i] * lattice.per_unit)), last)
    sums[CRPS] += crps
    sums[NLL] += nll
    sums[PIT] += first
    sums[PIT_SQUARE] += second
    for level in range(len(scoring.half_width)):
        width, missed = 0.0, 0.0
        _fill_ends(n, scratch, scoring, level)
        for i in range(n):
            w, low, high, truth = scratch.weight[i] if weighted else 1.0, scratch.low[i], scratch.high[i], scratch.truth[i]
            width += w * (high - low)
            missed += w * (max(low - truth, 0.0) + max(truth - high, 0.0))
        cells.widths[cell, level] += width
        cells.interval_scores[cell, level] += width + scoring.penalty[level] * missed


@inlined_fused
def _fill(n, scratch, scoring):
    """Fill in PIT, CRPS and NLL of the pixels in the buffers; a loop for each family, which then uses the lanes."""
    mean, variance, truth, pit, crps, nll = (
        scratch.mean, scratch.variance, scratch.truth, scratch.pit, scratch.crps, scratch.nll,
    )  # fmt: skip
    if scoring.family == LOGNORMAL:
        for i in range(n):
            m, v, y = np.float64(mean[i]), np.float64(variance[i]), np.float64(truth[i])
            pit[i], crps[i], nll[i] = lognormal(scoring.parameter, m, v, y)
    elif scoring.family == TRUNCATED:
        for i in range(n):
            m, v, y = np.float64(mean[i]), np.float64(variance[i]), np.float64(truth[i])
            pit[i], crps[i], nll[i] = truncated(truncated_ratio(scoring, m, v), m, v, y)
    else:
        for i in range(n):
            m, v, y = np.float64(mean[i]), np.float64(variance[i]), np.float64(truth[i])
            pit[i], crps[i], nll[i] = squared(m, v, y)


@inlined_fused
def _fill_ends(n, scratch, scoring, level):
    """Fill in the ends of the central interval of a level."""
    for i in range(n):
        scratch.low[i], scratch.high[i] = ends_of(
            scoring, level, np.float64(scratch.mean[i]), np.float64(scratch.variance[i])
        )


@compiled
def pixel_scores(scoring: Scoring, mean: Floats, variance: Floats, truth: Floats) -> tuple[Floats, Floats, Floats]:
    """Return PIT, CRPS and negative log-likelihood of pixels, float64 (pixels) each."""
    pit, crps, nll = np.empty(len(mean)), np.empty(len(mean)), np.empty(len(mean))
    for i in range(len(mean)):
        pit[i], crps[i], nll[i] = scores_of(scoring, mean[i], variance[i], truth[i])
    return pit, crps, nll


@compiled
def pixel_ends(scoring: Scoring, level: int, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return the ends of the central interval of a level, by its number, of pixels, float64 (pixels) each."""
    low, high = np.empty(len(mean)), np.empty(len(mean))
    for i in range(len(mean)):
        low[i], high[i] = ends_of(scoring, level, mean[i], variance[i])
    return low, high


@lru_cache(maxsize=16)
def scoring_of(distribution: Distribution, levels: tuple[float, ...]) -> Scoring | None:
    """Return what the kernel needs to score a distribution at these levels; None for the normal one.

    Of levels of central intervals, between 0 and 1.
    """
    if distribution.is_normal:
        return None
    ends = [p for level in levels for p in (round((1 - level) / 2, 12), round((1 + level) / 2, 12))]
    first, per_unit, columns = _TABLES.get(distribution.family, _no_table)(ends)
    values = np.stack(columns, axis=-1) if columns else np.zeros((2, 1 + len(ends)))
    return Scoring(
        distribution.number,
        distribution.parameter,
        float(first),
        float(per_unit),
        np.stack([values, slopes(values)], axis=-1),
        np.array([half_width(level) for level in levels]),
        np.array([2 / (1 - level) for level in levels]),
    )


Table = tuple[float, float, list[Floats]]


def _no_table(ends: Sequence[float]) -> Table:  # noqa: ARG001  others have some
    return 0.0, 1.0, []


def _truncated_table(ends: Sequence[float]) -> Table:
    """Return the table by log(mean^2 / variance - 1): the ratio before the truncation, and the quantiles."""
    low, high = (float(_truncated_place(np.float64(ratio))) for ratio in (LOWEST_RATIO, HIGHEST))
    places = np.linspace(low, high, NODES + 1)
    below, above = np.full(len(places), LOWEST_RATIO - 1), np.full(len(places), HIGHEST + 1)
    for _ in range(60):
        middle = (below + above) / 2
        is_low = _truncated_place(middle) < places
        below, above = np.where(is_low, middle, below), np.where(is_low, above, middle)
    ratio = (below + above) / 2
    mean, variance = truncated_moments(ratio, np.ones(len(ratio)))
    share, missing, std = cdf(ratio), cdf(-ratio), np.sqrt(variance)
    quantiles = ((ratio + _quantiles(p * share + missing, (1 - p) * share) - mean) / std for p in ends)
    return low, NODES / (high - low), [ratio, *quantiles]


def _truncated_place(ratio: Floats) -> Floats:
    mean, variance = truncated_moments(ratio, np.ones(np.shape(ratio)))
    return np.asarray(np.log((mean * mean - variance) / variance))


def _quantiles(below: Floats, above: Floats) -> Floats:
    """Return the standard normal quantiles with these probabilities below and above, the smaller of which counts."""
    pairs = zip(below.tolist(), above.tolist(), strict=True)
    normal = NormalDist()
    return np.array([normal.inv_cdf(low) if low < high else -normal.inv_cdf(high) for low, high in pairs])


def _squared_table(ends: Sequence[float]) -> Table:
    """Return the table by std / (std + mean) of the normal N of which this is the square: the quantiles."""
    place = np.linspace(0, 1, NODES + 1)
    with np.errstate(divide="ignore"):
        ratio = np.minimum((1 - place) / place, 2.0**60)
    mean, std = ratio**2 + 1, np.sqrt(2 + 4 * ratio**2)
    return 0.0, NODES, [ratio, *((_squared_quantiles(ratio, p, quantile(p)) - mean) / std for p in ends)]


@compiled
def _squared_quantiles(ratio: Floats, probability: float, normal: float) -> Floats:
    """Return the quantiles of the squares of normal distributions of these means and std 1, by bisection.

    normal : the same quantile of the standard normal distribution.
    """
    found = np.empty(len(ratio))
    for i in range(len(ratio)):
        low, high = 0.0, ratio[i] + FAR
        for _ in range(64):
            middle = 0.5 * (low + high)
            is_low = share_below(middle - ratio[i]) - share_below(-middle - ratio[i]) < probability
            low, high = (middle, high) if is_low else (low, middle)
        found[i] = (ratio[i] + normal if ratio[i] > HIGHEST else middle) ** 2
    return found


def slopes(values: Floats) -> Floats:
    """Return the derivatives by the step of rows, (steps + 1, columns), by differences of the fourth order."""
    if len(values) < 5:
        return np.zeros(values.shape)
    found = np.empty(values.shape)
    found[2:-2] = (values[:-4] - 8 * values[1:-3] + 8 * values[3:-1] - values[4:]) / 12
    at_end, beside = np.array([-25, 48, -36, 16, -3]) / 12, np.array([-3, -10, 18, -6, 1]) / 12
    found[0], found[1] = at_end @ values[:5], beside @ values[:5]
    found[-1], found[-2] = -at_end @ values[:-6:-1], -beside @ values[:-6:-1]
    return found


_TABLES = {"truncated_normal": _truncated_table, "squared_normal": _squared_table}
