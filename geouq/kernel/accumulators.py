"""The arrays that the kernel fills, named in one place."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geouq.summary.moments import PRODUCTS, SUMS
from geouq.summary.variance_profile import COMPACT_SHIFT, FIELDS, FINE_SHIFT
from geouq.validity import REASONS
from geouq.z_lattice import ZLattice

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SLAB = 1024
KEYS = 1 << (31 - FINE_SHIFT)
COMPACT_STEP = COMPACT_SHIFT - FINE_SHIFT
KEEP_BUFFER = 1 << 18


class Scratch(NamedTuple):
    """Buffers of one thread: a slab's pixels, and the keys and buckets of a cell (zero between cells)."""

    truth: Floats
    mean: Floats
    variance: Floats
    error: Floats
    std: Floats
    z: Floats
    szz: Floats
    key_source: NDArray[np.float32]
    bucket: NDArray[np.int32]
    mantissa: Floats
    valid: NDArray[np.uint8]
    slab: Floats
    keys: Floats
    buckets: Floats


class CellSums(NamedTuple):
    """What each cell of a window adds up to; C cells in rows from the top left.

    n (C), sums (C, 9), products (C, 8), interval_scores (C, L), z_counts (C, compact bins), extremes (C, 2) of the
    variance; the compact profile as entry_key, entry_sums (entries, 4), and end_of_cell (C), the number of entries up
    to each cell's end.
    """

    n: Ints
    sums: Floats
    products: Floats
    interval_scores: Floats
    z_counts: Ints
    extremes: Floats
    entry_key: Ints
    entry_sums: Floats
    end_of_cell: Ints


class Totals(NamedTuple):
    """What the windows of one group of windows add up to beside their cells.

    profile (keys, 4), z_counts (fine bins), excluded (reasons), negative (3: number of negative variances, row and
    column of the first), kept_variance and kept_squared_error (pixels), kept_state (tail count M or 0, pixels kept),
    highest (1).
    """

    profile: Floats
    z_counts: Ints
    excluded: Ints
    negative: Ints
    kept_variance: Floats
    kept_squared_error: Floats
    kept_state: Ints
    highest: Floats


def new_scratch(buckets: int) -> Scratch:
    """Buffers for one thread, for a lattice of that many buckets."""
    size = SLAB + 1  # compaction writes one pixel ahead
    return Scratch(
        truth=np.empty(size),
        mean=np.empty(size),
        variance=np.empty(size),
        error=np.empty(size),
        std=np.empty(size),
        z=np.empty(size),
        szz=np.empty(size),
        key_source=np.empty(size, np.float32),
        bucket=np.empty(size, np.int32),
        mantissa=np.empty(size),
        valid=np.empty(size, np.uint8),
        slab=np.empty(len(SUMS)),
        keys=np.zeros((KEYS, len(FIELDS))),
        buckets=np.zeros((buckets, 4)),
    )


def new_totals(fine_bins: int, tail: int) -> Totals:
    """Empty totals; `tail` is the number of equal-width bins that are to be exact, 0 for none."""
    room = KEEP_BUFFER if tail else 0
    return Totals(
        np.zeros((KEYS, len(FIELDS))),
        np.zeros(fine_bins, np.int64),
        np.zeros(len(REASONS), np.int64),
        np.zeros(3, np.int64),
        np.empty(room),
        np.empty(room),
        np.array([tail, 0]),
        np.zeros(1),
    )


def new_cells(cells: int, pixels: int, lattice: ZLattice) -> CellSums:
    """Room for that many cells of a window of that many pixels."""
    entries = min(pixels, cells * (KEYS >> COMPACT_STEP))
    return CellSums(
        np.zeros(cells, np.int64),
        np.zeros((cells, len(SUMS))),
        np.zeros((cells, len(PRODUCTS))),
        np.zeros((cells, len(lattice.half_width))),
        np.zeros((cells, lattice.compact_bins), np.int64),
        np.tile([np.inf, -np.inf], (cells, 1)),
        np.empty(entries, np.int64),
        np.empty((entries, 4)),
        np.zeros(cells, np.int64),
    )
