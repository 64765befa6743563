"""Cells as rows of numbers that add: what a resample is a weighted sum of, and the Summary that such a sum is.

Second moments stand about the means of the whole pool, so that a sum loses no digits. Bins are those of the whole pool:
predictions are known everywhere, and only what the truth says of them is resampled. Where an edge falls into a key of a
cell's profile, each bin gets the share of that key that it has in the whole pool, so that all cells together give the
pool's bins.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geouq.compiled import compiled
from geouq.metrics import MetricOptions, bin_edges
from geouq.summary import Binned, CellSummaries, FormSums, Moments, Summary, VarianceProfile, ZHistogram
from geouq.summary.binning import square_of_variance
from geouq.summary.form import Form
from geouq.summary.moments import CENTRED, LEFT, PRODUCTS, RIGHT, SUMS
from geouq.summary.variance_profile import COMPACT_SHIFT, FINE_SHIFT, UNWEIGHTED, N, lower_bound
from geouq.summary.z_histogram import COMPACT, edge_probabilities

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

C = len(CENTRED)
MOMENTS = 2 + len(SUMS) + len(PRODUCTS)  # columns of n, weight, sums and products
BINNED = 5  # variance, squared error, squared variance, n, weight: the sums of `Binned`


@dataclass(frozen=True)
class BootstrapBasis:
    """What the cells of a pool are measured against.

    centre : float64 (5), means of what is `CENTRED`; mean_squares : of error and z, of the pool. edges : of the bins,
    by the name of their scheme. shares : float64 (keys, bins of all schemes, 5), the share that each bin has of each
    compact key from `first_key` on. given : level of the intervals that the forecast gives
    itself. form : in which it is given, None for mean and variance.
    """

    levels: tuple[float, ...]
    centre: Floats
    mean_squares: tuple[float, float]
    edges: dict[str, Floats]
    first_key: int
    shares: Floats
    given: float | None
    form: Form | None = None

    @property
    def edge_probabilities(self) -> Floats:
        """Edges between which a cell counts z."""
        return edge_probabilities(self.levels, COMPACT)

    @property
    def widths(self) -> tuple[int, ...]:
        """Columns of moments, interval scores, z counts, bins, and the sums of the form."""
        bins, form = self.shares.shape[1] * BINNED, 0 if self.form is None else self.form.width
        return (MOMENTS, len(self.levels), len(self.edge_probabilities) + 1, bins, form)


def frame_of(whole: Summary, choices: MetricOptions) -> BootstrapBasis:
    """Return the frame of a pool whose summary is `whole`, with at least one pixel."""
    shared = choices.shared_edges or {}
    schemes = {scheme.name: scheme for scheme in choices.schemes}
    edges = {
        name: shared[name] if name in shared else bin_edges(whole.variance, scheme) for name, scheme in schemes.items()
    }
    keys = np.unique(whole.variance.keys >> (COMPACT_SHIFT - FINE_SHIFT))
    centre = np.array([whole.moments.mean(name) for name in CENTRED])
    shares = [_shares(whole.variance, own, keys) for own in edges.values()]
    spanned = int(keys[-1] - keys[0]) + 1 if len(keys) else 0
    together = np.concatenate(shares, axis=1) if shares else np.empty((spanned, 0, BINNED))
    squares = float(whole.moments.mean_square("error")), float(whole.moments.mean_square("z"))
    first = int(keys[0]) if len(keys) else 0
    return BootstrapBasis(whole.levels, centre, squares, edges, first, together, whole.given, whole.given_as)


def features_of(parts: Iterable[tuple[Ints, CellSummaries]], cells: int, frame: BootstrapBasis) -> Floats:
    """Return a row for each of the `cells` of a tile, float64 (cells, columns); parts may come in any order."""
    rows = np.zeros((cells, sum(frame.widths)))
    for numbers, part in parts:
        rows[numbers] = np.concatenate(_columns(part, frame), axis=1)
    return rows


def summary_of(rows: Floats, frame: BootstrapBasis) -> Summary:
    """Return the Summary that sums of features are, with the leading dimension of `rows` (R, columns)."""
    of_moments, scores, z, bins, of_form = np.split(rows, np.cumsum(frame.widths)[:-1], axis=-1)
    moments = moments_of(of_moments, frame.centre)
    counts: NDArray[Any] = z  # whole numbers, or weights
    profile = _BinsOfResamples.of(bins, frame, len(rows))
    form = None if frame.form is None else FormSums(frame.form, of_form)
    z_histogram = ZHistogram(frame.edge_probabilities, counts)
    return Summary(frame.levels, moments, scores, z_histogram, profile, given=frame.given, form=form)


def moment_columns(moments: Moments, centre: Floats) -> Floats:
    """Columns of n, weight, sums and products about the centre, which add; float64 (rows, `MOMENTS`)."""
    weight, sums = moments.weight[:, np.newaxis], moments.sums.copy()
    sums[:, :C] -= weight * centre
    away = np.divide(sums[:, :C], weight, out=np.zeros_like(sums[:, :C]), where=weight > 0)
    products = moments.products + weight * away[:, LEFT] * away[:, RIGHT]
    return np.concatenate([moments.n[:, np.newaxis].astype(np.float64), weight, sums, products], axis=1)


def moments_of(columns: Floats, centre: Floats) -> Moments:
    """Return the moments that sums of such columns are."""
    n, weight, sums, products = np.split(columns, np.cumsum([1, 1, len(SUMS)]), axis=-1)
    away = np.divide(sums[:, :C], weight, out=np.zeros_like(sums[:, :C]), where=weight > 0)
    sums = sums.copy()
    sums[:, :C] += weight * centre
    products = products - weight * away[:, LEFT] * away[:, RIGHT]
    products[:, :C] = np.maximum(products[:, :C], 0)  # squares, of which the last digit may be left over
    return Moments(np.rint(n[:, 0]).astype(np.int64), weight[:, 0], sums, products)


@dataclass(frozen=True)
class _BinsOfResamples(VarianceProfile):
    """A profile that is known by the bins of the pool alone."""

    bins: Mapping[bytes, Binned] | None = None

    @classmethod
    def of(cls, sums: Floats, frame: BootstrapBasis, rows: int) -> "_BinsOfResamples":
        columns, start, bins = sums.reshape(rows, -1, BINNED), 0, {}
        for edges in frame.edges.values():
            variance, squared_error, squared_variance, n, weight = np.moveaxis(
                columns[:, start : start + len(edges) - 1], -1, 0
            )
            exact = np.zeros(rows, np.bool_)
            bins[edges.tobytes()] = Binned(edges, variance, squared_error, squared_variance, n, weight, exact)
            start += len(edges) - 1
        none = np.zeros((rows, 0, UNWEIGHTED))
        return cls(COMPACT_SHIFT, np.empty(0, np.int64), none, np.zeros(rows), np.zeros(rows), None, bins)

    def binned(self, edges: Floats) -> Binned:
        return (self.bins or {})[np.asarray(edges).tobytes()]


def _columns(part: CellSummaries, frame: BootstrapBasis) -> list[Floats]:
    bins = np.zeros((len(part), *frame.shares.shape[1:]))
    key = part.entry_key.astype(np.int64) - frame.first_key
    _sort_into(part.entry_cell.astype(np.int64), key, part.entry_sums.astype(np.float64), frame.shares, bins)
    z = part.z_counts.astype(np.float64)
    moments = moment_columns(part.moments, frame.centre)
    form = np.empty((len(part), 0)) if part.form is None else part.form.sums
    return [moments, part.interval_scores, z, bins.reshape(len(part), frame.widths[-2]), form]


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
