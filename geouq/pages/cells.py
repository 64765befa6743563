"""Sums of cells for the map of the pages, in files small enough to load with a page, and the layout of the map."""

import base64
import gzip
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from geouq.config import BinScheme, Variable
from geouq.core.wording import minus_in_text
from geouq.inference import ForecastSample
from geouq.inference.blocks import cell_metres
from geouq.inference.bootstrap import BootstrapBasis, basis_of_cells, rows_of_cells
from geouq.maps.cell_metrics import OPENING, kept_by_cell, usual_among
from geouq.maps.lattice import corners_on_lattice
from geouq.maps.pixel_maps import PIXEL_MAPS
from geouq.maps.scales import Scale, cell_scale, hexadecimal
from geouq.metrics import Value, binned, coverage, evaluate_metric, heading_of, metrics_of, unit_of
from geouq.metrics.classes import HIT
from geouq.metrics.classes import N as OF_BIN
from geouq.metrics.classes import P as PROBABILITY
from geouq.metrics.record import usual_of
from geouq.summary import Summary, TilePlace
from geouq.summary.form import Form, FormSums

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]  # by name

PIT_BINS = 20
LARGEST_FILE = 1_400_000  # bytes
PICTURED = ("mean", "std", "error", "z")  # in pictures of the worst tiles
SUMS = ("truth", "deviation", "squared_deviation", "error", "squared_error", "variance", "z", "z_square", "crps")
DIAGRAMS = (  # how the columns begin that are loaded when cells are chosen
    *("pit_", "n_", "variance_", "squared_error_"),
    *("below_", "at_most_", "class_n_", "class_p_", "class_hit_"),
)
MOST_CLASSES, FINE_CLASSES = 8, 3  # with a diagram of cells, and with all ten bins; of more, two bins are joined
ALWAYS = ("n", "weight", "covered")  # columns that are loaded with the page
MOST_CELLS = 100_000  # of a variable
MOST_IN_ALL = 250_000  # of all variables
MOST_PIXELS = 4_000_000  # of the map as it is drawn
APART = "Tiles are drawn side by side in the order of their names, not where they are on the ground."
SQUEEZED = "Wide strips between tiles are cut out, at the dashed lines; there the axes are broken."
LEAST_COVERED = 0.04  # of the map by tiles
TOGETHER = 1024  # blocks of small tiles whose sums are computed together


@dataclass(frozen=True)
class Placed:
    """A tile on the map: its upper left corner and size in pixels of the tile, and rows and columns of its blocks.

    first : place of its first block among those of all tiles.
    """

    place: TilePlace
    top: int
    left: int
    blocks: tuple[int, int]
    first: int

    @property
    def count(self) -> int:
        """Number of its blocks."""
        return self.blocks[0] * self.blocks[1]


@dataclass(frozen=True)
class Layout:
    """All tiles on the map. side : side of a block in cells. where : note for the reader on how tiles are placed."""

    tiles: Sequence[Placed]
    side: int
    where: str = ""

    @property
    def count(self) -> int:
        """Number of blocks of all tiles."""
        return sum(tile.count for tile in self.tiles)


