"""From saved summaries to tables, cell maps, figures and pages; no pixel is read."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from geouq.config import ClassRegions, Experiment
from geouq.failures import Failure, collecting, isolated
from geouq.maps.pipeline import Evaluated, write_maps
from geouq.metrics import MetricOptions
from geouq.numbers.gates import GateResult, judge, save_gates
from geouq.numbers.of_run import Numbers, choices_of, numbers_of, preferred_scheme, sides_of
from geouq.numbers.outcome import Warnings, write_outcome
from geouq.overflow import overflow_is_missing
from geouq.pages import CellMaps, ReportContent, cell_maps, read_recalibration, write_report
from geouq.paired import Shown, shown_rows, write_texts
from geouq.regions import EvaluationUnit
from geouq.runs.progress import Reporter
from geouq.runs.provenance import RunRecord, inputs_in_words, resolved
from geouq.runs.store import SavedSummaries
from geouq.tables.columns import COLUMNS
from geouq.tables.readable import write_readable
from geouq.tables.rows import (
    Table,
    as_frame,
    failure_table,
    heavy_bins,
    mostly_odd,
    write_csv,
    write_parquet,
)
from geouq.text.naming import file_name
from geouq.verdict import Place, Verdict

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Results:
    """What a run gives: the folder written to, its tables by name, verdicts, gates, and what the user should know.

    warnings : those about the input, which are the `input_warnings`, then notes on the numbers.
    files : gates, tables, maps, figures and pages, that is all that is written but summaries and what they came from.
    failures : of tiles, and of every other item that is missing.
    """

    folder: Path
    record: RunRecord
    tables: Mapping[str, Table]
    verdicts: Mapping[Place, Verdict]
    gates: tuple[GateResult, ...]
    warnings: tuple[str, ...]
    files: tuple[Path, ...] = ()
    input_warnings: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the warnings that are not about the input."""
        return self.warnings[len(self.input_warnings) :]

    @property
    def findings(self) -> tuple[str, ...]:
        """Return what the input checks found."""
        return self.record.findings

    @cached_property
    def frames(self) -> Mapping[str, "pd.DataFrame"]:
        """Every table as a pandas table, by name."""
        return {name: as_frame(table) for name, table in self.tables.items()}

    @property
    def metrics(self) -> "pd.DataFrame":
        """The table of metrics: a row a number, with level, name of the region or tile, variable and n."""
        return self.frames["metrics"]


def present(
    experiment: Experiment, record: RunRecord, folder: Path, reporter: Reporter, earlier: Sequence[Failure] = ()
) -> Results:
    """Write everything that follows from the summaries of a run, and what its record holds.

    What cannot be made costs only itself: it is among the failures of the results, in the table, and on the page.
    `earlier` are failures of items before.
    """
    outcome = folder / "results.json"
    outcome.unlink(missing_ok=True)  # that of an earlier run says nothing of this one
    with collecting(earlier) as missing, overflow_is_missing():
        results = _presented(experiment, record, folder, reporter, missing)
    failures = (*record.failures, *missing)
    tables = {**results.tables, "failures": failure_table(failures)}
    write_csv(tables["failures"], folder / "tables" / "failures.csv")
    warnings = Warnings(results.input_warnings, results.notes)
    write_outcome(record, results.gates, tables, results.verdicts, outcome, failures, warnings)
    return replace(results, tables=tables, failures=failures, files=(*results.files, outcome))


