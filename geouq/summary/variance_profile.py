"""What pixels of (nearly) equal predicted variance contribute; bins of any kind are formed from it afterwards.

The key of a pixel is the leading bits of its variance as a float32: sign and exponent, then 9 bits of mantissa in a
tile's profile (neighbouring keys differ by 1 part in 512), 4 bits in a cell's (16 keys an octave).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geouq.core.compiled import compiled_for
from geouq.core.errors import SummaryError
from geouq.core.sending import Sendable
from geouq.summary.binning import Runs, bin_rows, order_statistics, runs_of, split_row, square_of_variance
from geouq.summary.moments import finite_or_missing
from geouq.summary.statistic import Array, Dimensions, Partition, Spec, Statistic, StatisticBasis
from geouq.summary.tail_pixels import BUDGET, FEW, TailPixels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_Row = tuple[Floats, Floats, float, float, NDArray[np.bool_], Floats]

FINE_SHIFT = 14
COMPACT_SHIFT = 19
OCTAVE = 512  # keys
PATIENCE = 1 << 16  # kept pixels that may wait to be looked through
FIELDS = ("variance", "squared_error", "std", "n", "weighted_variance_square", "weight")  # the last two with weights
KEPT = ("variance", "squared_error", "weight")
UNWEIGHTED = 4
N = FIELDS.index("n")
BINNED = 5  # sums of `Binned`: variance, squared error, squared variance, n, weight
VARIANCE_CLASSES = 200  # of resamples of tiles: each holds about as many pixels of the whole


def key_of(variance: ArrayLike, shift: int) -> Ints:
    """Return the key of each variance: the bits of its float32 without the last `shift`.

    >>> key_of([1.0, 1.001, 1.003, 2.0], FINE_SHIFT) - key_of(1.0, FINE_SHIFT)
    array([  0,   0,   1, 512])
    """
    with np.errstate(over="ignore"):
        return np.asarray(variance).astype(np.float32).view(np.uint32).astype(np.int64) >> shift


def lower_bound(keys: Ints, shift: int) -> Floats:
    """Return the lowest variance of each key."""
    return (keys << shift).astype(np.uint32).view(np.float32).astype(np.float64)


@dataclass(frozen=True)
class Binned(Sendable):
    """Sums of pixels by bin of predicted variance; leading dimensions as the profile's, bins last.

    edges : float64 (..., bins + 1). n : pixels. weight : sums of their weights, n where they have none, NaN where these
    overflow.
    variance, squared_error : weighted sums. squared_variance : sums of (weight x variance)^2.
    exact : bool (...), False where an edge splits a key of the profile.
    """

    edges: Floats
    variance: Floats
    squared_error: Floats
    squared_variance: Floats
    n: Floats
    weight: Floats
    exact: NDArray[np.bool_]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", finite_or_missing(self.weight))

    def once(self, function: Callable[[Self], Floats]) -> Floats:
        """Return function(self), which is called once: what several metrics need. They must not change it."""
        if function not in self._found:
            self._found[function] = function(self)
        return self._found[function]

    @cached_property
    def _found(self) -> dict[Callable[[Self], Floats], Floats]:
        return {}

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Return which bins have pixels."""
        return self.n > 0

    @cached_property
    def mean_variance(self) -> Floats:
        """Return the mean predicted variance of each bin; NaN where empty."""
        return _ratio(self.variance, self.weight)

    @cached_property
    def mse(self) -> Floats:
        """Return the mean squared error of each bin; NaN where empty."""
        return _ratio(self.squared_error, self.weight)

    @cached_property
    def share(self) -> Floats:
        """Return the share of the weight in each bin; NaN without weight."""
        return _ratio(self.weight, self.weight.sum(-1, keepdims=True))


def _ratio(total: Floats, weight: Floats) -> Floats:
    """Return total / weight, NaN where there is no weight; read-only, as all who ask share it."""
    used = weight > 0
    if used.all():  # three times as fast as with `where`
        found = np.divide(total, weight, out=np.empty(total.shape))
    else:
        found = np.divide(total, weight, out=np.full(total.shape, np.nan), where=used)
    found.setflags(write=False)
    return found


