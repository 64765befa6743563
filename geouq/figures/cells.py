"""Cells: a map of a metric, and the correlogram of the residuals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, FuncNorm, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure, FigureBase
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray
from rasterio.crs import CRS
from rasterio.errors import CRSError

from geouq.core.grid import Grid
from geouq.core.wording import for_people
from geouq.figures.style import (
    COLUMN,
    DATA,
    FAINT,
    GREEN,
    INK,
    LETTERS,
    MARKERS,
    MINUS,
    PAGE,
    VERMILION,
    dress,
    key,
    key_below,
    new_figure,
    note,
    panel_figure,
    pixels,
    plain,
    size_of,
    width_of,
    with_units,
    without_pixels,
)
from geouq.inference import Blocks
from geouq.inference.correlogram import Correlogram
from geouq.maps.scales import Scale, hexadecimal

Floats = NDArray[np.float64]

# no data, as on the pages; at least 10 apart from all colours of scales for readers without green cones
EMPTY = "#b6b6b6"
NO_DATA, OUTSIDE = "no data", "outside the tiles"  # in the key
HATCH = "////"  # of what lies outside: white alone would be like a colour in the middle of many scales
SAMPLED = 256  # places along a side of the map at which tiles are looked for
SCATTERED = 0.08  # share of the map below which tiles are drawn one by one
MOST_PANELS = 12
TALLEST = 190  # mm, of a map
ABOVE = 6  # points between a map and the middle of its scale bar
DEGREE = 111_320.0  # metres, of latitude


@dataclass(frozen=True)
class TileCells:
    """The values of one metric in the cells of a tile, float64 (rows, columns), NaN where no pixel is valid.

    grid : whose pixels are the cells. n : number of valid pixels. end : row and column, in cells, where the tile ends
    and cuts its last cells; None where these are whole.
    """

    tile: str
    grid: Grid
    values: Floats
    n: int
    end: tuple[float, float] | None = None


def cell_map(
    tiles: Sequence[TileCells], metric: str, scale: Scale, *, title: str, units: str, width: float | None = None
) -> Figure:
    """Return a metric in every cell, with a scale bar and north; tiles that lie far apart have a panel each.

    Cells without a number are grey, and what lies outside the tiles is hatched; a key says which of them there are.
    Values beyond an end of the scale have the colour of that end, and an arrow of the colour bar shows it. Of tiles in
    several CRS, those of the most frequent one are drawn; of more than 12 tiles far apart, the largest.
    """
    used = [tile for tile in tiles if np.isfinite(tile.values).any()]
    if not used:
        return without_pixels(panel_figure(title, width))
    frequent = max((tile.grid.crs for tile in used), key=[tile.grid.crs for tile in used].count)
    alike = [tile for tile in used if tile.grid.crs == frequent]
    together = _is_together(alike)
    panels = [alike] if together else [[tile] for tile in sorted(alike, key=lambda tile: -tile.n)[:MOST_PANELS]]
    panels = panels if together else sorted(panels, key=lambda own: alike.index(own[0]))
    width = width or (COLUMN if len(panels) <= 2 else PAGE)
    across = min(4 if width >= PAGE else 2, len(panels))
    down = -(-len(panels) // across)
    figure = new_figure(title, width, _height(alike, width, across, down))
    figure.set_layout_engine("compressed")  # maps keep their proportions, and so leave gaps otherwise
    axes = list(figure.subplots(down, across, squeeze=False).ravel())
    for number, (own, place) in enumerate(zip(panels, axes, strict=False)):
        _draw(place, own, scale)
        _name_coordinates(place, own[0].grid, x=number + across >= len(panels), y=number % across == 0)
        if not together:
            place.set_title(plain(own[0].tile, 20), fontsize=LETTERS, color=INK, loc="left", pad=ABOVE + LETTERS)
    for place in axes[len(panels) :]:
        place.remove()
    drawn = [tile for own in panels for tile in own]
    bar = _colour_bar(figure, axes[: len(panels)], scale, _beyond(drawn, scale), below=True)
    bar.set_label(with_units(metric, units), fontsize=LETTERS, parse_math=False)
    note(figure, _note(drawn, used))
    key_below(bar.ax, axes[: len(panels)])
    return figure


def draw_cells(axes: Axes, tiles: Sequence[TileCells], metric: str, scale: Scale, units: str) -> None:
    """Draw tiles with the same CRS on one map, with a colour bar; a legend of the axes tells what is grey."""
    _draw(axes, tiles, scale)
    _name_coordinates(axes, tiles[0].grid)
    bar = _colour_bar(axes.figure, [axes], scale, _beyond(tiles, scale))
    bar.set_label(with_units(metric, units), fontsize=LETTERS, parse_math=False)


def _box(tiles: Sequence[TileCells]) -> tuple[float, float, float, float]:
    """Return the west, south, east and north of all tiles, in the coordinates of their CRS."""
    x, y = np.concatenate([_corners(tile) for tile in tiles]).T
    return float(x.min()), float(y.min()), float(x.max()), float(y.max())


def _area(box: tuple[float, float, float, float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _is_together(tiles: Sequence[TileCells]) -> bool:
    whole = _area(_box(tiles))
    return len(tiles) == 1 or sum(_area(_box([tile])) for tile in tiles) >= SCATTERED * whole


def _height(tiles: Sequence[TileCells], width: float, across: int, down: int) -> float:
    """Return the height in mm of maps with their coordinates, and of the colour bar below them."""
    box = _box(tiles if across * down == 1 else tiles[:1])
    tall = float(np.clip(_proportions(tiles[0].grid, box), 0.3, 1.6))
    side = (width - 5) / across - (10 if across * down == 1 else 6)
    return 14 + down * (min(tall * side, TALLEST) + (12 if across * down == 1 else 13))


def _proportions(grid: Grid, box: tuple[float, float, float, float]) -> float:
    """Return the height of a box on the ground, relative to its width."""
    west, south, east, north = box
    return _aspect(grid, (south + north) / 2) * (north - south) / (east - west) if east > west else 1.0


def _aspect(grid: Grid, latitude: float) -> float:
    """Return how long a unit of y is, relative to one of x."""
    return float(1 / np.cos(np.radians(latitude))) if metres_a_unit(grid, latitude)[1] else 1.0


def _colours(scale: Scale) -> tuple[Normalize, Colormap]:
    """Return the colours of a scale: each at its value, and in between in proportion."""
    places = np.linspace(0, 1, len(scale.values))
    norm = FuncNorm(
        (lambda value: np.interp(value, scale.values, places), lambda place: np.interp(place, places, scale.values)),
        scale.values[0], scale.values[-1],
    )  # fmt: skip
    return norm, LinearSegmentedColormap.from_list("scale", [hexadecimal(colour) for colour in scale.colours], N=1024)


def _beyond(tiles: Sequence[TileCells], scale: Scale) -> str:
    """Return at which ends of the scale values lie beyond it."""
    values = np.concatenate([tile.values.ravel() for tile in tiles])
    below, above = np.nanmin(values) < scale.values[0], np.nanmax(values) > scale.values[-1]
    return {(True, True): "both", (True, False): "min", (False, True): "max"}.get((bool(below), bool(above)), "neither")


def _draw(axes: Axes, tiles: Sequence[TileCells], scale: Scale) -> None:
    norm, colours = _colours(scale)
    for tile in tiles:
        rows, columns = tile.grid.shape
        down, across = tile.end or (rows, columns)
        corner = np.meshgrid(np.minimum(np.arange(columns + 1), across), np.minimum(np.arange(rows + 1), down))
        t = tile.grid.transform
        x, y = t.a * corner[0] + t.b * corner[1] + t.c, t.d * corner[0] + t.e * corner[1] + t.f
        values = np.ma.masked_invalid(tile.values)
        axes.pcolormesh(x, y, values, cmap=colours, norm=norm, rasterized=True)
    _draw_without_number(axes, tiles)
    west, south, east, north = _box(tiles)
    grid, latitude = tiles[0].grid, (south + north) / 2
    axes.set(xlim=(west, east), ylim=(south, north))
    axes.set_aspect(_aspect(grid, latitude), anchor="NW")
    axes.spines[:].set_color(FAINT)
    axes.tick_params(labelsize=LETTERS, colors=INK, width=0.6, length=2.5, pad=2)
    (width, height), tall = size_of(axes), _proportions(grid, (west, south, east, north))
    axes.set_xticks(*_coordinates(west, east, min(width, height / tall)))
    axes.set_yticks(*_coordinates(south, north, min(height, width * tall)), rotation=90, va="center")
    metres, _ = metres_a_unit(grid, latitude)
    if np.isfinite(metres):
        _scale_bar(axes, (west, east), metres)


def _draw_without_number(axes: Axes, tiles: Sequence[TileCells]) -> None:
    """Draw in grey where tiles have no number, and hatch what lies outside them, below the cells; both have labels."""
    holed = [_corners(tile) for tile in tiles if np.isnan(tile.values).any()]
    if holed:
        footprints = PolyCollection(
            holed, facecolors=EMPTY, antialiased=False, zorder=0.5, rasterized=True, label=NO_DATA
        )
        axes.add_collection(footprints, autolim=False)
    west, south, east, north = _box(tiles)
    if _has_outside(tiles):
        axes.add_patch(
            Rectangle(
                (west, south), east - west, north - south,
                facecolor="white", edgecolor=FAINT, hatch=HATCH, linewidth=0, zorder=0.1, label=OUTSIDE,
            )
        )  # fmt: skip


def _corners(tile: TileCells) -> Floats:
    """Return the corners of a tile, float64 (4, 2)."""
    down, across = tile.end or tile.grid.shape
    return np.array([tile.grid.transform @ corner for corner in ((0, 0), (across, 0), (across, down), (0, down))])


def _has_outside(tiles: Sequence[TileCells]) -> bool:
    """Return whether some of the map lies in no tile, as far as one can see it."""
    west, south, east, north = _box(tiles)
    places = (np.arange(SAMPLED) + 0.5) / SAMPLED
    x, y = west + places * (east - west), south + places * (north - south)
    is_inside = np.zeros((SAMPLED, SAMPLED), bool)
    for tile in tiles:
        left, bottom, right, top = _box([tile])
        here = np.s_[slice(*np.searchsorted(y, (bottom, top))), slice(*np.searchsorted(x, (left, right)))]
        column, row = ~tile.grid.transform @ tuple(np.meshgrid(x[here[1]], y[here[0]]))
        down, across = tile.end or tile.grid.shape
        is_inside[here] |= (column >= 0) & (column <= across) & (row >= 0) & (row <= down)
    return not is_inside.all()


def _coordinates(low: float, high: float, room: float) -> tuple[list[float], list[str]]:
    """Return a few round coordinates and their labels, none of which passes the ends of so many points."""
    found = [float(tick) for tick in MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high)]
    digits = max(0, -int(np.floor(np.log10(found[1] - found[0]))))
    labels = {tick: f"{tick:,.{digits}f}".replace(",", "\u202f").replace("-", MINUS) for tick in found}
    half = max(width_of(label, LETTERS) for label in labels.values()) / 2 / room * (high - low)
    inside = [tick for tick in found if low + half <= tick <= high - half]
    if len(inside) > 1 and inside[1] - inside[0] < 2.6 * half:
        inside = [inside[0], inside[-1]] if inside[-1] - inside[0] >= 2.6 * half else [inside[len(inside) // 2]]
    return inside, [labels[tick] for tick in inside]


def _name_coordinates(axes: Axes, grid: Grid, *, x: bool = True, y: bool = True) -> None:
    """Write what the coordinates are, with their unit."""
    try:
        crs = CRS.from_wkt(grid.crs)
    except CRSError:
        names = "x", "y"
    else:
        units = "m" if crs.linear_units in ("metre", "meter") else crs.linear_units
        names = ("longitude (°)", "latitude (°)") if crs.is_geographic else (f"x ({units})", f"y ({units})")
    axes.set_xlabel(names[0] if x else "", fontsize=LETTERS, color=INK, labelpad=2)
    axes.set_ylabel(names[1] if y else "", fontsize=LETTERS, color=INK, labelpad=2)


def _scale_bar(axes: Axes, ends: tuple[float, float], metres: float) -> None:
    """Draw a bar of a round length above the map, at its right, and where north is: up, as y grows to the north."""
    length = scale_length((ends[1] - ends[0]) * metres)
    left = ends[1] - length / metres
    above = axes.get_xaxis_transform() + ScaledTranslation(0, ABOVE / 72, axes.figure.dpi_scale_trans)
    axes.plot([left, ends[1]], [1, 1], color=INK, linewidth=2, solid_capstyle="butt", transform=above, clip_on=False)
    name = f"{for_people(length / 1000)} km" if length >= 1000 else f"{for_people(length)} m"
    text = f"N ↑   {name} "
    axes.text(left, 1, text, transform=above, ha="right", va="center_baseline", fontsize=LETTERS, color=INK)


def metres_a_unit(grid: Grid, latitude: float) -> tuple[float, bool]:
    """Return the metres that one unit of x is, at that latitude where coordinates are angles, and whether they are.

    NaN if the CRS has no unit of length.
    """
    try:
        crs = CRS.from_wkt(grid.crs)
    except CRSError:
        return np.nan, False
    if crs.is_geographic:
        return DEGREE * float(np.cos(np.radians(latitude))), True
    return (float(crs.linear_units_factor[1]) if crs.is_projected else np.nan), False


def scale_length(metres: float) -> float:
    """Return the largest 1, 2 or 5 times a power of ten that is no longer than a third of so many metres.

    >>> scale_length(1000.0), scale_length(16_000.0)
    (200.0, 5000.0)
    """
    third = metres / 3
    power = 10.0 ** np.floor(np.log10(third))
    return float(max(step for step in (1, 2, 5) if step * power <= third) * power)


def _colour_bar(
    figure: FigureBase, axes: Sequence[Axes], scale: Scale, extend: str, *, below: bool = False
) -> Colorbar:
    where: dict[str, Any] = (
        {"location": "bottom", "shrink": 0.9, "aspect": 40} if below else {"shrink": 0.85, "aspect": 28}
    )
    bar = figure.colorbar(
        ScalarMappable(*_colours(scale)), ax=list(axes), extend=extend, pad=0.02, panchor=False, **where
    )
    bar.set_ticks(list(scale.values), labels=[for_people(value).replace("-", MINUS) for value in scale.values])
    bar.ax.tick_params(labelsize=LETTERS)
    bar.minorticks_off()
    return bar


def _note(drawn: Sequence[TileCells], used: Sequence[TileCells]) -> str:
    cells = sum(int(np.isfinite(tile.values).sum()) for tile in drawn)
    of = f", of {len(used)} tiles {len(drawn)}" if len(drawn) < len(used) else ""
    return f"{cells} cells of {pixels(sum(tile.n for tile in drawn))}{of}; {drawn[0].grid.crs_name}"


def correlogram_figure(blocks: Blocks, *, title: str, width: float | None = None) -> Figure:
    """Correlation between cells of what each adds to the mean error, squared error and z², by their distance.

    Dotted lines show the range of each correlation; blocks of the bootstrap should be at least as large.
    """
    figure = panel_figure(title, width)
    axes = figure.subplots()
    cell, unit = draw_correlogram(axes, blocks)
    side = f"{for_people(blocks.side * cell)} {unit} a side" if blocks.side else "one a tile"
    size = for_people(blocks.correlation_ranges["error"].effective)
    note(
        figure,
        f"{blocks.count} blocks, {side}",
        f"{blocks.cells} cells, worth {size} independent ones for the mean error",
    )
    key(figure, [axes])
    return figure


def draw_correlogram(axes: Axes, blocks: Blocks) -> tuple[float, str]:
    """Draw the correlation of each residual; return the side of a cell and its unit."""
    metres = np.isfinite(blocks.cell_metres)
    cell, unit = (blocks.cell_metres / 1000, "km") if metres else (blocks.cell_pixels, "pixels")
    styles = zip(("error", "squared error", "z²"), (DATA, VERMILION, GREEN), MARKERS, strict=False)
    for one, (name, colour, marker) in zip(_shown(blocks), styles, strict=False):
        axes.plot(
            one.lags * cell,
            one.correlation,
            color=colour,
            marker=marker,
            markersize=3.5,
            linewidth=1.2,
            label=name,
            clip_on=False,
        )
        axes.axvline(one.correlation_range * cell, color=colour, linewidth=1, linestyle=":")
    axes.axhline(0, color=INK, linewidth=0.6)
    dress(axes, f"distance ({unit})", "correlation (1)")
    error = blocks.correlation_ranges["error"]
    noise = 2 / np.sqrt(np.maximum(error.correlogram.pairs[1:], 1))
    away = error.correlogram.lags[1:] * cell
    axes.fill_between(away, -noise, noise, color=FAINT, alpha=0.45, linewidth=0, label="95 % if uncorrelated")
    lowest = min(
        np.nanmin(correlation_range.correlogram.correlation) for correlation_range in blocks.correlation_ranges.values()
    )
    axes.set(ylim=(min(-0.1, 1.1 * lowest), 1.05), xlim=(0, max(1, len(error.correlogram.lags) - 1) * cell))
    return cell, unit


def _shown(blocks: Blocks) -> list[Correlogram]:
    """Return the correlograms of the residuals; without a std z² is the squared error, and is left out."""
    error, squared, z = (correlation_range.correlogram for correlation_range in blocks.correlation_ranges.values())
    alike = np.array_equal(squared.correlation, z.correlation, equal_nan=True)
    return [error, squared] if alike else [error, squared, z]