def _presented(
    experiment: Experiment, record: RunRecord, folder: Path, reporter: Reporter, missing: Sequence[Failure]
) -> Results:
    """Write all but results.json; `missing` grows by what fails."""
    summaries = SavedSummaries(folder, record.tiles, experiment.levels, experiment.zone_layers, record.whole)
    choices = choices_of(experiment, record.variables, summaries)
    numbers = numbers_of(experiment, record, summaries, choices, reporter)
    gates = tuple(judge(experiment, numbers.tables["metrics"]))
    save_gates(gates, folder / "gates.json")
    files = write_tables({**numbers.tables, "failures": failure_table(record.failures)}, record, folder / "tables")
    files += [folder / "gates.json", *_for_people(experiment, record, numbers, folder)]
    wholes = next(pool.variables for pool in numbers.shown if pool.level == "all")
    maps = write_maps(Evaluated(experiment, record, summaries, choices, wholes), folder / "maps", reporter)
    figures, undrawn = draw_figures(experiment, record, numbers, summaries, choices, folder=folder, reporter=reporter)
    files += [*maps, *(folder / path for path in figures.values())]
    warnings = _warnings(experiment, record, numbers, undrawn)
    all_warnings = (*warnings.input, *warnings.numbers)
    results = Results(
        folder, record, numbers.tables, numbers.verdicts, gates, all_warnings, tuple(files), warnings.input
    )
    cells = cells_of_pages(experiment, record, summaries, choices, numbers.shown)
    recalibrated = None
    with isolated("pages", "recalibration"):
        recalibrated = read_recalibration(folder, record.started, {v.name: v.file_name for v in record.variables})
    tables = {**numbers.tables, "failures": failure_table((*record.failures, *missing))}
    shown_maps = [f"maps/{path.name}" for path in maps if path.suffix != ".qml"]
    content = _content(experiment, replace(results, tables=tables), numbers.shown, figures, shown_maps)
    pages = write_report(replace(content, cells=cells, recalibrated=recalibrated), folder / "report")
    return replace(results, files=(*results.files, *pages))


def _for_people(experiment: Experiment, record: RunRecord, numbers: Numbers, folder: Path) -> list[Path]:
    """Write the readable tables and the comparison of models; the files written."""
    regions = [pool.name for pool in numbers.shown if pool.level == "region"]
    written: list[Path] = []
    with isolated("tables", "metrics.md and metrics.tex"):
        written += write_readable(numbers.tables["metrics"], record.variables, regions, folder / "tables")
    with isolated("tables", "comparison of models"):
        written += write_comparison(experiment, record, numbers, folder)
    return written


def _warnings(experiment: Experiment, record: RunRecord, numbers: Numbers, undrawn: Sequence[str]) -> Warnings:
    """Return the warnings about the input and the notes on the numbers."""
    metrics = numbers.tables["metrics"]
    odd: list[str] = []
    heavy: list[str] = []
    with isolated("notes", "pixels that do not count"):
        odd = mostly_odd(metrics, numbers.tables["excluded"])
    with isolated("notes", "bins that hold nearly all pixels"):
        heavy = heavy_bins(numbers.tables["bins"])
    missing = _without_pixels(experiment, metrics)
    return Warnings((*record.findings, *record.notes, *odd), (*heavy, *missing, *_left_to_tables(numbers), *undrawn))


def _without_pixels(experiment: Experiment, metrics: Table) -> list[str]:
    """Return notes on classes of which no tile holds a pixel."""
    found = {row["name"] for row in metrics.rows if row["level"] == "region"}
    return [
        f"regions of {key}: no tile holds a pixel of {', '.join(missing)}"
        for key, region in experiment.regions.items()
        if isinstance(region, ClassRegions)
        and (missing := [name for name in dict.fromkeys(region.names.values()) if name not in found])
    ]


def _left_to_tables(numbers: Numbers) -> list[str]:
    """Return a note where there are too many zones to be shown."""
    if not numbers.unshown:
        return []
    return [
        f"{numbers.unshown} regions from polygons and classes stand in the tables; pages and figures are of the others"
    ]


def write_tables(tables: Mapping[str, Table], record: RunRecord, folder: Path) -> list[Path]:
    """Every table as CSV, the metrics also as Parquet (with the extra); the files written.

    Those of an earlier run that this one has no rows for, such as of splits, are removed.
    """
    for name in COLUMNS.keys() - tables.keys():
        (folder / f"{name}.csv").unlink(missing_ok=True)
    written = []
    for name, table in tables.items():
        path = folder / f"{name}.csv"
        with isolated("tables", path.name, outputs=[path]):
            write_csv(table, path)
            written.append(path)
    about = {"version": record.versions["geouq"], "config_sha256": record.config_sha256, "name": record.name}
    path = folder / "metrics.parquet"
    with isolated("tables", path.name, outputs=[path]):
        if write_parquet(tables["metrics"], path, about):
            written.append(path)
    return written


