"""The aggregates of a run: means of areas of all sizes, from the saved cells; no pixel is read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from geouq.aggregates.blocks import BlockMeans, block_means, blocks_of_areas, sides_of
from geouq.aggregates.cells import MOMENTS, AreaCells, area_cells, cell_side
from geouq.aggregates.estimation import ErrorCorrelation, error_correlation, is_truth_alone
from geouq.aggregates.known import KnownCorrelation
from geouq.aggregates.means import NO_ERRORS, TOO_FEW, TRUTH_ALONE, AreaMean, area_mean
from geouq.aggregates.members import MemberCells, MemberMeans, member_scales
from geouq.aggregates.overstated import Overstated, overstated
from geouq.aggregates.parameters import Parameter, parameters_of, parameters_of_truth
from geouq.aggregates.scales import ScaleNumber, numbers_of_scale
from geouq.aggregates.shares import FORM, Share, shares_of
from geouq.metrics.aggregate_names import members_in
from geouq.runs.store import Part
from geouq.summary import TilePlace
from geouq.summary.form import GAUSSIAN, Form
from geouq.summary.statistic import Statistic
from geouq.summary.truth_error import TruthError

Ints = NDArray[np.int64]
FEWEST_UNSURE = 30.0  # sum of p (1 - p) over the pixels of a map, below which too few tell how errors are correlated
FEWEST_UNSURE_OF_AREA = 5.0  # the same of an area, below which its share is not nearly normal, and is not judged
RARE = "too few pixels of which it is uncertain whether they belong to the area"
NOT_KNOWN = "no evaluation tells how errors are correlated"
NOT_KNOWN_ABOVE = "no evaluation has a correlation of errors for this threshold or class"


class CellStatistics(Protocol):
    """What holds the statistics of cells: the saved summaries of a run, or cells in memory."""

    def keeps(self, name: str) -> bool:
        """Return whether cells have a statistic."""

    def part(self, tile: str) -> Part:
        """Return all of a tile."""

    def statistics_of(self, part: Part, variable: str, names: Sequence[str]) -> tuple[Ints, Mapping[str, Statistic]]:
        """Return the numbers of the cells of a part, and some of their statistics by name."""


@dataclass(frozen=True)
class Areas:
    """The areas of a run: regions that are lists of tiles, zones with their parts, and where the tiles are.

    Parameters
    ----------
    summaries : CellStatistics
        Of the tiles.
    places : sequence of TilePlace
        Of the tiles, in their order.
    lists : mapping of str to sequence of str
        Names of the tiles of each region.
    zones : mapping of str to sequence of Part
        Parts of polygons, classes and what is made of them.
    """

    summaries: CellStatistics
    places: Sequence[TilePlace]
    lists: Mapping[str, Sequence[str]]
    zones: Mapping[str, Sequence[Part]]

    def cells(self, variable: str, share: Share | None = None) -> AreaCells:
        """Return all cells of a variable; share : as in `area_cells`."""
        tiles, names = [place.tile for place in self.places], self._names(share)
        statistics = self.summaries.statistics_of
        return area_cells(self.places, lambda k: statistics(self.summaries.part(tiles[k]), variable, names), share)

    def cells_of_zone(self, zone: str, variable: str, share: Share | None = None) -> AreaCells:
        """Return the cells of a zone, with the numbers that tiles have in the run."""
        parts = {part.tile: part for part in self.zones[zone]}
        places = [place for place in self.places if place.tile in parts]
        numbers = np.array([k for k, place in enumerate(self.places) if place.tile in parts])
        names, statistics = self._names(share), self.summaries.statistics_of
        found = area_cells(places, lambda k: statistics(parts[places[k].tile], variable, names), share)
        return found.of_tiles(numbers)

    def members(self, variable: str) -> tuple[MemberCells, dict[str, MemberCells]]:
        """Return the cells with the errors of members, of the whole and of each region."""
        tiles, names, statistics = [place.tile for place in self.places], (MOMENTS, FORM), self.summaries.statistics_of
        whole = MemberCells.of(
            self.cells(variable), [statistics(self.summaries.part(tile), variable, names) for tile in tiles]
        )
        found = {name: whole.some(np.isin(tiles, list(own))[whole.cells.tile]) for name, own in self.lists.items()}
        for name, own in self.zones.items():
            parts = sorted(own, key=lambda part: tiles.index(part.tile))
            found[name] = MemberCells.of(
                self.cells_of_zone(name, variable), [statistics(part, variable, names) for part in parts]
            )
        return whole, found

    def _names(self, share: Share | None) -> tuple[str, ...]:
        """Return the names of the statistics from which cells are made."""
        if share is not None:
            return MOMENTS, share.statistic
        return (MOMENTS, TruthError.name) if self.summaries.keeps(TruthError.name) else (MOMENTS,)


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
    shares : mapping of Share to Aggregates
        Shares of the area above thresholds, or of classes.
    members : mapping of (str, int) to MemberMeans
        Means of members without variances, by kind and side as `scales`; empty for other forecasts.
    overstated : Overstated or None
        The stated error of the truth, if errors are too small for it.
    """

    correlation: ErrorCorrelation | None
    known: KnownCorrelation | None
    parameters: Sequence[Parameter]
    scales: Mapping[tuple[str, int], tuple[BlockMeans, Sequence[ScaleNumber]]]
    means: Mapping[str, AreaMean]
    shares: Mapping[Share, "Aggregates"] = field(default_factory=dict)
    members: Mapping[tuple[str, int], MemberMeans] = field(default_factory=dict)
    overstated: Overstated | None = None

    def by_share(self) -> Iterator[tuple[Share | None, "Aggregates"]]:
        """Yield what is known of the mean, with None, then of each share of the area."""
        yield None, self
        yield from self.shares.items()


