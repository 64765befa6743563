"""Check the few pixels that `geouq check` reads for its table of layers, without compiled code."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from geouq.checks.examine import CHECKS, of_patches
from geouq.checks.sample import Finding, Known, Patch
from geouq.checks.values import NEARLY_ALL, nothing_counts, of_nothing
from geouq.config import Experiment, Variable, key_of
from geouq.core.distribution import real_moments
from geouq.core.failures import isolated
from geouq.core.gaussian import half_width
from geouq.core.overflow import overflow_is_missing
from geouq.core.wording import counted
from geouq.rasters.predictions import Prediction
from geouq.reading.decoded import Doubles
from geouq.reading.glance import Glimpse


@overflow_is_missing()
def examine_glimpses(experiment: Experiment, glimpses: Sequence[Glimpse]) -> list[Finding]:
    """Return the findings in the pixels that were read for a table of layers."""
    patches = [patch for glimpse in glimpses for patch in _patches(glimpse)]
    found = of_patches(experiment, [glimpse.tile for glimpse in glimpses], patches) if patches else []
    if not found:  # an inverted mask also leaves no valid pixel
        for name in dict.fromkeys(patch.variable for patch in patches):
            found += of_nothing(name, [patch for patch in patches if patch.variable == name])
    return found + of_forms(glimpses)


def of_forms(glimpses: Sequence[Glimpse]) -> list[Finding]:
    """Return the findings in layers of ensembles, quantiles and classes."""
    found: list[Finding] = []
    with isolated(CHECKS, "layers of forms"):
        found += [*_without_values(glimpses), *_of_quantiles(glimpses)]
    return found


def _patches(glimpse: Glimpse) -> Iterator[Patch]:
    """Yield the variables that are given by mean and variance."""
    tile = glimpse.tile
    for variable in tile.variables:
        prediction = tile.predictions[variable.model]
        if isinstance(prediction, Prediction):
            known = _known(glimpse, variable, prediction)
            yield Patch.of(tile.name, variable.name, glimpse.place, known)


def _known(glimpse: Glimpse, variable: Variable, prediction: Prediction) -> Known:
    """Return the layers of a variable; its variance has the sign of the stored spread."""
    bands = glimpse.tile.bands_of(variable)
    pixels = {layer: glimpse.pixels[layer, band] for layer, band in bands.items()}
    own = {layer: pixels[key_of(variable.model, layer)] for layer in prediction.rasters}
    ends = (own["lower"], own["upper"]) if prediction.spread == "interval" else ()
    spread = _std(own, prediction)
    variance = own["variance"] if prediction.spread == "variance" else spread * np.abs(spread)
    variance = np.where(variance > 0, variance + _noise(pixels, variable), variance)
    mean = own["mean"]
    if not variable.distributed.is_normal:
        mean, variance = real_moments(variable.distributed, mean, variance)
    return Known(mean, variance, pixels["truth"], _hidden(glimpse, pixels), ends)


def _std(own: dict[str, Doubles], prediction: Prediction) -> Doubles:
    """Return the predicted std, negative where the stored one is."""
    if prediction.spread == "interval":
        return (own["upper"] - own["lower"]) / (2 * half_width(prediction.level or 0.5))
    return own[prediction.spread] * (np.abs(own["mean"]) if prediction.spread == "relative_std" else 1)


def _noise(pixels: dict[str, Doubles], variable: Variable) -> Doubles | float:
    """Return the error variance of the truth."""
    if "truth_variance" in pixels:
        return pixels["truth_variance"]
    if "truth_std" in pixels:
        return np.square(pixels["truth_std"])
    if "truth_relative_std" in pixels:
        return np.square(pixels["truth_relative_std"] * pixels["truth"])
    return variable.noise or 0.0


def _hidden(glimpse: Glimpse, pixels: dict[str, Doubles]) -> NDArray[np.bool_]:
    """Return which pixels the mask excludes."""
    mask, raster = pixels.get("mask"), glimpse.tile.mask
    if mask is None or raster is None:
        return np.zeros(pixels["truth"].shape, np.bool_)
    return np.isnan(mask) | (mask == 0 if raster.rule is None else ~raster.rule.counts(mask))


def _without_values(glimpses: Sequence[Glimpse]) -> Iterator[Finding]:
    """Yield a finding for each layer of ensembles, quantiles and classes, or their truth, without a value."""
    if any(isinstance(own, Prediction) for glimpse in glimpses for own in glimpse.tile.predictions.values()):
        return
    parts: dict[tuple[str, str], list[Doubles]] = {}
    for glimpse in glimpses:
        for layer in glimpse.layers:
            parts.setdefault((layer.variable.variable, layer.name), []).append(glimpse.values(layer))
    tiles = counted(len({glimpse.tile.name for glimpse in glimpses}), "tile")
    for (variable, name), own in parts.items():
        if all(np.isnan(part).all() for part in own):
            pixels = f"{sum(part.size for part in own)} pixels of {tiles}"
            yield nothing_counts(variable, pixels, f"{name} has no value in any of them")


def _of_quantiles(glimpses: Sequence[Glimpse]) -> Iterator[Finding]:
    """Yield a finding if a lower quantile has higher or equal values nearly everywhere."""
    for glimpse in glimpses[:1]:
        for variable in glimpse.tile.variables:
            layers = [own for own in glimpse.layers if own.variable == variable and "quantiles" in own.name]
            layers.sort(key=lambda own: float(own.name.rpartition("quantiles")[2][1:]))
            for low, high in pairwise(layers):
                difference = glimpse.values(high) - glimpse.values(low)
                known = difference[np.isfinite(difference)]
                if len(known) and (share := float((known <= 0).mean())) >= NEARLY_ALL:
                    is_equal = bool((known == 0).mean() >= NEARLY_ALL)
                    yield Finding(
                        "quantiles that are equal" if is_equal else "quantiles in another order",
                        variable.name,
                        f"{high.name} is {'' if is_equal else 'less than or '}equal to {low.name} in {share:.0%} of "
                        f"{len(known)} pixels of tile {glimpse.tile.name}",
                        "give each level the file or band that holds it; a run sorts quantiles that cross",
                    )
