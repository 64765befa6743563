"""Largest expected errors of `ause` and `spearman`, where only the keys of pixels are kept.

A key fixes the |error| of its pixels to an interval, of which the ordering profile takes the middle. These functions
compare that with pixels spread evenly over the interval, and add what the order within intervals can change. Where a
bias governs the errors, one interval holds many pixels, and the result is large.

The results are not worst cases: pixels of one key that are placed on purpose can err by more. For AUSE the worst case
of the oracle curve is taken where it is smaller. For `spearman` it is of no use: 0.03 to 0.17 for maps without a
large bias, whose errors are below 3e-4.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from geouq.metrics.sparsification import (
    LEFT_OUT,
    area_over_shares,
    keeps_every_pixel,
    normalized_area,
    oracle_curve,
    rank_correlation,
    sparsification_curve,
)
from geouq.summary import Summary
from geouq.summary.ordering_profile import CLASSES, SHIFT, OrderingProfile
from geouq.summary.variance_profile import lower_bound

Floats = NDArray[np.float64]

SQUARED_ERROR, STD, WEIGHT = 1, 2, -1  # fields of a variance profile
ONE_VALUE = 1e-12  # largest relative variance of the stds of a key that holds one value
ALLOWANCE = 2.0  # times the unresolved share of the variance of ranks


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
