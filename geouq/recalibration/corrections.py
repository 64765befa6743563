"""What turns a normal forecast of a pixel into a better one: frozen values with a few numbers each.

Every correction gives `moments`, the mean and variance of the corrected forecast, and `quantile`, its quantiles. Arrays
are float64 of any shape, variances positive or NaN. All are increasing: of two variances the larger stays the larger.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import SummaryError
from geouq.core.gaussian import half_width, quantile

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]


class Correction(Protocol):
    """A corrected forecast of each pixel; `tails` states what holds beyond the pixels that it was fitted on."""

    method: ClassVar[str]
    tails: ClassVar[str]
    moves_mean: ClassVar[bool]

    def moments(self, mean: Floats, variance: Floats) -> Pair:
        """Return the mean and variance of the corrected forecast."""

    def quantile(self, probability: float, mean: Floats, variance: Floats) -> Floats:
        """Return the quantile of the corrected forecast."""


class Normal(ABC):
    """A corrected forecast that is normal again."""

    moves_mean: ClassVar[bool] = False

    @abstractmethod
    def moments(self, mean: Floats, variance: Floats) -> Pair:
        """Return the mean and variance of the corrected forecast."""

    def quantile(self, probability: float, mean: Floats, variance: Floats) -> Floats:
        """Return the quantile of the normal forecast with the corrected mean and variance."""
        mean, variance = self.moments(mean, variance)
        return mean + quantile(probability) * np.sqrt(variance)


@dataclass(frozen=True)
class Unchanged(Normal):
    """The forecast as it is."""

    method: ClassVar[str] = "none"
    tails: ClassVar[str] = "nothing is changed"

    def moments(self, mean: Floats, variance: Floats) -> Pair:
        """Return the same mean and variance."""
        return mean, variance


@dataclass(frozen=True)
class Scale(Normal):
    """Variance times a factor (Laves 2021, arXiv 2104.12376)."""

    factor: float
    method: ClassVar[str] = "scale"
    tails: ClassVar[str] = "one factor for all variances"

    def moments(self, mean: Floats, variance: Floats) -> Pair:
        """Return the same mean; the variance times the factor."""
        return mean, self.factor * variance


@dataclass(frozen=True)
class ScaleBias(Normal):
    """Mean less a bias, and variance times a factor."""

    bias: float
    factor: float
    method: ClassVar[str] = "scale_bias"
    tails: ClassVar[str] = "one bias and one factor for all pixels"
    moves_mean: ClassVar[bool] = True

    def moments(self, mean: Floats, variance: Floats) -> Pair:
        """Return the mean less the bias; the variance times the factor."""
        return mean - self.bias, self.factor * variance


@dataclass(frozen=True)
class Affine(Normal):
    """Variance times a slope plus an intercept, both >= 0."""

    slope: float
    intercept: float
    method: ClassVar[str] = "affine"
    tails: ClassVar[str] = "one line for all variances"

    def moments(self, mean: Floats, variance: Floats) -> Pair:
        """Return the same mean; slope times variance plus intercept."""
        return mean, self.slope * variance + self.intercept


@dataclass(frozen=True)
class IsotonicVariance(Normal):
    """Observed mean squared error as a function of the variance that never falls, straight lines in logarithms.

    variances, errors : knots, predicted variance (increasing) and mean squared error (never falling), all positive.
    """

    variances: tuple[float, ...]
    errors: tuple[float, ...]
    method: ClassVar[str] = "isotonic_variance"
    tails: ClassVar[str] = "below the first knot and above the last the variance is times that knot's factor"

    def moments(self, mean: Floats, variance: Floats) -> Pair:
        """Return the same mean; the variance that the knots tell."""
        x, y = np.log(self.variances), np.log(self.errors)
        at = np.log(variance)
        beyond = np.minimum(at - x[0], 0.0) + np.maximum(at - x[-1], 0.0)
        return mean, np.exp(np.interp(at, x, y) + beyond)


@dataclass(frozen=True)
class Isotonic:
    """An increasing map R of the forecast's distribution function (Kuleshov 2018, arXiv 1807.00263).

    The corrected forecast is mean + std T, with one T for all pixels: the distribution of z of those fitted on. It is
    not normal; `moments` are its mean and variance.

    z, scores : knots, z and the standard normal quantile of R(PIT of z), both increasing; straight lines between them.
    z_mean, z_std : moments of T.
    """

    z: tuple[float, ...]
    scores: tuple[float, ...]
    z_mean: float
    z_std: float
    method: ClassVar[str] = "isotonic"
    tails: ClassVar[str] = "beyond the first and last knot quantiles go on like those of a normal with z_std"
    moves_mean: ClassVar[bool] = True

    def moments(self, mean: Floats, variance: Floats) -> Pair:
        """Return the mean and variance of mean + std T."""
        return mean + self.z_mean * np.sqrt(variance), self.z_std**2 * variance

    def quantile(self, probability: float, mean: Floats, variance: Floats) -> Floats:
        """Return the value y with R(PIT of y) = probability."""
        return mean + self.standard_quantile(probability) * np.sqrt(variance)

    def standard_quantile(self, probability: float) -> float:
        """Return the quantile of T."""
        score = quantile(probability)
        if not self.z:
            return self.z_mean + self.z_std * score
        beyond = min(score - self.scores[0], 0.0) + max(score - self.scores[-1], 0.0)
        return float(np.interp(score, self.scores, self.z)) + self.z_std * beyond

    def scores_of(self, z: Floats) -> Floats:
        """Return the standard normal quantile of R(PIT of z): a normal z where the correction is right."""
        if not self.z:
            return (z - self.z_mean) / self.z_std
        beyond = np.minimum(z - self.z[0], 0.0) + np.maximum(z - self.z[-1], 0.0)
        return np.interp(z, self.z, self.scores) + beyond / self.z_std


@dataclass(frozen=True)
class Conformal:
    """Central intervals mean -+ multiple x std, a multiple for each level (split conformal prediction on |z|).

    level : the one whose interval the corrected variance gives exactly. guaranteed : of each level, whether coverage of
    pixels exchangeable with those fitted on is at least the level.
    """

    levels: tuple[float, ...]
    multiples: tuple[float, ...]
    guaranteed: tuple[bool, ...]
    level: float
    method: ClassVar[str] = "conformal"
    tails: ClassVar[str] = "multiples beyond the outermost edge of the z histogram are those of a normal through it"
    moves_mean: ClassVar[bool] = False

    def moments(self, mean: Floats, variance: Floats) -> Pair:
        """Return the same mean; the variance of the normal whose central interval of `level` is the conformal one."""
        return mean, (self.multiple(self.level) / half_width(self.level)) ** 2 * variance

    def quantile(self, probability: float, mean: Floats, variance: Floats) -> Floats:
        """Return an end of the interval of one of the levels, or the mean; SummaryError for any other probability."""
        if probability == 0.5:
            return mean
        side = 1 if probability > 0.5 else -1
        return mean + side * self.multiple(abs(2 * probability - 1)) * np.sqrt(variance)

    def multiple(self, level: float) -> float:
        """Half width of the interval of a level in std; SummaryError where the level was not fitted."""
        for known, multiple in zip(self.levels, self.multiples, strict=True):
            if round(known - level, 12) == 0:
                return multiple
        fitted = ", ".join(map(str, self.levels))
        raise SummaryError(f"conformal intervals were fitted for the levels {fitted}, not for {level:.6g}")


Single = Unchanged | Scale | ScaleBias | Affine | IsotonicVariance | Isotonic | Conformal
SINGLE: tuple[type[Single], ...] = (Unchanged, Scale, ScaleBias, Affine, IsotonicVariance, Isotonic, Conformal)


@dataclass(frozen=True)
class ByGroup:
    """A correction for each of some groups of pixels, and one for all other pixels.

    layer : key of the regions (classes or polygons) that are the groups. groups : by name. codes : of classes, which
    name each code has.
    """

    layer: str
    groups: Mapping[str, Single]
    otherwise: Single
    codes: Mapping[int, str]
    method: ClassVar[str] = "by_group"

    @property
    def tails(self) -> str:
        """Return the rule of the correction of each group."""
        return f"pixels in no group are corrected like all together; {self.otherwise.tails}"

    @property
    def moves_mean(self) -> bool:
        """Return whether any of them moves the mean."""
        return any(one.moves_mean for one in (self.otherwise, *self.groups.values()))


def singles_of(correction: Single | ByGroup) -> tuple[Single, ...]:
    """Return the parts of a correction: first the one for all other pixels, then one for each group."""
    return (correction.otherwise, *correction.groups.values()) if isinstance(correction, ByGroup) else (correction,)


def is_conformal(correction: Single | ByGroup) -> bool:
    """Return whether a correction delivers intervals alone, for some pixels at least."""
    return any(isinstance(one, Conformal) for one in singles_of(correction))


def parts_of(correction: Single | ByGroup, group: NDArray[np.integer] | None) -> Iterator[tuple[Single, Any]]:
    """Yield the corrections of an array, and where each holds: a mask, or all.

    group : place of each pixel's group among `groups`, negative for none; of any other correction None.
    """
    if not isinstance(correction, ByGroup):
        yield correction, ...
        return
    if group is None:
        raise SummaryError(f"this recalibration is by {correction.layer}; give the group of each pixel")
    yield correction.otherwise, (group < 0) | (group >= len(correction.groups))
    for place, own in enumerate(correction.groups.values()):
        yield own, group == place


def corrected_moments(
    correction: Single | ByGroup, mean: Floats, variance: Floats, group: NDArray[np.integer] | None = None
) -> Pair:
    """Return the mean and variance of the corrected forecast of each pixel, each in its group."""
    if not isinstance(correction, ByGroup):
        return correction.moments(mean, variance)
    found = mean.copy(), variance.copy()
    for own, place in parts_of(correction, group):
        found[0][place], found[1][place] = own.moments(mean[place], variance[place])
    return found


def corrected_quantile(
    correction: Single | ByGroup,
    probability: float,
    mean: Floats,
    variance: Floats,
    group: NDArray[np.integer] | None = None,
) -> Floats:
    """Return the quantile of the corrected forecast of each pixel, each in its group."""
    if not isinstance(correction, ByGroup):
        return correction.quantile(probability, mean, variance)
    found = mean.copy()
    for own, place in parts_of(correction, group):
        found[place] = own.quantile(probability, mean[place], variance[place])
    return found
