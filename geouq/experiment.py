"""The whole story: from an experiment to tables, maps, figures and a report."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from geouq.atomic import atomic_write, remove_leftovers
from geouq.checks import CHEAP, CHECKS, DEEP, examine
from geouq.config import Configuration, Experiment, folder_of_run, load_experiment
from geouq.errors import ChangedError, ConfigError, SummaryError, require_type
from geouq.failures import Failure, collecting
from geouq.maps import is_pixel_map, missing_maps, validate_source_date_epoch, write_each_map
from geouq.numbers.gates import require_known, require_possible
from geouq.numbers.of_run import choices_of
from geouq.overflow import overflow_is_missing
from geouq.present import Results, present
from geouq.rasters.catalog import Catalog, Tile, find_tiles
from geouq.reading.cutting import Reading
from geouq.recalibration import JustRun, recalibrate_run
from geouq.regions import pools
from geouq.runs.checksums import catalog_with_checksums, require_local
from geouq.runs.exact_bins import wanted_keys, with_kept
from geouq.runs.lock import owned
from geouq.runs.memory import give_back, peak_memory_mib, resources
from geouq.runs.plan import Plan, plan_run, slots
from geouq.runs.progress import Reporter, Silent
from geouq.runs.provenance import (
    Begun,
    RunRecord,
    config_digest,
    inputs_of,
    load_record,
    resolved,
    save_record,
    utc,
    vector_inputs,
)
from geouq.runs.selection import restricted, settings_for
from geouq.runs.store import (
    SavedSummaries,
    SummariesUnderWay,
    ZonesUnderWay,
    change_summary,
    checksums_of_summaries,
    damaged_summaries,
    forget_zones,
    is_valid,
    key_of_tile,
    note_on_unidentified,
    outdated,
    unidentified,
    zones_are_valid,
)
from geouq.runs.verification import require_intact_summaries, save_checksums
from geouq.sweep.settings import Settings
from geouq.sweep.tiles import Zone, collect_pixels, for_each_tile, sweep_tiles, sweep_zones
from geouq.sweep.workers import workers
from geouq.sweep.zone_sums import batches_of
from geouq.zones import Regions, TileZones, Zones, open_regions, placed, polygons_without_pixels


@dataclass(frozen=True)
class Options:
    """How a run is carried out. No option changes a number.

    Parameters
    ----------
    out : path, optional
        Folder of the results. By default that of the configuration.
    workers : int, optional
        Number of workers. By default one for each processor.
    memory : str, optional
        Limit of the memory, such as 4GB; it may lower the number of workers.
    scheduler : str, optional
        Address of a running dask scheduler.
    only : tuple of str
        Names of the tiles and regions to evaluate. By default all.
    fresh : bool
        Read all pixels again.
    strict : bool
        Check as many pixels as `geouq check --deep`, in every run.
    """

    out: Path | str | None = None
    workers: int | None = None
    memory: str | None = None
    scheduler: str | None = None
    only: tuple[str, ...] = ()
    fresh: bool = False
    strict: bool = False


DEFAULTS = Options()
CONFIG_CHANGED = "config.yaml changed since the run, and the numbers follow the changed one"


@dataclass(frozen=True)
class _Job:
    """What every stage of a run needs; zones : by tile. strict : as in `Options`."""

    experiment: Experiment
    folder: Path
    tiles: tuple[Tile, ...]
    settings: Settings
    plan: Plan
    reporter: Reporter
    regions: Regions
    zones: Mapping[str, TileZones]
    strict: bool

    def reading_of(self, tile: Tile) -> Reading:
        """How a tile is read."""
        return self.plan.readings[tile.name]

    def batches_of(self, tile: Tile, layers: Mapping[str, Zones]) -> Sequence[Mapping[str, Zones]]:
        """Which zones of a tile are summed together."""
        return batches_of(layers, tile, self.reading_of(tile), self.plan.workers, self.plan.zones.room)


def run(experiment: Configuration, options: Options = DEFAULTS, reporter: Reporter | None = None) -> Results:
    """Evaluate an experiment: sweep, maps, then all that follows from the summaries.

    Tiles whose summaries are saved and still valid are not read again. A tile that fails does not stop the others: it
    is in the table of failures; one whose files change while they are read is read once more before.

    Parameters
    ----------
    experiment : path, mapping or Experiment
        What to evaluate: a YAML file, a mapping of the keys of such a file, or an Experiment.
    options : Options
        How to carry it out, which changes no number.
    reporter : Reporter, optional
        Receives the progress.

    Returns
    -------
    Results
        Tables, failures, warnings and the files written.

    Raises
    ------
    ConfigError
        If the configuration is wrong or names nothing that can be evaluated.
    ArgumentError
        If an argument has a wrong type.
    """
    begun, reporter = Begun(), reporter or Silent()
    require_type("options", options, Options, "give geouq.Options(...)")
    validate_source_date_epoch()
    experiment = load_experiment(experiment)
    job, catalog = _prepare(experiment, options, reporter)
    with overflow_is_missing(), ExitStack() as workforce:
        pool = workforce.enter_context(workers(job.plan.workers, options.scheduler))  # before anything is written
        with owned(job.folder):
            remove_leftovers(job.folder)
            record = _evaluated(job, catalog, pool, fresh=options.fresh, begun=begun)
            job, record = _once_more(job, record, pool, options, begun)
            workforce.close()
            give_back()
            with atomic_write(job.folder / "config.yaml") as part:
                part.write_text(resolved(job.experiment), encoding="utf-8")
            save_record(record, job.folder)
            with collecting() as missing:
                files, told = _recalibrated(job, options.memory)
            results = _presented(job.experiment, record, job.folder, reporter, missing)
    reporter.say(resources(begun.seconds))
    return replace(results, files=(*results.files, *files), warnings=(*results.warnings, *told))


def report(folder: Configuration, reporter: Reporter | None = None) -> Results:
    """Write tables, cell maps, figures and pages again from the saved summaries of a run.

    Parameters
    ----------
    folder : path, mapping or Experiment
        Folder of the run, or the configuration that names it: a YAML file, a mapping or an Experiment.
    reporter : Reporter, optional
        Receives the progress.

    Returns
    -------
    Results
        Tables, failures, warnings and the files written.

    Raises
    ------
    SummaryError
        If the folder holds no run, or its summaries are damaged.
    ArgumentError
        If an argument has a wrong type.
    """
    folder = folder_of_run("folder", folder)
    record = load_record(folder)
    with owned(folder):
        experiment = load_experiment(folder / "config.yaml")
        require_intact_summaries(folder, record)  # before results.json of the run is replaced
        if config_digest(experiment) != record.config_sha256:
            record = replace(record, notes=(*record.notes, CONFIG_CHANGED))
        return _presented(experiment, record, folder, reporter or Silent())


def _presented(
    experiment: Experiment, record: RunRecord, folder: Path, reporter: Reporter, missing: Sequence[Failure] = ()
) -> Results:
    """All that follows from the summaries, and the checksums of the files. missing : what failed before."""
    results = present(experiment, record, folder, reporter, missing)
    sums = save_checksums([*results.files, folder / "config.yaml"], folder)
    return replace(results, files=(*results.files, sums))


def _recalibrated(job: _Job, memory: str | None) -> tuple[Sequence[Path], Sequence[str]]:
    """Return the files of the recalibration that the configuration requests, and what to report."""
    if job.experiment.recalibration is None:
        return (), ()
    return recalibrate_run(job.folder, JustRun(job.experiment, job.tiles), job.plan.workers, memory, job.reporter)


def _once_more(job: _Job, record: RunRecord, pool: Executor, options: Options, begun: Begun) -> tuple[_Job, RunRecord]:
    """Return the same with headers read anew where files changed while they were read; there is no third time."""
    changed = [failure.tile for failure in record.failures if failure.error == ChangedError.__name__]
    if changed:
        job.reporter.say(f"files of tile {', '.join(changed)} changed while they were read, and are read once more")
        with suppress(ConfigError):  # there is nothing left to read
            job, catalog = _prepare(job.experiment, options, job.reporter)
            again = _evaluated(job, catalog, pool, fresh=False, begun=begun)
            notes = tuple(dict.fromkeys((*record.notes, *again.notes)))
            record = replace(again, reused=record.reused, notes=notes)
    return job, record


def _evaluated(job: _Job, catalog: Catalog, pool: Executor, *, fresh: bool, begun: Begun) -> RunRecord:
    """Sweep what is not summarised yet, and write the pixel maps; the record of it."""
    read_again = _read_again(job)
    waiting = [t for t in job.tiles if fresh or unidentified(t) or not is_valid(job.folder, t, job.settings)]
    with collecting() as unchecked:
        findings = _findings(job, catalog, waiting)
    failures = _sweep(job, pool, waiting)
    if job.experiment.bins.exact:
        failures += _place_edges(job, pool, failures)
    failures += _sweep_zones(job, pool, failures, fresh=fresh)
    failures += _write_maps(job, pool, failures)
    done = _without(job.tiles, failures)
    return RunRecord(
        name=job.experiment.name,
        tiles=tuple(tile.name for tile in done),
        variables=job.tiles[0].variables if job.tiles else (),
        failures=(*catalog.failures, *unchecked, *failures),
        notes=(*catalog.notes, *read_again),
        reused=len(job.tiles) - len(waiting),
        settings=job.settings.as_words(),
        inputs=inputs_of(job.tiles, {tile: own.rasters for tile, own in job.zones.items()}),
        started=utc(begun.day),
        seconds=round(begun.seconds, 3),
        peak_memory_mib=peak_memory_mib(),
        config_sha256=config_digest(job.experiment),
        whole=_whole_tiles(job, done),
        findings=findings,
        polygons=vector_inputs(job.regions.polygons, polygons_without_pixels(job.regions, job.zones.values())),
        summaries=checksums_of_summaries(job.folder, {tile.name: job.zones[tile.name].layers for tile in done}),
    )


def _read_again(job: _Job) -> list[str]:
    """Report which tiles are read again, and why: files that nothing identifies, damaged summaries."""
    layers = {tile.name: job.zones[tile.name].layers for tile in job.tiles}
    found = note_on_unidentified({tile.name: unidentified(tile, layers[tile.name].values()) for tile in job.tiles})
    found += [note for name, own in layers.items() for note in damaged_summaries(job.folder, name, own)]
    identified = [tile for tile in job.tiles if not unidentified(tile)]
    for note in (*found, *outdated(job.folder, identified, job.settings)):
        job.reporter.say(note)
    return found


def _prepare(experiment: Experiment, options: Options, reporter: Reporter) -> tuple[_Job, Catalog]:
    reporter.stage("headers", 1)
    everything = find_tiles(experiment)
    settings = settings_for(experiment, everything)
    experiment, catalog = restricted(experiment, everything, options.only)
    regions = open_regions(experiment)
    require_known(experiment, catalog.variables, regions.names, catalog.form)
    zones, catalog = placed(regions, catalog)
    require_possible(experiment, catalog, zones, settings.cell_size)
    require_local(experiment, catalog.tiles, zones)
    layers = {tile: own.layers for tile, own in zones.items()}
    plan = plan_run(catalog, options.workers, options.memory, layers)
    if experiment.fingerprint == "checksum":
        catalog, zones = catalog_with_checksums(catalog, zones, plan.workers, reporter)
    folder = Path(options.out) if options.out else experiment.output_directory
    for note in catalog.notes:
        reporter.say(note)
    job = _Job(experiment, folder, catalog.tiles, settings, plan, reporter, regions, zones, options.strict)
    return job, catalog


def _findings(job: _Job, catalog: Catalog, waiting: Sequence[Tile]) -> tuple[str, ...]:
    """Return the findings of the input checks.

    They are those of the last run if no tile waits, no check failed then and the run is not strict, so that no pixel
    is read.
    """
    if not waiting and not job.strict:
        with suppress(SummaryError):
            last = load_record(job.folder)
            if not any(failure.stage == CHECKS for failure in last.failures):
                return last.findings
    sampling = DEEP if job.strict else CHEAP
    findings = tuple(str(finding) for finding in examine(job.experiment, catalog, sampling))
    for finding in findings:
        job.reporter.say(finding)
    return findings


def _sweep(job: _Job, pool: Executor, waiting: Sequence[Tile]) -> list[Failure]:
    """Save the summary of every tile that has no valid one; the failures."""
    reused = len(job.tiles) - len(waiting)
    if reused:
        job.reporter.say(f"{reused} of {len(job.tiles)} tiles are summarised already and are not swept again")
    failures = []
    job.reporter.stage("sweep", len(waiting))
    with SummariesUnderWay(job.folder, job.settings) as files:
        swept = sweep_tiles(
            waiting,
            job.settings,
            pool,
            slots(job.plan.workers),
            reading_of=job.reading_of,
            store_for=files.begin,
            under_way=job.reporter.under_way,
        )
        for outcome in swept:
            if isinstance(outcome, Failure):
                files.abandon(outcome.tile)
                failures.append(outcome)
                job.reporter.say(f"tile {outcome.tile} failed: {outcome.message}")
            else:
                files.keep(outcome)
            job.reporter.advance(outcome.tile)
    return failures


def _sweep_zones(job: _Job, pool: Executor, failures: Sequence[Failure], *, fresh: bool) -> list[Failure]:
    """Save the summaries of the zones of each tile that are not there; the pixels in these are read once more."""
    tiles = _without(job.tiles, failures)
    missing = {tile.name: _zones_to_sweep(job, tile, fresh=fresh) for tile in tiles}
    waiting = [(tile, layers) for tile in tiles if (layers := missing[tile.name])]
    found: list[Failure] = []
    job.reporter.stage("zones", len(waiting))
    if waiting:
        names = ", ".join(dict.fromkeys(layer for _, layers in waiting for layer in layers))
        job.reporter.say(f"{len(waiting)} of {len(tiles)} tiles are read for regions of {names}")
    with ZonesUnderWay(job.folder, missing, job.settings) as files:
        swept = sweep_zones(
            waiting,
            job.settings,
            pool,
            job.plan.workers,
            reading_of=job.reading_of,
            batched=job.batches_of,
            store_for=files.begin,
            under_way=job.reporter.under_way,
        )
        for outcome in swept:
            if isinstance(outcome, Zone):
                files.add(outcome.tile, outcome.layer, outcome.name, outcome.summary)
            elif isinstance(outcome, Failure):
                files.abandon(outcome.tile)
                found.append(outcome)
                job.reporter.say(f"tile {outcome.tile} failed: {outcome.message}")
                job.reporter.advance(outcome.tile)
            else:
                files.keep(outcome)
                job.reporter.advance(outcome.name)
    return found


def _zones_to_sweep(job: _Job, tile: Tile, *, fresh: bool) -> dict[str, Zones]:
    """Return the layers of zones of a tile without valid summaries; remove summaries of layers that are gone."""
    own = job.zones[tile.name].layers
    for layer in job.experiment.zone_layers:
        if layer not in own:
            forget_zones(job.folder, tile.name, layer)
    return {
        layer: zones
        for layer, zones in own.items()
        if fresh or unidentified(tile, [zones]) or not zones_are_valid(job.folder, tile, layer, zones, job.settings)
    }


def _place_edges(job: _Job, pool: Executor, failures: Sequence[Failure]) -> list[Failure]:
    """Second sweep: keep the pixels of every key that an edge splits, so that all bins are exact."""
    tiles = _without(job.tiles, failures)
    summaries = SavedSummaries(job.folder, tuple(tile.name for tile in tiles), job.experiment.levels)
    names = [variable.name for variable in tiles[0].variables] if tiles else []
    choices = choices_of(job.experiment, tiles[0].variables if tiles else (), summaries)
    wanted = wanted_keys(pools(job.experiment, names, summaries.wholes()), choices)
    waiting = [tile for tile in tiles if any(map(len, wanted[tile.name].values()))]
    found = []
    job.reporter.stage("exact bins", len(waiting))
    collected = collect_pixels(
        wanted,
        waiting,
        job.settings,
        pool,
        slots(job.plan.workers),
        reading_of=job.reading_of,
        under_way=job.reporter.under_way,
    )
    for tile, outcome in collected:
        if isinstance(outcome, Failure):
            found.append(outcome)
        else:
            change_summary(job.folder, tile, partial(with_kept, kept=outcome), job.settings)
        job.reporter.advance(tile.name)
    return found


def _write_maps(job: _Job, pool: Executor, failures: Sequence[Failure]) -> list[Failure]:
    """Write the pixel maps of every tile that was summarised, but those that are there already; the failures."""
    names = [name for name in job.experiment.output.maps if is_pixel_map(name)]
    folder, tiles = job.folder / "maps", _without(job.tiles, failures) if names else []
    work = []
    for tile in tiles:
        key = key_of_tile(tile, job.settings)
        if missing := missing_maps(tile.name, names, folder, "" if unidentified(tile) else key):
            tags = {"GEOUQ_KEY": key, "GEOUQ_CONFIG_SHA256": config_digest(job.experiment)}
            work.append((tile, partial(write_each_map, tile, missing, folder, tags, job.reading_of(tile))))
    found: list[Failure] = []
    job.reporter.stage("maps", len(work))
    for tile, outcome in for_each_tile(work, "maps", pool, slots(job.plan.workers)):
        found += [outcome] if isinstance(outcome, Failure) else outcome
        job.reporter.advance(tile.name)
    return found


def _whole_tiles(job: _Job, tiles: Sequence[Tile]) -> dict[str, tuple[str, ...]]:
    """Tiles that lie wholly in regions which are made of others."""
    return {
        layer: tuple(tile.name for tile in tiles if layer in job.zones[tile.name].whole)
        for layer in job.experiment.zone_layers
    }


def _without(tiles: Sequence[Tile], failures: Sequence[Failure]) -> list[Tile]:
    failed = {failure.tile for failure in failures if failure.stage != "maps"}
    return [tile for tile in tiles if tile.name not in failed]
