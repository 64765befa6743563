"""Norms of multiples of a shape of gaps with noise, and the multiples that agree with a norm observed; compiled.

Arrays are float64: shape (gaps), noise (gaps, N) of which the first column is 0, weight as noise, norms (N), and `at`,
which are levels of the gaps or the distances between these.
"""

import math

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, compiled_for
from geouq.metrics.norms import NormKind

Floats = NDArray[np.float64]
STEPS = 20  # halvings; 2^-20 of the interval is left
LARGEST_EXPONENT = math.log(np.finfo(np.float64).max)
LARGEST_FACTOR = 64.0  # of the true gaps, relative to the observed ones
MEAN_SIZE, ROOT, ROOT_BELOW, SQUARES, RELATIVE_SQUARES, AREA, RATIOS = range(7)
KINDS: dict[NormKind, int] = {
    "mean size": MEAN_SIZE,
    "root mean square": ROOT,
    "root mean square below": ROOT_BELOW,
    "squares": SQUARES,
    "relative squares": RELATIVE_SQUARES,
    "area": AREA,
    "ratios": RATIOS,
}


@compiled_for("f8[:,::1]")
def spreads_of(noise: Floats) -> tuple[Floats, Floats]:
    """Return the mean square of each gap over all noise (gaps), and the variance of each noise over its gaps (R).

    Noise that is not finite is left out.
    """
    rows, columns = noise.shape
    squares, counts, spreads = np.zeros(columns), np.zeros(columns), np.zeros(rows)
    for r in range(rows):
        total, square, used = 0.0, 0.0, 0
        for k in range(columns):
            if np.isfinite(noise[r, k]):
                squares[k] += noise[r, k] ** 2
                counts[k] += 1
                total += noise[r, k]
                used += 1
        for k in range(columns):
            if np.isfinite(noise[r, k]):
                square += (noise[r, k] - total / used) ** 2
        spreads[r] = square / used if used else np.nan
    return squares / np.maximum(counts, 1), spreads


@compiled_for("i8, f8[::1], f8[:,::1], f8[:,::1], f8[::1], f8[::1], f8, f8")
def limits_along(
    kind: int,
    shape: Floats,
    noise: Floats,
    weight: Floats,
    at: Floats,
    of_nothing: Floats,
    observed: float,
    alpha: float,
) -> tuple[float, float]:
    """Return the norms of the smallest and the largest multiple of a shape whose tails are above alpha."""
    norms = np.empty(noise.shape[1])
    beyond = 1.0
    while beyond < LARGEST_FACTOR:
        write_norms(kind, beyond, shape, noise, weight, at, norms)
        if tails_of(norms, of_nothing, observed)[1] <= alpha:
            break
        beyond *= 2
    first = 0.0
    write_norms(kind, first, shape, noise, weight, at, norms)
    if tails_of(norms, of_nothing, observed)[0] <= alpha:
        low, first = 0.0, beyond
        for _ in range(STEPS):
            middle = (low + first) / 2
            write_norms(kind, middle, shape, noise, weight, at, norms)
            if tails_of(norms, of_nothing, observed)[0] <= alpha:
                low = middle
            else:
                first = middle
    low, last = first, beyond
    for _ in range(STEPS):
        middle = (low + last) / 2
        write_norms(kind, middle, shape, noise, weight, at, norms)
        if tails_of(norms, of_nothing, observed)[1] > alpha:
            low = middle
        else:
            last = middle
    write_norms(kind, first, shape, noise, weight, at, norms)
    smallest = norms[0]
    write_norms(kind, last, shape, noise, weight, at, norms)
    return smallest, norms[0]


@compiled  # ideals are 0, so that runs do not call it
def multiple_with(number: float, kind: int, shape: Floats, noise: Floats, weight: Floats, at: Floats) -> float:
    """Return the multiple of a shape whose first norm is a number, or the largest one."""
    norms = np.empty(noise.shape[1])
    low, high = 0.0, LARGEST_FACTOR
    for _ in range(STEPS):
        middle = (low + high) / 2
        write_norms(kind, middle, shape, noise, weight, at, norms)
        if norms[0] < number:
            low = middle
        else:
            high = middle
    return high


