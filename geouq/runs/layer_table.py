"""A table of all layers: file, band, unit, scale, share of nodata, and the value at one pixel, the same for all."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geouq.config import key_of, model_and_layer
from geouq.core.errors import GeouqError
from geouq.core.grid import Window
from geouq.core.units import squared
from geouq.core.wording import one_line
from geouq.rasters.catalog import Catalog, Tile
from geouq.rasters.gdal import gdal_options
from geouq.rasters.layered import Bands, Layered
from geouq.rasters.predictions import is_predicted
from geouq.reading.decoded import Doubles
from geouq.reading.glance import Glimpse, LayerBand
from geouq.reading.places import Sampling, spread_out, windows_of

LOOKED_AT = Sampling(tiles=3, windows=5, side=128)  # until a pixel has all layers
MOST_OF_A_FORM = 5  # members or classes of a variable that are shown
# layers that have the unit of the variable
OF_THE_VARIABLE = ("mean", "std", "lower", "upper", "quantiles", "members", "truth", "truth_std")
HEADINGS = ("layer", "file", "band", "unit", "stored values", "nodata", "value")


@dataclass(frozen=True)
class LayerLine:
    """One layer of a variable, as the first tile has it.

    Parameters
    ----------
    variable, layer : str
        Name of the variable, and key of the layer in the configuration.
    path : str
        File of the tile.
    band : int
        Number of the band.
    description : str
        Description of the band; "" for none.
    stored_units, units : str
        Unit that the file gives, and unit of the values that are evaluated; "" where it is not known.
    assumed_units : str
        Unit of the variable, or its square, where the file gives none; "" otherwise.
    scale, offset : float
        A value is stored value * scale + offset.
    nodata : float or None
        Share of the pixels of one window that have no value; None if no pixels were read.
    value : float or None
        Value at the pixel of the table; None if it has none.
    """

    variable: str
    layer: str
    path: str
    band: int
    description: str
    stored_units: str
    units: str
    assumed_units: str
    scale: float
    offset: float
    nodata: float | None
    value: float | None


@dataclass(frozen=True)
class LayerTable:
    """The layers of a tile; window : where pixels were read, None where none were. row, column : of the values."""

    tile: str
    lines: tuple[LayerLine, ...]
    window: Window | None = None
    row: int = 0
    column: int = 0


@dataclass(frozen=True)
class Look:
    """The table of the layers (None without a tile), and all pixels that were read for it."""

    table: LayerTable | None
    glimpses: Sequence[Glimpse]


def look_at_layers(catalog: Catalog) -> Look:
    """Return the layers of the first tile that has a pixel with all layers; otherwise of the first tile.

    One window of each layer is read, and a few more where no pixel has all layers. Nothing is read from servers whose
    headers an earlier run has kept.
    """
    best: tuple[int, LayerTable] | None = None
    glimpses: list[Glimpse] = []
    for tile in spread_out(catalog.tiles, LOOKED_AT.tiles):
        for glimpse, found in _tables(tile):
            glimpses += [glimpse] if glimpse else []
            best = found if best is None or found[0] < best[0] else best
        if best is not None and best[0] == 0:
            break
    return Look(best[1] if best else None, glimpses)


def _tables(tile: Tile) -> Iterator[tuple[Glimpse | None, tuple[int, LayerTable]]]:
    """Yield pixels of a tile, their table, and the number of layers without a value, until this number is 0."""
    layers = list({(own.variable.variable, own.name, own.band): own for own in _layers(tile)}.values())
    nothing = len(layers) + 1, LayerTable(tile.name, tuple(_line(tile, layer) for layer in layers))
    if any(raster.kept for raster in tile.rasters.values()):
        yield None, nothing
        return
    try:
        with gdal_options():
            for place, window in enumerate(windows_of(tile.grid, LOOKED_AT)):
                glimpse = Glimpse.of(tile, place, window, layers)
                missing, table = _table(glimpse)
                yield glimpse, (missing, table)
                if missing == 0:
                    return
    except GeouqError:  # a run reports a tile that cannot be read
        yield None, nothing


def _table(glimpse: Glimpse) -> tuple[int, LayerTable]:
    """Return the table of a window, and the number of layers without a value at its pixel."""
    tile, window = glimpse.tile, glimpse.window
    absent = np.add.reduce([np.isnan(glimpse.values(layer)).astype(np.int64) for layer in glimpse.layers])
    row, column = _nearest_to_the_middle(absent == absent.min())
    lines = tuple(_line(tile, layer, glimpse.values(layer), (row, column)) for layer in glimpse.layers)
    return int(absent.min()), LayerTable(tile.name, lines, window, window.row + row, window.column + column)


def _layers(tile: Tile) -> Iterator[LayerBand]:
    """Yield the layers of each variable; of many members or classes, the first ones and the last one."""
    for variable in tile.variables:
        prediction, bands = tile.predictions[variable.model], tile.bands_of(variable)
        if isinstance(prediction, Layered):
            for part in (prediction.values(variable), prediction.more(variable)):
                own = [LayerBand(variable, *layer) for layer in _labelled(prediction, part, variable.model)]
                yield from own if len(own) <= MOST_OF_A_FORM else (*own[: MOST_OF_A_FORM - 1], own[-1])
            bands = {layer: band for layer, band in bands.items() if not is_predicted(layer)}
        yield from (LayerBand(variable, layer, layer, band) for layer, band in bands.items())


def _labelled(prediction: Layered, bands: Bands, model: str) -> Iterator[tuple[str, str, int]]:
    """Yield name, key and band of the layers of a form; those in one file have a level, a class or a number."""
    form = prediction.form
    for key, numbers in bands:
        name = key_of(model, key)
        labels = [f"{level:g}" for level in form.quantile_levels] or (
            form.layer_labels if form.key == "classes" else [f"{i}" for i in range(1, len(numbers) + 1)]
        )
        alone = len(numbers) == 1
        yield from (
            (name if alone else f"{name} {label}", name, number) for label, number in zip(labels, numbers, strict=False)
        )


def _nearest_to_the_middle(chosen: NDArray[np.bool_]) -> tuple[int, int]:
    rows, columns = np.nonzero(chosen)
    middle = (np.array(chosen.shape) - 1) / 2
    nearest = int(np.argmin((rows - middle[0]) ** 2 + (columns - middle[1]) ** 2))
    return int(rows[nearest]), int(columns[nearest])


def _line(tile: Tile, layer: LayerBand, pixels: Doubles | None = None, pixel: tuple[int, int] = (0, 0)) -> LayerLine:
    raster = tile.rasters[layer.key]
    used, stored = raster.bands[layer.band - 1], (raster.header or raster).bands[layer.band - 1]
    if (aligned := raster.aligned) is not None:  # its values are scaled before they are aligned
        own = aligned.source.bands[layer.band - 1]
        used = replace(used, scale=used.scale * own.scale, offset=used.scale * own.offset + used.offset)
    return LayerLine(
        layer.variable.variable,
        layer.name if aligned is None else f"{layer.name} ({aligned.method})",
        *raster.file_of(layer.band),
        used.description,
        stored.units,
        used.units,
        "" if used.units else _of_variable(layer),
        used.scale,
        used.offset,
        None if pixels is None else float(np.isnan(pixels).mean()),
        None if pixels is None or np.isnan(pixels[pixel]) else float(pixels[pixel]),
    )


def _of_variable(layer: LayerBand) -> str:
    """Return the unit that a layer of a variable has; "" where it has another one, or none is known."""
    units, name = layer.variable.units, model_and_layer(layer.key)[1]
    if name in ("variance", "truth_variance"):
        return squared(units)
    return units if name in OF_THE_VARIABLE else ""


def lines_of_table(table: LayerTable) -> list[str]:
    """Return the table in lines for people, with a last line that names the pixel and the sample."""
    several = len({line.variable for line in table.lines}) > 1
    paths = _without_common_folders([line.path for line in table.lines])
    rows = [HEADINGS, *(_cells(line, path, several=several) for line, path in zip(table.lines, paths, strict=True))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    window = table.window
    if window is None:
        return [*lines, f"layers of tile {table.tile}; its pixels were not read"]
    where = f"row {table.row}, column {table.column} of tile {table.tile}"
    last = f"{window.row + window.height - 1}", f"{window.column + window.width - 1}"
    sample = f"rows {window.row} to {last[0]}, columns {window.column} to {last[1]}"
    return [*lines, f"values at {where}; nodata: share of its {sample} alone"]


def _cells(line: LayerLine, path: str, *, several: bool) -> tuple[str, ...]:
    description = f" {one_line(line.description)}" if line.description else ""
    return (
        f"{one_line(line.variable)}: {line.layer}" if several else line.layer,
        one_line(path),
        f"{line.band}{description}",
        one_line(_units(line)) or "-",
        _scale(line.scale, line.offset),
        "-" if line.nodata is None else _share(line.nodata),
        "-" if line.value is None else f"{line.value:.5g}{_root(line)}",
    )


def _units(line: LayerLine) -> str:
    if line.assumed_units:
        return f"{line.assumed_units} (assumed)"
    if line.units == line.stored_units:
        return line.units
    return f"{line.stored_units or 'none'} -> {line.units or 'none'}"


def _scale(scale: float, offset: float) -> str:
    """Return what is done to a stored value.

    >>> _scale(1, 0), _scale(0.1, 0), _scale(0.1, -5)
    ('as it is', 'x 0.1', 'x 0.1 - 5')
    """
    factor = "" if scale == 1 else f"x {scale:g}"
    added = "" if offset == 0 else f"{'-' if offset < 0 else '+'} {abs(offset):g}"
    return f"{factor} {added}".strip() or "as it is"


def _share(share: float) -> str:
    """Return a share in per cent; neither 0 nor 100 where it is not exactly so.

    >>> _share(0.0), _share(0.001), _share(0.25), _share(0.9999)
    ('0 %', '<1 %', '25 %', '>99 %')
    """
    if 0 < share < 0.01:
        return "<1 %"
    return ">99 %" if 0.99 < share < 1 else f"{share:.0%}".replace("%", " %")


def _root(line: LayerLine) -> str:
    """Return the std of a variance, which people compare with the mean."""
    is_variance = "variance" in model_and_layer(line.layer)[1]
    return f" = {math.sqrt(line.value):.4g}^2" if is_variance and line.value is not None and line.value > 0 else ""


def _without_common_folders(paths: Sequence[str]) -> list[str]:
    """Return the paths without the folders that all of them begin with.

    >>> _without_common_folders(["/maps/p/a_mean.tif", "/maps/t/a.tif"])
    ['p/a_mean.tif', 't/a.tif']
    """
    parts = [path.split("/") for path in paths]
    common = 0
    while all(len(own) > common + 1 and own[common] == parts[0][common] for own in parts):
        common += 1
    return ["/".join(own[common:]) for own in parts]
