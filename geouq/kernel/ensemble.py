"""Ensembles: what the mixture of all members is worth at each truth."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, inlined, inlined_reordered
from geouq.core.gaussian import LOG_2PI
from geouq.core.validity import Nodata, stored_limits
from geouq.kernel.accumulators import Pixels, Sampled
from geouq.kernel.gather import SLAB, Gathered, Layers, add_up_weighted, filled_up, gather, sort_lanes
from geouq.kernel.mixture import log_density, mix, mixture_crps
from geouq.kernel.vector_ops import LANES
from geouq.summary.form import PIT_BINS
from geouq.summary.joint_sample import SIZE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SPREAD, BELOW, AT_MOST, CRPS, INNER, DENSITY, CDF, ALEATORIC, ROOM = range(9)
WORK = ROOM + 4


class Wanted(NamedTuple):
    """The settings of an ensemble.

    at : first column of each sum, in the order of `Ensemble.fields`. ends : (2, levels), what lies below the first or
    above the second is outside the mixture's interval: of its distribution function at the truth where members have
    densities; else of the number of members that do not lie above the truth, and of that of members below it.
    pairs : comparators that sort the members. shares : as of `shares_of_ties`.
    """

    at: Ints
    ends: Floats
    pairs: Ints
    shares: Floats


UNIT, RESIDUE_UNIT = 2.0**20, 2.0**40


def shares_of_ties(members: int) -> Floats:
    """Return what each rank gets of truth that equals 0, 1, 2 ... members, (3, members + 1).

    A share 1 / (ties + 1) is a multiple of 2^-20, and a residue that is a multiple of 2^-40: sums of either are exact
    for up to 2^33 pixels, whatever their order. The third row is the residue of the lowest rank, which makes the sum
    over the ranks exactly 1.

    >>> shares_of_ties(2).sum(0)[:2].tolist()
    [1.0, 0.5]
    """
    ranks = np.arange(1.0, members + 2)
    share = np.floor(UNIT / ranks) / UNIT
    residue = np.floor((1 / ranks - share) * RESIDUE_UNIT) / RESIDUE_UNIT
    return np.stack([share, residue, 1 - ranks * share - (ranks - 1) * residue])


def wanted_of(at: Ints, members: int, levels: Sequence[float], pairs: Ints, *, densities: bool) -> Wanted:
    """Return the requested sums of an ensemble. densities : whether its members have variances."""
    low, high = (1 - np.array(levels)) / 2, (1 + np.array(levels)) / 2
    if not densities:  # quantiles of the members: the smallest of which so large a share does not lie above it
        low, high = (np.ceil(np.round(side * members, 9)) for side in (low, high))
        high -= 1
    return Wanted(at, np.stack([low, high]), pairs, shares_of_ties(members))


@compiled
def add_ensemble(
    pixels: Pixels,
    columns: int,
    nodata: Nodata,
    slabs: Ints,
    layers: Layers,
    requested: Wanted,
    into: Gathered,
    sums: Floats,
    sampled: Sampled,
) -> None:
    """Add the valid pixels of slabs to the sums of their cells, sums (cells, columns), and to the sample."""
    limits = stored_limits(pixels.mean, pixels.variance, pixels.truth, nodata)
    room = np.empty(LANES * max(layers.values.shape[0] + 1, PIT_BINS))
    for s in range(slabs.shape[0]):
        n = gather(pixels, limits, columns, slabs[s], layers, into)
        if n > 0:
            _add_slab(n, requested, into, room, sums[slabs[s, 0]])
            if sampled.number.size > 0:
                _sample(n, layers, into, sampled)


@inlined
def _add_slab(n, requested, into, room, sums):
    members, work, densities, wide = into.values.shape[0], into.work, into.more.shape[0] > 0, filled_up(n)
    _spread_and_ranks(wide, members, into)
    if densities:
        mix(wide, into.values, into.more, into.truth, work[ROOM:], work[ALEATORIC], work[CDF], work[DENSITY])
        mixture_crps(wide, into.values, into.more, into.truth, work[ROOM:], work[CRPS])
    aleatoric, epistemic, crps, log_loss, below, above, ranks, residues, pit, errors = requested.at
    if not densities:
        _add_errors(n, wide, into, sums[errors : errors + members])
        sort_lanes(wide, into.values, requested.pairs)
        _fair_crps(wide, members, into)
    sums[epistemic] += add_up_weighted(n, work[SPREAD], into.weight)
    sums[crps] += add_up_weighted(n, work[CRPS], into.weight)
    _share_ranks(n, requested.shares, into, sums[ranks : ranks + members + 1], sums[residues : residues + members + 1])
    if densities:
        sums[aleatoric] += add_up_weighted(n, work[ALEATORIC], into.weight)
        sums[log_loss] += add_up_weighted(n, work[DENSITY], into.weight)
    first, second = (CDF, CDF) if densities else (AT_MOST, BELOW)
    for j in range(requested.ends.shape[1]):
        sums[below + j] += _weight_beyond(n, work[first], requested.ends[0, j], -1.0, into.weight)
        sums[above + j] += _weight_beyond(n, work[second], requested.ends[1, j], 1.0, into.weight)
    if densities:
        _to_bins(n, work[CDF])
        _count(n, work[CDF], into.weight, room[: LANES * PIT_BINS], sums[pit:])


@inlined
def _spread_and_ranks(n, members, into):
    """Return the epistemic variance, and the ranks of the truth."""
    values, work, truth, mean = into.values, into.work, into.truth, into.mean
    spread, below, at_most = work[SPREAD], work[BELOW], work[AT_MOST]
    for i in range(n):
        spread[i], below[i], at_most[i] = 0.0, 0.0, 0.0
    for k in range(members):
        _rank(n, values[k], truth, below, at_most)
        _add_squares(n, values[k], mean, spread)
    for i in range(n):
        spread[i] /= members


@inlined
def _rank(n, own, truth, below, at_most):
    """Count one member where it is below the truth, and where it is not above it."""
    for i in range(n):
        deviation = np.float64(own[i]) - truth[i]
        below[i] += 1.0 if deviation < 0 else 0.0
        at_most[i] += 1.0 if deviation <= 0 else 0.0


@inlined
def _add_errors(n, wide, into, sums):
    """Add the error of each member."""
    away = into.work[ROOM]
    for k in range(into.values.shape[0]):
        _deviate(wide, into.values[k], into.truth, away)
        sums[k] += add_up_weighted(n, away, into.weight)


@inlined
def _deviate(n, own, truth, away):
    for i in range(n):
        away[i] = np.float64(own[i]) - truth[i]


@inlined
def _fair_crps(n, members, into):
    """Mean distance from the truth, less half the mean distance between two different members; these are sorted."""
    crps, inner, truth = into.work[CRPS], into.work[INNER], into.truth
    for i in range(n):
        crps[i], inner[i] = 0.0, 0.0
    for k in range(members):
        own, times = into.values[k], 2.0 * k - members + 1
        for i in range(n):
            deviation = np.float64(own[i]) - truth[i]
            crps[i] += abs(deviation)
            inner[i] += times * deviation
    for i in range(n):
        crps[i] = crps[i] / members - inner[i] / (members * (members - 1))


@inlined
def _count(n, places, weight, room, counts):
    """Add weights to the counts of their places, by way of some of each, so that neighbours need not wait."""
    room[:] = 0.0
    for i in range(n):
        room[np.uint64(np.int64(places[i])) * np.uint64(LANES) + np.uint64(i % LANES)] += weight[i]
    for j in range(len(room)):
        counts[j // LANES] += room[j]


@inlined
def _share_ranks(n, shares, into, ranks, residues):
    """Add the weight of each pixel to the ranks that its truth may have, in equal shares."""
    below, at_most, weight = into.work[BELOW], into.work[AT_MOST], into.weight
    for i in range(n):
        first, last = np.int64(below[i]), np.int64(at_most[i])
        ties = last - first
        if ties == 0:
            ranks[first] += weight[i]
            continue
        residues[first] += weight[i] * shares[2, ties]
        for rank in range(first, last + 1):
            ranks[rank] += weight[i] * shares[0, ties]
            residues[rank] += weight[i] * shares[1, ties] if rank > first else 0.0


@inlined
def _to_bins(n, shares):
    """Put the number of its bin in the place of each share."""
    for i in range(n):
        shares[i] = min(shares[i] * PIT_BINS, PIT_BINS - 1.0)


@inlined_reordered
def _weight_beyond(n, values, end, side, weight):
    """Weight of what lies beyond an end, on its upper side (1) or its lower one (-1)."""
    total = 0.0
    for i in range(n):
        total += weight[i] if side * values[i] > side * end else 0.0
    return total


@compiled
def _sample(n: int, layers: Layers, into: Gathered, sampled: Sampled) -> None:
    """Keep the pixels with the lowest numbers, with each member's log density."""
    members, truth = layers.values.shape[0], into.truth
    for i in range(n):
        p = layers.first + into.place[i]
        if layers.number[p] >= sampled.limit[0]:
            continue
        if sampled.used[0] == len(sampled.number):
            prune_sample(sampled)
            if layers.number[p] >= sampled.limit[0]:
                continue
        place = sampled.used[0]
        sampled.number[place] = layers.number[p]
        for k in range(members):
            sampled.log_density[place, k] = log_density(
                np.float64(layers.values[k, p]) - truth[i], np.float64(into.more[k, i])
            )
        sampled.used[0] = place + 1


