"""Scores of distributions other than the normal one, from their mean and variance.

A pixel has a PIT, a CRPS, a negative log-likelihood (infinite where the density is 0) and the ends of its central
intervals. exp, log and the normal distribution function are polynomials in registers, so that loops over pixels use
vector instructions. Functions without a closed form are read from tables by cubic interpolation. The tables have the
location of a truncated normal distribution, and quantiles in units of the std, which depend only on mean / std. Tests
check that the tables are accurate to 1e-9 of the std.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, entry_optimized, inlined, inlined_fused, inlined_reordered
from geouq.core.distribution import FAMILIES, LOWEST_RATIO, Distribution, truncated_moments
from geouq.core.gaussian import INV_SQRT_PI, LOG_2PI, cdf, half_width, quantile
from geouq.kernel.mixture import exp_below_zero, share_beyond, shares_beyond
from geouq.kernel.vector_ops import LANES, add_intervals, bits_of_double, double_of_bits, polynomial
from geouq.summary.moments import SUMS

Floats = NDArray[np.float64]

LOGNORMAL, TRUNCATED, SQUARED, GAMMA, STUDENT = (
    FAMILIES.index(name) for name in ("lognormal", "truncated_normal", "squared_normal", "gamma", "student_t")
)
NLL, CRPS = SUMS.index("nll"), SUMS.index("crps")
PIT, PIT_SQUARE = SUMS.index("pit"), SUMS.index("pit_square")
LARGEST_EXPONENT = 700.0
SMALLEST = 2.0**-1000  # the log of a smaller number is the log of this one
TINY = 1e-250  # density below which corrections have no effect
FAR = 40.0  # std; the probability of a normal distribution beyond it is 0
INV_SQRT_2PI = 1 / math.sqrt(2 * math.pi)
SQRT_2 = math.sqrt(2)
LOG_2, MOST_FACTORS = math.log(2), 512  # of a product that cannot overflow
LOG_2_HIGH, LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
MANTISSA, BITS_OF_ONE, BITS_OF_2_52 = (1 << 52) - 1, 1023 << 52, (1023 + 52) << 52
BIAS = 2.0**52 + 1023
log_of_ratio = polynomial([2 / (2 * k + 1) for k in range(10, -1, -1)])  # of s^2: log((1 + s) / (1 - s)) / s

NODES = 1024  # steps of a table
SHIFT = 20  # added to the shape of a gamma distribution, so that expansions in its inverse hold
# of the incomplete gamma function: coefficients of eta^m in c_n(eta), Temme 1979, highest power first
TEMME = tuple(
    polynomial(coefficients)
    for coefficients in (
        (
            *(9.1476995822367902e-10, -4.3820360184533532e-9, 1.0261809784240308e-8, 6.7078535434014986e-9),
            *(-1.7665952736826079e-7, 8.296711340953086e-7, -1.85406221071516e-6, -2.1854485106799922e-6),
            *(3.9192631785224378e-5, -1.7875514403292181e-4, 3.527336860670194e-4, 1.1574074074074074e-3),
            *(-1.4814814814814815e-2, 8.3333333333333333e-2, -3.3333333333333333e-1),
        ),
        (
            *(1.378633446915721e-7, 4.6471278028074343e-9, -1.6120900894563446e-6, 7.6491609160811101e-6),
            *(-1.8098550334489978e-5, -4.0187757201646091e-7, 2.0576131687242798e-4, -9.9022633744855967e-4),
            *(2.6455026455026455e-3, -3.4722222222222222e-3, -1.8518518518518519e-3),
        ),
        (
            *(1.3721957309062933e-6, 3.4235787340961381e-8, -1.2760635188618728e-5, 5.2923448829120125e-5),
            *(-1.0736653226365161e-4, 2.0093878600823045e-6, 7.7160493827160494e-4, -2.6813271604938272e-3),
            4.1335978835978836e-3,
        ),
        (
            *(1.1082654115347302e-5, -2.3965051138672967e-7, -7.5618016718839764e-5, 2.6772063206283885e-4),
            *(-4.6918949439525571e-4, 2.2947209362139918e-4, 6.4943415637860082e-4),
        ),
        (
            6.6414982154651222e-5,
            -1.4638452578843418e-6,
            -2.9907248030319018e-4,
            7.8403922172006663e-4,
            -8.618882909167117e-4,
        ),
        (-1.9932570516188848e-4, 2.7727532449593921e-4, -6.9728137583658578e-5, -3.3679855336635815e-4),
    )
)
TEMME_0, TEMME_1, TEMME_2, TEMME_3, TEMME_4, TEMME_5 = TEMME
# Gamma(k + 1/2) / Gamma(k) / sqrt(k) in powers of 1 / k; log Gamma(k) minus Stirling's formula in powers of 1 / k^2
half_ratio = polynomial((869 / 4194304, -399 / 262144, -21 / 32768, 5 / 1024, 1 / 128, -1 / 8, 1.0))
beyond_stirling = polynomial((-1 / 1680, 1 / 1260, -1 / 360, 1 / 12))
NARROW = 2.25  # largest squared std of the logarithm, of a std 2.9 times the mean, up to which the next series is used
half_erf = polynomial(
    [  # of (s / 2)^2: erf(s / 2) / (2 s)
        (-1) ** k / (math.factorial(k) * (2 * k + 1) * 2 * math.sqrt(math.pi)) for k in range(13, -1, -1)
    ]
)
away_from_one = polynomial([1 / (2 * k + 3) for k in range(14, -1, -1)])  # of s^2, as `log_of_ratio`
MOST_SHAPE = 1e12  # of a gamma distribution; a std below mean / 1e6 counts as mean / 1e6
STEPS, REACH = 4096, 10.0  # of the table of Student's t, by asinh(|z|)

HIGHEST = 8.5  # mean / std before the truncation at 0; from here the truncation changes no digit


class Scoring(NamedTuple):
    """Constants and tables that score a distribution; L levels.

    family, parameter : as in `Distribution`. first, per_unit : first place of the tables, and steps per unit.
    table : float64 (steps + 1, 2), value and slope of one function of the family at each step.
    ends : float64 (steps, 4, 2 M), the ends of the intervals as distance from the mean in std: coefficients of the
    powers of the place within a step, of the lower ends of M levels, then of the upper ones. M is L, rounded up to
    lanes. Of Student's t there is one step. half_width, penalty : float64 (L), h_p and 2 / (1 - p). constants : for
    Student's t of std 1: density at 0, half the mean difference, log of the density at 0.
    """

    family: int
    parameter: float
    first: float
    per_unit: float
    table: Floats
    ends: Floats
    half_width: Floats
    penalty: Floats
    constants: Floats


@inlined_fused
def exp_of(x):
    """Return exp(x), limited to the range from exp(-700) to exp(700)."""
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
    """Return log(1 + x) for x >= 0, with all digits where x is small.

    As `log_of` of 1 + x. Where that is below sqrt(2), its mantissa less 1 is x itself, without the rounding of the sum.
    """
    bits = bits_of_double(1.0 + x)
    exponent = double_of_bits((bits >> 52) | BITS_OF_2_52) - BIAS
    mantissa = double_of_bits((bits & MANTISSA) | BITS_OF_ONE)
    above = mantissa > SQRT_2
    mantissa = 0.5 * mantissa if above else mantissa
    exponent = exponent + 1.0 if above else exponent
    rest = x if exponent == 0 else mantissa - 1.0
    s = rest / (2.0 + rest)
    return exponent * LOG_2_HIGH + (s * log_of_ratio(s * s) + exponent * LOG_2_LOW)


@inlined_fused
def share_below(z):
    """Return the distribution function of the standard normal."""
    beyond = share_beyond(z, exp_below_zero(-0.5 * z * z))
    return beyond if z < 0 else 1.0 - beyond


@inlined_fused
def lognormal(shift, mean, variance, truth):
    """Return PIT, CRPS and NLL of a log-normal X + shift, its median, and the std of its logarithm.

    The NLL lacks the logarithm of a factor, which comes fourth. For the std s of the logarithm,
    exp(s^2 / 2) = sqrt(1 + variance / mean^2), which avoids exponentials. The CRPS holds where s^2 is at most `NARROW`;
    `beyond_narrow` gives what it lacks elsewhere.
    """
    m, y = mean + shift, truth + shift
    inverse, inside = 1.0 / m, y > 0
    relative = variance * inverse * inverse
    square = log_of_one_and(relative)
    scale = math.sqrt(square)
    y = y if inside else m
    ratio = y * inverse
    z = (log_of(ratio) + 0.5 * square) / scale
    w = min(max(z, -FAR), FAR)
    bell, away = exp_below_zero(-0.5 * w * w), w - scale
    pit, beside = shares_beyond(w, bell, away, min(bell * ratio, 1.0))
    pit, beside = pit if w < 0 else 1.0 - pit, beside if away < 0 else 1.0 - beside
    pit, beside = pit if inside else 0.0, beside if inside else 0.0
    half = scale * half_erf(0.25 * min(square, NARROW))
    crps = (truth - mean) * (2.0 * pit - 1.0) + 2.0 * m * ((pit - beside) - half)
    nll = 0.5 * (LOG_2PI + z * z)
    return pit, crps, nll if inside else np.inf, y * scale, m / math.sqrt(1.0 + relative), scale


@inlined_fused
def beyond_narrow(shift, mean, scale):
    """Return what the CRPS of `lognormal` lacks where the std of the logarithm is too large for its series, else 0."""
    x, square = 0.5 * scale, scale * scale
    away = 0.5 - share_beyond(SQRT_2 * x, exp_of(-x * x)) - scale * half_erf(0.25 * NARROW)
    return -2.0 * (mean + shift) * away if square > NARROW else 0.0


@inlined_fused
def truncated(ratio, mean, variance, truth):
    """Return PIT, CRPS and NLL of a normal distribution truncated at 0; ratio : mean / std before the truncation.

    The NLL lacks the logarithm of a factor, which comes fourth.
    """
    bell = exp_below_zero(-0.5 * ratio * ratio)
    share, both = shares_beyond(ratio, bell, ratio * SQRT_2, bell * bell)
    share, both = share if ratio < 0 else 1.0 - share, both if ratio < 0 else 1.0 - both
    inverse = 1.0 / share
    hazard = INV_SQRT_2PI * bell * inverse
    scale = math.sqrt(variance / (1.0 - hazard * (ratio + hazard)))
    z = max((truth - mean) / scale + hazard, -ratio)
    bell_at = exp_below_zero(-0.5 * z * z)
    beyond = share_beyond(z, bell_at)
    beyond = (1.0 - beyond if z < 0 else beyond) * inverse
    within = z * (1.0 - 2.0 * beyond) + (2.0 * INV_SQRT_2PI * bell_at - INV_SQRT_PI * both * inverse) * inverse
    nll = 0.5 * (z * z + LOG_2PI)
    pit = min(max(1.0 - beyond, 0.0), 1.0)
    return pit if truth > 0 else 0.0, scale * within + max(-truth, 0.0), nll if truth >= 0 else np.inf, scale * share


@inlined_fused
def squared_moments(mean, variance):
    """Return the mean and variance of the normal N whose square has this mean and variance."""
    away = mean * mean - 0.5 * variance
    square = math.sqrt(max(away, 0.0))
    return math.sqrt(square), 0.5 * variance / (mean + square)


@inlined_fused
def squared(mean, variance, truth):
    """Return PIT, CRPS and NLL of the square of a normal N."""
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
    spread = (
        INV_SQRT_PI
        * s
        * (2 * m * (1.0 - 2.0 * share_below(-SQRT_2 * ratio)) + 2 * INV_SQRT_PI * s * exp_below_zero(-ratio * ratio))
    )
    crps = mean - truth + 2.0 * (y * pit - part) - spread
    nll = 0.5 * LOG_2PI + log_of(2.0 * root * s) + 0.5 * high * high
    nll -= log_of_one_and(exp_below_zero(-2.0 * root * m / v))
    return pit if inside else 0.0, crps, nll if inside else np.inf


@inlined_fused
def beyond_one(ratio):
    """Return ratio - 1 - log(ratio), with all digits where the ratio is near 1."""
    away = ratio - 1.0
    s = away / (2.0 + away)
    near, far = s * (away - 2.0 * s * s * away_from_one(s * s)), away - log_of(ratio)
    return near if abs(away) < 0.5 else far


@inlined_fused
def gamma_share(shape, x):
    """Return the gamma distribution function (scale 1) at x > 0, and x^shape exp(-x) / Gamma(shape + 1).

    Temme's uniform expansion gives the function for shape + 20; the difference is a finite sum. The logarithm of the
    second number comes third; it is exact also where the number underflows.
    """
    raised, product, total = shape + SHIFT, 1.0, 1.0
    for j in range(SHIFT, 0, -1):
        product *= shape + j
        if j < SHIFT:
            total = 1.0 + total * (x / (shape + j))
    inverse = 1.0 / raised
    away = beyond_one(x * inverse)
    eta = math.sqrt(2.0 * away)
    eta = eta if x > raised else -eta
    bell = exp_of(-raised * away)
    series = TEMME_0(eta) + inverse * (
        TEMME_1(eta)
        + inverse * (TEMME_2(eta) + inverse * (TEMME_3(eta) + inverse * (TEMME_4(eta) + inverse * TEMME_5(eta))))
    )
    z, root = eta * math.sqrt(raised), INV_SQRT_2PI * math.sqrt(inverse)
    beyond = share_beyond(z, bell)
    share = (beyond if z < 0 else 1.0 - beyond) - bell * root * (series if bell > TINY else 0.0)
    stirling = inverse * beyond_stirling(inverse * inverse)
    log_term = log_of(root * product) - raised * away - SHIFT * log_of(x) - stirling
    term = exp_of(log_term)
    return min(max(share, 0.0) + term * total, 1.0), term, log_term


@inlined_fused
def gamma(mean, variance, truth):
    """Return PIT, CRPS and NLL of a gamma distribution."""
    shape = min(mean * mean / variance, MOST_SHAPE)
    scale, inside = mean / shape, truth > 0
    x = max(truth / scale, SMALLEST)
    share, term, log_term = gamma_share(shape, x)
    above, below = 1.0, 1.0
    for j in range(SHIFT):
        above *= shape + j
        below *= shape + (j + 0.5)
    raised = shape + SHIFT
    spread = scale * INV_SQRT_PI * math.sqrt(raised) * half_ratio(1.0 / raised) * (above / below)
    pit, term = share if inside else 0.0, term if inside else 0.0
    crps = (truth - mean) * (2.0 * pit - 1.0) + 2.0 * mean * term - spread
    nll = log_of(x * scale) - log_term - log_of(shape)
    return pit, crps, nll if inside else np.inf


@inlined_fused
def student_place(mean, variance, truth):
    """Return the place in the table of Student's t, asinh(|z|)."""
    size = abs(truth - mean) / math.sqrt(variance)
    return log_of(size + math.sqrt(1.0 + size * size))


