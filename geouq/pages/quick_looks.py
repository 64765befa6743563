"""Quick looks at the maps of pixels: small pictures on the first page, each with the colours of its map."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.errors import NotGeoreferencedWarning

from geouq.config import Variable
from geouq.core.atomic import atomic_write
from geouq.maps import PixelMap, map_named
from geouq.maps.pixels import path_of_map
from geouq.maps.scales import Scale, colours_of_codes, hexadecimal
from geouq.pages.cells import Layout
from geouq.summary import Summary

Picture = NDArray[np.uint8]  # (4, rows, columns): red, green, blue and opacity

SIDE = 320  # pixels of the longer side
MOST = 24


@dataclass(frozen=True)
class QuickLook:
    """A small picture of a map of a variable, with its title, its unit and the meaning of its colours.

    colours : colour and meaning of each step, or of each code if `has_codes`.
    """

    title: str
    unit: str
    picture: Picture
    colours: Sequence[tuple[str, float | str]]
    has_codes: bool


def quick_looks(
    names: Iterable[str], variables: Sequence[Variable], wholes: Mapping[str, Summary], layout: Layout, folder: Path
) -> list[QuickLook]:
    """Return a quick look of each map and variable, at most 24.

    Parameters
    ----------
    names : iterable of str
        Names of maps of pixels.
    wholes : mapping
        Summary of all pixels of each variable, which sets the limits of the colours.
    layout : Layout
        Where the tiles lie on the map of the page.
    folder : Path
        Folder of the maps. A tile without a file is left empty.
    """
    found: list[QuickLook] = []
    for name in names:
        shown, some = map_named(name), variables[: MOST - len(found)]
        for variable, values in zip(some, _values(shown, len(some), layout, folder), strict=True):
            scale = shown.scale(wholes[variable.name]) if shown.scale else None
            picture = _coloured(values, scale) if scale else _of_codes(values, shown.codes)
            units = shown.label(variable).units
            title = f"{variable.name}: {shown.long_name}"
            found.append(QuickLook(title, "" if units == "1" else units, picture, _meanings(scale, shown), not scale))
    return found


def _values(shown: PixelMap, bands: int, layout: Layout, folder: Path) -> Iterator[NDArray[np.float64]]:
    """Return the values of each band, float64 (rows, columns), NaN where they are missing."""
    ends = [(tile.top + tile.place.grid.shape[0], tile.left + tile.place.grid.shape[1]) for tile in layout.tiles]
    height, width = (max(end[axis] for end in ends) for axis in (0, 1))
    step = max(1.0, max(height, width) / SIDE)
    values = np.full((bands, max(1, round(height / step)), max(1, round(width / step))), np.nan)
    for tile, (bottom, right) in zip(layout.tiles, ends, strict=True):
        path = path_of_map(tile.place.tile, shown.name, folder)
        box = [round(side / step) for side in (tile.top, bottom, tile.left, right)]
        if bands and path.exists() and box[1] > box[0] and box[3] > box[2]:
            with rasterio.open(path) as file:
                shape = bands, box[1] - box[0], box[3] - box[2]
                read = file.read(list(range(1, bands + 1)), out_shape=shape, masked=True)
            values[:, box[0] : box[1], box[2] : box[3]] = read.astype(np.float64).filled(np.nan)
    return iter(values)


def _coloured(values: NDArray[np.float64], scale: Scale) -> Picture:
    """Return values in the colours of a scale, transparent where the value is missing."""
    steps = np.arange(len(scale.values))
    places = np.interp(values, scale.values, steps)
    channels = [np.interp(places, steps, channel) for channel in zip(*scale.colours, strict=True)]
    return _with_opacity(np.stack(channels), values)


def _of_codes(values: NDArray[np.float64], codes: Sequence[str]) -> Picture:
    table = np.array(colours_of_codes(codes))
    number = np.where(np.isfinite(values), values, 0).astype(np.int64)
    return _with_opacity(np.moveaxis(table[np.minimum(number, len(table) - 1)], -1, 0), values)


def _with_opacity(colours: NDArray[np.float64], values: NDArray[np.float64]) -> Picture:
    there = np.isfinite(values)
    return np.concatenate([np.where(there, colours, 0), 255 * there[np.newaxis]]).round().astype(np.uint8)


def _meanings(scale: Scale | None, shown: PixelMap) -> list[tuple[str, float | str]]:
    if scale:
        return list(zip(map(hexadecimal, scale.colours), scale.values, strict=True))
    labels = (code.replace("_", " ") for code in shown.codes)
    return list(zip(map(hexadecimal, colours_of_codes(shown.codes)), labels, strict=True))


def write_picture(looks: Sequence[QuickLook], path: Path) -> Path:
    """Write the pictures of quick looks below each other as one PNG."""
    stacked = np.concatenate([look.picture for look in looks], axis=1)
    with warnings.catch_warnings(), atomic_write(path) as part:
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        count, height, width = stacked.shape
        with rasterio.open(part, "w", "PNG", count=count, height=height, width=width, dtype="uint8") as file:
            file.write(stacked)
    return path
