"""The regions of an experiment: opened once, and brought to each tile as zones."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from geouq.config import ClassRegions, DerivedRegion, Experiment, Fault, PolygonRegions, config_error, suggestion
from geouq.config.regions import ALL
from geouq.errors import DataError
from geouq.grid import Grid
from geouq.rasters.raster import Raster
from geouq.zones.classes import ClassZones, read_classes, require_classes
from geouq.zones.derived import Derivation, derived_zones, settled
from geouq.zones.part import Zones
from geouq.zones.polygons import polygon_zones
from geouq.zones.vector import Polygons, read_polygons

SHOWN = 5
Steps = tuple[str, ...]


@dataclass(frozen=True)
class TileZones:
    """All regions of which a tile may hold pixels.

    whole : those that hold all of the tile, `all` first, so that its own summary is their share. layers : the others,
    by the key in the configuration; a region made of others is a layer of its own.
    """

    whole: tuple[str, ...]
    layers: Mapping[str, Zones]

    @property
    def names(self) -> frozenset[str]:
        """Names of them all."""
        return frozenset((*self.whole, *(name for layer in self.layers.values() for name in layer.names)))

    @property
    def rasters(self) -> dict[str, Raster]:
        """The rasters of classes, by the key of each in the configuration, after `regions.`."""
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

    def on(self, tile: str, grid: Grid) -> TileZones:
        """Return the regions of one tile; DataError or GridError where one has no place on it."""
        layers: dict[str, Zones] = {key: polygon_zones(own, grid) for key, own in self.polygons.items()}
        layers |= {key: read_classes(own, tile, grid, self.drivers) for key, own in self.classes.items()}
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
    faults: list[Fault] = []
    polygons = dict(_read(experiment, faults))
    classes = {key: region for key, region in experiment.regions.items() if isinstance(region, ClassRegions)}
    faults += [*_without_rasters(experiment, classes), *_clashes(experiment, polygons)]
    if not faults:
        derived = _derivations(experiment, polygons, classes, faults)
        found = Regions(
            {name: frozenset(own) for name, own in experiment.tile_lists.items()},
            polygons,
            classes,
            derived,
            (*(note for own in polygons.values() for note in own.notes), *_inexact(experiment)),
            experiment.drivers,
        )
        faults += _gates(experiment, found.names)
    if faults:
        raise config_error(faults)
    return found


def polygons_without_pixels(regions: Regions, tiles: Iterable[TileZones]) -> dict[str, list[str]]:
    """Names of polygons that hold no pixel of any tile, such as those smaller than a pixel, by their key."""
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


def _read(experiment: Experiment, faults: list[Fault]) -> Iterator[tuple[str, Polygons]]:
    """Polygons by their key; what cannot be read is added to the faults, at the key that its message begins with."""
    for key, region in experiment.regions.items():
        if isinstance(region, PolygonRegions):
            try:
                yield key, read_polygons(region)
            except DataError as error:
                step, _, message = str(error).partition(": ")
                faults.append(experiment.fault("regions", key, step, message=message))


def _without_rasters(experiment: Experiment, classes: Mapping[str, ClassRegions]) -> Iterator[Fault]:
    for key, region in classes.items():
        try:
            require_classes(region, experiment.drivers)
        except DataError as error:
            yield experiment.fault("regions", key, "classes", message=str(error))


def _clashes(experiment: Experiment, polygons: Mapping[str, Polygons]) -> Iterator[Fault]:
    """Names of polygons that are those of other regions too."""
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
                yield experiment.fault("regions", key, "name", message=message)
        places |= dict.fromkeys(own.names, f"regions.{key} ({own.path})")


def _alike(experiment: Experiment, polygons: Mapping[str, Polygons], places: Iterable[str]) -> Iterator[Fault]:
    """Names of polygons that differ from others in case alone: not all systems tell their files apart."""
    folded = {name.casefold(): name for name in places}
    for key, own in polygons.items():
        for name in own.names:
            if (other := folded.setdefault(name.casefold(), name)) != name:
                message = (
                    f"{own.path} names a region {name!r}, which differs from {other!r} in case alone, and so would "
                    "their files; rename one of them, or leave it out with where"
                )
                yield experiment.fault("regions", key, "name", message=message)


def _derivations(
    experiment: Experiment,
    polygons: Mapping[str, Polygons],
    classes: Mapping[str, ClassRegions],
    faults: list[Fault],
) -> dict[str, Derivation]:
    """Regions made of others, each after those that it is made of.

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
                    faults.append(experiment.fault("regions", key, step, i, message=message))
    written = {
        key: Derivation(*(_expanded(names, single, several) for names in (region.of, region.without)))
        for key, region in made.items()
    }
    return {} if faults else _ordered(experiment, written, faults)


def _expanded(names: Iterable[str], single: set[str], several: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    each = ((name,) if name in single else several.get(name, ()) for name in names)
    return tuple(dict.fromkeys(name for group in each for name in group))


def _ordered(experiment: Experiment, written: Mapping[str, Derivation], faults: list[Fault]) -> dict[str, Derivation]:
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
            faults.append(experiment.fault("regions", first, message=f"is made of itself in a circle: {circle}"))
            return {}
        ordered |= {name: written[name] for name in ready}
    return ordered


def _gates(experiment: Experiment, names: Iterable[str]) -> Iterator[Fault]:
    known = [ALL, *names]
    for i, gate in enumerate(experiment.gates):
        if gate.region not in known:
            message = f"{gate.region!r} is not known{suggestion(gate.region, known)}"
            yield experiment.fault("gates", i, "region", message=message)
