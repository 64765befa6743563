"""Runs that can be compared: the same truth, the same cells, and what they have in common."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from geouq.config import Experiment, Variable, load_experiment, quoted, suggestion
from geouq.core.errors import ConfigError, DataError
from geouq.core.grid import require_same_grid
from geouq.metrics import MetricOptions
from geouq.numbers.run_metrics import metric_options_of
from geouq.rasters.tile_names import has_times, path_of
from geouq.regions import EvaluationUnit, evaluation_units, zone_units
from geouq.runs.provenance import RunRecord, load_record
from geouq.runs.store import Part, SavedSummaries
from geouq.summary import TilePlace, TileWholes

SHOWN = 10


@dataclass(frozen=True)
class Run:
    """A run in a folder, or one model of it; label : its name, or its folder where another run has the same name.

    model : the one that is compared; empty where there are none, or where all of them are.
    """

    label: str
    folder: Path
    model: str
    experiment: Experiment
    record: RunRecord

    @property
    def variables(self) -> dict[str, Variable]:
        """Return the variables by the names for the comparison: plain names for a single model."""
        if not self.model:
            return {variable.name: variable for variable in self.record.variables}
        return {variable.variable: variable for variable in self.record.variables if variable.model == self.model}

    @property
    def models(self) -> tuple[str, ...]:
        """Return all models that the run has."""
        return tuple(dict.fromkeys(variable.model for variable in self.record.variables if variable.model))

    def truth(self, tile: str) -> str:
        """Return the file of the truth of a tile; its name alone if it is one of several times."""
        if has_times(self.experiment):
            return str(self.record.inputs[tile]["truth"]["file"])
        return path_of(self.experiment.data.truth, tile)


@dataclass(frozen=True)
class Shared:
    """What runs have in common: tiles, variables, levels, bins, regions; and notes on what is left aside.

    zones : regions that are not lists of tiles, whose parts lie alike in all runs.
    """

    tiles: tuple[str, ...]
    variables: tuple[Variable, ...]
    settings: Mapping[str, Any]
    zones: tuple[str, ...]
    auxiliary_groups: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Restricted:
    """A run restricted to what is shared; names : of its own variables, by the names that all share."""

    run: Run
    summaries: SavedSummaries
    experiment: Experiment
    metric_options: Mapping[str, MetricOptions]
    zones: Mapping[str, Sequence[Part]]
    names: Mapping[str, str]

    def evaluation_units(self) -> Iterator[tuple[EvaluationUnit, list[Part]]]:
        """Yield the whole, then each region with its parts."""
        variables = list(self.names.values())
        for unit in evaluation_units(
            self.experiment, variables, lambda tiles: self._named(self.summaries.wholes(tiles))
        ):
            if unit.level != "tile":
                yield unit, [self.summaries.part(tile) for tile in unit.tiles]
        wholes = ((zone, self._named(map(self.summaries.whole, parts))) for zone, parts in self.zones.items())
        for unit in zone_units(self.summaries.levels, variables, wholes):
            yield unit, list(self.zones[unit.name])

    def _named(self, tiles: Iterable[TileWholes]) -> Iterator[TileWholes]:
        """Yield the tiles with the variables in `names` alone."""
        for tile in tiles:
            yield replace(tile, variables={name: tile.variables[name] for name in self.names.values()})


def open_runs(folders: Sequence[Path]) -> tuple[Run, ...]:
    """Open two or more runs, or models of runs as RUN@MODEL.

    Raises SummaryError where a folder holds no run, and ConfigError where one comes twice, where there is no such model
    or where some have models and others have none.
    """
    if len(folders) < 2:
        raise ConfigError("a comparison needs two runs or more; name the folder of another run")
    named = [_folder_and_model(folder) for folder in folders]
    seen = [(folder.resolve(), model) for folder, model in named]
    for index, folder in enumerate(folders):
        if seen.index(seen[index]) < index:
            raise ConfigError(f"{folder} is given twice; name each run once")
    # a record first: without one, the message would be about the configuration
    records = [load_record(folder) for folder, _ in named]
    runs = [
        Run(_with_model(record.name, model), folder, model, load_experiment(folder / "config.yaml"), record)
        for (folder, model), record in zip(named, records, strict=True)
    ]
    _require_models(runs)
    labels = [run.label for run in runs]
    return tuple(
        run if labels.count(run.label) == 1 else replace(run, label=_with_model(str(run.folder), run.model))
        for run in runs
    )


def _folder_and_model(written: Path) -> tuple[Path, str]:
    """Return the folder of a run, and the model after the last @ where the folder of that whole name holds no run."""
    folder, mark, model = str(written).rpartition("@")
    if not mark or (written / "run.json").exists():
        return written, ""
    return Path(folder), model


def _with_model(name: str, model: str) -> str:
    return f"{name}@{model}" if model else name


def _require_models(runs: Sequence[Run]) -> None:
    """Models that are named exist; either all runs are compared model by model, or none is."""
    for run in runs:
        if run.model and run.model not in run.models:
            has = suggestion(run.model, run.models) if run.models else "; it has one prediction alone"
            raise ConfigError(f"{run.folder} has no model {quoted(run.model)}{has}")
    several = [run for run in runs if run.models and not run.model]
    if several and len(several) < len(runs):
        one = next(run for run in runs if run not in several)
        run = several[0]
        raise ConfigError(
            f"{run.folder} has the models {_listed(run.models)}, and {_with_model(str(one.folder), one.model)} is one "
            f"prediction; name the model to compare, as in {_with_model(str(run.folder), run.models[0])}"
        )


def restricted_to_common(runs: Sequence[Run]) -> tuple[list[Restricted], Shared]:
    """Return each run restricted to what all have in common.

    Raises DataError where the truth, the bands or the cells differ, and ConfigError where nothing is in common.
    """
    tiles, notes = _common("tiles", [run.record.tiles for run in runs], runs)
    _require_same_truth(runs, tiles)
    variables, more = _common_variables(runs)
    notes += more
    settings, more = _common_settings(runs, tiles)
    notes += more
    opened = [_opened(run, tiles, settings["levels"]) for run in runs]
    _require_same_cells(runs, opened)
    zones, more = _common_zones(runs, opened)
    notes += more
    auxiliary_groups = [name for name in runs[0].experiment.data.groupings if _in_all(name, runs)]
    shared = Shared(tiles, variables, settings, zones, tuple(auxiliary_groups), tuple(notes))
    return [_restricted(run, summaries, shared) for run, summaries in zip(runs, opened, strict=True)], shared


def _common(what: str, names: Sequence[Sequence[str]], runs: Sequence[Run]) -> tuple[tuple[str, ...], list[str]]:
    """Return the names that all runs have, in the order of the first, and a note on each run that has more."""
    common = tuple(name for name in names[0] if all(name in own for own in names))
    if not common:
        listed = "; ".join(f"{run.folder} has {_listed(own)}" for run, own in zip(runs, names, strict=True))
        raise ConfigError(f"the runs have no {what} in common: {listed}")
    notes = []
    for run, own in zip(runs, names, strict=True):
        if left := [name for name in own if name not in common]:
            notes.append(
                f"only the {len(common)} {what} in common are compared; {run.label} has {len(left)} more, left aside: "
                f"{_listed(left)}"
            )
    return common, notes


def _listed(names: Sequence[str]) -> str:
    return (", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")) or "none"


def _require_same_truth(runs: Sequence[Run], tiles: Sequence[str]) -> None:
    first = runs[0]
    for other in runs[1:]:
        for tile in tiles:
            one, two = (run.record.inputs[tile]["truth"] for run in (first, other))
            if not _same_file(one, two):
                raise DataError(
                    f"tile {tile}: {first.label} and {other.label} were not evaluated on the same truth: "
                    f"{first.truth(tile)} ({_shown(one)}) and {other.truth(tile)} ({_shown(two)}); evaluate both on "
                    "the same files, or, where these are copies, both with `fingerprint: checksum`"
                )


def _same_file(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two records are of the same bytes: by checksums, or else by name, size and time of change."""
    if "files" in one and "files" in other:
        return [file["sha256"] for file in one["files"]] == [file["sha256"] for file in other["files"]]
    return all(one.get(key) == other.get(key) for key in ("file", "bytes", "modified_ns", "versions"))


