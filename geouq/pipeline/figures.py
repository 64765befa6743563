"""The figures of a run, which other processes draw while tables and maps are written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from geouq.config import BinScheme, Intervals
from geouq.core.failures import isolated
from geouq.core.processes import Helpers, results
from geouq.inference import Inference
from geouq.metrics import MetricOptions
from geouq.numbers.run_metrics import preferred_scheme
from geouq.numbers.saved_sums import are_read_again, of_variable
from geouq.pipeline.stages import Drawing, Measured
from geouq.regions import EvaluationUnit
from geouq.runs.default_figures import OF_SUMS, OF_VARIANCE, Wanted, by_default
from geouq.runs.progress import Reporter
from geouq.runs.store import Part, SavedSummaries
from geouq.summary import Summary
from geouq.tables.rows import Row, Table
from geouq.verdict import Place, Verdict

RowsOf = Mapping[tuple[str, str], Mapping[str, Sequence[Row]]]
FigurePaths = Mapping[tuple[str, str, str], str]  # by region, variable and title
FEW = 6  # figures for each process, which it draws while this one would import matplotlib
MOST_SENT = 40  # regions whose summaries are sent with a figure


@dataclass(frozen=True)
class ToDraw:
    """One figure of one variable, and the data that a worker process needs to draw it.

    shown : evaluation units that the figure may compare. whole : summary of all pixels, which sets the colours of maps.
    """

    folder: Path
    wanted: Wanted
    shown: Sequence[EvaluationUnit]
    inferred: Mapping[str, Inference]
    metric_options: MetricOptions
    scheme: BinScheme
    rows: Mapping[str, Sequence[Row]]
    verdicts: Mapping[Place, Verdict]
    summaries: SavedSummaries
    zones: Mapping[str, Sequence[Part]]
    settings: Intervals
    whole: Summary


def begin_early(measured: Measured, shared: Helpers) -> Drawing | None:
    """Begin to draw the figures before means of areas are known; None where a figure shows rows of tables."""
    output = measured.swept.experiment.output
    if not OF_SUMS.keys() >= {*output.figures, *output.region_figures}:
        return None
    return begin_figures(measured, shared)


def begin_figures(measured: Measured, shared: Helpers) -> Drawing:
    """Begin to draw the figures of the whole and of regions; of very many, the first (`default_figures.MOST`)."""
    numbers, output = measured.numbers, measured.swept.experiment.output
    variables = measured.swept.record.variables
    wanted, left = by_default(numbers.shown, variables, output.figures, output.region_figures)
    zones = measured.summaries.zones()
    rows = {} if OF_SUMS.keys() >= {one.figure for one in wanted} else _rows_by_variable(numbers.tables)
    # a figure of the whole takes the summaries of all regions along: of many, that is longer than to draw it here
    shared = shared if are_read_again(numbers.shown) or len(numbers.shown) <= MOST_SENT else Helpers()
    return Drawing(wanted, shared.begin(draw, [_to_draw(measured, one, zones, rows) for one in wanted]), left)


def expected_figures(measured: Measured, drawing: Drawing) -> FigurePaths:
    """Return the paths of figures that are under way, without those that the form of a variable does not have."""
    return {
        (one.evaluation_unit.name, one.variable.name, OF_SUMS[one.figure]): one.path.as_posix()
        for one in drawing.wanted
        if one.figure not in OF_VARIANCE or measured.metric_options[one.variable.name].form.has_variance
    }


def finish_figures(drawing: Drawing, reporter: Reporter, shared: Helpers) -> FigurePaths:
    """Return the paths of the figures relative to the folder; those with nothing to show are not there."""
    shared.leave(FEW)
    written = {}
    reporter.stage("figures", len(drawing.wanted))
    for one, (title, path) in zip(drawing.wanted, results(drawing.work), strict=True):
        unit, variable = one.evaluation_unit.name, one.variable.name
        if path:
            written[unit, variable, title] = path
        reporter.advance(f"{variable}, {unit}, {one.figure}")
    return written


def notes_of(drawing: Drawing, folder: Path) -> list[str]:
    """Return a note if figures of regions are left to be requested."""
    note = f"{drawing.left} more figures of regions are drawn by: geouq figures {folder} --region NAME"
    return [note] if drawing.left else []


def _to_draw(measured: Measured, one: Wanted, zones: Mapping[str, Sequence[Part]], rows: RowsOf) -> ToDraw:
    """Return a figure with the data of its variable only, as they may be sent to another process."""
    numbers, variable, unit = measured.numbers, one.variable, one.evaluation_unit
    shown = [of_variable(other, variable.name) for other in (numbers.shown if unit.level == "all" else [unit])]
    names = {other.name for other in shown}
    return ToDraw(
        folder=measured.swept.folder,
        wanted=replace(one, evaluation_unit=of_variable(unit, variable.name)),
        shown=shown,
        inferred={name: numbers.inferred[name][variable.name] for name in names},
        metric_options=measured.metric_options[variable.name],
        scheme=preferred_scheme(measured.swept.experiment),
        rows=rows.get((variable.variable, variable.model), {}),
        verdicts={place: verdict for place, verdict in numbers.verdicts.items() if place[1] == unit.name},
        summaries=measured.summaries,
        zones={name: parts for name, parts in zones.items() if name in names},
        settings=measured.swept.experiment.intervals,
        whole=numbers.wholes[variable.name],
    )


def _rows_by_variable(tables: Mapping[str, Table]) -> RowsOf:
    """Return the rows of the tables that figures show, but those of tiles, by variable and model and by table."""
    found: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for name in ("metrics", "shift", "aggregates", "error_correlation", "error_correlogram"):
        for row in tables[name].without_tiles() if name in tables else ():
            found.setdefault((row["variable"], row["model"]), {}).setdefault(name, []).append(row)
    return found


def draw(one: ToDraw) -> tuple[str, str]:
    """Draw and save a figure; return its title and its path in the folder, "" where it has nothing to show."""
    from geouq.drawing import FIGURES, Case, Source, path_of_figure  # noqa: PLC0415  matplotlib is large
    from geouq.figures import save_figure  # noqa: PLC0415

    unit, variable, record = one.wanted.evaluation_unit, one.wanted.variable, FIGURES[one.wanted.figure]
    source = Source(
        one.scheme, {variable.name: one.metric_options}, one.shown, partial(_inference_in, one.inferred), one.rows,
        one.verdicts, one.summaries, one.zones, one.settings, {variable.name: one.whole},
    )  # fmt: skip
    case, outputs = Case(source, unit, variable), list[Path]()
    with isolated("figures", f"{one.wanted.figure} of {variable.name} in {unit.name}", outputs=outputs):
        path = path_of_figure(case, one.wanted.figure)
        outputs.append(one.folder / path)
        if (figure := record.draw(case)) is not None:
            save_figure(figure, one.folder / path)
            return record.title, path.as_posix()
    return record.title, ""


def _inference_in(inferred: Mapping[str, Inference], unit: EvaluationUnit, _variable: str) -> Inference:
    return inferred[unit.name]
