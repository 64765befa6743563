"""Masks that exclude the pixels they should keep."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.checks.finding import Finding
from geouq.checks.pixels import FEWEST, pearson, thinned
from geouq.checks.sample import Patch

Floats = NDArray[np.float64]
REMEDY = (
    "a mask excludes pixels where it is 0: if yours is 1 there (as cloud masks are), write the opposite to a new file, "
    'such as gdal_calc.py -A MASK.tif --calc="A==0" --outfile KEEP.tif'
)


def of_masks(variable: str, patches: Sequence[Patch]) -> Iterator[Finding]:
    """Yield a finding where the hidden pixels hold the data, or the prediction fits them and not the others."""
    known = [patch.known for patch in patches]
    if not known:
        return
    mean, variance, truth, hidden = (
        np.concatenate([getattr(one, layer).ravel() for one in known])
        for layer in ("mean", "variance", "truth", "hidden")
    )
    if min(hidden.sum(), (~hidden).sum()) < FEWEST:
        return
    kept_truth, hidden_truth = (np.isfinite(truth[part]).mean() for part in (~hidden, hidden))
    if kept_truth < 0.2 and hidden_truth > 0.6 and np.nanstd(truth[hidden]) > 0:
        evidence = f"{hidden_truth:.0%} of the pixels excluded by the mask have a truth, {kept_truth:.0%} of those kept"
        yield Finding("inverted mask", variable, evidence, REMEDY)
        return
    complete = np.isfinite(mean) & np.isfinite(truth) & (variance > 0)
    if min((complete & hidden).sum(), (complete & ~hidden).sum()) < FEWEST:
        return
    excluded, kept = (
        _fit(mean[part], np.sqrt(variance[part]), truth[part]) for part in (complete & hidden, complete & ~hidden)
    )
    if excluded.is_good and kept.correlation < 0.3 and (kept.is_constant or kept.z > 2 * excluded.z):
        yield Finding(
            "inverted mask",
            variable,
            f"prediction and truth correlate by {excluded.correlation:.2f} where the mask excludes pixels and by "
            f"{kept.correlation:.2f} where it keeps them; the median |z| is {excluded.z:.2g} and {kept.z:.2g}",
            REMEDY,
        )


@dataclass(frozen=True)
class _Fit:
    """How a prediction fits the truth: correlation, median |z|, and whether the truth is constant."""

    correlation: float
    z: float
    is_constant: bool

    @property
    def is_good(self) -> bool:
        """Return whether the prediction fits these pixels."""
        return self.correlation > 0.5 and self.z < 2


def _fit(mean: Floats, std: Floats, truth: Floats) -> _Fit:
    m, s, t = thinned(mean, std, truth)
    return _Fit(pearson(m, t), float(np.median(np.abs(t - m) / s)), bool(t.min() == t.max()))
