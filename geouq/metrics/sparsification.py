"""Whether the predicted std tells large errors from small ones: the error of what remains without the most uncertain.

Curves run over the share of pixels left out, from 0 to 0.99. They need the ordering profile, which is kept on request.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geouq.errors import SummaryError
from geouq.summary import Summary
from geouq.summary.kept_pixels import KeptPixels
from geouq.summary.ordering_profile import OrderingProfile

Floats = NDArray[np.float64]
LEFT_OUT = np.arange(100) / 100


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
    """Whether a summary keeps the variance and the squared error of every pixel."""
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
    kept = summary.variance.kept or KeptPixels()
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
    """Mean rank of the pixels of each key; those of one value share theirs."""
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
