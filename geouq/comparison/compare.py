"""The whole of a comparison: from the folders of runs to tables, figures, and what became worse."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from geouq.comparison.gates import Worse, bound_of, worse
from geouq.comparison.rows import comparison_rows
from geouq.comparison.runs import Restricted, open_runs, restricted_to_common
from geouq.config import Configuration, Variable, folder_of_run, preferred_first
from geouq.config.regions import ALL
from geouq.errors import ConfigError, as_path, wrong_type
from geouq.metrics import Metric
from geouq.numbers.gates import metrics_by_name
from geouq.paired import Shown, as_text, shown_rows, write_texts
from geouq.runs.progress import Reporter, Silent
from geouq.tables.columns import COMPARISON
from geouq.tables.rows import Table, write_csv


@dataclass(frozen=True)
class Comparison:
    """What a comparison gives: its table, what the user should know, what became worse, and the files written.

    shown : rows of the numbers most asked for.
    """

    folder: Path
    table: Table
    shown: Shown
    worse: tuple[Worse, ...]
    files: tuple[Path, ...]

    @property
    def baseline(self) -> str:
        """Name of the first run."""
        return self.shown.baseline

    @property
    def notes(self) -> Sequence[str]:
        """What the user should know."""
        return self.shown.notes

    def lines(self) -> list[str]:
        """Return the numbers most asked for of all tiles together, as lines of text."""
        return as_text(replace(self.shown, rows=[row for row in self.shown.rows if row["level"] == "all"]))


def compare(
    runs: Sequence[Configuration],
    out: Path | str | None = None,
    fail_if_worse: Sequence[str] = (),
    reporter: Reporter | None = None,
) -> Comparison:
    """Compare runs on the same truth with the first of them, on the tiles that all have; no pixel is read.

    Parameters
    ----------
    runs : sequence of path, mapping or Experiment
        Folders of runs, or the configurations that name them. ``"RUN@MODEL"`` is one model of a run alone, whose
        variables have their plain names then.
    out : path, optional
        Folder to write to, by default `comparison` in the folder that holds the first run.
    fail_if_worse : sequence of str
        Numbers in which no run may be worse, as METRIC, METRIC:VARIABLE or METRIC:VARIABLE:REGION.
    reporter : Reporter, optional
        Receives the progress.

    Returns
    -------
    Comparison
        The table of differences, what became worse and the files written.

    Raises
    ------
    SummaryError
        If a folder holds no run.
    DataError
        If truth or cells differ.
    ConfigError
        If nothing is in common or a number is not known.
    ArgumentError
        If an argument has a wrong type.
    """
    from geouq.paired.figure import draw_differences  # noqa: PLC0415  matplotlib is large

    if isinstance(runs, str | os.PathLike) or not isinstance(runs, Iterable):
        raise wrong_type("runs", runs, "give a list of the folders of runs")
    opened = open_runs([folder_of_run("runs", run) for run in runs])
    folder = as_path("out", out, "give a folder") if out is not None else None
    folder = folder or opened[0].folder.resolve().parent / "comparison"
    if (folder / "run.json").exists():
        raise ConfigError(f"{folder} is the folder of a run; name another with --out")
    restricted, shared = restricted_to_common(opened)
    settings = opened[0].experiment.intervals
    regions = (ALL, *restricted[0].experiment.tile_lists, *shared.zones)
    bounds = [bound_of(one, _metrics_of(restricted[0], shared.variables), regions) for one in fail_if_worse]
    rows, notes = comparison_rows(restricted, shared.variables, settings, reporter or Silent())
    failing = worse(rows, bounds, settings.level)
    schemes = shared.settings["bins"].schemes
    preferred = next((scheme.name for scheme in preferred_first(schemes)), "")
    shown = Shown(shown_rows(rows, preferred), opened[0].label, "run", (*shared.notes, *notes))
    table = Table(COMPARISON.columns, tuple(rows))
    write_csv(table, folder / "comparison.csv")
    paths = {variable.name: folder / f"comparison_{variable.file_name}.png" for variable in shared.variables}
    drawn = draw_differences(rows, paths, bins=preferred, baseline=shown.baseline)
    files = (folder / "comparison.csv", *write_texts(shown, folder), *drawn)
    return Comparison(folder, table, shown, tuple(failing), files)


def _metrics_of(run: Restricted, variables: Sequence[Variable]) -> dict[str, dict[str, Metric]]:
    """Return the metrics of each variable, by name."""
    return {variable.name: metrics_by_name(variable, run.choices[run.names[variable.name]]) for variable in variables}
