"""A sample of the pixels of an experiment, robust statistics of it, and what input checks report."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import GeouqError
from geouq.core.overflow import overflow_is_missing
from geouq.core.validity import MASKED
from geouq.rasters.catalog import Tile
from geouq.rasters.gdal import gdal_options
from geouq.reading.places import Sampling, spread_out, windows_of

if TYPE_CHECKING:
    from geouq.reading.variable_window import VariableWindow

Floats = NDArray[np.float64]
READERS = 8
FEWEST = 500  # pixels below which nothing is reported
MOST = 60_000  # pixels of a statistic; more are thinned at equal distances
NORMAL_IQR = 1.348980  # interquartile range of a standard normal


@dataclass(frozen=True)
class Finding:
    """One finding of an input check.

    Parameters
    ----------
    kind : what is probably wrong
    about : a variable, or tiles
    evidence : what was found
    remedy : what to do if it is right

    Examples
    --------
    >>> print(Finding("constant variance", "AGB", "all 5000 pixels have 4", "map the variance itself"))
    AGB: constant variance: all 5000 pixels have 4; map the variance itself
    """

    kind: str
    about: str
    evidence: str
    remedy: str

    def __str__(self) -> str:
        """Return all of it in one line."""
        return f"{self.about}: {self.kind}: {self.evidence}; {self.remedy}"


@dataclass(frozen=True)
class Known:
    """What the files hold in one window, float64 (rows, columns) each, before it is decided which pixels count.

    mean, variance, truth : NaN where a file holds no value. hidden : bool, where a mask excludes the pixel.
    ends : the lower and upper end of the predicted interval, where the prediction has one.
    """

    mean: Floats
    variance: Floats
    truth: Floats
    hidden: NDArray[np.bool_]
    ends: tuple[Floats, ...] = ()


@dataclass(frozen=True)
class Patch:
    """One variable in one window: mean, variance and truth, float64 (rows, columns), NaN where a pixel does not count.

    place : number of the window in its tile; the first is in the middle. known : the layers with all their pixels.
    """

    tile: str
    variable: str
    place: int
    mean: Floats
    variance: Floats
    truth: Floats
    known: Known

    @classmethod
    def of(cls, tile: str, variable: str, place: int, known: Known, valid: NDArray[np.bool_] | None = None) -> Self:
        """Return the patch of these layers.

        Parameters
        ----------
        valid : bool (rows, columns), optional
            The pixels that count. By default, those with all values, a positive variance and no mask.
        """
        if valid is None:
            layers = (known.mean, known.truth, known.variance)
            valid = np.isfinite(layers).all(0) & (known.variance > 0) & ~known.hidden
        mean, variance, truth = (np.where(valid, layer, np.nan) for layer in (known.mean, known.variance, known.truth))
        return cls(tile, variable, place, mean, variance, truth, known)

    @property
    def n(self) -> int:
        """Return the pixels that count."""
        return int(np.isfinite(self.truth).sum())


def take_sample(tiles: Sequence[Tile], sampling: Sampling) -> list[Patch]:
    """Return patches of every variable, in the order of the tiles; a tile that cannot be read has none."""
    chosen = spread_out(tiles, sampling.tiles)
    with ThreadPoolExecutor(READERS) as pool:
        found = list(pool.map(lambda tile: _patches(tile, sampling), chosen))
    return [patch for patches in found for patch in patches]


def _patches(tile: Tile, sampling: Sampling) -> list[Patch]:
    from geouq.reading.reader import masked_layers, read_window  # noqa: PLC0415  compiled code, not always needed

    found = []
    try:
        with gdal_options(), overflow_is_missing():
            for place, window in enumerate(windows_of(tile.grid, sampling)):
                for variable, pixels in zip(tile.variables, read_window(tile, window), strict=True):
                    valid = masked_layers(pixels)[3] > 0
                    found.append(Patch.of(tile.name, variable.name, place, _known(pixels), valid))
    except GeouqError:  # the run reports a tile that cannot be read
        return []
    return found


def _known(pixels: "VariableWindow") -> Known:
    """Return the layers of a window as the files hold them."""
    mask = pixels.sources[-1]
    hidden = mask > 0 if mask.size else np.zeros(pixels.truth.shape, np.bool_)
    layers: list[Floats] = []
    for i, stored in enumerate((pixels.mean, pixels.variance, pixels.truth)):
        status, values = pixels.sources[i], stored.astype(np.float64)
        missing = ~np.isfinite(values) | (stored == stored.dtype.type(pixels.nodata.values[i]))
        if status.size:
            hidden = hidden | (status == MASKED + 1)
            missing |= (status > 0) & (status != MASKED + 1)
        layers.append(np.where(missing | (not pixels.read and i < 2), np.nan, values))
    mean, variance, truth = layers
    return Known(mean, variance, truth, hidden, pixels.bounds)


def joined(patches: Sequence[Patch], layer: str) -> Floats:
    """Return the pixels of a layer that count."""
    parts = [values[np.isfinite(values)] for patch in patches for values in [getattr(patch, layer)]]
    return np.concatenate(parts) if parts else np.empty(0)


def thinned(*layers: Floats) -> tuple[Floats, ...]:
    """Return at most `MOST` pixels, the same of each layer."""
    step = -(-len(layers[0]) // MOST) or 1
    return tuple(layer[::step] for layer in layers)


def spread(values: Floats) -> float:
    """Return a robust std: the interquartile range, or the std where that is 0."""
    low, high = np.quantile(values, (0.25, 0.75))
    return float((high - low) / NORMAL_IQR) or float(values.std())


def pearson(one: Floats, other: Floats) -> float:
    """Return the correlation, 0 where one of them is constant."""
    a, b = one - one.mean(), other - other.mean()
    norm = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / norm if norm > 0 else 0.0
