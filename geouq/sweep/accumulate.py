"""What one group adds up to for one variable, and how the groups of a tile are added one after the other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import add
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from geouq.core.distribution import NORMAL, Distribution
from geouq.core.grid import Grid, Window
from geouq.core.validity import REASONS
from geouq.kernel import CellSums, Sampled, Totals, prune_tail, take_cells, take_counts, take_keys
from geouq.kernel.accumulators import HIGHEST, ORDERING_STEP
from geouq.reading.cutting import BAND, bands_of
from geouq.summary import (
    CellSummaries,
    Moments,
    Summary,
    TailPixels,
    VariableSummary,
    VarianceProfile,
    ZHistogram,
)
from geouq.summary.coverage_profile import POSITIVE, ClassCoverage, CoverageProfile
from geouq.summary.exceedance import FIELDS as OF_EXCEEDANCE
from geouq.summary.exceedance import Exceedance, exceedance_name
from geouq.summary.form import FormSums, no_sums
from geouq.summary.interval_scores import GivenLevel, IntervalScores, IntervalWidths
from geouq.summary.joint_sample import JointSample
from geouq.summary.moments import PRODUCTS, SUMS
from geouq.summary.ordering_profile import CLASSES, OrderingProfile
from geouq.summary.pixel_statistic import NO_PIXELS, PIXEL_STATISTICS
from geouq.summary.statistic import Statistic
from geouq.summary.summary import COVERAGE_BY
from geouq.summary.swept_pixels import ENDS_BAND, ENDS_GROUP, ProfileOfPixels, SweptPixels, order_of_singles
from geouq.summary.tail_pixels import BUDGET, FEW
from geouq.summary.threshold_sums import BINS, FIELDS, ThresholdSums
from geouq.summary.variance_profile import FIELDS as OF_KEY
from geouq.summary.variance_profile import FINE_SHIFT, UNWEIGHTED, N, key_of
from geouq.summary.z_histogram import COMPACT, FINE, edge_probabilities
from geouq.sweep.growing_rows import GrowingRows
from geouq.sweep.settings import Settings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Append = Callable[[NDArray[np.uint32], NDArray[np.uint16], NDArray[np.float32]], None]


NOTHING_ADDED: Mapping[str, Statistic] = MappingProxyType({})
TOGETHER = 64  # neighbouring keys of the variance that are handed on as one row
Every = tuple[Floats, Ints]  # pixels (pixels, 2 or 3) as of `TailPixels`, and their places
Rows = tuple[Ints, Floats]  # numbers, increasing, and a row of sums for each


@dataclass(frozen=True)
class VariablePart:
    """Totals of a group, and the sums of its cells; no cells where no pixel is valid.

    profile : by blocks of `TOGETHER` keys of the variance (blocks, keys x 4 or 6), None if there is `swept`.
    groups : for each grouping, by key (keys, levels + 1). ordering : by coarser key of the variance.
    highest : variance, -inf where no pixel is valid. sample : None where pixels are not sampled.
    every : every pixel, None where they are not few. added : statistics of the cells that numpy computes, by name.
    swept : every pixel, instead of `every`.
    """

    profile: Rows | None
    z_counts: Floats
    excluded: Ints
    kept: TailPixels
    groups: tuple[Rows, ...]
    ordering: Rows
    exceeding: Floats
    highest: float
    cells: CellSums | None
    sample: JointSample | None
    every: Sequence[Every] | None
    added: Mapping[str, Statistic]
    swept: SweptPixels | None = None


NO_ORDERING: Rows = np.empty(0, np.int64), np.empty((0, CLASSES))
PieceSum = list[tuple[Window, list[VariablePart]]]


def take_part(
    cells: CellSums,
    totals: Totals,
    sampled: Sampled,
    every: Sequence[Every] | None = None,
    added: Mapping[str, Statistic] = NOTHING_ADDED,
    *,
    swept: SweptPixels | None = None,
) -> VariablePart:
    """Return the part that the kernel's arrays hold, copied without unused room; empty the arrays."""
    lowest, highest = float(cells.extremes[:, 0].min()), float(cells.extremes[:, 1].max())
    kept = _kept(totals)
    # keys beyond the extremes are not looked at, so that their memory is never taken
    wanted = lowest <= highest and (swept is None or totals.ordering.size > 0)
    first, last = (int(key_of(v, FINE_SHIFT)) for v in (lowest, highest)) if wanted else (0, -1)
    profile = _profiled(totals, first, last) if swept is None else None
    taken = take_cells(cells) if lowest <= highest else None
    groups = tuple(take_keys(*pair) for pair in zip(totals.groups, totals.touched, strict=True))
    ordering = _ordered(totals.ordering, first, last)
    z_counts, excluded, exceeding = take_counts(totals)
    sample = _sample(sampled)
    return VariablePart(
        profile, z_counts, excluded, kept, groups, ordering, exceeding, highest, taken, sample, every, added, swept
    )


