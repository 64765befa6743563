"""The aggregates of a run: means of areas of all sizes, from the saved cells; no pixel is read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from geouq.aggregates.blocks import BlockMeans, block_means, blocks_of_areas, sides_of
from geouq.aggregates.cells import AreaCells, area_cells, cell_side
from geouq.aggregates.estimation import ErrorCorrelation, error_correlation
from geouq.aggregates.known import KnownCorrelation
from geouq.aggregates.means import AreaMean, area_mean
from geouq.aggregates.parameters import Parameter, parameters_of
from geouq.aggregates.scales import ScaleNumber, numbers_of_scale
from geouq.runs.store import Part, SavedSummaries
from geouq.summary import TilePlace

NOT_KNOWN = "no evaluation tells how errors are correlated"


@dataclass(frozen=True)
class Areas:
    """The areas of a run: regions that are lists of tiles, zones with their parts, and where the tiles are.

    Parameters
    ----------
    summaries : SavedSummaries
        Of the tiles.
    places : sequence of TilePlace
        Of the tiles, in their order.
    lists : mapping of str to sequence of str
        Names of the tiles of each region.
    zones : mapping of str to sequence of Part
        Parts of polygons, classes and what is made of them.
    """

    summaries: SavedSummaries
    places: Sequence[TilePlace]
    lists: Mapping[str, Sequence[str]]
    zones: Mapping[str, Sequence[Part]]

    def cells(self, variable: str) -> AreaCells:
        """Return all cells of a variable."""
        tiles = [place.tile for place in self.places]
        return area_cells(self.places, lambda k: self.summaries.moments_of(self.summaries.part(tiles[k]), variable))

    def cells_of_zone(self, zone: str, variable: str) -> AreaCells:
        """Return the cells of a zone, with the numbers that tiles have in the run."""
        parts = {part.tile: part for part in self.zones[zone]}
        places = [place for place in self.places if place.tile in parts]
        numbers = np.array([k for k, place in enumerate(self.places) if place.tile in parts])
        found = area_cells(places, lambda k: self.summaries.moments_of(parts[places[k].tile], variable))
        return found.of_tiles(numbers)


@dataclass(frozen=True)
class Aggregates:
    """What is known of the means of areas of a variable.

    Parameters
    ----------
    correlation : ErrorCorrelation or None
        Of the errors; None if cells or tiles are too few.
    known : KnownCorrelation or None
        The same for other maps.
    parameters : sequence of Parameter
        Of its model.
    scales : mapping of (str, int) to (BlockMeans, sequence of ScaleNumber)
        Numbers by kind of area (block, tile or region) and side in cells, which is 0 for tiles and regions.
    means : mapping of str to AreaMean
        Means of regions by name; `all` is the whole.
    """

    correlation: ErrorCorrelation | None
    known: KnownCorrelation | None
    parameters: Sequence[Parameter]
    scales: Mapping[tuple[str, int], tuple[BlockMeans, Sequence[ScaleNumber]]]
    means: Mapping[str, AreaMean]


@dataclass(frozen=True)
class AggregateSettings:
    """Levels whose coverage is given; level of the intervals of means; level of the intervals of other numbers."""

    levels: tuple[float, ...]
    level: float
    interval: float


def aggregates_of(areas: Areas, settings: AggregateSettings, variable: str) -> Aggregates:
    """Return the aggregates of a variable."""
    cells = areas.cells(variable)
    side = cell_side(areas.places)
    correlation = error_correlation(cells, side)
    regions = dict(_regions(areas, cells, variable))
    known = None if correlation is None else KnownCorrelation.of(correlation)
    means = {name: area_mean(own, known, settings.level, side) for name, own in regions.items() if len(own)}
    if correlation is None:
        return Aggregates(None, None, (), {}, means)
    numbers = partial(numbers_of_scale, levels=settings.levels, interval=settings.interval)
    scales = {key: (own, numbers(own)) for key, own in _scales(correlation, areas.places, regions)}
    return Aggregates(correlation, known, parameters_of(correlation, settings.interval), scales, means)


def means_of_areas(areas: Areas, variable: str, known: KnownCorrelation | None, level: float) -> dict[str, AreaMean]:
    """Return the means of the whole and of regions of a variable, with a correlation that is known from elsewhere."""
    cells, side = areas.cells(variable), cell_side(areas.places)
    if known is not None and side > 0:
        known = known.of_cells(side)
    regions = _regions(areas, cells, variable)
    return {name: area_mean(own, known, level, side, NOT_KNOWN) for name, own in regions if len(own)}


def _regions(areas: Areas, cells: AreaCells, variable: str) -> Iterator[tuple[str, AreaCells]]:
    """Yield the whole and each region with its cells."""
    yield "all", cells
    tiles = np.array([place.tile for place in areas.places])
    for name, own in areas.lists.items():
        yield name, cells.some(np.isin(tiles, list(own))[cells.tile])
    for name in areas.zones:
        yield name, areas.cells_of_zone(name, variable)


def _scales(
    correlation: ErrorCorrelation, places: Sequence[TilePlace], regions: Mapping[str, AreaCells]
) -> Iterator[tuple[tuple[str, int], BlockMeans]]:
    """Yield means of blocks by their side in cells, of tiles, and of regions; only sizes of which there are areas."""
    for side in sides_of(places):
        if len(found := block_means(correlation, places, side)):
            yield ("block", side), found
    cells = correlation.cells
    tiles = [(cells.some(cells.tile == own), correlation.fold[cells.tile == own]) for own in np.unique(cells.tile)]
    others = [(own, correlation.folds_of(own)) for name, own in regions.items() if name != "all"]
    for kind, areas in (("tile", tiles), ("region", others)):
        if len(found := blocks_of_areas(correlation, areas)):
            yield (kind, 0), found
