"""Checks of layers: one that is named twice, inverted masks, nodata, a copied truth, bands in another order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.checks.sample import FEWEST, Finding, Known, Patch, joined, pearson, thinned

Floats = NDArray[np.float64]
NEARLY_ALL = 0.95  # share of the pixels
FEW_VALUES = 16  # distinct values: two layers with fewer may agree by chance
CLOSE = 1e-6  # relative difference of values that went through a square
MASK_REMEDY = (
    "a mask excludes pixels where it is 0: if yours is 1 there (as cloud masks are), write the codes of the pixels "
    "that count: `mask: {path: ..., keep: [0]}`"
)
# that people write where nothing is known, and that few variables reach
CODES = (-9999.0, -99999.0, -999.0, -99.0, 9999.0, 99999.0, -32768.0, 32767.0, 65535.0, 255.0, -128.0)
FAR_AWAY, UNRELATED = 2.0, 0.1  # largest distance (in std) and smallest correlation of a related truth
MOST_EQUAL = 0.2  # share of errors of exactly 0
LEAST_CORRELATION = 0.3  # of a prediction and the truth of another variable


def of_wiring(variable: str, patches: Sequence[Patch], layer: str) -> Iterator[Finding]:
    """Yield layers of a variable that equal each other in nearly all pixels."""
    known = [patch.known for patch in patches]
    if layer == "interval":
        yield from _of_ends(variable, known)
        return
    mean, stored, truth = (_seen(known, name) for name in ("mean", "variance", "truth"))
    if layer in ("std", "relative_std"):
        stored = np.sign(stored) * np.sqrt(np.abs(stored))
    if layer == "relative_std":
        stored = np.divide(stored, np.abs(mean), out=np.full(stored.shape, np.nan), where=mean != 0)
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
    if n < FEWEST:
        return 0.0, n
    share = float((np.abs(one - other)[both] <= CLOSE * np.abs(other[both])).mean())
    if share >= NEARLY_ALL and len(np.unique(one[both])) <= FEW_VALUES:  # sorting is slow: only where it decides
        return 0.0, n
    return share, n


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
        yield Finding("inverted mask", variable, evidence, MASK_REMEDY)
        return
    complete = np.isfinite(mean) & np.isfinite(truth) & (variance > 0)
    if min((complete & hidden).sum(), (complete & ~hidden).sum()) < FEWEST:
        return
    excluded, kept = (
        _fit_of_pixels(mean[part], np.sqrt(variance[part]), truth[part])
        for part in (complete & hidden, complete & ~hidden)
    )
    if excluded.is_good and kept.correlation < 0.3 and (kept.is_constant or kept.z > 2 * excluded.z):
        yield Finding(
            "inverted mask",
            variable,
            f"prediction and truth correlate by {excluded.correlation:.2f} where the mask excludes pixels and by "
            f"{kept.correlation:.2f} where it keeps them; the median |z| is {excluded.z:.2g} and {kept.z:.2g}",
            MASK_REMEDY,
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


def _fit_of_pixels(mean: Floats, std: Floats, truth: Floats) -> _Fit:
    m, s, t = thinned(mean, std, truth)
    return _Fit(pearson(m, t), float(np.median(np.abs(t - m) / s)), bool(t.min() == t.max()))


def of_nodata(variable: str, patches: Sequence[Patch], layer: str) -> Iterator[tuple[Finding, NDArray[np.bool_]]]:
    """Yield values that stand for nodata without being declared, and which of the pixels that count hold them."""
    layers = {"mean": joined(patches, "mean"), "truth": joined(patches, "truth")}
    if len(layers["truth"]) < FEWEST:
        return
    variance = joined(patches, "variance")
    layers[layer if layer == "std" else "variance"] = np.sqrt(variance) if layer == "std" else variance
    for name, values in layers.items():
        fill = _fill(values)
        if fill is None:
            continue
        filled = values == fill
        other = layers.get({"truth": "mean", "mean": "truth"}.get(name, ""))
        if fill not in CODES and other is not None and not _is_elsewhere(other, filled):
            continue
        yield (
            Finding(
                "undeclared nodata",
                variable,
                f"{filled.mean():.1%} of the {name} is {fill:.6g}, far from all other values",
                f"if it means that there is no value, say so: `{name}: {{path: ..., nodata: {fill:.6g}}}`, where "
                "nodata is the stored value",
            ),
            filled,
        )


def _fill(values: Floats) -> float | None:
    """Return the least or greatest value, if it is repeated and far from all others."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) < 3:
        return None
    for end, rest in ((0, distinct[1:]), (-1, distinct[:-1])):
        inner = values[values != distinct[end]]
        width = float(np.subtract(*np.quantile(inner, (0.99, 0.01))))
        gap = float(np.abs(rest - distinct[end]).min())
        if counts[end] > 0.002 * len(values) and counts[end] >= 5 and gap > 2 * width > 0:
            return float(distinct[end])
    return None


def _is_elsewhere(other: Floats, filled: NDArray[np.bool_]) -> bool:
    """Return whether the other of truth and mean has usual values where the one is filled, so that it is no value."""
    low, high = np.quantile(other[~filled], (0.02, 0.98))
    return bool(low <= np.median(other[filled]) <= high)