@compiled
def prune_sample(sampled: Sampled) -> None:
    """Drop all but the pixels with the lowest numbers; what is not below `limit` cannot be among them any more."""
    count = sampled.used[0]
    order = np.argsort(sampled.number[:count])[:SIZE]
    number, log_density = sampled.number[order], sampled.log_density[order]
    sampled.number[: len(order)], sampled.log_density[: len(order)] = number, log_density
    sampled.used[0] = len(order)
    if len(order) == SIZE:
        sampled.limit[0] = number[-1]


@compiled
def mixed(members: NDArray[np.floating], variances: NDArray[np.floating], mean: Floats, variance: Floats) -> None:
    """Fill in mean and variance of mixtures of members (members, pixels), whose variances may be (0, pixels).

    A member that says nothing makes the mean NaN, and the lowest variance is the mixture's where it is not positive.
    """
    for first in range(0, len(mean), SLAB):
        part = slice(first, min(first + SLAB, len(mean)))
        _mix(members, variances, part, mean[part], variance[part])


@inlined
def _mix(members, variances, part, mean, variance):
    """Mean and variance of some pixels."""
    count, n = members.shape[0], len(mean)
    for i in range(n):
        mean[i], variance[i] = 0.0, 0.0
    for k in range(count):
        _add_layer(n, members[k, part], mean)
    for i in range(n):
        mean[i] /= count
    for k in range(count):
        _add_squares(n, members[k, part], mean, variance)
    for k in range(variances.shape[0]):
        _add_layer(n, variances[k, part], variance)
    for i in range(n):
        variance[i] /= count
    for k in range(variances.shape[0]):
        _lower(n, variances[k, part], variance)