@dataclass(frozen=True)
class VarianceProfile(Statistic):
    """Weighted sums of variance, squared error and std, and n, for each key of the predicted variance.

    shift : bits of the float32 variance that the key leaves out.
    keys : int64 (keys), increasing; shared by all leading dimensions.
    sums : float64 (..., keys, 4, or 6 where pixels have weights), in the order of `FIELDS`.
    lowest, highest : float64 (...), extremes of the variance; inf and -inf where there is no pixel.
    kept : single pixels for exact edges; only without leading dimensions.
    """

    shift: int
    keys: Ints
    sums: Floats
    lowest: Floats
    highest: Floats
    kept: TailPixels | None = None
    required: ClassVar[bool] = True
    dimensions: ClassVar[Dimensions] = {
        "keys": ("*key",),
        "sums": ("*key", "field"),
        "lowest": (),
        "highest": (),
        "kept_tail": (),
        "kept_pixels": ("*kept", "kept_field"),
        "kept_place": ("*place",),
        "kept_owner": ("*owner",),
        "kept_wanted": ("*wanted",),
    }
    explained: ClassVar[Mapping[str, str]] = {
        "keys": "leading bits of the float32 variance, shifted right by 14",
        "sums": "sums over the pixels of one key of the predicted variance",
        "lowest": "lowest predicted variance",
        "highest": "highest predicted variance",
        "kept_tail": "pixels with at least highest variance / kept_tail are kept (0: none; -1: not recorded)",
        "kept_pixels": "single pixels, kept so that edges of bins are exact",
        "kept_place": "row << 32 | column of each kept pixel, of variables of which every pixel is kept",
        "kept_owner": "number of the tile of each of these pixels, where there are several tiles",
        "kept_wanted": "other keys of which every pixel is kept",
        "field": "what is summed over the pixels of one key",
        "kept_field": "what is kept of a single pixel",
    }

    def to_arrays(self) -> dict[str, Array]:
        """Return sums by key and kept pixels."""
        kept = self.kept or TailPixels(-1)
        several = len(kept.tiles) > 1
        return {
            "keys": self.keys.astype(np.uint32),
            "sums": self.sums,
            "lowest": np.asarray(self.lowest),
            "highest": np.asarray(self.highest),
            "kept_tail": np.asarray(kept.tail, np.int64),
            "kept_pixels": kept.pixels,
            "kept_place": kept.place,
            "kept_owner": kept.owner if several else kept.owner[:0],
            "kept_wanted": kept.wanted.astype(np.uint32),
        }

    def spec(self) -> dict[str, Any]:
        """Return the precision of the keys, the number of sums, and the tiles of pixels that are all kept."""
        kept = self.kept or TailPixels(-1)
        columns = {"columns": self.sums.shape[-1], "kept_columns": kept.pixels.shape[-1]}
        return {"shift": self.shift, **columns, "every": kept.every, "tiles": list(kept.tiles)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], spec: Spec) -> Self:
        """Return the sums by key that were saved, and the kept pixels."""
        keys = arrays.get("keys", np.empty(0)).astype(np.int64)
        sums, tail = arrays.get("sums", np.empty((0, spec["columns"]))), int(arrays["kept_tail"])
        kept = None
        if tail >= 0:
            pixels = arrays.get("kept_pixels", np.empty((0, spec["kept_columns"])))
            place = arrays.get("kept_place", np.empty(0, np.int64))
            owner = arrays.get("kept_owner", np.zeros(len(place), np.int64))
            wanted = arrays.get("kept_wanted", np.empty(0)).astype(np.int64)
            kept = TailPixels(tail, wanted, pixels, bool(spec["every"]), place, owner, tuple(spec["tiles"]))
        return cls(spec["shift"], keys, sums, arrays["lowest"], arrays["highest"], kept)

    def labels(self) -> dict[str, Any]:
        """Return what is summed by key, and what is kept of a pixel."""
        weighted = self.sums.shape[-1] == len(FIELDS)
        return {"field": list(FIELDS[: self.sums.shape[-1]]), "kept_field": list(KEPT if weighted else KEPT[:-1])}

    def running(self) -> "RunningProfile":
        """Return a sum with this statistic, to add others to."""
        return RunningProfile(self)

    @property
    def loses_squares(self) -> bool:
        """Return whether the square of a (weighted) variance is too small for a float."""
        variance = self.sums[..., FIELDS.index("variance")]
        square = FIELDS.index("weighted_variance_square")
        squares = self.sums[..., square] if self.sums.shape[-1] > square else variance**2
        return bool(((variance > 0) & (squares < np.finfo(np.float64).tiny)).any())

    def quantiles(self, probabilities: Sequence[float]) -> Floats:
        """Quantiles of the variance, interpolated as numpy's default does, (..., probabilities); NaN without pixels.

        Within a key whose pixels are not kept, these are taken to be spread evenly.
        """
        requested = np.asarray(probabilities, np.float64)
        key = requested.tobytes()
        if key not in self._found:
            found = np.stack([order_statistics(*row, requested) for row in self._rows])
            self._found[key] = found.reshape(*self.lowest.shape, -1)
        return self._found[key].copy()

    def binned(self, edges: Floats) -> Binned:
        """Return sums by bin [edge_k, edge_k+1), the last closed; edges (..., bins + 1), not decreasing."""
        key = np.shape(edges), np.asarray(edges).tobytes()
        if key not in self._binned:
            self._binned[key] = self._sorted_into(np.broadcast_to(edges, (*self.lowest.shape, key[0][-1])))
        return self._binned[key]

    def split(self, bins: int) -> Binned:
        """Return sums of groups of pixels in the order of their variance, as `numpy.array_split` forms them.

        Groups differ by at most one pixel; the larger ones come first. Pixels with the same variance are in the order
        of tile, row and column. If the pixels of a key are not kept, a border takes a share of it, and the groups are
        not exact.
        """
        key = ("split", bins), b""
        if key not in self._binned:
            columns = [split_row(self._runs(row), bins) for row in self._rows]
            edges, sums, exact = (np.stack([column[i] for column in columns]) for i in range(3))
            lead = self.lowest.shape
            variance, squared_error, squared_variance, n, weight = np.moveaxis(sums.reshape(*lead, bins, 5), -1, 0)
            self._binned[key] = Binned(
                edges.reshape(*lead, -1), variance, squared_error, squared_variance, n, weight, exact.reshape(lead)
            )
        return self._binned[key]

    def _runs(self, row: _Row) -> Runs:
        """Return the pixels and keys of a row in the order of their variance."""
        borders, sums, lowest, highest, complete, _ = row
        kept = self.kept or TailPixels()
        return runs_of(borders, sums, (lowest, highest), complete, kept.by_place(), places_known=kept.every)

    def _sorted_into(self, edges: Floats) -> Binned:
        flat = edges.reshape(-1, edges.shape[-1]).astype(np.float64)
        sums = np.empty((len(flat), flat.shape[1] - 1, 5))
        exact = np.array([bin_rows(*row, flat[i], sums[i]) for i, row in enumerate(self._rows)], np.bool_)
        columns = np.moveaxis(sums.reshape(*edges.shape[:-1], -1, 5), -1, 0)
        variance, squared_error, squared_variance, n, weight = columns
        sorted_out = exact.reshape(self.lowest.shape)
        return Binned(edges, variance, squared_error, squared_variance, n, weight, sorted_out)

    def complete_keys(self) -> Ints:
        """Return the keys whose pixels are all kept."""
        if self.kept is None:
            return np.empty(0, np.int64)
        if self.kept.every:
            return self.keys
        whole = np.isin(self.keys, self.kept.wanted)
        return self.keys[whole | (self.keys >= self._tail_key())]

    def compact(self) -> Self:
        """Return the same sums with 16 keys an octave, and no pixel kept."""
        coarse = self.keys >> (COMPACT_SHIFT - self.shift)
        keys, group = np.unique(coarse, return_inverse=True)
        sums = np.zeros((*self.sums.shape[:-2], len(keys), self.sums.shape[-1]))
        np.add.at(np.moveaxis(sums, -2, 0), group, np.moveaxis(self.sums, -2, 0))
        return replace(self, shift=COMPACT_SHIFT, keys=keys, sums=sums, kept=None)

    def __add__(self, other: Self) -> Self:
        fields = max(self.sums.shape[-1], other.sums.shape[-1])
        if any(len(part.keys) and part.sums.shape[-1] < fields for part in (self, other)):
            raise SummaryError("one of these summaries is weighted and the other is not; they do not add")
        keys = np.union1d(self.keys, other.keys)
        sums = _spread(self, keys, fields) + _spread(other, keys, fields)
        lowest, highest = np.minimum(self.lowest, other.lowest), np.maximum(self.highest, other.highest)
        kept = _kept_of_both(self, other)
        total = replace(self, keys=keys, sums=sums, lowest=lowest, highest=highest, kept=kept).pruned()
        return replace(total, kept=total.kept and total.kept.in_order())

    def pruned(self) -> Self:
        """Without the kept pixels of keys that are not complete; the tail gives way when it passes its budget."""
        if self.kept is None or (self.kept.every and len(self.kept.pixels) <= FEW):
            return self
        keys, tail = key_of(self.kept.variance, self.shift), self.kept.tail
        in_tail = keys >= self._tail_key()
        if in_tail.sum() > BUDGET:
            tail, in_tail = 0, np.zeros_like(in_tail)
        chosen = in_tail | np.isin(keys, self.kept.wanted)
        return replace(self, kept=TailPixels(tail, self.kept.wanted, self.kept.pixels[chosen]))

    def total(self, axis: int = 0) -> Self:
        """Sum over one leading axis."""
        lowest, highest = self.lowest.min(axis, initial=np.inf), self.highest.max(axis, initial=-np.inf)
        return replace(self, sums=self.sums.sum(axis), lowest=lowest, highest=highest, kept=None)

    def basis(self, partition: Partition) -> StatisticBasis:
        """Return the bins of this whole for cells; for tiles, classes in the order of the variance."""
        if partition.are_cells:
            return BinBasis.of(self, partition.edges)
        return ClassBasis(self.keys, equal_classes(np.arange(len(self.keys)), self.sums[:, -1], VARIANCE_CLASSES))

    def _tail_key(self) -> int:
        if self.kept is None or self.kept.tail == 0 or not np.isfinite(self.highest):
            return 1 << 32
        return int(key_of(self.highest / self.kept.tail, self.shift))

    @cached_property
    def _binned(self) -> dict[tuple[tuple[Any, ...], bytes], Binned]:
        """Return the cache of bins: many metrics need the same ones."""
        return {}

    @cached_property
    def _found(self) -> dict[bytes, Floats]:
        """Return the cache of quantiles."""
        return {}

    @cached_property
    def _rows(self) -> list[_Row]:
        """Return the arguments of the row-wise functions of `binning`, one tuple for each leading index."""
        borders = np.stack([lower_bound(self.keys, self.shift), lower_bound(self.keys + 1, self.shift)], axis=-1)
        kept = self.kept or TailPixels()
        complete = np.isin(self.keys, self.complete_keys())
        sums = self.sums.reshape(self.lowest.size, len(self.keys), self.sums.shape[-1])
        extremes = zip(self.lowest.ravel(), self.highest.ravel(), strict=True)
        return [
            (borders, row, low, high, complete, kept.pixels) for row, (low, high) in zip(sums, extremes, strict=True)
        ]


