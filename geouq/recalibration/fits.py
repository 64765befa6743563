"""Corrections of every method, fitted on the tiles of every fold from the saved summaries of a run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from geouq.config import ClassRegions, Experiment, Recalibration, Variable
from geouq.errors import SummaryError
from geouq.recalibration.corrections import ByGroup, Single
from geouq.recalibration.fitting import FITTED, fit
from geouq.recalibration.folds import Fold
from geouq.runs.store import Part, SavedSummaries
from geouq.summary import RunningTotal, Summary

Corrections = Mapping[str, Mapping[str, Single | ByGroup]]  # by variable and method


@dataclass(frozen=True)
class Fits:
    """Corrections fitted on some tiles, by variable and method; n : pixels of each variable in these tiles."""

    tiles: tuple[str, ...]
    corrections: Corrections
    n: Mapping[str, int]
    notes: tuple[str, ...]


def methods_for(wanted: Recalibration) -> tuple[str, ...]:
    """Return the methods that are fitted and judged."""
    if wanted.method != "best":
        return (wanted.method,)
    return (*(name for name in FITTED if name != "none"), *([ByGroup.method] if wanted.by else []))


def fit_all(
    experiment: Experiment,
    variables: Sequence[Variable],
    summaries: SavedSummaries,
    wanted: Recalibration,
    sets: Iterable[tuple[str, ...]],
) -> list[Fits]:
    """Return what each set of tiles gives; every summary is read once."""
    sets, names = list(sets), [variable.name for variable in variables]
    totals = _totals(summaries, names, [(tiles, summaries.part(tile)) for tile in summaries.tiles for tiles in sets])
    groups: dict[str, dict[tuple[str, ...], dict[str, Summary]]] = {}
    if wanted.by is not None:
        zones = replace(summaries, layers=(wanted.by,)).zones()
        groups = {
            zone: _totals(summaries, names, [(tiles, part) for part in parts for tiles in sets])
            for zone, parts in zones.items()
        }
    codes = _codes(experiment, wanted.by)
    return [
        _fits(tiles, totals[tiles], {zone: own[tiles] for zone, own in groups.items() if tiles in own}, wanted, codes)
        for tiles in sets
    ]


def _totals(
    summaries: SavedSummaries, names: Sequence[str], parts: Sequence[tuple[tuple[str, ...], Part]]
) -> dict[tuple[str, ...], dict[str, Summary]]:
    """Return sums of the parts that lie in tiles of each set, by variable."""
    found: dict[tuple[str, ...], dict[str, RunningTotal]] = {}
    last, whole = None, None
    for tiles, part in parts:
        if part.tile in tiles:
            if part is not last and part != last:
                last, whole = part, summaries.whole(part)
            own = found.setdefault(tiles, {name: RunningTotal(summaries.levels) for name in names})
            for name in names:
                own[name].add(whole.variables[name].whole)  # type: ignore[union-attr]
    return {tiles: {name: total.summary() for name, total in own.items()} for tiles, own in found.items()}


def _fits(
    tiles: tuple[str, ...],
    totals: Mapping[str, Summary],
    groups: Mapping[str, Mapping[str, Summary]],
    wanted: Recalibration,
    codes: Mapping[int, str],
) -> Fits:
    found: dict[str, dict[str, Single | ByGroup]] = {}
    notes = []
    for name, whole in totals.items():
        found[name] = {}
        for method in methods_for(wanted):
            try:
                if method == ByGroup.method:
                    own = {zone: of[name] for zone, of in groups.items()}
                    found[name][method] = _by_group(wanted, whole, own, codes)
                else:
                    found[name][method] = fit(method, whole)
            except SummaryError as error:
                notes.append(f"{name}: {error}")
    return Fits(tiles, found, {name: int(whole.n) for name, whole in totals.items()}, tuple(notes))


def _by_group(
    wanted: Recalibration, whole: Summary, groups: Mapping[str, Summary], codes: Mapping[int, str]
) -> ByGroup:
    """Return a correction for each group of which there are pixels enough, and that of all for the others."""
    own = {}
    for zone, summary in groups.items():
        try:
            own[zone] = fit(wanted.within, summary)
        except SummaryError:
            continue  # pixels of it are corrected like all together
    return ByGroup(wanted.by or "", own, fit(wanted.within, whole), codes)


def _codes(experiment: Experiment, layer: str | None) -> dict[int, str]:
    """Names of the codes of a layer of classes; none of polygons."""
    region = None if layer is None else experiment.regions.get(layer)
    return dict(region.names) if isinstance(region, ClassRegions) else {}


def sets_of(tiles: Sequence[str], folds: Mapping[str, Sequence[Fold]]) -> list[tuple[str, ...]]:
    """Return the sets of tiles that are fitted on: all, and those of each fold."""
    return list(dict.fromkeys([tuple(tiles), *(fold.fitted for own in folds.values() for fold in own)]))
