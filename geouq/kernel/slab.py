"""Steps of the kernel over one slab: up to `SLAB` valid pixels of a cell, in buffers that stay in cache."""

import math

import numpy as np

from geouq.compiled import compiled, compiled_reordered
from geouq.summary.moments import CENTRED, LEFT, PRODUCTS, RIGHT, SUMS
from geouq.summary.variance_profile import FINE_SHIFT
from geouq.validity import TRUTH_NODATA, VARIANCE_NOT_POSITIVE, is_valid, reason_of, stored_limits
from geouq.z_lattice import PER_UNIT, REACH

N_CENTRED, N_PRODUCTS = len(CENTRED), len(PRODUCTS)
VARIANCE, NLL = SUMS.index("variance"), SUMS.index("nll")
TOP = math.nextafter(2 * REACH, 0)
LOG_2 = math.log(2)
SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)
MANTISSA = np.uint64(0x000FFFFFFFFFFFFF)
ONE_EXPONENT = np.uint64(0x3FF0000000000000)


@compiled
def compact(mean, variance, truth, status, nodata, r, left, right, start, scratch, totals):
    """Copy the valid pixels of a cell's row behind the `start` already in the buffers; their new number."""
    limits = stored_limits(mean, variance, truth, nodata)
    m, v, y = mean[r, left:right], variance[r, left:right], truth[r, left:right]
    masked = status[r, left:right] if status.size > 0 else status[:0, 0]
    valid = _flag_valid(m, v, y, masked, limits, scratch.valid)
    width = right - left
    if valid < width:
        _count_excluded(m, v, y, masked, limits, nodata.is_nan, width - valid, r, left, totals)
    # slices, not sums of indices: numba would test each for being negative, and not vectorise
    to_y, to_m, to_v = scratch.truth[start:], scratch.mean[start:], scratch.variance[start:]
    if valid == width:
        for i in range(width):
            to_y[i], to_m[i], to_v[i] = y[i], m[i], v[i]
    elif valid > 0:
        n = np.uint64(0)
        for i in range(width):
            to_y[n], to_m[n], to_v[n] = y[i], m[i], v[i]
            n += np.uint64(scratch.valid[i])
    return start + valid


@compiled
def _flag_valid(m, v, y, masked, limits, valid):
    """Flag the valid pixels of a row; their number."""
    n = np.int32(0)
    for i in range(len(y)):
        ok = is_valid(m[i], v[i], y[i], limits)
        valid[i] = ok
        n += np.int32(ok)
    if len(masked) > 0:
        n = np.int32(0)
        for i in range(len(y)):
            valid[i] &= masked[i] == 0
            n += np.int32(valid[i])
    return np.int64(n)


@compiled
def _count_excluded(m, v, y, masked, limits, is_nan, missing, r, left, totals):
    """Count the pixels of a row that are not valid, each under its first reason."""
    no_data, no_truth, nan_is_nodata = np.int32(0), limits[2], is_nan[2]
    for i in range(len(y)):
        no_data += np.int32((y[i] == no_truth) | (nan_is_nodata & (y[i] != y[i])))
    if no_data == missing:
        totals.excluded[TRUTH_NODATA] += missing
        return
    for i in range(len(y)):
        found = masked[i] if len(masked) > 0 else 0
        reason = reason_of(m[i], v[i], y[i], found, limits, is_nan)
        if reason >= 0:
            totals.excluded[reason] += 1
        if reason == VARIANCE_NOT_POSITIVE and v[i] < 0:
            if totals.negative[0] == 0:
                totals.negative[1], totals.negative[2] = r, left + i
            totals.negative[0] += 1


@compiled
def add_slab(n, scratch, lattice, cells, cell, totals):
    """Add the n pixels in the buffers to a cell."""
    sums = scratch.slab
    _derive(n, scratch, sums)
    low, high = _extremes(n, scratch.variance)
    _merge_products(n, scratch, sums, cells, cell)
    cells.sums[cell, NLL] += _log_sum(n, low, scratch)
    for i in range(N_CENTRED):
        cells.sums[cell, i] += sums[i]
    cells.sums[cell, VARIANCE] += sums[VARIANCE]
    cells.n[cell] += n
    cells.extremes[cell, 0] = min(cells.extremes[cell, 0], low)
    cells.extremes[cell, 1] = max(cells.extremes[cell, 1], high)
    _scatter_keys(n, scratch)
    _scatter_buckets(n, scratch, lattice)
    if totals.kept_state[0] > 0:
        totals.highest[0] = max(totals.highest[0], high)
        _keep(n, high, scratch, totals)


@compiled_reordered
def _derive(n, scratch, sums):
    """Error, std, z, s z^2 and bucket of each pixel, and the slab's sums in the order of `SUMS`."""
    y, m, v = scratch.truth, scratch.mean, scratch.variance
    e1, a1, s1, y1, m1, z1, v1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        e, s = m[i] - y[i], math.sqrt(v[i])
        z = -e / s
        scratch.error[i], scratch.std[i], scratch.z[i], scratch.szz[i] = e, s, z, -e * z
        e1 += e
        a1 += abs(e)
        s1 += s
        y1 += y[i]
        m1 += m[i]
        z1 += z
        v1 += v[i]
    for i in range(n):
        scratch.key_source[i] = v[i]
        scratch.bucket[i] = np.int32(min(max(scratch.z[i] + REACH, 0.0), TOP) * PER_UNIT)
    sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6] = e1, a1, s1, y1, m1, z1, v1


