"""Doubts about names: bands in another order than named, and tiles that the model has been trained on."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from geouq.doctor.sample import Patch
from geouq.doctor.spread import FEWEST, joined
from geouq.doctor.suspicion import Suspicion

Floats = NDArray[np.float64]


def of_training(evaluated: Sequence[str], trained_on: Sequence[str]) -> Iterator[Suspicion]:
    """Tiles that are evaluated although the model has seen them."""
    known = set(trained_on)
    if seen := [name for name in evaluated if name in known]:
        shown = ", ".join(seen[:5]) + (", ..." if len(seen) > 5 else "")
        yield Suspicion(
            "training tiles",
            "tiles",
            f"{len(seen)} of {len(evaluated)} tiles are among `training_tiles`: {shown}",
            "errors are smaller there than elsewhere: leave them out of `tiles`, or name them in `splits`",
        )


def of_order(patches: Mapping[str, Sequence[Patch]]) -> Iterator[Suspicion]:
    """Predictions that fit the truth of another variable better than their own, each that of one other.

    patches : by variable, of one model.
    """
    names = [name for name, own in patches.items() if sum(patch.n for patch in own) >= FEWEST]
    if len(names) < 2:
        return
    misfit = np.array([[_misfit(patches[a], patches[b]) for b in names] for a in names])
    best = np.nanargmin(np.where(np.isnan(misfit), np.inf, misfit), axis=1)
    moved = [i for i, j in enumerate(best) if misfit[i, j] < 0.7 * misfit[i, i]]
    if moved and sorted(best[moved]) == moved:
        said = ", ".join(f"{names[i]} predicts the truth of {names[best[i]]}" for i in moved)
        yield Suspicion(
            "bands in another order",
            ", ".join(names[i] for i in moved),
            f"the prediction named {said} better than its own",
            "name the variables in the order of the bands, or give each its `band`",
        )


def _misfit(predicted: Sequence[Patch], true: Sequence[Patch]) -> float:
    """Root mean squared error of one variable's mean as a prediction of another's truth, per std of that."""
    places = {(patch.tile, patch.place): patch for patch in true}
    pairs = [(patch.mean, places[key].truth) for patch in predicted if (key := (patch.tile, patch.place)) in places]
    if not pairs:
        return float("nan")
    errors = np.concatenate([(mean - truth)[np.isfinite(mean - truth)] for mean, truth in pairs])
    scale = float(joined(true, "truth").std())
    return float(np.sqrt(np.square(errors).mean())) / scale if len(errors) and scale else float("nan")
