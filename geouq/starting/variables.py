"""Names, units and bands of the variables, and the band of the truth of each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from geouq.core.naming import reads_as_missing
from geouq.core.wording import one_line
from geouq.rasters.raster import Raster
from geouq.starting.guess import Guess
from geouq.starting.layers_as_bands import Predicted, role_of, truth_bands
from geouq.starting.look import header_of
from geouq.starting.words import truth_mark

MOST_WRITTEN = 3  # variables that are written where their bands say the same
NO_NAME = "no name is given: rename it"


def with_variables(guess: Guess) -> Guess:
    """Return the guess with its variables, as bands and arrays describe them."""
    truth = header_of(guess, "truth") if "truth" in guess.known() else None
    if any("mean" in own for own in guess.variables.values()):
        return _of_bands(guess, truth)
    if guess.variables:
        return _of_array(guess)
    if "mean" in guess.known() and "band" in guess.layers["mean"].value:
        return _of_truth(guess, truth)
    if "mean" in guess.known() or "members" in guess.known():
        return _of_files(guess, truth)
    return _of_truth(guess, truth)


def _of_bands(guess: Guess, truth: Raster | None) -> Guess:
    """Return variables with a band of each layer."""
    raster = header_of(guess, "mean")
    predicted = [
        Predicted("" if name.isdecimal() and len(guess.variables) == 1 else name, own)
        for name, own in guess.variables.items()
    ]
    given = [one.bands["truth"] for one in predicted if "truth" in one.bands]
    bands = given or (truth_bands(predicted, truth) if truth else [0] * len(predicted))
    variables = {
        name_of(one, truth, band): {
            **one.bands,
            **({"truth": band} if band else {}),
            **_units(raster, one.bands["mean"]),
        }
        for one, band in zip(predicted, bands, strict=True)
    }
    return replace(guess, variables=variables, why_variables=_check(list(variables), truth))


def _of_array(guess: Guess) -> Guess:
    raster = header_of(guess, "mean")
    return replace(guess, variables={name: _units(raster, 1) for name in guess.variables})


def _of_files(guess: Guess, truth: Raster | None) -> Guess:
    """Return the variables of files with one layer, whose bands are variables."""
    if "members" in guess.layers and "{member}" not in str(guess.layers["members"].value["path"]):
        return _of_truth(guess, truth)
    key = "mean" if "mean" in guess.layers else "members"
    raster = header_of(guess, key)
    names = raster.variables
    described = ", ".join(
        one_line(f"{name} ({units})" if (units := raster.bands[n - 1].units) else name) for name, n in names.items()
    )
    if len(names) > MOST_WRITTEN and (truth is None or len(truth.variables) > 1):
        return replace(guess, notes=(*guess.notes, f"variables, as the bands are described: {described}"))
    if len(names) == 1:
        return _of_truth(guess, truth, raster)
    variables = {kept_name(name, n): {"band": n, **_units(raster, n)} for name, n in names.items()}
    return replace(guess, variables=variables, why_variables=_check(list(variables), truth))


def _of_truth(guess: Guess, truth: Raster | None, raster: Raster | None = None) -> Guess:
    """Return the only variable, with the name and unit that prediction or truth give it."""
    rasters = [own for own in (raster, truth) if own is not None and len(own.variables) == 1]
    names = [own.bands[0].description for own in rasters if _is_named(own, is_truth=own is truth)]
    name = next((own for own in names if not reads_as_missing(own)), "band_1")
    units = next((own.bands[0].units for own in rasters if own.bands[0].units), "")
    why = _check([name], truth) if name in names else NO_NAME
    if truth is not None and len(truth.variables) > 1:
        why = "the truth has several bands: write truth: with the number of the right one"
    return replace(guess, variables={name: {"units": units} if units else {}}, why_variables=why)


def _is_named(raster: Raster, *, is_truth: bool) -> bool:
    """Return whether the description of the only band may name a variable; the word truth, of a truth, does not."""
    name = raster.bands[0].description
    return name in raster.variables and not (is_truth and (truth_mark(name) or role_of(name)[0]))


def _units(raster: Raster, band: int) -> dict[str, Any]:
    units = raster.bands[band - 1].units
    return {"units": units} if units else {}


def _check(variables: Sequence[str], truth: Raster | None) -> str:
    """Return a comment if the only band of the truth may belong to another variable; empty if it does not."""
    if truth is None or len(truth.bands) != 1:
        return ""
    described = one_line(truth.bands[0].description or "")
    if len(variables) > 1:
        return f"the truth has one band ({described or 'not described'}): keep its variable alone, and add truth: 1"
    if not described or variables[0].casefold() in described.casefold():
        return ""
    return f"the only band of the truth is described as {described}: check that it is the truth of {variables[0]}"


def name_of(one: Predicted, truth: Raster | None, band: int) -> str:
    """Return the name of a variable: of the prediction, of the band of its truth, or the position of its mean."""
    if one.name and not one.name.isdecimal():
        return kept_name(one.name, one.bands["mean"])
    if truth is None:
        return kept_name("", one.bands["mean"])
    described: Mapping[int, str] = {number: name for name, number in truth.variables.items()}
    own = truth.bands[band - 1].description
    return kept_name(own if described[band] == own and not truth_mark(own) else "", one.bands["mean"])


def kept_name(name: str, band: int) -> str:
    """Return a name, or the name of the band if programs that read tables take the name for a missing value.

    >>> kept_name("height", 2), kept_name("NULL", 2), kept_name("", 2)
    ('height', 'band_2', 'band_2')
    """
    return f"band_{band}" if reads_as_missing(name) else name
