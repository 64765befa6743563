"""What a piece of a tile adds up to: its windows are read once, and given to the kernel group by group."""

from collections.abc import Callable, Iterable, Sequence

from geouq.config import Variable
from geouq.grid import Window
from geouq.rasters.catalog import Tile
from geouq.rasters.raster import gdal_options, unchanged
from geouq.reading.cutting import Piece, Reading, overlap
from geouq.reading.reader import TileReader
from geouq.reading.variable_window import VariableWindow
from geouq.sweep.accumulate import PieceSum, VariablePart
from geouq.sweep.group_sums import GroupSum, Read, add_box, emptied, new_group_sum, refuse_negative
from geouq.sweep.settings import Settings
from geouq.sweep.workers import stop_if_requested
from geouq.validity import TRUTH_NODATA

ReadOne = Callable[[int, Window], VariableWindow]
Visit = tuple[Sequence[int], Sequence[Window]]  # variables, windows: all variables of a window, then the next window


def sweep_piece(settings: Settings, tile: Tile, piece: Piece, reading: Reading) -> PieceSum:
    """Return what a piece of a tile adds up to; DataError names the first negative variance."""
    reader = TileReader(tile, reuse=True)
    names = [place_of_variance(tile, variable) for variable in tile.variables]

    def read(i: int, window: Window) -> VariableWindow:
        """Read a variable of a window."""
        return reader.read(tile.variables[i], window)

    with gdal_options(reading.cache), unchanged(tile.rasters.values()):
        thresholds = [variable.thresholds for variable in tile.variables]
        return sweep_windows(
            read,
            piece,
            visits_of(tile, piece),
            settings,
            names,
            thresholds=thresholds,
            weighted=tile.weighted,
        )


def visits_of(tile: Tile, piece: Piece) -> list[Visit]:
    """Order of reading: all windows of a variable, then the next; but all of a window where bands are interleaved.

    The models of a variable take turns within a window.
    """
    if any(raster.interleaved for raster in tile.rasters.values()):
        return [(range(len(tile.variables)), piece.windows)]
    models: dict[str, list[int]] = {}
    for i, variable in enumerate(tile.variables):
        models.setdefault(variable.variable, []).append(i)
    return [(together, piece.windows) for together in models.values()]


def place_of_variance(tile: Tile, variable: Variable) -> str:
    """Where the predicted variance of a variable stands."""
    return f"{tile.predictions[variable.model].variance.path}, {variable.variable}"


def sweep_windows(
    read: ReadOne,
    piece: Piece,
    visits: Iterable[Visit],
    settings: Settings,
    names: Sequence[str],
    *,
    thresholds: Sequence[tuple[float, ...]],
    weighted: bool,
) -> PieceSum:
    """Read windows of variables in the order of `visits`, and add them up by group: for each, a part a variable."""
    parts: dict[int, list[VariablePart]] = {}
    for variables, windows in visits:
        sums = {
            i: [new_group_sum(group, settings, thresholds[i], weighted=weighted) for group in piece.groups]
            for i in variables
        }
        for window in windows:
            for i in variables:
                stop_if_requested()
                _add_window(read(i, window), window, sums[i], settings, names[i])
        parts |= {i: [emptied(group) for group in groups] for i, groups in sums.items()}
    return [(group, [parts[i][g] for i in range(len(names))]) for g, group in enumerate(piece.groups)]


def _add_window(
    found: VariableWindow, window: Window, groups: Sequence[GroupSum], settings: Settings, name: str
) -> None:
    """Add the boxes of a window to the groups in which they lie."""
    read = None if found.absent else Read(window, found, found.pixels)
    for group in groups:
        box = overlap(window, group.group)
        if box.height <= 0 or box.width <= 0:
            continue
        if read is None:
            group.totals.excluded[TRUTH_NODATA] += box.height * box.width
            continue
        add_box(read, box, group, settings)
        if settings.negative == "error":
            refuse_negative(name, read, group)
