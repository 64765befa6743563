"""Means of areas of a recalibrated map: their calibration before and after, and the correlation of its errors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from geouq.aggregates import Aggregates, AggregateSettings, Areas, aggregates_of, scale_rows, write_models
from geouq.config import Variable
from geouq.core.wording import for_people
from geouq.metrics.aggregate_names import coverage_name
from geouq.recalibration.corrections import Conformal, singles_of
from geouq.recalibration.recalibrator import Recalibrator
from geouq.recalibration.scores import ScoreKey
from geouq.recalibration.source_run import Opened
from geouq.runs.store import SavedSummaries
from geouq.tables.columns import RECALIBRATED_AGGREGATES
from geouq.tables.rows import Row, Table, by_model, write_csv

TABLE, MODELS = RECALIBRATED_AGGREGATES.file.rpartition("/")[-1], "error_correlation.json"
BEFORE, AFTER = "before", "after"
LEVEL = 0.9


@dataclass(frozen=True)
class AreaChanges:
    """Calibration of means of areas before and after the corrections, on tiles that these were not fitted on.

    Parameters
    ----------
    table : Table
        Rows of all variables.
    after : mapping of str to Aggregates
        Of the recalibrated map, by the name of the variable.
    notes : tuple of str
        A sentence for each variable.
    """

    table: Table
    after: Mapping[str, Aggregates]
    notes: tuple[str, ...]


def area_changes(
    opened: Opened,
    judged: SavedSummaries,
    recalibrators: Mapping[str, Recalibrator],
    chosen: Mapping[str, Sequence[ScoreKey]],
) -> AreaChanges | None:
    """Return how the corrections change means of areas; None if the run is to have none.

    Parameters
    ----------
    opened : Opened
        The run.
    judged : SavedSummaries
        Summaries of the corrected forecasts, under the labels of the keys.
    recalibrators : mapping of str to Recalibrator
        The correction of each variable.
    chosen : mapping of str to sequence of ScoreKey
        The views of each correction that changes something; the first has its mean and variance.
    """
    wanted = opened.experiment.aggregates
    if wanted == "none":
        return None
    variables = {variable.name: variable for variable in opened.record.variables}
    thresholds = {name: own.thresholds for name, own in variables.items()}
    thresholds |= {keys[0].label: variables[name].thresholds for name, keys in chosen.items() if keys[0].is_normal}
    settings = AggregateSettings(opened.experiment.levels, wanted.level, opened.experiment.intervals.level, thresholds)
    rows, after, notes = list[Row](), dict[str, Aggregates](), list[str]()
    for name, own in recalibrators.items():
        if any(isinstance(one, Conformal) for one in singles_of(own.correction)):
            notes.append(f"{name}: {own.correction.method} gives no variance, so that means of areas have no std")
            continue
        before = after[name] = aggregates_of(_areas(opened, opened.summaries), settings, name)
        if keys := chosen.get(name):
            after[name] = aggregates_of(_areas(opened, judged), settings, keys[0].label)
            common = {"method": keys[0].method, "judged": keys[0].judge}
            for when, found in ((BEFORE, before), (AFTER, after[name])):
                rows += [row | common | {"when": when} for row in _rows(found, variables[name], settings.interval)]
            notes += _sentence(name, rows)
    table = Table(RECALIBRATED_AGGREGATES.columns, tuple(rows))
    return AreaChanges(by_model(table, opened.record.variables, ""), after, tuple(notes))


def _rows(found: Aggregates, variable: Variable, interval: float) -> Iterator[Row]:
    """Yield the rows of means, then of areas above each threshold."""
    for share, own in found.by_share():
        yield from scale_rows(own, variable, interval, share)


def write_area_changes(changes: AreaChanges | None, opened: Opened, out: Path) -> list[Path]:
    """Write the table and the correlation of errors of the recalibrated map; remove those of an earlier one."""
    table, models = out / TABLE, out / MODELS
    written = [] if changes is None else write_models(changes.after, opened.record.variables, models)
    if not written:
        models.unlink(missing_ok=True)
    if changes is None or not changes.table.rows:
        table.unlink(missing_ok=True)
        return written
    write_csv(changes.table, table)
    return [table, *written]


def _areas(opened: Opened, summaries: SavedSummaries) -> Areas:
    """Return the tiles and the regions that are lists of tiles; corrected pixels of zones are not summed."""
    return Areas(summaries, tuple(summaries.places()), opened.experiment.tile_lists, {})


def _sentence(name: str, rows: Sequence[Row]) -> list[str]:
    """Say how much of the means of cells the intervals cover before and after; nothing if that is not known."""
    wanted = {"variable": name, "threshold": None, "metric": coverage_name("fitted", LEVEL), "side_cells": 1}
    found = {row["when"]: row for row in rows if all(row[key] == value for key, value in wanted.items())}
    if found.keys() < {BEFORE, AFTER} or None in (row["value"] for row in found.values()):
        return []
    before, after = (f"{100 * found[when]['value']:.0f} %" for when in (BEFORE, AFTER))
    metres = found[AFTER]["side_metres"]
    size = "areas of a cell" if metres is None else f"areas of {for_people(metres / 1000)} km"
    intervals = f"{100 * LEVEL:.0f} % intervals of means of {size}"
    return [f"{name}: with fitted correlation, {intervals} cover {after} after the correction, {before} before"]
