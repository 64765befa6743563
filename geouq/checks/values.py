"""Checks of values: nodata that no header declares, and a truth that is the prediction."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from geouq.checks.finding import Finding
from geouq.checks.pixels import FEWEST, joined
from geouq.checks.sample import Patch

Floats = NDArray[np.float64]
# that people write where nothing is known, and that few variables reach
CODES = (-9999.0, -99999.0, -999.0, -99.0, 9999.0, 99999.0, -32768.0, 32767.0, 65535.0, 255.0, -128.0)
MOST_EQUAL = 0.2  # share of errors of exactly 0


def of_nodata(variable: str, patches: Sequence[Patch], layer: str) -> Iterator[tuple[Finding, NDArray[np.bool_]]]:
    """Yield values that stand for nodata without being declared, and which of the pixels that count hold them."""
    layers = {"mean": joined(patches, "mean"), "truth": joined(patches, "truth")}
    if len(layers["truth"]) < FEWEST:
        return
    variance = joined(patches, "variance")
    layers[layer if layer == "std" else "variance"] = np.sqrt(variance) if layer == "std" else variance
    for name, values in layers.items():
        fill = _fill(values)
        if fill is None:
            continue
        filled = values == fill
        other = layers.get({"truth": "mean", "mean": "truth"}.get(name, ""))
        if fill not in CODES and other is not None and not _is_elsewhere(other, filled):
            continue
        yield (
            Finding(
                "undeclared nodata",
                variable,
                f"{filled.mean():.1%} of the {name} is {fill:.6g}, far from all other values",
                f"if it means that there is no value, declare it in a new file: gdal_translate -of VRT "
                f"-a_nodata {fill:.6g} FILE.tif FILE.vrt, with `drivers: [VRT, GTiff]`",
            ),
            filled,
        )


def _fill(values: Floats) -> float | None:
    """Return the least or greatest value, if it is repeated and far from all others."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) < 3:
        return None
    for end, rest in ((0, distinct[1:]), (-1, distinct[:-1])):
        inner = values[values != distinct[end]]
        width = float(np.subtract(*np.quantile(inner, (0.99, 0.01))))
        gap = float(np.abs(rest - distinct[end]).min())
        if counts[end] > 0.002 * len(values) and counts[end] >= 5 and gap > 2 * width > 0:
            return float(distinct[end])
    return None


def _is_elsewhere(other: Floats, filled: NDArray[np.bool_]) -> bool:
    """Return whether the other of truth and mean has usual values where the one is filled, so that it is no value."""
    low, high = np.quantile(other[~filled], (0.02, 0.98))
    return bool(low <= np.median(other[filled]) <= high)


def of_copy(variable: str, mean: Floats, truth: Floats) -> Iterator[Finding]:
    """Yield a truth that equals the prediction where neither is a bound that both are cut at."""
    if len(truth) < FEWEST:
        return
    inner = (truth > truth.min()) & (truth < truth.max())
    error = (mean - truth)[inner]
    equal = float((error == 0).mean()) if len(error) else 0.0
    if equal > MOST_EQUAL and len(np.unique(truth)) > 50 and not _is_rounding(error, equal):
        yield Finding(
            "truth equal to the prediction",
            variable,
            f"{equal:.0%} of the pixels have an error of exactly 0",
            "the truth may be the prediction, or labels that were filled in with it: name independent truth",
        )


def _is_rounding(error: Floats, equal: float) -> bool:
    """Return whether errors of 0 are hardly more frequent than the next ones, as where both layers are rounded."""
    sizes = np.abs(error[error != 0])
    if not len(sizes):
        return False
    step = float(sizes.min())
    return bool(equal < 3 * float((np.abs(error - step) < step / 2).mean()))