@inlined
def _add_layer(n, own, total):
    for i in range(n):
        total[i] += own[i]


@inlined
def _add_squares(n, own, mean, total):
    """Add the squares of a member's deviations from the mean."""
    for i in range(n):
        away = own[i] - mean[i]
        total[i] += away * away


@inlined
def _lower(n, own, variance):
    """Put a member's variance where it is not positive."""
    for i in range(n):
        before, single = variance[i], np.float64(own[i])
        variance[i] = before if single > 0 else min(before, single)


@compiled
def fair_crps_of(
    members: NDArray[np.floating], truth: NDArray[np.floating], pairs: Ints, into: Gathered, out: Floats
) -> None:
    """Fair CRPS of each pixel alone, members (members, pixels) and truth (pixels)."""
    room = into.values.shape[1]
    for first in range(0, len(truth), room):
        n = min(room, len(truth) - first)
        into.truth[:n] = truth[first : first + n]
        for k in range(len(members)):
            own, row = members[k, first : first + n], into.values[k]
            for i in range(n):
                row[i] = own[i]
        sort_lanes(n, into.values, pairs)
        _fair_crps(n, len(members), into)
        out[first : first + n] = into.work[CRPS, :n]


@compiled
def add_split(
    pixels: Pixels,
    columns: int,
    nodata: Nodata,
    slabs: Ints,
    layers: Layers,
    shares: Floats,
    into: Gathered,
    sums: Floats,
) -> None:
    """Add the valid pixels of slabs, whose `more` are aleatoric and epistemic variance, to the sums of their cells.

    shares : probability of each number of observations at one of two pixels, from 0 to all of them.
    """
    limits = stored_limits(pixels.mean, pixels.variance, pixels.truth, nodata)
    for s in range(slabs.shape[0]):
        n = gather(pixels, limits, columns, slabs[s], layers, into)
        own = sums[slabs[s, 0]]
        for i in range(n):
            w, error = into.weight[i], into.mean[i] - into.truth[i]
            aleatoric, epistemic = into.more[0, i], into.more[1, i]
            own[0] += w * aleatoric
            own[1] += w * epistemic
            for k in range(1, len(shares)):
                own[2] -= w * shares[k] * shared_log_density(error, aleatoric, epistemic, k)


@inlined
def shared_log_density(error, aleatoric, epistemic, count):
    """Log density of `count` equal observations whose epistemic error is one and the same."""
    both = aleatoric + count * epistemic
    quadratic = count * error * error / both
    return -0.5 * (count * LOG_2PI + (count - 1) * math.log(aleatoric) + math.log(both) + quadratic)
