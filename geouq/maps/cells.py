"""Maps with the metrics of every cell: one mosaic of all tiles if they make one, otherwise a file for each tile."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from geouq.config import CELLS, EQUAL_COUNT_10, Variable
from geouq.errors import SummaryError
from geouq.failures import isolated
from geouq.grid import Window
from geouq.maps.geotiff import BandLabel, MapWriter, cog_writer
from geouq.maps.lattice import Mosaic, mosaic_of
from geouq.maps.polygons import polygon_writer
from geouq.maps.scales import Scale, cell_scale, count_scale
from geouq.maps.style import style_of_scale, write_style
from geouq.metrics import MetricOptions, Value, evaluate_metric, metrics_of, shown_in, unit_of
from geouq.summary import CellSummaries, Summary, TilePlace
from geouq.text.naming import file_name

Cells = tuple[NDArray[np.int64], CellSummaries]

NOT_BY_CELL = ("group", "ordering", "threshold")
PIXELS = "n"
WINDOW = 512


@dataclass(frozen=True)
class Measured:
    """A tile, a label for each band, and the values of its cells (bands, rows, columns); NaN where there is none."""

    place: TilePlace
    bands: list[BandLabel]
    values: NDArray[np.float32]


@dataclass(frozen=True)
class Cellwise:
    """What maps of the cells of one variable are made of.

    cells_of : gives the cells of a tile, some at a time, with their numbers, in any order; asked once for each tile.
    names : metrics wanted, `cells` for all. choices : of the experiment; binned metrics use ten equal-count bins of the
    compact profile of each cell. whole : of all pixels, which limits of colours follow from.
    """

    variable: Variable
    cells_of: Callable[[str], Iterable[Cells]]
    names: Collection[str]
    choices: MetricOptions
    whole: Summary

    def measured(self, place: TilePlace) -> Measured:
        """Return the metrics of all cells of a tile, measured some at a time."""
        waiting = iter(self.cells_of(place.tile))
        first_part = next(waiting)
        labels: list[BandLabel] = []
        values = np.empty((0, 0), np.float32)
        for numbers, part in chain([first_part], waiting):
            first = 0
            for summary in part.summaries():
                found = list(self._values(summary))
                if not labels:
                    labels = [label for label, _ in found]
                    values = np.full((len(labels), math.prod(place.cell_grid.shape)), np.nan, np.float32)
                here = numbers[first : first + len(summary.n)]
                values[:, here] = [np.where((summary.n > 0) & np.isfinite(each), each, np.nan) for _, each in found]
                first += len(summary.n)
        return Measured(place, labels, values.reshape(len(labels), *place.cell_grid.shape))

    def scales(self, most: int) -> dict[str, Scale]:
        """Scale of each band, by its name; cells hold at most that many pixels."""
        found = {}
        for value in self._kept(self.whole):
            with isolated("maps", f"colours of {value.name}"):
                found[value.name] = cell_scale(value, self.whole)
        return found | ({PIXELS: count_scale(most)} if self._wants(PIXELS) else {})

    def _values(self, summary: Summary) -> Iterator[tuple[BandLabel, NDArray[np.float64]]]:
        for value in self._kept(summary):
            metric = value.metric
            yield BandLabel(value.name, unit_of(metric, self.variable.units), metric.claim), value.value
        if self._wants(PIXELS):
            yield BandLabel(PIXELS, "1", "Number of valid pixels."), summary.n.astype(np.float64)

    def _kept(self, summary: Summary) -> Iterator[Value]:
        """Yield the metrics wanted, without those that cells keep too little for."""
        own = replace(self.choices, schemes=(EQUAL_COUNT_10,), shared_edges=None)
        for metric in metrics_of(self.choices.form):
            if metric.choice in NOT_BY_CELL:
                continue
            try:
                found = list(evaluate_metric(metric, summary, own))
            except SummaryError:  # a curve at levels of its own, or the joint log-loss of pixels
                continue
            yield from (value for value in found if self._wants(value.name))

    def _wants(self, name: str) -> bool:
        return CELLS in self.names or name in self.names


def write_cell_maps(
    places: Sequence[TilePlace], cells: Cellwise, folder: Path, tags: Mapping[str, str]
) -> Iterator[Path]:
    """Write the metrics of every cell of a variable, one band a metric, and a polygon a cell with all of them.

    `cells_<variable>.tif` where the tiles lie side by side on one pixel lattice, else `<tile>_cells_<variable>.tif`; of
    several models, `<variable>@<model>`; and `cells_<variable>.gpkg`. Styles stand beside the maps, and one for each
    metric in `styles`.
    """
    variable = cells.variable
    paths = paths_of_cells(places, variable, folder)
    own = {"GEOUQ_MAP": "cells", "GEOUQ_VARIABLE": variable.name} | dict(tags)
    tiles = (cells.measured(place) for place in places)
    mosaic = mosaic_of(places)
    stem = _stem(variable)
    with polygon_writer(folder / stem, [place.grid.crs for place in places]) as polygons:
        first = next(tiles)
        if mosaic is None:
            for path, tile in zip(paths, chain([first], tiles), strict=True):
                _write_tile(tile, path, own)
                polygons.add(tile)
        else:
            with cog_writer(paths[0], mosaic.grid, first.bands, own) as writer:
                for tile in chain([first], tiles):
                    _paint(tile, mosaic, writer)
                    polygons.add(tile)
    yield from paths
    yield polygons.path
    yield from _styles(cells, first, paths, folder / "styles" / stem)


def paths_of_cells(places: Sequence[TilePlace], variable: Variable, folder: Path) -> list[Path]:
    """Return the paths of the rasters of cells: one of all tiles, or one of each."""
    stem = _stem(variable)
    if mosaic_of(places) is not None:
        return [folder / f"{stem}.tif"]
    return [folder / f"{file_name(place.tile)}_{stem}.tif" for place in places]


def _stem(variable: Variable) -> str:
    return f"cells_{variable.file_name}"


def _paint(tile: Measured, mosaic: Mosaic, writer: MapWriter) -> None:
    """Write each cell of a tile on its footprint, cut at the tile's border; some of the tile at a time."""
    row, column = (corner // mosaic.step for corner in mosaic.corners[tile.place.tile])
    side = tile.place.cell_size // mosaic.step
    for window in tile.place.grid.coarsened(mosaic.step).windows(WINDOW):
        down, across = (np.arange(own.start, own.stop) // side for own in window.slices)
        place = Window(row + window.row, column + window.column, window.height, window.width)
        for band, values in enumerate(tile.values, 1):
            writer.write(values[down][:, across], place, band)


def _write_tile(tile: Measured, path: Path, tags: Mapping[str, str]) -> None:
    grid = tile.place.cell_grid
    with cog_writer(path, grid, tile.bands, dict(tags) | {"GEOUQ_TILE": tile.place.tile}) as writer:
        writer.write(tile.values, Window(0, 0, *grid.shape))


def _styles(cells: Cellwise, tile: Measured, paths: Sequence[Path], folder: Path) -> Iterator[Path]:
    """Yield a style beside each map, of the band that says most, and one for each band in a folder."""
    scales = cells.scales(tile.place.cell_size**2)
    texts = {
        label.name: style_of_scale(scales[label.name], label.units, band)
        for band, label in enumerate(tile.bands, 1)
        if label.name in scales
    }
    first = (metric.name for metric in shown_in("cell map"))  # the band in which a map opens, if it is there
    opening = [texts[name] for name in (*first, *texts) if name in texts]
    for path in paths if opening else ():
        yield write_style(opening[0], path.with_suffix(".qml"))
    for name, text in texts.items():
        yield write_style(text, folder / f"{name}.qml")
