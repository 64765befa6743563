"""Checks of the predicted variance: a std in its place, another scale, a constant, or few values."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.doctor.finding import Finding
from geouq.doctor.pixels import FEWEST, joined, thinned
from geouq.doctor.sample import Patch

Floats = NDArray[np.float64]
FEW_VALUES = 16
GROUPS = 5  # of equal count, by the predicted std and by the mean, in each of which errors are compared with the std
FITS, MISFITS = np.log(1.3), np.log(2.0)  # largest log ratio of errors and std in any group
POWERS = (-3, -2, -1, 1, 2, 3)  # of ten, of a scale that no header declares
POWER_FITS = np.log(1.15)
Reading = Callable[[Floats, Floats], Floats]  # the std, from the stored values and the mean
AS_WRITTEN: Mapping[str, Reading] = {"variance": lambda v, _: np.sqrt(v), "std": lambda s, _: s}
RELATIVE: Mapping[str, Reading] = {
    "std relative to the mean": lambda s, mean: s * np.abs(mean),
    "std in per cent of the mean": lambda s, mean: s * np.abs(mean) / 100,
}
OTHER_READINGS: Mapping[str, Mapping[str, Reading]] = {
    "variance": {"std": AS_WRITTEN["std"]},
    "std": {"variance": AS_WRITTEN["variance"], **RELATIVE},
}
REMEDIES = {
    "std": "if so, write `std:` in the place of `variance:` in `data`",
    "variance": "if so, write `variance:` in the place of `std:` in `data`",
}
TO_A_FILE = "if so, write the std in the units of the mean to a new file"


def of_spread(variable: str, patches: Sequence[Patch], layer: str) -> Iterator[Finding]:
    """Yield findings about the values of one predicted variance; layer : the key of the configuration that gives it."""
    name, stored = stored_spread(patches, layer)
    if len(stored) < FEWEST:
        return
    values = np.unique(stored)
    if len(values) == 1:
        yield Finding(
            "constant variance",
            variable,
            f"all of {len(stored)} pixels have the {name} {values[0]:.4g}",
            "no metric can show whether it follows the errors; map what the model predicts for each pixel",
        )
    elif len(values) <= FEW_VALUES:
        shown = ", ".join(f"{value:.4g}" for value in values[:4])
        yield Finding(
            "few distinct variances",
            variable,
            f"the {name} of {len(stored)} pixels has {len(values)} values, {shown} ...",
            f"the {name} may be rounded, or of classes: write it as float32, and request no more bins than values",
        )


def stored_spread(patches: Sequence[Patch], layer: str) -> tuple[str, Floats]:
    """Return the name of the layer for messages, and its values as the file holds them."""
    variance = joined(patches, "variance")
    return ("std", np.sqrt(variance)) if layer in ("std", "interval") else ("variance", variance)


def of_reading(variable: str, mean: Floats, truth: Floats, variance: Floats, layer: str) -> Iterator[Finding]:
    """Yield another reading of the stored values under which the errors are as large as predicted everywhere.

    A forecast that is over-confident by one factor everywhere is no finding, unless the factor is a power of ten.
    """
    if layer not in OTHER_READINGS or len(variance) < FEWEST or len(np.unique(variance)) == 1:
        return
    mean, truth, variance = thinned(mean, truth, variance)
    stored = np.sqrt(variance) if layer == "std" else variance
    error = mean - truth - (mean - truth).mean()
    groups = [*_groups(stored), *_groups(mean)]
    written = _misfit(error, AS_WRITTEN[layer](stored, mean), groups)
    if max(abs(written.size), written.shape) < MISFITS or not np.isfinite(written.shape):
        return
    others = {name: _misfit(error, read(stored, mean), groups) for name, read in OTHER_READINGS[layer].items()}
    name, other = min(others.items(), key=lambda one: one[1].worst)
    if other.worst < FITS and other.shape < min(0.5 * written.shape, written.shape - 0.08):
        yield _finding(name, layer, variable, written, other)
        return
    yield from _of_power(variable, layer, written)


def _of_power(variable: str, layer: str, written: "_Misfit") -> Iterator[Finding]:
    """Yield a std that would fit the errors everywhere after division by a power of ten."""
    power = int(np.round(written.size / np.log(10)))
    if power in POWERS and abs(written.size - power * np.log(10)) < POWER_FITS and written.shape < FITS:
        times = 10 ** abs(power)
        factor = f"{times} times" if power > 0 else f"1/{times} of"
        scale = 10.0 ** (power if layer == "std" else 2 * power)
        yield Finding(
            f"{layer} of another scale",
            variable,
            f"the errors are {factor} the predicted std, at each size of the std and the mean",
            f"it may be in another unit, or its header may lack the scale {scale:g}; {TO_A_FILE}",
        )


def _finding(name: str, layer: str, variable: str, written: "_Misfit", other: "_Misfit") -> Finding:
    return Finding(
        f"{name} stored as {layer}",
        variable,
        f"errors are {np.exp(written.size):.3g} times the predicted std, unevenly over sizes of the std and the mean; "
        f"if the file holds a {name}, they are {np.exp(other.size):.3g} times the std at each size of both",
        REMEDIES.get(name, TO_A_FILE),
    )


@dataclass(frozen=True)
class _Misfit:
    """Log ratio of the rms of errors and std: its mean over groups, and the largest difference of a group from that."""

    size: float
    shape: float

    @property
    def worst(self) -> float:
        return abs(self.size) + self.shape


def _misfit(error: Floats, std: Floats, groups: Sequence[NDArray[np.bool_]]) -> _Misfit:
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = [np.square(error[group]).mean() / np.square(std[group]).mean() for group in groups]
        logs = np.log(squares) / 2
    if not np.isfinite(logs).all():
        return _Misfit(np.inf, np.inf)
    return _Misfit(float(logs.mean()), float(np.abs(logs - logs.mean()).max()))


def _groups(values: Floats) -> list[NDArray[np.bool_]]:
    """Return groups of about equal count, from low to high, without empty ones."""
    edges = np.quantile(values, np.linspace(0, 1, GROUPS + 1)[1:-1])
    place = np.searchsorted(edges, values, side="right")
    return [group for k in range(GROUPS) if (group := place == k).any()]
