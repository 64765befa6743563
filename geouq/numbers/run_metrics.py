"""The numbers of a run: from saved summaries to the rows of all tables; no pixel is read."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, product

import numpy as np
from numpy.typing import NDArray

from geouq.config import BinScheme, ClassRegions, Experiment, Variable, preferred_first
from geouq.core.failures import isolated
from geouq.inference import (
    FAILED,
    FEWEST_TILES,
    ForecastSample,
    Inference,
    Intervals,
    TileRows,
    adjusted,
    block_rows,
    correlogram_rows,
    infer,
    rows_of_tiles,
    test_rows,
    with_intervals,
    without_intervals,
)
from geouq.metrics import MetricOptions
from geouq.numbers.differences import Differences
from geouq.regions import EvaluationUnit, evaluation_units, zone_units
from geouq.runs.progress import Reporter
from geouq.runs.provenance import RunRecord
from geouq.runs.store import Part, SavedSummaries
from geouq.summary import CellSummaries, Summary, TileWholes
from geouq.tables.columns import COLUMNS
from geouq.tables.rows import (
    Row,
    Table,
    bin_rows,
    by_model,
    curve_rows,
    excluded_rows,
    excluded_table,
    metric_options_for,
    metric_rows,
    sorted_table,
)
from geouq.verdict import Place, Verdict, verdicts_of

MAKERS: Mapping[str, Callable[[EvaluationUnit, Sequence[Variable], Mapping[str, MetricOptions]], list[Row]]] = {
    "metrics": metric_rows,
    "bins": bin_rows,
    "curves": curve_rows,
}
ZONES_SHOWN = 60  # of more polygons or classes, pages and figures would be thousands


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


def metric_options_of(
    experiment: Experiment, variables: Sequence[Variable], summaries: SavedSummaries
) -> dict[str, MetricOptions]:
    """Return the choices of each variable; shared edges need the whole, and so a pass over the summaries."""
    whole: Mapping[str, Summary] = {}
    if experiment.bins.scope == "experiment" and summaries.form().has_variance:
        names = [variable.name for variable in variables]
        whole = next(
            unit.variables for unit in evaluation_units(experiment, names, summaries.wholes()) if unit.level == "all"
        )
    form = summaries.form()
    return {v.name: metric_options_for(experiment, v, whole.get(v.name), form) for v in variables}


def preferred_scheme(experiment: Experiment) -> BinScheme:
    """Return the scheme to show where there is room for one."""
    return preferred_first(experiment.bins.schemes)[0]


def numbers_of(
    experiment: Experiment,
    record: RunRecord,
    summaries: SavedSummaries,
    metric_options: Mapping[str, MetricOptions],
    reporter: Reporter,
) -> Numbers:
    """Return all numbers of a run. Evaluation units that are not shown are in memory one at a time."""
    rows: dict[str, list[Row]] = {"metrics": [], "bins": [], "curves": [], "excluded": []}
    inferred: dict[tuple[str, str], Mapping[str, Inference]] = {}
    shown: list[EvaluationUnit] = []
    names, zones = [variable.name for variable in record.variables], summaries.zones()
    settings, differences = experiment.intervals, Differences(experiment, record.variables)

    def noted() -> Iterator[TileWholes]:
        """Yield the summaries of the tiles, and keep their excluded pixels."""
        for tile in summaries.wholes():
            rows["excluded"].extend(excluded_rows(tile))
            yield tile

    pixels = Counter[str]()
    wholes_of_zones = ((zone, _counted(zone, parts, summaries, pixels)) for zone, parts in zones.items())
    reporter.stage("numbers", len(record.tiles) + 1 + len(experiment.tile_lists) + len(zones))
    for unit in chain(
        evaluation_units(experiment, names, noted()), zone_units(experiment.levels, names, wholes_of_zones)
    ):
        on_map = metric_options
        if unit.level != "tile":
            parts = zones[unit.name] if unit.zone else [summaries.part(tile) for tile in unit.tiles]
            sides = forecast_samples_of(unit, metric_options, parts, summaries)
            drawn_tiles = _drawn_tiles(unit, metric_options, parts, summaries)
            found = inferred[unit.level, unit.name] = {
                variable: _inferred(unit.name, side, drawn_tiles.get(variable), settings, variable)
                for variable, side in sides.items()
            }
            on_map = {name: replace(one, effective=found[name].effective) for name, one in metric_options.items()}
            if not unit.zone or len(zones) <= ZONES_SHOWN:
                shown.append(unit)
            differences.add(unit, sides)
        own = _rows_of(unit, record.variables, on_map)
        if unit.level != "tile":
            own["metrics"] = list(with_intervals(own["metrics"], found))
        for name, more in own.items():
            rows[name] += more
        reporter.advance(unit.name)
    tables = {name: sorted_table(name, rows[name]) for name in ("metrics", "bins", "curves")}
    tables |= inference_tables(inferred)
    tables["excluded"] = excluded_table(rows["excluded"])
    tables = {name: by_model(table, record.variables, experiment.compare_on) for name, table in tables.items()}
    tables |= differences.tables()
    tables |= zone_table(experiment, record, zones, pixels)
    unshown = len(zones) if len(zones) > ZONES_SHOWN else 0
    by_name = {name: own for (_, name), own in inferred.items()}
    verdicts = verdicts_of(tables["metrics"].rows, tables["tests"].rows)
    return Numbers(shown, by_name, tables, unshown, differences.uneven, verdicts)


def _rows_of(
    unit: EvaluationUnit, variables: Sequence[Variable], metric_options: Mapping[str, MetricOptions]
) -> dict[str, list[Row]]:
    """Return the rows of an evaluation unit for each table; what fails is missing from one variable of one table."""
    rows: dict[str, list[Row]] = {name: [] for name in MAKERS}
    for variable, (table, rows_of) in product(variables, MAKERS.items()):
        with isolated("numbers", f"{table} of {variable.name} in {unit.name}"):
            rows[table] += rows_of(unit, [variable], metric_options)
    return rows


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


def _inferred(name: str, side: ForecastSample, tiles: TileRows | None, settings: Intervals, variable: str) -> Inference:
    with isolated("intervals", f"{variable} in {name}"):
        places, cells_of = side.places, side.cells_of
        return infer(
            name, side.whole, side.metric_options, places=places, cells_of=cells_of, settings=settings, tiles=tiles
        )
    return without_intervals(side.whole, side.metric_options, settings, FAILED)


def _drawn_tiles(
    unit: EvaluationUnit, metric_options: Mapping[str, MetricOptions], parts: Sequence[Part], summaries: SavedSummaries
) -> dict[str, TileRows]:
    """Yield what each tile adds to the numbers that cells do not keep; nothing where tiles are too few to be drawn."""
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


def inference_tables(inferred: Mapping[tuple[str, str], Mapping[str, Inference]]) -> dict[str, Table]:
    """Return tests of calibration, correlograms of the residuals and the blocks, by level and name of the unit."""
    each = [
        ({"level": level, "name": name, "variable": variable}, inference)
        for (level, name), of_unit in inferred.items()
        for variable, inference in of_unit.items()
    ]
    made: dict[str, Callable[[], Iterable[Row]]] = {
        "tests": lambda: adjusted(row for of, inference in each for row in test_rows(of, inference)),
        "correlograms": lambda: [row for one in each for row in correlogram_rows(*one)],
        "blocks": lambda: [row for one in each for row in block_rows(*one)],
    }
    tables = {name: sorted_table(name, ()) for name in made}
    for name, rows_of in made.items():
        with isolated("numbers", f"table {name}"):
            tables[name] = sorted_table(name, rows_of())
    return tables
