"""Doubts about values: units, nodata that is not declared, and a truth that is the prediction."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from geouq.doctor.sample import Patch
from geouq.doctor.spread import FEWEST, joined
from geouq.doctor.suspicion import Suspicion

Floats = NDArray[np.float64]
LAYERS = ("truth", "mean", "variance")


def of_values(variable: str, patches: Sequence[Patch]) -> Iterator[Suspicion]:
    """What is odd about the values of one variable."""
    mean, truth = joined(patches, "mean"), joined(patches, "truth")
    if len(truth) < FEWEST:
        return
    fills = {layer: fill for layer in LAYERS if (fill := _fill(joined(patches, layer))) is not None}
    for layer, fill in fills.items():
        share = float((joined(patches, layer) == fill).mean())
        yield Suspicion(
            "undeclared nodata",
            variable,
            f"{share:.1%} of the {layer} is {fill:.6g}, far from all other values",
            f"if that says that nothing is known, declare it in the file: gdal_edit.py -a_nodata {fill:.6g} FILE",
        )
    kept = np.ones(len(truth), np.bool_)
    for layer, fill in fills.items():
        kept &= joined(patches, layer) != fill
    yield from _of_units(variable, mean[kept], truth[kept])
    yield from _of_copy(variable, mean[kept], truth[kept])


def _fill(values: Floats) -> float | None:
    """The least or greatest value, where it is repeated and far from all others; None where that is not so."""
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


def _of_units(variable: str, mean: Floats, truth: Floats) -> Iterator[Suspicion]:
    """A truth that is 10, 100 or 1000 times the prediction in place and in spread, or the other way round."""
    if len(truth) < FEWEST:
        return
    (low_m, mid_m, high_m), (low_t, mid_t, high_t) = (np.quantile(v, (0.25, 0.5, 0.75)) for v in (mean, truth))
    spread_m, spread_t = high_m - low_m, high_t - low_t
    if not (spread_m > 0 and spread_t > 0 and mid_m * mid_t > 0):
        return
    place, spread = np.log10(mid_t / mid_m), np.log10(spread_t / spread_m)
    power = int(np.round(place))
    if power and abs(power) <= 3 and abs(place - power) < 0.18 and abs(spread - power) < 0.45:
        larger, smaller = ("truth", "prediction") if power > 0 else ("prediction", "truth")
        yield Suspicion(
            "different units",
            variable,
            f"the {larger} is {10 ** abs(power)} times the {smaller}: medians {mid_t:.4g} (truth) and {mid_m:.4g}",
            "bring both to one unit, for example by the scale in the file's header: gdal_edit.py -scale FACTOR FILE",
        )


def _of_copy(variable: str, mean: Floats, truth: Floats) -> Iterator[Suspicion]:
    """A truth that equals the prediction where neither is a bound that both are cut at."""
    if len(truth) < FEWEST:
        return
    inner = (truth > truth.min()) & (truth < truth.max())
    equal = float((mean == truth)[inner].mean()) if inner.any() else 0.0
    if equal > 0.2 and len(np.unique(truth)) > 50:
        yield Suspicion(
            "truth equal to the prediction",
            variable,
            f"{equal:.0%} of the pixels have an error of exactly 0",
            "the truth may be the prediction, or the labels that were filled in with it: name independent truth",
        )