def _kept(totals: Totals) -> TailPixels:
    """Return the pixels of the tail, copied."""
    if not totals.kept_state[0]:
        return TailPixels()
    prune_tail(totals)
    tail, stored = (int(number) for number in totals.kept_state)
    return TailPixels(tail, pixels=totals.kept[: stored if tail else 0].copy())


def _sample(sampled: Sampled) -> JointSample | None:
    """Return the pixels with the lowest numbers, copied; there are none afterwards."""
    if not sampled.number.size:
        return None
    used = int(sampled.used[0])
    sampled.used[0], sampled.limit[0] = 0, HIGHEST
    return JointSample.lowest(sampled.number[:used], sampled.log_density[:used])


def _profiled(totals: Totals, first: int, last: int) -> Rows:
    """Return the blocks of keys of the variance from the block of `first` to the block of `last`, and empty them."""
    blocks = np.arange(first // TOGETHER, last // TOGETHER + 1)
    seen = slice(first // TOGETHER * TOGETHER, (last // TOGETHER + 1) * TOGETHER)
    rows = totals.profile[seen].copy()
    totals.profile[seen] = 0
    if totals.profile_weights.size:
        rows = np.column_stack([rows, totals.profile_weights[seen]])
        totals.profile_weights[seen] = 0
    return blocks, rows.reshape(len(blocks), TOGETHER * rows.shape[-1])


def _ordered(counts: Floats, first: int, last: int) -> Rows:
    """Rows of the ordering from the first key of the variance to the last, copied; they are empty afterwards."""
    if not counts.size:
        return NO_ORDERING
    seen = counts.reshape(-1, CLASSES)[first >> ORDERING_STEP : (last >> ORDERING_STEP) + 1]
    used = np.flatnonzero(seen.any(-1))
    part = (first >> ORDERING_STEP) + used, seen[used]
    seen[:] = 0
    return part


class VariableSum:
    """Sums of a variable of a tile. Groups are added to it, in each band from top to bottom.

    Entries of cells are handed to `append` at once.
    """

    def __init__(
        self,
        grid: Grid,
        settings: Settings,
        append: Append,
        thresholds: tuple[float, ...] = (),
        *,
        weighted: bool,
        given: float | None = None,
        tile: str = "",
        distribution: Distribution = NORMAL,
    ) -> None:
        levels, form = settings.levels, settings.form
        self._tile = tile
        self._every: list[Every] | None = [] if settings.keeps_few else None
        self._swept: list[tuple[int, SweptPixels]] | None = [] if settings.keeps_few else None
        self._settings, self._append, self._weighted = settings, append, weighted
        self._thresholds, self._given, self._distribution = thresholds, given, distribution.evaluated
        self._shape = grid.coarsened_shape(settings.cell_size)
        bands = bands_of(grid)
        room = BUDGET // max(bands, 1)
        self._bands = [_BandSum(settings, room, len(thresholds), weighted=weighted) for _ in range(bands)]
        self._excluded = np.zeros(len(REASONS), np.int64)
        count, compact = self._shape[0] * self._shape[1], len(edge_probabilities(levels, COMPACT)) + 1
        self._n, self._weight = np.zeros(count, np.int64), np.zeros(count)
        self._sums, self._products = np.zeros((count, len(SUMS))), np.zeros((count, len(PRODUCTS)))
        self._scores = np.zeros((count, len(levels)))
        self._widths = np.zeros((count, 0 if distribution.is_normal else len(levels)))
        self._cell_z = np.zeros((count, compact), np.float64 if weighted else np.int32)
        self._exceedance = np.zeros((count, len(thresholds), len(OF_EXCEEDANCE)))
        self._extremes = np.tile([np.inf, -np.inf], (count, 1))
        none = no_sums(form)
        self._form = None if none is None else FormSums(form, np.zeros((count, form.width)))
        self._sample = None if none is None else none.sample
        self._added: dict[str, list[tuple[Ints, Statistic]]] = {name: [] for name in self._names_added()}

    def _names_added(self) -> Sequence[str]:
        """Return the names of statistics that numpy computes, of forecasts that have a variance."""
        return self._settings.added if self._settings.form.has_variance else ()

    def add(self, part: VariablePart, group: Window) -> None:
        """Add the next group of its band."""
        band = group.column // BAND
        if part.swept is None:
            self._give_up_swept()
            self._keep_few(part.every)
        else:
            self._keep_swept(band, part.swept)
        self._bands[band].add(part)
        self._excluded += part.excluded
        if self._sample is not None and part.sample is not None:
            self._sample = self._sample + part.sample
        if part.cells is not None:
            self._put(part.cells, part.added, group)

    def _keep_swept(self, band: int, more: SweptPixels) -> None:
        """Keep every pixel in the order of the sweep as long as they are few; their sums by key otherwise."""
        if not len(more.variance):
            return
        if self._swept is None:
            self._add_swept(band, more)
            return
        self._swept.append((band, more))
        if sum(len(own.variance) for _, own in self._swept) > FEW:
            self._every = None
            self._give_up_swept()

    def _give_up_swept(self) -> None:
        """Add up the pixels that were kept in the order of the sweep: more follow that are not."""
        held, self._swept = self._swept or (), None
        for band, own in held:
            self._add_swept(band, own)

    def _add_swept(self, band: int, more: SweptPixels) -> None:
        first, sums = more.ending(ENDS_BAND).sums_by_key(TOGETHER)
        blocks = np.arange(first // TOGETHER, first // TOGETHER + len(sums) // TOGETHER)
        self._bands[band].add_profile(blocks, sums.reshape(len(blocks), -1))
        self._keep_few(None if self._every is None else [(more.pixels(), more.places())])

    def _keep_few(self, more: Sequence[Every] | None) -> None:
        """Keep every pixel as long as they are few."""
        if self._every is None or more is None:
            self._every = None
            return
        self._every.extend(more)
        if sum(len(place) for _, place in self._every) > FEW:
            self._every = None

    def _keeping_few(self, profile: VarianceProfile) -> VarianceProfile:
        """Return the profile with every pixel, where they are few."""
        if self._every is None:
            return profile
        pixels = np.concatenate([np.empty((0, 3 if self._weighted else 2)), *(own for own, _ in self._every)])
        place = np.concatenate([np.empty(0, np.int64), *(own for _, own in self._every)])
        order = order_of_singles(pixels[:, 0])
        return replace(profile, kept=TailPixels.every_one(self._settings.tail, self._tile, pixels, place, order))

    def _put(self, cells: CellSums, added: Mapping[str, Statistic], group: Window) -> None:
        """Put the cells of a group in their places."""
        place = self._places(group)
        self._n[place], self._weight[place] = cells.n, cells.weight
        self._sums[place], self._products[place] = cells.sums, cells.products
        self._scores[place], self._cell_z[place] = cells.interval_scores, cells.z_counts
        self._widths[place], self._exceedance[place] = cells.widths, cells.exceedance
        self._extremes[place] = cells.extremes
        if self._form is not None:
            self._form.sums[place] = cells.form
        for name, statistic in added.items():
            self._added[name].append((place, statistic))
        self._append(place[cells.entry_cell].astype(np.uint32), cells.entry_key, cells.entry_sums)

    def summary(self, cell: NDArray[np.uint32], key: NDArray[np.uint16], sums: NDArray[np.float32]) -> VariableSummary:
        """Return the whole and its cells, with these entries of cells."""
        cells = CellSummaries(self._settings.levels, self._of_cells(), self._extremes, cell, key, sums)
        whole = {name: own.total() for name, own in cells.statistics.items()} | self._of_bands()
        if self._form is not None:
            whole["form"] = replace(self._form.total(), sample=self._sample)
        return VariableSummary(Summary(self._settings.levels, whole), cells, self._excluded)

    def _of_cells(self) -> dict[str, Statistic]:
        """Return the statistics of the cells."""
        found: dict[str, Statistic] = {
            "moments": Moments(self._n, self._weight, self._sums, self._products),
            "interval_scores": IntervalScores(self._scores),
            "z": ZHistogram(edge_probabilities(self._settings.levels, COMPACT), self._cell_z),
        }
        if not self._distribution.is_normal:
            found["widths"] = IntervalWidths(self._distribution, self._widths)
        for k, threshold in enumerate(self._thresholds):
            found[exceedance_name(k)] = Exceedance(threshold, self._exceedance[:, k])
        if self._given is not None:
            found["given"] = GivenLevel(self._given)
        if self._form is not None:
            found["form"] = self._form
        return found | {name: self._in_their_places(name, parts) for name, parts in self._added.items()}

    def _in_their_places(self, name: str, parts: Sequence[tuple[Ints, Statistic]]) -> Statistic:
        """Return a statistic of all cells, put together from the cells of each group."""
        count = len(self._n)
        if not parts:
            return PIXEL_STATISTICS[name].of_pixels(NO_PIXELS, count)
        like = parts[0][1]
        arrays = {field: np.zeros((count, *own.shape[1:]), own.dtype) for field, own in like.to_arrays().items()}
        for place, part in parts:
            for field, values in part.to_arrays().items():
                arrays[field][place] = values
        return like.with_arrays(arrays)

    def _of_bands(self) -> dict[str, Statistic]:
        """Return the statistics of the whole that cannot be summed from the cells, and free the bands."""
        settings, bands = self._settings, self._bands
        extremes = self._extremes[:, 0].min(initial=np.inf), self._extremes[:, 1].max(initial=-np.inf)
        z_counts = np.sum([band.z_counts for band in bands], axis=0)
        counts = z_counts if self._weighted else z_counts.astype(np.int64)
        found: dict[str, Statistic] = {"z": ZHistogram(edge_probabilities(settings.levels, FINE), counts)}
        for i, name in enumerate(settings.groups):
            kind = ClassCoverage if name in settings.classes else CoverageProfile
            found[COVERAGE_BY + name] = reduce(add, (band.coverage(i, kind) for band in bands))
        if settings.ordering:
            found["ordering"] = reduce(add, (band.ordering() for band in bands))
        if self._thresholds:
            exceeding = np.sum([band.exceeding for band in bands], axis=0)
            found["thresholds"] = ThresholdSums(self._thresholds, exceeding)
        return {**found, "variance": self._profile(np.asarray(extremes[0]), np.asarray(extremes[1]))}

    def _profile(self, lowest: NDArray[np.float64], highest: NDArray[np.float64]) -> VarianceProfile:
        """Return the profile of the whole, and free the bands."""
        bands = self._bands
        if not self._swept:
            if self._every is not None:
                for band in bands:
                    band.give_up_tail()  # every pixel is kept
            profile = reduce(add, (bands.pop(0).profile(float(lowest), float(highest)) for _ in tuple(bands)))
            return self._keeping_few(profile)
        bands.clear()
        held = sorted(self._swept, key=lambda own: own[0])
        lasts = [band != after for (band, _), (after, _) in pairwise([*held, (-1, held[0][1])])]
        parts = [own.ending(ENDS_BAND if last else ENDS_GROUP) for (_, own), last in zip(held, lasts, strict=True)]
        return ProfileOfPixels.of(SweptPixels.joined(parts), (lowest, highest), self._settings.tail, self._tile)

    def _places(self, group: Window) -> Ints:
        """Return the number within the tile of each cell of a group."""
        size, columns = self._settings.cell_size, self._shape[1]
        rows = np.arange(group.row // size, -(-(group.row + group.height) // size))
        across = np.arange(group.column // size, -(-(group.column + group.width) // size))
        return np.add.outer(rows * columns, across).ravel()


class _BandSum:
    """Profile, counts and tail of a band. Groups are added to it from top to bottom.

    The tail is given up for good where one group or all of them keep more pixels than there is room for.
    """

    def __init__(self, settings: Settings, room: int, thresholds: int, *, weighted: bool) -> None:
        columns = len(settings.levels) + 1
        self.z_counts = np.zeros(len(edge_probabilities(settings.levels, FINE)) + 1)
        self.exceeding = np.zeros((thresholds, BINS, len(FIELDS)))
        self._profile = GrowingRows(TOGETHER * (len(OF_KEY) if weighted else UNWEIGHTED))
        self._groups = [GrowingRows(columns) for _ in settings.groups]
        self._ordering = GrowingRows(CLASSES)
        self._highest = -np.inf
        self._tail, self._room, self._stored = settings.tail, room, 0
        self._kept = [np.empty((0, 3 if weighted else 2))]

    def add(self, part: VariablePart) -> None:
        """Add the next group."""
        self.z_counts += part.z_counts
        if part.kept.tail == 0:
            self.give_up_tail()
        if np.isinf(part.highest):
            return
        if part.profile is not None:
            self.add_profile(*part.profile)
        self._highest = max(self._highest, part.highest)
        self.exceeding += part.exceeding
        self._ordering.add(*part.ordering)
        for total, rows in zip(self._groups, part.groups, strict=True):
            total.add(*rows)
        if self._tail:
            self._keep(part.kept.pixels)

    def add_profile(self, blocks: Ints, sums: Floats) -> None:
        """Add sums of blocks of keys of the variance."""
        self._profile.add(blocks, sums)

    def profile(self, lowest: float, highest: float) -> VarianceProfile:
        """Return the sums of the band. The extremes of the tile limit which pixels of the tail it keeps."""
        kept = TailPixels.ordered(self._tail, np.empty(0, np.int64), self._rows_of_tail(highest))
        extremes = np.asarray(lowest), np.asarray(highest)
        blocks = self._profile.numbers
        keys = np.add.outer(blocks * TOGETHER, np.arange(TOGETHER)).ravel()
        sums = self._profile.sums.reshape(len(keys), self._profile.sums.shape[-1] // TOGETHER)
        used = sums[:, N] > 0
        return VarianceProfile(FINE_SHIFT, keys[used], sums[used], *extremes, kept)

    def coverage(self, grouping: int, kind: type[CoverageProfile]) -> CoverageProfile:
        """Return the coverage by the value, or the class, of that number."""
        return kind(self._groups[grouping].numbers - POSITIVE, self._groups[grouping].sums)

    def ordering(self) -> OrderingProfile:
        """Return the pixels by variance and |z|."""
        return OrderingProfile.of(self._ordering.numbers, self._ordering.sums)

    def _keep(self, pixels: Floats) -> None:
        self._kept.append(pixels)
        self._stored += len(pixels)
        if self._stored > self._room:
            self._kept = [self._rows_of_tail(self._highest)]
            self._stored = len(self._kept[0])
        if self._stored > self._room:
            self.give_up_tail()

    def _rows_of_tail(self, highest: float) -> Floats:
        """Return the stored pixels that belong to the tail below that highest variance."""
        rows = np.concatenate(self._kept)
        if self._tail and np.isfinite(highest):
            rows = rows[key_of(rows[:, 0], FINE_SHIFT) >= key_of(highest / self._tail, FINE_SHIFT)]
        return rows

    def give_up_tail(self) -> None:
        """Keep no pixel any more."""
        self._tail, self._stored, self._kept = 0, 0, [self._kept[0][:0]]