@inlined_fused
def student(scoring, beyond, mean, variance, truth):
    """Return PIT, CRPS and NLL of Student's t; beyond : its probability beyond |z|."""
    degrees, std = scoring.parameter, math.sqrt(variance)
    z = (truth - mean) / std
    size = abs(z)
    square = z * z / (degrees - 2.0)
    falling = log_of_one_and(square)
    density = scoring.constants[0] * exp_of(-0.5 * (degrees + 1.0) * falling)
    away = 2.0 * density * (degrees - 2.0) * (1.0 + square) / (degrees - 1.0)
    crps = std * (size * (1.0 - 2.0 * beyond) + away - scoring.constants[1])
    nll = 0.5 * (log_of(variance) + (degrees + 1.0) * falling) - scoring.constants[2]
    return beyond if z < 0 else 1.0 - beyond, crps, nll


@inlined_fused
def truncated_place(mean, variance):
    """Return the place in the table of a truncated normal distribution."""
    return log_of(max(mean * mean / variance - 1.0, SMALLEST))


@inlined_fused
def step_of(scoring, place):
    """Return the step of the table that contains a place, and the distance from its start in steps."""
    away = min(max((place - scoring.first) * scoring.per_unit, 0.0), scoring.table.shape[0] - 1.0)
    step = min(np.int32(away), np.int32(scoring.table.shape[0] - 2))
    return step, away - step


