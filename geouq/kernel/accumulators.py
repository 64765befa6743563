"""The arrays that the kernel fills, named in one place."""

import mmap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from geouq.core.validity import REASONS
from geouq.kernel.vector_ops import EIGHT, LANES
from geouq.kernel.z_lattice import ZLattice
from geouq.summary.coverage_profile import GROUPED_BY, POSITIVE
from geouq.summary.exceedance import FIELDS as EXCEEDANCE
from geouq.summary.joint_sample import SIZE
from geouq.summary.moments import CENTRED, PRODUCTS, SUMS
from geouq.summary.ordering_profile import CLASSES, ROWS
from geouq.summary.ordering_profile import SHIFT as ORDERING_SHIFT
from geouq.summary.threshold_sums import no_thresholds
from geouq.summary.variance_profile import COMPACT_SHIFT, FINE_SHIFT

Floats = NDArray[np.float64]
Reals = NDArray[np.floating]
Ints = NDArray[np.int64]

SLAB = 2048
FEW = 1024  # pixels of a cell that are cheaper to go through than the tables
KEYS = 1 << (31 - FINE_SHIFT)
COMPACT_STEP = COMPACT_SHIFT - FINE_SHIFT
ORDERING_STEP = ORDERING_SHIFT - FINE_SHIFT
KEEP_BUFFER = 1 << 18
BLOCKS, BLOCK = 8192, 2 * POSITIVE // 8192  # of keys of values, 32 together
CACHE_LINE = 64  # bytes
SAMPLE_BUFFER = 4 * SIZE
HIGHEST = np.iinfo(np.uint64).max


class Pixels(NamedTuple):
    """One variable in one window, each array in one dimension: rows one after the other.

    mean, variance, truth : all float32 or all float64. weight : float64, empty where pixels have none. status : uint8,
    reason + 1 where the reader excluded a pixel and 0 elsewhere, empty where it excluded none.
    """

    mean: Reals
    variance: Reals
    truth: Reals
    weight: Floats
    status: NDArray[np.uint8]


class Scratch(NamedTuple):
    """Buffers of one thread: a slab's pixels, and what a cell adds up to by key and by bucket (zero between cells).

    keys (KEYS + 1, 4): variance, squared error, std, n. buckets (B + 1, 4): n, error, std, std z^2; all but n weighted,
    and where there are weights, so is the n of buckets, while key_weights (KEYS + 1, 2) holds those of
    keys, after the squares of the weighted variances. The last row
    takes what lies beyond a slab's end. bins (3, fine bins): n, error and std of a cell by bin of the fine z histogram.
    truth, mean, variance are as they come; bits are those of the variance, layout what they mean (`layout_of`).
    smallest (1): the smallest variance whose exponent is whole. grouped_by (groupings): places in `GROUPED_BY`, -1 for
    the auxiliary layers. exceedance: probability of exceeding a threshold. pit, crps, nll, the ends low and high of an
    interval, and what these need (within, scale): empty for normal forecasts. intervals (4, 8): sums of the widths of
    the intervals of four levels, and of how far the truth is outside of them.
    """

    truth: Reals
    mean: Reals
    variance: Reals
    bits: NDArray[np.unsignedinteger]
    mantissa: Reals
    mantissa_bits: NDArray[np.unsignedinteger]
    layout: NDArray[np.unsignedinteger]
    error: Floats
    std: Floats
    z: Floats
    exceedance: Floats
    weight: Floats
    weighted: Floats
    key: NDArray[np.uint32]
    outside: NDArray[np.uint32]
    place: NDArray[np.uint32]
    bucket: NDArray[np.uint32]
    extremes: Reals
    extreme_bits: NDArray[np.unsignedinteger]
    slab: Floats
    keys: Floats
    key_weights: Floats
    compact: Floats
    compact_weights: Floats
    buckets: Floats
    bins: Floats
    means: Floats
    away: Floats
    smallest: Floats
    grouped_by: Ints
    pit: Floats
    crps: Floats
    nll: Floats
    low: Floats
    high: Floats
    within: Floats
    scale: Floats
    intervals: Floats


