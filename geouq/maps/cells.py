"""Maps with the metrics of every cell: one mosaic of all tiles if they make one, otherwise a file for each tile."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from geouq.config import Variable
from geouq.grid import Window
from geouq.maps.cell_metrics import Cellwise, Measured
from geouq.maps.geotiff import MapWriter, cog_writer
from geouq.maps.lattice import Mosaic, mosaic_of
from geouq.maps.polygons import polygon_writer
from geouq.maps.style import style_of_scale, write_style
from geouq.metrics import shown_in
from geouq.summary import CellSummaries, TilePlace
from geouq.text.naming import file_name

Cells = tuple[NDArray[np.int64], CellSummaries]

WINDOW = 512


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
