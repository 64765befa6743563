"""Doubts about the predicted variance: a std in its place, a constant, or one of few values."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from geouq.doctor.sample import Patch
from geouq.doctor.suspicion import Suspicion

Floats = NDArray[np.float64]
LEVELS = np.array([0.5, 0.8, 0.95])
NORMAL = np.array([0.674490, 1.281552, 1.959964])  # half widths of a standard normal's intervals of these levels
FEWEST = 500  # pixels without which nothing is said
FEW_VALUES = 16


def of_spread(variable: str, patches: Sequence[Patch], layer: str) -> Iterator[Suspicion]:
    """What is odd about the variances of one variable; layer : how the configuration gives them."""
    mean, variance, truth = (joined(patches, name) for name in ("mean", "variance", "truth"))
    if len(variance) < FEWEST:
        return
    values = np.unique(variance)
    if len(values) == 1:
        yield Suspicion(
            "constant variance",
            variable,
            f"all of {len(variance)} pixels have the variance {values[0]:.4g}",
            "no metric can tell whether it knows its errors; map what the model predicts for each pixel",
        )
    elif len(values) <= FEW_VALUES:
        shown = ", ".join(f"{value:.4g}" for value in values[:4])
        yield Suspicion(
            "few distinct variances",
            variable,
            f"{len(variance)} pixels have {len(values)} values, {shown} ...",
            "the variance may be rounded, or of classes: write it as float32, and ask for no more bins than values",
        )
    yield from _of_reading(variable, mean - truth, variance, layer)


def _of_reading(variable: str, error: Floats, variance: Floats, layer: str) -> Iterator[Suspicion]:
    """A std that stands where a variance should, or the other way round: errors as large as the other one tells."""
    other = {"variance": ("std", np.square), "std": ("variance", np.sqrt)}
    if layer not in other:
        return
    name, reading = other[layer]
    written, swapped = _distance(error, variance), _distance(error, reading(variance))
    if written > np.log(2) and swapped < min(np.log(1.35), written / 3):
        seen, would = _quantiles(error, variance), _quantiles(error, reading(variance))
        yield Suspicion(
            f"{name} stored as {layer}",
            variable,
            f"80 % of the errors are below {seen[1]:.3g} predicted std, {would[1]:.3g} if the file holds a {name}, "
            f"and {NORMAL[1]:.3g} in a normal forecast",
            f"if so, write `{name}:` in the place of `{layer}:` in `data`",
        )


def _quantiles(error: Floats, variance: Floats) -> Floats:
    return np.quantile(np.abs(error) / np.sqrt(variance), LEVELS)


def _distance(error: Floats, variance: Floats) -> float:
    """Largest log ratio between the quantiles of |z| and those of a normal forecast."""
    quantiles = _quantiles(error, variance)
    return float(np.abs(np.log(quantiles / NORMAL)).max()) if (quantiles > 0).all() else float("inf")


def joined(patches: Sequence[Patch], layer: str) -> Floats:
    """The pixels that count of one layer, in one row."""
    parts = [values[np.isfinite(values)] for patch in patches for values in [getattr(patch, layer)]]
    return np.concatenate(parts) if parts else np.empty(0)