@inlined_fused
def interpolated(table, step, t):
    """Return the cubic with the values and slopes at both ends of a step."""
    low, high = table[step, 0], table[step + 1, 0]
    at_low, at_high = table[step, 1], table[step + 1, 1]
    gap = high - low
    return low + t * (at_low + t * ((3.0 * gap - 2.0 * at_low - at_high) + t * (at_low + at_high - 2.0 * gap)))


@inlined_fused
def truncated_ratio(scoring, mean, variance):
    """Return mean / std before the truncation at 0, from the moments after the truncation."""
    found, far = looked_up(scoring, truncated_place(mean, variance)), mean / math.sqrt(variance)
    return far if far > HIGHEST else found


@inlined_fused
def looked_up(scoring, place):
    """Return the value of the first column of the table at a place."""
    step, t = step_of(scoring, place)
    return interpolated(scoring.table, step, t)


@inlined_fused
def scores_of(scoring, mean, variance, truth):
    """Return PIT, CRPS and NLL of one pixel."""
    if scoring.family == LOGNORMAL:
        pit, crps, nll, factor, _, scale = lognormal(scoring.parameter, mean, variance, truth)
        return pit, crps + beyond_narrow(scoring.parameter, mean, scale), nll + log_of(factor)
    if scoring.family == TRUNCATED:
        pit, crps, nll, factor = truncated(truncated_ratio(scoring, mean, variance), mean, variance, truth)
        return pit, crps, nll + log_of(factor)
    if scoring.family == GAMMA:
        return gamma(mean, variance, truth)
    if scoring.family == STUDENT:
        beyond = looked_up(scoring, student_place(mean, variance, truth))
        return student(scoring, beyond, mean, variance, truth)
    return squared(mean, variance, truth)


