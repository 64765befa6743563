"""Read the headers of all rasters, place the regions and plan the work. No pixel is read."""

from dataclasses import replace
from pathlib import Path

from geouq.config import Experiment
from geouq.pipeline.data import Job, Options
from geouq.rasters.catalog import find_tiles
from geouq.rasters.kept_headers import KEPT, KeptHeaders, parse_age
from geouq.rasters.raster import headers_from
from geouq.rasters.steps import with_step_regions
from geouq.runs.checksums import require_local
from geouq.runs.plan import plan_run, restricted, settings_for
from geouq.runs.progress import Reporter
from geouq.runs.provenance import Begun
from geouq.zones import open_regions, placed


def read_headers(experiment: Experiment, options: Options, reporter: Reporter, begun: Begun | None = None) -> Job:
    """Return what is to be done, from the headers of all rasters and the polygons; no pixel is read."""
    folder = Path(options.out) if options.out else experiment.output_directory
    if not options.trust_for:
        return _read(experiment, folder, options, reporter, begun or Begun())
    kept = KeptHeaders.load(folder / KEPT, parse_age(options.trust_for))
    with headers_from(kept):
        job = _read(experiment, folder, options, reporter, begun or Begun())
    kept.save()
    notes = (*job.catalog.notes, *kept.notes())
    return replace(job, catalog=replace(job.catalog, notes=notes))


def _read(experiment: Experiment, folder: Path, options: Options, reporter: Reporter, begun: Begun) -> Job:
    reporter.stage("headers", 1)
    everything = find_tiles(experiment, options.workers)
    experiment = with_step_regions(experiment, everything)
    settings = settings_for(experiment, everything)
    experiment, catalog = restricted(experiment, everything, options.only)
    regions = open_regions(experiment)
    if experiment.gates:
        from geouq.numbers.gates import require_known, require_possible  # noqa: PLC0415  needs metrics and intervals

        require_known(experiment, catalog.variables, regions.names, catalog.form)
        zones, catalog = placed(regions, catalog)
        require_possible(experiment, catalog, zones, settings.cell_size)
    else:
        zones, catalog = placed(regions, catalog)
    require_local(experiment, catalog.tiles, zones)
    plan = plan_run(catalog, options.workers, options.memory, {tile: own.layers for tile, own in zones.items()})
    return Job(experiment, folder, catalog, settings, plan, regions, zones, options, reporter, begun)
