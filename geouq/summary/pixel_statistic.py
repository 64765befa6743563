"""Statistics that are computed from the valid pixels with numpy, each by one class."""

from abc import abstractmethod
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from geouq.summary.statistic import Statistic

Floats = NDArray[np.float64]


class ValidPixels(NamedTuple):
    """Valid pixels of a part of a tile, float64 (pixels) each; weight is 1 where pixels have none; cell : int64.

    variance : of the forecast; it contains truth_variance, the variance of the truth's own error, 0 if not known.
    """

    mean: Floats
    variance: Floats
    truth: Floats
    weight: Floats
    cell: NDArray[np.int64]
    truth_variance: Floats


BUILT_IN = ("moments", "interval_scores", "z", "variance", "ordering", "thresholds", "given", "widths", "form")
PREFIXES = ("coverage_by_", "exceedance_", "cell_")  # of other statistics, and of arrays in files
NO_PIXELS = ValidPixels(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, np.int64), np.zeros(0))


class PixelStatistic(Statistic):
    """A statistic that follows from the valid pixels of each cell, of forecasts that have a mean and a variance.

    A subclass is a frozen dataclass whose fields are arrays that add. It is part of every summary as soon as it is
    defined, under its `name`: it merges, is saved and resampled as all others are.

    Attributes
    ----------
    name : str
        Of the statistic in a summary.
    on_request : bool
        Whether summaries have it only if it is requested.
    """

    name: ClassVar[str]
    on_request: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        if cls.of_pixels.__func__ is PixelStatistic.of_pixels.__func__:  # type: ignore[attr-defined]
            raise TypeError(f"{cls.__name__} has no method of_pixels")
        if cls.name in BUILT_IN or cls.name.startswith(PREFIXES) or not cls.name.isidentifier():
            raise ValueError(f"{cls.__name__}: the name {cls.name!r} is taken or no identifier; choose another")
        super().__init_subclass__()
        PIXEL_STATISTICS[cls.name] = cls

    @classmethod
    @abstractmethod
    def of_pixels(cls, pixels: ValidPixels, cells: int) -> Self:
        """Return the statistic of each cell, with the leading dimension (cells)."""


PIXEL_STATISTICS: dict[str, type[PixelStatistic]] = {}


def names_of_pixel_statistics() -> tuple[str, ...]:
    """Return the names of those that every summary has."""
    return tuple(name for name, kind in PIXEL_STATISTICS.items() if not kind.on_request)
