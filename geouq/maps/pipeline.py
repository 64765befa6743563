"""All maps of a run with their mosaics and styles; no pixel is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from geouq.config import Experiment, Variable
from geouq.core.failures import isolated
from geouq.core.processes import Helpers, Work, results
from geouq.core.usage import give_back
from geouq.maps.cell_metrics import Cellwise
from geouq.maps.cells import paths_of_cells, write_cell_maps
from geouq.maps.geoparquet import NAME as CELLS_TOGETHER
from geouq.maps.geoparquet import write_geoparquet
from geouq.maps.layer_definition import NAME, write_layer_definition
from geouq.maps.pixel_maps import is_pixel_map
from geouq.maps.pixels import path_of_map
from geouq.maps.sidecars import write_sidecars
from geouq.metrics import MetricOptions
from geouq.runs.progress import Reporter
from geouq.runs.provenance import RunRecord
from geouq.runs.store import SavedSummaries
from geouq.summary import Summary, TilePlace


@dataclass(frozen=True)
class Evaluated:
    """A run whose pixels are summarised.

    metric_options, wholes : of each variable, by its name.
    """

    experiment: Experiment
    record: RunRecord
    summaries: SavedSummaries
    metric_options: Mapping[str, MetricOptions]
    wholes: Mapping[str, Summary]


@dataclass(frozen=True)
class _CellMaps:
    """The maps of the cells of a variable, to be written."""

    cells: Cellwise
    places: tuple[TilePlace, ...]
    folder: Path
    tags: Mapping[str, str]


@dataclass(frozen=True)
class _Together:
    """The cells of all variables, to be written in one file."""

    packages: Mapping[str, Path]
    variables: tuple[Variable, ...]
    folder: Path


@dataclass(frozen=True)
class MapsUnderWay:
    """The maps of a run, which other processes write meanwhile.

    cells : the maps of each variable. together : one file with the cells of all variables.
    """

    run: Evaluated
    folder: Path
    cells: Sequence[Work[_CellMaps, list[Path]]]
    together: Work[_Together, list[Path]] | None = None


def begin_maps(run: Evaluated, folder: Path, shared: Helpers) -> MapsUnderWay:
    """Begin to write the maps of the cells of each variable."""
    names = [name for name in run.experiment.output.maps if not is_pixel_map(name)]
    if not names or not run.record.tiles:
        (folder / CELLS_TOGETHER).unlink(missing_ok=True)
        return MapsUnderWay(run, folder, ())
    tags = {"GEOUQ_INPUTS": ", ".join(run.record.tiles), "GEOUQ_CONFIG_SHA256": run.record.config_sha256}
    places, options, wholes = tuple(run.summaries.places()), run.metric_options, run.wholes
    each = [
        Cellwise(one, partial(run.summaries.cells, variable=one.name), names, options[one.name], wholes[one.name])
        for one in run.record.variables
    ]
    work = shared.begin(_write_cells, [_CellMaps(cells, places, folder, tags) for cells in each])
    return MapsUnderWay(run, folder, work)


def join_cells(maps: MapsUnderWay, reporter: Reporter, shared: Helpers) -> MapsUnderWay:
    """Wait for the maps of cells, and begin to write the cells of all variables in one file."""
    if not maps.cells:
        return maps
    variables = maps.run.record.variables
    reporter.stage("cell maps", len(variables))
    packages: dict[str, Path] = {}
    for variable, paths in zip(variables, results(maps.cells), strict=True):
        packages.update((variable.name, path) for path in paths if path.suffix == ".gpkg")
        reporter.advance(variable.name)
    together = shared.begin_next(_write_together, _Together(packages, variables, maps.folder))
    return replace(maps, together=together)


def finish_maps(maps: MapsUnderWay, first: str) -> list[Path]:
    """Write styles and mosaics of the maps of pixels, and one layer for all maps; return the paths of all maps.

    first : name of the variable on which the layer opens.
    """
    run, folder = maps.run, maps.folder
    if not run.record.tiles:
        return []
    written = _sidecars_of_pixel_maps(run, folder)
    written += [path for one in maps.cells for path in one.result()]
    written += maps.together.result() if maps.together else []
    with isolated("maps", NAME, outputs=[folder / NAME]):
        written += write_layer_definition(written, run.record.variables, run.record.name, folder, first)
    return written


def _sidecars_of_pixel_maps(run: Evaluated, folder: Path) -> list[Path]:
    places = list(run.summaries.places())
    written: list[Path] = []
    for name in filter(is_pixel_map, run.experiment.output.maps):
        there = [place for place in places if path_of_map(place.tile, name, folder).exists()]
        written += [path_of_map(place.tile, name, folder) for place in there]
        with isolated("maps", f"mosaic and styles of {name}"):
            written += write_sidecars(name, there, run.record.variables, run.wholes, folder) if there else []
    return written


def _write_together(cells: _Together) -> list[Path]:
    """Write the file with the cells of all variables; nothing is left of it if this fails."""
    with isolated("maps", CELLS_TOGETHER, outputs=[cells.folder / CELLS_TOGETHER]):
        written = write_geoparquet(cells.packages, cells.variables, cells.folder)
        give_back()
        return written
    return []


def _write_cells(maps: _CellMaps) -> list[Path]:
    """Write the maps of a variable; nothing is left of those that fail."""
    variable, outputs = maps.cells.variable, list[Path]()
    with isolated("maps", f"cells of {variable.name}", outputs=outputs):
        outputs += paths_of_cells(maps.places, variable, maps.folder)
        written = list(write_cell_maps(maps.places, maps.cells, maps.folder, maps.tags))
        give_back()
        return written
    return []
