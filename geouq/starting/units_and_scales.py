"""How values are stored, from headers and a few pixels: whole numbers without a scale, shares, classes, large files."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from geouq.config.load import TODO
from geouq.core.errors import ConfigError
from geouq.starting.guess import Entry, Guess
from geouq.starting.look import FEWEST, band_of, header_of, values_of
from geouq.starting.named_files import is_listed
from geouq.starting.uncertainty import with_meaning

LARGE = 8192  # pixels along a side, from which one file is cut into tiles
CUT = 4096
SCALED = ("mean", "std", "variance", "lower", "upper", "quantiles")
LARGEST_SHARE = 1.5  # largest std relative to the mean
OFF = 1.3  # largest ratio of truth and mean after a power of ten
PERCENT = ("%", "percent", "per cent", "pct")
Floats = NDArray[np.float64]


def with_stored_values(guess: Guess, *, is_transformed: bool = False) -> Guess:
    """Return the guess with scales, units, codes of classes, and squares of a large file.

    is_transformed : whether the mean is a logarithm or a square root, so that the truth tells nothing of its scale.
    """
    from_truth: Sequence[Callable[[Guess], Guess]] = () if is_transformed else (_scaled, with_meaning)
    for step in (_relative, *from_truth, _of_classes, _tiles):
        guess = step(guess)
    return guess


def _relative(guess: Guess) -> Guess:
    """Return a std in per cent as a relative std, and a relative std with its unit."""
    if "std" in guess.known() and _units(guess, "std") in PERCENT and _units(guess, "mean") not in PERCENT:
        layers = {("relative_std" if key == "std" else key): entry for key, entry in guess.layers.items()}
        variables = {
            name: {("relative_std" if key == "std" else key): own for key, own in settings.items()}
            for name, settings in guess.variables.items()
        }
        guess = replace(guess, layers=layers, variables=variables).with_layer("relative_std", "its unit is per cent")
    if "relative_std" in guess.known() and not _units(guess, "relative_std"):
        middle = _median(values_of(guess, "relative_std"))
        units, why = ("%", "per cent") if _is_in_percent(guess, middle) else ("1", "a share")
        guess = guess.with_layer("relative_std", f"values about {middle:.3g} are {why}: please check", units=units)
    return guess


def _is_in_percent(guess: Guess, relative: float) -> bool:
    """Return whether a relative std is in per cent, judged by errors of the mean if the truth is known."""
    if relative > LARGEST_SHARE or relative <= 0 or "mean" not in guess.known() or not _same_shape(guess, "mean"):
        return relative > LARGEST_SHARE
    mean, true = values_of(guess, "mean"), values_of(guess, "truth")
    with np.errstate(divide="ignore", invalid="ignore"):
        error = _median(np.abs(true - mean) / np.abs(mean))
    return 0 < error < relative / 10


def _same_shape(guess: Guess, key: str) -> bool:
    """Return whether the truth is known and has as many pixels as a layer."""
    return "truth" in guess.known() and header_of(guess, key).grid.shape == header_of(guess, "truth").grid.shape


def _units(guess: Guess, key: str) -> str:
    return header_of(guess, key).bands[band_of(guess, key) - 1].units.strip().lower()


def _scaled(guess: Guess) -> Guess:
    """Return whole numbers with the scale that the truth suggests, or with a comment."""
    plain = [key for key in guess.known() if key.partition(".")[0] in SCALED and _is_whole(guess, key)]
    middle = _middle(guess)
    if middle not in plain:
        return guess
    power = _power(guess, middle) if "truth" in guess.known() else None
    if power is None:
        kind = header_of(guess, middle).bands[band_of(guess, middle) - 1].dtype
        return guess.with_layer(middle, f"{kind} without a scale: of tenths, add scale: 0.1")
    if power >= 0:
        why = f"the truth is about {10.0**power:g} times as large: write its unit, or a scale"
        return guess.with_layer(middle, why) if power else guess
    for key in plain:
        factor = 10.0 ** (power * (2 if key == "variance" else 1))
        why = (
            f"the truth is about {10.0**power:g} times the stored values"
            if key == middle
            else f"as {middle}: please check"
        )
        guess = guess.with_layer(key, why, scale=float(f"{factor:g}"))
    return guess


def _middle(guess: Guess) -> str:
    """Return the layer that is as large as the truth: the mean, or the middle one of the quantiles."""
    levels = [key for key in guess.known() if key.startswith("quantiles.")]
    return "mean" if "mean" in guess.known() or not levels else levels[len(levels) // 2]


def _is_whole(guess: Guess, key: str) -> bool:
    """Return whether a layer holds whole numbers, and no scale is known."""
    band = header_of(guess, key).bands[band_of(guess, key) - 1]
    return np.dtype(band.dtype).kind in "iu" and not band.scaled and "scale" not in guess.layers[key].value


def _power(guess: Guess, middle: str) -> int | None:
    """Return the power of ten by which the truth differs from the stored mean or median; None where none fits."""
    if not _same_shape(guess, middle):
        return None
    mean, true = values_of(guess, middle), values_of(guess, "truth")
    both = np.isfinite(mean) & np.isfinite(true)
    if both.sum() < FEWEST or np.sum(mean[both]) == 0:
        return None
    ratio = float(np.sum(true[both]) / np.sum(mean[both]))
    if ratio <= 0:
        return None
    power = round(np.log10(ratio))
    return power if abs(np.log(ratio / 10.0**power)) < np.log(OFF) else None


def _median(values: Floats) -> float:
    return float(np.nanmedian(values)) if np.isfinite(values).any() else 0.0


def _of_classes(guess: Guess) -> Guess:
    """Return probabilities with the codes of their classes in the truth."""
    if "probabilities" not in guess.layers:
        return guess
    raster = header_of(guess, "probabilities")
    names = list(raster.variables)
    why = "write the code of each class in the truth, such as {forest: 1, water: 2}, in the order of the bands"
    codes: dict[str, int] | str = TODO
    if "truth" in guess.known():
        found = values_of(guess, "truth")
        seen = set(np.unique(found[np.isfinite(found)]).tolist())
        if any(code % 1 for code in seen):
            raise ConfigError(
                f"{guess.path('probabilities')}: its bands add up as probabilities of classes do, but the truth holds "
                "no codes of classes; write the configuration by hand"
            )
        first = next((start for start in (1, 0) if seen and seen <= set(range(start, start + len(names)))), None)
        if first is not None:
            codes = {name: first + i for i, name in enumerate(names)}
            why = f"the truth has codes from {first} on; please check their order"
    return replace(guess, data={**guess.data, "class_codes": Entry(codes, why)})


def _tiles(guess: Guess) -> Guess:
    """Return the guess with squares of a large file, or the names of tiles that cannot be listed."""
    key = next(iter(guess.known()))
    if "tiles" in guess.others:
        return guess
    if guess.tiles and not is_listed(guess.path(key)):
        return guess.with_other("tiles", list(guess.tiles), "tiles in an archive or on a server cannot be listed")
    rows, columns = header_of(guess, key).grid.shape
    if not guess.tiles and max(rows, columns) > LARGE:
        return guess.with_other("tiles", {"grid": CUT}, f"one file of {rows} x {columns} pixels, cut into squares")
    return guess
