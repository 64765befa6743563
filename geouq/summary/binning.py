"""Bins and quantiles of a row of a variance profile (compiled: maps need them for every cell).

A key whose pixels are all kept is divided between two bins; a key of one single value stays whole (ties stay
together); any other key that an edge falls into is split in proportion to its width, in whole pixels. Groups of equal
numbers of pixels in the order of their variance are formed as `numpy.array_split` forms them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, compiled_for

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Of equal values, sum s^2 - (sum s)^2 / n is rounding alone, below this share of sum s^2 for any number of pixels;
# values that pass for equal differ by less than 1 part in 10^5.
ONE_VALUE = 1e-11
N = 3  # column of n in the sums of a key; the last column is the weight, or n without weights
UNWEIGHTED = 4  # columns where there are no weights; the next is the sum of (weight x variance)^2


@compiled_for("f8[:,::1], f8[:,::1], f8, f8, b1[::1], f8[:,::1], f8[::1], f8[:,::1]")
def bin_rows(
    borders: Floats,
    sums: Floats,
    lowest: float,
    highest: float,
    complete: Flags,
    kept: Floats,
    edges: Floats,
    out: Floats,
) -> bool:
    """Fill the sums of bins; return True if no key had to be split.

    out (bins, 5): sums as of `Binned`: variance, squared error, (weight x variance)^2, n, weight.
    borders (keys, 2), sums (keys, 4 or 6), complete (keys), kept (pixels, 2 or 3), edges (bins + 1).
    """
    out[:] = 0.0
    exact = True
    for k in range(len(sums)):
        if sums[k, N] == 0:
            continue
        low, high = max(borders[k, 0], lowest), min(borders[k, 1], highest)
        first, last = _bin_of(low, edges), _bin_of(high, edges)
        if first == last and 0 <= first < len(out):
            _add(out, first, sums[k], 1.0)
        elif complete[k]:
            _divide_kept(borders[k], kept, edges, out)
        elif _is_one_value(sums[k]):
            _add(out, _bin_of(sums[k, 0] / sums[k, -1], edges), sums[k], 1.0)
        else:
            exact = _split(sums[k], low, high, edges, out) and exact
    return exact


@compiled_for("f8[:,::1], f8[:,::1], f8, f8, b1[::1], f8[:,::1], f8[::1]")
def order_statistics(
    borders: Floats,
    sums: Floats,
    lowest: float,
    highest: float,
    complete: Flags,
    kept: Floats,
    probabilities: Floats,
) -> Floats:
    """Quantiles by linear interpolation between order statistics (numpy's default); every pixel counts once."""
    n = sums[:, N].sum()
    found = np.full(len(probabilities), np.nan)
    if n == 0:
        return found
    for i in range(len(probabilities)):
        position = probabilities[i] * (n - 1)
        rank = np.floor(position)
        below = _value_of_rank(rank, borders, sums, lowest, highest, complete, kept)
        above = _value_of_rank(min(rank + 1, n - 1), borders, sums, lowest, highest, complete, kept)
        found[i] = below + (above - below) * (position - rank)
    return found


@compiled
def _bin_of(value: float, edges: Floats) -> int:
    bins = len(edges) - 1
    if value == edges[bins]:
        # the last bin is closed; of several edges at one value, the last bin that begins there takes it
        return bins - 1
    return int(np.searchsorted(edges, value, side="right")) - 1


@compiled
def _is_one_value(sums: Floats) -> bool:
    variance, std, weight = sums[0], sums[2], sums[-1]
    return sums[N] == 1 or abs(variance - std * std / weight) <= ONE_VALUE * variance


@compiled
def _add(out: Floats, index: int, sums: Floats, share: float) -> None:
    """Add a share of a key to a bin."""
    if 0 <= index < len(out):
        out[index, 0] += share * sums[0]
        out[index, 1] += share * sums[1]
        out[index, 2] += share * square_of_variance(sums)
        out[index, 3] += share * sums[N]
        out[index, 4] += share * sums[-1]


@compiled
def square_of_variance(sums: Floats) -> float:
    """Return the sum of (weight x variance)^2 of a key.

    Where there are no weights it follows from the sums of variance and std, to second order.
    """
    if len(sums) > UNWEIGHTED:
        return sums[UNWEIGHTED]
    variance, std, n = sums[0], sums[2], sums[N]
    within = max(variance - std * std / n, 0.0)
    return (variance + 4 * within) * variance / n


@compiled
def _divide_kept(border: Floats, kept: Floats, edges: Floats, out: Floats) -> None:
    single = np.empty(6)
    start, stop = _kept_range(border, kept)
    for i in range(start, stop):
        weight = kept[i, 2] if kept.shape[1] > 2 else 1.0
        single[0], single[1], single[2] = weight * kept[i, 0], weight * kept[i, 1], weight * np.sqrt(kept[i, 0])
        single[3], single[4], single[5] = 1.0, (weight * kept[i, 0]) ** 2, weight
        _add(out, _bin_of(kept[i, 0], edges), single, 1.0)


@compiled
def _split(sums: Floats, low: float, high: float, edges: Floats, out: Floats) -> bool:
    """Share a key among the bins that it spans; True if no edge fell strictly inside it."""
    n, cut, inside = sums[N], 0.0, 0
    for j in range(-1, len(out) + 1):
        upper = high if j >= len(out) else min(max(edges[j + 1], low), high)
        share = np.floor((upper - low) / (high - low) * n + 0.5)
        if share > cut:
            inside += 1
            _add(out, j, sums, (share - cut) / n)
            cut = share
    return inside <= 1


@compiled
def _value_of_rank(
    rank: float, borders: Floats, sums: Floats, lowest: float, highest: float, complete: Flags, kept: Floats
) -> float:
    k = 0
    while rank >= sums[k, N]:
        rank -= sums[k, N]
        k += 1
    if complete[k]:
        return kept[_kept_range(borders[k], kept)[0] + int(rank), 0]
    if _is_one_value(sums[k]):
        return sums[k, 0] / sums[k, -1]
    low, high = max(borders[k, 0], lowest), min(borders[k, 1], highest)
    return low + (high - low) * (rank + 0.5) / sums[k, N]


@compiled
def _kept_range(border: Floats, kept: Floats) -> tuple[int, int]:
    return np.searchsorted(kept[:, 0], border[0]), np.searchsorted(kept[:, 0], border[1])


class Runs(NamedTuple):
    """Runs of pixels in the order of their variance.

    ends : lowest and highest variance of each, (runs, 2). sums : (runs, 5), sums of variance, squared error and
    (weight x variance)^2, n, and weight. places_known : whether kept pixels with the same variance are in the order of
    their places.
    """

    ends: Floats
    sums: Floats
    places_known: bool


def runs_of(
    borders: Floats,
    sums: Floats,
    extremes: tuple[float, float],
    complete: NDArray[np.bool_],
    kept: Floats,
    *,
    places_known: bool,
) -> Runs:
    """Return the runs of a row; arguments as of `binning.bin_rows`, kept pixels in the order of their variance."""
    used = sums[:, N] > 0
    whole = used & ~complete
    keys = np.clip(borders[whole], *extremes), _of_keys(sums[whole])
    inside = np.searchsorted(borders[:, 0], kept[:, 0], side="right") - 1
    own = kept[complete[inside] & (inside >= 0)] if len(borders) else kept[:0]
    singles = np.stack([own[:, 0], own[:, 0]], axis=-1), _of_pixels(own)
    ends, both = (np.concatenate(pair) for pair in zip(keys, singles, strict=True))
    order = np.argsort(ends[:, 0], kind="stable")
    return Runs(ends[order], both[order], places_known)


def split_row(runs: Runs, bins: int) -> tuple[Floats, Floats, bool]:
    """Return edges (bins + 1), sums (bins, 5) as of `Runs`, and whether no group has a share of a run."""
    up_to = np.concatenate([np.zeros((1, 5)), np.cumsum(runs.sums, axis=0)])
    total = int(up_to[-1, N])
    if not total:
        return np.full(bins + 1, np.nan), np.zeros((bins, 5)), True
    size, larger = divmod(total, bins)
    first = np.arange(bins + 1) * size + np.minimum(np.arange(bins + 1), larger)
    sums = np.diff([np.interp(first, up_to[:, N], column) for column in up_to.T], axis=-1).T
    sums[:, N] = np.diff(first)
    place = np.searchsorted(up_to[:, N], first, side="right") - 1
    last = np.minimum(place, len(runs.ends) - 1)
    share = (first - up_to[last, N]) / runs.sums[last, N]
    edges = runs.ends[last, 0] + (runs.ends[last, 1] - runs.ends[last, 0]) * np.minimum(share, 1.0)
    inner = first[1:-1]
    cut = (up_to[place[1:-1], N] != inner).any()
    ties = not runs.places_known and _parts_ties(runs, place[1:-1], inner, total)
    return edges, sums, not (cut or ties)


def _parts_ties(runs: Runs, place: NDArray[np.int64], first: NDArray[np.int64], total: int) -> bool:
    """Return whether a border lies between pixels with the same variance, whose order is not defined."""
    between = place[(first > 0) & (first < total)]
    return bool((runs.ends[between - 1, 1] == runs.ends[between, 0]).any())


def _of_keys(sums: Floats) -> Floats:
    """Return sums of keys as of `Runs`."""
    squares = np.array([square_of_variance(row) for row in sums])
    return np.stack([sums[:, 0], sums[:, 1], squares, sums[:, N], sums[:, -1]], axis=-1)


def _of_pixels(pixels: Floats) -> Floats:
    """Return sums of single pixels as of `Runs`."""
    variance, squared_error = pixels[:, 0], pixels[:, 1]
    weight = pixels[:, 2] if pixels.shape[1] > 2 else np.ones(len(pixels))
    fields = (weight * variance, weight * squared_error, (weight * variance) ** 2, np.ones(len(pixels)), weight)
    return np.stack(fields, axis=-1)
