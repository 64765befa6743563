"""Colours of maps, which colour-blind readers can distinguish, and the values that they span in all tiles of a run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from geouq.metrics import Value, ideal_value
from geouq.metrics.record import AroundValue, Ratio, Span
from geouq.metrics.record import Scale as OwnScale
from geouq.summary import Summary

Rgb = tuple[int, int, int]


def _rgb(*colours: str) -> tuple[Rgb, ...]:
    return tuple((int(c[:2], 16), int(c[2:4], 16), int(c[4:], 16)) for c in colours)


def hexadecimal(colour: Rgb) -> str:
    """Return a colour as #rrggbb."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


# RdBu, PuOr and YlOrBr of ColorBrewer (Harrower and Brewer 2003), viridis of matplotlib. The light blue and the light
# violet are a little darker than there, and the steps along YlOrBr are even for readers without green cones: any two
# colours of a palette are at least 10 apart (CIEDE2000), for them and for all others.
SIGNED = _rgb("2166ac", "67a9cf", "bfdcf0", "f7f7f7", "fddbc7", "ef8a62", "b2182b")  # below, about, above
OVER_PREDICTED_BELOW = SIGNED[::-1]  # red is a prediction above the truth in all maps, also where z is below 0
OVER_CONFIDENT_ABOVE = _rgb("542788", "998ec3", "ced0e8", "f7f7f7", "fee0b6", "f1a340", "b35806")
OVER_CONFIDENT_BELOW = OVER_CONFIDENT_ABOVE[::-1]
FAULT = _rgb("ffffe5", "ffeea8", "febf4b", "f07818", "cd4d02", "9d3604", "662506")  # from none to large
SKILL = FAULT[::-1]  # from none to perfect
AMOUNT = _rgb("440154", "443a83", "31688e", "21908c", "35b779", "8fd744", "fde725")

NEUTRAL = _rgb("e0e0e0")[0]
# Okabe and Ito 2008, then two of Tol 2021
CODES = _rgb(
    "000000", "e69f00", "56b4e9", "009e73", "f0e442", "0072b2", "d55e00", "cc79a7", "882255", "332288"
)  # fmt: skip
MISSED, COVERED = _rgb("d55e00", "e0e0e0")


def colours_of_codes(codes: Sequence[str]) -> tuple[Rgb, ...]:
    """Return a colour for each code: what is as it should be is light grey.

    >>> [hexadecimal(colour) for colour in colours_of_codes(("missed", "covered"))]
    ['#d55e00', '#e0e0e0']
    >>> colours_of_codes(("wrong", "correct")) == colours_of_codes(("missed", "covered"))
    True
    """
    if tuple(codes) in (("missed", "covered"), ("wrong", "correct")):
        return MISSED, COVERED
    return NEUTRAL, *CODES[: len(codes) - 1]


SMALLEST, LARGEST = 1e-290, 1e290  # sizes that a scale spans: steps and ends of it are floats too
NARROWEST = 1e-3  # of the larger limit
OF_LEVEL = ("level", "(1-level)/2")  # ideals of coverage
TWO_SIDED: Mapping[str, tuple[Rgb, ...]] = {
    "under-prediction": OVER_PREDICTED_BELOW,
    "over-confident": OVER_CONFIDENT_ABOVE,
    "errors larger than predicted": OVER_CONFIDENT_ABOVE,
    "truth too often in the tails": OVER_CONFIDENT_ABOVE,
    "truth escapes upwards": OVER_CONFIDENT_ABOVE,
    "truth escapes downwards": OVER_CONFIDENT_ABOVE,
    "errors smaller than predicted": OVER_CONFIDENT_BELOW,
    "covers too much": OVER_CONFIDENT_BELOW,
    "covers too much in every group": OVER_CONFIDENT_BELOW,
}


@dataclass(frozen=True)
class Scale:
    """Values with a colour each; between them it changes smoothly, and beyond the ends it stays."""

    values: tuple[float, ...]
    colours: tuple[Rgb, ...]


def cell_scale(value: Value, whole: Summary) -> Scale:
    """Return the scale of a metric of cells; `value` is the metric of the whole.

    Ratios span a factor about 1, what may lie on either side of its ideal as much on both, and all else goes from 0 to
    twice the value of the whole.
    """
    metric = value.metric
    ideal, two_sided = ideal_value(metric, value.level), TWO_SIDED.get(metric.above, SIGNED)
    if metric.scale is not None:
        return _of_record(metric.scale, value, ideal or 0.0, whole, two_sided)
    if ideal is not None and metric.ideal in OF_LEVEL:
        reach = min(ideal, 1 - ideal)
        return even(ideal - reach, ideal + reach, two_sided)
    colours = FAULT if ideal == 0 or metric.above in ("worse", "std and error disagree") else AMOUNT
    return rounded(0, 2 * usable(value.value), colours)


def _of_record(scale: OwnScale, value: Value, ideal: float, whole: Summary, two_sided: Sequence[Rgb]) -> Scale:
    """Scale that the record of a metric asks for."""
    match scale:
        case Ratio(factor):
            return _about_one(factor, two_sided)
        case Span(low, high, is_signed):
            of_amounts = SKILL if ideal == high else AMOUNT
            return even(low, high, SIGNED if is_signed else of_amounts)
        case AroundValue(reach):
            middle = float(value.value) if np.isfinite(value.value) else 0.0
            return rounded(middle - reach, middle + reach, FAULT)
    if isinstance(scale.reach, float):
        return even(ideal - scale.reach, ideal + scale.reach, two_sided)
    away = usable(scale.reach(whole))
    return rounded(-away, away, two_sided)


def count_scale(most: int) -> Scale:
    """Scale of a number of pixels."""
    return rounded(0, most, AMOUNT)


def rounded(low: float, high: float, colours: Sequence[Rgb]) -> Scale:
    """Return colours at even steps of two digits that span about as much; those about 0 are symmetric.

    Limits that floats or labels cannot tell apart are moved away from each other.
    """
    low, high = (min(max(limit, -LARGEST), LARGEST) for limit in (low, high))
    least = NARROWEST * max(abs(low), abs(high), SMALLEST)
    if high - low < least:
        low, high = (low + high - least) / 2, (low + high + least) / 2
    step = float(f"{(high - low) / (len(colours) - 1):.1e}")
    first = round(low / step)
    return Scale(tuple(float(f"{(first + k) * step:.12g}") for k in range(len(colours))), tuple(colours))


def even(low: float, high: float, colours: Sequence[Rgb]) -> Scale:
    """Return the colours at even steps between limits."""
    steps = np.linspace(low, high, len(colours))
    return Scale(tuple(float(f"{step:.12g}") for step in steps), tuple(colours))


def _about_one(factor: float, colours: Sequence[Rgb]) -> Scale:
    """Return the colours at even steps of the logarithm."""
    steps = factor ** np.linspace(-1, 1, len(colours))
    return Scale(tuple(float(f"{step:.3g}") for step in steps), tuple(colours))


def usable(number: ArrayLike) -> float:
    """Return a size above 0 that a scale can span; 1 without pixels or without differences."""
    found = abs(float(np.asarray(number)))
    return min(max(found, SMALLEST), LARGEST) if math.isfinite(found) and found > 0 else 1.0
