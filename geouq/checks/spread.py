"""Checks of the predicted variance: a std in its place, another scale, a constant, or few values."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.checks.sample import FEWEST, Finding, Patch, joined, thinned

Floats = NDArray[np.float64]
FEW_VALUES = 16
GROUPS = 5  # of equal count, by the predicted std and by the mean; errors are compared with the std in each
FITS = np.log(1.3)  # largest log ratio of errors and std in any group
LEAST_GAIN = 0.08  # of the shape: a reading must be better than the configured one by this much
FAR = np.log(4)  # log ratio of errors and std that is no over-confidence of a model
FARTHEST = np.log(8)  # log ratio of errors and std that is reported whatever the reason
POWERS = (-3, -2, -1, 1, 2, 3)  # of ten, of a scale that no header declares
POWER_FITS = np.log(1.15)
Places = NDArray[np.intp]  # the group of each pixel
Reading = Callable[[Floats, Floats], Floats]  # the std, from the stored values and the mean
AS_WRITTEN: Mapping[str, Reading] = {"variance": lambda v, _: np.sqrt(v), "std": lambda s, _: s}
KINDS = {"relative_std": "std"}  # after it is multiplied by the mean
RELATIVE: Mapping[str, Reading] = {
    "std relative to the mean": lambda s, mean: s * np.abs(mean),
    "std in per cent of the mean": lambda s, mean: s * np.abs(mean) / 100,
}
OTHER_READINGS: Mapping[str, Mapping[str, Reading]] = {
    "variance": {"std": AS_WRITTEN["std"]},
    "std": {"variance": AS_WRITTEN["variance"], **RELATIVE},
    "relative_std": {},
}
REMEDIES = {
    "std": "if so, write `std:` in the place of `variance:` in `data`",
    "variance": "if so, write `variance:` in the place of `std:` in `data`",
    "std relative to the mean": 'if so, write `relative_std: {path: ..., units: "1"}` in the place of `std:` in `data`',
    "std in per cent of the mean": 'if so, write `relative_std: {path: ..., units: "%"}` in the place of `std:`',
}
OR_A_UNIT = "; if not, it may be in another unit, or its header may lack a scale"
A_SCALE = "if so, write it: `{path: ..., scale: ...}`"


@dataclass(frozen=True)
class _Misfit:
    """Log ratios of the rms of errors and std, of each group."""

    logs: Floats

    @property
    def size(self) -> float:
        """Return the mean over groups."""
        return float(self.logs.mean())

    @property
    def shape(self) -> float:
        """Return the largest difference of a group from the mean."""
        return float(np.abs(self.logs - self.size).max())

    @property
    def worst(self) -> float:
        """Return how badly the std fits: the size of the factor plus the misfit of the shape."""
        return abs(self.size) + self.shape

    def __str__(self) -> str:
        return f"{np.exp(self.logs.min()):.3g} to {np.exp(self.logs.max()):.3g}"


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
    return ("std", np.sqrt(variance)) if layer in ("std", "relative_std", "interval") else ("variance", variance)


def of_reading(variable: str, mean: Floats, truth: Floats, variance: Floats, layer: str) -> Iterator[Finding]:
    """Yield another reading of the stored values under which the errors are as large as predicted everywhere.

    A forecast that is over-confident by one factor everywhere is no finding, unless the factor is a power of ten.
    """
    if layer not in OTHER_READINGS or len(variance) < FEWEST or len(np.unique(variance)) == 1:
        return
    mean, truth, variance = thinned(mean, truth, variance)
    stored = variance if layer == "variance" else np.sqrt(variance)
    error = mean - truth - (mean - truth).mean()
    groups = [_groups(stored), _groups(mean)]
    written = _misfit(error, AS_WRITTEN[KINDS.get(layer, layer)](stored, mean), groups)
    if written is None:
        return
    misfits = {name: _misfit(error, read(stored, mean), groups) for name, read in OTHER_READINGS[layer].items()}
    others = {name: other for name, other in misfits.items() if other}
    name, other = min(others.items(), key=lambda one: one[1].worst, default=("", written))
    if name and _explains(other, written):
        yield _finding(name, layer, variable, written, other)
    else:
        yield from list(_of_power(variable, layer, written, name, other)) or _of_size(variable, layer, written)


def _explains(other: _Misfit, written: _Misfit) -> bool:
    """Return whether another reading fits everywhere, or is far nearer to the errors than the written one.

    Either must follow the errors over sizes of the std and the mean much better: a factor alone may be the model's.
    """
    gain = written.shape - other.shape
    if gain < LEAST_GAIN:
        return False
    fits = other.worst < FITS and other.shape < 0.5 * written.shape
    is_nearer = abs(other.size) < 0.25 * abs(written.size) and other.shape < 0.6 * written.shape
    return bool(fits or (abs(written.size) > FAR and is_nearer))


def _of_power(variable: str, layer: str, written: _Misfit, name: str, other: _Misfit) -> Iterator[Finding]:
    """Yield a std that would fit the errors everywhere after division by a power of ten.

    `other` is the misfit of the reading called `name`, which the message names where it fits on average.
    """
    power = int(np.round(written.size / np.log(10)))
    if power in POWERS and abs(written.size - power * np.log(10)) < POWER_FITS and written.shape < FITS:
        times = 10 ** abs(power)
        factor = f"{times} times" if power > 0 else f"1/{times} of"
        scale = 10.0 ** (2 * power if layer == "variance" else power)
        reading = f"; if the file holds a {name}, {other} times the std" if abs(other.size) < FITS else ""
        yield Finding(
            f"{layer} of another scale",
            variable,
            f"the errors are {factor} the predicted std ({written} times, by size of the std and of the mean{reading})",
            f"it may be in another unit, or its header may lack the scale {scale:g}; {A_SCALE}",
        )


def _of_size(variable: str, layer: str, written: _Misfit) -> Iterator[Finding]:
    """Yield that the std is far from the errors, where no other reading and no power of ten explains it."""
    if abs(written.size) > FARTHEST:
        yield Finding(
            f"{layer} far from the errors",
            variable,
            f"the errors are {np.exp(written.size):.3g} times the predicted std ({written} times, by size of the std "
            "and of the mean)",
            f"few models are that wrong: check the unit and the scale of `{layer}`, and whether the file holds another "
            "kind of uncertainty; if all are right, the prediction is as wrong as this",
        )


def _finding(name: str, layer: str, variable: str, written: _Misfit, other: _Misfit) -> Finding:
    return Finding(
        f"{name} stored as {layer}",
        variable,
        f"the errors are {written} times the predicted std, by size of the std and of the mean; if the file holds a "
        f"{name}, they are {other} times the std",
        REMEDIES.get(name, A_SCALE) + (OR_A_UNIT if abs(written.size) > FAR else ""),
    )


def _misfit(error: Floats, std: Floats, groups: Sequence[Places]) -> _Misfit | None:
    """Return the misfit of a std, None where a group has a std or errors of 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = [_sums(np.square(error), places) / _sums(np.square(std), places) for places in groups]
        logs = np.log(np.concatenate(ratios)) / 2
    return _Misfit(logs) if np.isfinite(logs).all() else None


def _sums(values: Floats, places: Places) -> Floats:
    """Return the sum of each group that has pixels."""
    sums = np.bincount(places, values).astype(np.float64)
    return sums[np.bincount(places) > 0]


def _groups(values: Floats) -> Places:
    """Return the group of each value, from low to high, of about equal count."""
    edges = np.quantile(values, np.linspace(0, 1, GROUPS + 1)[1:-1])
    return np.searchsorted(edges, values, side="right")
