"""Steps of the kernel over one slab: up to `SLAB` valid pixels of a cell, in buffers that stay in cache."""

import math

import numpy as np

from geouq.core.compiled import inlined, inlined_reordered
from geouq.core.validity import TRUTH_NODATA, VARIANCE_NOT_POSITIVE, is_valid, reason_of
from geouq.kernel.accumulators import KEYS
from geouq.kernel.distributions import add_distribution
from geouq.kernel.optional_statistics import add_optional_statistics
from geouq.kernel.vector_ops import (
    EIGHT,
    LANES,
    add_rows,
    bits_of_single,
    copy_eight,
    prefetch,
    valid_eight,
    zero_eight,
)
from geouq.kernel.z_lattice import REACH
from geouq.summary.moments import CENTRED, LEFT, PRODUCTS, RIGHT, SUMS
from geouq.summary.variance_profile import FINE_SHIFT

N_CENTRED, N_PRODUCTS = len(CENTRED), len(PRODUCTS)
VARIANCE, NLL = SUMS.index("variance"), SUMS.index("nll")
TOP = math.nextafter(2 * REACH, 0)
LOG_2 = math.log(2)
ALL_VALID = np.uint64((1 << EIGHT) - 1)
ONE, EIGHT_PIXELS = np.uint64(1), np.uint64(EIGHT)  # a signed index would be tested for being negative
SHIFT = np.uint32(FINE_SHIFT)
LINE = np.uint64(16)  # pixels of float32
AHEAD = np.uint64(2)  # rows; those of a cell lie too far apart for the processor to foresee


@inlined
def compact(pixels, limits, nodata, first, width, columns, start, scratch, totals):
    """Copy the valid pixels among `width` from `first` on behind the `start` already in the buffers; their new number.

    pixels : mean, variance, truth, weight and status of the window, each in one dimension.
    """
    m, v, y, _, status = pixels
    for p in range(first + AHEAD * columns, first + AHEAD * columns + width, LINE):
        prefetch(m, p)
        prefetch(v, p)
        prefetch(y, p)
    n, eights = start, width // EIGHT_PIXELS
    for i in range(eights):  # together, as gaps are coherent on maps
        n = _take_eight(pixels, limits, first + i * EIGHT_PIXELS, scratch, n)
    for p in range(first + eights * EIGHT_PIXELS, first + width):
        shown = status.size == 0 or status[p] == 0
        _copy(pixels, p, scratch, n)
        n += np.uint64(is_valid(m[p], v[p], y[p], limits) & shown)
    if n - start < width:
        _count_excluded(m, v, y, status, limits, nodata, first, width, n - start, totals)
    return n


@inlined
def _take_eight(pixels, limits, p, scratch, n):
    """Copy the valid ones among eight pixels from `p` on."""
    m, v, y, weight, status = pixels
    valid = valid_eight(m, v, y, p, limits[:3])
    if status.size > 0:
        valid &= zero_eight(status, p)
    if valid == ALL_VALID:
        copy_eight(y, p, scratch.truth, n)
        copy_eight(v, p, scratch.variance, n)
        copy_eight(m, p, scratch.mean, n)
        if weight.size > 0:
            copy_eight(weight, p, scratch.weight, n)
        n += EIGHT_PIXELS
    elif valid > 0:
        for lane in range(EIGHT_PIXELS):  # every one, without a branch
            _copy(pixels, p + lane, scratch, n)
            n += (valid >> lane) & ONE
    return n


@inlined
def _copy(pixels, p, scratch, n):
    """Copy one pixel."""
    scratch.mean[n], scratch.variance[n], scratch.truth[n] = pixels.mean[p], pixels.variance[p], pixels.truth[p]
    if pixels.weight.size > 0:
        scratch.weight[n] = pixels.weight[p]


