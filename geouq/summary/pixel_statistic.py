"""Statistics that are computed from the valid pixels with numpy: one class is all that is to be written."""

from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from geouq.summary.statistic import Statistic

Floats = NDArray[np.float64]


class ValidPixels(NamedTuple):
    """Valid pixels of a part of a tile, float64 (pixels) each; weight is 1 where pixels have none; cell : int64."""

    mean: Floats
    variance: Floats
    truth: Floats
    weight: Floats
    cell: NDArray[np.int64]


NO_PIXELS = ValidPixels(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, np.int64))


class PixelStatistic(Statistic):
    """A statistic that follows from the valid pixels of each cell, of forecasts that have a mean and a variance.

    A subclass is a frozen dataclass whose fields are arrays that add. It is part of every summary as soon as it is
    defined, under its `name`: it merges, is saved and resampled as all others are.

    Attributes
    ----------
    name : str
        Of the statistic in a summary.
    """

    name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        PIXEL_STATISTICS[cls.name] = cls

    @classmethod
    def of_pixels(cls, pixels: ValidPixels, cells: int) -> Self:
        """Return the statistic of each cell, with the leading dimension (cells)."""
        raise NotImplementedError(f"{cls.__name__} needs of_pixels")


PIXEL_STATISTICS: dict[str, type[PixelStatistic]] = {}


def names_of_pixel_statistics() -> tuple[str, ...]:
    """Return the names of those that are defined."""
    return tuple(PIXEL_STATISTICS)
