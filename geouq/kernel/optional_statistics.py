"""What the kernel adds up only where it is asked for: coverage in groups, thresholds, the order of errors."""

import math

import numpy as np

from geouq.compiled import inlined
from geouq.kernel.accumulators import BLOCK, ORDERING_STEP
from geouq.kernel.vector_ops import bits_of_single
from geouq.summary.coverage_profile import POSITIVE
from geouq.summary.ordering_profile import CLASS_SHIFT, CLASSES, FIRST_CLASS
from geouq.summary.threshold_sums import BINS
from geouq.summary.variance_profile import FINE_SHIFT

SQRT_2 = math.sqrt(2)
SHIFT = np.uint32(FINE_SHIFT)
SIGN, ALL_KEYS = np.uint32(POSITIVE), np.uint32(2 * POSITIVE - 1)
SIZE, CLASS_BITS = np.uint32(0x7FFFFFFF), np.uint32(CLASS_SHIFT)
COARSER, COLUMNS = np.uint32(ORDERING_STEP), np.uint32(CLASSES)


@inlined
def add_optional_statistics(n, scratch, lattice, totals):
    """Add the pixels to groups, thresholds and ordering, as far as there are any."""
    if len(scratch.grouped_by) > 0:
        for i in range(n):
            scratch.outside[i] = lattice.outside_of[scratch.bucket[i]]
    for p in range(len(scratch.grouped_by)):
        if scratch.grouped_by[p] >= 0:
            _add_to_groups(n, p, scratch, lattice, totals)
    for t in range(len(totals.thresholds)):
        _add_to_threshold(n, t, scratch, totals)
    if totals.ordering.size > 0:
        _add_to_ordering(n, scratch, totals)


@inlined
def _add_to_groups(n, p, scratch, lattice, totals):
    """Count each pixel under the key of its truth, mean or variance, by how many intervals it lies outside."""
    place, counts, touched, weighted = scratch.place, totals.groups[p], totals.touched[p], len(scratch.weight) > 0
    values = (scratch.truth, scratch.mean, scratch.variance)[scratch.grouped_by[p]]
    columns = np.uint32(len(lattice.half_width) + 1)
    for i in range(n):
        bits = bits_of_single(np.float64(values[i]) + 0.0)  # -0 is 0
        key = ((bits >> SHIFT) | SIGN) ^ ((bits >> np.uint32(31)) * ALL_KEYS)
        place[i] = key * columns + scratch.outside[i]
    for i in range(n):
        before = counts[place[i]]
        if before == 0:
            touched[place[i] // (columns * np.uint32(BLOCK))] = 1
        counts[place[i]] = before + (scratch.weight[i] if weighted else 1.0)


@inlined
def _add_to_threshold(n, t, scratch, totals):
    """Add the probability of exceeding a threshold, and whether the truth does, by bin of the probability."""
    threshold, sums, weighted = totals.thresholds[t], totals.exceeding[t], len(scratch.weight) > 0
    for i in range(n):
        p = 0.5 * math.erfc((threshold - scratch.mean[i]) / (scratch.std[i] * SQRT_2))
        exceeded = 1.0 if scratch.truth[i] > threshold else 0.0
        w, k = scratch.weight[i] if weighted else 1.0, min(int(p * BINS), BINS - 1)
        sums[k, 0] += w
        sums[k, 1] += w * p
        sums[k, 2] += w * p * p
        sums[k, 3] += w * exceeded
        sums[k, 4] += w * p * exceeded


@inlined
def _add_to_ordering(n, scratch, totals):
    """Count each pixel by variance and |z|."""
    place, counts, weighted = scratch.place, totals.ordering, len(scratch.weight) > 0
    for i in range(n):
        size = np.int32((bits_of_single(scratch.z[i]) & SIZE) >> CLASS_BITS) - np.int32(FIRST_CLASS)
        place[i] = (scratch.key[i] >> COARSER) * COLUMNS + np.uint32(min(max(size, 0), CLASSES - 1))
    for i in range(n):
        counts[place[i]] += scratch.weight[i] if weighted else 1.0
