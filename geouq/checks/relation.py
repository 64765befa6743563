"""How truth and prediction relate: other units, a scale factor that no header declares, or a transformed variable.

A relation is judged from the joint distribution of the two, not from a ratio of medians: the ratio of their means,
which an unbiased forecast of any skill and skewness keeps, the slope and spread on a log scale, and their correlation.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.checks.sample import FEWEST, Finding, pearson, spread, thinned

Floats = NDArray[np.float64]
FACTORS: Mapping[float, str] = {10.0**power: f"{10**power}" for power in range(1, 7)} | {
    3.28084: "3.28 (feet per metre)"
}
FACTOR_TOLERANCE = 0.12  # of the logarithm of the ratio of means
SLOPE_TOLERANCE = 0.2  # of the logarithm of the slope of the truth on the prediction
OTHER_FACTOR = 3.0  # from which a ratio is more than a bias, if prediction and truth are proportional
CLEAR_FACTOR = 5.0  # of units, beyond which it is hardly a bias
OUT_OF_PROPORTION = 1e6  # a ratio of medians that no forecast has
LEAST_CORRELATION, SURE_CORRELATION = 0.3, 0.6  # for such a factor, and for any other
SPREADS = {"log": (0.45, 2.2), "linear": (0.7, 1.4)}  # in proportion, least and greatest
# names of the units, factor and offset of the first from the second
TEMPERATURES = (
    (("kelvin", "degrees Celsius"), 1.0, 273.15),
    (("degrees Fahrenheit", "degrees Celsius"), 1.8, 32.0),
)
OFFSET_TOLERANCE = 5.0
TRANSFORMS: Mapping[str, tuple[Callable[[Floats], Floats], float]] = {  # and above which values they are known
    "log": (np.log, 0.0),
    "log1p": (np.log1p, -1.0),
    "log10": (np.log10, 0.0),
    "sqrt": (np.sqrt, 0.0),
    "10 log1p": (lambda values: 10 * np.log1p(values), -1.0),  # as integers, in some products
}
SCALES = {  # what reads such values: a transform, and the scales of the mean or std, and of a variance
    "log10": ("log", "2.302585", "5.301898"),
    "10 log1p": ("log1p", "0.1", "0.01"),
}
PREFERENCE = 0.95  # of a function, which has no free factor
UNITS = (
    "write the unit of the layer, and that of the variable, or the scale: `{path: ..., units: ...}`, or "
    "`{path: ..., scale: ...}`"
)


@dataclass(frozen=True)
class _Relation:
    """One way in which the truth may follow from the prediction.

    residual : robust, per spread of the truth; 0 where the relation needs no comparison with others.
    """

    kind: str
    evidence: str
    remedy: str
    residual: float


def of_relation(variable: str, mean: Floats, truth: Floats) -> Iterator[Finding]:
    """Yield the best relation of truth and prediction other than equality, if there is one.

    Parameters
    ----------
    mean, truth : float64 (pixels)
        Pixels that count, without undeclared nodata.
    """
    if len(truth) < FEWEST or mean.min() == mean.max() or truth.min() == truth.max():
        return
    m, t = thinned(mean, truth)
    found = [*_transforms(m, t), *_factors(m, t), *_offsets(m, t)] or list(_out_of_proportion(m, t))
    if found:
        best = min(found, key=lambda one: one.residual)
        yield Finding(best.kind, variable, best.evidence, best.remedy)


def _residual(predicted: Floats, true: Floats) -> float:
    return float(np.median(np.abs(true - predicted))) / (spread(true) or np.inf)


def _out_of_proportion(mean: Floats, truth: Floats) -> Iterator[_Relation]:
    """Yield a prediction that is larger than the truth by a factor that nothing else explains."""
    predicted, true = float(np.median(np.abs(mean))), float(np.median(np.abs(truth)))
    if true > 0 and predicted > OUT_OF_PROPORTION * true:
        yield _Relation(
            "prediction out of proportion",
            f"the median of the prediction is {predicted:.3g}, and the median of the truth {true:.3g}",
            "if the variable has a `transform`, leave that out, or give mean and std of the transformed variable; if "
            f"not, {UNITS}",
            0.0,
        )


def _factors(mean: Floats, truth: Floats) -> Iterator[_Relation]:
    """Yield a truth that is proportional to the prediction with a factor other than 1."""
    if not mean.mean() * truth.mean() > 0:
        return
    ratio, slope = float(truth.mean() / mean.mean()), _slope(mean, truth)
    known = next((f for f in FACTORS if _is_factor(f, ratio, slope)), None)
    is_clear = known is not None and known > CLEAR_FACTOR
    if known is None and max(ratio, 1 / ratio) < OTHER_FACTOR:
        return
    if not is_clear and (ratio * mean - truth).std() > 0.7 * (mean - truth).std():  # a bias explains as much
        return
    factor = _signed(known, ratio) if known and is_clear else ratio
    joint = _joint(mean, truth, factor)
    is_certain = is_clear and _is_certain(factor, ratio, slope, pearson(mean, truth))
    if is_certain or joint.is_proportional(LEAST_CORRELATION if is_clear else SURE_CORRELATION):
        larger, smaller = ("truth", "prediction") if ratio > 1 else ("prediction", "truth")
        times = FACTORS[known] if known else f"{max(ratio, 1 / ratio):.3g}"
        yield _Relation(
            "different units" if known else "different scale",
            f"the {larger} is {times} times the {smaller}: means {truth.mean():.4g} (truth) and {mean.mean():.4g}, "
            f"slope {slope:.3g}, {joint}",
            f"{UNITS if known else f'name the right band, or {UNITS}'}",
            0.0 if is_certain else _residual(factor * mean, truth),
        )


def _is_certain(factor: float, ratio: float, slope: float, correlation: float) -> bool:
    """Return whether both the ratio of means and the slope are the factor, whatever the joint distribution."""
    agrees = _near(ratio, factor, FACTOR_TOLERANCE) and _near(slope, factor, SLOPE_TOLERANCE)
    return agrees and correlation > LEAST_CORRELATION


def _is_factor(factor: float, ratio: float, slope: float) -> bool:
    """Return whether a unit factor agrees with the ratio of means, or with the slope and roughly with the ratio.

    Of few independent pixels, or of values on both sides of 0, the ratio of means is uncertain.
    """
    signed = _signed(factor, ratio)
    by_slope = factor > CLEAR_FACTOR and _near(slope, signed, SLOPE_TOLERANCE) and _near(ratio, signed, np.log(2))
    return by_slope or _near(ratio, signed, FACTOR_TOLERANCE)


def _signed(factor: float, ratio: float) -> float:
    """Return the factor of the truth, below 1 where the prediction is the larger one."""
    return factor if ratio > 1 else 1 / factor


def _near(value: float, factor: float, tolerance: float) -> bool:
    return value > 0 and bool(abs(np.log(value / factor)) < tolerance)


def _slope(mean: Floats, truth: Floats) -> float:
    """Return the slope of the truth on the prediction, 1 for a calibrated forecast whatever its skill."""
    return pearson(mean, truth) * float(truth.std() / mean.std())


@dataclass(frozen=True)
class _Joint:
    """Joint distribution of prediction and truth.

    spreads : that of the truth by that of the prediction, which is multiplied by the ratio of means on a linear scale.
    off : factor between the geometric and the arithmetic ratio, 1 on a linear scale.
    """

    scale: str
    correlation: float
    spreads: float
    off: float = 1.0

    def is_proportional(self, least: float) -> bool:
        """Return whether slope 1 is among the slopes that noise in either leaves possible."""
        if self.correlation < least or not 0.25 < self.off < 4:
            return False
        lowest, highest = self.correlation * self.spreads, self.spreads / self.correlation
        narrow, wide = SPREADS[self.scale]
        return narrow < self.spreads < wide and lowest < 1.3 and highest > 1 / 1.3

    def __str__(self) -> str:
        return (
            f"spreads in proportion {self.spreads:.2f} and correlation {self.correlation:.2f} on a {self.scale} scale"
        )


def _joint(mean: Floats, truth: Floats, ratio: float) -> _Joint:
    """Return the joint distribution, on a log scale if hardly any pixel is negative and enough are positive in both."""
    both = (mean > 0) & (truth > 0)
    negative = ((mean < 0) | (truth < 0)).mean()
    if negative > 0.02 or both.sum() < max(FEWEST, 0.3 * len(both)):
        return _Joint("linear", pearson(mean, truth), float(truth.std() / (abs(ratio) * mean.std())))
    x, y = np.log(mean[both]), np.log(truth[both])
    off = float(np.exp(np.median(y - x))) / ratio
    return _Joint("log", pearson(x, y), spread(y) / (spread(x) or np.inf), off)


def _offsets(mean: Floats, truth: Floats) -> Iterator[_Relation]:
    """Yield kelvin against degrees Celsius, and degrees Fahrenheit against degrees Celsius."""
    for name, other, (x, y) in (("truth", "prediction", (mean, truth)), ("prediction", "truth", (truth, mean))):
        for (units, others), factor, offset in TEMPERATURES:
            converted = factor * x + offset
            near = abs(float((y - converted).mean())) < max(OFFSET_TOLERANCE, 0.5 * float(y.std()))
            far = abs(float((y - x).mean())) > 2 * float(x.std())
            spreads = float(y.std() / converted.std())
            if near and far and 0.6 < spreads < 1.6 and pearson(x, y) > LEAST_CORRELATION:
                yield _Relation(
                    "different units",
                    f"the {name} is {factor:g} times the {other} plus {offset:g} (means {y.mean():.4g} and "
                    f"{x.mean():.4g}), as {units} and {others} differ",
                    UNITS,
                    _residual(converted, y),
                )


def _transforms(mean: Floats, truth: Floats) -> Iterator[_Relation]:
    """Yield a truth that is a function of the predicted variable, or the other way round."""
    if not _differs(mean, truth):
        return
    for name, (x, y) in {"truth": (mean, truth), "prediction": (truth, mean)}.items():
        for function, (transform, above) in TRANSFORMS.items():
            inside = x > above
            if inside.mean() < 0.9 or x[inside].min() == x[inside].max():
                continue
            f, own, written = transform(x[inside]), y[inside], x[inside]
            if _agrees(f, own):
                other = "prediction" if name == "truth" else "truth"
                yield _Relation(
                    f"transformed {name}",
                    f"the {name} is about {function} of the {other}: means {own.mean():.4g} and "
                    f"{f.mean():.4g} after {function}, {written.mean():.4g} before",
                    _remedy(name, function),
                    PREFERENCE * _residual(f, own),
                )


def _remedy(name: str, function: str) -> str:
    if name == "truth":
        return "evaluate both in the same variable: write the truth to a new file in the variable of the prediction"
    transform, scale, square = SCALES.get(function, (function, "", ""))
    more = f", and `scale: {scale}` below mean and std (`scale: {square}` below a variance)" if scale else ""
    return f"if mean and spread are of the transformed variable, write `transform: {transform}` below it{more}"


def _differs(x: Floats, y: Floats) -> bool:
    """Return whether two layers cannot be the same variable, by their places or spreads."""
    apart = abs(float(y.mean() - x.mean())) > 2 * max(x.std(), y.std())
    return bool(apart or abs(np.log(y.std() / x.std())) > np.log(5))  # less may be regression to the mean


def _agrees(x: Floats, y: Floats) -> bool:
    """Return whether two layers have one place and spread and vary together."""
    correlation, spreads = pearson(x, y), float(y.std() / x.std())
    near = abs(float(y.mean() - x.mean())) < 0.6 * max(x.std(), y.std())
    return bool(near and correlation > 0.5 and correlation * spreads < 1.25 and spreads / correlation > 0.8)