@inlined_fused
def place_of(scoring, mean, variance):
    """Return the place of one pixel in the table."""
    if scoring.family == TRUNCATED:
        return truncated_place(mean, variance)
    if scoring.family == SQUARED:
        m, v = squared_moments(mean, variance)
        s = math.sqrt(v)
        return s / (s + m)
    if scoring.family == GAMMA:
        std = math.sqrt(variance)
        return std / (std + mean)
    return 0.0


@inlined_fused
def ends_of(scoring, level, mean, variance):
    """Return the lower and upper end of the central interval of one pixel; level : number of the level."""
    if scoring.family == LOGNORMAL:
        _, _, _, _, median, scale = lognormal(scoring.parameter, mean, variance, mean)
        factor = exp_of(scoring.half_width[level] * scale)
        return median / factor - scoring.parameter, median * factor - scoring.parameter
    step, t = step_of(scoring, place_of(scoring, mean, variance))
    step, std = min(step, scoring.ends.shape[0] - 1), math.sqrt(variance)
    low = mean + std * _end(scoring.ends, step, t, level)
    return low, mean + std * _end(scoring.ends, step, t, scoring.ends.shape[2] // 2 + level)


@inlined_fused
def _end(ends, step, t, column):
    """Return an end of an interval, as distance from the mean in std."""
    return ends[step, 0, column] + t * (ends[step, 1, column] + t * (ends[step, 2, column] + t * ends[step, 3, column]))


@entry_optimized
def add_distribution(n, scratch, scoring, lattice, cells, cell):
    """Add the scores of the n pixels in the buffers to a cell, and put each pixel in the bucket of its PIT."""
    pit, bucket, sums = scratch.pit, scratch.bucket, cells.sums[cell]
    last = np.int32(len(lattice.first) - 1)
    _fill_places(n, scratch, scoring)
    _fill(n, scratch, scoring)
    for i in range(n):
        bucket[i] = min(np.int32(pit[i] * lattice.per_unit), last)
    crps, nll, first, second = _sums_of_scores(n, scratch)
    sums[CRPS] += crps
    sums[NLL] += nll + (_sum_of_logs(n, scratch) if scoring.family in (LOGNORMAL, TRUNCATED) else 0.0)
    sums[PIT] += first
    sums[PIT_SQUARE] += second
    if scoring.family == LOGNORMAL:
        for level in range(len(scoring.half_width)):
            width, missed = _sums_of_lognormal_ends(n, scratch, scoring, level)
            _add_interval(scoring, level, width, missed, cells, cell)
    else:
        for level in range(0, len(scoring.half_width), LANES):
            _add_four_intervals(n, level, scratch, scoring, cells, cell)


@inlined
def _add_interval(scoring, level, width, missed, cells, cell):
    """Add the width of the intervals of a level, and the distance of the truth outside them."""
    if level < len(scoring.half_width):
        cells.widths[cell, level] += width
        cells.interval_scores[cell, level] += width + scoring.penalty[level] * missed


@inlined
def _add_four_intervals(n, level, scratch, scoring, cells, cell):
    """Add the intervals of four levels, whose ends of a pixel stand side by side and are computed in vector lanes."""
    ends, sums, weighted = scoring.ends, scratch.intervals, len(scratch.weight) > 0
    last, place, within = np.uint32(ends.shape[0] - 1), scratch.place, scratch.within
    sums[:] = 0.0
    for i in range(n):
        weight, row = scratch.weight[i] if weighted else 1.0, i % LANES  # sums in turns need not wait for each other
        add_intervals(ends, min(place[i], last), level, within[i], scratch.std[i], -scratch.error[i], weight, sums, row)
    for k in range(LANES):
        width, missed = 0.0, 0.0
        for row in range(LANES):
            width, missed = width + sums[row, k], missed + sums[row, LANES + k]
        _add_interval(scoring, level + k, width, missed, cells, cell)


@inlined_reordered
def _sums_of_scores(n, scratch):
    """Return weighted sums of CRPS, NLL, PIT - 1/2 and (PIT - 1/2)^2."""
    crps, nll, first, second, weighted = 0.0, 0.0, 0.0, 0.0, len(scratch.weight) > 0
    for i in range(n):
        w, away = scratch.weight[i] if weighted else 1.0, scratch.pit[i] - 0.5
        crps += w * scratch.crps[i]
        nll += w * scratch.nll[i]
        first += w * away
        second += w * away * away
    return crps, nll, first, second


@inlined_reordered
def _sum_of_logs(n, scratch):
    """Return the weighted sum of the logarithms of the factors, which the NLL of a pixel lacks.

    Without weights it follows from exponents and from products of mantissas in [1, 2).
    """
    total, exponents, factor = 0.0, 0.0, scratch.high
    if len(scratch.weight) > 0:
        for i in range(n):
            total += scratch.weight[i] * log_of(factor[i])
        return total
    for start in range(0, n, MOST_FACTORS):
        product = 1.0
        for i in range(start, min(start + MOST_FACTORS, n)):
            bits = bits_of_double(max(factor[i], SMALLEST))
            exponents += double_of_bits((bits >> 52) | BITS_OF_2_52) - BIAS
            product *= double_of_bits((bits & MANTISSA) | BITS_OF_ONE)
        total += math.log(product)
    return total + exponents * LOG_2


@inlined_reordered
def _sums_of_lognormal_ends(n, scratch, scoring, level):
    """Return weighted sums of the width of an interval, and of the distance of the truth outside it."""
    width, missed, weighted = 0.0, 0.0, len(scratch.weight) > 0
    shift, half, median, scale = scoring.parameter, scoring.half_width[level], scratch.within, scratch.scale
    for i in range(n):
        w, factor = scratch.weight[i] if weighted else 1.0, exp_of(half * scale[i])
        low, high, truth = median[i] / factor, median[i] * factor, np.float64(scratch.truth[i]) + shift
        width += w * (high - low)
        missed += w * (max(low - truth, 0.0) + max(truth - high, 0.0))
    return width, missed


@inlined_fused
def _fill_places(n, scratch, scoring):
    """Fill in the place of each pixel in the table, and the first column at this place, for `_fill`.

    Each loop does one thing, because loops with look-ups do not use vector instructions.
    """
    mean, variance, truth, place = scratch.mean, scratch.variance, scratch.truth, scratch.high
    if scoring.family == LOGNORMAL:
        return
    for i in range(n):
        m, v = np.float64(mean[i]), np.float64(variance[i])
        if scoring.family == STUDENT:
            place[i] = student_place(m, v, np.float64(truth[i]))
        else:
            place[i] = place_of(scoring, m, v)
    for i in range(n):
        scratch.place[i], scratch.within[i] = step_of(scoring, place[i])
    for i in range(n):
        scratch.low[i] = interpolated(scoring.table, scratch.place[i], scratch.within[i])


@inlined
def _fill(n, scratch, scoring):
    """Fill in PIT, CRPS and NLL of the pixels; each family has its own loop, which uses vector instructions."""
    if scoring.family == LOGNORMAL:
        _fill_lognormal(n, scratch, scoring)
    elif scoring.family == TRUNCATED:
        _fill_truncated(n, scratch)
    elif scoring.family == GAMMA:
        _fill_gamma(n, scratch)
    elif scoring.family == STUDENT:
        _fill_student(n, scratch, scoring)
    else:
        _fill_squared(n, scratch)


@inlined_fused
def _fill_lognormal(n, scratch, scoring):
    for i in range(n):
        scratch.pit[i], scratch.crps[i], scratch.nll[i], scratch.high[i], scratch.within[i], scratch.scale[i] = (
            lognormal(scoring.parameter, *_moments(scratch, i))
        )
    wide = 0
    for i in range(n):
        wide += 1 if scratch.scale[i] * scratch.scale[i] > NARROW else 0
    if wide:
        for i in range(n):
            scratch.crps[i] += beyond_narrow(scoring.parameter, np.float64(scratch.mean[i]), scratch.scale[i])


@inlined_fused
def _fill_truncated(n, scratch):
    for i in range(n):
        m, v, y = _moments(scratch, i)
        far = m / scratch.std[i]
        ratio = far if far > HIGHEST else scratch.low[i]
        scratch.pit[i], scratch.crps[i], scratch.nll[i], scratch.high[i] = truncated(ratio, m, v, y)


@inlined_fused
def _fill_gamma(n, scratch):
    for i in range(n):
        scratch.pit[i], scratch.crps[i], scratch.nll[i] = gamma(*_moments(scratch, i))


@inlined_fused
def _fill_student(n, scratch, scoring):
    for i in range(n):
        m, v, y = _moments(scratch, i)
        scratch.pit[i], scratch.crps[i], scratch.nll[i] = student(scoring, scratch.low[i], m, v, y)


@inlined_fused
def _fill_squared(n, scratch):
    for i in range(n):
        scratch.pit[i], scratch.crps[i], scratch.nll[i] = squared(*_moments(scratch, i))


@inlined
def _moments(scratch, i):
    """Return the mean, variance and truth of a pixel."""
    return np.float64(scratch.mean[i]), np.float64(scratch.variance[i]), np.float64(scratch.truth[i])


@compiled
def pixel_scores(scoring: Scoring, mean: Floats, variance: Floats, truth: Floats) -> tuple[Floats, Floats, Floats]:
    """Return PIT, CRPS and negative log-likelihood of pixels, float64 (pixels) each."""
    pit, crps, nll = np.empty(len(mean)), np.empty(len(mean)), np.empty(len(mean))
    for i in range(len(mean)):
        pit[i], crps[i], nll[i] = scores_of(scoring, mean[i], variance[i], truth[i])
    return pit, crps, nll


@compiled
def pixel_ends(scoring: Scoring, level: int, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return the ends of the central interval of pixels, float64 (pixels) each; level : number of the level."""
    low, high = np.empty(len(mean)), np.empty(len(mean))
    for i in range(len(mean)):
        low[i], high[i] = ends_of(scoring, level, mean[i], variance[i])
    return low, high


@lru_cache(maxsize=16)
def scoring_of(distribution: Distribution, levels: tuple[float, ...]) -> Scoring | None:
    """Return the constants and tables that score a distribution; None for the normal distribution.

    levels : of central intervals, between 0 and 1.
    """
    if distribution.is_normal:
        return None
    ends = [p for level in levels for p in (round((1 - level) / 2, 12), round((1 + level) / 2, 12))]
    first, per_unit, (own, *columns) = _TABLES[distribution.family](ends, distribution.parameter)
    return Scoring(
        distribution.number,
        distribution.parameter,
        float(first),
        float(per_unit),
        np.stack([own, slopes(own[:, np.newaxis])[:, 0]], axis=-1),
        _cubics(np.stack(columns, axis=-1) if columns else np.empty((2, 0))),
        np.array([half_width(level) for level in levels]),
        np.array([2 / (1 - level) for level in levels]),
        _constants(distribution.parameter) if distribution.family == "student_t" else np.zeros(3),
    )


def _cubics(values: Floats) -> Floats:
    """Return the cubics between values (steps + 1, 2 L), lower and upper end in turn, as `Scoring.ends` has them."""
    at = slopes(values)
    gap = values[1:] - values[:-1]
    powers = values[:-1], at[:-1], 3 * gap - 2 * at[:-1] - at[1:], at[:-1] + at[1:] - 2 * gap
    levels = values.shape[1] // 2
    found = np.zeros((len(gap), 4, 2, levels + -levels % LANES))
    found[..., :levels] = np.moveaxis(np.stack(powers, axis=1).reshape(len(gap), 4, levels, 2), -1, -2)
    return found.reshape(len(gap), 4, -1)


Table = tuple[float, float, list[Floats]]


def _no_table(ends: Sequence[float], parameter: float) -> Table:  # noqa: ARG001  others have one
    return 0.0, 1.0, [np.zeros(2)] * (1 + len(ends))


def _truncated_table(ends: Sequence[float], parameter: float) -> Table:  # noqa: ARG001  others have one
    """Return the table by log(mean^2 / variance - 1): the ratio before the truncation, and the quantiles."""
    low, high = _truncated_place(np.array([LOWEST_RATIO, HIGHEST])).tolist()
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
    """Return standard normal quantiles from the probability below or above, whichever is smaller."""
    pairs = zip(below.tolist(), above.tolist(), strict=True)
    normal = NormalDist()
    return np.array([normal.inv_cdf(low) if low < high else -normal.inv_cdf(high) for low, high in pairs])


def _squared_table(ends: Sequence[float], parameter: float) -> Table:  # noqa: ARG001  others have one
    """Return the table by std / (std + mean) of the normal N whose square this is: the quantiles."""
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


def _gamma_table(ends: Sequence[float], parameter: float) -> Table:  # noqa: ARG001  others have one
    """Return the table by std / (std + mean): the quantiles."""
    place = np.linspace(0, 1, NODES + 1)
    share = place[1:-1] / (1 - place[1:-1])
    shape = share**-2
    columns = [np.zeros(NODES + 1)]
    for p in ends:
        own = (_gamma_quantiles(shape, p) / shape - 1) / share
        columns.append(np.array([quantile(p), *own, 0.0]))
    return 0.0, NODES, columns


@compiled
def _gamma_quantiles(shape: Floats, probability: float) -> Floats:
    """Return the quantiles of gamma distributions of scale 1, by bisection of the logarithm."""
    found = np.empty(len(shape))
    for i in range(len(shape)):
        low, high = -LARGEST_EXPONENT, math.log(shape[i] + FAR * (1 + math.sqrt(shape[i])))
        for _ in range(64):
            middle = 0.5 * (low + high)
            is_low = gamma_share(shape[i], math.exp(middle))[0] < probability
            low, high = (middle, high) if is_low else (low, middle)
        found[i] = math.exp(middle)
    return found


def _constants(degrees: float) -> Floats:
    """Return density at 0, half the mean difference of two outcomes, and the log of the density of Student's t."""
    half, lgamma = degrees / 2, math.lgamma
    log_density = lgamma(half + 0.5) - lgamma(half) - 0.5 * math.log(math.pi * (degrees - 2))
    log_beta = 2 * lgamma(half + 0.5) - 2 * lgamma(half) - 0.5 * math.log(math.pi)
    log_beta += lgamma(degrees - 0.5) - lgamma(degrees)
    spread = 2 * math.sqrt(degrees - 2) / (degrees - 1) * math.exp(log_beta)
    return np.array([math.exp(log_density), spread, log_density])


def _student_table(ends: Sequence[float], degrees: float) -> Table:
    """Return the table by asinh(|z|): the share beyond |z|, by Gauss's rule in each step; and the quantiles."""
    step, (at, weight) = REACH / STEPS, np.polynomial.legendre.leggauss(8)
    places = np.arange(STEPS)[:, np.newaxis] * step + (at + 1) * step / 2
    z = np.sinh(places)
    density = _constants(degrees)[0] * (1 + z * z / (degrees - 2)) ** (-(degrees + 1) / 2)
    parts = (density * np.cosh(places)) @ weight * step / 2
    beyond = np.append(np.cumsum(parts[::-1])[::-1], 0.0)
    quantiles = [math.copysign(np.sinh(_place_of_share(beyond, min(p, 1 - p)) * step), p - 0.5) for p in ends]
    return 0.0, STEPS / REACH, [beyond, *(np.full(2, own) for own in quantiles)]


def _place_of_share(beyond: Floats, share: float) -> float:
    """Return the place, in steps, beyond which this share lies, by bisection of the interpolating cubic."""
    values = beyond[:, np.newaxis]
    table = np.stack([values, slopes(values)], axis=-1)
    low, high = 0.0, float(len(beyond) - 1)
    for _ in range(60):
        middle = (low + high) / 2
        step = min(int(middle), len(beyond) - 2)
        low, high = (middle, high) if _cubic(table[step : step + 2, 0], middle - step) > share else (low, middle)
    return (low + high) / 2


def _cubic(ends: Floats, t: float) -> float:
    """Return the cubic with these values and slopes, (2, 2), at both ends of a step."""
    (low, at_low), (high, at_high) = ends
    gap = high - low
    return float(low + t * (at_low + t * ((3 * gap - 2 * at_low - at_high) + t * (at_low + at_high - 2 * gap))))


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


_TABLES = {
    "lognormal": _no_table,
    "truncated_normal": _truncated_table,
    "squared_normal": _squared_table,
    "gamma": _gamma_table,
    "student_t": _student_table,
}
