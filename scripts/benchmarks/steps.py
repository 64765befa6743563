"""What the sweep is made of: decoding, reading, validity, moments and scatter, alone and together, in one thread."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.choices import Choice
from benchmarks.decoding import CACHE, windows_of
from benchmarks.measure import Ratio, Table, Watch, seconds
from benchmarks.rasters import CODECS, make_tile
from benchmarks.sweeps import decode_tile, sweep_of
from benchmarks.tiles import write_config
from geouq.config import load_experiment
from geouq.core.compiled import compiled
from geouq.core.grid import SQUARE, Window
from geouq.core.validity import Nodata, stored_limits
from geouq.kernel import Pixels, Scratch, Totals, new_scratch
from geouq.kernel.accumulators import SLAB
from geouq.kernel.gaussian import _derive, _extremes, _find_rows, _log_sum, _scatter, compact
from geouq.kernel.z_lattice import ZLattice
from geouq.rasters.catalog import Tile, find_tiles
from geouq.rasters.gdal import gdal_options
from geouq.reading.reader import TileReader
from geouq.reading.variable_window import VariableWindow
from geouq.runs.plan import settings_for
from geouq.sweep.group_sums import GroupSum, Read, add_box, lattice_of, new_group_sum
from geouq.sweep.settings import Settings

CELL = 64  # pixels
Kept = tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64]]
Step = tuple[str, Callable[[], object], int]  # what it does, and for how many pixels of a variable


@dataclass(frozen=True)
class Held:
    """Windows of one variable that are in memory, and what a thread adds them to."""

    reads: Sequence[Read]
    settings: Settings
    group: GroupSum
    lattice: ZLattice
    scratch: Scratch

    @classmethod
    def of(cls, tile: Tile, settings: Settings, count: int) -> "Held":
        """Return so many windows of the first variable of a tile."""
        windows = [Window(w.row_off, w.col_off, w.height, w.width) for w in windows_of(*tile.grid.shape)][:count]
        with gdal_options(CACHE):
            reader = TileReader(tile, reuse=False)
            found = [reader.read(tile.variables[0], window) for window in windows]
        reads = [Read(window, one, one.pixels) for window, one in zip(windows, found, strict=True)]
        group = new_group_sum(Window(0, 0, *tile.grid.shape), settings, (), weighted=False)
        lattice = lattice_of(settings.levels)
        return cls(reads, settings, group, lattice, new_scratch(lattice, np.float32, settings.groups))

    @property
    def pixels(self) -> int:
        """Number of pixels of a window, valid or not."""
        return int(self.reads[0].pixels.truth.size)


def steps_section(choice: Choice) -> Table:
    """Return nanoseconds a pixel and variable of each step."""
    names = [make_tile(choice.data, choice.side(), codec) for codec in CODECS]
    rows = [row for name in names for row in _rows(_of_files(choice.data, name), choice.times(3))]
    in_memory = _in_memory(choice.data, names[0])
    return Table(
        "Steps of the sweep",
        f"Nanoseconds for a pixel of one variable, of 5 in {choice.side()} x {choice.side()} pixels, 30 % missing, in "
        "band order, 1 thread. Steps alone work on one slab of valid pixels in the nearest cache, which is added again "
        "and again.",
        ("step", "ns a pixel", "spread", "others' CPUs"),
        (*rows, *_rows(in_memory, choice.times(3))),
    )


def _rows(steps: Sequence[Step], rounds: int) -> list[tuple[str, ...]]:
    for _, work, _ in steps:
        work()
    watch, found = Watch(), [[] for _ in steps]
    for number in range(rounds):
        order = range(len(steps))
        for k in order if number % 2 else reversed(order):
            _, work, pixels = steps[k]
            found[k].append(1e9 * seconds(work) / pixels)
    others = watch.others()
    return [
        (what, *Ratio(statistics.median(own), min(own), max(own), others).cells)
        for (what, _, _), own in zip(steps, found, strict=True)
    ]


def _of_files(folder: Path, name: str) -> list[Step]:
    """Return the steps that read files: decoding, all that is read for the sweep, and the whole of it."""
    config, codec = write_config(folder, name), name.split("-", maxsplit=1)[0]
    experiment = load_experiment(config)
    catalog = find_tiles(experiment)
    tile, settings = catalog.tiles[0], settings_for(experiment, catalog)
    pixels = int(np.prod(tile.grid.shape)) * len(tile.variables)
    return [
        (f"{codec}: decoding by rasterio", partial(decode_tile, folder, name, 1), pixels),
        (f"{codec}: reading for the sweep", partial(_read_all, tile), pixels),
        (f"{codec}: reading, and each window to the kernel", partial(_read_and_add, tile, settings), pixels),
        (f"{codec}: sweep", sweep_of(config, 1), pixels),
    ]


def _read_all(tile: Tile, add: Callable[[Window, VariableWindow], None] = lambda *_: None) -> None:
    """Read what a sweep reads, in its order, and do something with each window."""
    with gdal_options(CACHE):
        reader = TileReader(tile, reuse=True)
        for variable in tile.variables:
            for place in windows_of(*tile.grid.shape):
                window = Window(place.row_off, place.col_off, place.height, place.width)
                add(window, reader.read(variable, window))


def _read_and_add(tile: Tile, settings: Settings) -> None:
    group = new_group_sum(Window(0, 0, *tile.grid.shape), settings, (), weighted=False)
    _read_all(tile, lambda window, found: _add(Read(window, found, found.pixels), group, settings))


def _in_memory(folder: Path, name: str) -> list[Step]:
    """Return the steps of the kernel on windows in memory."""
    experiment = load_experiment(write_config(folder, name))
    catalog = find_tiles(experiment)
    held = Held.of(catalog.tiles[0], settings_for(experiment, catalog), 64)
    pixels, times = held.pixels, len(held.reads)
    valid = _fill_slab(held)
    of_slab = valid * (pixels * times // SLAB)  # as many slabs as the windows have
    repeats = of_slab // valid
    share = SLAB / valid  # pixels, valid or not, for each valid one
    return [
        ("validity: valid pixels to slabs, windows from memory", partial(_validity, held, held.reads), pixels * times),
        ("validity, one window in the cache", partial(_validity, held, held.reads[:1] * times), pixels * times),
        ("moments and logarithms alone", partial(_moments, held, valid, repeats), round(of_slab * share)),
        ("scatter to buckets and keys alone", partial(_scattered, held, valid, repeats), round(of_slab * share)),
        ("all of the kernel, windows from memory", partial(_together, held, held.reads), pixels * times),
        (
            "all of the kernel, one window in the cache",
            partial(_together, held, held.reads[:1] * times),
            pixels * times,
        ),
    ]


def _fill_slab(held: Held) -> int:
    """Fill the slab with the first valid pixels of a window of which a usual share is valid; their number."""
    read = held.reads[0]
    return int(
        _take(read.pixels, read.found.nodata, (SLAB // CELL, read.window.width), held.scratch, held.group.totals)
    )


def _validity(held: Held, reads: Sequence[Read]) -> None:
    for read in reads:
        shape = read.window.height, read.window.width
        _take(read.pixels, read.found.nodata, shape, held.scratch, held.group.totals)


@compiled
def _take(pixels: Pixels, nodata: Nodata, shape: tuple[int, int], scratch: Scratch, totals: Totals) -> int:
    """Copy the valid pixels of a window to the slab, cell by cell; return how many the last slab holds."""
    rows, columns = shape
    limits, step, n = stored_limits(pixels.mean, pixels.variance, pixels.truth, nodata), SLAB // CELL, np.uint64(0)
    for top in range(0, rows, CELL):
        for left in range(0, columns, CELL):
            for first in range(top, min(top + CELL, rows), step):
                n = np.uint64(0)
                for row in range(first, min(first + step, rows)):
                    place = np.uint64(row * columns + left)
                    width = np.uint64(min(CELL, columns - left))
                    n = compact(pixels, limits, nodata, place, width, np.uint64(columns), n, scratch, totals)
    return np.int64(n)


def _moments(held: Held, n: int, times: int) -> float:
    return float(_derived(n, held.scratch, held.lattice, times))


@compiled
def _derived(n: int, scratch: Scratch, lattice: ZLattice, times: int) -> float:
    found = 0.0
    for _ in range(times):
        products, exponents = _derive(n, scratch, lattice, scratch.slab)
        low, high = _extremes(n, scratch)
        found += products[0] + high + _log_sum(n, low, exponents, scratch)
    return found


def _scattered(held: Held, n: int, times: int) -> None:
    _derived(n, held.scratch, held.lattice, 1)
    kept = held.scratch.bucket.copy(), held.scratch.error.copy(), held.scratch.z.copy()
    _scatter_again(n, held.scratch, held.lattice, kept, times)


@compiled
def _scatter_again(n: int, scratch: Scratch, lattice: ZLattice, kept: Kept, times: int) -> None:
    """Add a slab to buckets and keys; what that changes in the slab is restored each time."""
    bucket, error, z = kept
    for _ in range(times):
        for i in range(n):
            scratch.bucket[i], scratch.error[i], scratch.z[i] = bucket[i], error[i], z[i]
        _find_rows(n, scratch, lattice, scratch.z)
        _scatter(n, scratch)


def _together(held: Held, reads: Sequence[Read]) -> None:
    for read in reads:
        _add(read, held.group, held.settings)


def _add(read: Read, group: GroupSum, settings: Settings) -> None:
    """Add a window to a group, in boxes as high as the kernel takes them."""
    window = read.window
    for top in range(0, window.height, SQUARE):
        box = Window(window.row + top, window.column, min(SQUARE, window.height - top), window.width)
        add_box(read, box, group, settings)