def _spread(profile: VarianceProfile, keys: Ints, fields: int) -> Floats:
    sums = np.zeros((*profile.sums.shape[:-2], len(keys), fields))
    if len(profile.keys):
        sums[..., np.searchsorted(keys, profile.keys), :] = profile.sums
    return sums


def _kept_of_both(a: VarianceProfile, b: VarianceProfile) -> TailPixels | None:
    """Return the pixels of the keys that are complete in both parts, and perhaps of others, in no order."""
    if not len(a.keys) or not len(b.keys):
        return a.kept if len(a.keys) else b.kept
    if a.kept is None or b.kept is None:
        return None
    wanted = np.union1d(a.kept.wanted, b.kept.wanted)
    for part in (a, b):
        wanted = wanted[~np.isin(wanted, part.keys) | np.isin(wanted, part.complete_keys())]
    every, tail = a.kept.every and b.kept.every, min(a.kept.tail, b.kept.tail)
    return replace(a.kept.joined([b.kept]), tail=tail, wanted=wanted, every=every)


class RunningProfile:
    """Sums by key, counted from `first`, the keys present, and kept pixels, some of which may be dropped later."""

    def __init__(self, first: VarianceProfile) -> None:
        self._shift, self._first = first.shift, 0
        self._lowest, self._highest = np.asarray(np.inf), np.asarray(-np.inf)
        self._sums = first.sums[:0]
        self._used = np.zeros(0, np.bool_)
        self._kept: TailPixels | None = None
        self._waiting: list[TailPixels] = []
        self._is_joined = False
        self.add(first)

    def add(self, other: VarianceProfile) -> None:
        """Add one more; of one without pixels nothing counts but what it would keep, as long as there are none."""
        empty = not self._used.any()
        if not empty and not len(other.keys):
            return
        if empty or self._kept is None or other.kept is None:
            self._kept, self._waiting = other.kept if empty else None, []
        else:
            tail, every = min(self._kept.tail, other.kept.tail), self._keeps_every_with(other.kept)
            self._kept = replace(self._kept, tail=tail, wanted=self._wanted_with(other), every=every)
            self._waiting.append(other.kept)
        self._lowest, self._highest = np.minimum(self._lowest, other.lowest), np.maximum(self._highest, other.highest)
        if empty:
            self._sums = np.empty((0, max(self._sums.shape[-1], other.sums.shape[-1])))
        if len(other.keys):
            self._reach(other)
            place = other.keys - self._first
            self._sums[place] += other.sums
            self._used[place] = True
        if self._are_many():
            self._settle()

    def settled(self) -> VarianceProfile:
        """Return the profile of all; its kept pixels in their one order."""
        self._settle()
        kept = self._kept.in_order() if self._kept and self._is_joined else self._kept  # those of one are in order
        return self._with(np.flatnonzero(self._used) + self._first, self._sums[self._used], kept)

    def _with(self, keys: Ints, sums: Floats, kept: TailPixels | None) -> VarianceProfile:
        return VarianceProfile(self._shift, keys, sums, self._lowest, self._highest, kept)

    def _keeps_every_with(self, other: TailPixels) -> bool:
        """Return whether every pixel is kept here and there, and they are few together."""
        if self._kept is None or not (self._kept.every and other.every):
            return False
        return sum(len(part.pixels) for part in (self._kept, *self._waiting, other)) <= FEW

    def _wanted_with(self, other: VarianceProfile) -> Ints:
        """Return the wanted keys that are complete, or absent, here as in the other."""
        wanted = (
            np.union1d(self._kept.wanted, other.kept.wanted) if self._kept and other.kept else np.empty(0, np.int64)
        )
        if not len(wanted):
            return wanted
        complete = self._with(wanted, self._sums[:0], self._kept).complete_keys()
        wanted = wanted[~self._holds(wanted) | np.isin(wanted, complete)]
        return wanted[~np.isin(wanted, other.keys) | np.isin(wanted, other.complete_keys())]

    def _holds(self, keys: Ints) -> NDArray[np.bool_]:
        return np.isin(keys, self._first + np.flatnonzero(self._used))

    def _are_many(self) -> bool:
        """Whether pixels are to be looked through: more wait than are kept, or the tail has passed its budget."""
        if self._kept is None:
            return False
        waiting = sum(len(part.pixels) for part in self._waiting)
        return waiting > max(len(self._kept.pixels), PATIENCE) or self._pixels_in_tail() > BUDGET

    def _pixels_in_tail(self) -> int:
        """Return the number of pixels of the keys that the tail reaches; all of them are kept."""
        if self._kept is None or self._kept.tail == 0:
            return 0
        keys = self._first + np.flatnonzero(self._used)
        tail = self._with(keys, self._sums[:0], TailPixels(self._kept.tail)).complete_keys()
        return int(self._sums[tail - self._first, N].sum())

    def _settle(self) -> None:
        """Join the kept pixels, and let those go of keys that are no longer complete."""
        if self._kept is None:
            return
        self._is_joined |= bool(self._waiting)
        kept = self._kept.joined(self._waiting) if self._waiting else self._kept
        self._kept, self._waiting = self._with(np.empty(0, np.int64), self._sums[:0], kept).pruned().kept, []

    def _reach(self, other: VarianceProfile) -> None:
        """Make room for the keys of another profile, a whole octave at a time, and for its fields."""
        first, stop = int(other.keys[0]) // OCTAVE * OCTAVE, (int(other.keys[-1]) // OCTAVE + 1) * OCTAVE
        fields = other.sums.shape[-1]
        if self._used.any():
            if fields != self._sums.shape[-1]:
                raise SummaryError("one of these summaries is weighted and the other is not; they do not add")
            first, stop = min(first, self._first), max(stop, self._first + len(self._used))
        if stop - first == len(self._used) and first == self._first:
            return
        sums, used = np.zeros((stop - first, fields)), np.zeros(stop - first, np.bool_)
        if self._used.any():
            before = slice(self._first - first, self._first - first + len(self._used))
            sums[before], used[before] = self._sums, self._used
        self._first, self._sums, self._used = first, sums, used


