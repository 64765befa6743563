"""Checks of names: bands in another order than named, and tiles that the model has been trained on."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from geouq.checks.finding import Finding
from geouq.checks.pixels import FEWEST, joined, pearson
from geouq.checks.sample import Patch

Floats = NDArray[np.float64]
LEAST_CORRELATION = 0.3  # of a prediction and the truth of another variable


def of_training(evaluated: Sequence[str], trained_on: Sequence[str]) -> Iterator[Finding]:
    """Tiles that are evaluated although the model has seen them."""
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
    fits = [[_fit(patches[a], patches[b]) for b in names] for a in names]
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


def _fit(predicted: Sequence[Patch], true: Sequence[Patch]) -> tuple[float, float]:
    """Return the root mean squared error per std of the truth, and the correlation, of a mean and another's truth."""
    places = {(patch.tile, patch.place): patch for patch in true}
    pairs = [(patch.mean, places[key].truth) for patch in predicted if (key := (patch.tile, patch.place)) in places]
    mean, truth = (np.concatenate([pair[i].ravel() for pair in pairs]) if pairs else np.empty(0) for i in (0, 1))
    both = np.isfinite(mean) & np.isfinite(truth)
    scale = float(joined(true, "truth").std())
    if not both.any() or not scale:
        return float("nan"), 0.0
    return float(np.sqrt(np.square((mean - truth)[both]).mean())) / scale, pearson(mean[both], truth[both])
