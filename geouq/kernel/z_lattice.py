"""Tables for counting z and for sums of CRPS and interval scores without an erf, exp or log per pixel.

The range -8 < z < 8 is cut into cells of 1/128 or finer, the lattice, so that none holds two edges of the z histogram,
and those with an edge are cut there: the pieces are called buckets. Each bucket gathers n and the sums of error, s and
s z^2. Whole buckets lie on one side of every edge, so that counts, coverage and interval scores are exact. Within a
bucket CRPS = s g(z) is expanded to second order about the lattice cell's centre, which errs by at most
max|g'''| / 6 (1/256)^3 = 5e-9 s a pixel.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import ConfigError
from geouq.core.gaussian import INV_SQRT_PI, cdf, density, half_width, standard_crps
from geouq.summary.z_histogram import COMPACT, FINE, edge_probabilities, edge_quantiles

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

REACH = 8.0
PER_UNIT = 128
FINEST = 1 << 16
PIT_PER_UNIT, FINEST_PIT = 1 << 10, 1 << 20


class ZLattice(NamedTuple):
    """What the kernel looks up; B buckets, E edges, L levels.

    per_unit : lattice cells in a unit of z.
    first : uint32 (cells), first bucket of each lattice cell.
    threshold : float64 (cells), z beyond it falls into the next bucket; inf where there is no edge.
    bin_of : int64 (B), bin of the fine z histogram.
    crps : float64 (B, 3), CRPS sums are crps @ (sum s, sum error, sum s z^2).
    compact_of : int64 (E + 1), bin of the compact histogram for each fine bin.
    outside : int64 (L, 2), fine bins up to the first and from the second on lie outside the level's interval.
    outside_of : uint32 (B), number of levels whose closed interval does not hold z.
    pit : float64 (B, 3), centre of the bucket's lattice cell, and PIT and density of z there.
    half_width, penalty : float64 (L), h_p and 2 / (1 - p).
    """

    per_unit: float
    first: NDArray[np.uint32]
    threshold: Floats
    bin_of: Ints
    crps: Floats
    compact_of: Ints
    outside: Ints
    outside_of: NDArray[np.uint32]
    pit: Floats
    half_width: Floats
    penalty: Floats

    @property
    def buckets(self) -> int:
        """Number of buckets."""
        return len(self.bin_of)

    @property
    def fine_bins(self) -> int:
        """Number of bins of the fine z histogram."""
        return len(self.compact_of)

    @property
    def compact_bins(self) -> int:
        """Number of bins of the compact z histogram."""
        return int(self.compact_of[-1]) + 1


def lattice_cell(z: Floats, per_unit: float) -> Ints:
    """Return the lattice cell of each z; the kernel computes it by the same expression, so that ties fall alike."""
    return (np.clip(z + REACH, 0, np.nextafter(2 * REACH, 0)) * per_unit).astype(np.int64)


def z_lattice(levels: Sequence[float]) -> ZLattice:
    """Return the tables for the fine grid of the z histogram joined with these levels.

    Raises ConfigError if two edges are too close together.
    """
    quantiles = edge_quantiles(edge_probabilities(levels, FINE))
    # An edge below 0 belongs to the bin above it, any other edge to the bin below it.
    thresholds = np.where(quantiles < 0, np.nextafter(quantiles, -np.inf), quantiles)
    per_unit = _coarsest(thresholds, levels, lattice_cell, PER_UNIT, FINEST)
    return _lattice(levels, thresholds, lattice_cell, per_unit, (_crps_coefficients, _pit_coefficients))


def pit_lattice(levels: Sequence[float]) -> ZLattice:
    """Return the tables of `z_lattice` for counts of PIT instead of z, with the same edges and without scores.

    Raises ConfigError if two edges are too close together.
    """
    edges = edge_probabilities(levels, FINE)
    thresholds = np.where(edges < 0.5, np.nextafter(edges, -np.inf), edges)
    per_unit = _coarsest(thresholds, levels, pit_cell, PIT_PER_UNIT, FINEST_PIT)
    return _lattice(levels, thresholds, pit_cell, per_unit, (_no_coefficients, _no_coefficients))


def pit_cell(pit: Floats, per_unit: float) -> Ints:
    """Return the lattice cell of each PIT; the kernel computes the same."""
    return (np.clip(pit, 0, np.nextafter(1, 0)) * per_unit).astype(np.int64)


Cells = Callable[[Floats, float], Ints]
Coefficients = Callable[[int], Floats]


def _lattice(
    levels: Sequence[float],
    thresholds: Floats,
    cell_of: Cells,
    per_unit: int,
    coefficients: tuple[Coefficients, Coefficients],
) -> ZLattice:
    """Return the lattice with these edges; coefficients : of CRPS and of PIT."""
    fine, compact = edge_probabilities(levels, FINE), edge_probabilities(levels, COMPACT)
    cells = int(cell_of(np.array(np.inf), per_unit)) + 1
    cell_of_edge = cell_of(thresholds, per_unit)
    has_edge = np.bincount(cell_of_edge, minlength=cells)
    first = np.arange(cells) + np.cumsum(has_edge) - has_edge
    threshold = np.full(cells, np.inf)
    threshold[cell_of_edge] = thresholds
    starts_bin = np.zeros(cells + len(fine), np.int64)
    starts_bin[first[cell_of_edge] + 1] = 1
    ends = np.array([[(1 - level) / 2, (1 + level) / 2] for level in levels]).reshape(-1, 2)
    outside = np.searchsorted(fine, np.round(ends, 12)) + np.array([0, 1])
    bin_of = np.cumsum(starts_bin)
    return ZLattice(
        per_unit=float(per_unit),
        first=first.astype(np.uint32),
        threshold=threshold,
        bin_of=bin_of,
        crps=np.repeat(coefficients[0](per_unit), has_edge + 1, axis=0),
        compact_of=np.searchsorted(compact, np.append(fine, 2.0)),
        outside=outside,
        outside_of=_count_outside(bin_of, outside),
        pit=np.repeat(coefficients[1](per_unit), has_edge + 1, axis=0),
        half_width=np.array([half_width(level) for level in levels]),
        penalty=np.array([2 / (1 - level) for level in levels]),
    )


def _coarsest(thresholds: Floats, levels: Sequence[float], cell_of: Cells, per_unit: int, finest: int) -> int:
    """Return the number of cells per unit, a power of two, so that no cell contains two edges."""
    while len(np.unique(cell_of(thresholds, per_unit))) < len(thresholds):
        per_unit *= 2
        if per_unit > finest:
            text = ", ".join(f"{level:g}" for level in levels)
            raise ConfigError(f"levels: some of {text} lie too close together to be counted apart; leave one out")
    return per_unit


def _count_outside(bin_of: Ints, outside: Ints) -> NDArray[np.uint32]:
    """Return the number of levels whose interval does not hold the z of each bucket."""
    beyond = (bin_of[:, np.newaxis] <= outside[:, 0]) | (bin_of[:, np.newaxis] >= outside[:, 1])
    return beyond.sum(-1).astype(np.uint32)


def _centres(per_unit: int) -> Floats:
    """Return the middle of each lattice cell."""
    return (np.arange(int(2 * REACH) * per_unit) + 0.5) / per_unit - REACH


def _pit_coefficients(per_unit: int) -> Floats:
    """Return the centre, PIT and density of each lattice cell; beyond the lattice PIT is 0 or 1 to 1e-15."""
    centre = _centres(per_unit)
    coefficients = np.stack([centre, cdf(centre), density(centre)], axis=-1)
    coefficients[0, 2] = coefficients[-1, 2] = 0.0
    return coefficients


def _no_coefficients(per_unit: int) -> Floats:
    """Return zeros for each lattice cell of PIT."""
    return np.zeros((per_unit, 3))


def _crps_coefficients(per_unit: int) -> Floats:
    """Return the coefficients of sum s, sum error = -sum s z and sum s z^2 in the sum of s g(z), by lattice cell.

    g is the standard normal's CRPS, g' = 2 Phi - 1, g'' = 2 phi; beyond the lattice it is |z| - 1/sqrt(pi) to 1e-15.
    """
    centre = _centres(per_unit)
    value, slope, curvature = standard_crps(centre), 2 * cdf(centre) - 1, 2 * density(centre)
    coefficients = np.stack(
        [value - slope * centre + curvature * centre**2 / 2, -slope + curvature * centre, curvature / 2],
        axis=-1,
    )
    coefficients[0] = -INV_SQRT_PI, 1, 0
    coefficients[-1] = -INV_SQRT_PI, -1, 0
    return coefficients
