"""Groups of equal numbers of pixels in the order of their variance, as `numpy.array_split` forms them.

A row of a variance profile is a sequence of runs: single pixels where they are kept, and whole keys elsewhere.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geouq.summary.binning import N, square_of_variance

Floats = NDArray[np.float64]


class Runs(NamedTuple):
    """Runs of pixels in the order of their variance.

    ends : lowest and highest variance of each, (runs, 2). sums : (runs, 5), sums of variance, squared error and
    (weight x variance)^2, n, and weight. places_known : whether kept pixels of one variance are in the order of
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
    """Return whether a border lies between pixels of one variance, of which nothing says which comes first."""
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
