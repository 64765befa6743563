"""Resamples of the parts of an evaluation unit, blocks of cells or tiles, and the sums that follow.

Each statistic says by its basis how parts become rows of numbers that add; a weighted sum of rows is a resample, which
the same basis turns into a `Summary`. Nothing here knows which statistics there are.

Draws come from the raw numbers of Philox, which numpy keeps the same for ever on all machines. Sums are products of the
matrix of draws with that of rows, in a loop of fixed order: a BLAS would give other last digits on other machines. Some
resamples are made at a time, so that the matrix of draws takes at most `BUDGET` bytes.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled_for
from geouq.metrics import MetricOptions, bin_edges
from geouq.summary import CellSummaries, Summary
from geouq.summary.moments import MomentBasis
from geouq.summary.statistic import Partition, StatisticBasis
from geouq.summary.variance_profile import BinBasis

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Counts = NDArray[np.uint16]
CellsOf = Callable[[str], Iterable[tuple[Ints, CellSummaries]]]  # parts of the cells of a tile, and their numbers

BUDGET = 1 << 24
TOGETHER = 32  # resamples whose sums stay in the processor's cache
MOST_LEFT_OUT = 200
KEPT_COUNTS = 1 << 20
N, WEIGHT = 0, 1  # columns of all rows


@dataclass(frozen=True)
class BootstrapBasis:
    """What the parts of an evaluation unit are measured against.

    statistics : the basis of each statistic that parts keep, by its name, moments first.
    """

    levels: tuple[float, ...]
    statistics: Mapping[str, StatisticBasis]

    @classmethod
    def of(cls, whole: Summary, partition: Partition) -> Self:
        """Return the basis of the parts of a unit whose summary is `whole`."""
        names = sorted(whole, key=lambda name: name != "moments")
        return cls(whole.levels, {name: whole[name].basis(partition) for name in names})

    @property
    def moments(self) -> MomentBasis:
        """Return the basis of the moments."""
        return cast("MomentBasis", self.statistics["moments"])

    @property
    def edges(self) -> Mapping[str, Floats]:
        """Return the edges of the bins, by the name of their scheme."""
        bins = self.statistics["variance"]
        return bins.edges if isinstance(bins, BinBasis) else {}

    @property
    def width(self) -> int:
        """Number of columns of all statistics."""
        return sum(basis.width for basis in self.statistics.values())

    def rows(self, parts: Mapping[str, Any], count: int) -> Floats:
        """Return the statistics of `count` parts as float64 (count, columns); 0 where parts lack one."""
        columns = [
            basis.to_rows(parts[name], count) if name in parts else np.zeros((count, basis.width))
            for name, basis in self.statistics.items()
        ]
        return np.concatenate(columns, axis=1)

    def summary(self, rows: Floats) -> Summary:
        """Return the Summary that sums of rows are, with the leading dimension of `rows` (R, columns)."""
        ends = np.cumsum([basis.width for basis in self.statistics.values()])
        columns = zip(self.statistics.items(), np.split(rows, ends[:-1], axis=-1), strict=True)
        return Summary(self.levels, {name: basis.from_rows(part) for (name, basis), part in columns})


def basis_of_cells(whole: Summary, metric_options: MetricOptions) -> BootstrapBasis:
    """Return what the cells of a unit are measured against."""
    shared = metric_options.shared_edges or {}
    edges = {
        scheme.name: shared[scheme.name] if scheme.name in shared else bin_edges(whole.variance, scheme)
        for scheme in metric_options.schemes
    }
    dropped = {name: None for name, own in whole.items() if not own.kept_by_cell}
    partition = Partition(whole.levels, are_cells=True, n=int(whole.n), edges=edges)
    return BootstrapBasis.of(whole.having(**dropped), partition)


def basis_of_tiles(whole: Summary, metric_options: MetricOptions) -> BootstrapBasis:
    """Return what the tiles of a unit are measured against; the order of errors, which is large, only if requested."""
    kept = whole if metric_options.ordering else whole.having(ordering=None)
    partition = Partition(whole.levels, are_cells=False, n=int(whole.n), groups=metric_options.groups.count)
    return BootstrapBasis.of(kept, partition)


def rows_of_cells(parts: Iterable[tuple[Ints, CellSummaries]], basis: BootstrapBasis) -> tuple[Ints, Floats]:
    """Return the numbers of the cells of a tile that hold pixels, int64 (cells), and their rows (cells, columns).

    Numbers increase; parts may come in any order.
    """
    numbers, rows = [np.empty(0, np.int64)], [np.empty((0, basis.width))]
    for own, part in parts:
        places, some = part.with_pixels()
        numbers.append(own[places])
        rows.append(basis.rows(some.parts, len(some)))
    number, order = np.unique(np.concatenate(numbers), return_index=True)
    return number, np.concatenate(rows)[order]


def sums_by_block(rows: Floats, block: Ints, blocks: int) -> Floats:
    """Return sums of the rows of each block, float64 (blocks, columns)."""
    sums = np.zeros((blocks, rows.shape[1]))
    _add_rows(rows, block, sums)
    return sums


def draws(blocks: int, resamples: int, seed: int, name: str) -> Iterator[Counts]:
    """How often each block is drawn, uint16 (some resamples, blocks) at a time, as often as there are blocks each.

    The draws follow from the seed and the name alone, and are the same however many come at a time.

    >>> [some.tolist() for some in draws(3, 2, seed=0, name="west")]
    [[[1, 2, 0], [1, 0, 2]]]
    """
    digest = hashlib.sha256(name.encode()).digest()
    words = [int.from_bytes(digest[start : start + 4], "little") for start in range(0, 32, 4)]
    source = np.random.Philox(np.random.SeedSequence([seed, *words]))
    together = max(1, min(TOGETHER, BUDGET // (2 * blocks)))
    for first in range(0, resamples, together):
        count = min(together, resamples - first)
        # the upper half of each number, scaled to the blocks: uneven by less than blocks / 2^32
        drawn = (source.random_raw((count, blocks)) >> np.uint64(32)) * np.uint64(blocks) >> np.uint64(32)
        place = drawn.astype(np.int64) + blocks * np.arange(count)[:, np.newaxis]
        yield np.bincount(place.ravel(), minlength=count * blocks).astype(np.uint16).reshape(count, blocks)


def resampled(sums: Floats, resamples: int, seed: int, name: str) -> Floats:
    """Return sums of the blocks of each resample, float64 (resamples, columns)."""
    drawn = np.zeros((resamples, sums.shape[1]))
    first = 0
    for some in _counts(len(sums), resamples, seed, name):
        _add_drawn(some, sums, drawn[first : first + some.shape[1]])
        first += some.shape[1]
    return drawn


def _counts(blocks: int, resamples: int, seed: int, name: str) -> Iterable[Counts]:
    """Return how often each block is drawn, (blocks, some resamples) at a time."""
    if blocks * resamples > KEPT_COUNTS:
        return (np.ascontiguousarray(some.T) for some in draws(blocks, resamples, seed, name))
    return _few_counts(blocks, resamples, seed, name)


@lru_cache(1)
def _few_counts(blocks: int, resamples: int, seed: int, name: str) -> Sequence[Counts]:
    """Return the same, kept for the next variable of a unit, which mostly has as many blocks."""
    return [np.ascontiguousarray(some.T) for some in draws(blocks, resamples, seed, name)]


def left_out(sums: Floats) -> Floats:
    """Return sums of all blocks but some, each block left out once, at most 200 at a time; float64 (groups, columns).

    NaN where sums are infinite, as of a log-loss is where the true class was given the probability 0.
    """
    group = left_out_groups(len(sums))
    groups = int(group[-1]) + 1
    of_groups = sums_by_block(sums, group, groups)
    with np.errstate(invalid="ignore"):
        return sums_by_block(of_groups, np.zeros(groups, np.int64), 1) - of_groups


def left_out_groups(blocks: int) -> Ints:
    """Return the number of the group with which each block is left out."""
    return np.arange(blocks) * min(blocks, MOST_LEFT_OUT) // blocks


@compiled_for("f8[:,::1], i8[::1], f8[:,::1]")
def _add_rows(rows: Floats, block: Ints, sums: Floats) -> None:
    for i in range(len(rows)):
        into = sums[block[i]]
        for j in range(rows.shape[1]):
            into[j] += rows[i, j]


@compiled_for("u2[:,::1], f8[:,::1], f8[:,::1]")
def _add_drawn(counts: Counts, sums: Floats, out: Floats) -> None:
    """Add counts (blocks, resamples) times sums (blocks, columns) to out (resamples, columns), block after block."""
    for b in range(counts.shape[0]):
        for r in range(counts.shape[1]):
            times = counts[b, r]
            if times:
                for j in range(sums.shape[1]):
                    out[r, j] += times * sums[b, j]