class CellSums(NamedTuple):
    """What each cell of a group adds up to; C cells in rows from the top left.

    n (C), weight (C), sums (C, sums), products (C, 7), interval_scores (C, L), widths (C, L) of the intervals, or
    (C, 0) for normal forecasts, z_counts (C, compact bins), extremes (C, 2) of the variance, form (C, columns of
    the form), exceedance (C, T, 5) of thresholds. The compact profile has entries, each with a cell, a key and 4 sums,
    or 6 if pixels have weights. Only the first `entries[0]` of them are valid.
    """

    n: Ints
    weight: Floats
    sums: Floats
    products: Floats
    interval_scores: Floats
    widths: Floats
    z_counts: Floats
    extremes: Floats
    form: Floats
    exceedance: Floats
    entry_cell: NDArray[np.uint32]
    entry_key: NDArray[np.uint16]
    entry_sums: NDArray[np.float32]
    entries: Ints


class Totals(NamedTuple):
    """The sums of a group besides its cells.

    profile (keys, 4), profile_weights (keys, 2), z_counts (fine bins), excluded (reasons), negative (2: number of
    negative variances, place of the first in its window), kept (pixels, 2 or 3: variance, squared error, weight),
    kept_state (tail count M or 0, pixels kept), highest (1). groups (groupings, keys of values x (levels + 1)); of
    its blocks of keys those are in use that touched (groupings, BLOCKS) names. ordering (coarser keys of the
    variance x classes of |z|), empty if not requested. thresholds (T), exceeding (T, bins, sums of
    `threshold_sums.FIELDS`). profile is empty where all pixels are kept instead.
    """

    profile: Floats
    profile_weights: Floats
    z_counts: Floats
    excluded: Ints
    negative: Ints
    kept: Floats
    kept_state: Ints
    highest: Floats
    groups: Floats
    touched: NDArray[np.uint8]
    ordering: Floats
    thresholds: Floats
    exceeding: Floats


class Sampled(NamedTuple):
    """Pixels of a group that may be among those of the joint log-loss: number, and log density of each member.

    The first `used[0]` are in use; a number that is not below `limit[0]` is not taken.
    """

    number: NDArray[np.uint64]
    log_density: Floats
    used: Ints
    limit: NDArray[np.uint64]


