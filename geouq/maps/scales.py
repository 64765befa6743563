"""Which values the colours of a map span: limits that mean something, the same for all tiles of a run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from geouq.maps import palette
from geouq.maps.palette import Rgb
from geouq.metrics import Value, ideal_value
from geouq.metrics.record import AroundValue, Ratio, Span
from geouq.metrics.record import Scale as OwnScale
from geouq.summary import Summary

SMALLEST, LARGEST = 1e-290, 1e290  # sizes that a scale spans: steps and ends of it are floats too
NARROWEST = 1e-3  # of the larger limit
OF_LEVEL = ("level", "(1-level)/2")  # ideals of coverage
CONFIDENCE: Mapping[str, tuple[Rgb, ...]] = {
    "over-confident": palette.OVER_CONFIDENT_ABOVE,
    "errors larger than predicted": palette.OVER_CONFIDENT_ABOVE,
    "truth too often in the tails": palette.OVER_CONFIDENT_ABOVE,
    "truth escapes upwards": palette.OVER_CONFIDENT_ABOVE,
    "truth escapes downwards": palette.OVER_CONFIDENT_ABOVE,
    "errors smaller than predicted": palette.OVER_CONFIDENT_BELOW,
    "covers too much": palette.OVER_CONFIDENT_BELOW,
    "covers too much in every group": palette.OVER_CONFIDENT_BELOW,
}


@dataclass(frozen=True)
class Scale:
    """Values with a colour each; between them it changes smoothly, and beyond the ends it stays."""

    values: tuple[float, ...]
    colours: tuple[Rgb, ...]


def cell_scale(value: Value, whole: Summary) -> Scale:
    """Scale of a metric of cells, of which `value` is that of the whole.

    Ratios span a factor about 1, what may lie on either side of its ideal as much on both, and all else goes from 0 to
    twice the value of the whole.
    """
    metric = value.metric
    ideal, two_sided = ideal_value(metric, value.level), CONFIDENCE.get(metric.above, palette.SIGNED)
    if metric.scale is not None:
        return _of_record(metric.scale, value, ideal or 0.0, whole, two_sided)
    if ideal is not None and metric.ideal in OF_LEVEL:
        reach = min(ideal, 1 - ideal)
        return even(ideal - reach, ideal + reach, two_sided)
    colours = palette.FAULT if ideal == 0 or metric.above in ("worse", "std and error disagree") else palette.AMOUNT
    return rounded(0, 2 * usable(value.value), colours)


def _of_record(scale: OwnScale, value: Value, ideal: float, whole: Summary, two_sided: Sequence[Rgb]) -> Scale:
    """Scale that the record of a metric asks for."""
    match scale:
        case Ratio(factor):
            return _about_one(factor, two_sided)
        case Span(low, high, is_signed):
            return even(low, high, palette.SIGNED if is_signed else palette.AMOUNT)
        case AroundValue(reach):
            middle = float(value.value) if np.isfinite(value.value) else 0.0
            return rounded(middle - reach, middle + reach, palette.FAULT)
    if isinstance(scale.reach, float):
        return even(ideal - scale.reach, ideal + scale.reach, two_sided)
    away = usable(scale.reach(whole))
    return rounded(-away, away, two_sided)


def count_scale(most: int) -> Scale:
    """Scale of a number of pixels."""
    return rounded(0, most, palette.AMOUNT)


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
    """Colours at even steps between limits."""
    steps = np.linspace(low, high, len(colours))
    return Scale(tuple(float(f"{step:.12g}") for step in steps), tuple(colours))


def _about_one(factor: float, colours: Sequence[Rgb]) -> Scale:
    """Colours at even steps of the logarithm."""
    steps = factor ** np.linspace(-1, 1, len(colours))
    return Scale(tuple(float(f"{step:.3g}") for step in steps), tuple(colours))


def usable(number: ArrayLike) -> float:
    """Return a size above 0 that a scale can span; 1 where there is no pixel, or nothing to be told apart."""
    found = abs(float(np.asarray(number)))
    return min(max(found, SMALLEST), LARGEST) if math.isfinite(found) and found > 0 else 1.0
