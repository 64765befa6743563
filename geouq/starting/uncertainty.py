"""Guess what a layer named only uncertainty is: a std, a variance, a share of the mean, or half an interval."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from geouq.starting.guess import Entry, Guess
from geouq.starting.look import FEWEST, band_of, header_of, values_of
from geouq.starting.words import ROLE, WEAK_ROLE, tokens

Floats = NDArray[np.float64]
STANDARD_ERROR = "standard_error"
OF_SPREADS = ("std", "variance", "relative_std")
NORMAL_MEDIAN = 0.6744897501960817  # of |z|
FITS, OFF = 1.5, 2.0  # largest factor of an accepted reading, and of a std that is kept
HALF_95 = 0.51  # std / half width of a 95 % interval
# the std from stored values u and the mean m, the key of the configuration, and the unit
READINGS: Mapping[str, tuple[Callable[[Floats, Floats], Floats], str, str]] = {
    "a variance": (lambda u, _: np.sqrt(u), "variance", ""),
    "a share of the mean": (lambda u, m: u * np.abs(m), "relative_std", "1"),
    "per cent of the mean": (lambda u, m: u * np.abs(m) / 100, "relative_std", "%"),
}
QUESTION = "only called uncertainty, taken as a std: check that it is no variance, no half width of an interval"


def with_meaning(guess: Guess) -> Guess:
    """Return the guess with a layer named only uncertainty read as the errors suggest, and with a question."""
    if "std" not in guess.known() or not _is_unclear(guess):
        return guess
    errors = _errors(guess)
    if errors is None:
        return _asked(guess, f"{QUESTION} and no share of the mean")
    mean, error, stored = errors
    factor = _factor(error, stored)
    factors = {name: _factor(error, read(stored, mean)) for name, (read, _, _) in READINGS.items()}
    name = min(factors, key=lambda one: abs(np.log(factors[one])))
    if not 1 / OFF < factor < OFF and 1 / FITS < factors[name] < FITS:
        why = f"only called uncertainty: errors are {factor:.2g} times such a std, {factors[name]:.2g} times {name}"
        return _read_as(guess, f"{why}: please check", *READINGS[name][1:])
    half = f"; half widths of 95 % intervals are a std with scale: {HALF_95}" if factor < 1 / FITS else ""
    return _asked(guess, f"{QUESTION} and no share of the mean; errors are {factor:.2g} times such a std{half}")


def _asked(guess: Guess, question: str) -> Guess:
    return guess.with_layer("std", question)


def _read_as(guess: Guess, why: str, key: str, units: str) -> Guess:
    """Return the guess with the std under another key."""
    layers = {(key if old == "std" else old): entry for old, entry in guess.layers.items()}
    variables = {
        name: {(key if old == "std" else old): own for old, own in settings.items()}
        for name, settings in guess.variables.items()
    }
    value = {**guess.layers["std"].value, **({"units": units} if units else {})}
    return replace(guess, layers={**layers, key: Entry(value, why)}, variables=variables)


def _is_unclear(guess: Guess) -> bool:
    """Return whether the name of the layer has a word for uncertainty, but no word for a specific measure."""
    entry = guess.layers["std"]
    if STANDARD_ERROR in entry.why:
        return False
    text = str(entry.value.get("variable", entry.value.get("band", ""))) or guess.pattern("std")
    if any("std" in settings for settings in guess.variables.values()):
        text = header_of(guess, "std").bands[band_of(guess, "std") - 1].description
    words = [word.lower() for word in tokens(text)]
    is_certain = any(ROLE.get(word) in OF_SPREADS for word in words)
    return not is_certain and any(WEAK_ROLE.get(word) == "std" for word in words)


def _errors(guess: Guess) -> tuple[Floats, Floats, Floats] | None:
    """Return mean, error and stored uncertainty of some pixels; None if they are too few or a layer is missing."""
    keys = ("mean", "std", "truth")
    if any(key not in guess.known() for key in keys):
        return None
    if len({header_of(guess, key).grid.shape for key in keys}) > 1:
        return None
    mean, stored, true = (values_of(guess, key) * guess.layers[key].value.get("scale", 1) for key in keys)
    both = np.isfinite(mean) & np.isfinite(true) & (stored > 0)
    if both.sum() < FEWEST:
        return None
    return mean[both], np.abs(true - mean)[both], stored[both]


def _factor(error: Floats, std: Floats) -> float:
    """Return the robust ratio of the errors to a std, never 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.nanmedian(error / std)) / NORMAL_MEDIAN
    return ratio if np.isfinite(ratio) and ratio > 0 else np.finfo(float).tiny