def aligned(shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Zeros that begin where a line of the cache does: a row of four numbers across two lines would cost twice.

    Large arrays are mapped memory: rows without a pixel then take no time and no room.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size >= mmap.PAGESIZE:
        return np.frombuffer(mmap.mmap(-1, size), dtype).reshape(shape)
    room = np.zeros(size + CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + size].view(dtype).reshape(shape)


def new_scratch(
    lattice: ZLattice,
    dtype: DTypeLike = np.float32,
    groups: Sequence[str] = (),
    *,
    weighted: bool = False,
    scored: bool = False,
) -> Scratch:
    """Return the buffers for one thread and pixels of the same type, float32 or float64.

    scored : whether each pixel is scored, as for distributions other than the normal one.
    """
    size = SLAB + EIGHT  # compaction writes ahead, and the last pixels are filled up to four
    room, scores = size if weighted else 0, [aligned(size if scored else 0) for _ in range(7)]
    variance, mantissa, layout = aligned(size, dtype), aligned(size, dtype), layout_of(dtype)
    extremes = np.zeros(2, dtype)
    return Scratch(
        truth=aligned(size, dtype),
        mean=aligned(size, dtype),
        variance=variance,
        bits=variance.view(layout.dtype),
        mantissa=mantissa,
        mantissa_bits=mantissa.view(layout.dtype),
        layout=layout,
        error=aligned(size),
        std=aligned(size),
        z=aligned(size),
        exceedance=aligned(size),
        weight=np.zeros(room),
        weighted=np.zeros((5, room)),
        key=aligned(size, np.uint32),
        outside=aligned(size, np.uint32),
        place=aligned(size, np.uint32),
        bucket=aligned(size, np.uint32),
        extremes=extremes,
        extreme_bits=extremes.view(layout.dtype),
        slab=np.empty(len(SUMS)),
        keys=aligned((KEYS + 1, 4)),
        key_weights=aligned((KEYS + 1 if weighted else 0, 2)),
        compact=aligned((KEYS >> COMPACT_STEP, 4)),
        compact_weights=aligned((KEYS >> COMPACT_STEP if weighted else 0, 2)),
        buckets=aligned((lattice.buckets + 1, 4)),
        bins=np.zeros((3, lattice.fine_bins)),
        means=np.zeros(len(CENTRED)),
        away=np.zeros(len(CENTRED)),
        smallest=np.array([np.finfo(dtype).tiny], np.float64),
        grouped_by=np.array([GROUPED_BY.index(name) if name in GROUPED_BY else -1 for name in groups], np.int64),
        pit=scores[0],
        crps=scores[1],
        nll=scores[2],
        low=scores[3],
        high=scores[4],
        within=scores[5],
        scale=scores[6],
        intervals=aligned((LANES, 2 * LANES)),
    )


def layout_of(dtype: DTypeLike) -> NDArray[np.unsignedinteger]:
    """Of a float type: bits of the mantissa, the mask that keeps them, and the bits of 1.0."""
    kind = np.dtype(dtype)
    words = np.uint32 if kind == np.float32 else np.uint64
    mantissa = np.finfo(kind).nmant
    return np.array([mantissa, (1 << mantissa) - 1, np.ones(1, kind).view(words)[0]], words)


def new_totals(
    lattice: ZLattice,
    tail: int,
    groupings: int = 0,
    thresholds: Sequence[float] = (),
    *,
    ordering: bool = False,
    weighted: bool = False,
    profiled: bool = True,
) -> Totals:
    """Return the empty totals; `tail` is the number of equal-width bins that are to be exact, 0 for none."""
    return Totals(
        aligned((KEYS if profiled else 0, 4)),
        np.zeros((KEYS if weighted else 0, 2)),
        np.zeros(lattice.fine_bins),
        np.zeros(len(REASONS), np.int64),
        np.zeros(2, np.int64),
        np.empty((KEEP_BUFFER if tail else 0, 3 if weighted else 2)),
        np.array([tail, 0]),
        np.zeros(1),
        aligned((groupings, BLOCKS * BLOCK * (len(lattice.half_width) + 1))),
        np.zeros((groupings, BLOCKS), np.uint8),
        aligned(ROWS * CLASSES if ordering else 0),
        np.array(thresholds, np.float64),
        no_thresholds(tuple(thresholds)).sums,
    )


def new_sampled(members: int) -> Sampled:
    """Return room for pixels of that many members; of none there is nothing to sample."""
    room = SAMPLE_BUFFER if members else 0
    return Sampled(np.empty(room, np.uint64), np.empty((room, members)), np.zeros(1, np.int64), np.full(1, HIGHEST))


def new_cells(
    cells: int,
    pixels: int,
    lattice: ZLattice,
    *,
    weighted: bool = False,
    form: int = 0,
    scored: bool = False,
    thresholds: int = 0,
) -> CellSums:
    """Return empty sums for this number of cells, which have this number of pixels together.

    form : number of columns of the form. scored : as in `new_scratch`. thresholds : their number.
    """
    entries = min(pixels, cells * (KEYS >> COMPACT_STEP))
    return CellSums(
        np.zeros(cells, np.int64),
        np.zeros(cells),
        np.zeros((cells, len(SUMS))),
        np.zeros((cells, len(PRODUCTS))),
        np.zeros((cells, len(lattice.half_width))),
        np.zeros((cells, len(lattice.half_width) if scored else 0)),
        np.zeros((cells, lattice.compact_bins)),
        np.tile([np.inf, -np.inf], (cells, 1)),
        np.zeros((cells, form)),
        np.zeros((cells, thresholds, len(EXCEEDANCE))),
        np.empty(entries, np.uint32),
        np.empty(entries, np.uint16),
        np.empty((entries, 6 if weighted else 4), np.float32),
        np.zeros(1, np.int64),
    )