def _shown(record: Mapping[str, Any]) -> str:
    sums = "".join(f", SHA-256 {file['sha256'][:12]}..." for file in record.get("files", ()))
    changed = datetime.fromtimestamp(record["modified_ns"] / 1e9, UTC).isoformat(" ", "milliseconds")
    return f"{record['bytes']} bytes, changed at {changed}{sums}"


def _common_variables(runs: Sequence[Run]) -> tuple[tuple[Variable, ...], list[str]]:
    by_name = [run.variables for run in runs]
    names, notes = _common("variables", [list(own) for own in by_name], runs)
    for name in names:
        bands = [own[name].band if own[name].truth is None else own[name].truth for own in by_name]
        if len(set(bands)) > 1:
            told = " and ".join(f"{band} in {run.folder}" for run, band in zip(runs, bands, strict=True))
            raise DataError(
                f"variable {name} is band {told} of the truth: that is not the same truth; give it the same band"
            )
    found = []
    for name in names:
        thresholds = tuple(t for t in by_name[0][name].thresholds if all(t in own[name].thresholds for own in by_name))
        model = "" if runs[0].model else by_name[0][name].model
        found.append(by_name[0][name].model_copy(update={"name": name, "model": model, "thresholds": thresholds}))
    return tuple(found), notes


