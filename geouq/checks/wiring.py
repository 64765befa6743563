"""Layers that hold the values of another layer, because a file or band is named twice."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from geouq.checks.finding import Finding
from geouq.checks.pixels import FEWEST
from geouq.checks.sample import Known, Patch

Floats = NDArray[np.float64]
NEARLY_ALL = 0.95  # share of the pixels
FEW_VALUES = 16  # of which two layers may agree by chance
CLOSE = 1e-6  # relative difference of values that went through a square


def of_wiring(variable: str, patches: Sequence[Patch], layer: str) -> Iterator[Finding]:
    """Yield layers of one variable that equal each other in nearly all pixels."""
    known = [patch.known for patch in patches]
    if layer == "interval":
        yield from _of_ends(variable, known)
        return
    mean, stored, truth = (_seen(known, name) for name in ("mean", "variance", "truth"))
    if layer == "std":
        stored = np.sign(stored) * np.sqrt(np.abs(stored))
    for name, other in (("mean", mean), ("truth", truth)):
        share, n = _equal(stored, other)
        if share >= NEARLY_ALL and not (name == "mean" and layer == "variance" and _is_count(mean, truth)):
            yield Finding(
                f"{layer} equal to the {name}",
                variable,
                f"the {layer} equals the {name} in {share:.1%} of {n} pixels",
                f"`{layer}` and `{name}` may name the same file or band: correct one of them in `data`",
            )


def _of_ends(variable: str, known: Sequence[Known]) -> Iterator[Finding]:
    """Yield what equals in an interval: its ends, or the mean and one end."""
    own = [one for one in known if one.ends]
    if not own:
        return
    lower, upper = (_flat([np.where(one.hidden, np.nan, one.ends[i]) for one in own]) for i in (0, 1))
    pairs = {("upper", "lower"): (upper, lower)}
    pairs |= {("mean", name): (_seen(own, "mean"), end) for name, end in (("lower", lower), ("upper", upper))}
    for (name, other), (one, two) in pairs.items():
        share, n = _equal(one, two)
        if share >= NEARLY_ALL:
            yield Finding(
                f"{name} equal to {other}",
                variable,
                f"`{name}` equals `{other}` in {share:.1%} of {n} pixels",
                f"`{name}` and `{other}` may name the same file or band: correct one of them in `data`",
            )


def _equal(one: Floats, other: Floats) -> tuple[float, int]:
    """Return the share of pixels with equal values, and how many pixels have both; 0 where they say too little."""
    both = np.isfinite(one) & np.isfinite(other)
    n = int(both.sum())
    if n < FEWEST or len(np.unique(one[both])) <= FEW_VALUES:
        return 0.0, n
    return float((np.abs(one - other)[both] <= CLOSE * np.abs(other[both])).mean()), n


def _is_count(mean: Floats, truth: Floats) -> bool:
    """Return whether the truth may be Poisson counts, whose variance is their mean."""
    both = np.isfinite(mean) & np.isfinite(truth) & (mean > 0)
    if not both.any() or (truth[both] != np.round(truth[both])).any():
        return False
    return bool(0.5 < (np.square(truth - mean)[both] / mean[both]).mean() < 2)


def _seen(known: Sequence[Known], layer: str) -> Floats:
    """Return all pixels of a layer that no mask hides, NaN where there is no value."""
    return _flat([np.where(one.hidden, np.nan, getattr(one, layer)) for one in known])


def _flat(parts: Sequence[Floats]) -> Floats:
    return np.concatenate([part.ravel() for part in parts]) if parts else np.empty(0)