class SparseProfiles(NamedTuple):
    """Entries of the profiles of cells: number of the cell, compact key, and sums in the order of `FIELDS`."""

    cell: NDArray[np.uint32]
    key: NDArray[np.uint16]
    sums: NDArray[np.float32]


@dataclass(frozen=True)
class BinBasis:
    """The basis of profiles of cells: the bins of the whole.

    Predictions are known everywhere, and only what the truth says of them is resampled. Where an edge falls into a key
    of a cell, each bin gets the share of that key that it has in the whole, so that all cells together give the bins of
    the whole.

    Parameters
    ----------
    edges : mapping of str to float64 (bins + 1)
        Edges of the bins, by the name of their scheme.
    first_key : int
        Lowest compact key.
    shares : float64 (keys, bins of all schemes, 5)
        Share that each bin has of each compact key from `first_key` on.
    """

    edges: Mapping[str, Floats]
    first_key: int
    shares: Floats

    @classmethod
    def of(cls, whole: VarianceProfile, edges: Mapping[str, Floats]) -> Self:
        """Return the basis of bins with these edges."""
        keys = np.unique(whole.keys >> (COMPACT_SHIFT - FINE_SHIFT))
        if not len(keys):
            return cls(edges, 0, np.zeros((0, sum(len(own) - 1 for own in edges.values()), BINNED)))
        none = np.empty((int(keys[-1] - keys[0]) + 1, 0, BINNED))
        shares = [_shares(whole, own, keys) for own in edges.values()]
        return cls(edges, int(keys[0]), np.concatenate([none, *shares], axis=1))

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.shares.shape[1] * BINNED

    def to_rows(self, part: SparseProfiles, count: int) -> Floats:
        """Return the sums of each cell in the bins, float64 (count, width)."""
        bins = np.zeros((count, *self.shares.shape[1:]))
        cell, key = part.cell.astype(np.int64), part.key.astype(np.int64) - self.first_key
        _sort_into(cell, key, part.sums.astype(np.float64), self.shares, bins)
        return bins.reshape(count, self.width)

    def from_rows(self, rows: Floats) -> VarianceProfile:
        """Return a profile that is known by these bins alone."""
        columns, start, bins = rows.reshape(len(rows), self.shares.shape[1], BINNED), 0, {}
        for edges in self.edges.values():
            own = np.moveaxis(columns[:, start : start + len(edges) - 1], -1, 0)
            variance, squared_error, squared_variance, n, weight = np.ascontiguousarray(own)
            exact = np.zeros(len(rows), np.bool_)
            bins[edges.tobytes()] = Binned(edges, variance, squared_error, squared_variance, n, weight, exact)
            start += len(edges) - 1
        none, zeros = np.zeros((len(rows), 0, UNWEIGHTED)), np.zeros(len(rows))
        return _InBins(COMPACT_SHIFT, np.empty(0, np.int64), none, zeros, zeros, None, bins)


