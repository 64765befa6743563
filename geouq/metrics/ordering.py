"""Whether the predicted std tells large errors from small ones: the error of what remains without the most uncertain.

Curves run over the share of pixels left out, from 0 to 0.99. They need the ordering profile, which is optional.

Where only the keys of pixels are kept, functions named `resolution` return the largest expected errors of `ause` and
`spearman`. A key fixes the |error| of its pixels to an interval, of which the ordering profile takes the middle. These
functions compare that with pixels spread evenly over the interval, and add what the order within intervals can change.
Where a bias governs the errors, one interval holds many pixels, and the result is large.

The results are not worst cases: pixels of one key that are placed on purpose can err by more. For AUSE the worst case
of the oracle curve is taken where it is smaller. For `spearman` it is of no use: 0.03 to 0.17 for maps without a
large bias, whose errors are below 3e-4.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import SummaryError
from geouq.metrics.record import NOT_NEGATIVE, metric
from geouq.summary import Summary
from geouq.summary.ordering_profile import CLASSES, SHIFT, OrderingProfile
from geouq.summary.tail_pixels import TailPixels
from geouq.summary.variance_profile import lower_bound

Floats = NDArray[np.float64]
LEFT_OUT = np.arange(100) / 100
SQUARED_ERROR, STD, WEIGHT = 1, 2, -1  # fields of a variance profile
ONE_VALUE = 1e-12  # largest relative variance of the stds of a key that holds one value
ALLOWANCE = 2.0  # times the unresolved share of the variance of ranks
UNRESOLVED = 1.0  # resolution from which a number says nothing


def sparsification_curve(summary: Summary, shares: Floats = LEFT_OUT) -> Floats:
    """Return the RMSE of what remains without that share of the pixels of largest variance, (..., shares)."""
    if keeps_every_pixel(summary):
        n, variance, squared_error = _pixels(summary)
        distinct, place = np.unique(variance, return_inverse=True)
        pixels = np.zeros((2, len(distinct)))
        np.add.at(pixels.T, place, np.stack([n, n * squared_error], axis=-1))
        return _remaining(pixels[0, ::-1], pixels[1, ::-1], shares)
    sums = np.moveaxis(summary.variance.sums, -1, 0)
    return _remaining(sums[-1][..., ::-1], sums[1][..., ::-1], shares)


def oracle_curve(summary: Summary, shares: Floats = LEFT_OUT) -> Floats:
    """Return the same without the pixels of largest |error|: no order does better, (..., shares)."""
    found = _ordered(summary)
    order = np.argsort(-found.squared_error, kind="stable")
    return _remaining(found.n[..., order], _squared_errors(summary, found)[..., order], shares)


def normalized_area(summary: Summary) -> Floats:
    """Return the area between the sparsification curve of the RMSE and the best one, divided by the RMSE."""
    area = area_over_shares(sparsification_curve(summary) - oracle_curve(summary))
    total = np.sqrt(summary.moments.mean_square("error"))
    return area / np.where(total > 0, total, np.nan)


def rank_correlation(summary: Summary) -> Floats:
    """Return the rank correlation of |error| and predicted std; NaN where either is constant."""
    found = _ordered(summary)
    return _correlation(found.n, _ranks(found.n, found.squared_error), _ranks(found.n, found.variance))


def area_over_shares(curve: Floats) -> Floats:
    """Return the area below a curve over the shares `LEFT_OUT`, its last dimension."""
    return np.asarray(((curve[..., 1:] + curve[..., :-1]) / 2 * np.diff(LEFT_OUT)).sum(-1))


def keeps_every_pixel(summary: Summary) -> bool:
    """Return whether a summary keeps the variance and the squared error of every pixel."""
    kept = summary.variance.kept
    return kept is not None and kept.every and len(kept.pixels) > 0 and bool(np.isfinite(kept.pixels).all())


class _Order(NamedTuple):
    """Pixels, or keys of them: n or weights (..., pixels), variance and squared error (pixels)."""

    n: Floats
    variance: Floats
    squared_error: Floats


def _ordered(summary: Summary) -> _Order:
    """Return every pixel where they are kept, else the keys of the ordering profile with their middles."""
    profile = _ordering(summary)
    if keeps_every_pixel(summary):
        return _pixels(summary)
    return _Order(profile.n, profile.variance, profile.squared_error)


def _pixels(summary: Summary) -> _Order:
    kept = summary.variance.kept or TailPixels()
    weight = kept.pixels[:, 2] if kept.pixels.shape[1] > 2 else np.ones(len(kept.pixels))
    return _Order(weight, kept.variance, kept.pixels[:, 1])


def _ordering(summary: Summary) -> OrderingProfile:
    if summary.ordering is not None:
        return summary.ordering
    if summary.n.any():
        raise SummaryError("this summary does not keep the order of errors; ask for it with ordering: true")
    return OrderingProfile(np.empty(0, np.int64), np.zeros((*summary.n.shape, 0, 1)))


def _squared_errors(summary: Summary, order: _Order) -> Floats:
    """Return sums of squared errors, scaled to their true total."""
    sums = order.n * order.squared_error
    total, found = summary.moments.mean_square("error") * summary.moments.weight, sums.sum(-1)
    scale = np.divide(total, found, out=np.zeros(np.shape(found)), where=found > 0)
    return sums * scale[..., np.newaxis]


def _remaining(n: Floats, squares: Floats, shares: Floats) -> Floats:
    """RMSE of what remains behind each share of the pixels, whose keys come in the order in which they are left out."""
    found = np.full((*n.shape[:-1], len(shares)), np.nan)
    for place in np.ndindex(n.shape[:-1]):
        found[place] = _row_remaining(n[place], squares[place], shares)
    return found


def _row_remaining(n: Floats, squares: Floats, shares: Floats) -> Floats:
    total = n.sum()
    if not total:
        return np.full(len(shares), np.nan)
    left, below = (1 - shares) * total, np.append(0.0, np.cumsum(n[::-1]))
    return np.sqrt(np.interp(left, below, np.append(0.0, np.cumsum(squares[::-1]))) / left)


def _ranks(n: Floats, values: Floats) -> Floats:
    """Return the mean rank of the pixels of each key; equal values share their rank."""
    distinct, place = np.unique(values, return_inverse=True)
    pixels = np.zeros((*n.shape[:-1], len(distinct)))
    np.add.at(np.moveaxis(pixels, -1, 0), place, np.moveaxis(n, -1, 0))
    return (np.cumsum(pixels, -1) - pixels / 2)[..., place]


def _correlation(n: Floats, one: Floats, other: Floats) -> Floats:
    """Return Pearson's correlation of ranks, whose mean is half the number of pixels, or half their weight.

    All are divided by a power of two first, so that products of weights stay in the range of floats.
    """
    exponent = -np.frexp(n.sum(-1, keepdims=True))[1]
    n, one, other = np.ldexp(n, exponent), np.ldexp(one, exponent), np.ldexp(other, exponent)
    middle = n.sum(-1, keepdims=True) / 2
    a, b = one - middle, other - middle
    spread = (n * a * a).sum(-1) * (n * b * b).sum(-1)
    return np.divide((n * a * b).sum(-1), np.sqrt(spread), out=np.full(spread.shape, np.nan), where=spread > 0)


class _EvenlySpread(NamedTuple):
    """Pixels of each key, spread evenly over the |error| between its ends.

    n, low, high : pixels (their weight) and ends of each key. ends : all ends, increasing. below, squares : pixels and
    their squared errors below each end. open : up to the next end, pixels of all intervals around it times the
    widths of these in squared error.
    """

    n: Floats
    low: Floats
    high: Floats
    ends: Floats
    below: Floats
    squares: Floats
    open: Floats

    @classmethod
    def of(cls, summary: Summary, profile: OrderingProfile) -> Self:
        """Spread the pixels of a profile; of the last class of |z|, up to the largest error that the sums allow."""
        n, (low, high) = profile.n, _error_ends(summary, profile)
        ends = np.unique(np.concatenate([low, high]))
        density = _added(ends, low, high, n / (high - low))
        below = np.append(0.0, np.cumsum(density[:-1] * np.diff(ends)))
        squares = np.append(0.0, np.cumsum(density[:-1] * np.diff(ends**3) / 3))
        return cls(n, low, high, ends, below, squares, _added(ends, low, high, n * (high**2 - low**2)))

    def ranks(self, error: Floats) -> Floats:
        """Return the share of the pixels below an |error|."""
        return np.interp(error, self.ends, self.below) / self.below[-1]


def spearman_resolution(summary: Summary) -> Floats:
    """Return the largest expected error of `spearman`; 0 where every pixel is kept, or the number is missing.

    The sum of two parts: the difference to pixels spread evenly over their intervals, and twice the share of the
    variance of both ranks that lies within intervals, and of pixels in the first and last class of |z|. At most
    1 + |spearman|.
    """
    profile, value = summary.ordering, rank_correlation(summary)
    if profile is None or not np.isfinite(value) or keeps_every_pixel(summary):
        return np.zeros(())
    spread = _EvenlySpread.of(summary, profile)
    share, low, high = spread.n / spread.n.sum(), spread.ranks(spread.low), spread.ranks(spread.high)
    rows, row = np.unique(profile.keys // CLASSES, return_inverse=True)
    held = np.bincount(row, share)
    middle = (np.cumsum(held) - held / 2)[row]
    tied = _of_one_variance(summary, rows, SHIFT)
    of_std = 1 - (held[tied] ** 3).sum()  # variance of its ranks, of 1 without ties
    even = 12 * (share * ((low + high) / 2 - 0.5) * (middle - 0.5)).sum() / np.sqrt(of_std)
    unresolved = (share * (high - low) ** 2).sum() + (held[~tied] ** 3).sum()
    unresolved += share[np.isin(profile.keys % CLASSES, (0, CLASSES - 1))].sum()  # |z| in a class without an end
    return np.minimum(np.abs(value - even) + ALLOWANCE * unresolved, 1 + np.abs(value))


def ause_resolution(summary: Summary) -> Floats:
    """Return the largest expected error of `ause`; 0 where every pixel is kept, or the number is missing.

    The area of what both curves may be off, divided by the RMSE; at most what keeps AUSE in its range.
    """
    profile = summary.ordering
    if profile is None or not summary.n or keeps_every_pixel(summary):
        return np.zeros(())
    own, total = sparsification_curve(summary), np.sqrt(summary.moments.mean_square("error"))
    if not 0 < total < np.inf:
        return np.zeros(())
    of_own, of_best = _off_by_variance(summary, own), _off_by_error(summary, profile)
    found, largest = normalized_area(summary), area_over_shares(own + of_own) / total
    return np.minimum(area_over_shares(of_own + of_best) / total, np.maximum(found, largest - found))


def _off_by_variance(summary: Summary, curve: Floats) -> Floats:
    """Return how much the order within the key at each share can change the sparsification curve, (shares)."""
    profile = summary.variance
    sums = profile.sums[::-1]
    n, left = sums[:, WEIGHT], (1 - LEFT_OUT) * sums[:, WEIGHT].sum()
    before = np.append(0.0, np.cumsum(n))
    at = np.clip(np.searchsorted(before, LEFT_OUT * before[-1], side="right") - 1, 0, len(n) - 1)
    part = (LEFT_OUT * before[-1] - before[at]) / n[at]
    unknown = (part > 0) & ~_of_one_variance(summary, profile.keys, profile.shift)[::-1][at]
    return _moved(curve, left, np.where(unknown, np.maximum(part, 1 - part) * sums[at, SQUARED_ERROR], 0.0))


def _off_by_error(summary: Summary, profile: OrderingProfile) -> Floats:
    """Return how much the place of errors in their intervals can change the oracle curve, (shares)."""
    spread, best = _EvenlySpread.of(summary, profile), oracle_curve(summary)
    total, left = _squared_error(summary), (1 - LEFT_OUT) * spread.n.sum()
    even = np.interp(left, spread.below, spread.squares) * total / spread.squares[-1]
    border = np.searchsorted(spread.ends, np.interp(left, spread.below, spread.ends), side="right") - 1
    crowd = np.maximum(spread.open[border], 0.0) / 4
    sums, width = (spread.n * profile.squared_error).sum(), spread.high**2 - spread.low**2
    mean_weight = summary.moments.weight / summary.n
    chance = 2 * np.sqrt((spread.n * mean_weight * width**2 / 12).sum())
    scale = np.minimum((np.abs(sums - total) + chance) / total, 1.0) / 2
    expected = np.abs(best - np.sqrt(even / left)) + _moved(best, left, crowd) + scale * best
    return np.minimum(expected, _largest_by_error(spread, best, left, total))


def _largest_by_error(spread: _EvenlySpread, best: Floats, left: Floats, total: Floats) -> Floats:
    """Return how much any place of errors in their intervals, of the known total, can change the oracle curve."""
    (least, all_least), (most, all_most) = (_smallest(spread.n, ends, left) for ends in (spread.low, spread.high))
    lowest = np.sqrt(np.maximum(np.maximum(least, total - (all_most - most)), 0.0) / left)
    highest = np.sqrt(np.minimum(np.minimum(most, total - (all_least - least)), total) / left)
    return np.maximum(np.maximum(highest - best, best - lowest), 0.0)


def _smallest(n: Floats, error: Floats, left: Floats) -> tuple[Floats, Floats]:
    """Return the sum of the `left` smallest squares of pixels of these errors, (shares), and of all."""
    order = np.argsort(error)
    squares = np.append(0.0, np.cumsum((n * error**2)[order]))
    return np.interp(left, np.append(0.0, np.cumsum(n[order])), squares), squares[-1]


def _moved(curve: Floats, left: Floats, squares: Floats) -> Floats:
    """Return the larger change of an RMSE of `left` pixels whose squared errors change by a sum, up or down."""
    own, by = curve**2, squares / left
    return np.maximum(curve - np.sqrt(np.maximum(own - by, 0.0)), np.sqrt(own + by) - curve)


def _error_ends(summary: Summary, profile: OrderingProfile) -> tuple[Floats, Floats]:
    """Return the lowest and the highest |error| of each key, (keys) each."""
    rows, (least, most) = profile.keys // CLASSES, profile.z_ends
    extremes = summary.variance.lowest, summary.variance.highest
    borders = (np.nan_to_num(lower_bound(rows + more, SHIFT), nan=np.inf) for more in (0, 1))
    lowest, highest = (np.sqrt(np.clip(border, *extremes)) for border in borders)
    low, high = least * lowest, most * highest
    largest = np.maximum(np.sqrt(_squared_error(summary)), high)
    high = np.where(profile.keys % CLASSES == CLASSES - 1, largest, high)
    return low, np.maximum(high, np.nextafter(low, np.inf))


def _of_one_variance(summary: Summary, keys: NDArray[np.int64], shift: int) -> NDArray[np.bool_]:
    """Return whether all pixels of each key have one variance; shift : of these keys, which are increasing."""
    profile = summary.variance
    variance, std, weight = (profile.sums[:, field] for field in (0, STD, WEIGHT))
    one = np.abs(variance * weight - std**2) <= ONE_VALUE * std**2
    place = np.searchsorted(keys, profile.keys >> (shift - profile.shift))
    several = np.bincount(place, minlength=len(keys)) > 1
    return ~several & (np.bincount(place, ~one, minlength=len(keys)) == 0)


def _squared_error(summary: Summary) -> Floats:
    return np.asarray(summary.moments.mean_square("error") * summary.moments.weight)


def _added(ends: Floats, low: Floats, high: Floats, amount: Floats) -> Floats:
    """Return the sum of the amounts of all intervals that reach from each end to the next."""
    steps = np.bincount(np.searchsorted(ends, low), amount, len(ends))
    return np.cumsum(steps - np.bincount(np.searchsorted(ends, high), amount, len(ends)))


@metric(
    "AUSE",
    unit="1",
    ideal="0",
    above="std is large where errors are not",
    source="Ilg et al. 2018, arXiv 1802.07095",
    choice="ordering",
    resolution=ause_resolution,
    bounds=NOT_NEGATIVE,
)
def ause(summary: Summary) -> Floats:
    """Area between the sparsification curve of the RMSE and the best one, divided by the RMSE; unit 1, ideal 0.

    Ilg et al. 2018, arXiv 1802.07095. Exact where the summary keeps every pixel (at most 65 536); elsewhere
    `ause_resolution` estimates the error. Raises SummaryError where the summary keeps no ordering.
    """
    return normalized_area(summary)


@metric(
    "rho(|e|, s)",
    unit="1",
    ideal="large",
    above="std follows error",
    source="Spearman 1904",
    choice="ordering",
    resolution=spearman_resolution,
    bounds=(-1.0, 1.0),
)
def spearman(summary: Summary) -> Floats:
    """Rank correlation of |error| and predicted std; unit 1, large is good, missing where either is constant.

    Exact where the summary keeps every pixel (at most 65 536). Elsewhere pixels of the same class of std or |error|
    share a rank, and `spearman_resolution` estimates the error; missing where that is 1 or more. Raises SummaryError
    as `ause` does.
    """
    found = rank_correlation(summary)
    if np.ndim(found) == 0 and spearman_resolution(summary) >= UNRESOLVED:
        return np.full((), np.nan)
    return found
