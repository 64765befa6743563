"""From saved summaries to tables, cell maps, figures and pages; no pixel is read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geouq.atomic import written_whole
from geouq.config import CELL_MAPS, PIXEL_MAPS, BinScheme, Experiment, Variable
from geouq.gates import GateResult, judge
from geouq.inference import Inference, adjusted, block_rows, correlogram_rows, infer, test_rows, with_intervals
from geouq.maps import write_cell_maps
from geouq.metrics import Choices
from geouq.naming import file_name
from geouq.pages import ReportContent, write_report
from geouq.progress import Reporter
from geouq.provenance import RunRecord
from geouq.regions import Pool, pools, zone_pools
from geouq.store import Part, SavedSummaries
from geouq.summary import CellSummaries, Summary, TileWholes
from geouq.tables import (
    Row,
    Table,
    as_frame,
    as_markdown,
    bin_rows,
    choices_for,
    curve_rows,
    excluded_rows,
    excluded_table,
    failure_table,
    heavy_bins,
    metric_rows,
    sorted_table,
    write_csv,
    write_parquet,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Results:
    """What a run gives: the folder written to, its tables by name, gates, and what the user should know.

    files : tables, maps, figures and pages, that is all that is written but summaries and what they came from.
    """

    folder: Path
    record: RunRecord
    tables: Mapping[str, Table]
    gates: tuple[GateResult, ...]
    warnings: tuple[str, ...]
    files: tuple[Path, ...] = ()

    @cached_property
    def frames(self) -> Mapping[str, "pd.DataFrame"]:
        """Every table as a pandas table, by name."""
        return {name: as_frame(table) for name, table in self.tables.items()}

    @property
    def metrics(self) -> "pd.DataFrame":
        """The table of metrics: a row a number, with level, name of the region or tile, variable and n."""
        return self.frames["metrics"]


@dataclass(frozen=True)
class _Measured:
    """The pools that figures are drawn of, what is inferred of each by its name, and the rows of all."""

    shown: Sequence[Pool]
    inferred: Mapping[str, Mapping[str, Inference]]
    tables: Mapping[str, Table]


def present(experiment: Experiment, record: RunRecord, folder: Path, reporter: Reporter) -> Results:
    """Write everything that follows from the summaries of a run, and what its record tells."""
    summaries = SavedSummaries(folder, record.tiles, experiment.levels, experiment.zone_layers, record.whole)
    choices = choices_of(experiment, record.variables, summaries)
    measured = _measure(experiment, record, summaries, choices, reporter)
    gates = tuple(judge(experiment, measured.tables["metrics"]))
    tables = write_tables(measured.tables, record.variables, folder / "tables")
    maps = pixel_maps(experiment, record)
    maps += [f"maps/{path.name}" for path in write_cells(experiment, record, summaries, folder / "maps", reporter)]
    figures = draw_figures(
        experiment,
        measured.shown,
        record.variables,
        choices,
        inferred=measured.inferred,
        folder=folder,
        reporter=reporter,
    )
    warnings = (*record.notes, *heavy_bins(measured.tables["bins"]))
    results = Results(folder, record, measured.tables, gates, warnings)
    pages = write_report(_content(experiment, results, measured.shown, figures, maps), folder / "report")
    return replace(results, files=(*tables, *(folder / path for path in (*maps, *figures.values())), *pages))


def choices_of(experiment: Experiment, variables: Sequence[Variable], summaries: SavedSummaries) -> dict[str, Choices]:
    """Choices of each variable; shared edges need the whole, and so a pass over the summaries."""
    whole: Mapping[str, Summary] = {}
    if experiment.bins.scope == "experiment":
        names = [variable.name for variable in variables]
        whole = next(pool.variables for pool in pools(experiment, names, summaries.wholes()) if pool.level == "all")
    return {variable.name: choices_for(experiment, variable, whole.get(variable.name)) for variable in variables}


def _measure(
    experiment: Experiment,
    record: RunRecord,
    summaries: SavedSummaries,
    choices: Mapping[str, Choices],
    reporter: Reporter,
) -> _Measured:
    metrics: list[Row] = []
    bins: list[Row] = []
    curves: list[Row] = []
    excluded: list[Row] = []
    inferred: dict[str, Mapping[str, Inference]] = {}
    shown = []
    names, zones = [variable.name for variable in record.variables], summaries.zones()

    def noted() -> Iterator[TileWholes]:
        for tile in summaries.wholes():
            excluded.extend(excluded_rows(tile))
            yield tile

    wholes_of_zones = ((zone, map(summaries.whole, parts)) for zone, parts in zones.items())
    reporter.stage("numbers", len(record.tiles) + 1 + len(experiment.tile_lists) + len(zones))
    for pool in chain(pools(experiment, names, noted()), zone_pools(experiment.levels, names, wholes_of_zones)):
        rows = metric_rows(pool, record.variables, choices)
        bins += bin_rows(pool, record.variables, choices)
        curves += curve_rows(pool, record.variables, choices)
        if pool.level != "tile":
            shown.append(pool)
            parts = zones[pool.name] if pool.zone else [summaries.part(tile) for tile in pool.tiles]
            inferred[pool.name] = infer_pool(pool, choices, parts, summaries)
            rows = list(with_intervals(rows, inferred[pool.name]))
        metrics += rows
        reporter.advance(pool.name)
    tables = {
        "metrics": sorted_table("metrics", metrics),
        "bins": sorted_table("bins", bins),
        "curves": sorted_table("curves", curves),
        **inference_tables(shown, inferred),
        "excluded": excluded_table(excluded),
        "failures": failure_table(record.failures),
    }
    return _Measured(shown, inferred, tables)


def infer_pool(
    pool: Pool, choices: Mapping[str, Choices], parts: Sequence[Part], summaries: SavedSummaries
) -> dict[str, Inference]:
    """Intervals and tests of each variable of a pool that is made of these parts, one a tile."""
    places, of_tile = [summaries.place(part) for part in parts], {part.tile: part for part in parts}
    return {
        variable: infer(
            pool.name,
            summary,
            choices[variable],
            places=places,
            cells_of=partial(_cells_of, summaries, of_tile, variable),
        )
        for variable, summary in pool.variables.items()
    }


def _cells_of(
    summaries: SavedSummaries, parts: Mapping[str, Part], variable: str, tile: str
) -> Iterator[tuple[NDArray[np.int64], CellSummaries]]:
    """The cells of the part in a tile."""
    return summaries.cells_of(parts[tile], variable)


def inference_tables(pools: Sequence[Pool], inferred: Mapping[str, Mapping[str, Inference]]) -> dict[str, Table]:
    """Tests of calibration, correlograms of the residuals and the blocks drawn, of each variable of each pool."""
    each = [
        ({"level": pool.level, "name": pool.name, "variable": variable}, inference)
        for pool in pools
        for variable, inference in inferred[pool.name].items()
    ]
    tests = adjusted(row for of, inference in each for row in test_rows(of, inference))
    return {
        "tests": sorted_table("tests", tests),
        "correlograms": sorted_table("correlograms", [row for one in each for row in correlogram_rows(*one)]),
        "blocks": sorted_table("blocks", [row for one in each for row in block_rows(*one)]),
    }


def write_tables(tables: Mapping[str, Table], variables: Sequence[Variable], folder: Path) -> list[Path]:
    """Every table as CSV, the metrics also as Parquet (with the extra) and Markdown; the files written."""
    written = [folder / f"{name}.csv" for name in tables]
    for path, table in zip(written, tables.values(), strict=True):
        write_csv(table, path)
    if write_parquet(tables["metrics"], folder / "metrics.parquet"):
        written.append(folder / "metrics.parquet")
    with written_whole(folder / "metrics.md") as part:
        part.write_text(as_markdown(tables["metrics"], variables), encoding="utf-8")
    return [*written, folder / "metrics.md"]


def pixel_maps(experiment: Experiment, record: RunRecord) -> list[str]:
    """Paths of the pixel maps of this run, relative to its folder."""
    names = [name for name in experiment.output.maps if name in PIXEL_MAPS]
    failed = {failure.tile for failure in record.failures}
    tiles = [tile for tile in record.tiles if tile not in failed]
    return [f"maps/{file_name(tile)}_{name}.tif" for tile in tiles for name in names]


def write_cells(
    experiment: Experiment, record: RunRecord, summaries: SavedSummaries, folder: Path, reporter: Reporter
) -> list[Path]:
    """The cell maps that the experiment asks for."""
    wanted = [name for name in CELL_MAPS if name in experiment.output.maps or "cells" in experiment.output.maps]
    if not wanted or not record.tiles:
        return []
    written, places = [], tuple(summaries.places())
    reporter.stage("cell maps", len(record.variables))
    for variable in record.variables:
        written += write_cell_maps(places, partial(summaries.cells, variable=variable.name), variable, wanted, folder)
        reporter.advance(variable.name)
    return written


def draw_figures(
    experiment: Experiment,
    shown: Sequence[Pool],
    variables: Sequence[Variable],
    choices: Mapping[str, Choices],
    *,
    inferred: Mapping[str, Mapping[str, Inference]],
    folder: Path,
    reporter: Reporter,
) -> dict[tuple[str, str, str], str]:
    """Figures of each variable of the whole and of each region; their paths relative to the folder."""
    from geouq.figures import (  # noqa: PLC0415  matplotlib is large, and the sweep needs the memory
        correlogram_figure,
        pit_histogram,
        reliability_diagram,
        save_figure,
    )

    scheme = preferred_scheme(experiment)
    written = {}
    reporter.stage("figures", len(shown) * len(variables))
    for pool in shown:
        for variable in variables:
            summary, title = pool.variables[variable.name], f"{variable.name}, {pool.name}"
            edges = (choices[variable.name].shared_edges or {}).get(scheme.name)
            drawn = {
                "reliability": reliability_diagram(summary, scheme, title=title, units=variable.units, edges=edges),
                "pit": pit_histogram(summary, title=title),
            }
            if blocks := inferred[pool.name][variable.name].blocks:
                drawn["correlogram"] = correlogram_figure(blocks, title=title)
            for name, figure in drawn.items():
                path = Path("figures", file_name(pool.name), f"{file_name(variable.name)}_{name}.png")
                save_figure(figure, folder / path)
                written[pool.name, variable.name, name] = path.as_posix()
            reporter.advance(title)
    return written


def preferred_scheme(experiment: Experiment) -> BinScheme:
    """The scheme to show where there is room for one: equal-count bins, if asked for, as all of them hold pixels."""
    schemes = experiment.bins.schemes
    return next((scheme for scheme in schemes if scheme.scheme == "equal-count"), schemes[0])


def _content(
    experiment: Experiment,
    results: Results,
    shown: Sequence[Pool],
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
        bins=preferred_scheme(experiment).name,
        excluded=tables["excluded"].rows,
        failures=tables["failures"].rows,
        warnings=results.warnings,
        gates=[asdict(gate) for gate in results.gates],
        figures=figures,
        maps=maps,
        provenance=dict(record.versions)
        | {
            "started": record.started,
            "seconds": f"{record.seconds:.1f}",
            "peak memory": f"{record.peak_memory_mib:.0f} MiB",
            "tiles reused": f"{record.reused} of {len(record.tiles)}",
            "configuration (SHA-256)": record.config_sha256,
        },
    )