@inlined
def _count_excluded(m, v, y, status, limits, nodata, first, width, valid, totals):
    """Count the pixels that are not valid, each under its first reason."""
    no_data, no_truth, nan_is_nodata = np.uint32(0), limits[2], nodata.is_nan[2]
    for i in range(width):
        truth = y[first + i]
        no_data += np.uint32((truth == no_truth) | (nan_is_nodata & (truth != truth)))  # noqa: PLR0124  is it NaN
    if status.size == 0 and no_data == width - valid:
        totals.excluded[TRUTH_NODATA] += no_data
        return
    for p in range(first, first + width):
        found = status[p] if status.size > 0 else np.uint8(0)
        reason = reason_of(m[p], v[p], y[p], found, limits, nodata.is_nan)
        if reason >= 0:
            totals.excluded[reason] += 1
        if reason == VARIANCE_NOT_POSITIVE and v[p] < 0:
            if totals.negative[0] == 0:
                totals.negative[1] = p
            totals.negative[0] += 1


@inlined
def add_slab(n, scratch, lattice, cells, cell, totals, scoring):
    """Add the n pixels in the buffers to a cell."""
    sums, weighted = scratch.slab, len(scratch.weight) > 0
    products, exponents = _derive(n, scratch, lattice, sums)
    total = _sums_weighted(n, scratch, sums) if weighted else np.float64(n)
    low, high = _extremes(n, scratch)
    _merge_products(n, total, products, scratch, cells, cell)
    if scoring is None:
        cells.sums[cell, NLL] += _log_sum_weighted(n, scratch) if weighted else _log_sum(n, low, exponents, scratch)
    else:
        add_distribution(n, scratch, scoring, lattice, cells, cell)
    for i in range(N_CENTRED):
        cells.sums[cell, i] += sums[i]
    cells.sums[cell, VARIANCE] += sums[VARIANCE]
    cells.n[cell] += n
    cells.weight[cell] += total
    cells.extremes[cell, 0] = min(cells.extremes[cell, 0], low)
    cells.extremes[cell, 1] = max(cells.extremes[cell, 1], high)
    _find_rows(n, scratch, lattice, scratch.z if scoring is None else scratch.pit)
    add_optional_statistics(n, scratch, lattice, cells, cell, totals, scoring)
    if weighted:
        _scatter_weighted(n, scratch)
    else:
        _scatter(n, scratch)
    if totals.kept_state[0] > 0:
        totals.highest[0] = max(totals.highest[0], high)
        _keep(n, high, scratch, totals)


@inlined_reordered
def _derive(n, scratch, lattice, sums):
    """Error, std, z, key, lattice cell and mantissa of each pixel, and sums in the order of `SUMS`.

    Gives the sums of products of deviations from the means, in the order of `PRODUCTS`, and the sum of exponents. What
    stands in one loop costs little more than its roots and divisions. Deviations are taken from the first pixel, of
    which the means are at most sqrt(n) spreads away, and corrected afterwards: that loses three digits at worst.
    """
    m, y, v, e, s, z = scratch.mean, scratch.truth, scratch.variance, scratch.error, scratch.std, scratch.z
    keys, bucket, bits, mantissa = scratch.key, scratch.bucket, scratch.bits, scratch.mantissa_bits
    width, mask, one = scratch.layout
    last = np.uint32(len(lattice.first) - 1)  # a z that is NaN, if there could be one, must not lead outside
    y0, s0 = np.float64(y[0]), math.sqrt(np.float64(v[0]))
    e0 = np.float64(m[0]) - y0
    a0, z0 = abs(e0), -e0 / s0
    e1, a1, s1, y1, z1, v1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    ee, aa, ss, yy, zz, sa, ey = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    exponents = np.int64(0)
    for i in range(n):
        exponents += np.int64(bits[i] >> width)
        mantissa[i] = (bits[i] & mask) | one
        truth, variance = np.float64(y[i]), np.float64(v[i])
        error, std = np.float64(m[i]) - truth, math.sqrt(variance)
        score = -error / std
        e[i], s[i], z[i], keys[i] = error, std, score, bits_of_single(variance) >> SHIFT
        bucket[i] = min(np.uint32(np.int32(min(max(score + REACH, 0.0), TOP) * lattice.per_unit)), last)
        de, da, ds, dy, dz = error - e0, abs(error) - a0, std - s0, truth - y0, score - z0
        e1, a1, s1, y1, z1, v1 = e1 + de, a1 + da, s1 + ds, y1 + dy, z1 + dz, v1 + variance
        ee, aa, ss, yy, zz = ee + de * de, aa + da * da, ss + ds * ds, yy + dy * dy, zz + dz * dz
        sa, ey = sa + ds * da, ey + de * dy
    sums[0], sums[1], sums[2], sums[3] = e1 + n * e0, a1 + n * a0, s1 + n * s0, y1 + n * y0
    sums[4], sums[5] = z1 + n * z0, v1
    ee, aa, ss, yy, zz = ee - e1 * e1 / n, aa - a1 * a1 / n, ss - s1 * s1 / n, yy - y1 * y1 / n, zz - z1 * z1 / n
    return (ee, aa, ss, yy, zz, sa - s1 * a1 / n, ey - e1 * y1 / n), exponents - np.int64(one >> width) * n


