"""Maps with the metrics of every cell: one mosaic of all tiles, or one of each patch of tiles that touch."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from geouq.config import CELLS, Variable
from geouq.core.grid import Window
from geouq.maps.cell_metrics import Cellwise, Measured
from geouq.maps.geotiff import CONTINUOUS, BandLabel, MapWriter, cog_writer
from geouq.maps.lattice import Mosaic, mosaic_on
from geouq.maps.patches import Patch, patches_of
from geouq.maps.polygons import GEOJSON, PolygonStyle, polygon_writer, style_beside
from geouq.maps.scales import Scale
from geouq.maps.style import style_of_polygons, style_of_scale, write_style
from geouq.maps.virtual import Source, VirtualBand, lattices_by_suffix, remove_virtual, write_virtual
from geouq.metrics import heading_of, named
from geouq.metrics.record import NOT_NEGATIVE
from geouq.summary import CellSummaries, TilePlace

Cells = tuple[NDArray[np.int64], CellSummaries]

WINDOW = 128  # all bands of a larger one would take too much memory
MOST_SOURCES = 20_000  # of a virtual raster, about 300 bytes each


def write_cell_maps(
    places: Sequence[TilePlace], cells: Cellwise, folder: Path, tags: Mapping[str, str]
) -> Iterator[Path]:
    """Write the metrics of every cell of a variable: a band for each metric, and a polygon for each cell.

    If the tiles lie side by side, the raster is `cells_<variable>.tif`. Otherwise tiles that touch each other share
    `<first tile>_and_<others>_more_cells_<variable>.tif`, each other tile has `<tile>_cells_<variable>.tif`, and
    `cells_<variable>.vrt` shows them together if they share a lattice of pixels. The polygons are
    `cells_<variable>.gpkg`, which holds a style for each metric. If there are several models, the names end in
    `<variable>@<model>`.
    """
    variable, patches = cells.variable, patches_of(places)
    paths = [_path(patch, variable, folder) for patch in patches]
    own = {"GEOUQ_MAP": CELLS, "GEOUQ_VARIABLE": variable.name} | dict(tags)
    remove_virtual(folder, _stem(variable), _tags(variable))
    tiles = cells.measured(chain.from_iterable(patch.tiles for patch in patches))
    first = next(tiles)
    scales = _opening_first(cells.scales(places[0].cell_size ** 2), first.bands, cells.opening)
    styles = _styles_of_polygons(scales, first.bands)
    tiles = chain([first], tiles)
    with polygon_writer(folder / _stem(variable), places, styles) as polygons:
        for patch, path in zip(patches, paths, strict=True):
            with cog_writer(path, patch.mosaic.grid, first.bands, own | _tiles(patch)) as writer:
                for tile in islice(tiles, len(patch.tiles)):
                    _paint(tile, patch.mosaic, writer)
                    polygons.add(tile)
    virtual = list(_virtual(variable, places, patches, first.bands, folder)) if patches[0].prefix else []
    yield from paths
    yield polygons.path
    yield from virtual
    yield from _styles(scales, first, virtual or paths)
    yield from _style_of_geojson(polygons.path, styles, folder)


def _virtual(
    variable: Variable, places: Sequence[TilePlace], patches: Sequence[Patch], bands: Sequence[BandLabel], folder: Path
) -> Iterator[Path]:
    """Yield a virtual raster of the files on each lattice."""
    if len(patches) * len(bands) > MOST_SOURCES:
        return
    of_tile = {place.tile: place for place in places}
    shown, stem = [VirtualBand(label, CONTINUOUS) for label in bands], _stem(variable)
    for suffix, lattice in lattices_by_suffix(places):
        mosaic = mosaic_on(lattice, [of_tile[tile] for tile in lattice.corners])
        here = [patch for patch in patches if patch.tiles[0].tile in lattice.corners]
        sources = [_source(patch, _path(patch, variable, folder).name, mosaic) for patch in here]
        yield write_virtual(folder / f"{stem}{suffix}.vrt", mosaic.grid, _tags(variable), shown, sources)


def _source(patch: Patch, file: str, mosaic: Mosaic) -> Source:
    """Return the file of a patch, whose last cells are cut at its border."""
    own = patch.mosaic
    ends = [
        (row + tile.grid.shape[0], column + tile.grid.shape[1])
        for tile in patch.tiles
        for row, column in [own.corners[tile.tile]]
    ]
    height, width = (-(-max(end) // mosaic.step) for end in zip(*ends, strict=True))
    first = patch.tiles[0].tile
    row, column = (
        (whole - part) // mosaic.step for whole, part in zip(mosaic.corners[first], own.corners[first], strict=True)
    )
    scale = mosaic.step / own.step  # the same for what is read and where it is shown, so that no cell is stretched
    return Source(file, own.grid.shape, (height * scale, width * scale), (row, column), (height, width))


def paths_of_cells(places: Sequence[TilePlace], variable: Variable, folder: Path) -> list[Path]:
    """Return the paths of the rasters of cells: one of all tiles, or one of each patch."""
    return [_path(patch, variable, folder) for patch in patches_of(places)]


def _path(patch: Patch, variable: Variable, folder: Path) -> Path:
    return folder / f"{patch.prefix}{_stem(variable)}.tif"


def _tiles(patch: Patch) -> dict[str, str]:
    """Return the tag that names the tiles of a raster, where there are several rasters."""
    return {"GEOUQ_TILE": ", ".join(tile.tile for tile in patch.tiles)} if patch.prefix else {}


def _tags(variable: Variable) -> dict[str, str]:
    """Return the tags by which a virtual raster is recognised."""
    return {"GEOUQ_MAP": CELLS, "GEOUQ_VARIABLE": variable.name}


def _stem(variable: Variable) -> str:
    return f"cells_{variable.file_name}"


def _paint(tile: Measured, mosaic: Mosaic, writer: MapWriter) -> None:
    """Write each cell of a tile on its footprint, cut at the tile's border; some of the tile at a time."""
    row, column = (corner // mosaic.step for corner in mosaic.corners[tile.place.tile])
    side = tile.place.cell_size // mosaic.step
    for window in tile.place.grid.coarsened(mosaic.step).windows(WINDOW):
        down, across = (np.arange(own.start, own.stop) // side for own in window.slices)
        place = Window(row + window.row, column + window.column, window.height, window.width)
        writer.write(tile.values[:, down[:, np.newaxis], across], place)


def _opening_first(scales: Mapping[str, Scale], bands: Sequence[BandLabel], opening: str) -> dict[str, Scale]:
    """Return the scale of each band, that in which a map of cells opens first."""
    names = {label.name for label in bands if label.name in scales}
    return {name: scales[name] for name in dict.fromkeys((opening, *scales)) if name in names}


def _styles_of_polygons(scales: Mapping[str, Scale], bands: Sequence[BandLabel]) -> dict[str, PolygonStyle]:
    """Return the style of each band, by its name, in the order of the scales."""
    units = {label.name: label.units for label in bands}
    return {
        name: PolygonStyle(style_of_polygons(name, scale, units[name]), heading_of(name))
        for name, scale in scales.items()
    }


def _bounds_of(name: str) -> tuple[float, float]:
    """Return the lowest and the highest value that a band can have."""
    found = named(name)
    return found[0].bounds if found else NOT_NEGATIVE


def _style_of_geojson(polygons: Path, styles: Mapping[str, PolygonStyle], folder: Path) -> Iterator[Path]:
    """Yield the first style of polygons as a file, as GeoJSON holds none; remove the file of an earlier run."""
    path = style_beside(polygons, folder)
    if polygons.suffix == GEOJSON and styles:
        yield write_style(next(iter(styles.values())).text, path)
    else:
        path.unlink(missing_ok=True)


def _styles(scales: Mapping[str, Scale], tile: Measured, paths: Sequence[Path]) -> Iterator[Path]:
    """Yield a style next to each raster, of the band in which a map of cells opens."""
    if not scales:
        return
    bands = {label.name: (number, label) for number, label in enumerate(tile.bands, 1)}
    name, scale = next(iter(scales.items()))
    number, label = bands[name]
    text = style_of_scale(scale, label.units, number, _bounds_of(name))
    for path in paths:
        yield write_style(text, path.with_suffix(".qml"))
