"""Which tiles make a region, and the pools of pixels that an experiment reports on."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from geouq.config import Experiment
from geouq.summary import Summary, TileSummary, empty_summary

Level = Literal["all", "region", "tile"]


@dataclass(frozen=True)
class Pool:
    """A set of pixels with a name: the whole, a region or a tile, and the summary of each variable in it."""

    level: Level
    name: str
    tiles: tuple[str, ...]
    variables: Mapping[str, Summary]


def pools(experiment: Experiment, variables: Iterable[str], summaries: Iterable[TileSummary]) -> Iterator[Pool]:
    """Each tile as it comes, then the whole, then each region.

    Tiles are added in the order in which they come, so that the same tiles give the same bits; one tile at a time is
    held.
    """
    regions = {"all": None} | {name: frozenset(tiles) for name, tiles in experiment.regions.items()}
    nothing = {variable: empty_summary(experiment.levels) for variable in variables}
    totals: dict[str, dict[str, Summary]] = {region: dict(nothing) for region in regions}
    members: dict[str, list[str]] = {region: [] for region in regions}
    for summary in summaries:
        own = {variable: part.whole for variable, part in summary.variables.items()}
        yield Pool("tile", summary.tile, (summary.tile,), own)
        for region, tiles in regions.items():
            if tiles is None or summary.tile in tiles:
                members[region].append(summary.tile)
                for variable, part in own.items():
                    totals[region][variable] += part
    for region, tiles in regions.items():
        yield Pool("all" if tiles is None else "region", region, tuple(members[region]), totals[region])