@inlined_reordered
def _sums_weighted(n, scratch, sums):
    """Weighted sums over the slab in the order of `SUMS`; the sum of the weights."""
    e, s, y, z, v, w = scratch.error, scratch.std, scratch.truth, scratch.z, scratch.variance, scratch.weight
    e1, a1, s1, y1, z1, v1, w1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        e1 += w[i] * e[i]
        a1 += w[i] * abs(e[i])
        s1 += w[i] * s[i]
        y1 += w[i] * y[i]
        z1 += w[i] * z[i]
        v1 += w[i] * v[i]
        w1 += w[i]
    sums[0], sums[1], sums[2], sums[3], sums[4], sums[5] = e1, a1, s1, y1, z1, v1
    return w1


@inlined
def _extremes(n, scratch):
    """Lowest and highest variance; positive floats are in the order of their bits, and integers go in lanes."""
    bits, found = scratch.bits, scratch.extreme_bits
    low, high = bits[0], bits[0]
    for i in range(n):
        low, high = min(low, bits[i]), max(high, bits[i])
    found[0], found[1] = low, high
    return np.float64(scratch.extremes[0]), np.float64(scratch.extremes[1])


@inlined_reordered
def _products_weighted(n, scratch, means):
    """Weighted sums of products of deviations from the slab's own means, in the order of `PRODUCTS`."""
    ee, aa, ss, yy, zz, sa, ey = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        e, a, s = scratch.error[i] - means[0], abs(scratch.error[i]) - means[1], scratch.std[i] - means[2]
        y, z, w = scratch.truth[i] - means[3], scratch.z[i] - means[4], scratch.weight[i]
        ee += w * e * e
        aa += w * a * a
        ss += w * s * s
        yy += w * y * y
        zz += w * z * z
        sa += w * s * a
        ey += w * e * y
    return ee, aa, ss, yy, zz, sa, ey


@inlined
def _merge_products(n, total, products, scratch, cells, cell):
    """Merge the slab's products into the cell's by the pairwise rule; `total` is the slab's weight."""
    means, away, before, sums = scratch.means, scratch.away, cells.weight[cell], scratch.slab
    for i in range(N_CENTRED):
        means[i] = sums[i] / total
        away[i] = means[i] - cells.sums[cell, i] / before if before > 0 else 0.0
    within = _products_weighted(n, scratch, means) if len(scratch.weight) > 0 else products
    share = before * (total / (before + total))
    for p in range(N_PRODUCTS):
        cells.products[cell, p] += within[p] + share * away[LEFT[p]] * away[RIGHT[p]]


@inlined_reordered
def _log_sum(n, low, exponents, scratch):
    """Return the sum of log(variance) from exponents and products of mantissas, which cannot overflow in eight lanes.

    Each lane has at most `SLAB` / 8 factors in [1, 2).
    """
    total = 0.0
    if low < scratch.smallest[0]:  # its exponent says nothing
        for i in range(n):
            total += math.log(np.float64(scratch.variance[i]))
        return total
    x = scratch.mantissa
    p0, p1, p2, p3, p4, p5, p6, p7 = 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0
    whole = n & ~7
    for i in range(0, whole, 8):
        p0 *= x[i]
        p1 *= x[i + 1]
        p2 *= x[i + 2]
        p3 *= x[i + 3]
        p4 *= x[i + 4]
        p5 *= x[i + 5]
        p6 *= x[i + 6]
        p7 *= x[i + 7]
    for i in range(whole, n):
        total += math.log(np.float64(x[i]))
    for product in (p0, p1, p2, p3, p4, p5, p6, p7):
        total += math.log(product)
    return total + exponents * LOG_2


