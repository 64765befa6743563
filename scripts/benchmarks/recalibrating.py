"""What recalibrated rasters cost beside reading the prediction and writing as many rasters."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import rasterio

from benchmarks.choices import Choice
from benchmarks.measure import RATIO, Table, compare, ratio_row
from benchmarks.rasters import make_tile
from benchmarks.tiles import path_of, write_config
from geouq.config import load_experiment
from geouq.maps.geotiff import BandLabel, cog_writer
from geouq.rasters.catalog import Tile, find_tiles
from geouq.recalibration.corrections import Isotonic, IsotonicVariance, Scale, Single
from geouq.recalibration.rasters import layers_for, write_rasters
from geouq.recalibration.recalibrator import Provenance, Recalibrator

WINDOW = 512
KNOTS = tuple(np.geomspace(0.01, 100, 100))
CORRECTIONS: tuple[Single, ...] = (
    Scale(2.0),
    IsotonicVariance(KNOTS, tuple(2 * v for v in KNOTS)),
    Isotonic(tuple(np.linspace(-2, 2, 200)), tuple(np.linspace(-1, 3, 200)), -0.5, 1.2),
)
LEVEL = 0.9


def recalibration_section(choice: Choice) -> Table:
    """Each kind of correction, applied to one tile, against reading and writing as many rasters, one thread each."""
    name = make_tile(choice.data, choice.side(), "deflate")
    (tile,) = find_tiles(load_experiment(write_config(choice.data, name))).tiles
    rows = []
    for correction in CORRECTIONS:
        fitted = {v.name: Recalibrator(v.name, v.units, correction, Provenance("", "", (), 0)) for v in tile.variables}
        count = len(layers_for(list(fitted.values()), (LEVEL,)))
        out = choice.data / "recalibrated"
        ours = partial(write_rasters, tile, fitted, (LEVEL,), zones=None, folder=out)
        ratio = compare(ours, _reading_and_writing(choice.data, name, tile, count), choice.times(3))
        rows.append(ratio_row(f"{correction.method}, writes {count}", ratio, "<= 2"))
    return Table(
        "Recalibrated rasters / reading and writing",
        f"One tile of 5 variables, {choice.side()} x {choice.side()} pixels, deflate, 1 thread: reading mean and "
        "variance, and writing cloud-optimised rasters of float32.",
        ("correction", *RATIO),
        tuple(rows),
    )


def _reading_and_writing(folder: Path, name: str, tile: Tile, count: int) -> Callable[[], None]:
    labels = [BandLabel(variable.name, "", "") for variable in tile.variables]

    def work() -> None:
        with ExitStack() as opened:
            sources = [
                opened.enter_context(rasterio.open(path_of(folder, name, layer))) for layer in ("mean", "variance")
            ]
            paths = [folder / "copied" / f"{number}.tif" for number in range(count)]
            writers = [opened.enter_context(cog_writer(path, tile.grid, labels, {})) for path in paths]
            for window in tile.grid.windows(WINDOW):
                place = rasterio.windows.Window(window.column, window.row, window.width, window.height)
                _, variance = (source.read(window=place) for source in sources)
                for writer in writers:
                    writer.write(variance, window)

    return work
