"""How certain one number is: its limits at any level, by the method that suits it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.inference.bin_gaps import Gaps
from geouq.inference.limits import bca_limits, p_value, percentile_limits, widened
from geouq.inference.norm_intervals import folded_limits, folded_p_value
from geouq.inference.resamples import Resampled

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Certainty:
    """A number and its resamples, and how its limits follow.

    gaps : of a norm of gaps, None of any other number. method : bca or percentile, of a number that is no norm.
    """

    numbers: Resampled
    gaps: Gaps | None
    method: str

    @property
    def missing_reason(self) -> str:
        """Why there are no limits, or nothing."""
        if not np.isfinite(self.numbers.value.value):
            return "no value"
        return "a bin without any error" if self.gaps and not self.gaps.whole else ""

    def defined(self, level: float) -> bool:
        """Whether enough resamples have the number for limits of that level."""
        if not np.isfinite(self.numbers.of_blocks).all():
            return False
        if self.gaps is not None:
            noise = self.gaps.noise(self.numbers.long_run.widening(level)).gaps
            return bool(np.isfinite(noise).any(axis=-1).all())
        replicates = np.isfinite(self.numbers.replicates)
        return bool(replicates.sum() >= level * len(replicates))

    def limits(self, level: float) -> tuple[float, float]:
        """Limits of a level."""
        gaps, widening = self.gaps, self.numbers.long_run.widening(level)
        if gaps is not None:
            return rounded(folded_limits(gaps.signed, gaps.noise(widening), gaps.norm, level))
        estimate, replicates = float(self.numbers.value.value), self.numbers.replicates
        replicates = replicates[np.isfinite(replicates)]
        if self.method == "bca":
            limits = bca_limits(estimate, replicates, self.numbers.left_out, level)
        else:
            limits = percentile_limits(replicates, level)
        return rounded(widened(estimate, limits, widening, self.numbers.value.metric.bounds))

    def p_value(self, number: float, limits: tuple[float, float], level: float, least: float) -> float:
        """1 less the highest level at which the limits leave a number out, `least` at least.

        It is below 1 - level exactly where those of that level, `limits`, do, as long as `least` is.
        """
        beyond, gaps = not limits[0] <= number <= limits[1], self.gaps
        if gaps is None:
            return p_value(lambda one: beyond if one == level else self._leave_out(number, one), level, least)
        noise = gaps.noise(self.numbers.long_run.widening(level))
        found = folded_p_value(number, gaps.signed, noise, gaps.norm)
        return p_value(lambda one: beyond if one == level else found <= 1 - one, level, least)

    def _leave_out(self, number: float, level: float) -> bool:
        low, high = self.limits(level)
        return not low <= number <= high


def rounded(limits: tuple[float, float]) -> tuple[float, float]:
    """Limits to 12 digits: logarithms have other last digits on other machines."""
    low, high = (float(f"{limit:.12g}") for limit in limits)
    return low, high
