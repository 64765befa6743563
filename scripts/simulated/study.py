"""How often intervals hold the true numbers of simulated maps."""

import hashlib
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
    """One map: whether intervals hold the true numbers, 1 or 0, of blocks and of pixels; and how blocks are.

    held : float64 (2, numbers), NaN where there is no interval.

    cell, range, side : pixels, side of a cell, longest range of a residual as it was found, and side of the blocks.
    effective : fewest effective cells of a residual.
    """

    held: NDArray[np.float64]
    effective: float
    cell: int
    range: float
    side: float
    blocks: int


@dataclass(frozen=True)
class Row:
    """All simulations of a field."""

    field: Field
    simulations: Sequence[Simulation]

    @property
    def held(self) -> NDArray[np.float64]:
        """Share of the intervals that hold the true number, float64 (2, numbers)."""
        return np.nanmean([one.held for one in self.simulations], axis=0)

    @property
    def intervals(self) -> NDArray[np.int64]:
        """Number of maps that have an interval, int64 (2, numbers)."""
        return np.isfinite([one.held for one in self.simulations]).sum(0)

    @property
    def reached(self) -> float:
        """Share of maps whose blocks are at least as wide as the range found."""
        return float(np.mean([one.side >= one.range for one in self.simulations]))

    def average(self, name: str) -> float:
        """Mean over the maps of how their blocks are."""
        return float(np.mean([getattr(one, name) for one in self.simulations]))


def simulate(field: Field, seed: int, number: int) -> Simulation:
    """The map of that number; what is drawn follows from the seed, the field's name and the number alone."""
    name = int.from_bytes(hashlib.sha256(field.name.encode()).digest()[:8], "little")
    rng = np.random.default_rng([seed, name, number])
    layers = field.layout.with_gaps(field.forecast.simulated(rng, field.layout.shape))
    settings = Intervals(level=LEVEL, block=field.block, seed=number)
    limits, blocks = by_blocks(layers, field.layout, settings, field.cell_size)
    methods = limits, by_pixels(layers, LEVEL, rng)
    true = field.forecast.true_numbers()
    held = [[_holds(found[name], true[name]) for name in NUMBERS] for found in methods]
    reaches = blocks.reaches.values()
    longest = max(reach.correlogram.reach for reach in reaches)
    effective = min(reach.effective for reach in reaches)
    cell = blocks.cell_pixels
    return Simulation(np.array(held), effective, cell, longest * cell, blocks.side * cell, blocks.count)


def _holds(limits: tuple[float, float], number: float) -> float:
    """1 where the number lies between the limits, 0 where it does not, NaN where there are none."""
    return float(limits[0] <= number <= limits[1]) if np.isfinite(limits).all() else np.nan


def studied(fields: Iterable[Field], simulations: int, seed: int, workers: int) -> Iterable[Row]:
    """The rows of the fields, one after the other; `workers` processes simulate, or this one alone where there is 1."""
    if workers == 1:
        for field in fields:
            yield Row(field, [simulate(field, seed, number) for number in range(simulations)])
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for field in fields:
            work = partial(simulate, field, seed)
            yield Row(field, list(pool.map(work, range(simulations), chunksize=10)))
