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
NO_DATA = (138, 138, 138, 159)  # over the light and the dark page, this is the grey of cells without data


@dataclass(frozen=True)
class QuickLook:
    """A small picture of a map of a variable, with its title, its unit and the meaning of its colours.

    Pixels of tiles without a value have the colour `NO_DATA`, and what lies outside the tiles is transparent. colours :
    colour and meaning of each step, or of each code if `has_codes`.
    """

    title: str
    unit: str
    picture: Picture
    colours: Sequence[tuple[str, float | str]]
    has_codes: bool

    @property
    def has_missing(self) -> bool:
        """Return whether a pixel of a tile has no value."""
        return bool((self.picture[3] == NO_DATA[3]).any())


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
        Folder of the maps. A tile without a file has no data.
    """
    found, inside = list[QuickLook](), _inside(layout)
    for name in names:
        shown, some = map_named(name), variables[: MOST - len(found)]
        for variable, values in zip(some, _values(shown, len(some), layout, folder), strict=True):
            scale = shown.scale(wholes[variable.name]) if shown.scale else None
            colours = _coloured(values, scale) if scale else _of_codes(values, shown.codes)
            picture = _with_missing(colours, np.isfinite(values), inside)
            units = shown.label(variable).units
            title = f"{variable.name}: {shown.long_name}"
            found.append(QuickLook(title, "" if units == "1" else units, picture, _meanings(scale, shown), not scale))
    return found


def _boxes(layout: Layout) -> tuple[tuple[int, int], Sequence[tuple[slice, slice]]]:
    """Return rows and columns of a picture, and those of each tile in it."""
    ends = [(tile.top + tile.place.grid.shape[0], tile.left + tile.place.grid.shape[1]) for tile in layout.tiles]
    height, width = (max(end[axis] for end in ends) for axis in (0, 1))
    step = max(1.0, max(height, width) / SIDE)

    def between(start: int, end: int) -> slice:
        """Return the pixels of the picture between two rows or columns of the map."""
        return slice(round(start / step), round(end / step))

    boxes = [
        (between(tile.top, bottom), between(tile.left, right))
        for tile, (bottom, right) in zip(layout.tiles, ends, strict=True)
    ]
    return (max(1, round(height / step)), max(1, round(width / step))), boxes


def _inside(layout: Layout) -> NDArray[np.bool_]:
    """Return which pixels of a picture lie in a tile."""
    shape, boxes = _boxes(layout)
    inside = np.zeros(shape, bool)
    for box in boxes:
        inside[box] = True
    return inside


def _values(shown: PixelMap, bands: int, layout: Layout, folder: Path) -> Iterator[NDArray[np.float64]]:
    """Return the values of each band, float64 (rows, columns), NaN where they are missing."""
    shape, boxes = _boxes(layout)
    values = np.full((bands, *shape), np.nan)
    for tile, box in zip(layout.tiles, boxes, strict=True):
        path, place = path_of_map(tile.place.tile, shown.name, folder), (slice(None), *box)
        if values[place].size and path.exists():
            with rasterio.open(path) as file:
                read = file.read(list(range(1, bands + 1)), out_shape=values[place].shape, masked=True)
            values[place] = read.astype(np.float64).filled(np.nan)
    return iter(values)


def _coloured(values: NDArray[np.float64], scale: Scale) -> NDArray[np.float64]:
    """Return red, green and blue of values in the colours of a scale."""
    steps = np.arange(len(scale.values))
    places = np.interp(values, scale.values, steps)
    return np.stack([np.interp(places, steps, channel) for channel in zip(*scale.colours, strict=True)])


def _of_codes(values: NDArray[np.float64], codes: Sequence[str]) -> NDArray[np.float64]:
    table = np.array(colours_of_codes(codes), np.float64)
    number = np.where(np.isfinite(values), values, 0).astype(np.int64)
    return np.moveaxis(table[np.minimum(number, len(table) - 1)], -1, 0)


def _with_missing(colours: NDArray[np.float64], has_value: NDArray[np.bool_], inside: NDArray[np.bool_]) -> Picture:
    """Return opaque colours where there is a value, `NO_DATA` elsewhere in tiles, and nothing outside of these."""
    opaque = np.concatenate([colours, np.full((1, *has_value.shape), 255.0)])
    missing = np.where(inside, np.array(NO_DATA, np.float64)[:, np.newaxis, np.newaxis], 0.0)
    return np.where(has_value, opaque, missing).round().astype(np.uint8)


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
