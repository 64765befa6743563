"""Single pixels, kept so that an edge of a bin falls between two of them instead of within a key of the profile."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BUDGET = 1 << 19  # pixels a variable; 8 MB
FEW = 1 << 16  # pixels


def _none_kept() -> Floats:
    return np.empty((0, 2))


def _no_keys() -> Ints:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class TailPixels:
    """All pixels of some keys of a variance profile: those of the tail, and those wanted for exact edges.

    Of few pixels, those of every key: then every binning is exact.

    tail : keep every key that reaches highest variance / tail, so that `tail` bins of equal width are exact; 0 keeps
        no tail.
        Bin 1 of an equal-width binning ends at or above highest / tail, and the bins beyond it hold few pixels on
        real maps.
    wanted : int64 (keys), other keys kept whole, increasing.
    pixels : float64 (pixels, 2 or 3), variance, squared error and, where pixels have weights, weight; in rows ordered
        by variance, then by the others.
    every : all pixels are kept; only while they are at most `FEW`, so that a sum keeps every pixel, or does not,
        whatever its parts.
    place : int64 (pixels), row << 32 | column in the tile, where every pixel is kept; else empty.
    owner : int64 (pixels), number of each pixel's tile in `tiles`, where every pixel is kept; else empty.
    tiles : names of the tiles, in their order.
    """

    tail: int = 0
    wanted: Ints = field(default_factory=_no_keys)
    pixels: Floats = field(default_factory=_none_kept)
    every: bool = False
    place: Ints = field(default_factory=_no_keys)
    owner: Ints = field(default_factory=_no_keys)
    tiles: tuple[str, ...] = ()

    @classmethod
    def ordered(cls, tail: int, wanted: Ints, pixels: Floats) -> Self:
        """Return the kept pixels in their one order, whatever the order they came in."""
        return cls(tail, wanted, pixels).in_order("quicksort")

    @classmethod
    def every_one(cls, tail: int, tile: str, pixels: Floats, place: Ints, order: Ints | None = None) -> Self:
        """Return all pixels of a tile, kept in their one order; `order` is one by variance, where that is known."""
        owner = np.zeros(len(pixels), np.int64)
        return cls(tail, pixels=pixels, every=True, place=place, owner=owner, tiles=(tile,)).in_order(
            "quicksort" if order is None else order
        )

    def in_order(self, kind: Literal["quicksort", "stable"] | Ints = "stable") -> Self:
        """Return the same in their one order, which both kinds of sorting find, and any order by variance leads to.

        The stable one merges parts that are in order. For pixels in no order it takes twice as long.
        """
        places = (self.place, self.owner) if self.every else ()
        order = _order_of([*self.pixels.T, *places[::-1]], kind)
        place, owner = (of[order] if len(of) else of for of in (self.place, self.owner))
        return replace(self, pixels=self.pixels[order], place=place, owner=owner)

    @property
    def variance(self) -> Floats:
        """Return the predicted variance of each pixel."""
        return self.pixels[:, 0]

    def by_place(self) -> Floats:
        """Return the pixels by variance, those with the same variance by tile, row and column where these are known."""
        return self.pixels[_order_of([self.variance, self.owner, self.place], "stable")] if self.every else self.pixels

    def joined(self, others: Sequence[Self]) -> Self:
        """Return the same with the pixels of others too, in no order; one that keeps none may lack weights."""
        parts = [part for part in (self, *others) if len(part.pixels)] or [self]
        tiles = tuple(sorted({name for part in parts for name in part.tiles}))
        owner = [np.searchsorted(np.array(tiles, str), np.array(part.tiles, str))[part.owner] for part in parts]
        return replace(
            self,
            pixels=np.concatenate([part.pixels for part in parts]),
            place=np.concatenate([part.place for part in parts]),
            owner=np.concatenate(owner).astype(np.int64),
            tiles=tiles,
        )


def _order_of(columns: Sequence[NDArray[np.generic]], kind: Literal["quicksort", "stable"] | Ints) -> Ints:
    """Return the order by the first column, in which few values are alike, then by each of the others.

    kind : of sorting, or the order by the first column.
    """
    order = np.argsort(columns[0], kind=kind) if isinstance(kind, str) else kind
    first = columns[0][order]
    alike = first[1:] == first[:-1]
    if alike.any():
        tied = np.concatenate([[False], alike]) | np.concatenate([alike, [False]])
        some = order[tied]
        order[tied] = some[np.lexsort([column[some] for column in columns[::-1]])]
    return order
