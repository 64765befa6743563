"""Sums of each cell that separate the truth's own error from the error of the prediction."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geouq.summary.pixel_statistic import PixelStatistic, ValidPixels, names_of_pixel_statistics
from geouq.summary.statistic import Dimensions

FIELDS = ("share", "share_square", "z", "z_square", "std", "variance", "truth_variance")


@dataclass(frozen=True)
class TruthError(PixelStatistic):
    """Sums of what is known of the error of the prediction alone, where the variance t of the truth's error is known.

    With the variance p of the prediction, h = p / (p + t) is the share of the prediction in the variance of an error,
    and sqrt(h) z an error of the measured truth with little weight where that is uncertain.

    sums : float64 (..., 7), weighted where pixels have weights, in the order of `FIELDS`: h, h^2, sqrt(h) z, h z^2,
        sqrt(p), p, t.
    """

    name: ClassVar[str] = "truth_error"
    on_request: ClassVar[bool] = True

    sums: NDArray[np.float64]
    dimensions: ClassVar[Dimensions] = {"sums": ("truth_error",)}
    explained: ClassVar[Mapping[str, str]] = {
        "sums": "sums over the pixels of what separates the truth's own error from that of the prediction",
        "truth_error": "what is added up of the variance p of the prediction, t of the truth, h = p / (p + t), and z",
    }

    def labels(self) -> dict[str, Any]:
        """Return what is added up."""
        return {"truth_error": list(FIELDS)}

    @classmethod
    def of_pixels(cls, pixels: ValidPixels, cells: int) -> Self:
        """Return the sums of each cell."""
        own = np.maximum(pixels.variance - pixels.truth_variance, 0.0)
        share, z = own / pixels.variance, (pixels.truth - pixels.mean) / np.sqrt(pixels.variance)
        each = (share, share**2, np.sqrt(share) * z, share * z**2, np.sqrt(own), own, pixels.truth_variance)
        sums = [np.bincount(pixels.cell, pixels.weight * values, cells) for values in each]
        return cls(np.stack(sums, axis=-1))


def pixel_statistics(*, truth_error: bool) -> tuple[str, ...]:
    """Return the names of the statistics that numpy computes.

    truth_error : whether the variance of the truth's own error is known.
    """
    return (*names_of_pixel_statistics(), *([TruthError.name] if truth_error else []))
