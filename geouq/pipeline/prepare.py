"""First stage of a run: read headers, place regions, plan the work, and examine what the folder and the input hold."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

from geouq.checks import CHEAP, CHECKS, DEEP, examine
from geouq.config import Configuration, Experiment, folder_of_run, load_experiment
from geouq.core.atomic import remove_leftovers
from geouq.core.errors import ConfigError, SummaryError, require_type
from geouq.core.failures import collecting
from geouq.core.overflow import overflow_is_missing
from geouq.core.processes import Helpers, helpers
from geouq.core.usage import machine_memory, resources
from geouq.maps.geotiff import validate_source_date_epoch
from geouq.pipeline.data import DEFAULTS, Job, Options
from geouq.pipeline.early import WORTH_SHARING, regions_of
from geouq.pipeline.headers import read_headers
from geouq.pipeline.stages import Inspected, Swept, Workers
from geouq.rasters.catalog import Tile
from geouq.runs.checksums import catalog_with_checksums
from geouq.runs.lock import owned
from geouq.runs.plan import FIGURES, parse_memory
from geouq.runs.progress import Logged, Reporter
from geouq.runs.provenance import Begun, config_digest, load_record
from geouq.runs.store import SavedFiles, damaged_summaries, note_on_unidentified, outdated, unidentified
from geouq.runs.verification import require_intact_summaries
from geouq.sweep.workers import workers

TILES = 20  # have as many numbers as a region takes time for
NOBODY = Helpers()
CONFIG_CHANGED = "config.yaml changed since the run, and the numbers follow the changed one"


def prepare(experiment: Configuration, options: Options, reporter: Reporter | None) -> Job:
    """Return what is to be done, from the configuration and the headers of all files; raise ConfigError for nothing."""
    begun = Begun()
    require_type("options", options, Options, "give geouq.Options(...)")
    validate_source_date_epoch()
    return _prepare(load_experiment(experiment), options, reporter or Logged(), begun)


def prepare_again(job: Job, changed: Sequence[str]) -> Job | None:
    """Return the same job with headers read anew; None if no file changed or nothing is left to read."""
    if changed:
        job.reporter.say(f"files of tile {', '.join(changed)} changed while they were read, and are read once more")
        with suppress(ConfigError):  # there is nothing left to read
            options = replace(job.options, fresh=False, trust_for=None)
            return _prepare(job.experiment, options, job.reporter, job.begun)
    return None


def _prepare(experiment: Experiment, options: Options, reporter: Reporter, begun: Begun) -> Job:
    job = read_headers(experiment, options, reporter, begun)
    if job.experiment.fingerprint == "checksum":
        catalog, zones = catalog_with_checksums(job.catalog, job.zones, job.plan.workers, reporter)
        job = replace(job, catalog=catalog, zones=zones)
    for note in (*job.catalog.notes, *job.catalog.alignments):
        reporter.say(note)
    return job


@contextmanager
def working(job: Job) -> Iterator[Workers]:
    """Provide the workers and lock the folder; report what the run took at its end.

    The workers come first, so that nothing is written if there can be none.
    """
    with overflow_is_missing(), ExitStack() as exits:
        pool = exits.enter_context(workers(job.plan.workers, job.options.scheduler, job.reporter.say))
        with owned(job.folder):
            remove_leftovers(job.folder)
            try:
                yield Workers(pool, exits)
            finally:
                remove_leftovers(job.folder)  # of workers that stopped during a write
    job.reporter.say(resources(job.begun.seconds))


@contextmanager
def reopened(folder: Configuration, reporter: Reporter | None) -> Iterator[Swept]:
    """Provide the run in a folder, which is locked; raise SummaryError if there is none, or if it is damaged."""
    folder = folder_of_run("folder", folder)
    record = load_record(folder)
    with owned(folder):
        experiment = load_experiment(folder / "config.yaml")
        require_intact_summaries(folder, record)  # before results.json of the run is replaced
        if config_digest(experiment) != record.config_sha256:
            record = replace(record, notes=(*record.notes, CONFIG_CHANGED))
        yield Swept(experiment, record, folder, reporter or Logged())


def helpers_in_memory(job: Job, early: Helpers) -> Helpers:
    """Return the processes that began early; end them and return none where they do not fit beside the sweep."""
    if job.plan.memory + early.count * FIGURES <= _limit(job.options):
        return early
    early.end()
    return NOBODY


def _limit(options: Options) -> int:
    return parse_memory(options.memory) if options.memory else machine_memory()


@contextmanager
def helping(swept: Swept, early: Helpers = NOBODY) -> Iterator[Helpers]:
    """Provide processes for the work after the sweep, where that is longer than they take to start.

    They are those that began early, if any; otherwise one less than the workers, and no more than fit into the memory.
    """
    if early.count:
        yield early
        return
    options = swept.job.options if swept.job else DEFAULTS
    wanted = options.workers or os.cpu_count() or 1  # of files on servers, there are more workers than processors
    count = min(swept.job.plan.workers, wanted) if swept.job else wanted
    regions = regions_of(swept.experiment) + len(swept.record.tiles) // TILES
    is_long = regions * len(swept.record.variables) >= WORTH_SHARING
    with helpers(min(count, _limit(options) // FIGURES) - 1 if is_long else 0) as shared:
        yield shared


def inspect(job: Job) -> Inspected:
    """Return which tiles must be read, and what the input checks find."""
    saved = SavedFiles(job.folder)
    read_again = _read_again(job, saved)
    waiting = tuple(
        tile for tile in job.tiles if job.options.fresh or unidentified(tile) or not saved.is_valid(tile, job.settings)
    )
    with collecting() as failures:
        findings = _findings(job, waiting)
    return Inspected(job, waiting, read_again, findings, tuple(failures))


def _read_again(job: Job, saved: SavedFiles) -> tuple[str, ...]:
    """Report which tiles are read again, and why: files that nothing identifies, damaged summaries."""
    layers = {tile.name: job.zones[tile.name].layers for tile in job.tiles}
    found = note_on_unidentified({tile.name: unidentified(tile, layers[tile.name].values()) for tile in job.tiles})
    found += damaged_summaries(job.folder, layers)
    identified = [tile for tile in job.tiles if not unidentified(tile)]
    for note in (*found, *outdated(saved, identified, job.settings)):
        job.reporter.say(note)
    return tuple(found)


def _findings(job: Job, waiting: Sequence[Tile]) -> tuple[str, ...]:
    """Return the findings of the input checks.

    They are those of the last run if no tile waits, no check failed then and the run is not strict, so that no pixel
    is read.
    """
    if not waiting and not job.options.strict:
        with suppress(SummaryError):
            last = load_record(job.folder)
            if not any(failure.stage == CHECKS for failure in last.failures):
                return last.findings
    sampling = DEEP if job.options.strict else CHEAP
    findings = tuple(str(finding) for finding in examine(job.experiment, job.catalog, sampling))
    for finding in findings:
        job.reporter.say(finding)
    return findings
