"""Align layers to the grid of the mean if the configuration asks for it; otherwise refuse them."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from affine import Affine
from rasterio.errors import RasterioError
from rasterio.warp import transform_bounds

from geouq.config import ALIGNMENTS, Alignment, LayerFile, model_and_layer, problem_of_alignment
from geouq.core.errors import DataError, GridError
from geouq.core.grid import SQUARE, Grid, Window, known_crs, same_grid, why_not_same
from geouq.rasters.raster import Aligned, Raster

VALID_SHARE = 0.5
LEAST_AVERAGED, MOST_INTERPOLATED, MOST_ALIGNED = 0.9, 1.5, 1 << 20  # pixels of the file in one pixel of the grid
TURN = 360.0  # degrees
MARGIN = 2  # pixels of the file around a window, which neighbours are taken from
DENSE = 21  # points along each side of a window, whose curves in another CRS they follow
AVERAGED = "average"
CROSSES = "a window crosses the line at which the longitudes of the file begin again"


def on_one_grid(
    rasters: Mapping[str, Raster], mean: Raster, written: Mapping[str, LayerFile], *, of_codes: bool = False
) -> tuple[dict[str, Raster], tuple[str, ...]]:
    """Return the layers on the grid of the mean, and notes on those that are brought to it.

    of_codes : whether the truth holds codes of classes.

    Raises
    ------
    GridError
        If a layer lies on another grid and the configuration does not say how it is aligned; the message has the
        command that brings the file to the grid.
    DataError
        If a layer cannot be aligned.
    """
    found, notes = dict[str, Raster](), list[str]()
    for layer, raster in rasters.items():
        found[layer], own, is_coded = raster, written.get(layer), of_codes and layer == "truth"
        if own is not None and own.align is not None and not same_grid(mean.grid, raster.grid):
            if is_coded and own.align != "nearest":
                raise DataError(f"data.truth.align: {raster.path} holds codes of classes; write nearest")
            found[layer] = _aligned(raster, mean, own, layer)
            notes.append(_note(layer, found[layer], mean.grid))
        elif not same_grid(mean.grid, raster.grid):
            differ = why_not_same(mean.grid, raster.grid, mean.path, raster.path)
            raise GridError(f"{differ}\n  {_remedy(layer, raster, mean, as_codes=is_coded)}")
    return found, tuple(notes)


def source_window(grid: Grid, source: Grid) -> Window | None:
    """Return the window of a source that a grid covers, with a margin; it may reach beyond the source.

    None where no point of the grid is in the CRS of the source.

    Raises
    ------
    DataError
        If the grid crosses the line at which the longitudes of the source begin again.
    """
    bounds = _bounds_in(grid, source)
    if bounds is None:
        return None
    left, bottom, right, top = bounds
    back = ~source.transform
    places = [back @ corner for corner in ((left, bottom), (left, top), (right, bottom), (right, top))]
    columns, rows = zip(*places, strict=True)
    column, row = math.floor(min(columns)) - MARGIN, math.floor(min(rows)) - MARGIN
    return Window(row, column, math.ceil(max(rows)) + MARGIN - row, math.ceil(max(columns)) + MARGIN - column)


def _bounds_in(grid: Grid, source: Grid) -> tuple[float, float, float, float] | None:
    """Return left, bottom, right and top of a grid in the CRS of a source; errors and None as of `source_window`."""
    bounds = _bounds(grid)
    if not _one_crs(grid, source):
        try:
            bounds = transform_bounds(known_crs(grid.crs), known_crs(source.crs), *bounds, densify_pts=DENSE)
        except RasterioError:
            return None
    if not np.isfinite(bounds).all():
        return None
    if bounds[0] > bounds[2]:
        raise DataError(CROSSES)
    return bounds


def _turned(raster: Raster, grid: Grid) -> Raster:
    """Return a raster with the longitudes of a grid: those from 0 to 360 degrees are also those from -360 to 0.

    Raises
    ------
    DataError
        If the grid crosses the line at which the longitudes of the raster begin again.
    """
    source = raster.grid
    if not (source.crs and known_crs(source.crs).is_geographic and grid.crs):
        return raster
    bounds = _bounds_in(grid, source)
    if bounds is None:
        return raster
    left, _, right, _ = _bounds(source)
    turns = [turn for turn in (0.0, -TURN, TURN) if _shared((left + turn, right + turn), bounds[::2]) > _half(source)]
    if len(turns) > 1:
        raise DataError(CROSSES)
    if not any(turns):
        return raster
    return raster.changed(grid=replace(source, transform=Affine.translation(turns[0], 0) @ source.transform))


def _shared(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Return the length that two stretches share; negative if they are apart."""
    return min(one[1], other[1]) - max(one[0], other[0])


def _half(grid: Grid) -> float:
    """Return half the width of a pixel."""
    return math.hypot(grid.transform.a, grid.transform.d) / 2


