"""Which tiles make a region, and the evaluation units of pixels that an experiment reports on."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from geouq.config import Experiment
from geouq.summary import RunningTotal, Summary, TileWholes

Level = Literal["all", "region", "tile"]
Wholes = Callable[[Collection[str] | None], Iterable[TileWholes]]  # of some tiles by name, or of all

SUMS = 400  # of a region and variable, some 0.3 MB each, that are held at a time


@dataclass(frozen=True)
class EvaluationUnit:
    """A set of pixels with a name: the whole, a region or a tile, and the summary of each variable in it.

    tiles : where the pixels are; a `zone` has not all pixels of these, but those in a polygon, for example.
    """

    level: Level
    name: str
    tiles: tuple[str, ...]
    variables: Mapping[str, Summary]
    zone: bool = False


def evaluation_units(experiment: Experiment, variables: Iterable[str], wholes: Wholes) -> Iterator[EvaluationUnit]:
    """Yield each tile as it comes, then the whole, then each region that is a list of tiles.

    Tiles are added in the order in which they come, so that the same tiles give the same bits; one tile at a time is
    held. While all tiles are read for the whole, regions are summed with it. Of many regions and variables, the tiles
    of the others are read again, for as many regions at a time as `SUMS` allow.

    Parameters
    ----------
    wholes : callable
        Returns the summaries of the tiles with these names, in an order of its own; of all tiles with None.
    """
    names = tuple(variables)
    at_a_time = max(1, SUMS // max(1, len(names)))
    lists = {name: frozenset(own) for name, own in experiment.tile_lists.items()}
    first, *others = _groups(lists, at_a_time)
    whole, sums = _Sums("all", None, experiment.levels, names), _sums_of(first, experiment.levels, names)
    for tile in wholes(None):
        yield EvaluationUnit("tile", tile.tile, (tile.tile,), {name: own.whole for name, own in tile.variables.items()})
        for one in (whole, *sums):
            one.add(tile)
    yield whole.unit()
    yield from (one.unit() for one in sums)
    for group in others:
        sums = _sums_of(group, experiment.levels, names)
        for tile in wholes(frozenset().union(*group.values())):
            for one in sums:
                one.add(tile)
        yield from (one.unit() for one in sums)


def _groups(lists: Mapping[str, frozenset[str]], at_a_time: int) -> list[dict[str, frozenset[str]]]:
    """Return the regions in groups of so many; one group without a region where there is none."""
    regions = list(lists.items())
    return [dict(regions[start : start + at_a_time]) for start in range(0, max(1, len(regions)), at_a_time)]


def _sums_of(group: Mapping[str, frozenset[str]], levels: Sequence[float], names: Sequence[str]) -> list["_Sums"]:
    return [_Sums(region, wanted, levels, names) for region, wanted in group.items()]


class _Sums:
    """The sums of a region over the tiles added so far; `wanted` are the tiles that count, None for all."""

    def __init__(
        self, region: str, wanted: frozenset[str] | None, levels: Sequence[float], names: Sequence[str]
    ) -> None:
        self._region, self._wanted = region, wanted
        self._totals = {name: RunningTotal(levels) for name in names}
        self._members: list[str] = []

    def add(self, tile: TileWholes) -> None:
        """Add a tile, if it is one of the region."""
        if self._wanted is None or tile.tile in self._wanted:
            self._members.append(tile.tile)
            for name, own in tile.variables.items():
                self._totals[name].add(own.whole)

    def unit(self) -> EvaluationUnit:
        """Return the sum of the tiles of the region, and release it here."""
        sums = {name: total.summary() for name, total in self._totals.items()}
        self._totals.clear()
        level: Level = "all" if self._wanted is None else "region"
        return EvaluationUnit(level, self._region, tuple(self._members), sums)


def zone_units(
    levels: Sequence[float], variables: Iterable[str], zones: Iterable[tuple[str, Iterable[TileWholes]]]
) -> Iterator[EvaluationUnit]:
    """Yield an evaluation unit for each zone from its parts in tiles. One part at a time is in memory."""
    names = tuple(variables)
    for zone, parts in zones:
        totals, members = {name: RunningTotal(levels) for name in names}, []
        for part in parts:
            members.append(part.tile)
            for name, own in part.variables.items():
                totals[name].add(own.whole)
        sums = {name: total.summary() for name, total in totals.items()}
        yield EvaluationUnit("region", zone, tuple(members), sums, zone=True)
