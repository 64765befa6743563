"""The regions of an experiment: opened once, brought to each tile as zones, and made of each other.

A region made of others is a zone of its own. Its mask is made from those of others window by window, so that a pixel in
two regions of a union counts once.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from geouq.config import ClassRegions, DerivedRegion, Experiment, PolygonRegions, Problem, config_error, suggestion
from geouq.config.regions import ALL
from geouq.core.errors import DataError, GeouqError
from geouq.core.failures import Failure
from geouq.core.grid import Grid, Window
from geouq.rasters.catalog import Catalog
from geouq.rasters.raster import Raster
from geouq.rasters.steps import name_without_step
from geouq.rasters.vector import Polygons, read_polygons
from geouq.zones.classes import ClassZones, read_classes, require_classes
from geouq.zones.masks import Mask, Part, Zones, shrunk, within
from geouq.zones.polygons import polygon_zones

SHOWN = 5
Steps = tuple[str, ...]


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
        """Return the region."""
        return (self.steps[-1][0],)

    @property
    def fingerprint(self) -> str:
        """Return what identifies all that the region is made of."""
        return repr((self.shape, self.steps, [layer.fingerprint for layer in self.layers], self.whole))

    def extent(self, zone: int) -> Window:  # noqa: ARG002  there is one
        """Return the tile."""
        return Window(0, 0, *self.shape)

    @property
    def rasters(self) -> tuple[Raster, ...]:
        """Return those that its zones are made of."""
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


@dataclass(frozen=True)
class TileZones:
    """Return all regions that may have pixels in a tile.

    whole : those that hold all of the tile, `all` first, so that its own summary is their share. layers : the others,
    by the key in the configuration; a region made of others is a layer of its own.
    """

    whole: tuple[str, ...]
    layers: Mapping[str, Zones]

    @property
    def names(self) -> frozenset[str]:
        """Return the names of them all."""
        return frozenset((*self.whole, *(name for layer in self.layers.values() for name in layer.names)))

    @property
    def rasters(self) -> dict[str, Raster]:
        """Return the rasters of classes, by the key of each in the configuration, after `regions.`."""
        classes = {key: layer for key, layer in self.layers.items() if isinstance(layer, ClassZones)}
        return {f"regions.{key}": layer.raster for key, layer in classes.items()}


@dataclass(frozen=True)
class Regions:
    """All regions of an experiment, with polygons read.

    tiles : lists of tiles. polygons, classes : by the key in the configuration. derived : regions made of others, after
    those that they are made of. notes : what the user should know. drivers : formats of class rasters that are read.
    """

    tiles: Mapping[str, frozenset[str]]
    polygons: Mapping[str, Polygons]
    classes: Mapping[str, ClassRegions]
    derived: Mapping[str, Derivation]
    notes: tuple[str, ...]
    drivers: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all regions but `all`: lists of tiles, then polygons, classes, and those made of others."""
        read = [name for polygons in self.polygons.values() for name in polygons.names]
        read += [name for classes in self.classes.values() for name in dict.fromkeys(classes.names.values())]
        return (*self.tiles, *read, *self.derived)

    def on(self, tile: str, grid: Grid, place: str = "") -> TileZones:
        """Return the regions of a tile; DataError or GridError where one has no place on it.

        place : what {tile} stands for in the names of class rasters; by default the name of the tile.
        """
        layers: dict[str, Zones] = {key: polygon_zones(own, grid) for key, own in self.polygons.items()}
        layers |= {key: read_classes(own, place or tile, grid, self.drivers) for key, own in self.classes.items()}
        layers = {key: layer for key, layer in layers.items() if layer.names}
        whole = [ALL, *(name for name, members in self.tiles.items() if tile in members)]
        own = settled(self.derived, whole, [name for layer in layers.values() for name in layer.names])
        layers |= derived_zones(own, tuple(layers.values()), whole, grid.shape)
        return TileZones((*whole, *(name for name, derivation in own.items() if derivation is None)), layers)


