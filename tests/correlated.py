"""Correlated fields, forecasts of them whose true numbers are known, and the cells of their tiles."""

from functools import cache

import numpy as np
from affine import Affine
from rasterio.crs import CRS

from geouq.arrays.points import summarize_arrays
from geouq.config import EQUAL_COUNT_10
from geouq.core.grid import Grid
from geouq.inference import infer
from geouq.metrics import MetricOptions
from geouq.summary import TilePlace, add_all

LEVELS = (0.5, 0.9)
CHOICES = MetricOptions(LEVELS, (EQUAL_COUNT_10,))
CELL = 16
UTM = CRS.from_epsg(32633).to_wkt()


def gaussian_field(rng, side, scale):
    """A field (side, side) of mean 0, variance 1 and correlation exp(-(distance / scale)^2)."""
    spectrum, norm = _spectrum(side + side // 4, scale)
    noise = np.fft.rfft2(rng.standard_normal((side + side // 4,) * 2))
    return np.fft.irfft2(noise * spectrum, s=(side + side // 4,) * 2)[:side, :side] / norm


@cache
def _spectrum(side, scale):
    squared = np.fft.fftfreq(side)[:, None] ** 2 + np.fft.rfftfreq(side)[None, :] ** 2
    spectrum = np.exp(-((np.pi * scale) ** 2) * squared / 2)
    return spectrum, np.sqrt(np.fft.irfft2(spectrum**2, s=(side, side))[0, 0])


def forecast(seed, side, scale, factor=1.0):
    """Mean, variance and truth; errors of log-normal variance, whose predicted std is too small by `factor`."""
    rng = np.random.default_rng(seed)
    z = np.sqrt(0.7) * gaussian_field(rng, side, scale) + np.sqrt(0.3) * rng.standard_normal((side, side))
    variance = np.exp(0.5 * gaussian_field(rng, side, scale))
    return np.zeros((side, side)), variance * factor**2, np.sqrt(variance) * z


class Tiles:
    """A forecast cut into tiles: their places, the cells of each, and the summary of all."""

    def __init__(self, arrays, across=1, choices=CHOICES, weight=None):
        side = arrays[0].shape[0] // across
        self.parts, self.places, self.choices = {}, [], choices
        for row in range(across):
            for column in range(across):
                name, corner = f"r{row}c{column}", Affine(10, 0, 10 * column * side, 0, -10, -10 * row * side)
                part = np.s_[row * side : (row + 1) * side, column * side : (column + 1) * side]
                tile = [array[part] for array in arrays]
                own = None if weight is None else weight[part]
                self.parts[name] = summarize_arrays(*tile, choices.levels, cell_size=CELL, weight=own)
                self.places.append(TilePlace(name, Grid((side, side), corner, UTM), CELL))
        self.whole = add_all(part.whole for part in self.parts.values())

    def cells_of(self, tile):
        cells = self.parts[tile].cells
        return [(np.arange(len(cells)), cells)]

    def infer(self, settings, places=None, name="all"):
        places = self.places if places is None else places
        return infer(name, self.whole, self.choices, places=places, cells_of=self.cells_of, settings=settings)