def write_comparison(experiment: Experiment, record: RunRecord, numbers: Numbers, folder: Path) -> list[Path]:
    """Write the comparison of models as Markdown and LaTeX, and a figure of each variable; return the files.

    Without several models, the tables of an earlier run are removed.
    """
    if "comparison" not in numbers.tables:
        for name in ("comparison.md", "comparison.tex"):
            (folder / "tables" / name).unlink(missing_ok=True)
        return []
    from geouq.paired.figure import draw_differences  # noqa: PLC0415  matplotlib is large, and the sweep needs the memory

    rows, bins = numbers.tables["comparison"].rows, preferred_scheme(experiment).name
    shown = Shown(shown_rows(rows, bins), rows[0]["against"], "model", numbers.uneven)
    names = dict.fromkeys(variable.variable for variable in record.variables)
    paths = {name: folder / "figures" / f"comparison_{file_name(name)}.png" for name in names}
    drawn = draw_differences(rows, paths, bins=bins, baseline=shown.baseline)
    return [*write_texts(shown, folder / "tables"), *drawn]


def cells_of_pages(
    experiment: Experiment,
    record: RunRecord,
    summaries: SavedSummaries,
    choices: Mapping[str, MetricOptions],
    shown: Sequence[EvaluationUnit],
) -> CellMaps | None:
    """Return the sums of the cells of all tiles, for the map of the pages."""
    whole = next(pool for pool in shown if pool.level == "all")
    with isolated("pages", "map of the cells"):
        sides = sides_of(whole, choices, [summaries.part(tile) for tile in whole.tiles], summaries)
        return cell_maps(sides, record.variables, preferred_scheme(experiment))
    return None


def draw_figures(
    experiment: Experiment,
    record: RunRecord,
    numbers: Numbers,
    summaries: SavedSummaries,
    choices: Mapping[str, MetricOptions],
    *,
    folder: Path,
    reporter: Reporter,
) -> tuple[dict[tuple[str, str, str], str], list[str]]:
    """Figures of the whole and of regions, as paths relative to the folder by region, variable and figure; and notes.

    Those that have nothing to show are not there; of very many, those that stand in `geouq.drawing.by_default`.
    """
    if not experiment.output.figures:
        reporter.stage("figures", 0)
        return {}, []
    from geouq.drawing import Case, Source, by_default, draw, path_of_figure  # noqa: PLC0415  matplotlib is large
    from geouq.figures import save_figure  # noqa: PLC0415

    rows = {name: numbers.tables[name].rows for name in ("metrics", "shift") if name in numbers.tables}
    source = Source(
        preferred_scheme(experiment), choices, numbers.shown,
        lambda pool, variable: numbers.inferred[pool.name][variable], rows, numbers.verdicts,
        summaries, summaries.zones(),
    )  # fmt: skip
    wanted, left = by_default(numbers.shown, record.variables, experiment.output.figures)
    written = {}
    reporter.stage("figures", len(wanted))
    for one in wanted:
        case, outputs = Case(source, one.pool, one.variable), list[Path]()
        with isolated("figures", f"{one.figure} of {one.variable.name} in {one.pool.name}", outputs=outputs):
            path = path_of_figure(case, one.figure)
            outputs.append(folder / path)
            if (figure := draw(one.figure, case)) is not None:
                save_figure(figure, folder / path)
                written[one.pool.name, one.variable.name, one.figure] = path.as_posix()
        reporter.advance(f"{case.title}, {one.figure}")
    left_out = f"{left} more figures of regions are drawn by: geouq figures {folder} --region NAME"
    return written, [left_out] if left else []


def _content(
    experiment: Experiment,
    results: Results,
    shown: Sequence[EvaluationUnit],
    figures: Mapping[tuple[str, str, str], str],
    maps: Sequence[str],
) -> ReportContent:
    record = results.record
    tables = results.tables
    return ReportContent(
        name=experiment.name,
        variables=record.variables,
        regions={pool.name: pool.tiles for pool in shown if pool.level == "region"},
        zones=frozenset(pool.name for pool in shown if pool.zone),
        tiles=record.tiles,
        metrics=tables["metrics"].rows,
        verdicts=results.verdicts,
        bins=preferred_scheme(experiment).name,
        excluded=tables["excluded"].rows,
        failures=tables["failures"].rows,
        warnings=results.notes,
        input_warnings=results.input_warnings,
        gates=[asdict(gate) for gate in results.gates],
        figures=figures,
        maps=maps,
        tables=list(tables),
        shift=tables["shift"].rows if "shift" in tables else (),
        comparison=tables["comparison"].rows if "comparison" in tables else (),
        config=resolved(experiment),
        inputs=inputs_in_words(record.inputs, record.polygons),
        provenance=dict(record.versions) | {"configuration (SHA-256)": record.config_sha256},
    )