@dataclass(frozen=True)
class AggregateSettings:
    """Levels whose coverage is given; level of the intervals of means; level of the intervals of other numbers.

    thresholds : of each variable that has some, by its name. form : of the forecasts.
    """

    levels: tuple[float, ...]
    level: float
    interval: float
    thresholds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    form: Form = GAUSSIAN


def aggregates_of(areas: Areas, settings: AggregateSettings, variable: str) -> Aggregates:
    """Return the aggregates of a variable; of a forecast of classes, the shares of the area alone."""
    thresholds = settings.thresholds.get(variable, ())
    shares = {own: _share(areas, settings, variable, own) for own in shares_of(settings.form, thresholds)}
    if not settings.form.has_variance:
        return Aggregates(None, None, (), {}, {}, shares)
    cells = areas.cells(variable)
    side = cell_side(areas.places)
    correlation = error_correlation(cells, side)
    regions = dict(_regions(areas, cells, variable))
    known = None if correlation is None else KnownCorrelation.of(correlation)
    unknown = TRUTH_ALONE if is_truth_alone(cells) else TOO_FEW if cells.z_square.any() else NO_ERRORS
    means = {name: area_mean(own, known, settings.level, side, unknown) for name, own in regions.items() if len(own)}
    members = member_scales(*areas.members(variable), areas.places) if members_in(settings.form) else {}
    found = overstated(cells)
    if correlation is None:
        return Aggregates(None, None, parameters_of_truth(cells), {}, means, shares, members, found)
    scales = _numbers(_scales(correlation, areas.places, regions), settings)
    parameters = parameters_of(correlation, settings.interval)
    return Aggregates(correlation, known, parameters, scales, means, shares, members, found)


def _share(areas: Areas, settings: AggregateSettings, variable: str, share: Share) -> Aggregates:
    """Return what is known of a share of areas.

    The error of a pixel, p - o, has the std sqrt(p (1 - p)). The correlation is fitted to cells with this std as
    weight, because a pixel whose p is 0 or 1 has no information about it.
    """
    cells, side = areas.cells(variable, share), cell_side(areas.places)
    correlation = _correlation(cells, side, share)
    known = None if correlation is None else KnownCorrelation.of(correlation)
    regions = dict(_regions(areas, cells, variable, share))
    means = _shares(regions, known, settings.level, side, RARE if _is_rare(cells) else TOO_FEW)
    if correlation is None:
        return Aggregates(None, None, (), {}, means)
    found = _scales(correlation, areas.places, regions, FEWEST_UNSURE_OF_AREA)
    return Aggregates(
        correlation, known, parameters_of(correlation, settings.interval), _numbers(found, settings), means
    )


