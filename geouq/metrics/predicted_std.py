"""How the predicted std is distributed: what figures and pages draw."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.metrics.accuracy import rmse
from geouq.summary import Summary

Floats = NDArray[np.float64]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
STEPS = 60
LARGEST = 1e150  # std whose square is certain to be a float


@dataclass(frozen=True)
class StdDistribution:
    """The predicted std of a variable in an evaluation unit.

    quantiles : float64 (5), at 5, 25, 50, 75 and 95 %, exact to 1 part in 512. rmse : of a calibrated forecast, the
    root of its mean variance. edges : float64 (61), at equal ratios if `is_logarithmic`. share : float64 (60), of the
    pixels between the edges.
    """

    quantiles: Floats
    rmse: float
    edges: Floats
    share: Floats
    is_logarithmic: bool

    @property
    def is_finite(self) -> bool:
        """Return whether the distribution is known; squares and weights may leave the range of floats."""
        return bool(np.isfinite(self.quantiles).all() and np.isfinite(self.share).all() and self.edges[-1] < LARGEST)


@dataclass(frozen=True)
class StdRange:
    """The quantiles and the RMSE of `StdDistribution`, from which the edges of several distributions follow."""

    quantiles: Floats
    rmse: float

    @classmethod
    def of(cls, summary: Summary) -> "StdRange":
        """Return the range of the predicted std of a summary with pixels."""
        return cls(np.sqrt(summary.variance.quantiles(QUANTILES)), float(rmse(summary)))

    @property
    def ends(self) -> tuple[float, float]:
        """Return the lowest and the highest of these numbers."""
        return float(np.fmin(self.quantiles[0], self.rmse)), float(np.fmax(self.quantiles[-1], self.rmse))


def std_edges(ranges: Collection[StdRange]) -> tuple[Floats, bool]:
    """Return the edges that distributions of these ranges share, and whether they lie at equal ratios.

    They do if the quantiles and RMSE span more than a factor of ten.
    """
    ends = np.array([one.ends for one in ranges])
    logarithmic = bool(len(ends) and ends.min() > 0 and ends.max() > 10 * ends.min())
    return (_edges(ends, logarithmic=logarithmic) if len(ends) else ends), logarithmic


def std_distribution(summary: Summary, found: StdRange, edges: Floats, *, logarithmic: bool) -> StdDistribution:
    """Return the distribution of a summary with pixels over edges."""
    return StdDistribution(found.quantiles, found.rmse, edges, summary.variance.binned(edges**2).share, logarithmic)


def std_distributions(summaries: Mapping[str, Summary]) -> dict[str, StdDistribution]:
    """Return the distribution of each summary with pixels, by its name, all over the same edges."""
    ranges = {name: StdRange.of(summary) for name, summary in summaries.items() if summary.n}
    edges, logarithmic = std_edges(ranges.values())
    return {
        name: std_distribution(summaries[name], own, edges, logarithmic=logarithmic) for name, own in ranges.items()
    }


def _edges(ends: Floats, *, logarithmic: bool) -> Floats:
    low, high = float(ends.min()), float(ends.max())
    if logarithmic:
        return np.geomspace(low / 1.3, high * 1.3, STEPS + 1)
    margin = 0.2 * ((high - low) or high or 1.0)
    return np.linspace(max(0.0, low - margin), high + margin, STEPS + 1)
