"""Check a configuration and the headers of all rasters before a run, and look at some pixels of one tile."""

from dataclasses import dataclass

from geouq.checks import DEEP, examine, examine_glimpses, of_forms
from geouq.config import Configuration, load_experiment
from geouq.core.failures import Failure, collecting
from geouq.core.wording import counted
from geouq.pipeline.data import Options
from geouq.pipeline.headers import read_headers
from geouq.runs.layer_table import LayerTable, look_at_layers
from geouq.runs.plan import describe, problems
from geouq.runs.progress import Silent


@dataclass(frozen=True)
class Checked:
    """What a check found.

    Parameters
    ----------
    plan : tuple of str
        Tiles, variables, regions and memory of the run, a line each.
    layers : LayerTable or None
        File, band, unit and scale of each layer of one tile, the share of nodata in one window of it, and values at
        one pixel; None if no tile can be evaluated.
    problems : tuple of str
        Tiles that cannot be evaluated, and why.
    findings : tuple of str
        Findings of the input checks: in a larger sample if `deep`, otherwise in the pixels of the table of layers.
    sample : str
        Which pixels the input checks have read; "" unless `deep`.
    failures : tuple of Failure
        Input checks that could not be made.
    """

    plan: tuple[str, ...]
    layers: LayerTable | None
    problems: tuple[str, ...]
    findings: tuple[str, ...]
    sample: str
    failures: tuple[Failure, ...]


def check(
    experiment: Configuration,
    *,
    workers: int | None = None,
    memory: str | None = None,
    deep: bool = False,
    trust_for: str | None = None,
) -> Checked:
    """Check a configuration and the headers of all rasters, as `geouq check` does.

    One window is read for the table of layers and examined. If no pixel has all layers, more windows are read.

    Parameters
    ----------
    experiment : path, mapping or Experiment
        The YAML file, its content, or what `load_experiment` returns.
    workers : int, optional
        Number of workers to plan for. By default one for each processor.
    memory : str, optional
        Limit of the memory, such as "4GB".
    deep : bool
        Also read a larger sample of the pixels, and examine it.
    trust_for : str, optional
        Age of headers of files on servers, such as "12h". A header that is not older is not asked for, if it was read
        with this option. They are kept in the folder of the results.

    Returns
    -------
    Checked
        The plan of the run, problems and findings.

    Raises
    ------
    ConfigError
        If the configuration is wrong, no tile has all files, or the memory does not suffice.
    """
    options = Options(workers=workers, memory=memory, trust_for=trust_for)
    job = read_headers(load_experiment(experiment), options, Silent())
    plan = describe(job.plan, job.catalog, checksums=job.experiment.fingerprint == "checksum")
    sample = ""
    with collecting() as failures:
        look = look_at_layers(job.catalog)
        if deep:
            findings = examine(job.experiment, job.catalog, DEEP) + of_forms(look.glimpses)
            tiles = len(job.catalog.tiles)
            looked = f"{min(DEEP.tiles, tiles)} of {tiles} tiles"
            sample = f"up to {DEEP.windows} windows in each of {looked}: {counted(len(findings), 'finding')}"
        else:
            findings = examine_glimpses(job.experiment, look.glimpses)
    found = tuple(map(str, findings))
    return Checked(tuple(plan), look.table, tuple(problems(job.catalog)), found, sample, tuple(failures))
