"""A run that is to be recalibrated: its tiles, which must be as they were, its summaries, and its groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from geouq.config import Experiment, Recalibration, load_experiment, problem_of_groups
from geouq.config.sections import NOT_RECALIBRATED
from geouq.config.variables import NORMAL_ALONE, not_normal
from geouq.core.errors import ConfigError, DataError, SummaryError
from geouq.core.failures import Failure
from geouq.core.grid import require_same_grid
from geouq.core.wording import counted
from geouq.rasters.catalog import Catalog, Tile, find_tiles
from geouq.rasters.predictions import Prediction
from geouq.rasters.raster import Raster, number_of_band, read_header
from geouq.rasters.tile_names import match_names, natural_order, path_of
from geouq.runs.checksums import with_checksums
from geouq.runs.provenance import RunRecord, load_record, require_credentials
from geouq.runs.store import SavedFiles, SavedSummaries, unidentified, zones_are_valid
from geouq.runs.verification import require_intact_summaries
from geouq.sweep.settings import Settings
from geouq.sweep.tiles import no_progress
from geouq.zones import TileZones, Zones, open_regions, placed


@dataclass(frozen=True)
class JustRun:
    """The run of this process that ended just now, with data that its folder does not contain.

    experiment : configuration with the credentials of addresses. tiles : tiles as they were read.
    """

    experiment: Experiment
    tiles: tuple[Tile, ...]

    def as_read(self) -> dict[str, Tile]:
        """Return the unidentified tiles by name, such as tiles with a file on a server that is a second old."""
        return {tile.name: tile for tile in self.tiles if unidentified(tile)}


@dataclass(frozen=True)
class Opened:
    """A run, its tiles by name, its settings, and the zones of each tile that are the groups, if there are groups."""

    folder: Path
    experiment: Experiment
    record: RunRecord
    tiles: Mapping[str, Tile]
    settings: Settings
    zones: Mapping[str, Zones]

    @property
    def summaries(self) -> SavedSummaries:
        """Return what the run saved."""
        layers, whole = self.experiment.zone_layers, self.record.whole
        return SavedSummaries(self.folder, self.record.tiles, self.experiment.levels, layers, whole)


def wanted_of(folder: Path, requested: Mapping[str, Any]) -> Recalibration:
    """Return the settings of a run's configuration with those of the command; raise ConfigError for impossible ones."""
    load_record(folder)  # its message is about the run
    written = load_experiment(folder / "config.yaml").recalibration or Recalibration()
    changed = {key: value for key, value in requested.items() if value}
    try:
        return Recalibration.model_validate(written.model_dump() | changed)
    except ValidationError as error:
        problems = "; ".join(f"--{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors())
        raise ConfigError(problems) from None


def open_run(
    folder: Path, wanted: Recalibration | None, threads: int, just_run: JustRun | None = None
) -> tuple[Opened, Recalibration]:
    """Open a run and settle what is wanted of it; of None, what its configuration asks for.

    just_run : the run, if this process carried it out.
    Raises SummaryError where there is no run, or one of other files or another version; ConfigError where what is
    wanted cannot be; DataError where a tile cannot be read.
    """
    record = load_record(folder)
    experiment = load_experiment(folder / "config.yaml") if just_run is None else just_run.experiment
    if just_run is None:
        require_credentials(experiment)
    if experiment.forms:
        raise ConfigError(f"recalibration: {NOT_RECALIBRATED}")
    if name := not_normal(experiment.variables or ()):
        raise ConfigError(f"recalibration: {name} {NORMAL_ALONE}")
    wanted = wanted or experiment.recalibration or Recalibration()
    if problem := problem_of_groups(wanted, experiment.regions):
        raise ConfigError(f"recalibration: {problem}")
    as_read = just_run.as_read() if just_run else {}
    tiles, zones = _as_they_were(folder, experiment, record, wanted.by, threads, as_read=as_read)
    for tile in tiles.values():
        if tile.noisy_truth:
            raise ConfigError(
                "recalibration: summaries hold the predicted variance plus truth_variance, so that a "
                "correction of the prediction alone cannot be fitted; evaluate without truth_variance first"
            )
    return Opened(folder, experiment, record, tiles, settings_of(record), zones), wanted


def settings_of(record: RunRecord) -> Settings:
    """Return what the sweep of a run measured."""
    return Settings.of_words(record.settings)


def groups_of(experiment: Experiment, catalog: Catalog, layer: str | None) -> dict[str, Zones]:
    """Return the zones of each tile that has some of the layer; DataError where they have no place on a tile."""
    if layer is None:
        return {}
    zones, found = placed(open_regions(experiment), catalog)
    if found.failures:
        raise DataError(f"tile {found.failures[0].tile}: {found.failures[0].message}")
    return {tile: own.layers[layer] for tile, own in zones.items() if layer in own.layers}


def tiles_without_truth(mean: str, variance: str, like: Tile, drivers: Sequence[str]) -> list[Tile]:
    """Return the tiles of predictions alone, from two paths with {tile}; `like` tells bands and variables.

    Raises ConfigError where nothing matches, DataError or GridError where files do not belong together.
    """
    for pattern in (mean, variance):
        if "{tile}" not in pattern:
            raise ConfigError(f"--predictions {pattern}: needs {{tile}} where the name of the tile stands")
    patterns = [str(Path(pattern).absolute()) for pattern in (mean, variance)]
    names = match_names(patterns[0], [patterns[1]] if len(patterns[1]) > len(patterns[0]) else [])
    if not names:
        raise ConfigError(f"--predictions: no file matches {mean}")
    if list(like.predictions) != [""]:
        raise ConfigError("--predictions is for runs of one model; evaluate the model alone first")
    ordered = sorted(names, key=natural_order)
    return [
        _without_truth(name, *(read_header(path_of(pattern, name), drivers) for pattern in patterns), like=like)
        for name in ordered
    ]


def _without_truth(name: str, m: Raster, v: Raster, *, like: Tile) -> Tile:
    require_same_grid(m.grid, v.grid, m.path, v.path)
    for layer, raster in (("mean", m), ("variance", v)):
        last = max(number_of_band(raster, layer, variable) for variable in like.variables)
        if len(raster.bands) < last:
            raise DataError(
                f"{raster.path} has {counted(len(raster.bands), 'band')}, but the run evaluates band {last}"
            )
    # the truth is not read where rasters are written, and the mean stands in its place
    return Tile(name, m.grid, like.variables, {"": Prediction(m, v)}, truth=m)


def _as_they_were(
    folder: Path,
    experiment: Experiment,
    record: RunRecord,
    by: str | None,
    threads: int,
    *,
    as_read: Mapping[str, Tile],
) -> tuple[dict[str, Tile], dict[str, Zones]]:
    """Return the tiles of a run and the zones of a layer, if their summaries are those of the files as they are now.

    as_read : tiles to take as they are.
    """
    catalog = find_tiles(experiment.of_tiles(record.tiles))
    for failure in catalog.failures:
        raise DataError(f"tile {failure.tile}: {failure.message}")
    by_name, groups = {tile.name: tile for tile in catalog.tiles} | dict(as_read), groups_of(experiment, catalog, by)
    found = {name: (by_name[name], groups.get(name)) for name in record.tiles}
    if experiment.fingerprint == "checksum":
        layers = {name: TileZones((), {"": own} if own else {}) for name, (_, own) in found.items()}
        for outcome in with_checksums([tile for tile, _ in found.values()], layers, threads, no_progress):
            if isinstance(outcome, Failure):
                raise DataError(f"tile {outcome.tile}: {outcome.message}")
            found[outcome[0].name] = outcome[0], outcome[1].layers.get("")
    require_intact_summaries(folder, record)
    settings, saved = replace(settings_of(record), levels=experiment.levels), SavedFiles(folder)
    for name, (tile, zones) in found.items():
        valid = saved.is_valid(tile, settings)
        if zones is not None and by is not None and name not in record.whole.get(by, ()):
            valid = valid and zones_are_valid(folder, tile, by, zones, settings)
        if not valid:
            raise SummaryError(
                f"{folder}: the summary of tile {name} was made from other files, or by another version; "
                "run the experiment again first"
            )
    return {name: tile for name, (tile, _) in found.items()}, {name: own for name, (_, own) in found.items() if own}
