"""Forecasts of correlated errors, and what their numbers truly are.

The truth's variance v is log-normal, exp(normal / 2); the error is sqrt(v) times a normal field; the predicted variance
is `factor` v^`power`. All six numbers then have closed forms, but for one integral over one dimension.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.gaussian import cdf, half_width, quantile
from simulated.fields import Shape, gaussian_field

Floats = NDArray[np.float64]

SPREAD = 0.5  # standard deviation of log v
SMOOTH = 0.7  # share of the error's variance that is correlated; the rest is noise of each pixel
BINS = 10
LEVEL = 0.9


@dataclass(frozen=True)
class Forecast:
    """A kind of map. scale, variance_scale : of the correlation of errors and of v, in pixels."""

    scale: float
    kind: Shape = "gauss"
    variance_scale: float = 0.0
    factor: float = 1.0
    power: float = 1.0

    def simulated(self, rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats, Floats]:
        """Mean, variance and truth of one map."""
        smooth = gaussian_field(rng, shape, self.scale, self.kind)
        z = np.sqrt(SMOOTH) * smooth + np.sqrt(1 - SMOOTH) * rng.standard_normal(shape)
        log_v = SPREAD * gaussian_field(rng, shape, self.variance_scale or self.scale, self.kind)
        return np.zeros(shape), self.factor * np.exp(self.power * log_v), np.exp(log_v / 2) * z

    def true_numbers(self) -> dict[str, float]:
        """Bias, RMSE, ZMS, coverage of the central 90 %, and UCE and ENCE in bins of equal count."""
        squared_error = _means_by_bin(1.0)
        variance = self.factor * _means_by_bin(self.power)
        return {
            "bias": 0.0,
            "rmse": float(np.sqrt(squared_error.mean())),
            "zms": float(np.exp(((1 - self.power) * SPREAD) ** 2 / 2)) / self.factor,
            "coverage_90": self._coverage(),
            "uce": float(np.abs(variance - squared_error).mean()),
            "ence": float(np.abs(1 - np.sqrt(squared_error / variance)).mean()),
        }

    def _coverage(self) -> float:
        """Mean of 2 Phi(h std / sqrt(v)) - 1, by Gauss and Hermite."""
        normal, weight = np.polynomial.hermite_e.hermegauss(60)
        ratio = np.sqrt(self.factor) * np.exp((self.power - 1) * SPREAD * normal / 2)
        return float(np.average(2 * cdf(half_width(LEVEL) * ratio) - 1, weights=weight))


def _means_by_bin(power: float) -> Floats:
    """Mean of v^power between the deciles of v."""
    edges = np.array([-np.inf, *(quantile(k / BINS) for k in range(1, BINS)), np.inf])
    return BINS * np.exp((power * SPREAD) ** 2 / 2) * np.diff(cdf(edges - power * SPREAD))
