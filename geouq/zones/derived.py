"""Regions made of others: a pixel is in one when it is in any of some regions, and in none of others.

Such a region is a zone of its own, whose mask is made from those of others window by window: pixels in two regions of
a union count once.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from geouq.grid import Window
from geouq.rasters.raster import Raster
from geouq.zones.part import Mask, Part, Zones, shrunk, within


@dataclass(frozen=True)
class Derivation:
    """The union of regions `of` without the union of regions `without`."""

    of: tuple[str, ...]
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class DerivedZones:
    """One region made of others, as the only zone of a tile of this shape.

    steps : the region, after those that it is made of. layers : the zones that these are made of. whole : regions that
    hold all of the tile.
    """

    shape: tuple[int, int]
    steps: tuple[tuple[str, Derivation], ...]
    layers: tuple[Zones, ...]
    whole: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The region."""
        return (self.steps[-1][0],)

    @property
    def fingerprint(self) -> str:
        """What identifies all that the region is made of."""
        return repr((self.shape, self.steps, [layer.fingerprint for layer in self.layers], self.whole))

    def extent(self, zone: int) -> Window:  # noqa: ARG002  there is one
        """Return the tile."""
        return Window(0, 0, *self.shape)

    @property
    def rasters(self) -> tuple[Raster, ...]:
        """Those that its zones are made of."""
        return tuple(raster for layer in self.layers for raster in layer.rasters)

    def with_rasters(self, rasters: Mapping[str, Raster]) -> Self:
        """Return the same from the rasters of these paths."""
        return replace(self, layers=tuple(layer.with_rasters(rasters) for layer in self.layers))

    def only(self, names: Collection[str]) -> Self:  # noqa: ARG002  there is one
        """Return the same."""
        return self

    def zones_in(self, window: Window) -> Iterator[Part]:
        """Yield the region, if it has pixels in a window."""
        parts: dict[str, Part] = {}
        for layer in self.layers:
            parts |= {layer.names[part.zone]: part for part in layer.zones_in(window)}
        for name, derivation in self.steps:
            if part := shrunk(0, window, self._mask(derivation, parts, window)):
                parts[name] = part
        if self.names[0] in parts:
            yield parts[self.names[0]]

    def _mask(self, derivation: Derivation, parts: Mapping[str, Part], window: Window) -> Mask:
        mask = np.full((window.height, window.width), any(name in self.whole for name in derivation.of))
        for name in derivation.of:
            if name in parts:
                mask[within(parts[name].box, window)] |= parts[name].mask
        for name in derivation.without:
            if name in parts:
                mask[within(parts[name].box, window)] &= ~parts[name].mask
        return mask


def settled(
    derivations: Mapping[str, Derivation], whole: Collection[str], parts: Collection[str]
) -> dict[str, Derivation | None]:
    """Return what regions made of others are on one tile: None if they hold all of it; those that hold none are absent.

    whole, parts : the other regions that hold all of the tile, or may hold a part. `derivations` are in an order in
    which each follows those that it is made of.

    >>> settled({"rest": Derivation(("all",), ("west",))}, ["all"], [])
    {'rest': None}
    >>> settled({"rest": Derivation(("all",), ("west",))}, ["all", "west"], [])
    {}
    """
    all_of, some_of, found = set(whole), set(parts), dict[str, Derivation | None]()
    for name, derivation in derivations.items():
        of = tuple(other for other in derivation.of if other in all_of | some_of)
        without = tuple(other for other in derivation.without if other in some_of)
        if not of or not all_of.isdisjoint(derivation.without):
            continue
        if not all_of.isdisjoint(of) and not without:
            found[name] = None
            all_of.add(name)
        else:
            found[name] = Derivation(of, without)
            some_of.add(name)
    return found


def derived_zones(
    derivations: Mapping[str, Derivation | None],
    layers: Collection[Zones],
    whole: Collection[str],
    shape: tuple[int, int],
) -> dict[str, DerivedZones]:
    """Return the regions that may hold a part of a tile, each with what it is made of and nothing else."""
    partly = {name: own for name, own in derivations.items() if own is not None}
    all_of = (*whole, *(name for name, own in derivations.items() if own is None))
    found: dict[str, DerivedZones] = {}
    for region in partly:
        needed = _made_of(region, partly)
        steps = tuple((name, own) for name, own in partly.items() if name in needed)
        read = [layer.only(needed) for layer in layers if not needed.isdisjoint(layer.names)]
        found[region] = DerivedZones(shape, steps, tuple(read), tuple(name for name in all_of if name in needed))
    return found


def _made_of(region: str, derivations: Mapping[str, Derivation]) -> set[str]:
    """Return the region, and all that it is made of."""
    own = derivations.get(region)
    below = () if own is None else own.of + own.without
    return {region}.union(*(_made_of(name, derivations) for name in below))
