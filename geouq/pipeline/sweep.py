"""Second stage of a run: read every pixel, for the summaries of tiles, exact bins, zones and the maps of pixels."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial

from geouq.core.atomic import write_text
from geouq.core.failures import Failure
from geouq.core.usage import give_back, peak_memory_mib
from geouq.maps.pixel_maps import is_pixel_map
from geouq.maps.pixels import missing_maps, write_each_map
from geouq.numbers.run_metrics import metric_options_of
from geouq.pipeline.cluster import ANY_NUMBER, in_flight, sweep_on_cluster, write_on_cluster
from geouq.pipeline.data import Job
from geouq.pipeline.stages import Inspected, Swept, Workers
from geouq.pipeline.tiles import TileWork, sweep_into
from geouq.rasters.catalog import Tile
from geouq.regions import evaluation_units
from geouq.runs.exact_bins import wanted_keys, with_kept
from geouq.runs.plan import slots
from geouq.runs.provenance import (
    RunRecord,
    config_digest,
    inputs_of,
    resolved,
    save_record,
    source_inputs,
    utc,
    vector_inputs,
)
from geouq.runs.store import (
    SavedSummaries,
    SummariesUnderWay,
    ZonesUnderWay,
    checksums_of_summaries,
    forget_zones,
    key_of_tile,
    unidentified,
    zones_are_valid,
)
from geouq.sweep.cluster import Cluster
from geouq.sweep.tiles import Zone, collect_pixels, for_each_tile, sweep_zones
from geouq.sweep.zone_batches import batches_of, bytes_of_zones
from geouq.zones import Zones, polygons_without_pixels


def sweep(inspected: Inspected, workers: Workers) -> Swept:
    """Summarise the tiles that wait, and write the pixel maps; return the record of the run."""
    job, pool = inspected.job, workers.pool
    failures, with_zones = _sweep_tiles(job, pool, inspected.waiting)
    if job.experiment.bins.exact:
        failures += _place_edges(job, pool, failures)
    failures += _sweep_zones(job, pool, failures, with_zones)
    failures += _write_maps(job, pool, failures)
    return Swept(job.experiment, _record_of(inspected, failures), job.folder, job.reporter, job)


def save(swept: Swept, workers: Workers) -> None:
    """Write config.yaml and run.json, after the workers are gone: what follows needs their memory."""
    workers.dismiss()
    give_back()
    write_text(swept.folder / "config.yaml", resolved(swept.experiment))
    save_record(swept.record, swept.folder)


def _record_of(inspected: Inspected, failures: Sequence[Failure]) -> RunRecord:
    job = inspected.job
    done = _without(job.tiles, failures)
    return RunRecord(
        name=job.experiment.name,
        tiles=tuple(tile.name for tile in done),
        variables=job.tiles[0].variables if job.tiles else (),
        failures=(*job.catalog.failures, *inspected.failures, *failures),
        notes=(*job.catalog.notes, *inspected.read_again),
        alignments=job.catalog.alignments,
        reused=len(job.tiles) - len(inspected.waiting),
        settings=job.settings.as_words(),
        inputs=inputs_of(job.tiles, {tile: own.rasters for tile, own in job.zones.items()}),
        started=utc(job.begun.day),
        seconds=round(job.begun.seconds, 3),
        peak_memory_mib=peak_memory_mib(),
        config_sha256=config_digest(job.experiment),
        whole=_whole_tiles(job, done),
        findings=inspected.findings,
        polygons=vector_inputs(job.regions.polygons, polygons_without_pixels(job.regions, job.zones.values())),
        sources=source_inputs(job.catalog.sources),
        summaries=checksums_of_summaries(job.folder, {tile.name: job.zones[tile.name].layers for tile in done}),
    )


def _sweep_tiles(job: Job, pool: Executor, waiting: Sequence[Tile]) -> tuple[list[Failure], set[str]]:
    """Save the summary of every tile that has no valid one, with its zones where these fit into the memory.

    Return the failures, and the names of the tiles whose zones are saved.
    """
    reused = len(job.tiles) - len(waiting)
    if reused:
        job.reporter.say(f"{reused} of {len(job.tiles)} tiles are summarised already and are not swept again")
    job.reporter.stage("sweep", len(waiting))
    layers = {tile.name: _zones_alongside(job, tile) for tile in waiting}
    work = TileWork(job.settings, job.plan.readings, layers)
    if isinstance(pool, Cluster):
        return sweep_on_cluster(waiting, work, job.folder, pool, job.reporter)
    return sweep_into(job.folder, waiting, work, pool=pool, in_flight=slots(job.plan.workers), reporter=job.reporter)


def _zones_alongside(job: Job, tile: Tile) -> Mapping[str, Zones]:
    """Return the zones of a tile that have no valid summaries, if they fit into the memory with the sweep."""
    layers = _zones_to_sweep(job, tile)
    need = bytes_of_zones(layers, tile, job.reading_of(tile), job.plan.workers).together if layers else 0
    return layers if need <= job.plan.zones.alongside else {}


def _place_edges(job: Job, pool: Executor, failures: Sequence[Failure]) -> list[Failure]:
    """Keep the pixels of every key that an edge splits, in a second sweep, so that all bins are exact."""
    tiles = _without(job.tiles, failures)
    summaries = SavedSummaries(job.folder, tuple(tile.name for tile in tiles), job.experiment.levels)
    variables = tiles[0].variables if tiles else ()
    metric_options = metric_options_of(job.experiment, variables, summaries)
    names = [variable.name for variable in variables]
    wanted = wanted_keys(evaluation_units(job.experiment, names, summaries.wholes), metric_options)
    waiting = [tile for tile in tiles if any(map(len, wanted[tile.name].values()))]
    found = []
    job.reporter.stage("exact bins", len(waiting))
    collected = collect_pixels(
        wanted,
        waiting,
        job.settings,
        pool,
        in_flight(pool, job.plan.workers),
        reading_of=job.reading_of,
        under_way=job.reporter.under_way,
    )
    with SummariesUnderWay(job.folder, job.settings, waiting, job.reporter.advance) as files:
        for tile, outcome in collected:
            if isinstance(outcome, Failure):
                files.abandon(tile.name)
                found.append(outcome)
                job.reporter.advance(tile.name)
            else:
                files.change(tile, partial(with_kept, kept=outcome))
    return found


def _sweep_zones(job: Job, pool: Executor, failures: Sequence[Failure], with_zones: Container[str]) -> list[Failure]:
    """Save the summaries of other zones that are not there; the windows in which they lie are read for them.

    with_zones : names of the tiles that were swept together with their zones.
    """
    tiles = [tile for tile in _without(job.tiles, failures) if tile.name not in with_zones]
    missing = {tile.name: _zones_to_sweep(job, tile) for tile in tiles}
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
            ANY_NUMBER if isinstance(pool, Cluster) else job.plan.workers,
            reading_of=job.reading_of,
            batched=_batches(job),
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


def _batches(job: Job) -> Callable[[Tile, Mapping[str, Zones]], Sequence[Mapping[str, Zones]]]:
    """Return a function that groups the zones of a tile; each group is summed in one pass."""
    return lambda tile, layers: batches_of(layers, tile, job.reading_of(tile), job.plan.workers, job.plan.zones.room)


def _zones_to_sweep(job: Job, tile: Tile) -> dict[str, Zones]:
    """Return the layers of zones of a tile without valid summaries; remove summaries of layers that are gone."""
    own = job.zones[tile.name].layers
    for layer in job.experiment.zone_layers:
        if layer not in own:
            forget_zones(job.folder, tile.name, layer)
    return {
        layer: zones
        for layer, zones in own.items()
        if job.options.fresh
        or unidentified(tile, [zones])
        or not zones_are_valid(job.folder, tile, layer, zones, job.settings)
    }


def _write_maps(job: Job, pool: Executor, failures: Sequence[Failure]) -> list[Failure]:
    """Write the pixel maps of every tile that was summarised, but those that are there already; the failures."""
    names = [name for name in job.experiment.output.maps if is_pixel_map(name)]
    folder, tiles = job.folder.absolute() / "maps", _without(job.tiles, failures) if names else []
    work = []
    for tile in tiles:
        key = key_of_tile(tile, job.settings)
        if missing := missing_maps(tile.name, names, folder, "" if unidentified(tile) else key):
            tags = {"GEOUQ_KEY": key, "GEOUQ_CONFIG_SHA256": config_digest(job.experiment)}
            work.append((tile, partial(write_each_map, tile, missing, folder, tags, job.reading_of(tile))))
    found: list[Failure] = []
    job.reporter.stage("maps", len(work))
    if isinstance(pool, Cluster):
        written = write_on_cluster(work, job.folder, pool, job.plan.workers, job.reporter)
    else:
        written = for_each_tile(work, "maps", pool, slots(job.plan.workers))
    for tile, outcome in written:
        found += [outcome] if isinstance(outcome, Failure) else outcome
        job.reporter.advance(tile.name)
    return found


def _whole_tiles(job: Job, tiles: Sequence[Tile]) -> dict[str, tuple[str, ...]]:
    """Return the tiles that lie wholly in regions which are made of others."""
    return {
        layer: tuple(tile.name for tile in tiles if layer in job.zones[tile.name].whole)
        for layer in job.experiment.zone_layers
    }


def _without(tiles: Iterable[Tile], failures: Sequence[Failure]) -> list[Tile]:
    """Return the tiles without failures, except failures of maps."""
    failed = {failure.tile for failure in failures if failure.stage != "maps"}
    return [tile for tile in tiles if tile.name not in failed]
