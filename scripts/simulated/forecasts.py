"""Forecasts of correlated errors, and what their numbers truly are.

The truth's variance v is log-normal, exp(normal / 2); the error is sqrt(v) times a normal field; the predicted variance
is `factor` v^`power`. All numbers then have closed forms, but for integrals over one dimension.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.core.gaussian import cdf, half_width, quantile
from simulated.fields import Shape, gaussian_field

Floats = NDArray[np.float64]

SMOOTH = 0.7  # share of the error's variance that is correlated; the rest is noise of each pixel
BINS = 10
LEVEL = 0.9


@dataclass(frozen=True)
class Forecast:
    """A kind of map.

    scale, variance_scale : of the correlation of errors and of v, in pixels. spread : standard deviation of log v.
    long, share : scale of a second field, and its share of the variance of the errors; there is no other noise then.
    """

    scale: float
    kind: Shape = "gauss"
    variance_scale: float = 0.0
    factor: float = 1.0
    power: float = 1.0
    spread: float = 0.5
    long: float = 0.0
    share: float = 0.0

    def simulated(self, rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats, Floats]:
        """Mean, variance and truth of one map."""
        smooth = gaussian_field(rng, shape, self.scale, self.kind)
        if self.share:
            z = np.sqrt(1 - self.share) * smooth + np.sqrt(self.share) * gaussian_field(
                rng, shape, self.long, self.kind
            )
        else:
            z = np.sqrt(SMOOTH) * smooth + np.sqrt(1 - SMOOTH) * rng.standard_normal(shape)
        log_v = self.spread * gaussian_field(rng, shape, self.variance_scale or self.scale, self.kind)
        return np.zeros(shape), self.factor * np.exp(self.power * log_v), np.exp(log_v / 2) * z

    def true_numbers(self) -> dict[str, float]:
        """Numbers of the map, UCE and ENCE in bins of equal count."""
        squared_error = _means_by_bin(1.0, self.spread)
        variance = self.factor * _means_by_bin(self.power, self.spread)
        zms = float(np.exp(((1 - self.power) * self.spread) ** 2 / 2)) / self.factor
        return {
            "bias": 0.0,
            "mae": float(np.sqrt(2 / np.pi) * np.exp(self.spread**2 / 8)),
            "rmse": float(np.sqrt(squared_error.mean())),
            "zms": zms,
            "coverage_90": self._mean_of(lambda v, own: 2 * cdf(half_width(LEVEL) * np.sqrt(own / v)) - 1),
            "nll": float(np.log(2 * np.pi * self.factor) + zms) / 2,
            "crps": self._mean_of(lambda v, own: np.sqrt(2 * (own + v) / np.pi) - np.sqrt(own / np.pi)),
            "uce": float(np.abs(variance - squared_error).mean()),
            "ence": float(np.abs(1 - np.sqrt(squared_error / variance)).mean()),
        }

    def _mean_of(self, number: Callable[[Floats, Floats], Floats]) -> float:
        """Mean of a number of the true and the predicted variance, by Gauss and Hermite."""
        normal, weight = np.polynomial.hermite_e.hermegauss(60)
        variance = np.exp(self.spread * normal)
        return float(np.average(number(variance, self.factor * variance**self.power), weights=weight))


def _means_by_bin(power: float, spread: float) -> Floats:
    """Mean of v^power between the deciles of v."""
    edges = np.array([-np.inf, *(quantile(k / BINS) for k in range(1, BINS)), np.inf])
    return BINS * np.exp((power * spread) ** 2 / 2) * np.diff(cdf(edges - power * spread))
