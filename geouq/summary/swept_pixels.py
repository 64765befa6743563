"""The profile of few pixels, which are stored as the sweep found them: 8 bytes a pixel, and no sums.

Sorting pixels and adding them up by key takes longer than the sweep itself. So both are done when the profile is first
used. The sums have the same bits as those of the sweep, which adds pixels to cells, cells to groups of cells, and
groups to bands of columns, each in their order.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, compiled_for
from geouq.summary.statistic import Array, Dimensions, Spec
from geouq.summary.tail_pixels import TailPixels
from geouq.summary.variance_profile import FINE_SHIFT, UNWEIGHTED, N, VarianceProfile

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Counts = NDArray[np.int32]
Bits = NDArray[np.uint32]

IN_GROUP, ENDS_GROUP, ENDS_BAND = range(3)
DIGITS, DIGIT = 3, 11  # of the bits of a float32 that are sorted: three times eleven


class SweptPixels(NamedTuple):
    """All valid pixels of a set in the order of the sweep, without weights.

    Parameters
    ----------
    variance : float32, or float64 if the rasters are (pixels)
    error : float32 (pixels)
        Mean minus truth, rounded.
    wide : int32 (some)
        Numbers of the pixels whose error a float32 does not hold.
    wide_error : float64 (some)
        Errors of these pixels.
    runs : int32 (runs, 3)
        Row and first column in the tile, and number of pixels, of pixels that lie side by side in a row.
    cells : int32 (cells, 2)
        Number of pixels of each cell that has some, and what the cell ends: `IN_GROUP`, `ENDS_GROUP` or `ENDS_BAND`.
    """

    variance: NDArray[np.floating]
    error: Singles
    wide: Counts
    wide_error: Floats
    runs: Counts
    cells: Counts

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the pixels of parts one after the other."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return cls(**_nothing())
        starts = np.cumsum([0, *(len(part.variance) for part in parts)], dtype=np.int32)
        wide = np.concatenate([part.wide + start for part, start in zip(parts, starts, strict=False)])
        others = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in cls._fields if name != "wide"
        }
        return cls(wide=wide, **others)

    def ending(self, what: int) -> Self:
        """Return the same pixels; the last cell ends a group, or a band."""
        cells = self.cells.copy()
        cells[-1:, 1] = what
        return self._replace(cells=cells)

    def squared_errors(self) -> Floats:
        """Return the squared error of each pixel."""
        error = self.error.astype(np.float64)
        error[self.wide] = self.wide_error
        error *= error
        return error

    def pixels(self) -> Floats:
        """Return variance and squared error of each pixel, float64 (pixels, 2)."""
        return np.stack([self.variance, self.squared_errors()], axis=-1)

    def places(self) -> Ints:
        """Return row << 32 | column of each pixel in the tile."""
        return _places(self.runs, len(self.variance))

    def sums_by_key(self, block: int) -> tuple[int, Floats]:
        """Return the first key, a multiple of `block`, and the sums of keys from there on, float64 (blocks x block, 4).

        There is at least one pixel.
        """
        bits = self._bits()
        first, last = (int(end >> FINE_SHIFT) // block for end in (bits.min(), bits.max()))
        sums = _sums_by_key(self.variance, bits, self.squared_errors(), self.cells, first * block, (last + 1) * block)
        return first * block, sums

    def _bits(self) -> Bits:
        with np.errstate(over="ignore"):
            return self.variance.astype(np.float32).view(np.uint32)

    def in_order(self, tail: int, tile: str) -> TailPixels:
        """Return the pixels as `TailPixels` keeps them."""
        return TailPixels.every_one(tail, tile, self.pixels(), self.places(), order_of_singles(self.variance))


def order_of_singles(variance: NDArray[np.floating]) -> Ints:
    """Return an order of variances, which takes a third of the time where all of them are float32.

    >>> order_of_singles(np.array([2.0, 0.5, 1.0])).tolist()
    [1, 2, 0]
    """
    with np.errstate(over="ignore"):
        singles = variance.astype(np.float32, copy=False)
    is_exact = variance.dtype == np.float32 or bool((singles == variance).all())
    return _order_of_bits(singles.view(np.uint32)) if is_exact else np.argsort(variance)


class ProfileOfPixels(VarianceProfile):
    """A profile that is made from pixels when it is first used, and saved as these pixels."""

    dimensions: ClassVar[Dimensions] = {
        **VarianceProfile.dimensions,
        "swept_variance": ("*swept",),
        "swept_error": ("*swept",),
        "swept_wide": ("*wide",),
        "swept_wide_error": ("*wide",),
        "swept_runs": ("*run", "run_field"),
        "swept_cells": ("*swept_cell", "swept_cell_field"),
    }
    noise: ClassVar[Collection[str]] = ("swept_variance", "swept_error", "swept_wide_error")
    explained: ClassVar[Mapping[str, str]] = {
        **VarianceProfile.explained,
        "swept_variance": "predicted variance of each pixel, in the order of the sweep",
        "swept_error": "mean - truth of each of these pixels, rounded to float32",
        "swept_wide": "numbers of the pixels, from 0, whose error a float32 does not hold",
        "swept_wide_error": "mean - truth of these pixels",
        "swept_runs": "row, first column and number of pixels that lie side by side, in the order of the sweep",
        "swept_cells": "pixels of each cell that has some; 1 where it is the last one of a group, 2 of a band",
    }

    @classmethod
    def of(cls, swept: SweptPixels, extremes: tuple[Array, Array], tail: int, tile: str) -> Self:
        """Return the profile of pixels of a tile, at least one."""
        profile = cls.__new__(cls)
        profile.__dict__.update(shift=FINE_SHIFT, lowest=extremes[0], highest=extremes[1], _swept=(swept, tail, tile))
        return profile

    @cached_property
    def _by_key(self) -> tuple[Ints, Floats]:
        first, sums = self._swept[0].sums_by_key(1)
        used = np.flatnonzero(sums[:, N])
        return used + first, sums[used]

    @cached_property
    def keys(self) -> Ints:
        """Return the keys that have pixels."""
        return self._by_key[0]

    @cached_property
    def sums(self) -> Floats:
        """Return the sums by key."""
        return self._by_key[1]

    @cached_property
    def kept(self) -> TailPixels:
        """Return all pixels."""
        swept, tail, tile = self._swept
        return swept.in_order(tail, tile)

    @property
    def _swept(self) -> tuple[SweptPixels, int, str]:
        found: tuple[SweptPixels, int, str] = self.__dict__["_swept"]
        return found

    @property
    def _is_swept(self) -> bool:
        return "_swept" in self.__dict__

    def to_arrays(self) -> dict[str, Array]:
        """Return the pixels as they are; of a profile that was changed since, what any profile has."""
        if not self._is_swept:
            return super().to_arrays()
        swept, tail, _ = self._swept
        arrays = {f"swept_{name}": array for name, array in swept._asdict().items()}
        extremes = {"lowest": np.asarray(self.lowest), "highest": np.asarray(self.highest)}
        return {**arrays, **extremes, "kept_tail": np.asarray(tail, np.int64)}

    def spec(self) -> dict[str, Any]:
        """Return the name of the tile, and what any profile has."""
        if not self._is_swept:
            return super().spec()
        columns = {"columns": UNWEIGHTED, "kept_columns": 2}
        return {"shift": FINE_SHIFT, **columns, "every": True, "tiles": [self._swept[2]], "swept": True}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], spec: Spec) -> VarianceProfile:  # type: ignore[override]
        """Return the profile of the pixels that were saved."""
        if not spec.get("swept", False):
            return super().from_arrays(arrays, spec)
        swept = SweptPixels(**{name: arrays.get(f"swept_{name}", none) for name, none in _nothing().items()})
        return cls.of(swept, (arrays["lowest"], arrays["highest"]), int(arrays["kept_tail"]), spec["tiles"][0])

    def plain(self) -> VarianceProfile:
        """Return the same profile without the pixels in the order of the sweep."""
        return VarianceProfile(self.shift, self.keys, self.sums, self.lowest, self.highest, self.kept)

    def __add__(self, other: VarianceProfile) -> VarianceProfile:  # type: ignore[override]
        return self.plain() + other

    def with_arrays(self, arrays: Mapping[str, Array]) -> VarianceProfile:  # type: ignore[override]
        """Return the same with other arrays."""
        return self.plain().with_arrays(arrays)


def _nothing() -> dict[str, Array]:
    """Return what a file leaves out of pixels: arrays without elements."""
    none = np.empty(0, np.float32)
    wide: dict[str, Array] = {"wide": np.empty(0, np.int32), "wide_error": np.empty(0)}
    return {
        "variance": none,
        "error": none,
        **wide,
        "runs": np.empty((0, 3), np.int32),
        "cells": np.empty((0, 2), np.int32),
    }


@compiled
def _places(runs: Counts, pixels: int) -> Ints:
    """Return row << 32 | column of each pixel of the runs."""
    found, n = np.empty(pixels, np.int64), 0
    for r in range(len(runs)):
        first = np.int64(runs[r, 0]) << 32 | np.int64(runs[r, 1])
        for i in range(runs[r, 2]):
            found[n] = first + i
            n += 1
    return found


@compiled_for("u4[::1]")
def _order_of_bits(bits: Bits) -> Ints:
    """Return the stable order of numbers, by the lowest digit first."""
    n, mask = len(bits), np.uint32((1 << DIGIT) - 1)
    counts = np.zeros((DIGITS, 1 << DIGIT), np.int64)
    for i in range(n):
        for d in range(DIGITS):
            counts[d, (bits[i] >> np.uint32(DIGIT * d)) & mask] += 1
    order, other = np.arange(n), np.empty(n, np.int64)
    for d in range(DIGITS):
        start = 0
        for j in range(1 << DIGIT):
            start, counts[d, j] = start + counts[d, j], start
        for i in range(n):
            digit = (bits[order[i]] >> np.uint32(DIGIT * d)) & mask
            other[counts[d, digit]] = order[i]
            counts[d, digit] += 1
        order, other = other, order
    return order


@compiled
def _sums_by_key(
    variance: NDArray[np.floating], bits: Bits, squared: Floats, cells: Counts, first: int, stop: int
) -> Floats:
    """Return the sums of keys from `first` on, added from cells to groups, bands and the whole."""
    levels = np.zeros((ENDS_BAND + 2, stop - first, UNWEIGHTED))
    starts, p = np.zeros(ENDS_BAND + 1, np.int64), 0
    for c in range(len(cells)):
        for i in range(p, p + cells[c, 0]):
            v, row = np.float64(variance[i]), levels[0, (bits[i] >> np.uint32(FINE_SHIFT)) - first]
            row[0] += v
            row[1] += squared[i]
            row[2] += np.sqrt(v)
            row[3] += 1.0
        p += cells[c, 0]
        for level in range(cells[c, 1] + 1):
            for i in range(starts[level], p):
                _move_up(levels, level, int(bits[i] >> np.uint32(FINE_SHIFT)) - first)
            starts[level] = p
    return levels[-1].copy()


@compiled
def _move_up(levels: NDArray[np.float64], level: int, key: int) -> None:
    """Add the sums of a key to those of the next level, once."""
    row, above = levels[level, key], levels[level + 1, key]
    if row[3] > 0:
        for j in range(UNWEIGHTED):
            above[j] += row[j]
            row[j] = 0.0
