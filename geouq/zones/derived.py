"""Regions made of others: a pixel is in one when it is in any of some zones, and in none of others.

Such a region is a zone of its own, whose mask is made from those of others window by window: pixels in two zones of a
union count once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from geouq.grid import Window
from geouq.zones.part import Mask, Part, Zones, shrunk, within


@dataclass(frozen=True)
class Derivation:
    """The union of regions `of` without the union of regions `without`."""

    of: tuple[str, ...]
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class TileZones:
    """All regions of which a tile holds pixels: `whole` ones hold all of it, of `names` it may hold a part.

    whole : they need no masks, as their share of the tile is the tile. layers : zones that are read. derived : regions
    made of others on this tile, after those that they are made of; numbers in `names` go on after those of the layers.
    """

    whole: tuple[str, ...] = ()
    layers: tuple[Zones, ...] = ()
    derived: tuple[tuple[str, Derivation], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Zones of which the tile may hold a part."""
        return (*self._read, *(name for name, _ in self.derived))

    @property
    def _read(self) -> tuple[str, ...]:
        return tuple(name for layer in self.layers for name in layer.names)

    @property
    def fingerprint(self) -> str:
        """What changes when the pixels of a zone, or their order, may; '' where there are no zones."""
        return repr(([layer.fingerprint for layer in self.layers], self.derived)) if self.names else ""

    def zones_in(self, window: Window) -> Iterator[Part]:
        """The zones that have pixels in a window."""
        first, parts = 0, dict[str, Part]()
        for layer in self.layers:
            for part in layer.zones_in(window):
                numbered = part._replace(zone=first + part.zone)
                yield numbered
                if self.derived:
                    parts[layer.names[part.zone]] = numbered
            first += len(layer.names)
        for zone, (name, derivation) in enumerate(self.derived, first):
            if made := shrunk(zone, window, _made(derivation, parts, set(self.whole), window)):
                parts[name] = made
                yield made


def _made(derivation: Derivation, parts: Mapping[str, Part], whole: set[str], window: Window) -> Mask:
    mask = np.full((window.height, window.width), not whole.isdisjoint(derivation.of))
    for name in derivation.of:
        if name in parts:
            mask[within(parts[name].box, window)] |= parts[name].mask
    for name in derivation.without:
        if name in parts:
            mask[within(parts[name].box, window)] &= ~parts[name].mask
    return mask


def settle(
    derivations: Mapping[str, Derivation], whole: Sequence[str], parts: Sequence[str]
) -> tuple[list[str], list[tuple[str, Derivation]]]:
    """What regions made of others come to on one tile: those that hold all of it, and those that may hold a part.

    whole, parts : the other regions that do. Names of regions that hold nothing of the tile fall out; `derivations`
    are in an order in which each follows those that it is made of.

    >>> settle({"rest": Derivation(("all",), ("west",))}, ["all"], [])
    (['rest'], [])
    >>> settle({"rest": Derivation(("all",), ("west",))}, ["all", "west"], [])
    ([], [])
    """
    all_of, some_of = set(whole), set(parts)
    settled, left = [], []
    for name, derivation in derivations.items():
        some = [other for other in derivation.of if other in all_of | some_of]
        less = tuple(other for other in derivation.without if other in some_of)
        if not some or not all_of.isdisjoint(derivation.without):
            continue
        if not all_of.isdisjoint(some) and not less:
            settled.append(name)
            all_of.add(name)
            continue
        left.append((name, Derivation(tuple(some), less)))
        some_of.add(name)
    return settled, left