@dataclass(frozen=True)
class _InBins(VarianceProfile):
    """A profile that is known by the bins of the whole alone."""

    bins: Mapping[bytes, Binned] | None = None

    def binned(self, edges: Floats) -> Binned:
        """Return the sums of the bins with these edges."""
        return (self.bins or {})[np.asarray(edges).tobytes()]


@dataclass(frozen=True)
class ClassBasis:
    """The basis of profiles of tiles: classes of the variance in their order, by key of the whole."""

    keys: Ints
    classes: Ints

    @property
    def width(self) -> int:
        """Number of columns."""
        return 2 * (int(self.classes.max(initial=-1)) + 1)

    def to_rows(self, part: VarianceProfile, count: int) -> Floats:
        """Return squared errors and pixels (their weight) by class, float64 (count, width)."""
        own = self.classes[np.searchsorted(self.keys, part.keys)]
        fields = part.sums.reshape(count, *part.sums.shape[-2:])[..., [FIELDS.index("squared_error"), -1]]
        by_class = [np.bincount(own, column, self.width // 2) for row in fields for column in row.T]
        return np.concatenate(by_class).reshape(count, self.width).astype(np.float64)

    def from_rows(self, rows: Floats) -> VarianceProfile:
        """Return a profile of the classes, which are the keys."""
        squared_error, n = np.split(rows, 2, axis=-1)
        sums, none = np.stack([np.zeros_like(n), squared_error, n], axis=-1), np.zeros(len(rows))
        return _InClasses(FINE_SHIFT, np.arange(n.shape[-1]), sums, none, none)


class _InClasses(VarianceProfile):
    """Sums by classes of the variance, whose borders are not known."""

    def binned(self, edges: Floats) -> Binned:  # noqa: ARG002  of any
        """Raise SummaryError: there are no bins."""
        raise SummaryError("resamples of tiles keep no bins of the variance")


def equal_classes(values: NDArray[np.generic], n: Floats, count: int) -> Ints:
    """Return the number of the class of each value: about as many pixels each, and equal values in one."""
    distinct, place = np.unique(values, return_inverse=True)
    pixels = np.bincount(place, n, len(distinct))
    number = np.floor((np.cumsum(pixels) - pixels / 2) / max(pixels.sum(), 1) * count).astype(np.int64)
    return np.unique(number, return_inverse=True)[1][place]


@compiled_for("i8[::1], i8[::1], f8[:,::1], f8[:,:,::1], f8[:,:,::1]")
def _sort_into(cell: Ints, key: Ints, sums: Floats, shares: Floats, out: Floats) -> None:
    """Add each entry to the bins of its cell, out (cells, bins, 5), by the shares of its key."""
    bins, counts = np.zeros(shares.shape[:2], np.int64), np.zeros(len(shares), np.int64)
    for k in range(len(shares)):  # few bins have a share of a key
        for j in range(shares.shape[1]):
            if shares[k, j, 3] > 0:
                bins[k, counts[k]] = j
                counts[k] += 1
    for e in range(len(cell)):
        variance, squared_error, n, weight = sums[e, 0], sums[e, 1], sums[e, N], sums[e, -1]
        if n == 0:
            continue
        squared_variance = square_of_variance(sums[e])
        for i in range(counts[key[e]]):
            j = bins[key[e], i]
            share, into = shares[key[e], j], out[cell[e], j]
            into[0] += share[0] * variance
            into[1] += share[1] * squared_error
            into[2] += share[2] * squared_variance
            into[3] += share[3] * n
            into[4] += share[4] * weight


def _shares(profile: VarianceProfile, edges: Floats, keys: Ints) -> Floats:
    """Return the share that each bin has of each compact key from the first to the last, (keys, bins, 5)."""
    lowest, highest = float(profile.lowest), float(profile.highest)
    borders = lower_bound(keys, COMPACT_SHIFT)
    inside = np.concatenate([edges, borders])
    cuts = np.unique([lowest, highest, *inside[(inside > lowest) & (inside < highest)]])
    cuts = cuts if len(cuts) > 1 else np.repeat(cuts, 2)
    pieces = profile.binned(cuts)
    fields = (pieces.variance, pieces.squared_error, pieces.squared_variance, pieces.n, pieces.weight)
    key = keys[np.searchsorted(borders, cuts[:-1], side="right") - 1] - keys[0]
    bins = len(edges) - 1
    last = (cuts[:-1] == edges[-1]) & (cuts[1:] == edges[-1])
    of = np.where(last, bins - 1, np.searchsorted(edges, cuts[:-1], side="right") - 1)
    used = (of >= 0) & (of < bins)
    sums, total = np.zeros((int(keys[-1] - keys[0]) + 1, bins, BINNED)), np.zeros((int(keys[-1] - keys[0]) + 1, BINNED))
    np.add.at(total, key, np.stack(fields, axis=-1))
    np.add.at(sums, (key[used], of[used]), np.stack(fields, axis=-1)[used])
    return np.divide(sums, total[:, np.newaxis], out=np.zeros_like(sums), where=total[:, np.newaxis] > 0)
