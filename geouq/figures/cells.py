"""Cells: a map of a metric, and the correlogram of the residuals."""

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LogNorm, Normalize, TwoSlopeNorm
from matplotlib.figure import Figure, FigureBase
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator, StrMethodFormatter
from numpy.typing import NDArray
from rasterio.crs import CRS
from rasterio.errors import CRSError

from geouq.core.grid import Grid
from geouq.core.wording import for_people
from geouq.figures.regions import ideal_of, is_ratio, is_signed
from geouq.figures.style import (
    DATA,
    DIVERGING,
    FAINT,
    GREEN,
    INK,
    LETTERS,
    MARKERS,
    NARROW,
    SEQUENTIAL,
    VERMILION,
    WIDE,
    dress,
    key,
    new_figure,
    note,
    pixels,
    plain,
    with_units,
    without_pixels,
)
from geouq.inference import Blocks
from geouq.inference.correlogram import Correlogram
from geouq.metrics import named

Floats = NDArray[np.float64]

EMPTY = "#c9ced3"  # apart from the middle of the colours, which is white
SCATTERED = 0.08  # share of the map below which tiles are drawn one by one
MOST_PANELS = 12
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


def cell_map(tiles: Sequence[TileCells], metric: str, *, title: str, units: str) -> Figure:
    """Return a metric in every cell, with a scale bar and north; tiles that lie far apart have a panel each.

    Colours: around 0 where the metric has a sign, around 1 in equal ratios where it is a ratio, around its level where
    it is a coverage; otherwise from low to high. They end where 2 % of the cells are left out, which arrows tell. Of
    tiles in several CRS, those of the most frequent one are drawn, and of more than 12 far apart the largest.
    """
    used = [tile for tile in tiles if np.isfinite(tile.values).any()]
    if not used:
        return without_pixels(new_figure(title))
    frequent = max((tile.grid.crs for tile in used), key=[tile.grid.crs for tile in used].count)
    alike = [tile for tile in used if tile.grid.crs == frequent]
    together = _is_together(alike)
    panels = [alike] if together else [[tile] for tile in sorted(alike, key=lambda tile: -tile.n)[:MOST_PANELS]]
    panels = panels if together else sorted(panels, key=lambda own: alike.index(own[0]))
    across = 1 if together else min(4, len(panels))
    down = -(-len(panels) // across)
    figure = new_figure(title, *_size(alike, across, down))
    norm, extend = _norm(np.concatenate([tile.values.ravel() for own in panels for tile in own]), metric)
    axes = list(figure.subplots(down, across, squeeze=False).ravel())
    for own, place in zip(panels, axes, strict=False):
        _draw(place, own, norm, metric)
        if not together:
            place.set_title(plain(own[0].tile, 20), fontsize=LETTERS, color=INK)
    for place in axes[len(panels) :]:
        place.remove()
    bar = _colour_bar(figure, axes[: len(panels)], norm, extend, metric)
    bar.set_label(with_units(metric, units), fontsize=LETTERS, parse_math=False)
    drawn = [tile for own in panels for tile in own]
    figure.supxlabel(_note(drawn, used, frequent), fontsize=LETTERS, color=INK)
    return figure


def draw_cells(axes: Axes, tiles: Sequence[TileCells], metric: str, units: str) -> None:
    """Draw tiles with the same CRS on one map, with a colour bar."""
    norm, extend = _norm(np.concatenate([tile.values.ravel() for tile in tiles]), metric)
    _draw(axes, tiles, norm, metric)
    bar = _colour_bar(axes.figure, [axes], norm, extend, metric)
    bar.set_label(with_units(metric, units), fontsize=LETTERS, parse_math=False)


def _box(tiles: Sequence[TileCells]) -> tuple[float, float, float, float]:
    """Return the west, south, east and north of all tiles, in the coordinates of their CRS."""
    corners = [
        tile.grid.transform @ (column, row)
        for tile in tiles
        for row in (0, (tile.end or tile.grid.shape)[0])
        for column in (0, (tile.end or tile.grid.shape)[1])
    ]
    x, y = np.array(corners).T
    return float(x.min()), float(y.min()), float(x.max()), float(y.max())


def _area(box: tuple[float, float, float, float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _is_together(tiles: Sequence[TileCells]) -> bool:
    whole = _area(_box(tiles))
    return len(tiles) == 1 or sum(_area(_box([tile])) for tile in tiles) >= SCATTERED * whole


def _size(tiles: Sequence[TileCells], across: int, down: int) -> tuple[float, float]:
    west, south, east, north = _box(tiles if across * down == 1 else tiles[:1])
    tall = float(np.clip((north - south) / (east - west), 0.3, 1.6)) if east > west else 1.0
    width = NARROW if across <= 2 else WIDE
    return width, 0.9 + down * (0.45 + tall * (width - 0.9) / across)


def _norm(values: Floats, metric: str) -> tuple[Normalize, str]:
    """Return the colour limits that mean something, and at which ends values lie beyond them."""
    known = values[np.isfinite(values)]
    low, high = (float(end) for end in np.quantile(known, [0.01, 0.99]))
    ideal = ideal_of(metric)
    norm: Normalize
    if is_ratio(metric):
        far = max(1.05, high, 1 / low if low > 0 else 1.0)
        norm = LogNorm(1 / far, far)
    elif ideal is not None and _is_coverage(metric):
        away = max(0.01, abs(low - ideal), abs(high - ideal))
        norm = TwoSlopeNorm(ideal, max(0.0, ideal - away), min(1.0, ideal + away))
    elif is_signed(metric):
        far = max(abs(low), abs(high)) or 1.0
        norm = Normalize(-far, far)
    else:
        norm = Normalize(low, high if high > low else low + (abs(low) or 1.0))
    return norm, _beyond(known, norm)


def _beyond(values: Floats, norm: Normalize) -> str:
    below, above = bool(values.min() < norm.vmin), bool(values.max() > norm.vmax)
    return {(True, True): "both", (True, False): "min", (False, True): "max"}.get((below, above), "neither")


def _is_coverage(metric: str) -> bool:
    """Return whether it is the share of truth within an interval."""
    found = named(metric)
    return found is not None and found[0].is_coverage


def _colours(metric: str) -> str:
    """Return red for errors larger than predicted, or too high, wherever a metric can deviate on two sides."""
    if _is_coverage(metric):
        return DIVERGING.removesuffix("_r")
    return DIVERGING if is_ratio(metric) or is_signed(metric) else SEQUENTIAL


def _draw(axes: Axes, tiles: Sequence[TileCells], norm: Normalize, metric: str) -> None:
    axes.set_facecolor(EMPTY)
    for tile in tiles:
        rows, columns = tile.grid.shape
        down, across = tile.end or (rows, columns)
        corner = np.meshgrid(np.minimum(np.arange(columns + 1), across), np.minimum(np.arange(rows + 1), down))
        t = tile.grid.transform
        x, y = t.a * corner[0] + t.b * corner[1] + t.c, t.d * corner[0] + t.e * corner[1] + t.f
        values = np.ma.masked_invalid(tile.values)
        axes.pcolormesh(x, y, values, cmap=_colours(metric), norm=norm, rasterized=True)
    west, south, east, north = _box(tiles)
    axes.set(xlim=(west, east), ylim=(south, north), xticks=[], yticks=[])
    metres, angles = metres_a_unit(tiles[0].grid, (south + north) / 2)
    axes.set_aspect(1 / np.cos(np.radians((south + north) / 2)) if angles else "equal")
    axes.spines[:].set_color(FAINT)
    if np.isfinite(metres):
        _scale_bar(axes, (west, east), metres)
        _north(axes)


def _scale_bar(axes: Axes, ends: tuple[float, float], metres: float) -> None:
    """Draw a bar of a round length below the map, at its left."""
    length = scale_length((ends[1] - ends[0]) * metres)
    right = ends[0] + length / metres
    below = axes.get_xaxis_transform()
    axes.plot([ends[0], right], [-0.03, -0.03], color=INK, linewidth=2, transform=below, clip_on=False)
    name = f"{for_people(length / 1000)} km" if length >= 1000 else f"{for_people(length)} m"
    axes.text(ends[0], -0.05, name, transform=below, ha="left", va="top", fontsize=LETTERS, color=INK)


def _north(axes: Axes) -> None:
    """Draw an arrow to the north below the map, at its right: up, as y grows to the north."""
    axes.annotate(
        "N", xy=(0.97, 0.0), xytext=(0.97, -26), xycoords="axes fraction",
        textcoords=("axes fraction", "offset points"), ha="center", va="bottom", fontsize=LETTERS, color=INK,
        arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 2},
    )  # fmt: skip


def metres_a_unit(grid: Grid, latitude: float) -> tuple[float, bool]:
    """Return the metres that one unit of x is, at that latitude where coordinates are angles, and whether they are.

    NaN where the CRS does not tell.
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


def _colour_bar(figure: FigureBase, axes: Sequence[Axes], norm: Normalize, extend: str, metric: str) -> Colorbar:
    mappable = mpl.cm.ScalarMappable(norm, _colours(metric))
    bar = figure.colorbar(mappable, ax=list(axes), extend=extend, shrink=0.85, aspect=28, pad=0.02)
    if isinstance(norm, LogNorm):
        bar.ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if (norm.vmax or 1) < 30 else (1,)))
        bar.ax.yaxis.set_major_formatter(StrMethodFormatter("{x:.3g}"))
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
    if isinstance(norm, TwoSlopeNorm):
        bar.set_ticks(_ticks(norm.vmin or 0.0, norm.vcenter, norm.vmax or 1.0))
        bar.ax.yaxis.set_major_formatter(StrMethodFormatter("{x:.3g}"))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.tick_params(labelsize=LETTERS)
    return bar


def _ticks(low: float, middle: float, high: float) -> list[float]:
    """Return round numbers up to the middle, which is one of them, and the end."""
    round_ones = MaxNLocator(4).tick_values(low, middle)
    return [*(float(tick) for tick in round_ones if low <= tick < middle - 0.15 * (middle - low)), middle, high]


def _note(drawn: Sequence[TileCells], used: Sequence[TileCells], crs: str) -> str:
    cells = sum(int(np.isfinite(tile.values).sum()) for tile in drawn)
    of = f", of {len(used)} tiles {len(drawn)}" if len(drawn) < len(used) else ""
    authority = CRS.from_wkt(crs).to_authority() if crs else None
    name = ":".join(authority) if authority else "a CRS without a code" if crs else "no CRS"
    return f"{cells} cells of {pixels(sum(tile.n for tile in drawn))}{of}; {plain(name)}; grey: no valid pixel"


def correlogram_figure(blocks: Blocks, *, title: str) -> Figure:
    """Correlation between cells of what each adds to the mean error, squared error and z², by their distance.

    Dotted lines show how far each reaches; blocks of the bootstrap are to be at least as large.
    """
    figure = new_figure(title, height=4.0)
    axes = figure.subplots()
    cell, unit = draw_correlogram(axes, blocks)
    side = f"{for_people(blocks.side * cell)} {unit} a side" if blocks.side else "one a tile"
    size = for_people(blocks.correlation_ranges["error"].effective)
    note(
        axes,
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