@compiled_reordered
def _extremes(n, variance):
    low, high = np.inf, -np.inf
    for i in range(n):
        low, high = min(low, variance[i]), max(high, variance[i])
    return low, high


@compiled_reordered
def _products(n, scratch, means):
    """Sums of products of deviations from the slab's own means, in the order of `PRODUCTS`."""
    ee, aa, ss, yy, mm, zz, sa, my = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        e, a, s = scratch.error[i] - means[0], abs(scratch.error[i]) - means[1], scratch.std[i] - means[2]
        y, m, z = scratch.truth[i] - means[3], scratch.mean[i] - means[4], scratch.z[i] - means[5]
        ee += e * e
        aa += a * a
        ss += s * s
        yy += y * y
        mm += m * m
        zz += z * z
        sa += s * a
        my += m * y
    return ee, aa, ss, yy, mm, zz, sa, my


@compiled
def _merge_products(n, scratch, sums, cells, cell):
    """Merge the slab's products into the cell's by the pairwise rule."""
    means, away = np.empty(N_CENTRED), np.empty(N_CENTRED)
    before = cells.n[cell]
    for i in range(N_CENTRED):
        means[i] = sums[i] / n
        away[i] = means[i] - cells.sums[cell, i] / before if before > 0 else 0.0
    within = _products(n, scratch, means)
    weight = before * (n / (before + n))
    for p in range(N_PRODUCTS):
        cells.products[cell, p] += within[p] + weight * away[LEFT[p]] * away[RIGHT[p]]


@compiled_reordered
def _log_sum(n, low, scratch):
    """Sum of log(variance): exponents are added, mantissas multiplied, which in eight lanes cannot overflow.

    Each lane has at most `SLAB` / 8 factors in [1, 2).
    """
    total = 0.0
    if low < SMALLEST_NORMAL:
        for i in range(n):
            total += math.log(scratch.variance[i])
        return total
    bits, mantissa = scratch.variance.view(np.uint64), scratch.mantissa.view(np.uint64)
    exponents = np.int64(0)
    for i in range(n):
        exponents += np.int64(bits[i] >> np.uint64(52))
        mantissa[i] = (bits[i] & MANTISSA) | ONE_EXPONENT
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
        total += math.log(x[i])
    for product in (p0, p1, p2, p3, p4, p5, p6, p7):
        total += math.log(product)
    return total + (exponents - 1023 * n) * LOG_2


@compiled
def _scatter_keys(n, scratch):
    """Add each pixel to the key of its variance: n, variance, squared error, std."""
    bits, keys = scratch.key_source.view(np.uint32), scratch.keys
    for i in range(n):
        k, e = np.uint64(bits[i] >> np.uint32(FINE_SHIFT)), scratch.error[i]
        keys[k, 0] += 1.0
        keys[k, 1] += scratch.variance[i]
        keys[k, 2] += e * e
        keys[k, 3] += scratch.std[i]


@compiled
def _scatter_buckets(n, scratch, lattice):
    """Add each pixel to the bucket of its z: n, error, s, s z^2."""
    buckets, first, thresholds = scratch.buckets, lattice.first, lattice.thresholds
    depth = thresholds.shape[1]
    for i in range(n):
        z, c = scratch.z[i], np.uint64(scratch.bucket[i])
        b = np.uint64(first[c]) + np.uint64(z > thresholds[c, 0])
        for j in range(1, depth):
            b += np.uint64(z > thresholds[c, j])
        buckets[b, 0] += 1.0
        buckets[b, 1] += scratch.error[i]
        buckets[b, 2] += scratch.std[i]
        buckets[b, 3] += scratch.szz[i]


@compiled
def _keep(n, high, scratch, totals):
    """Store the pixels of the tail; without room for it the tail is given up."""
    first = key(totals.highest[0] / totals.kept_state[0])
    if key(high) < first:
        return
    bits = scratch.key_source.view(np.uint32)
    if totals.kept_state[1] + n > len(totals.kept_variance):
        _prune(first, totals)
    if totals.kept_state[1] + n > len(totals.kept_variance):
        totals.kept_state[0], totals.kept_state[1] = 0, 0
        return
    kept = totals.kept_state[1]
    for i in range(n):
        if (bits[i] >> np.uint32(FINE_SHIFT)) >= first:
            totals.kept_variance[kept] = scratch.variance[i]
            totals.kept_squared_error[kept] = scratch.error[i] * scratch.error[i]
            kept += 1
    totals.kept_state[1] = kept


@compiled
def _prune(first, totals):
    """Drop the stored pixels whose key lies before `first`."""
    kept = 0
    for i in range(totals.kept_state[1]):
        if key(totals.kept_variance[i]) >= first:
            totals.kept_variance[kept] = totals.kept_variance[i]
            totals.kept_squared_error[kept] = totals.kept_squared_error[i]
            kept += 1
    totals.kept_state[1] = kept


@compiled
def key(variance):
    """Key of one variance in the fine profile."""
    single = np.empty(1, np.float32)
    single[0] = variance
    return np.int64(single.view(np.uint32)[0] >> np.uint32(FINE_SHIFT))
