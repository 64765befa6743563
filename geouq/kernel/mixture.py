"""Density and distribution function of mixtures of normal members at the truth, in loops that use the lanes.

exp and erfc are polynomials that stay in registers; both are right to rounding, which tests hold against the library's.
"""

import math

import numpy as np

from geouq.core.compiled import inlined, inlined_fused
from geouq.core.gaussian import INV_SQRT_PI, LOG_2PI, SQRT_HALF
from geouq.kernel.vector_ops import bits_of_double, double_of_bits, polynomial

UNDERFLOWS = 1000.0  # z^2 beyond which a density is too small to be added up
LEAST = -700.0  # exp of less is taken to be exp of this
NOTHING = 40.0  # beyond it erfc is 0
MIDDLE = 3.75
# (1 + 2 x) exp(x^2) erfc(x) as a polynomial of (x - MIDDLE) / (x + MIDDLE), highest power first, for all x >= 0: erfc
# is right to 3e-15. The form is of Shepherd and Laframboise 1981, the coefficients interpolate at Chebyshev's nodes.
SCALED_ERFC = (
    1.7312209083118933e-08,
    8.5125594517613314e-09,
    -2.1321360409864602e-07,
    -2.7685663849700945e-08,
    1.6939254478276176e-06,
    -1.0084713725546233e-06,
    -1.1397625287921655e-05,
    2.241015775977701e-05,
    5.1624792009427781e-05,
    -0.00029016639136143893,
    0.00029372183419192641,
    0.0017556295487634313,
    -0.0097465812624944557,
    0.02836227674782648,
    -0.058693398383975408,
    0.092304321227711553,
    -0.10880393015433062,
    0.082276738487040452,
    0.0035854154857627857,
    -0.14024059858550575,
    1.2375126308378264,
)
EXP = tuple(1 / math.factorial(k) for k in range(13, -1, -1))  # highest power first, for |x| <= log(2) / 2
SQRT_2_BY_PI = math.sqrt(2 / math.pi)
LOG2_E = 1 / math.log(2)
LOG_2_HIGH, LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the first times 2^20 is exact
TO_WHOLE = 1.5 * 2.0**52  # what is added to it is rounded to a whole number, which the last bits hold
EXPONENT = 52  # first bit of the exponent of a double
exp_near_zero, scaled_erfc = polynomial(EXP), polynomial(SCALED_ERFC)


@inlined_fused
def exp_below_zero(x):
    """Return exp(x) for x <= 0; below `LEAST` it is exp(LEAST)."""
    x = max(x, LEAST)
    shifted = x * LOG2_E + TO_WHOLE
    whole = shifted - TO_WHOLE
    rest = (x - whole * LOG_2_HIGH) - whole * LOG_2_LOW
    return double_of_bits(bits_of_double(exp_near_zero(rest)) + (bits_of_double(shifted) << EXPONENT))


@inlined_fused
def share_beyond(z, bell):
    """Return what a normal distribution holds beyond |z| on one side, of exp(-z^2 / 2)."""
    x = min(abs(z) * SQRT_HALF, NOTHING)
    sum_, slope = x + MIDDLE, 1.0 + 2.0 * x
    inverse = 1.0 / (sum_ * slope)
    scaled = scaled_erfc((x - MIDDLE) * (slope * inverse))
    return 0.5 * bell * scaled * (sum_ * inverse)


@inlined_fused
def shares_beyond(z, bell, other, bell_of_other):
    """Return `share_beyond` of two numbers, with one division."""
    x, y = min(abs(z) * SQRT_HALF, NOTHING), min(abs(other) * SQRT_HALF, NOTHING)
    sum_x, slope_x, sum_y, slope_y = x + MIDDLE, 1.0 + 2.0 * x, y + MIDDLE, 1.0 + 2.0 * y
    below_x, below_y = sum_x * slope_x, sum_y * slope_y
    inverse = 1.0 / (below_x * below_y)
    inverse_x, inverse_y = inverse * below_y, inverse * below_x
    one = 0.5 * bell * scaled_erfc((x - MIDDLE) * (slope_x * inverse_x)) * (sum_x * inverse_x)
    return one, 0.5 * bell_of_other * scaled_erfc((y - MIDDLE) * (slope_y * inverse_y)) * (sum_y * inverse_y)


@inlined
def mix(n, values, more, truth, room, aleatoric, cdf, density):
    """Aleatoric variance, distribution function at the truth, and -log density there, of the mixture of each pixel.

    values, more : means and variances (members, pixels). room : four rows to work in.
    """
    members, nearest = values.shape[0], room[2]
    for i in range(n):
        aleatoric[i], cdf[i], density[i], nearest[i] = 0.0, 0.0, 0.0, np.inf
    for k in range(members):
        _standardize(n, values[k], more[k], truth, room[0], room[1])
        _add_density(n, room[0], room[1], room[3], density)
        _add_share(n, room[0], room[3], cdf)
        _note(n, more[k], aleatoric, room[0], nearest)
    for i in range(n):
        aleatoric[i] /= members
        cdf[i] /= members
        if nearest[i] < UNDERFLOWS:
            density[i] = 0.5 * LOG_2PI - math.log(density[i] / members)
        else:
            density[i] = _far_away(i, members, values, more, truth[i])


