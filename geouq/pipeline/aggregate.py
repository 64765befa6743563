"""Means and totals of the regions of a map without truth, with the correlation of errors of an evaluation."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from geouq.aggregates import (
    AreaMean,
    Areas,
    KnownCorrelation,
    area_rows,
    correlation_name,
    means_of_areas,
    read_correlations,
    shares_of,
    shares_of_areas,
)
from geouq.config import Configuration, Variable, load_predictions
from geouq.core.errors import ConfigError
from geouq.core.failures import Failure
from geouq.core.wording import for_people, true_minus
from geouq.pipeline.data import DEFAULTS, Job, Options
from geouq.pipeline.prepare import prepare, working
from geouq.pipeline.stages import Inspected, Swept
from geouq.pipeline.sweep import save, sweep
from geouq.rasters.ground import notes_of_pixel_sizes
from geouq.runs.progress import Reporter
from geouq.runs.store import SavedFiles, unidentified
from geouq.summary.form import Form
from geouq.tables.columns import COLUMNS
from geouq.tables.rows import Row, Table, by_model, write_csv

LEVEL = 0.9
FOLDER = "aggregate"  # subfolder of the results
FILE = "error_correlation.json"
NO_CORRELATION = (
    "{}: no evaluation tells how errors are correlated, so that only the std with independent and with fully "
    "correlated errors are given; run geouq run with truth first, or give --correlation"
)
NO_CORRELATION_ABOVE = (
    "{}: the evaluation has no correlation of errors for this threshold, so that only the std with independent and "
    "with fully correlated errors are given; geouq run did not have the threshold, or too few pixels may exceed it"
)


@dataclass(frozen=True)
class AreaTotals:
    """Means and totals of a map without truth.

    Parameters
    ----------
    folder : Path
        Written to.
    areas : Table
        Rows of areas.csv.
    notes : tuple of str
        What the user should know.
    failures : tuple of Failure
        Tiles that are missing.
    """

    folder: Path
    areas: Table
    notes: tuple[str, ...]
    failures: tuple[Failure, ...]

    def lines(self) -> Iterator[str]:
        """Yield a line for each variable: the mean of the whole and its interval."""
        for row in self.areas.rows:
            if row["level"] == "all":
                name = f"{row['variable']} ({row['model']})" if row["model"] else row["variable"]
                yield f"{name}: {_what(row)} {_with_interval(row)}"


def _what(row: Mapping[str, object]) -> str:
    if row["class"]:
        return f"share of the area of {row['class']}:"
    return "mean" if row["threshold"] is None else f"share of the area above {row['threshold']:g}:"


def _with_interval(row: Mapping[str, object]) -> str:
    mean, low, high = (row.get(name) for name in ("mean", "ci_low", "ci_high"))
    said = true_minus(for_people(float(str(mean)))) + (f" {row['units']}" if row["units"] != "1" else "")
    if low is None or high is None:
        return f"{said}; no interval: {row['ci_method']}"
    limits = " to ".join(true_minus(for_people(float(str(end)))) for end in (low, high))
    return f"{said} ({limits})"


def aggregate(
    experiment: Configuration,
    options: Options = DEFAULTS,
    correlation: Path | None = None,
    reporter: Reporter | None = None,
) -> AreaTotals:
    """Return predicted means and totals of the whole and of all regions of a map; no truth is read.

    Parameters
    ----------
    experiment : path, mapping or Experiment
        What `geouq run` takes; `truth` may be missing, and is not read.
    options : Options
        How to carry it out. `out` is the folder to write to; by default `aggregate` in the folder of the results.
    correlation : path, optional
        The folder of a run with truth (for recalibrated maps, of its recalibration), or an error_correlation.json.
        By default the run of this configuration.
    reporter : Reporter, optional
        Receives the progress.

    Returns
    -------
    AreaTotals
        The rows of areas.csv, and the folder in which it is.

    Raises
    ------
    ConfigError
        If the configuration is wrong, or `correlation` holds none of its variables.
    """
    predictions = load_predictions(experiment)
    known = _correlations(predictions.output_directory, correlation)
    folder = Path(options.out) if options.out else predictions.output_directory / FOLDER
    job = prepare(predictions, replace(options, out=folder), reporter)
    form, variables = job.settings.form, job.tiles[0].variables
    wanted = [variable.name for variable in variables] if form.has_variance else _of_shares(form, variables)
    missing = [name for name in wanted if name not in known]
    if missing == wanted and correlation is not None:
        raise ConfigError(f"{correlation} has no correlation of {', '.join(missing)}; it has {', '.join(known)}")
    swept = _swept(job)
    table = _table(swept, known)
    write_csv(table, folder / "tables" / "areas.csv")
    above = _of_shares(form, variables) if form.has_variance else []
    unknown = [name for name in above if known and name not in known]
    said = ((NO_CORRELATION, missing), (NO_CORRELATION_ABOVE, unknown))
    weighted, grids = predictions.data.weights is not None, [tile.grid for tile in job.tiles]
    notes = (
        *(text.format(", ".join(names)) for text, names in said if names),
        *notes_of_pixel_sizes(grids, weighted=weighted),
    )
    return AreaTotals(folder, table, notes, swept.record.failures)


def _of_shares(form: Form, variables: Iterable[Variable]) -> list[str]:
    """Return the names of the models of the areas above all thresholds, or of all classes."""
    return [correlation_name(own.name, share) for own in variables for share in shares_of(form, own.thresholds)]


def _correlations(results: Path, given: Path | None) -> dict[str, KnownCorrelation]:
    """Return the correlation of each variable; empty if none is given and there is no run."""
    path = results if given is None else given
    if path.is_dir():  # of a run, or of a recalibration
        path = next((own for own in (path / "tables" / FILE, path / FILE) if own.is_file()), path / "tables" / FILE)
    if given is None and not path.is_file():
        return {}
    return read_correlations(path)


def _swept(job: Job) -> Swept:
    """Return the swept tiles; those whose summaries are saved are not read again."""
    saved = SavedFiles(job.folder)
    waiting = tuple(
        tile for tile in job.tiles if job.options.fresh or unidentified(tile) or not saved.is_valid(tile, job.settings)
    )
    with working(job) as workers:
        swept = sweep(Inspected(job, waiting, (), (), ()), workers)
        swept = replace(swept, record=replace(swept.record, has_truth=False))
        save(swept, workers)
    return swept


def _table(swept: Swept, known: Mapping[str, KnownCorrelation]) -> Table:
    summaries, variables = swept.summaries, swept.record.variables
    form = summaries.form()
    areas = Areas(summaries, tuple(summaries.places()), swept.experiment.tile_lists, summaries.zones())
    chosen = swept.experiment.aggregates
    level = LEVEL if chosen == "none" else chosen.level
    rows: list[Row] = []
    for variable in variables:
        if form.has_variance:
            means = means_of_areas(areas, variable.name, known.get(variable.name), level)
            rows += area_rows(_without_errors(means), variable)
        for share in shares_of(form, variable.thresholds):
            own = known.get(correlation_name(variable.name, share))
            means = shares_of_areas(areas, variable.name, share, own, level)
            rows += area_rows(_without_errors(means), variable, share)
    return by_model(Table(COLUMNS["areas"], rows), variables, "")


def _without_errors(means: Mapping[str, AreaMean]) -> dict[str, AreaMean]:
    """Return the means without observed errors: there is no truth."""
    return {name: replace(mean, error=float("nan")) for name, mean in means.items()}
