"""Distributions that a predicted mean and variance describe: the normal one, and others with these moments."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geouq.core.gaussian import cdf, density

Floats = NDArray[np.float64]
Family = Literal["normal", "lognormal", "truncated_normal", "squared_normal", "gamma", "student_t"]
FAMILIES: tuple[Family, ...] = ("normal", "lognormal", "truncated_normal", "squared_normal", "gamma", "student_t")
DISTRIBUTIONS = ("normal", "lognormal", "truncated_normal", "gamma", "student_t")  # names in a configuration
LOWEST_RATIO = -10.0  # mean / std before truncation at 0; below it, almost nothing is left
LOWEST_DEGREES = 2.0  # Student's t has a variance only above it


@dataclass(frozen=True)
class Distribution:
    """A family of distributions; a mean and a variance define one of them.

    Parameters
    ----------
    family : str
        One of `FAMILIES`. The squared normal distribution is that of N^2 for a normal N.
    parameter : float
        The shift for a log-normal X + shift; the degrees of freedom for Student's t; otherwise 0.
    of_normal : bool
        Whether the stored mean and variance are those of the underlying normal distribution: of log(X + shift), of
        N, or before the truncation at 0. Otherwise they are those of the distribution itself.
    """

    family: Family = "normal"
    parameter: float = 0.0
    of_normal: bool = False

    @property
    def is_normal(self) -> bool:
        """Return whether it is the normal distribution."""
        return self.family == "normal"

    @property
    def number(self) -> int:
        """Return the number of the family, for compiled code."""
        return FAMILIES.index(self.family)

    @property
    def evaluated(self) -> "Distribution":
        """Return the same distribution, defined by its own mean and variance."""
        return replace(self, of_normal=False)

    def __str__(self) -> str:
        if self.family == "student_t":
            return f"Student t ({self.parameter:g} degrees of freedom)"
        text = self.family.replace("_", " ").replace("lognormal", "log-normal")
        return f"{text} (shifted by {-self.parameter:g})" if self.parameter else text


NORMAL = Distribution()
TRANSFORMS = {
    "log": Distribution("lognormal", 0.0, of_normal=True),
    "log1p": Distribution("lognormal", 1.0, of_normal=True),
    "sqrt": Distribution("squared_normal", of_normal=True),
}


def distribution_of(name: str, degrees: float | None = None) -> Distribution:
    """Return the distribution with a name in a configuration.

    >>> distribution_of("student_t", 5.0)
    Distribution(family='student_t', parameter=5.0, of_normal=False)
    """
    family = next(own for own in FAMILIES if own == name)
    return Distribution(family, degrees or 0.0, of_normal=family == "truncated_normal")


def real_moments(distribution: Distribution, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return the mean and variance of a distribution from the stored ones, float64; NaN if they define none.

    A variance that is not positive is returned unchanged, so that the caller can find it.
    """
    if not distribution.of_normal:
        return np.where(mean > lowest_mean(distribution), mean, np.nan), variance
    wrong = ~(variance > 0)
    known = np.where(wrong, 1.0, variance)
    with np.errstate(over="ignore", invalid="ignore"):
        real, spread = _MOMENTS[distribution.family](mean, known)
    return real - distribution.parameter, np.where(wrong, variance, spread)


def lowest_mean(distribution: Distribution) -> float:
    """Return the number that the mean of a distribution exceeds."""
    return -distribution.parameter if distribution.family in ("lognormal", "gamma") else -np.inf


def _lognormal_moments(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    real = np.exp(mean + variance / 2)
    return real, np.expm1(variance) * real * real


def _squared_moments(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    return mean * mean + variance, 2 * variance * (variance + 2 * mean * mean)


def truncated_moments(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return the mean and variance of a normal distribution truncated at 0.

    >>> [round(float(moment), 12) for moment in truncated_moments(np.array(0.0), np.array(1.0))]
    [0.797884560803, 0.363380227632]
    """
    std = np.sqrt(variance)
    ratio = mean / std
    hazard = density(ratio) / cdf(ratio)
    return mean + std * hazard, variance * (1 - hazard * (ratio + hazard))


def _moments_unless_nothing_is_left(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    left = np.where(mean >= LOWEST_RATIO * np.sqrt(variance), mean, np.nan)
    return truncated_moments(left, variance)


_MOMENTS = {
    "lognormal": _lognormal_moments,
    "squared_normal": _squared_moments,
    "truncated_normal": _moments_unless_nothing_is_left,
}
