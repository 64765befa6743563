"""How often intervals hold the true numbers of simulated maps."""

import hashlib
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from geouq.inference import Intervals
from simulated.forecasts import Forecast
from simulated.maps import Layout
from simulated.methods import NUMBERS, by_blocks, by_pixels

LEVEL = 0.95
TARGET = 0.92, 0.97
RESAMPLES = 400


@dataclass(frozen=True)
class Field:
    """A row of the table: a kind of forecast on a layout of tiles.

    cell_size : pixels, None for that which a run chooses of itself. block : as in the settings of intervals.
    """

    name: str
    forecast: Forecast
    layout: Layout
    cell_size: int | None = None
    block: str = "auto"


@dataclass(frozen=True)
class Simulation:
    """One map: whether intervals hold the true numbers, 1 or 0, of blocks and of pixels.

    held : float64 (2, numbers), NaN where there is no interval. effective : float64 (numbers), effective cells of each.
    cell : pixels, side of a cell. side : pixels, side of the blocks.
    """

    held: NDArray[np.float64]
    effective: NDArray[np.float64]
    cell: int
    side: float


@dataclass(frozen=True)
class Row:
    """All simulations of a field."""

    field: Field
    simulations: Sequence[Simulation]

    @property
    def held(self) -> NDArray[np.float64]:
        """Share of the intervals that hold the true number, float64 (2, numbers)."""
        with warnings.catch_warnings():  # of a number of which no map has an interval
            warnings.simplefilter("ignore", RuntimeWarning)
            return np.nanmean([one.held for one in self.simulations], axis=0)

    @property
    def intervals(self) -> NDArray[np.int64]:
        """Number of maps that have an interval, int64 (2, numbers)."""
        return np.isfinite([one.held for one in self.simulations]).sum(0)

    @property
    def effective(self) -> NDArray[np.float64]:
        """Median over the maps of the effective cells of each number."""
        return np.median([one.effective for one in self.simulations], axis=0)


def simulate(field: Field, seed: int, number: int) -> Simulation:
    """Return the map of that number; what is drawn follows from the seed, the field's name and the number alone."""
    name = int.from_bytes(hashlib.sha256(field.name.encode()).digest()[:8], "little")
    rng = np.random.default_rng([seed, name, number])
    layers = field.layout.with_gaps(field.forecast.simulated(rng, field.layout.shape))
    settings = Intervals(level=LEVEL, block=field.block, seed=number, resamples=RESAMPLES)
    intervals, blocks = by_blocks(layers, field.layout, settings, field.cell_size)
    by_block = {name: (one.low, one.high) for name, one in intervals.items()}
    true = field.forecast.true_numbers()
    held = [
        [_holds(*found.get(name, (None, None)), true[name]) for name in NUMBERS]
        for found in (by_block, by_pixels(layers, LEVEL))
    ]
    effective = [intervals[name].effective or np.nan for name in NUMBERS]
    return Simulation(np.array(held), np.array(effective), blocks.cell_pixels, blocks.side * blocks.cell_pixels)


def _holds(low: float | None, high: float | None, number: float) -> float:
    """1 where the number lies between the limits, 0 where it does not, NaN where there are none."""
    return np.nan if low is None or high is None else float(low <= number <= high)


def studied(fields: Iterable[Field], simulations: int, seed: int, workers: int) -> Iterable[Row]:
    """Yield the rows of the fields, one after the other, simulated by `workers` processes, or this one if 1."""
    if workers == 1:
        for field in fields:
            yield Row(field, [simulate(field, seed, number) for number in range(simulations)])
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for field in fields:
            work = partial(simulate, field, seed)
            yield Row(field, list(pool.map(work, range(simulations), chunksize=10)))
