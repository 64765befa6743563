"""Last stage of a run: write tables, cell maps, figures, pages, results.json and checksums; no pixel is read."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from geouq.aggregates import warning_of, write_models
from geouq.comparison.areas import BY_AREAS
from geouq.comparison.texts import Shown, shown_rows, write_texts
from geouq.config import ClassRegions, Experiment, PolygonRegions
from geouq.config.variables import distributions_of
from geouq.core.errors import DataError
from geouq.core.failures import Failure, collecting, isolated
from geouq.core.naming import file_name
from geouq.core.overflow import overflow_is_missing
from geouq.core.processes import Helpers
from geouq.core.usage import give_back
from geouq.maps import is_pixel_map
from geouq.maps.geotiff import source_date_epoch
from geouq.maps.pipeline import finish_maps, join_cells
from geouq.metrics.aggregate_names import members_in
from geouq.numbers.gates import save_gates
from geouq.numbers.run_metrics import Numbers, forecast_samples_of, preferred_scheme
from geouq.pages import (
    CellMaps,
    Outlines,
    ReportContent,
    cell_maps,
    outlines_on,
    quick_looks,
    read_recalibration,
    write_report,
)
from geouq.pages.headline import headline
from geouq.pages.quick_looks import QuickLook
from geouq.pipeline.curves import curves_of_pages
from geouq.pipeline.figures import FigurePaths, begin_figures, expected_figures, finish_figures, notes_of
from geouq.pipeline.results import Results, log_results, write_outcome
from geouq.pipeline.stac_item import NAME, write_item
from geouq.pipeline.stages import Drawing, Evaluated, Swept
from geouq.rasters.ground import notes_of_pixel_sizes
from geouq.runs.provenance import RunRecord, inputs_in_words, resolved
from geouq.runs.verification import remove_earlier, save_checksums
from geouq.tables.columns import COLUMNS
from geouq.tables.parquet import write_parquet
from geouq.tables.readable import write_readable
from geouq.tables.rows import failure_table, heavy_bins, mostly_odd, write_csv
from geouq.zones import read_polygons


def publish(evaluated: Evaluated, shared: Helpers) -> Results:
    """Write all files that follow from the numbers of a run; helpers draw figures meanwhile.

    What cannot be written costs only itself: it is among the failures of the results, in the table, and on the page.
    """
    folder, reporter = evaluated.swept.folder, evaluated.swept.reporter
    with collecting(evaluated.failures) as missing, overflow_is_missing():
        drawing = evaluated.drawing or begin_figures(evaluated, shared)
        files = write_tables(evaluated)
        give_back()
        under_way = join_cells(evaluated.maps, reporter, shared)
        pictures = _pictures_of_pages(evaluated)
        maps = finish_maps(under_way, _opening_variable(evaluated))
        results = _results_of(evaluated, notes_of(drawing, folder))
        write_pages = partial(_write_pages, evaluated, results, pictures, maps, missing=missing)
        pages, figures = _pages_and_figures(evaluated, drawing, write_pages, missing, shared)
        shared.release()
        grids = [place.grid for place in evaluated.summaries.places()]
        reporter.stage("results", 1)
        with isolated("pages", NAME, outputs=[folder / NAME]):
            pages.append(write_item(_with_failures(results, missing), grids, maps, _date_of(results.record)))
    results = _with_failures(results, missing)
    write_csv(results.tables["failures"], folder / "tables" / "failures.csv")
    names_of_classes = [one for path in maps if (one := path.with_name(f"{path.name}.aux.xml")).exists()]
    drawn = [folder / path for path in figures.values()]
    files += [*maps, *names_of_classes, *drawn, *pages, write_outcome(results)]
    remove_earlier(files, folder, "report/*.html")
    files.append(save_checksums([*files, folder / "config.yaml"], folder))
    reporter.advance("results.json")
    recalibrated, told = evaluated.recalibrated
    results = replace(results, files=(*files, *recalibrated), warnings=(*results.warnings, *told))
    log_results(results)
    return results


def _results_of(evaluated: Evaluated, undrawn: Sequence[str]) -> Results:
    """Return the results with the warnings, before it is known what is missing."""
    swept, numbers = evaluated.swept, evaluated.numbers
    input_warnings = (*_input_warnings(swept.record, numbers), *_overstated(evaluated))
    distributions = distributions_of(swept.record.variables)
    sizes = _notes_of_pixel_sizes(evaluated)
    notes = (*swept.record.alignments, *distributions, *_notes(swept.experiment, numbers), *sizes, *undrawn)
    warnings = (*input_warnings, *notes)
    return Results(
        swept.folder, swept.record, numbers.tables, numbers.verdicts, evaluated.gates, warnings,
        input_warnings=input_warnings,
    )  # fmt: skip


def _with_failures(results: Results, missing: Sequence[Failure]) -> Results:
    """Return the results with the failures of the run and of what is missing."""
    failures = (*results.record.failures, *missing)
    return replace(results, tables={**results.tables, "failures": failure_table(failures)}, failures=failures)


def _input_warnings(record: RunRecord, numbers: Numbers) -> tuple[str, ...]:
    """Return the warnings about the input, which question the numbers."""
    odd: list[str] = []
    with isolated("notes", "pixels that do not count"):
        odd = mostly_odd(numbers.tables["metrics"], numbers.tables["excluded"])
    return (*record.findings, *record.notes, *odd)


def _overstated(evaluated: Evaluated) -> list[str]:
    """Return a warning for each variable whose truth is stated to have larger errors than were found."""
    found = ((variable, evaluated.aggregates.get(variable.name)) for variable in evaluated.swept.record.variables)
    return [warning_of(variable, own.overstated) for variable, own in found if own and own.overstated]


def _notes(experiment: Experiment, numbers: Numbers) -> list[str]:
    """Return the notes on the numbers: heavy bins, classes without pixels, what only the tables show."""
    heavy: list[str] = []
    with isolated("notes", "bins that hold nearly all pixels"):
        heavy = heavy_bins(numbers.tables["bins"])
    found = {row["name"] for row in numbers.tables["metrics"].without_tiles() if row["level"] == "region"}
    without_pixels = [
        f"regions of {key}: no tile holds a pixel of {', '.join(missing)}"
        for key, region in experiment.regions.items()
        if isinstance(region, ClassRegions)
        and (missing := [name for name in dict.fromkeys(region.names.values()) if name not in found])
    ]
    in_tables = (
        f"{numbers.unshown} regions from polygons and classes stand in the tables; pages and figures are of the others"
    )
    return [*heavy, *without_pixels, *([in_tables] if numbers.unshown else [])]


def _notes_of_pixel_sizes(evaluated: Evaluated) -> list[str]:
    """Return the notes on pixels of different sizes, where there are means of areas."""
    with isolated("notes", "sizes of pixels"):
        if evaluated.aggregates:
            grids = [place.grid for place in evaluated.swept.summaries.places()]
            return notes_of_pixel_sizes(grids, weighted=evaluated.swept.experiment.data.weights is not None)
    return []


def write_tables(evaluated: Evaluated) -> list[Path]:
    """Write every table as CSV, the metrics also as Parquet (with the extra), tables for people, and gates.json.

    Those of an earlier run that this one has no rows for, such as of splits, are removed. Return the files written.
    """
    record, numbers = evaluated.swept.record, evaluated.numbers
    folder = evaluated.swept.folder / "tables"
    tables = {**numbers.tables, "failures": failure_table(record.failures)}
    for name in COLUMNS.keys() - tables.keys():
        (folder / f"{name}.csv").unlink(missing_ok=True)
    written = save_gates(evaluated.gates, evaluated.swept.folder / "gates.json")
    evaluated.swept.reporter.stage("tables", len(tables))
    for name, table in tables.items():
        path = folder / f"{name}.csv"
        with isolated("tables", path.name, outputs=[path]):
            write_csv(table, path)
            written.append(path)
        evaluated.swept.reporter.advance(path.name)
    path = folder / "error_correlation.json"
    with isolated("tables", path.name, outputs=[path]):
        written += write_models(evaluated.aggregates, record.variables, path)
    about = {"version": record.versions["geouq"], "config_sha256": record.config_sha256, "name": record.name}
    path = folder / "metrics.parquet"
    with isolated("tables", path.name, outputs=[path]):
        if write_parquet(tables["metrics"], path, about):
            written.append(path)
    regions = [evaluation_unit.name for evaluation_unit in numbers.shown if evaluation_unit.level == "region"]
    with isolated("tables", "metrics.md and metrics.tex"):
        written += write_readable(numbers.tables["metrics"], record.variables, regions, folder)
    with isolated("tables", "comparison of models"):
        written += _write_comparison(evaluated)
    return written


def _write_comparison(evaluated: Evaluated) -> list[Path]:
    """Write the comparison of models as Markdown and LaTeX, and a figure of each variable; return the files.

    Without several models, the tables of an earlier run are removed.
    """
    swept, numbers = evaluated.swept, evaluated.numbers
    if "comparison" not in numbers.tables:
        for name in ("comparison.md", "comparison.tex"):
            (swept.folder / "tables" / name).unlink(missing_ok=True)
        return []
    from geouq.comparison.figure import draw_differences  # noqa: PLC0415  matplotlib is large, and the sweep needs the memory

    rows, bins = numbers.tables["comparison"].rows, preferred_scheme(swept.experiment).name
    shown = Shown(shown_rows(rows, bins), rows[0]["against"], "model", numbers.uneven)
    names = dict.fromkeys(variable.variable for variable in swept.record.variables)
    paths = {name: swept.folder / "figures" / f"comparison_{file_name(name)}.png" for name in names}
    drawn = draw_differences(rows, paths, bins=bins, baseline=shown.baseline)
    return [*write_texts(shown, swept.folder / "tables"), *drawn]


def _opening_variable(evaluated: Evaluated) -> str:
    """Return the variable that the first page and the maps show first; empty if it is not known."""
    with isolated("maps", "variable on which they open"):
        return headline(evaluated.swept.record.variables, evaluated.numbers.verdicts).first
    return ""


def _pages_and_figures(
    evaluated: Evaluated,
    drawing: Drawing,
    write_pages: Callable[[FigurePaths], list[Path]],
    missing: Sequence[Failure],
    shared: Helpers,
) -> tuple[list[Path], FigurePaths]:
    """Write the pages while the last figures are drawn, and again if one of these is missing.

    missing : what is missing up to now, which grows.
    """
    reporter = evaluated.swept.reporter
    if evaluated.drawing is None:
        figures = finish_figures(drawing, reporter, shared)
        return write_pages(figures), figures
    expected = expected_figures(evaluated, drawing)
    pages, known = write_pages(expected), len(missing)
    figures = finish_figures(drawing, reporter, shared)
    is_complete = figures == expected and len(missing) == known
    return (pages if is_complete else write_pages(figures)), figures


def _write_pages(
    evaluated: Evaluated,
    results: Results,
    pictures: tuple[CellMaps | None, Sequence[QuickLook]],
    maps: Sequence[Path],
    figures: FigurePaths,
    *,
    missing: Sequence[Failure],
) -> list[Path]:
    """Write the pages, with what is missing up to now; return the files.

    pictures : sums of the cells, for the map, and quick looks at the maps of pixels.
    """
    swept, (cells, looks) = evaluated.swept, pictures
    swept.reporter.stage("pages", 1)
    evaluated.summaries.release()
    give_back()
    recalibrated = None
    with isolated("pages", "recalibration"):
        names = {variable.name: variable.file_name for variable in swept.record.variables}
        recalibrated = read_recalibration(swept.folder, swept.record.started, names)
    content = _content_of_pages(evaluated, _with_failures(results, missing), figures, maps)
    outlines = _outlines_of_pages(swept, cells, content.regions) if cells else content.outlines
    content = replace(content, cells=cells, recalibrated=recalibrated, outlines=outlines, looks=looks)
    written = write_report(content, swept.folder / "report")
    swept.reporter.advance("pages")
    return written


def _pictures_of_pages(evaluated: Evaluated) -> tuple[CellMaps | None, Sequence[QuickLook]]:
    """Return the sums of the cells, for the map of the pages, and quick looks at the maps of pixels."""
    cells = _cells_of_pages(evaluated)
    return cells, _looks_of_pages(evaluated, cells) if cells else ()


def _cells_of_pages(evaluated: Evaluated) -> CellMaps | None:
    """Return the sums of the cells of all tiles, for the map of the pages."""
    summaries, swept = evaluated.summaries, evaluated.swept
    whole = next(evaluation_unit for evaluation_unit in evaluated.numbers.shown if evaluation_unit.level == "all")
    with isolated("pages", "map of the cells"):
        parts = [summaries.part(tile) for tile in whole.tiles]
        sides = forecast_samples_of(whole, evaluated.metric_options, parts, summaries)
        return cell_maps(sides, swept.record.variables, preferred_scheme(swept.experiment))
    return None


def _outlines_of_pages(swept: Swept, cells: CellMaps, wanted: Collection[str]) -> Outlines:
    """Return the outlines of polygons on the map of the pages; a note where the polygons cannot be read any more."""
    regions = [region for region in swept.experiment.regions.values() if isinstance(region, PolygonRegions)]
    with isolated("pages", "outlines of polygons"):
        try:
            polygons = [*swept.job.regions.polygons.values()] if swept.job else list(map(read_polygons, regions))
            return outlines_on(cells.layout, polygons, wanted)
        except DataError as error:
            return Outlines(note=f"Outlines of polygons are missing: {error}.")
    return Outlines()


def _looks_of_pages(evaluated: Evaluated, cells: CellMaps) -> Sequence[QuickLook]:
    """Return quick looks at the maps of pixels, which stand in the folder of the run."""
    swept = evaluated.swept
    names = [name for name in swept.experiment.output.maps if is_pixel_map(name)]
    with isolated("pages", "quick looks"):
        return quick_looks(names, swept.record.variables, evaluated.numbers.wholes, cells.layout, swept.folder / "maps")
    return ()


def _content_of_pages(
    evaluated: Evaluated, results: Results, figures: FigurePaths, maps: Sequence[Path]
) -> ReportContent:
    experiment, record, shown = evaluated.swept.experiment, results.record, evaluated.numbers.shown
    tables = results.tables
    return ReportContent(
        name=experiment.name,
        variables=record.variables,
        regions={
            evaluation_unit.name: evaluation_unit.tiles
            for evaluation_unit in shown
            if evaluation_unit.level == "region"
        },
        zones=frozenset(evaluation_unit.name for evaluation_unit in shown if evaluation_unit.zone),
        tiles=record.tiles,
        metrics=tables["metrics"].rows,
        verdicts=results.verdicts,
        bins=preferred_scheme(experiment).name,
        curves=curves_of_pages(evaluated),
        excluded=tables["excluded"].rows,
        failures=tables["failures"].rows,
        warnings=results.notes,
        input_warnings=results.input_warnings,
        gates=[asdict(gate) for gate in results.gates],
        figures=figures,
        maps=[f"maps/{path.name}" for path in maps if path.suffix != ".qml"],
        tables=list(tables),
        shift=tables["shift"].rows if "shift" in tables else (),
        comparison=tables["comparison"].rows if "comparison" in tables else (),
        areas=tables["areas"].rows if "areas" in tables else (),
        aggregates=tables["aggregates"].rows if "aggregates" in tables else (),
        aggregate_comparison=tables[BY_AREAS].rows if BY_AREAS in tables else (),
        error_correlation=tables["error_correlation"].rows if "error_correlation" in tables else (),
        error_correlogram=tables["error_correlogram"].rows if "error_correlogram" in tables else (),
        members=members_in(evaluated.summaries.form()),
        config=resolved(experiment),
        inputs=inputs_in_words(record.inputs, record.polygons),
        provenance={"date": _date_of(record)}
        | dict(record.versions)
        | {"configuration (SHA-256)": record.config_sha256},
    )


def _date_of(record: RunRecord) -> str:
    """Return the date of a run (UTC), or of SOURCE_DATE_EPOCH: a time would give other bytes in each run."""
    fixed = source_date_epoch()
    return (fixed.isoformat() if fixed else record.started)[:10]