def open_regions(experiment: Experiment) -> Regions:
    """Read the polygons of an experiment, and settle what its regions are made of.

    Raises ConfigError that lists every fault: files, filters and attributes of no use, names that clash, are unknown or
    made of themselves, and gates on unknown regions.
    """
    problems: list[Problem] = []
    polygons = dict(_read(experiment, problems))
    classes = {key: region for key, region in experiment.regions.items() if isinstance(region, ClassRegions)}
    problems += [*_without_rasters(experiment, classes), *_clashes(experiment, polygons)]
    if not problems:
        derived = _derivations(experiment, polygons, classes, problems)
        found = Regions(
            {name: frozenset(own) for name, own in experiment.tile_lists.items()},
            polygons,
            classes,
            derived,
            (*(note for own in polygons.values() for note in own.notes), *_inexact(experiment)),
            experiment.drivers,
        )
        problems += _gates(experiment, found.names)
    if problems:
        raise config_error(problems)
    return found


def polygons_without_pixels(regions: Regions, tiles: Iterable[TileZones]) -> dict[str, list[str]]:
    """Return the names of polygons that hold no pixel of any tile, such as those smaller than a pixel, by their key."""
    held = {name for zones in tiles for layer in zones.layers.values() for name in layer.names}
    return {key: [name for name in own.names if name not in held] for key, own in regions.polygons.items()}


def without_pixels(regions: Regions, tiles: Iterable[TileZones]) -> list[str]:
    """Return notes on these polygons; of classes and of what is made of others, only reading tells."""
    notes = []
    for key, empty in polygons_without_pixels(regions, tiles).items():
        if empty:
            more = ", ...; a run lists all of them in tables/zones.csv, with n_pixels = 0" if len(empty) > SHOWN else ""
            notes.append(
                f"{len(empty)} of {len(regions.polygons[key].names)} regions of {key} hold no pixel centre: "
                f"outside all tiles, or smaller than a pixel: {', '.join(empty[:SHOWN])}{more}"
            )
    return notes


def _inexact(experiment: Experiment) -> list[str]:
    """Return a note where bins are to be exact that are not."""
    if not experiment.bins.exact or not experiment.zone_layers:
        return []
    keys = ", ".join(experiment.zone_layers)
    note = (
        f"bins: exact is of tiles and regions that are lists of tiles; edges of those from {keys} are placed on the "
        "profile, within 0.2 % of the variance; see bins.csv"
    )
    return [note]


def _read(experiment: Experiment, problems: list[Problem]) -> Iterator[tuple[str, Polygons]]:
    """Polygons by their key; what cannot be read is added to the faults, at the key that its message begins with."""
    for key, region in experiment.regions.items():
        if isinstance(region, PolygonRegions):
            try:
                yield key, read_polygons(region)
            except DataError as error:
                step, _, message = str(error).partition(": ")
                problems.append(experiment.problem("regions", key, step, message=message))


def _without_rasters(experiment: Experiment, classes: Mapping[str, ClassRegions]) -> Iterator[Problem]:
    for key, region in classes.items():
        try:
            require_classes(region, experiment.drivers)
        except DataError as error:
            yield experiment.problem("regions", key, "classes", message=str(error))


def _clashes(experiment: Experiment, polygons: Mapping[str, Polygons]) -> Iterator[Problem]:
    """Yield the names of polygons that other regions have too."""
    places: dict[str, str] = {ALL: "which always exists and holds all tiles"}
    for key, region in experiment.regions.items():
        if isinstance(region, ClassRegions):
            places |= dict.fromkeys(region.names.values(), f"regions.{key}.names")
        elif not isinstance(region, PolygonRegions):
            places[key] = f"regions.{key}"
    places |= {side: f"splits.{side}" for side in experiment.splits or ()}
    yield from _alike(experiment, polygons, tuple(places))
    for key, own in polygons.items():
        for name in own.names:
            if name in places:
                message = f"{own.path} names a region {name!r}, and so does {places[name]}; rename one of them"
                if name == ALL:
                    message = f"{own.path} names a region 'all', {places[ALL]}; leave it out with where, or rename it"
                yield experiment.problem("regions", key, "name", message=message)
        places |= dict.fromkeys(own.names, f"regions.{key} ({own.path})")


