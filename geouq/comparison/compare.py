"""Compare runs: each number of each run and of the first run, how certain the difference is, and what became worse."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from geouq.aggregates.scales import NO_AREA
from geouq.comparison.areas import compared_shares, have_areas, runs_by_areas, share_text, sizes_of
from geouq.comparison.runs import Restricted, open_runs, restricted_to_common
from geouq.comparison.texts import Shown, as_text, shown_rows, write_texts
from geouq.config import Configuration, Intervals, Variable, folder_of_run, preferred_first, quoted, suggestion
from geouq.config.regions import ALL
from geouq.core.errors import ConfigError, as_path, wrong_type
from geouq.inference import judged
from geouq.metrics import Metric, is_judged
from geouq.metrics.aggregate_names import compared_names
from geouq.numbers.differences import paired_rows, uneven, with_verdicts
from geouq.numbers.gates import metrics_by_name, size_in_words
from geouq.numbers.run_metrics import forecast_samples_of
from geouq.runs.progress import Logged, Reporter
from geouq.tables.columns import COMPARED_AREAS, COMPARISON
from geouq.tables.rows import Row, Table, write_csv

MetricsOf = Mapping[str, Mapping[str, Metric | None]]
NO_SHARES: Mapping[str, Sequence[str]] = {}


@dataclass(frozen=True)
class Bound:
    """A number in which no run may be worse; an empty variable stands for all of them.

    region : of means of areas, their size as in `areas` of a gate. share : the threshold or the class, if the metric is
    of the share of areas above it or of it.
    """

    metric: str
    variable: str = ""
    region: str = "all"
    of_areas: bool = False
    share: str = ""

    def is_about(self, row: Row) -> bool:
        """Return whether a row of the comparison is of this number."""
        of_variable = not self.variable or row["variable"] == self.variable
        return of_variable and (row["metric"], row["name"], _share(row)) == (self.metric, self.region, self.share)

    def missing(self, rows: Sequence[Row], variables: Iterable[str]) -> Iterator[Row]:
        """Yield a row for each of the variables of which there are no areas of the size."""
        of = {row["variable"] for row in rows if self.is_about(row)}
        side = int(self.region) if self.region.isdecimal() else None
        common = {"metric": self.metric, "name": self.region, "kind": self.region, "side_cells": side}
        common |= {"class": self.share}
        for variable in [self.variable] if self.variable else variables:
            if self.of_areas and variable not in of:
                yield {**common, "variable": variable, "bins": "", "group": "", "run": "a run"}


@dataclass(frozen=True)
class Worse:
    """A run that is significantly worse than the first, or for which this is not known, for a reason."""

    row: Row
    reason: str = ""

    def __str__(self) -> str:
        row = self.row
        what = " ".join(filter(None, (row["metric"], row["bins"], row["group"] and f"by {row['group']}")))
        size = size_in_words(row["kind"], row["side_cells"]) if "kind" in row else ""
        of = " ".join(filter(None, (row["variable"], _share(row) and f"(share {_share(row)})")))
        where = f"{what} of {of} {f'over {size}' if size else 'in ' + row['name']}"
        if self.reason:
            return f"it is not known whether {row['run']} is worse in {where}: {self.reason}"
        return (
            f"{row['run']} is worse in {where}: {row['value']} instead of {row['baseline']}, difference "
            f"{row['difference']} ({row['ci_low']} to {row['ci_high']}), p = {row['p_adjusted']}"
        )


@dataclass(frozen=True)
class Comparison:
    """What a comparison gives: its tables, what the user should know, what became worse, and the files written.

    areas : differences in means of areas. shown : rows of the main numbers.
    """

    folder: Path
    table: Table
    areas: Table
    shown: Shown
    worse: tuple[Worse, ...]
    files: tuple[Path, ...]

    @property
    def baseline(self) -> str:
        """Name of the first run."""
        return self.shown.baseline

    @property
    def notes(self) -> Sequence[str]:
        """Return what the user should know."""
        return self.shown.notes

    def lines(self) -> list[str]:
        """Return the main numbers of all tiles together, as lines of text."""
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
        Numbers to check, as METRIC, METRIC:VARIABLE or METRIC:VARIABLE:REGION. The comparison fails if a run is
        worse in one of them. For metrics of means of areas, REGION is the side of a square in cells, by default 1, or
        `tile` or `region`, and METRIC:VARIABLE:REGION:SHARE is of the share above a threshold, or of a class.
    reporter : Reporter, optional
        Receives the progress.

    Returns
    -------
    Comparison
        The tables of differences, what became worse and the files written.

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
    from geouq.comparison.figure import draw_differences  # noqa: PLC0415  matplotlib is large

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
    metrics_of, sizes = _metrics_of(restricted, shared.variables), sizes_of(restricted)
    shares = _shares_of(restricted, shared.variables)
    bounds = [bound_of(one, metrics_of, regions, sizes, shares) for one in fail_if_worse]
    rows, notes = comparison_rows(restricted, shared.variables, settings, reporter or Logged())
    areas = runs_by_areas(restricted, shared.variables, settings)
    failing = worse([*rows, *areas.rows], bounds, settings.level, list(metrics_of))
    schemes = shared.settings["bins"].schemes
    preferred = next((scheme.name for scheme in preferred_first(schemes)), "")
    shown = Shown(shown_rows(rows, preferred), opened[0].label, "run", (*shared.notes, *notes))
    table = Table(COMPARISON.columns, tuple(rows))
    written = _write_tables(folder, table, areas)
    paths = {variable.name: folder / f"comparison_{variable.file_name}.png" for variable in shared.variables}
    drawn = draw_differences(rows, paths, bins=preferred, baseline=shown.baseline)
    files = (*written, *write_texts(shown, folder), *drawn)
    return Comparison(folder, table, areas, shown, tuple(failing), files)


def _write_tables(folder: Path, table: Table, areas: Table) -> list[Path]:
    """Write the tables, return their paths; without means of areas, their table of an earlier comparison is removed."""
    paths = [folder / record.file.rpartition("/")[-1] for record in (COMPARISON, COMPARED_AREAS)]
    write_csv(table, paths[0])
    if not areas.rows:
        paths[1].unlink(missing_ok=True)
        return paths[:1]
    write_csv(areas, paths[1])
    return paths


def _metrics_of(runs: Sequence[Restricted], variables: Sequence[Variable]) -> dict[str, dict[str, Metric | None]]:
    """Return the metrics of each variable by name; None for those of means of areas."""
    run = runs[0]
    of_areas = dict.fromkeys(compared_names(run.experiment.levels) if have_areas(runs) else ())
    return {
        variable.name: {**metrics_by_name(variable, run.metric_options[run.names[variable.name]]), **of_areas}
        for variable in variables
    }


def _shares_of(runs: Sequence[Restricted], variables: Sequence[Variable]) -> dict[str, list[str]]:
    """Return the shares of areas by which each variable is compared, as text; "" stands for means."""
    if not have_areas(runs):
        return {}
    each = {variable.name: [compared_shares(run, variable) for run in runs] for variable in variables}
    return {
        name: [share_text(of) for of in found[0] if all(of in own for own in found)] for name, found in each.items()
    }


def _share(row: Row) -> str:
    """Return the share of areas that a row is of, as text; "" of means and of pixels."""
    return row.get("class") or share_text(row.get("threshold"))


def comparison_rows(
    runs: Sequence[Restricted], variables: Sequence[Variable], settings: Intervals, reporter: Reporter
) -> tuple[list[Row], list[str]]:
    """Rows of every number of every run but the first, and a note wherever runs do not count the same pixels."""
    rows, notes = [], []
    reporter.stage("comparison", 1 + len(runs[0].experiment.tile_lists) + len(runs[0].zones))
    for evaluation_units in zip(*(run.evaluation_units() for run in runs), strict=True):
        unit = evaluation_units[0][0]
        sides = {
            run.run.label: forecast_samples_of(own, run.metric_options, parts, run.summaries)
            for run, (own, parts) in zip(runs, evaluation_units, strict=True)
        }
        for variable in variables:
            of_runs = {run.run.label: sides[run.run.label][run.names[variable.name]] for run in runs}
            found, same = paired_rows({"level": unit.level, "name": unit.name}, of_runs, variable, settings)
            rows += found
            if not same:
                notes.append(uneven(variable.name, unit.name, of_runs, "runs"))
        reporter.advance(unit.name)
    return with_verdicts(rows, settings.level), notes


def bound_of(
    written: str,
    metrics_of: MetricsOf,
    regions: Collection[str],
    sizes: Sequence[str] = (),
    shares: Mapping[str, Sequence[str]] = NO_SHARES,
) -> Bound:
    """Return the number that METRIC, METRIC:VARIABLE or METRIC:VARIABLE:REGION names; names may hold colons.

    metrics_of : by variable, the metrics that there are by name, None for those of means of areas. sizes : what REGION
    may be for these, before a colon and a share of areas; the first is the default. shares : by variable.

    Raises ConfigError where a part is not known, or where no value of the metric is better than another.
    """
    metric, _, rest = written.partition(":")
    variable = next((v for v in sorted(metrics_of, key=len, reverse=True) if f"{rest}:".startswith(f"{v}:")), "")
    known = {name: own for of in metrics_of for name, own in metrics_of[of].items() if variable in ("", of)}
    found = known.get(metric)
    place = rest.removeprefix(variable).removeprefix(":")
    bound = Bound(metric, variable, place or ALL)
    if metric in known and found is None:
        region, _, share = place.partition(":")
        bound = Bound(metric, variable, region or sizes[0], of_areas=True, share=share)
    if metric not in known:
        of = f" of {variable}" if variable else ""
        wrong = f"there is no metric {quoted(metric)}{of}{suggestion(metric, known)}"
    elif found is not None and not is_judged(found):
        wrong = f"no value of {metric} is better than another; name another metric, such as crps"
    elif rest and not variable:
        name = rest.split(":")[0]
        wrong = f"there is no variable {quoted(name)} in all runs{suggestion(name, metrics_of)}"
    else:
        wrong = _wrong_areas(bound, sizes, metrics_of, shares) if bound.of_areas else _wrong_region(bound, regions)
    if wrong:
        raise ConfigError(f"--fail-if-worse {written}: {wrong}")
    return bound


def _wrong_region(bound: Bound, regions: Collection[str]) -> str:
    if bound.region in regions:
        return ""
    return f"there is no region {quoted(bound.region)} in all runs{suggestion(bound.region, regions)}"


def _wrong_areas(
    bound: Bound, sizes: Sequence[str], variables: Iterable[str], shares: Mapping[str, Sequence[str]]
) -> str:
    """Return what is wrong with the size or the share of areas of a bound."""
    if bound.region not in sizes:
        return f"there are no areas of the size {quoted(bound.region)}; give one of {', '.join(sizes)}"
    of = [bound.variable] if bound.variable else variables
    name = next((name for name in of if name in shares and bound.share not in shares[name]), "")
    if not name:
        return ""
    known = [share for share in shares[name] if share]
    if not bound.share:
        return f"{name} has no means of areas; add a class, such as {bound.metric}:{name}:{bound.region}:{known[0]}"
    return f"there is no share {quoted(bound.share)} of {name} in all runs{suggestion(bound.share, known)}"


def worse(rows: Sequence[Row], bounds: Sequence[Bound], level: float, variables: Sequence[str]) -> list[Worse]:
    """Return what fails of the numbers bounded; p-values are adjusted among those alone that one bound names.

    variables : names of those that are compared.
    """
    found: list[Worse] = []
    for bound in bounds:
        found += _failing(judged([row for row in rows if bound.is_about(row)], level))
        found += [Worse(row, NO_AREA) for row in bound.missing(rows, variables)]
    return found


def _failing(rows: Sequence[Row]) -> Iterator[Worse]:
    for row in rows:
        if row["p_value"] is None:
            yield Worse(row, row["ci_method"])
        elif row["significant"] == "yes" and row["better"] not in ("", row["run"]):
            yield Worse(row)