@inlined_reordered
def _log_sum_weighted(n, scratch):
    """Weighted sum of log(variance)."""
    total = 0.0
    for i in range(n):
        total += scratch.weight[i] * math.log(np.float64(scratch.variance[i]))
    return total


@inlined
def _find_rows(n, scratch, lattice, placed):
    """Find buckets of z or PIT from lattice cells; pixels beyond the end go to the last row of each table."""
    bucket, keys, first, threshold = scratch.bucket, scratch.key, lattice.first, lattice.threshold
    for i in range(n):
        cell = np.uint64(bucket[i])
        bucket[i] = first[cell] + np.uint32(placed[i] > threshold[cell])
    for i in range(n, n + (-n) % LANES):
        keys[i] = KEYS
        bucket[i] = len(scratch.buckets) - 1


@inlined
def _scatter(n, scratch):
    """Add each pixel to its bucket of z, as n, error, s and s z^2, and to its key: variance, squared error, std, n."""
    e, s, z = scratch.error, scratch.std, scratch.z
    for i in range(n):
        z[i] *= -e[i]
    for i in range(0, n, LANES):
        add_rows(scratch.buckets, scratch.bucket, i, 1.0, e, s, z)
    for i in range(n):
        e[i] *= e[i]
    for i in range(0, n, LANES):
        add_rows(scratch.keys, scratch.key, i, scratch.variance, e, s, 1.0)


@inlined
def _scatter_weighted(n, scratch):
    """Do the same with weights; weights and squares of weighted variances by key go to a table of their own."""
    w, e, s, v = scratch.weight, scratch.error, scratch.std, scratch.variance
    we, ws, wszz, wv, wee = scratch.weighted
    for i in range(n):
        we[i], ws[i], wszz[i], wv[i] = w[i] * e[i], w[i] * s[i], -w[i] * e[i] * scratch.z[i], w[i] * v[i]
        e[i] *= e[i]
        wee[i] = w[i] * e[i]
    for i in range(0, n, LANES):
        add_rows(scratch.buckets, scratch.bucket, i, w, we, ws, wszz)
    for i in range(0, n, LANES):
        add_rows(scratch.keys, scratch.key, i, wv, wee, ws, 1.0)
    for i in range(n):
        scratch.key_weights[scratch.key[i], 0] += wv[i] * wv[i]
        scratch.key_weights[scratch.key[i], 1] += w[i]


@inlined
def _keep(n, high, scratch, totals):
    """Store the pixels of the tail (their error is squared by now); without room for it the tail is given up."""
    first = key(totals.highest[0] / totals.kept_state[0])
    if key(high) < first:
        return
    if totals.kept_state[1] + n > len(totals.kept):
        prune(first, totals)
    if totals.kept_state[1] + n > len(totals.kept):
        totals.kept_state[0], totals.kept_state[1] = 0, 0
        return
    keys, kept, weighted = scratch.key, totals.kept_state[1], len(scratch.weight) > 0
    for i in range(n):
        if keys[i] >= first:
            totals.kept[kept, 0], totals.kept[kept, 1] = scratch.variance[i], scratch.error[i]
            if weighted:
                totals.kept[kept, 2] = scratch.weight[i]
            kept += 1
    totals.kept_state[1] = kept


@inlined
def prune(first, totals):
    """Drop the stored pixels whose key lies before `first`."""
    kept = 0
    for i in range(totals.kept_state[1]):
        if key(totals.kept[i, 0]) >= first:
            for column in range(totals.kept.shape[1]):
                totals.kept[kept, column] = totals.kept[i, column]
            kept += 1
    totals.kept_state[1] = kept


@inlined
def key(variance):
    """Key with the same variance in the fine profile."""
    return np.int64(bits_of_single(np.float64(variance)) >> SHIFT)