def _common_settings(runs: Sequence[Run], tiles: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return settings that give the same numbers for all runs: those of the first, as far as all runs keep them."""
    first = runs[0].experiment
    levels, notes = _common("levels", [[str(p) for p in run.experiment.levels] for run in runs], runs)
    schemes = [s for s in first.bins.schemes if all(s in run.experiment.bins.schemes for run in runs)]
    if any(len(run.experiment.bins.schemes) > len(schemes) for run in runs):
        notes.append(f"only the bins in common are compared: {_listed([scheme.name for scheme in schemes])}")
    by = tuple(name for name in first.groups.by if all(name in run.experiment.groups.by for run in runs))
    regions, more = _common_regions(runs, tiles)
    return {
        "levels": tuple(p for p in first.levels if str(p) in levels),
        "bins": first.bins.model_copy(update={"schemes": tuple(schemes)}),
        "groups": first.groups.model_copy(update={"by": by}),
        "calibration_levels": first.calibration_levels,
        "calibration_weights": first.calibration_weights,
        "ordering": all(run.experiment.ordering for run in runs),
        "regions": regions,
        "splits": None,  # both sides are regions like the others here
    }, notes + more


def _common_regions(runs: Sequence[Run], tiles: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return lists of tiles that all runs have, restricted to the tiles that all have in them."""
    lists = [run.experiment.tile_lists for run in runs]
    found, notes = {}, []
    for name in dict.fromkeys(name for own in lists for name in own):
        if without := [run.label for run, own in zip(runs, lists, strict=True) if name not in own]:
            notes.append(f"region {name} is no list of tiles in {_listed(without)}, and is left aside")
            continue
        members = tuple(tile for tile in lists[0][name] if tile in tiles and all(tile in own[name] for own in lists))
        if members:
            found[name] = members
        if any(set(own[name]) & set(tiles) != set(members) for own in lists) or not members:
            notes.append(f"region {name} does not hold the same tiles in all runs; in common are: {_listed(members)}")
    return found, notes


def _opened(run: Run, tiles: tuple[str, ...], levels: tuple[float, ...]) -> SavedSummaries:
    return SavedSummaries(run.folder, tiles, levels, run.experiment.zone_layers, run.record.whole)


def _require_same_cells(runs: Sequence[Run], opened: Sequence[SavedSummaries]) -> None:
    for places in zip(*(summaries.places() for summaries in opened), strict=True):
        for (one, first), (other, second) in pairwise(zip(runs, places, strict=True)):
            if first.cell_size != second.cell_size:
                raise DataError(
                    f"tile {first.tile}: cells have a side of {first.cell_size} pixels in {one.label} and of "
                    f"{second.cell_size} in {other.label}; set `cell_size: {first.cell_size}` in both and run again"
                )
            names = [f"tile {place.tile} in {run.label}" for run, place in ((one, first), (other, second))]
            require_same_grid(first.grid, second.grid, *names)


def _common_zones(runs: Sequence[Run], opened: Sequence[SavedSummaries]) -> tuple[tuple[str, ...], list[str]]:
    """Return the regions of pixels that have their parts in the same places in all runs, and a note on the others."""
    zones = [summaries.zones() for summaries in opened]
    common, notes = [], []
    for name in dict.fromkeys(name for own in zones for name in own):
        places = [_places(summaries, own.get(name, ())) for summaries, own in zip(opened, zones, strict=True)]
        if all(own == places[0] for own in places):
            common.append(name)
        else:
            without = [run.label for run, own in zip(runs, places, strict=True) if not own]
            reason = f"is not in {_listed(without)}" if without else "is not of the same pixels in all runs"
            notes.append(f"region {name} {reason}, and is left aside")
    return tuple(common), notes


def _places(summaries: SavedSummaries, parts: Sequence[Part]) -> list[TilePlace]:
    return [summaries.place(part) for part in parts]


def _in_all(name: str, runs: Sequence[Run]) -> bool:
    return all(name in run.experiment.data.groupings for run in runs)


def _restricted(run: Run, summaries: SavedSummaries, shared: Shared) -> Restricted:
    experiment = run.experiment.model_copy(update=dict(shared.settings))
    own = {variable.name: run.variables[variable.name] for variable in shared.variables}
    settled = [v.model_copy(update={"name": own[v.name].name, "model": own[v.name].model}) for v in shared.variables]
    metric_options = metric_options_of(experiment, settled, summaries)
    zones = summaries.zones()
    return Restricted(
        run,
        summaries,
        experiment,
        {name: replace(chosen, auxiliary_groups=shared.auxiliary_groups) for name, chosen in metric_options.items()},
        {name: zones[name] for name in shared.zones},
        {name: variable.name for name, variable in own.items()},
    )