def pixels_within(grid: Grid, source: Grid) -> float:
    """Return how many pixels of a source are as large as one of a grid, near the middle of the grid; 1 if unknown."""
    rows, columns = (min(length, SQUARE) for length in grid.shape)
    middle = Window((grid.shape[0] - rows) // 2, (grid.shape[1] - columns) // 2, rows, columns)
    window = source_window(grid.part(middle), source)
    if window is None:
        return 1.0
    return max(window.height - 2 * MARGIN, 1) * max(window.width - 2 * MARGIN, 1) / (rows * columns)


def _aligned(raster: Raster, mean: Raster, own: LayerFile, layer: str) -> Raster:
    """Return a raster on the grid of the mean; DataError where it cannot be brought to it."""
    method, grid = own.align, mean.grid
    if method is None or _without_place(grid) or _without_place(raster.grid) or bool(grid.crs) != bool(raster.grid.crs):
        raise DataError(f"{raster.path} cannot be aligned: it and {mean.path} need a CRS and a transform each")
    try:
        raster = _turned(raster, grid)
        window = source_window(grid, raster.grid)
    except DataError as error:
        raise DataError(
            f"{raster.path} cannot be aligned to {mean.path}: {error}; bring both to one grid first"
        ) from None
    if window is None or not _meets(window, raster.grid):
        raise DataError(f"{raster.path} does not overlap {mean.path}; check the path of data.{layer}")
    if problem := _problem_of_pixels(method, pixels_within(grid, raster.grid)):
        raise DataError(f"data.{layer}.align: {raster.path} {problem.format(mean=mean.path)}")
    bands = tuple(
        replace(band, dtype="float64", nodata=np.nan, scale=1.0, offset=0.0, masked=False) for band in raster.bands
    )
    return raster.changed(
        grid=grid,
        bands=bands,
        interleaved=False,
        block=(min(SQUARE, grid.shape[0]), min(SQUARE, grid.shape[1])),
        other_nodata=False,
        corner=(0, 0),
        aligned=Aligned(raster, method, VALID_SHARE if own.valid_share is None else own.valid_share),
    )


def _problem_of_pixels(method: Alignment, within: float) -> str:
    """Return why a method does not suit this number of file pixels in a grid pixel; '' if it does."""
    if method == AVERAGED and within < LEAST_AVERAGED:
        return "has larger pixels than {mean}, so that there is nothing to average; write nearest or bilinear"
    if method == "bilinear" and within > MOST_INTERPOLATED:
        return "has smaller pixels than {mean}, between which nothing is interpolated; write average or nearest"
    if within > MOST_ALIGNED:
        return f"has {within:.3g} pixels in each one of {{mean}}; bring it to larger pixels first with gdalwarp"
    return ""


def _remedy(layer: str, raster: Raster, mean: Raster, *, as_codes: bool) -> str:
    """Return what to do with a layer on another grid; as_codes : whether it holds codes, as a mask does."""
    own = "mask" if as_codes else model_and_layer(layer)[1].partition(".")[0]
    align = next((one for one in ALIGNMENTS if problem_of_alignment(one, own) is None), None)
    if align is None:
        return f"bring both to one grid first{_command('average', raster, mean)}"
    bring = f"bring the file to the grid first{'' if _needs_a_turn(raster, mean) else _command(align, raster, mean)}"
    return f"write data.{layer}: {{path: ..., align: {align}}}, or {bring}"


def _needs_a_turn(raster: Raster, mean: Raster) -> bool:
    """Return whether longitudes are counted from another meridian, which gdalwarp does not notice."""
    try:
        return _turned(raster, mean.grid) is not raster
    except DataError:
        return True


def _command(method: str, raster: Raster, mean: Raster) -> str:
    """Return the command that brings a raster to the grid of the mean; '' where that is not north up, or has no CRS."""
    t, grid = mean.grid.transform, mean.grid
    if raster.array is not None or mean.array is not None:  # gdalwarp does not know their names
        return ""
    if _without_place(grid) or not grid.crs or not raster.grid.crs or t.b or t.d or t.a <= 0 or t.e >= 0:
        return ""
    left, bottom, right, top = (f"{edge:.17g}" for edge in _bounds(grid))
    rows, columns = grid.shape
    name = grid.crs_name if grid.crs_name.startswith("EPSG:") else f"'{known_crs(grid.crs).to_wkt()}'"
    place = f"-t_srs {name} -te {left} {bottom} {right} {top} -ts {columns} {rows}"
    return f":\n  gdalwarp {place} -r {_GDAL.get(method, method)} -et 0 '{raster.path}' aligned.tif"


def _note(layer: str, raster: Raster, grid: Grid) -> str:
    """Return what the evaluation is of, if a layer is brought to the grid of the mean."""
    aligned = raster.aligned
    if aligned is None:
        return ""
    sizes = f"from pixels of {_size(aligned.source.grid)} to pixels of {_size(grid)}"
    if aligned.method != AVERAGED:
        return f"{layer} is brought {sizes}: {_HOW[aligned.method]}"
    share = f"at least {100 * aligned.valid_share:g} %"
    return f"{layer} is averaged {sizes}, where valid pixels cover {share} of a pixel; means are evaluated"


_GDAL = {"nearest": "near"}  # names of methods
_HOW = {"nearest": "each takes the value of the nearest one", "bilinear": "values are interpolated bilinearly"}


def _size(grid: Grid) -> str:
    t = grid.transform
    sides = f"{math.hypot(t.a, t.d):.6g} x {math.hypot(t.b, t.e):.6g}"
    return f"{sides} in {grid.crs_name}" if grid.crs else sides


def _bounds(grid: Grid) -> tuple[float, float, float, float]:
    """Return left, bottom, right and top of a grid, which may be turned."""
    rows, columns = grid.shape
    corners = [grid.transform @ corner for corner in ((0, 0), (columns, 0), (0, rows), (columns, rows))]
    x, y = zip(*corners, strict=True)
    return min(x), min(y), max(x), max(y)


def _one_crs(one: Grid, other: Grid) -> bool:
    return one.crs == other.crs or known_crs(one.crs) == known_crs(other.crs)


def _without_place(grid: Grid) -> bool:
    return bool(grid.control) or grid.transform.is_degenerate or grid.transform == Affine.identity()


def _meets(window: Window, grid: Grid) -> bool:
    rows, columns = grid.shape
    down, right = window.row + window.height - MARGIN, window.column + window.width - MARGIN
    return window.row + MARGIN < rows and window.column + MARGIN < columns and down > 0 and right > 0