def of_copy(variable: str, mean: Floats, truth: Floats) -> Iterator[Finding]:
    """Yield a truth that equals the prediction where neither is a bound that both are cut at."""
    if len(truth) < FEWEST:
        return
    inner = (truth > truth.min()) & (truth < truth.max())
    error = (mean - truth)[inner]
    equal = float((error == 0).mean()) if len(error) else 0.0
    if equal > MOST_EQUAL and len(np.unique(truth)) > 50 and not _is_rounding(error, equal):
        yield Finding(
            "truth equal to the prediction",
            variable,
            f"{equal:.0%} of the pixels have an error of exactly 0",
            "the truth may be the prediction, or labels that were filled in with it: name independent truth",
        )


def _is_rounding(error: Floats, equal: float) -> bool:
    """Return whether errors of 0 are hardly more frequent than the next ones, as where both layers are rounded."""
    sizes = np.abs(error[error != 0])
    if not len(sizes):
        return False
    step = float(sizes.min())
    return bool(equal < 3 * float((np.abs(error - step) < step / 2).mean()))


def of_exchange(variable: str, patches: Sequence[Patch], layer: str) -> Iterator[Finding]:
    """Yield a finding if the std or variance predicts the truth and the mean does not: they may be exchanged.

    Parameters
    ----------
    patches : sequence of Patch
        Patches with valid pixels.
    layer : str
        Key of the configuration that gives the variance.
    """
    mean, variance, truth = (joined(patches, name) for name in ("mean", "variance", "truth"))
    if layer not in ("std", "variance") or len(truth) < FEWEST:
        return
    mean, variance, truth = thinned(mean, variance, truth)
    stored = np.sqrt(variance) if layer == "std" else variance
    misfits = [float(np.sqrt(np.square(own - truth).mean())) for own in (mean, stored)]
    correlations = [pearson(own, truth) for own in (mean, stored)]
    if misfits[1] < misfits[0] / 2 and correlations[1] > max(0.5, correlations[0] + 0.2):
        yield Finding(
            f"mean and {layer} exchanged",
            variable,
            f"the {layer} is {misfits[1]:.3g} from the truth (root mean square) and correlates with it by "
            f"{correlations[1]:.2f}, the mean {misfits[0]:.3g} and {correlations[0]:.2f}",
            f"exchange the paths or bands of `mean` and `{layer}`",
        )


def of_unrelated(variable: str, mean: Floats, truth: Floats) -> Iterator[Finding]:
    """Yield a finding if the truth is far from the prediction and uncorrelated: it may be another variable."""
    if len(truth) < FEWEST or mean.min() == mean.max() or truth.min() == truth.max():
        return
    away, correlation = abs(float(mean.mean() - truth.mean())), pearson(mean, truth)
    if away > FAR_AWAY * max(float(mean.std()), float(truth.std())) and abs(correlation) < UNRELATED:
        yield Finding(
            "truth of something else",
            variable,
            f"truth and prediction correlate by {correlation:.2f}, and their means are {truth.mean():.4g} and "
            f"{mean.mean():.4g}",
            "one of them may be another variable: correct its path or band",
        )


def of_training(evaluated: Sequence[str], trained_on: Sequence[str]) -> Iterator[Finding]:
    """Yield the tiles that are evaluated although the model has seen them."""
    known = set(trained_on)
    if seen := [name for name in evaluated if name in known]:
        shown = ", ".join(seen[:5]) + (", ..." if len(seen) > 5 else "")
        yield Finding(
            "training tiles",
            "tiles",
            f"{len(seen)} of {len(evaluated)} tiles are among `training_tiles`: {shown}",
            "errors are smaller there than elsewhere: leave them out of `tiles`, or name them in `splits`",
        )


def of_order(patches: Mapping[str, Sequence[Patch]]) -> Iterator[tuple[Finding, tuple[str, ...]]]:
    """Yield predictions that fit the truth of another variable better than their own, and their variables.

    patches : by variable, of one model.
    """
    names = [name for name, own in patches.items() if sum(patch.n for patch in own) >= FEWEST]
    if len(names) < 2:
        return
    fits = [[_fit_of_patches(patches[a], patches[b]) for b in names] for a in names]
    misfit, correlation = np.moveaxis(np.array(fits), -1, 0)
    best = np.nanargmin(np.where(np.isnan(misfit), np.inf, misfit), axis=1)
    moved = [
        i for i, j in enumerate(best) if misfit[i, j] < 0.7 * misfit[i, i] and correlation[i, j] > LEAST_CORRELATION
    ]
    if moved and sorted(best[moved]) == moved:
        shown = ", ".join(f"{names[i]} predicts the truth of {names[best[i]]}" for i in moved)
        odd = tuple(names[i] for i in moved)
        yield (
            Finding(
                "bands in another order",
                ", ".join(odd),
                f"the prediction named {shown} better than its own",
                "name the variables in the order of the bands, or give each its `band`",
            ),
            odd,
        )


def _fit_of_patches(predicted: Sequence[Patch], true: Sequence[Patch]) -> tuple[float, float]:
    """Return the root mean squared error per std of the truth, and the correlation, of a mean and another's truth."""
    places = {(patch.tile, patch.place): patch for patch in true}
    pairs = [(patch.mean, places[key].truth) for patch in predicted if (key := (patch.tile, patch.place)) in places]
    mean, truth = (np.concatenate([pair[i].ravel() for pair in pairs]) if pairs else np.empty(0) for i in (0, 1))
    both = np.isfinite(mean) & np.isfinite(truth)
    scale = float(joined(true, "truth").std())
    if not both.any() or not scale:
        return float("nan"), 0.0
    return float(np.sqrt(np.square((mean - truth)[both]).mean())) / scale, pearson(mean[both], truth[both])
