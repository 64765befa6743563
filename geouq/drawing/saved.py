"""Figures of a finished run, from its saved summaries and tables alone."""

import csv
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from geouq.config import Experiment, Variable, load_experiment, suggestion
from geouq.core.errors import ConfigError, SummaryError
from geouq.core.failures import isolated
from geouq.drawing.case import Case, Source
from geouq.drawing.cells import cell_metrics
from geouq.drawing.paths import path_of_figure
from geouq.drawing.record import FIGURES, FigureRecord
from geouq.figures import DOTS_PER_INCH, save_figure
from geouq.inference import Inference, infer
from geouq.metrics import MetricOptions
from geouq.numbers.run_metrics import ZONES_SHOWN, forecast_samples_of, metric_options_of, preferred_scheme
from geouq.numbers.saved_sums import may_stay, parts_of, without_sums
from geouq.regions import EvaluationUnit, evaluation_units, zone_units
from geouq.runs.default_figures import by_default
from geouq.runs.progress import Reporter
from geouq.runs.provenance import RunRecord, load_record
from geouq.runs.store import Part, SavedSummaries
from geouq.tables.columns import COLUMN, COLUMNS
from geouq.tables.rows import Row
from geouq.verdict import verdicts_of

Inferred = Callable[[EvaluationUnit, str], Inference]
DRAWN = ("metrics", "tests", "shift", "aggregates", "error_correlation", "error_correlogram")  # tables with figures


@dataclass(frozen=True)
class Selection:
    """A selection by name: figures, regions (or the whole, or tiles), variables, metrics of maps of cells.

    Empty is all that a run draws by default; kind : png, pdf or svg. dots_per_inch : of png, and of what
    is drawn in pixels in the others. width : of each figure in mm; None for 85, or 180 of several panels.
    """

    only: Sequence[str] = ()
    regions: Sequence[str] = ()
    variables: Sequence[str] = ()
    metrics: Sequence[str] = ()
    kind: str = "png"
    dots_per_inch: int = DOTS_PER_INCH
    width: float | None = None


def draw_saved(folder: Path, selection: Selection, reporter: Reporter) -> list[Path]:
    """Write figures/<region>/<variable>_<figure>.<kind> in the folder of a run; no pixel is read.

    Raises ConfigError for a name that the run does not know, or where there is nothing to draw.
    """
    record, experiment = load_record(folder), load_experiment(folder / "config.yaml")
    source, requested = _open(folder, experiment, record, selection)
    variables = _variables(record.variables, selection.variables)
    _require_known("--only", selection.only, FIGURES)
    _require_known("--metric", selection.metrics, cell_metrics(source.summaries.form(), experiment.levels))
    written, failed = [], False
    for case, figure in _wanted(source, requested, variables, selection, reporter):
        path, is_missing = folder / path_of_figure(case, figure, selection.kind), True
        with isolated("figures", f"{figure} of {case.title}", outputs=[path]):
            if (drawn := FIGURES[figure].draw(case)) is not None:
                save_figure(drawn, path, selection.dots_per_inch)
                written.append(path)
            is_missing = False
        failed = failed or is_missing
        reporter.advance(case.title)
    if not written and not failed:
        raise ConfigError(f"{folder}: nothing to draw: {_why(selection)}")
    return written


def _wanted(
    source: Source,
    requested: Sequence[EvaluationUnit],
    variables: Sequence[Variable],
    selection: Selection,
    reporter: Reporter,
) -> Iterator[tuple[Case, str]]:
    """Yield each case with a requested figure."""
    if selection.only:
        found = [(unit, variable, figure) for unit in requested for variable in variables for figure in selection.only]
    else:
        of_regions = [name for name, record in FIGURES.items() if record.of_regions]
        wanted, _ = by_default(requested, variables, FIGURES, of_regions)
        found = [(one.evaluation_unit, one.variable, one.figure) for one in wanted]
    reporter.stage("figures", len(found))
    for unit, variable, figure in found:
        for metric in (selection.metrics or ("",)) if figure == "cells" else ("",):
            yield Case(source, unit, variable, metric, width=selection.width), figure


