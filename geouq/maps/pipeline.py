"""All maps of a run with their mosaics and styles; no pixel is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from geouq.config import Experiment, Variable
from geouq.core.failures import isolated
from geouq.core.processes import Helpers, results
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

    metric_options, wholes : of each variable, by its name. first : name of the variable on which the maps open.
    """

    experiment: Experiment
    record: RunRecord
    summaries: SavedSummaries
    metric_options: Mapping[str, MetricOptions]
    wholes: Mapping[str, Summary]
    first: str


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


def write_maps(run: Evaluated, folder: Path, reporter: Reporter, shared: Helpers) -> list[Path]:
    """Write styles and mosaics of the maps of pixels, and the maps of cells; the paths of all, those of pixels too."""
    if not run.record.tiles:
        return []
    written = _sidecars_of_pixel_maps(run, folder) + _maps_of_cells(run, folder, reporter, shared)
    with isolated("maps", NAME, outputs=[folder / NAME]):
        written += write_layer_definition(written, run.record.variables, run.record.name, folder, run.first)
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


def _maps_of_cells(run: Evaluated, folder: Path, reporter: Reporter, shared: Helpers) -> list[Path]:
    names = [name for name in run.experiment.output.maps if not is_pixel_map(name)]
    tags = {"GEOUQ_INPUTS": ", ".join(run.record.tiles), "GEOUQ_CONFIG_SHA256": run.record.config_sha256}
    written: list[Path] = []
    if not names:
        (folder / CELLS_TOGETHER).unlink(missing_ok=True)
        return written
    places, variables = tuple(run.summaries.places()), run.record.variables
    options, wholes = run.metric_options, run.wholes
    each = [
        Cellwise(one, partial(run.summaries.cells, variable=one.name), names, options[one.name], wholes[one.name])
        for one in variables
    ]
    reporter.stage("cell maps", len(variables))
    work = shared.begin(_write_cells, [_CellMaps(cells, places, folder, tags) for cells in each])
    packages: dict[str, Path] = {}
    for variable, paths in zip(variables, results(work), strict=True):
        written += paths
        packages.update((variable.name, path) for path in paths if path.suffix == ".gpkg")
        reporter.advance(variable.name)
    for paths in results(shared.begin(_write_together, [_Together(packages, variables, folder)])):
        written += paths
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
