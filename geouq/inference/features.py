"""Cells as rows of numbers that add: what a resample is a weighted sum of, and the Summary that such a sum is.

Second moments stand about the means of the whole pool, so that a sum loses no digits. Bins are those of the whole pool:
predictions are known everywhere, and only what the truth says of them is resampled. Where an edge falls into a key of a
cell's profile, each bin gets the share of that key that it has in the whole pool, so that all cells together give the
pool's bins.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.compiled import compiled
from geouq.inference.statistic_rows import MomentRows, PlainRows, StatisticRows
from geouq.metrics import MetricOptions, bin_edges
from geouq.summary import Binned, CellSummaries, Summary, VarianceProfile
from geouq.summary.binning import square_of_variance
from geouq.summary.moments import CENTRED
from geouq.summary.statistic import Statistic
from geouq.summary.variance_profile import COMPACT_SHIFT, FINE_SHIFT, UNWEIGHTED, N, lower_bound

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BINNED = 5  # variance, squared error, squared variance, n, weight: the sums of `Binned`


@dataclass(frozen=True)
class BootstrapBasis:
    """What the cells of a pool are measured against.

    centre : float64 (5), means of what is `CENTRED`; mean_squares : of error and z, of the pool. rows : of each
    statistic that cells keep, by its name, moments first.
    """

    levels: tuple[float, ...]
    centre: Floats
    mean_squares: tuple[float, float]
    rows: Mapping[str, StatisticRows]

    @property
    def edges(self) -> Mapping[str, Floats]:
        """Edges of the bins, by the name of their scheme."""
        bins = self.rows["variance"]
        return bins.edges if isinstance(bins, BinRows) else {}

    @property
    def width(self) -> int:
        """Number of columns of all statistics."""
        return sum(own.width for own in self.rows.values())


def basis_of(whole: Summary, choices: MetricOptions) -> BootstrapBasis:
    """Return what cells of a pool whose summary is `whole`, with at least one pixel, are measured against."""
    shared = choices.shared_edges or {}
    schemes = {scheme.name: scheme for scheme in choices.schemes}
    edges = {
        name: shared[name] if name in shared else bin_edges(whole.variance, scheme) for name, scheme in schemes.items()
    }
    centre = np.array([whole.moments.mean(name) for name in CENTRED])
    squares = float(whole.moments.mean_square("error")), float(whole.moments.mean_square("z"))
    return BootstrapBasis(whole.levels, centre, squares, rows_of(whole, centre, BinRows.of(whole.variance, edges)))


def rows_of(whole: Summary, centre: Floats, bins: "BinRows") -> dict[str, StatisticRows]:
    """Return the rows of each statistic of a summary that cells keep."""
    special: dict[str, StatisticRows] = {"moments": MomentRows(centre), "variance": bins}
    return {
        name: special[name] if name in special else PlainRows.of(own.of_no_cell(whole.levels))
        for name, own in whole.items()
        if own.kept_by_cell
    }


def features_of(parts: Iterable[tuple[Ints, CellSummaries]], cells: int, frame: BootstrapBasis) -> Floats:
    """Return a row for each of the `cells` of a tile, float64 (cells, columns); parts may come in any order."""
    rows = np.zeros((cells, frame.width))
    for numbers, part in parts:
        rows[numbers] = np.concatenate([own.of_cells(part, name) for name, own in frame.rows.items()], axis=1)
    return rows


def summary_of(rows: Floats, frame: BootstrapBasis) -> Summary:
    """Return the Summary that sums of features are, with the leading dimension of `rows` (R, columns)."""
    ends = np.cumsum([own.width for own in frame.rows.values()])
    parts = zip(frame.rows.items(), np.split(rows, ends[:-1], axis=-1), strict=True)
    return Summary(frame.levels, {name: own.statistic(part) for (name, own), part in parts})


@dataclass(frozen=True)
class BinRows:
    """Rows of the sums in the bins of the pool.

    edges : of the bins, by the name of their scheme. shares : float64 (keys, bins of all schemes, 5), the share that
    each bin has of each compact key from `first_key` on.
    """

    edges: Mapping[str, Floats]
    first_key: int
    shares: Floats

    @classmethod
    def of(cls, profile: VarianceProfile, edges: Mapping[str, Floats]) -> "BinRows":
        """Return the rows of bins with these edges of a pool that has this profile."""
        keys = np.unique(profile.keys >> (COMPACT_SHIFT - FINE_SHIFT))
        shares = [_shares(profile, own, keys) for own in edges.values()]
        spanned = int(keys[-1] - keys[0]) + 1 if len(keys) else 0
        together = np.concatenate(shares, axis=1) if shares else np.empty((spanned, 0, BINNED))
        return cls(edges, int(keys[0]) if len(keys) else 0, together)

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.shares.shape[1] * BINNED

    def of_cells(self, cells: CellSummaries, name: str) -> Floats:  # noqa: ARG002  entries stand apart
        """Return the sums of each cell in the bins."""
        bins = np.zeros((len(cells), *self.shares.shape[1:]))
        key = cells.entry_key.astype(np.int64) - self.first_key
        _sort_into(cells.entry_cell.astype(np.int64), key, cells.entry_sums.astype(np.float64), self.shares, bins)
        return bins.reshape(len(cells), self.width)

    def statistic(self, rows: Floats) -> Statistic:
        """Return a profile that is known by these bins alone."""
        return _BinsOfResamples.of(rows, self.edges)


@dataclass(frozen=True)
class _BinsOfResamples(VarianceProfile):
    """A profile that is known by the bins of the pool alone."""

    bins: Mapping[bytes, Binned] | None = None

    @classmethod
    def of(cls, sums: Floats, schemes: Mapping[str, Floats]) -> "_BinsOfResamples":
        """Return the bins of resamples from rows of sums."""
        rows = len(sums)
        columns, start, bins = sums.reshape(rows, sums.shape[1] // BINNED, BINNED), 0, {}
        for edges in schemes.values():
            variance, squared_error, squared_variance, n, weight = np.moveaxis(
                columns[:, start : start + len(edges) - 1], -1, 0
            )
            exact = np.zeros(rows, np.bool_)
            bins[edges.tobytes()] = Binned(edges, variance, squared_error, squared_variance, n, weight, exact)
            start += len(edges) - 1
        none = np.zeros((rows, 0, UNWEIGHTED))
        return cls(COMPACT_SHIFT, np.empty(0, np.int64), none, np.zeros(rows), np.zeros(rows), None, bins)

    def binned(self, edges: Floats) -> Binned:
        """Return the sums of the bins with these edges."""
        return (self.bins or {})[np.asarray(edges).tobytes()]


@compiled
def _sort_into(cell: Ints, key: Ints, sums: Floats, shares: Floats, out: Floats) -> None:
    """Add each entry to the bins of its cell, out (cells, bins, 5), by the shares of its key."""
    for e in range(len(cell)):
        variance, squared_error, n, weight = sums[e, 0], sums[e, 1], sums[e, N], sums[e, -1]
        if n == 0:
            continue
        squared_variance = square_of_variance(sums[e])
        for j in range(shares.shape[1]):
            share, into = shares[key[e], j], out[cell[e], j]
            if share[3] > 0:
                into[0] += share[0] * variance
                into[1] += share[1] * squared_error
                into[2] += share[2] * squared_variance
                into[3] += share[3] * n
                into[4] += share[4] * weight


def _shares(profile: VarianceProfile, edges: Floats, keys: Ints) -> Floats:
    """Share that each bin has of each compact key from the first to the last, (keys, bins, 5)."""
    lowest, highest = float(profile.lowest), float(profile.highest)
    borders = lower_bound(keys, COMPACT_SHIFT)
    inside = np.concatenate([edges, borders])
    cuts = np.unique([lowest, highest, *inside[(inside > lowest) & (inside < highest)]])
    cuts = cuts if len(cuts) > 1 else np.repeat(cuts, 2)
    found = profile.binned(cuts)
    fields = (found.variance, found.squared_error, found.squared_variance, found.n, found.weight)
    key = keys[np.searchsorted(borders, cuts[:-1], side="right") - 1] - keys[0]
    bins = len(edges) - 1
    last = (cuts[:-1] == edges[-1]) & (cuts[1:] == edges[-1])
    of = np.where(last, bins - 1, np.searchsorted(edges, cuts[:-1], side="right") - 1)
    used = (of >= 0) & (of < bins)
    sums, total = np.zeros((int(keys[-1] - keys[0]) + 1, bins, BINNED)), np.zeros((int(keys[-1] - keys[0]) + 1, BINNED))
    np.add.at(total, key, np.stack(fields, axis=-1))
    np.add.at(sums, (key[used], of[used]), np.stack(fields, axis=-1)[used])
    return np.divide(sums, total[:, np.newaxis], out=np.zeros_like(sums), where=total[:, np.newaxis] > 0)