def _alike(experiment: Experiment, polygons: Mapping[str, Polygons], places: Iterable[str]) -> Iterator[Problem]:
    """Yield the names of polygons that differ from others in case alone: not all systems tell their files apart."""
    folded = {name.casefold(): name for name in places}
    for key, own in polygons.items():
        for name in own.names:
            if (other := folded.setdefault(name.casefold(), name)) != name:
                message = (
                    f"{own.path} names a region {name!r}, which differs from {other!r} in case alone, and so would "
                    "their files; rename one of them, or leave it out with where"
                )
                yield experiment.problem("regions", key, "name", message=message)


def _derivations(
    experiment: Experiment,
    polygons: Mapping[str, Polygons],
    classes: Mapping[str, ClassRegions],
    problems: list[Problem],
) -> dict[str, Derivation]:
    """Return regions made of others, each after those that it is made of.

    A name stands for the region of that name, or else for all regions that come from the polygons or classes with that
    key.
    """
    made = {key: region for key, region in experiment.regions.items() if isinstance(region, DerivedRegion)}
    several = {key: own.names for key, own in polygons.items()}
    several |= {key: tuple(dict.fromkeys(own.names.values())) for key, own in classes.items()}
    single = {ALL, *experiment.tile_lists, *made, *(name for names in several.values() for name in names)}
    for key, region in made.items():
        for step in ("of", "without"):
            for i, name in enumerate(getattr(region, step)):
                if name not in single and name not in several:
                    message = f"{name!r} is not a region{suggestion(name, [*single, *several])}"
                    problems.append(experiment.problem("regions", key, step, i, message=message))
    written = {
        key: Derivation(*(_expanded(names, single, several) for names in (region.of, region.without)))
        for key, region in made.items()
    }
    return {} if problems else _ordered(experiment, written, problems)


def _expanded(names: Iterable[str], single: set[str], several: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    each = ((name,) if name in single else several.get(name, ()) for name in names)
    return tuple(dict.fromkeys(name for group in each for name in group))


def _ordered(
    experiment: Experiment, written: Mapping[str, Derivation], problems: list[Problem]
) -> dict[str, Derivation]:
    ordered: dict[str, Derivation] = {}
    while len(ordered) < len(written):
        ready = [
            name
            for name, own in written.items()
            if name not in ordered and all(other in ordered or other not in written for other in own.of + own.without)
        ]
        if not ready:
            circle = ", ".join(name for name in written if name not in ordered)
            first = next(name for name in written if name not in ordered)
            problems.append(experiment.problem("regions", first, message=f"is made of itself in a circle: {circle}"))
            return {}
        ordered |= {name: written[name] for name in ready}
    return ordered


def _gates(experiment: Experiment, names: Iterable[str]) -> Iterator[Problem]:
    known = [ALL, *names]
    for i, gate in enumerate(experiment.gates):
        if gate.region not in known:
            message = f"{gate.region!r} is not known{suggestion(gate.region, known)}"
            yield experiment.problem("gates", i, "region", message=message)


def placed(regions: Regions, catalog: Catalog) -> tuple[dict[str, TileZones], Catalog]:
    """Return the zones of each tile by name; tiles on which a region has no place become failures.

    Notes of the catalog then tell of polygons that were mended or left out, and of regions without a pixel.
    """
    zones: dict[str, TileZones] = {}
    failures = []
    for tile in catalog.tiles:
        try:
            zones[tile.name] = regions.on(tile.name, tile.grid, name_without_step(tile))
        except GeouqError as error:
            failures.append(Failure(tile.name, "regions", type(error).__name__, str(error)))
    return zones, replace(
        catalog,
        tiles=tuple(tile for tile in catalog.tiles if tile.name in zones),
        failures=(*catalog.failures, *failures),
        notes=(*catalog.notes, *regions.notes, *without_pixels(regions, zones.values())),
    )
