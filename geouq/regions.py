"""Which tiles make a region, and the evaluation units of pixels that an experiment reports on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from geouq.config import Experiment
from geouq.summary import RunningTotal, Summary, TileWholes

Level = Literal["all", "region", "tile"]


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


def evaluation_units(
    experiment: Experiment, variables: Iterable[str], tiles: Iterable[TileWholes]
) -> Iterator[EvaluationUnit]:
    """Yield each tile as it comes, then the whole, then each region that is a list of tiles.

    Tiles are added in the order in which they come, so that the same tiles give the same bits; one tile at a time is
    held.
    """
    regions = {"all": None} | {name: frozenset(own) for name, own in experiment.tile_lists.items()}
    names = tuple(variables)
    totals = {region: {name: RunningTotal(experiment.levels) for name in names} for region in regions}
    members: dict[str, list[str]] = {region: [] for region in regions}
    for tile in tiles:
        own = {name: part.whole for name, part in tile.variables.items()}
        yield EvaluationUnit("tile", tile.tile, (tile.tile,), own)
        for region, wanted in regions.items():
            if wanted is None or tile.tile in wanted:
                members[region].append(tile.tile)
                for name, part in own.items():
                    totals[region][name].add(part)
    for region, wanted in regions.items():
        sums = {name: total.summary() for name, total in totals[region].items()}
        yield EvaluationUnit("all" if wanted is None else "region", region, tuple(members[region]), sums)


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