@inlined
def mixture_crps(n, values, more, truth, room, crps):
    """Fill in the CRPS of the mixture of each pixel, in closed form (Grimit et al. 2006).

    With A(m, v) = E|X| of X ~ N(m, v), it is the mean of A(mean_k - truth, v_k) over the members, less half the mean of
    A(mean_j - mean_k, v_j + v_k) over all pairs, each of which is passed once. values, more : means and variances
    (members, pixels). room : four rows to work in.
    """
    members, one = values.shape[0], values.dtype.type(1)
    share = 1.0 / members
    for i in range(n):
        crps[i] = 0.0
    for k in range(members):
        _set_distance(n, values[k], truth, room[0])
        _set_variance(n, more[k], room[1])
        _add_mean_distance(n, one, room, share, share * share * INV_SQRT_PI, crps)
        for j in range(k):
            _set_distance(n, values[k], values[j], room[0])
            _set_sum(n, more[k], more[j], room[1])
            _add_mean_distance(n, one, room, -share * share, 0.0, crps)


@inlined_fused
def _set_distance(n, own, other, distance):
    for i in range(n):
        distance[i] = abs(np.float64(own[i]) - np.float64(other[i]))


@inlined_fused
def _set_variance(n, own, variance):
    for i in range(n):
        variance[i] = np.float64(own[i])


@inlined_fused
def _set_sum(n, own, other, variance):
    for i in range(n):
        variance[i] = np.float64(own[i]) + np.float64(other[i])


@inlined_fused
def _add_mean_distance(n, one, room, factor, own, out):
    """Add factor times A(m, v), less `own` times the std, which is half A(0, 2 v) by pairs of a member with itself.

    room : m, v, and two rows to work in. one : 1 in the type in which the first guess of 1 / std is made.
    """
    distance, variance, z, bell = room[0], room[1], room[2], room[3]
    for i in range(n):
        guess = np.float64(one / math.sqrt(one * variance[i]))
        away = 1.0 - variance[i] * guess * guess
        inverse = guess + guess * away * (0.5 + 0.375 * away)
        z[i] = distance[i] * inverse
        variance[i] *= inverse
    for i in range(n):
        bell[i] = exp_below_zero(-0.5 * z[i] * z[i])
    for i in range(n):
        z[i] = 1.0 - 2.0 * share_beyond(z[i], bell[i])
    for i in range(n):
        out[i] += factor * (distance[i] * z[i] + SQRT_2_BY_PI * variance[i] * bell[i]) - own * variance[i]


@inlined_fused
def _standardize(n, own, variance, truth, z, inverse):
    """Return a member's z and the inverse of its std; a first guess of the stored type is refined in double."""
    one = variance.dtype.type(1)
    for i in range(n):
        guess = np.float64(one / math.sqrt(variance[i]))
        away = 1.0 - np.float64(variance[i]) * guess * guess
        inverse[i] = guess + guess * away * (0.5 + 0.375 * away)
        z[i] = (np.float64(own[i]) - truth[i]) * inverse[i]


@inlined_fused
def _add_density(n, z, inverse, bell, density):
    """Add a member's density at the truth; bell : filled in, exp(-z^2 / 2)."""
    for i in range(n):
        bell[i] = exp_below_zero(-0.5 * z[i] * z[i])
    for i in range(n):
        density[i] += inverse[i] * bell[i]


@inlined_fused
def _add_share(n, z, bell, cdf):
    """Add a member's distribution function at the truth."""
    for i in range(n):
        beyond = share_beyond(z[i], bell[i])
        cdf[i] += beyond if z[i] > 0 else 1.0 - beyond


@inlined
def _note(n, variance, aleatoric, z, nearest):
    """Add a member's variance, and keep the lowest z^2; two loops, as LLVM finds the lanes of those of few arrays."""
    for i in range(n):
        aleatoric[i] += variance[i]
    for i in range(n):
        before, square = nearest[i], z[i] * z[i]
        nearest[i] = min(before, square)


@inlined
def _far_away(i, members, values, more, truth):
    """-log density of the mixture where each member's density is too small to be added up."""
    highest = -np.inf
    for k in range(members):
        highest = max(highest, log_density(np.float64(values[k, i]) - truth, np.float64(more[k, i])))
    total = 0.0
    for k in range(members):
        total += math.exp(log_density(np.float64(values[k, i]) - truth, np.float64(more[k, i])) - highest)
    return -highest - math.log(total / members)


@inlined
def log_density(error, variance):
    """Logarithm of a normal density."""
    return -0.5 * (LOG_2PI + math.log(variance) + error * error / variance)
