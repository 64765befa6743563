"""The numbers of a run: from saved summaries to the rows of all tables; no pixel is read."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from geouq.config import BinScheme, ClassRegions, Experiment, Variable, preferred_first
from geouq.core.failures import isolated
from geouq.core.processes import Helpers
from geouq.inference import (
    FEWEST_TILES,
    ForecastSample,
    Inference,
    TileRows,
    adjusted,
    block_rows,
    correlogram_rows,
    rows_of_tiles,
    test_rows,
)
from geouq.metrics import MetricOptions
from geouq.numbers.differences import Differences
from geouq.numbers.saved_sums import may_stay, parts_of, without_sums
from geouq.numbers.unit_numbers import MAKERS, Sums, batches, numbers_of_batch
from geouq.regions import EvaluationUnit, evaluation_units, zone_units
from geouq.runs.progress import Reporter
from geouq.runs.provenance import RunRecord
from geouq.runs.store import Part, SavedSummaries
from geouq.summary import CellSummaries, Summary, TileWholes
from geouq.tables.columns import COLUMNS
from geouq.tables.packed import PackedRows
from geouq.tables.rows import (
    Row,
    Table,
    by_model,
    excluded_rows,
    excluded_table,
    metric_options_for,
    sorted_table,
)
from geouq.verdict import Place, Verdict, verdicts_of

AS_THEY_ARE = 1 << 15  # rows of regions, some 0.6 kB each; more are packed
ZONES_SHOWN = 1000  # of more polygons or classes, pages would take minutes


@dataclass(frozen=True)
class Numbers:
    """All numbers of a run.

    Parameters
    ----------
    shown : sequence of EvaluationUnit
        Evaluation units that figures and pages show.
    inferred : mapping
        Inference of each variable, by the name of the evaluation unit.
    tables : mapping
        Rows of all tables.
    unshown : int
        Number of zones that only the tables contain.
    uneven : sequence of str
        A note on each evaluation unit in which models do not count the same pixels.
    verdicts : mapping
        Verdicts of the whole and of regions.
    """

    shown: Sequence[EvaluationUnit]
    inferred: Mapping[str, Mapping[str, Inference]]
    tables: Mapping[str, Table]
    unshown: int = 0
    uneven: Sequence[str] = ()
    verdicts: Mapping[Place, Verdict] = field(default_factory=dict)

    @property
    def wholes(self) -> Mapping[str, Summary]:
        """All pixels of each variable."""
        return next(unit.variables for unit in self.shown if unit.level == "all")


def metric_options_of(
    experiment: Experiment, variables: Sequence[Variable], summaries: SavedSummaries
) -> dict[str, MetricOptions]:
    """Return the choices of each variable; shared edges need the whole, and so a pass over the summaries."""
    whole: Mapping[str, Summary] = {}
    if experiment.bins.scope == "experiment" and summaries.form().has_variance:
        names = [variable.name for variable in variables]
        whole = next(
            unit.variables for unit in evaluation_units(experiment, names, summaries.wholes) if unit.level == "all"
        )
    form = summaries.form()
    return {v.name: metric_options_for(experiment, v, whole.get(v.name), form) for v in variables}


def preferred_scheme(experiment: Experiment) -> BinScheme:
    """Return the scheme to show where there is room for one."""
    return preferred_first(experiment.bins.schemes)[0]


@dataclass(frozen=True)
class _Units:
    """The evaluation units of a run, and what is noted of them while they are gone through once.

    has_whole : called with all pixels of each variable, before the numbers of regions.
    """

    experiment: Experiment
    record: RunRecord
    summaries: SavedSummaries
    metric_options: Mapping[str, MetricOptions]
    differences: Differences
    zones: Mapping[str, Sequence[Part]]
    has_whole: Callable[[Mapping[str, Summary]], None]
    excluded: list[Row] = field(default_factory=list)
    shown: list[EvaluationUnit] = field(default_factory=list)
    pixels: Counter[str] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        """Number of all units."""
        return len(self.record.tiles) + 1 + len(self.experiment.tile_lists) + len(self.zones)

    def sums(self) -> Iterator[Sums]:
        """Yield what the numbers of each variable of each unit follow from; one unit at a time is in memory."""
        names = [variable.name for variable in self.record.variables]
        wholes = ((zone, _counted(zone, parts, self.summaries, self.pixels)) for zone, parts in self.zones.items())
        units = evaluation_units(self.experiment, names, self._noted)
        for unit in chain(units, zone_units(self.experiment.levels, names, wholes)):
            if unit.level == "all":
                self.has_whole(unit.variables)
            samples: Mapping[str, ForecastSample] = {}
            of_tiles: Mapping[str, TileRows] = {}
            if unit.level != "tile":
                parts = parts_of(unit, self.zones, self.summaries)
                samples = forecast_samples_of(unit, self.metric_options, parts, self.summaries)
                of_tiles = drawn_tiles(unit, self.metric_options, parts, self.summaries)
                if not unit.zone or len(self.zones) <= ZONES_SHOWN:
                    keeps_sums = unit.level == "all" or self._keeps_sums
                    self.shown.append(unit if keeps_sums else without_sums(unit, parts, self.summaries))
                self.differences.add(unit, samples)
            for variable in self.record.variables:
                own, name = replace(unit, variables={variable.name: unit.variables[variable.name]}), variable.name
                yield Sums(
                    own, variable, self.metric_options[name], self.experiment.intervals, samples.get(name),
                    of_tiles.get(name),
                )  # fmt: skip

    @property
    def _keeps_sums(self) -> bool:
        """Return whether the sums of all that is shown may stay in memory."""
        zones = len(self.zones) if len(self.zones) <= ZONES_SHOWN else 0
        return may_stay(len(self.experiment.tile_lists) + zones, len(self.record.variables))

    def _noted(self, tiles: Collection[str] | None) -> Iterator[TileWholes]:
        """Yield the summaries of tiles; of all tiles, keep their excluded pixels."""
        for tile in self.summaries.wholes(tiles):
            if tiles is None:
                self.excluded.extend(excluded_rows(tile))
            yield tile


def numbers_of(
    experiment: Experiment,
    record: RunRecord,
    summaries: SavedSummaries,
    metric_options: Mapping[str, MetricOptions],
    *,
    reporter: Reporter,
    shared: Helpers,
    has_whole: Callable[[Mapping[str, Summary]], None],
) -> Numbers:
    """Return all numbers of a run, whose work helpers share.

    has_whole : called with all pixels of each variable as soon as they are known.
    """
    of_units = {name: PackedRows(COLUMNS[name], AS_THEY_ARE) for name in MAKERS}
    of_tiles = {name: PackedRows(COLUMNS[name]) for name in MAKERS}
    inferred: dict[tuple[str, str], dict[str, Inference]] = {}
    pixels: dict[tuple[str, str, str], int] = {}
    differences = Differences(experiment, record.variables)
    units = _Units(experiment, record, summaries, metric_options, differences, summaries.zones(), has_whole)
    reporter.stage("numbers", units.count)
    for numbers in chain.from_iterable(shared.share(numbers_of_batch, batches(units.sums(), len(units.zones)))):
        for name, more in numbers.rows.items():
            own = by_model(Table(COLUMNS[name], more), record.variables, experiment.compare_on)
            (of_tiles if numbers.level == "tile" else of_units)[name].extend(own.rows)
        if numbers.inference is not None:
            own_inference = replace(numbers.inference, intervals=())  # they stand in the rows
            inferred.setdefault((numbers.level, numbers.name), {})[numbers.variable] = own_inference
            pixels[numbers.level, numbers.name, numbers.variable] = numbers.pixels
        if numbers.variable == record.variables[-1].name:
            reporter.advance(numbers.name)
    tables = {name: Table(COLUMNS[name], of_tiles[name].after(of_units[name])) for name in MAKERS}
    others = {**inference_tables(inferred, pixels), "excluded": excluded_table(units.excluded)}
    tables |= {name: by_model(table, record.variables, experiment.compare_on) for name, table in others.items()}
    tables |= differences.tables()
    tables |= zone_table(experiment, record, units.zones, units.pixels)
    unshown = len(units.zones) if len(units.zones) > ZONES_SHOWN else 0
    by_name = {name: own for (_, name), own in inferred.items()}
    verdicts = verdicts_of(tables["metrics"].without_tiles(), tables["tests"].rows)
    return Numbers(units.shown, by_name, tables, unshown, differences.uneven, verdicts)


def _counted(zone: str, parts: Iterable[Part], summaries: SavedSummaries, pixels: Counter[str]) -> Iterator[TileWholes]:
    """Yield the parts of a zone, whose pixels are counted."""
    for whole in map(summaries.whole, parts):
        one = next(iter(whole.variables.values()))
        pixels[zone] += int(one.whole.n) + int(one.excluded.sum())
        yield whole


def zone_table(
    experiment: Experiment, record: RunRecord, zones: Mapping[str, Sequence[Part]], pixels: Mapping[str, int]
) -> dict[str, Table]:
    """Each region from polygons and classes or made of such, the tiles in which it lies, and its pixels, valid or not.

    Polygons and classes without a pixel are there too.
    """
    held = [
        {"name": name, "layer": parts[0].layer, "tiles": len(parts), "n_pixels": pixels[name]}
        for name, parts in zones.items()
    ]
    classes = {key: own.names.values() for key, own in experiment.regions.items() if isinstance(own, ClassRegions)}
    without_pixels = classes | {key: own["without_pixels"] for key, own in record.polygons.items()}
    empty = ((key, name) for key, names in without_pixels.items() for name in dict.fromkeys(names) if name not in zones)
    rows = (*held, *({"name": name, "layer": key, "tiles": 0, "n_pixels": 0} for key, name in empty))
    return {"zones": Table(COLUMNS["zones"], rows)} if rows else {}


def forecast_samples_of(
    unit: EvaluationUnit, metric_options: Mapping[str, MetricOptions], parts: Sequence[Part], summaries: SavedSummaries
) -> dict[str, ForecastSample]:
    """Return each variable of an evaluation unit that is made of these parts, one a tile, with its cells."""
    places, of_tile = [summaries.place(part) for part in parts], {part.tile: part for part in parts}
    return {
        variable: ForecastSample(
            summary, metric_options[variable], places, partial(_cells_of, summaries, of_tile, variable)
        )
        for variable, summary in unit.variables.items()
    }


def drawn_tiles(
    unit: EvaluationUnit, metric_options: Mapping[str, MetricOptions], parts: Sequence[Part], summaries: SavedSummaries
) -> dict[str, TileRows]:
    """Return what each tile adds to the numbers that cells do not keep; nothing where tiles are too few to be drawn."""
    if len(parts) < FEWEST_TILES:
        return {}

    def tiles() -> Iterator[Mapping[str, Summary]]:
        """Yield the summaries of each tile by the name of the variable."""
        for part in sorted(parts, key=lambda part: part.tile):
            yield {name: own.whole for name, own in summaries.whole(part).variables.items()}

    with isolated("intervals", f"from the tiles of {unit.name}"):
        return rows_of_tiles(unit.variables, metric_options, tiles, len(parts))
    return {}


def _cells_of(
    summaries: SavedSummaries, parts: Mapping[str, Part], variable: str, tile: str
) -> Iterator[tuple[NDArray[np.int64], CellSummaries]]:
    """Return the cells of the part in a tile."""
    return summaries.cells_of(parts[tile], variable)


def inference_tables(
    inferred: Mapping[tuple[str, str], Mapping[str, Inference]], pixels: Mapping[tuple[str, str, str], int]
) -> dict[str, Table]:
    """Return tests of calibration, correlograms of the residuals and the blocks, by level and name of the unit.

    pixels : number of valid pixels by level, name of the unit and variable.
    """
    each = [
        ({"level": level, "name": name, "variable": variable}, inference)
        for (level, name), of_unit in inferred.items()
        for variable, inference in of_unit.items()
    ]
    made: dict[str, Callable[[], Iterable[Row]]] = {
        "tests": lambda: adjusted((row for of, inference in each for row in test_rows(of, inference)), pixels),
        "correlograms": lambda: [row for one in each for row in correlogram_rows(*one)],
        "blocks": lambda: [row for one in each for row in block_rows(*one)],
    }
    tables = {name: sorted_table(name, ()) for name in made}
    for name, rows_of in made.items():
        with isolated("numbers", f"table {name}"):
            tables[name] = sorted_table(name, rows_of())
    return tables
