"""Which tiles make a region, and the pools of pixels that an experiment reports on."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from geouq.config import Experiment
from geouq.summary import Summary, TileSummary, add_all, empty_summary

Level = Literal["all", "region", "tile"]


@dataclass(frozen=True)
class Pool:
    """A set of pixels with a name: the whole, a region or a tile, and the summary of each variable in it."""

    level: Level
    name: str
    tiles: tuple[str, ...]
    variables: Mapping[str, Summary]


def pools(experiment: Experiment, summaries: Iterable[TileSummary]) -> Iterator[Pool]:
    """The whole, then each region, then each tile; tiles are added in their order, so that the bits are always the same."""
    by_name = {summary.tile: summary for summary in summaries}
    wholes: list[tuple[Level, str, tuple[str, ...]]] = [("all", "all", tuple(by_name))]
    wholes += [("region", name, tiles) for name, tiles in experiment.regions.items()]
    for level, name, tiles in wholes:
        present = tuple(tile for tile in by_name if tile in tiles)
        yield Pool(level, name, present, _total(by_name, present, experiment.levels))
    for name, summary in by_name.items():
        yield Pool("tile", name, (name,), {variable: part.whole for variable, part in summary.variables.items()})


def _total(
    by_name: Mapping[str, TileSummary], tiles: tuple[str, ...], levels: tuple[float, ...]
) -> Mapping[str, Summary]:
    variables = next(iter(by_name.values())).variables if by_name else {}
    return {
        variable: add_all([by_name[tile].variables[variable].whole for tile in tiles] or [empty_summary(levels)])
        for variable in variables
    }