def _correlation(cells: AreaCells, side: float, share: Share | None) -> ErrorCorrelation | None:
    """Return the correlation of the errors of means or of a share; None of a share with too few uncertain pixels."""
    return None if share is not None and _is_rare(cells) else error_correlation(cells, side)


def _is_rare(cells: AreaCells) -> bool:
    return bool(cells.z_weight_square.sum() < FEWEST_UNSURE)


def _numbers(
    scales: Iterable[tuple[tuple[str, int], BlockMeans]], settings: AggregateSettings
) -> dict[tuple[str, int], tuple[BlockMeans, list[ScaleNumber]]]:
    """Return the means of areas by kind and side, with their numbers."""
    return {key: (own, numbers_of_scale(own, settings.levels, settings.interval)) for key, own in scales}


def _shares(
    regions: Mapping[str, AreaCells], known: KnownCorrelation | None, level: float, side: float, unknown: str
) -> dict[str, AreaMean]:
    """Return the shares of regions; arguments as of `area_mean`."""
    means = {region: area_mean(own, known, level, side, unknown) for region, own in regions.items() if len(own)}
    return {
        region: replace(mean, low=float(np.clip(mean.low, 0, 1)), high=float(np.clip(mean.high, 0, 1)))
        for region, mean in means.items()
    }


def scales_of(areas: Areas, variable: str, share: Share | None = None) -> dict[tuple[str, int], BlockMeans]:
    """Return the means of areas of a variable, or a share of them, by kind and side, as in `Aggregates.scales`."""
    cells = areas.cells(variable, share)
    correlation = _correlation(cells, cell_side(areas.places), share)
    if correlation is None:
        return {}
    regions, least = dict(_regions(areas, cells, variable, share)), 0.0 if share is None else FEWEST_UNSURE_OF_AREA
    return dict(_scales(correlation, areas.places, regions, least))


def means_of_areas(areas: Areas, variable: str, known: KnownCorrelation | None, level: float) -> dict[str, AreaMean]:
    """Return the means of the whole and of regions of a variable, with a correlation that is known from elsewhere."""
    cells, side = areas.cells(variable), cell_side(areas.places)
    regions = _regions(areas, cells, variable)
    known = _of_cells(known, side)
    return {name: area_mean(own, known, level, side, NOT_KNOWN) for name, own in regions if len(own)}


def shares_of_areas(
    areas: Areas, variable: str, share: Share, known: KnownCorrelation | None, level: float
) -> dict[str, AreaMean]:
    """Return the same of a share of these areas."""
    side = cell_side(areas.places)
    regions = dict(_regions(areas, areas.cells(variable, share), variable, share))
    return _shares(regions, _of_cells(known, side), level, side, NOT_KNOWN_ABOVE)


def _of_cells(known: KnownCorrelation | None, side: float) -> KnownCorrelation | None:
    return known.of_cells(side) if known is not None and side > 0 else known


def _regions(
    areas: Areas, cells: AreaCells, variable: str, share: Share | None = None
) -> Iterator[tuple[str, AreaCells]]:
    """Yield the whole and each region with its cells."""
    yield "all", cells
    tiles = np.array([place.tile for place in areas.places])
    for name, own in areas.lists.items():
        yield name, cells.some(np.isin(tiles, list(own))[cells.tile])
    for name in areas.zones:
        yield name, areas.cells_of_zone(name, variable, share).parts_of(cells)


def _scales(
    correlation: ErrorCorrelation, places: Sequence[TilePlace], regions: Mapping[str, AreaCells], least: float = 0.0
) -> Iterator[tuple[tuple[str, int], BlockMeans]]:
    """Yield means of blocks by their side in cells, of tiles, and of regions; only sizes of which there are areas.

    least : as of `block_means`.
    """
    for side in sides_of(places):
        if len(found := block_means(correlation, places, side, least)):
            yield ("block", side), found
    cells = correlation.cells
    in_each = (cells.tile == tile for tile in range(len(places)))
    tiles = [(cells.some(own), correlation.fold[own]) for own in in_each]
    others = [(own, correlation.folds_of(own)) for name, own in regions.items() if name != "all"]
    for kind, areas in (("tile", tiles), ("region", others)):
        if len(found := blocks_of_areas(correlation, areas, least)):
            yield (kind, 0), found