def _open(
    folder: Path, experiment: Experiment, record: RunRecord, selection: Selection
) -> tuple[Source, Sequence[EvaluationUnit]]:
    """Return what figures are drawn from, and the requested evaluation units; by default all that are shown."""
    summaries = SavedSummaries(folder, record.tiles, experiment.levels, experiment.zone_layers, record.whole)
    zones = summaries.zones()
    _require_known("--region", selection.regions, ["all", *experiment.tile_lists, *zones, *record.tiles])
    names = [variable.name for variable in record.variables]
    wholes = ((zone, map(summaries.whole, parts)) for zone, parts in zones.items())
    every = chain(evaluation_units(experiment, names, summaries.wholes), zone_units(experiment.levels, names, wholes))
    keeps_sums = may_stay(len(experiment.tile_lists) + len(zones), len(names))
    kept = [
        unit if keeps_sums or unit.level == "all" else without_sums(unit, parts_of(unit, zones, summaries), summaries)
        for unit in every
        if unit.name in selection.regions or _is_shown(unit, zones)
    ]
    shown = [unit for unit in kept if _is_shown(unit, zones)]
    metric_options = metric_options_of(experiment, record.variables, summaries)
    rows = {name: saved_rows(folder, name) for name in DRAWN}
    source = Source(
        preferred_scheme(experiment), metric_options, shown, _inferring(experiment, metric_options, zones, summaries),
        rows, verdicts_of(rows["metrics"], rows["tests"]), summaries, zones, experiment.intervals,
        next(unit.variables for unit in shown if unit.level == "all"),
    )  # fmt: skip
    return source, _asked(kept, shown, selection.regions)


def _is_shown(unit: EvaluationUnit, zones: Mapping[str, Sequence[Part]]) -> bool:
    return unit.level != "tile" and (not unit.zone or len(zones) <= ZONES_SHOWN)


def _inferring(
    experiment: Experiment,
    metric_options: Mapping[str, MetricOptions],
    zones: Mapping[str, Sequence[Part]],
    summaries: SavedSummaries,
) -> Inferred:
    """Return a function that infers each variable of each evaluation unit once, when it is first needed."""
    found: dict[tuple[str, str, str], Inference] = {}

    def inferred(unit: EvaluationUnit, variable: str) -> Inference:
        """Return what is inferred for a variable of an evaluation unit; compute it once."""
        place = unit.level, unit.name, variable
        if place not in found:
            parts = parts_of(unit, zones, summaries)
            side = forecast_samples_of(unit, metric_options, parts, summaries)[variable]
            found[place] = infer(
                unit.name, side.whole, side.metric_options, places=side.places, cells_of=side.cells_of,
                settings=experiment.intervals,
            )  # fmt: skip
        return found[place]

    return inferred


def _asked(
    kept: Sequence[EvaluationUnit], shown: Sequence[EvaluationUnit], names: Sequence[str]
) -> Sequence[EvaluationUnit]:
    """Return evaluation units by name, in the given order. A region comes before a tile of the same name."""
    order = sorted(kept, key=lambda unit: unit.level == "tile")
    return [next(unit for unit in order if unit.name == name) for name in dict.fromkeys(names)] or shown


def _variables(known: Sequence[Variable], names: Sequence[str]) -> Sequence[Variable]:
    """Return the variables with these names, of all models or, as `AGB (ensemble)`, of one; by default all."""
    _require_known("--variable", names, [*(v.variable for v in known), *(v.name for v in known)])
    return [v for v in known if not names or v.name in names or v.variable in names]


def _require_known(option: str, names: Sequence[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise ConfigError(
                f"{option} {name}: the run has no such name{suggestion(name, list(dict.fromkeys(known)))}"
            )


def _why(selection: Selection) -> str:
    """Return why none of the requested figures has anything to show."""
    return "; ".join(dict.fromkeys(FIGURES[name].needs for name in selection.only)) or FigureRecord.needs


def saved_rows(folder: Path, table: str) -> list[Row]:
    """Rows of a table that a run has written, but those of tiles; none where it has not written that table.

    Raises SummaryError if the table has the columns of another version.
    """
    path = folder / "tables" / f"{table}.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if set(rows.fieldnames or ()) != set(COLUMNS[table]):
            raise SummaryError(
                f"{path}: another version of geouq wrote this table, with other columns; run `geouq report {folder}` "
                "first, which writes the tables anew, then `geouq figures`"
            )
        return [{name: _value(name, text) for name, text in row.items()} for row in rows if row.get("level") != "tile"]


def _value(column: str, text: str) -> str | float | None:
    if COLUMN[column].kind == "text":
        return text
    return float(text) if text else None
