"""Whether the predicted std tells large errors from small ones: the error of what remains without the most uncertain.

Curves run over the share of pixels left out, from 0 to 0.99. They need the ordering profile, which is kept on request.
"""

import numpy as np
from numpy.typing import NDArray

from geouq.errors import SummaryError
from geouq.summary import Summary
from geouq.summary.ordering_profile import OrderingProfile

Floats = NDArray[np.float64]
LEFT_OUT = np.arange(100) / 100


def sparsification_curve(summary: Summary, shares: Floats = LEFT_OUT) -> Floats:
    """RMSE of what remains when that share of the pixels of largest variance is left out, (..., shares)."""
    sums = np.moveaxis(summary.variance.sums, -1, 0)
    return _remaining(sums[-1][..., ::-1], sums[1][..., ::-1], shares)


def oracle_curve(summary: Summary, shares: Floats = LEFT_OUT) -> Floats:
    """The same when the pixels of largest |error| are left out: no order does better, (..., shares)."""
    profile = _ordering(summary)
    order = np.argsort(-profile.squared_error, kind="stable")
    return _remaining(profile.n[..., order], _squared_errors(summary, profile)[..., order], shares)


def ause(summary: Summary) -> Floats:
    """Area between the sparsification curve of the RMSE and the best one, divided by the RMSE; unit 1, ideal 0.

    Ilg et al. 2018, arXiv 1802.07095. To within 5e-3 where errors spread over several classes of 8 an octave; where
    a bias governs them, 0.04 was seen. Raises SummaryError where the summary keeps no ordering.
    """
    gap = sparsification_curve(summary) - oracle_curve(summary)
    area = ((gap[..., 1:] + gap[..., :-1]) / 2 * np.diff(LEFT_OUT)).sum(-1)
    total = np.sqrt(summary.moments.mean_square("error"))
    return area / np.where(total > 0, total, np.nan)


def spearman(summary: Summary) -> Floats:
    """Rank correlation of |error| and predicted std; unit 1, large is good, missing where either is constant.

    Pixels of one class of std or |error| share a rank: to within 1e-2 where errors and stds spread over several
    classes; where a bias governs errors, 0.2 was seen. Raises SummaryError as `ause` does.
    """
    profile = _ordering(summary)
    errors, widths = _ranks(profile.n, profile.squared_error), _ranks(profile.n, profile.variance)
    return _correlation(profile.n, errors, widths)


def _ordering(summary: Summary) -> OrderingProfile:
    if summary.ordering is not None:
        return summary.ordering
    if summary.n.any():
        raise SummaryError("this summary does not keep the order of errors; ask for it with ordering: true")
    return OrderingProfile(np.empty(0, np.int64), np.zeros((*summary.n.shape, 0, 1)))


def _squared_errors(summary: Summary, profile: OrderingProfile) -> Floats:
    """Sums of squared errors by key, scaled to their true total."""
    sums = profile.n * profile.squared_error
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
    left_out = np.interp(shares * total, np.append(0.0, np.cumsum(n)), np.append(0.0, np.cumsum(squares)))
    return np.sqrt(np.maximum(squares.sum() - left_out, 0.0) / ((1 - shares) * total))


def _ranks(n: Floats, values: Floats) -> Floats:
    """Mean rank of the pixels of each key; those of one value share theirs."""
    distinct, place = np.unique(values, return_inverse=True)
    pixels = np.zeros((*n.shape[:-1], len(distinct)))
    np.add.at(np.moveaxis(pixels, -1, 0), place, np.moveaxis(n, -1, 0))
    return (np.cumsum(pixels, -1) - pixels / 2)[..., place]


def _correlation(n: Floats, one: Floats, other: Floats) -> Floats:
    """Pearson's, of ranks, whose mean is half the number of pixels."""
    middle = n.sum(-1, keepdims=True) / 2
    a, b = one - middle, other - middle
    spread = (n * a * a).sum(-1) * (n * b * b).sum(-1)
    return np.divide((n * a * b).sum(-1), np.sqrt(spread), out=np.full(spread.shape, np.nan), where=spread > 0)
