"""Check values: a negative or zero spread, reversed ends of an interval, and no valid pixel."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from geouq.checks.sample import FEWEST, Finding, Known, Patch

Floats = NDArray[np.float64]
NEARLY_ALL = 0.95  # share of the pixels
EXCLUDE = "exclude"  # rule of the configuration for negative variances
TO_EXCLUDE = "`variance: {negative: exclude}`"
NO_PIXEL = "no pixel counts"  # kind of a finding


def of_signs(variable: str, patches: Sequence[Patch], layer: str, rule: str) -> Iterator[Finding]:
    """Yield a finding if the spread is negative or 0; rule : how the configuration treats negative variances."""
    parts = [(patch.tile, _spread(patch.known, layer)) for patch in patches]
    values = np.concatenate([part for _, part in parts]) if parts else np.empty(0)
    below, zero = int((values < 0).sum()), int((values == 0).sum())
    if below > (NEARLY_ALL * len(values) if rule == EXCLUDE else 0):
        tile, lowest = min(((name, float(part.min())) for name, part in parts if len(part)), key=lambda one: one[1])
        share = f"in tile {tile}; {below} of {len(values)} pixels are below 0"
        yield _reversed(variable, share) if layer == "interval" else _negative(variable, layer, lowest, share, values)
    elif zero >= NEARLY_ALL * len(values) > 0:
        name = {"interval": "width of the interval", "layers": "std of the members"}.get(layer, layer)
        remedies = {"interval": "`lower` and `upper`", "layers": "the members"}
        own = remedies.get(layer, "it")
        yield Finding(
            f"{name} of 0",
            variable,
            f"the {name} is 0 in {zero} of {len(values)} pixels of {_tiles(patches)}, none of which counts",
            f"name the files or bands that hold {own}; if these are integers, their headers may lack a scale",
        )


def _negative(variable: str, layer: str, lowest: float, share: str, values: Floats) -> Finding:
    fill = np.unique(values[values < 0])
    nodata = (
        f"write `{layer}: {{path: ..., nodata: {fill[0]:.6g}}}` (as stored) if that means no value, "
        if len(fill) == 1
        else ""
    )
    return Finding(
        f"negative {layer}",
        variable,
        f"the {layer} is {lowest:.6g} {share}",
        f"name the file and band that hold it; {nodata}or leave such pixels out with {TO_EXCLUDE}",
    )


def _reversed(variable: str, share: str) -> Finding:
    return Finding(
        "lower above upper",
        variable,
        f"`upper` less `lower` is negative {share}",
        f"exchange the two paths or bands, or leave such pixels out with {TO_EXCLUDE}",
    )


def _spread(known: Known, layer: str) -> Floats:
    """Return the signed stored spread of unmasked pixels that have a value."""
    variance = known.variance
    values = variance if layer == "variance" else np.sign(variance) * np.sqrt(np.abs(variance))
    if layer == "relative_std":
        values = np.divide(values, np.abs(known.mean), out=np.full(values.shape, np.nan), where=known.mean != 0)
    return values[np.isfinite(values) & ~known.hidden]


def of_nothing(variable: str, patches: Sequence[Patch]) -> Iterator[Finding]:
    """Yield a finding if no pixel of a variable has values of all layers; it names a layer without any value."""
    known = [patch.known for patch in patches]
    if not known or any(_is_complete(one).any() for one in known):
        return
    shown = {"truth": "truth", "mean": "mean", "variance": "spread"}  # without a truth, no other layer is read
    without = next((name for layer, name in shown.items() if not _has_values(known, layer)), "")
    if all(one.hidden.all() for one in known):
        evidence = "a mask leaves out all of them"
    elif without:
        evidence = f"the {without} has no value in any of them"
    else:
        evidence = "each layer has values, but not where the others have some"
    yield nothing_counts(variable, f"{sum(one.truth.size for one in known)} pixels of {_tiles(patches)}", evidence)


def of_mask_share(variable: str, patches: Sequence[Patch]) -> Iterator[Finding]:
    """Yield a finding if a mask leaves out nearly all pixels that have all values, but not all."""
    complete = [(_is_complete(one, masked=True), one.hidden) for one in (patch.known for patch in patches)]
    total = sum(int(own.sum()) for own, _ in complete)
    hidden = sum(int((own & mask).sum()) for own, mask in complete)
    if total >= FEWEST and NEARLY_ALL * total <= hidden < total:
        yield Finding(
            "most pixels masked",
            variable,
            f"of {total} pixels of {_tiles(patches)} that have all values, a mask leaves out {hidden}",
            "look at its values: 0 and nodata leave a pixel out unless `keep` or `bits` say otherwise",
        )


def nothing_counts(variable: str, pixels: str, evidence: str) -> Finding:
    """Return the finding that no pixel in the sample is valid."""
    return Finding(
        NO_PIXEL,
        variable,
        f"of {pixels}, none has values of all layers: {evidence}",
        "check its file, band, nodata value and mask, unless only other parts of the map have values",
    )


def _is_complete(known: Known, *, masked: bool = False) -> NDArray[np.bool_]:
    """Return which pixels have all values, whatever the sign of the spread; masked : masked ones too."""
    has_values = np.isfinite((known.mean, known.variance, known.truth)).all(0)
    return has_values & (masked | ~known.hidden)


def _has_values(known: Sequence[Known], layer: str) -> bool:
    return any(np.isfinite(getattr(one, layer)).any() for one in known)


def _tiles(patches: Sequence[Patch]) -> str:
    names = list(dict.fromkeys(patch.tile for patch in patches))
    return f"tile {names[0]}" if len(names) == 1 else f"tiles {', '.join(names[:3])}{' ...' if names[3:] else ''}"