@compiled_for("f8[::1], f8[::1], f8")
def tails_of(norms: Floats, of_nothing: Floats, observed: float) -> tuple[float, float]:
    """Return the largest alpha at which norms are not too small, and that at which they are not too large.

    The first is without noise. The lower tail has half of alpha, less near 0.
    """
    smaller = larger = 0
    for norm in norms[1:]:
        smaller += norm <= observed
        larger += norm >= observed
    count, lower = len(norms) - 1, np.searchsorted(of_nothing, norms[0], side="right") / len(of_nothing) / 2
    return larger / count / (1 - lower), smaller / count / lower if lower > 0 else math.inf


@compiled_for("i8, f8, f8[::1], f8[:,::1], f8[:,::1], f8[::1], f8[::1]")
def write_norms(
    kind: int, multiple: float, shape: Floats, noise: Floats, weight: Floats, at: Floats, out: Floats
) -> None:
    """Write the norm of multiple x shape (gaps) + noise (gaps, N) to out (N)."""
    out[:] = 0.0
    if kind == AREA:
        _add_areas(multiple, shape, noise, at, out)
    elif kind == RATIOS:
        _add_ratios(multiple, shape, noise, weight, out)
    elif kind == MEAN_SIZE:
        _add_sizes(multiple, shape, noise, out)
    elif kind == SQUARES:
        _add_squares(multiple, shape, noise, weight, out)
    elif kind == RELATIVE_SQUARES:
        _add_relative_squares(multiple, shape, noise, at, out)
    else:
        _add_root(kind, multiple, shape, noise, out)


@compiled
def _add_sizes(multiple: float, shape: Floats, noise: Floats, norms: Floats) -> None:
    """Add the mean size of the gaps."""
    for k in range(len(shape)):
        for i in range(len(norms)):
            norms[i] += abs(multiple * shape[k] + noise[k, i])
    for i in range(len(norms)):
        norms[i] /= len(shape)


@compiled
def _add_squares(multiple: float, shape: Floats, noise: Floats, weight: Floats, norms: Floats) -> None:
    """Add the weighted squares of the gaps that are not missing."""
    for k in range(len(shape)):
        for i in range(len(norms)):
            square = weight[k, i] * (multiple * shape[k] + noise[k, i]) ** 2
            norms[i] += 0.0 if np.isnan(square) else square


@compiled
def _add_areas(multiple: float, shape: Floats, noise: Floats, widths: Floats, norms: Floats) -> None:
    """Add the area between the diagonal and the line through the points of a curve and both corners."""
    before = np.zeros(len(norms))
    for k in range(len(widths)):
        for i in range(len(norms)):
            gap = multiple * shape[k] + noise[k, i] if k < len(shape) else 0.0
            height = abs(before[i]) + abs(gap)
            # two triangles that meet on the diagonal, or one trapezium
            crossed = (before[i] ** 2 + gap**2) / height if before[i] * gap < 0 else height
            norms[i] += widths[k] * crossed / 2
            before[i] = gap


@compiled
def _add_ratios(multiple: float, shape: Floats, factors: Floats, weight: Floats, norms: Floats) -> None:
    """Add weight x |e^(multiple x shape) x factor - 1| of each gap."""
    for k in range(len(shape)):
        ratio = math.exp(min(multiple * shape[k], LARGEST_EXPONENT))
        for i in range(len(norms)):
            norms[i] += abs(ratio * factors[k, i] - 1) * weight[k, i]


@compiled
def _add_relative_squares(multiple: float, shape: Floats, noise: Floats, levels: Floats, norms: Floats) -> None:
    """Add squared gaps, weighted by the shares observed, which are gaps plus levels, relative to their mean."""
    for i in range(len(norms)):
        mean = 0.0
        for k in range(len(shape)):
            mean += (multiple * shape[k] + noise[k, i] + levels[k]) / len(shape)
        for k in range(len(shape)):
            gap = multiple * shape[k] + noise[k, i]
            norms[i] += ((gap + levels[k]) / mean if mean > 0 else 1.0) * gap**2


@compiled
def _add_root(kind: int, multiple: float, shape: Floats, noise: Floats, norms: Floats) -> None:
    """Add the root mean square of the gaps that are finite, or of those below 0."""
    used = np.zeros(len(norms))
    for k in range(len(shape)):
        for i in range(len(norms)):
            gap = multiple * shape[k] + noise[k, i]
            if np.isfinite(gap) and (kind == ROOT or gap < 0):
                norms[i] += gap**2
                used[i] += 1
    for i in range(len(norms)):
        norms[i] = math.sqrt(norms[i] / max(used[i], 1))