def layout_of(places: Sequence[TilePlace], variables: int) -> Layout:
    """Return the layout with the smallest blocks that keep the pages small; a block lies within one tile."""
    most = min(MOST_CELLS, MOST_IN_ALL // max(1, variables))
    side, longest = 1, max(max(place.cell_grid.shape) for place in places)
    while side < longest and sum(math.prod(_blocks(place, side)) for place in places) > most:
        side *= 2
    corners, where = _corners(places)
    tiles, first = [], 0
    for place in places:
        tiles.append(Placed(place, *corners[place.tile], _blocks(place, side), first))
        first += tiles[-1].count
    return Layout(tiles, side, where)


def joined(rows: Floats, tile: Placed, side: int) -> Floats:
    """Return sums of the rows of a tile's cells, float64 (cells, columns), over each of its blocks."""
    if side == 1:
        return rows
    down, across = (np.arange(cells) // side for cells in tile.place.cell_grid.shape)
    block = (down[:, np.newaxis] * tile.blocks[1] + across).ravel()
    sums = np.zeros((tile.count, rows.shape[1]))
    np.add.at(sums, block, rows)
    return sums


def _blocks(place: TilePlace, side: int) -> tuple[int, int]:
    rows, columns = place.cell_grid.shape
    return -(-rows // side), -(-columns // side)


def _corners(places: Sequence[TilePlace]) -> tuple[Mapping[str, tuple[int, int]], str]:
    """Return row and column of each tile's corner, as on the ground if possible, and a note for the reader."""
    ground = corners_on_lattice(places)
    if ground is None:
        return _side_by_side(places), APART
    sizes = [place.grid.shape for place in places]
    rows, columns = ([corner[axis] for corner in ground.values()] for axis in (0, 1))
    rows, squeezed_rows = _squeezed(rows, [size[0] for size in sizes])
    columns, squeezed_columns = _squeezed(columns, [size[1] for size in sizes])
    height = max(row + size[0] for row, size in zip(rows, sizes, strict=True))
    width = max(column + size[1] for column, size in zip(columns, sizes, strict=True))
    drawn = math.sqrt(height * width / MOST_PIXELS)  # side of a pixel of the map
    covered = sum(map(math.prod, sizes)) / (height * width)
    if covered < LEAST_COVERED or min(map(min, sizes)) < 2 * drawn:
        return _side_by_side(places), APART
    corners = dict(zip(ground, zip(rows, columns, strict=True), strict=True))
    return corners, SQUEEZED if squeezed_rows or squeezed_columns else ""


def _squeezed(starts: Sequence[int], lengths: Sequence[int]) -> tuple[list[int], bool]:
    """Return starts of intervals, from 0, with gaps no wider than a quarter of the longest interval.

    The second value is whether anything was cut.

    >>> _squeezed([1000, 0, 1008], [8, 8, 8])
    ([10, 0, 18], True)
    """
    gap, reached, cut, found = max(1, max(lengths) // 4), min(starts), min(starts), {}
    for start, length in sorted(zip(starts, lengths, strict=True)):
        cut += max(0, start - reached - gap)
        reached = max(reached, start + length)
        found[start] = start - cut
    return [found[start] for start in starts], cut > min(starts)


def _side_by_side(places: Sequence[TilePlace]) -> Mapping[str, tuple[int, int]]:
    """Return the corners of tiles that are placed in rows, in their order, with gaps between them."""
    height, width = (max(place.grid.shape[axis] for place in places) for axis in (0, 1))
    gap = max(1, max(height, width) // 16)
    across = max(1, round(math.sqrt(len(places) * (height + gap) / (width + gap))))
    return {
        place.tile: (number // across * (height + gap), number % across * (width + gap))
        for number, place in enumerate(places)
    }


@dataclass(frozen=True)
class MapMetric:
    """A number that the map shows: its name in tables and in its record, its label, and its colours.

    part : part of the verdict that it decides, which links it to a tab of the scorecard; of several levels only the
    usual one does. about : meaning in a sentence. is_percent : whether people see 100 times the number.
    """

    name: str
    metric: str
    heading: str
    unit: str
    scale: Scale
    part: str = ""
    about: str = ""
    is_percent: bool = False

    def as_record(self) -> dict[str, Any]:
        """Return plain values for a script."""
        return {
            "id": self.name,
            "of": self.metric,
            "name": minus_in_text(self.heading),
            "unit": self.unit,
            **_as_record(self.scale),
            "part": self.part,
            **({"isPercent": True} if self.is_percent else {}),
        }


def _as_record(scale: Scale) -> dict[str, Any]:
    return {"values": list(scale.values), "colours": list(map(hexadecimal, scale.colours))}


class PackedColumns(NamedTuple):
    """Columns of so many blocks. kinds : name and type of each column. data : values of all columns, compressed."""

    blocks: int
    kinds: Sequence[tuple[str, str]]
    data: bytes

    @classmethod
    def of(cls, columns: Columns) -> Self:
        """Return columns of one length."""
        values = b"".join(column.astype(column.dtype.newbyteorder("<")).tobytes() for column in columns.values())
        kinds = [(name, f"{column.dtype.kind}{column.itemsize}") for name, column in columns.items()]
        return cls(len(next(iter(columns.values()))), kinds, gzip.compress(values, 6, mtime=0))

    def as_record(self) -> dict[str, Any]:
        """Return plain values for a script."""
        return {"count": self.blocks, "columns": self.kinds, "data": letters(self.data)}


@dataclass(frozen=True)
class CellSums:
    """Sums over the pixels of each block of cells of a variable.

    They are compressed, as there may be many megabytes of all variables.

    Parameters
    ----------
    files : mapping
        What each script holds, by kind: `cells` are loaded with the page, as the map opens on them; `sums` when a
        reader comes to map or scorecard; `bins`, the sums of diagrams, when cells are chosen.
    rows : mapping
        Number of blocks in a script, by kind.
    metrics : sequence of MapMetric
        Numbers that the map shows.
    scales : mapping
        Colours of `PICTURED`, the same as in the maps of pixels.
    shares : mapping
        Of forecasts without a variance, what the diagrams are of: `levels` of quantiles, or `classes` and `bins`.
    """

    variable: Variable
    files: Mapping[str, Sequence[PackedColumns]]
    rows: Mapping[str, int]
    metrics: Sequence[MapMetric] = ()
    scales: Mapping[str, Scale] = field(default_factory=dict)
    shares: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        variable: Variable,
        columns: Columns,
        metrics: Sequence[MapMetric] = (),
        scales: Mapping[str, Scale] = MappingProxyType({}),
        shares: Mapping[str, Any] = MappingProxyType({}),
    ) -> Self:
        """Return the sums of columns.

        Parameters
        ----------
        columns : mapping
            Columns by name, in the order of the blocks: n, weight if pixels have weights, those of `SUMS` (deviation:
            of the truth from its mean in the whole), covered (inside the interval of the usual level), pit_0 to pit_19,
            and n_, variance_ and squared_error_ of each bin.
            Without a predicted variance: n, weight, the metrics by their names; below_ and at_most_ (truth below, and
            at most, the quantile) of each quantile; or class_n_, class_p_ (probability) and class_hit_ (truth) of each
            class and bin.
        """
        kinds = _by_kind(columns, _opening(metrics))
        rows = {kind: _rows_in_a_file(own) for kind, own in kinds.items()}
        files = {kind: list(_packed(own, rows[kind])) for kind, own in kinds.items()}
        return cls(variable, files, rows, metrics, scales, shares)

    @property
    def has_diagrams(self) -> bool:
        """Return whether there are sums for diagrams."""
        return "bins" in self.files


def _by_kind(columns: Columns, opening: str) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the columns by the kind of the scripts that hold them; `opening` is the metric shown at first."""
    found: dict[str, dict[str, NDArray[Any]]] = {}
    for name, column in columns.items():
        kind = "bins" if name.startswith(DIAGRAMS) else "cells" if name in (*ALWAYS, opening) else "sums"
        found.setdefault(kind, {})[name] = column
    return found


def _opening(metrics: Sequence[MapMetric]) -> str:
    """Return the name of the metric that the map shows at first."""
    shown = [metric.name for part in OPENING for metric in metrics if metric.part == part]
    return (shown or [metric.name for metric in metrics] or [""])[0]


def _rows_in_a_file(columns: Columns) -> int:
    """Return the number of blocks whose sums are certain to fit into one file."""
    return max(1, LARGEST_FILE * 3 // 4 // sum(column.itemsize for column in columns.values()))


@dataclass(frozen=True)
class CellMaps:
    """The sums of all variables with valid pixels, and the layout of their blocks. bins : name of the bins."""

    layout: Layout
    variables: Sequence[CellSums]
    bins: str = ""

    @property
    def diagrams(self) -> bool:
        """Return whether there are diagrams of selected cells."""
        return any(sums.has_diagrams for sums in self.variables)

    @property
    def of_shares(self) -> bool:
        """Return whether the diagrams are of shares: the forecasts have no variance."""
        return any(sums.shares for sums in self.variables)

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield names and texts of the scripts that hold them."""
        for number, sums in enumerate(self.variables):
            for kind, packed in sums.files.items():
                for part, own in enumerate(packed):
                    yield script_of(kind, number, part, own.as_record())

    def facts(self) -> dict[str, Any]:
        """Return where the blocks lie and what the map shows, as plain values."""
        tiles = self.layout.tiles
        return {
            "where": self.layout.where,
            "cut": self.layout.where == SQUEEZED,
            "side": self.layout.side,
            "names": [tile.place.tile for tile in tiles],
            "tops": [tile.top for tile in tiles],
            "lefts": [tile.left for tile in tiles],
            "heights": [tile.place.grid.shape[0] for tile in tiles],
            "widths": [tile.place.grid.shape[1] for tile in tiles],
            "rows": [tile.blocks[0] for tile in tiles],
            "columns": [tile.blocks[1] for tile in tiles],
            "size": tiles[0].place.cell_size * self.layout.side,
            "bins": self.bins,
            "ground": _ground([tile.place for tile in tiles]),
            "about": {metric.metric: minus_in_text(metric.about) for sums in self.variables for metric in sums.metrics},
            "variables": [
                {"name": sums.variable.name, "units": sums.variable.units, "rows": dict(sums.rows)}
                for sums in self.variables
            ],
        }

    def facts_of(self, number: int) -> dict[str, Any]:
        """Return what the map shows of a variable, and its colours, as plain values."""
        sums = self.variables[number]
        return {
            "metrics": [metric.as_record() for metric in sums.metrics],
            "pixels": {name: _as_record(scale) for name, scale in sums.scales.items()},
            **({"shares": dict(sums.shares)} if sums.shares else {}),
        }


def script_of(name: str, group: int, part: int, data: object) -> tuple[str, str]:
    """Return name and text of a script that hands data to the page."""
    text = json.dumps(data, separators=(",", ":"))
    return f"{name}_{group}_{part}.js", f'geouq.take("{name}",{group},{part},{text});\n'


def _ground(places: Sequence[TilePlace]) -> dict[str, Any] | None:
    """Return corners of the tiles, the step of a pixel and its side in metres; None if coordinates are unknown."""
    grids = [place.grid for place in places]
    first = grids[0].transform
    step = [first.a, first.b, first.d, first.e]
    alike = all(np.allclose([g.transform.a, g.transform.b, g.transform.d, g.transform.e], step) for g in grids)
    if not alike or first.is_degenerate or any(grid.control or grid.crs != grids[0].crs for grid in grids):
        return None
    metres = cell_metres(grids[len(grids) // 2], 1)
    return {
        "x": [grid.transform.c for grid in grids],
        "y": [grid.transform.f for grid in grids],
        "step": step,
        "crs": grids[0].crs_name,
        "metres": metres if math.isfinite(metres) else None,
    }


def cell_maps(sides: Mapping[str, ForecastSample], variables: Sequence[Variable], scheme: BinScheme) -> CellMaps | None:
    """Return the sums of the cells of an evaluation unit, by variable; None if it has no valid pixel.

    Cells have the bins of the whole, so that their sums add.
    """
    measured = [variable for variable in variables if sides[variable.name].whole.n]
    if not measured:
        return None
    layout = layout_of(sides[measured[0].name].places, len(measured))
    sums = [_sums_of(sides[variable.name], variable, scheme, layout) for variable in measured]
    return CellMaps(layout, sums, scheme.name)


def _sums_of(side: ForecastSample, variable: Variable, scheme: BinScheme, layout: Layout) -> CellSums:
    if not side.metric_options.form.has_variance:
        return _means_of(side, variable, layout)
    basis = basis_of_cells(side.whole, replace(side.metric_options, schemes=(scheme,)))
    level = usual_of(basis.levels)
    centre = float(side.whole.moments.mean("truth"))
    parts = [
        {name: _narrow(column) for name, column in _columns(summary, basis, scheme, level, centre).items()}
        for summary in _summaries_of_blocks(side, basis, layout)
    ]
    names = [name for name in parts[0] if name != "weight" or side.whole.moments.weight != side.whole.n]
    whole = {name: _joined([part[name] for part in parts]) for name in names}
    metric_options = replace(side.metric_options, schemes=(scheme,), levels=(level,))
    metrics = _map_metrics(_shown(replace(side, metric_options=metric_options)), side, variable.units)
    scales = {name: scale(side.whole) for name in PICTURED if (scale := PIXEL_MAPS[name].scale)}
    return CellSums.of(variable, whole, metrics, scales)


def _means_of(side: ForecastSample, variable: Variable, layout: Layout) -> CellSums:
    """Return sums of metrics that are means over pixels, without those that are infinite in some block."""
    basis = basis_of_cells(side.whole, replace(side.metric_options, schemes=()))
    parts = list(_summaries_of_blocks(side, basis, layout))
    columns = {"n": np.concatenate([part.n for part in parts])}
    if side.whole.moments.weight != side.whole.n:
        columns["weight"] = np.concatenate([part.moments.weight for part in parts])
    for part in parts:
        for value in _shown(replace(side, whole=part)):
            sums = np.where(part.n > 0, value.value * part.moments.weight, 0.0)
            columns[value.name] = np.append(columns.get(value.name, np.empty(0)), sums)
    columns |= share_columns([part.form for part in parts if part.form is not None])
    kept = {name: _narrow(column) for name, column in columns.items() if np.isfinite(column).all()}
    shown = (value for value in _shown(side) if value.name in kept)
    metrics = _map_metrics(shown, side, variable.units)
    return CellSums.of(variable, kept, metrics, shares=shares_of(side.metric_options.form))


def shares_of(form: Form) -> dict[str, Any]:
    """Return what the diagrams of a form without a variance are of."""
    if form.quantile_levels:
        return {"levels": list(form.quantile_levels)}
    classes = list(form.class_names)[:MOST_CLASSES]
    return {"classes": classes, "of": len(form.class_names), "bins": form.fields["by_class"][1] // _joined_bins(form)}


def _joined_bins(form: Form) -> int:
    return 1 if len(form.class_names) <= FINE_CLASSES else 2


def share_columns(parts: Sequence[FormSums]) -> dict[str, Floats]:
    """Return the columns of the diagrams of forecasts without a variance, from the sums of blocks."""
    form = parts[0].form
    if form.quantile_levels:
        return {
            f"{name}_{k}": column
            for name in ("below", "at_most")
            for k, column in enumerate(np.concatenate([part.of(name) for part in parts]).T)
        }
    by_class = np.concatenate([part.of("by_class")[:, :MOST_CLASSES] for part in parts])
    blocks, classes, _, columns = by_class.shape
    joined_bins = by_class.reshape(blocks, classes, -1, _joined_bins(form), columns).sum(3)
    return {
        f"class_{name}_{c}_{b}": joined_bins[:, c, b, column]
        for c in range(classes)
        for b in range(joined_bins.shape[2])
        for name, column in (("n", OF_BIN), ("p", PROBABILITY), ("hit", HIT))
    }


def _shown(side: ForecastSample) -> Iterator[Value]:
    """Yield the numbers that the map shows."""
    for metric in sorted(metrics_of(side.metric_options.form), key=lambda metric: metric.rank):
        if "cell sums" in metric.shown:
            yield from evaluate_metric(metric, side.whole, side.metric_options)


def _map_metrics(values: Iterable[Value], side: ForecastSample, units: str) -> list[MapMetric]:
    """Return what the map shows, with the colours of the cell maps."""
    found, of_cells = [], {value.name: value for value in kept_by_cell(side.whole, side.metric_options)}
    shown = list(values)
    for value in shown:
        metric = value.metric
        alike = [other for other in shown if other.metric == metric]
        part = metric.part if value.level is None or value is usual_among(alike) else ""
        unit = f"in {metric.percent}" if metric.percent else unit_of(metric, units).replace("^2", "²")
        scale = cell_scale(of_cells.get(value.name, value), side.whole)
        shown_as = unit, scale, part, metric.claim, bool(metric.percent)
        found.append(MapMetric(value.name, metric.name, heading_of(value.name), *shown_as))
    return found


def _summaries_of_blocks(side: ForecastSample, basis: BootstrapBasis, layout: Layout) -> Iterator[Summary]:
    """Yield the summaries of the blocks of all tiles in their order; those of small tiles come together."""
    waiting: list[Floats] = []
    for tile in layout.tiles:
        waiting.append(_rows_of_blocks(side, basis, tile, layout.side))
        if sum(map(len, waiting)) >= TOGETHER:
            yield basis.summary(np.concatenate(waiting))
            waiting.clear()
    if waiting:
        yield basis.summary(np.concatenate(waiting))


def _rows_of_blocks(side: ForecastSample, basis: BootstrapBasis, tile: Placed, length: int) -> Floats:
    """Return the sums of each block of a tile. length : side of a block in cells."""
    rows = np.zeros((tile.place.cell_grid.pixels, basis.width))
    numbers, of_cells = rows_of_cells(side.cells_of(tile.place.tile), basis)
    rows[numbers] = of_cells
    return joined(rows, tile, length)


def _columns(
    summary: Summary, basis: BootstrapBasis, scheme: BinScheme, level: float, centre: float
) -> dict[str, NDArray[Any]]:
    """Return what is kept of summaries with one leading dimension. centre : mean truth of the whole."""
    moments, some = summary.moments, summary.n > 0
    deviation = moments.mean("truth") - centre
    per_bin = binned(summary, scheme, basis.edges[scheme.name])
    means = {
        "truth": moments.mean("truth"),
        "deviation": deviation,
        "squared_deviation": moments.product("truth", "truth") + deviation**2,
        "error": moments.mean("error"),
        "squared_error": moments.mean_square("error"),
        "variance": moments.mean("variance"),
        "z": moments.mean("z"),
        "z_square": moments.mean_square("z"),
        "crps": moments.mean("crps"),
        "covered": coverage(summary, level),
    }
    found: dict[str, NDArray[Any]] = {"n": summary.n, "weight": moments.weight}
    found |= {name: np.where(some, mean * moments.weight, 0.0) for name, mean in means.items()}
    found |= {f"pit_{k}": column for k, column in enumerate(summary.z.regular(PIT_BINS).T)}
    for k in range(scheme.count):
        found[f"n_{k}"] = per_bin.weight[:, k]
        found[f"variance_{k}"], found[f"squared_error_{k}"] = per_bin.variance[:, k], per_bin.squared_error[:, k]
    return found


def _narrow(column: NDArray[Any]) -> NDArray[Any]:
    """Return the narrowest type: unsigned for whole numbers, float32 for all others."""
    whole = np.rint(column)
    if (whole == column).all() and (column >= 0).all() and column.max(initial=0) < 1 << 32:
        return whole.astype(np.min_scalar_type(int(column.max(initial=0))))
    return column.astype(np.float32)


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return parts of a column as one column, in the type that `_narrow` gives the whole column."""
    kinds = {part.dtype.kind for part in parts}
    return np.concatenate(parts, dtype=None if kinds == {"u"} else np.float32, casting="same_kind")


def _packed(columns: Columns, rows: int) -> Iterator[PackedColumns]:
    """Yield columns, so many rows at a time."""
    for first in range(0, len(next(iter(columns.values()))), rows):
        yield PackedColumns.of({name: column[first : first + rows] for name, column in columns.items()})


def compressed(data: bytes) -> str:
    """Return bytes as letters that a script can unpack."""
    return letters(gzip.compress(data, 6, mtime=0))


def letters(data: bytes) -> str:
    """Return bytes as letters."""
    return base64.b64encode(data).decode()
