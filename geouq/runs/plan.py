"""What a run will do, from headers alone: the tiles and regions chosen, what is summed, bytes, workers and memory."""

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from geouq.config import Experiment, suggestion
from geouq.config.variables import distributions_of
from geouq.core.errors import ConfigError
from geouq.core.failures import Failure
from geouq.core.grid import SQUARE
from geouq.core.usage import machine_memory
from geouq.core.wording import counted
from geouq.rasters.catalog import Catalog, Tile
from geouq.rasters.layered import Layered
from geouq.rasters.predictions import is_predicted
from geouq.rasters.raster import Raster, number_of_band
from geouq.rasters.tile_names import natural_order
from geouq.reading.aligned import ALIGNING
from geouq.reading.cutting import BAND, WINDOW, Reading, reading_for
from geouq.summary.form import GAUSSIAN
from geouq.summary.truth_error import pixel_statistics
from geouq.sweep.settings import CELLS_IN_TILE, LARGEST_CELL, Settings, cell_size_for
from geouq.sweep.workers import HELD
from geouq.sweep.zone_batches import BytesOfZones, Layers, batches_of, bytes_of_zones

MIB = 1 << 20
# as measured
PROGRAM = 290 * MIB  # interpreter, libraries, and compiled code
FIGURES = 500 * MIB  # the same with what draws and writes tables
GROUP = 2 * MIB  # sums of a variable in one group
TAIL = 20 * MIB  # single pixels kept of a variable, and copies made of them
CELL = 600  # sums of a cell, in bytes
CONVERTED = 32  # bytes for each pixel, to convert stored moments to those of a distribution
VIEW = 256 << 10  # sums of one corrected forecast in one group
ROOM = 0.25  # share of the machine's memory that zones may take without --memory
MOST_ALIKE = 3  # problems of tiles that are lines of their own
FOR_SERVERS = 8  # workers for each processor: most of them wait for a server
WIDTHS = (None, BAND, 4 * WINDOW, WINDOW)
NO_ZONES: Mapping[str, Layers] = MappingProxyType({})
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class ZonesPlan:
    """How many regions from polygons and classes there are, and how they are summed.

    passes : number of passes over a tile besides the sweep, which sums all zones if it is 0. room : bytes of the zones
    of a pass. alongside : bytes of the zones that may be summed in the sweep of their tile.
    """

    count: int
    passes: int
    room: int
    alongside: int


@dataclass(frozen=True)
class Plan:
    """Size of a run; memory in bytes; how each tile is read, by name."""

    tiles: int
    variables: int
    pixels: int
    bytes_on_disk: int
    layouts: tuple[tuple[str, int], ...]
    workers: int
    memory: int
    readings: Mapping[str, Reading]
    zones: ZonesPlan


def restricted(experiment: Experiment, catalog: Catalog, only: Sequence[str]) -> tuple[Experiment, Catalog]:
    """Return the experiment and catalog restricted to these tiles and regions; raise ConfigError for unknown names."""
    if not only:
        return experiment, catalog
    tiles = {tile.name for tile in catalog.tiles} | {failure.tile for failure in catalog.failures}
    known = {
        **{name: {name} for name in sorted(tiles, key=natural_order)},
        **{name: set(own) for name, own in experiment.tile_lists.items()},
    }
    for name in only:
        if name not in known:
            raise ConfigError(f"--only {name}: there is no such tile or region{suggestion(name, known)}")
    chosen = set().union(*(known[name] for name in only))
    cut = {name: tuple(tile for tile in own if tile in chosen) for name, own in experiment.tile_lists.items()}
    regions = {name: cut.get(name, region) for name, region in experiment.regions.items() if cut.get(name, region)}
    names = tuple(name for name in sorted(tiles) if name in chosen)
    sides = {side: cut[side] for side in experiment.splits or () if cut[side]}
    if len(sides) < 2:  # a side alone is a region like any other
        regions, sides = regions | dict(sides), {}
    own = experiment.of_tiles(names).model_copy(update={"regions": regions, "splits": sides or None})
    note = f"tables, figures and pages are of {', '.join(only)} alone, also where a region holds more tiles"
    return own, replace(
        catalog,
        tiles=tuple(tile for tile in catalog.tiles if tile.name in chosen),
        failures=tuple(failure for failure in catalog.failures if failure.tile in chosen),
        notes=(*catalog.notes, note),
    )


def settings_for(experiment: Experiment, catalog: Catalog) -> Settings:
    """Return what the sweep is to measure."""
    if not catalog.form.has_variance:
        return Settings(experiment.levels, _cell_size(experiment, catalog), tail=0, groups=(), form=catalog.form)
    widths = [scheme.count for scheme in experiment.bins.schemes if scheme.scheme == "equal-width"]
    return Settings(
        experiment.levels,
        _cell_size(experiment, catalog),
        max(widths, default=0),
        experiment.variance.negative,
        experiment.groupings,
        experiment.ordering,
        classes=tuple(experiment.data.classes),
        form=catalog.form,
        added=pixel_statistics(truth_error=any(tile.noisy_truth for tile in catalog.tiles)),
    )


def _cell_size(experiment: Experiment, catalog: Catalog) -> int:
    return experiment.cell_size or cell_size_for(tile.grid for tile in catalog.tiles)


def plan_run(
    catalog: Catalog,
    workers: int | None = None,
    memory: str | None = None,
    zones: Mapping[str, Layers] = NO_ZONES,
    *,
    views: int = 0,
) -> Plan:
    """Return the plan for a catalog, with the requested number of workers, or as many as fit into the memory.

    By default there is one for each processor. Where files are on servers there are up to eight for each; those beyond
    the first take at most half of the memory that is left.

    Parameters
    ----------
    zones : mapping
        Zones of each tile, by its name and their layer.
    views : int
        Number of corrected forecasts that are summed in addition to the forecasts of the catalog.

    Raises
    ------
    ConfigError
        If one worker does not fit into the memory, or into the machine. The message names what needs the memory.
    """
    wanted = workers or os.cpu_count() or 1
    limit = machine_memory() if memory is None else parse_memory(memory)
    given = f"this machine has {limit / MIB:.0f} MiB" if memory is None else f"--memory {memory}"
    of_views = 0
    if views:
        while wanted > 1 and _bytes_of_views(catalog, views, wanted) > limit / 2:
            wanted -= 1
        of_views = _bytes_of_views(catalog, views, wanted)
        limit, given = limit - of_views, f"{given}, of which {views} corrected forecasts take {of_views / MIB:.0f} MiB"
    count, widest = _fitting(catalog, wanted, limit, zones)
    if count < 1:
        raise ConfigError(f"{given}: {_too_much(catalog, widest, limit, zones)}")
    if workers is None and count == wanted and _is_remote(catalog):
        count = _waiting_for_servers(
            count, limit, lambda n: _least(catalog, n, widest, zones) + _bytes_of_views(catalog, views, n) - of_views
        )
    rasters = {raster.path: raster for tile in catalog.tiles for raster in tile.rasters.values()}.values()
    readings = {tile.name: reading_for(tile, count, widest) for tile in catalog.tiles}
    left = limit if memory else int(limit * ROOM)
    rooms = left - _reading(catalog, count, widest), left - _memory(catalog, count, widest)
    zones_plan = _plan_of_zones(catalog, zones, readings, count, rooms if memory else (left, left))
    return Plan(
        tiles=len(catalog.tiles),
        variables=len(catalog.variables),
        pixels=sum(tile.grid.pixels for tile in catalog.tiles),
        bytes_on_disk=sum(raster.size for raster in rasters),
        layouts=tuple(Counter(map(_layout, rasters)).most_common()),
        workers=count,
        memory=max(
            _memory(catalog, count, widest) + zones_plan.alongside, _reading(catalog, count, widest) + zones_plan.room
        ),
        readings=readings,
        zones=zones_plan,
    )


def _is_remote(catalog: Catalog) -> bool:
    """Return whether a tile has a file on a server."""
    return any(raster.is_remote for tile in catalog.tiles for raster in tile.rasters.values())


def _fitting(catalog: Catalog, wanted: int, limit: int, zones: Mapping[str, Layers]) -> tuple[int, int | None]:
    """As many workers as wanted or as fit, 0 if none does, and how wide their windows may be; None for any width.

    Windows are made narrower only where not even one worker would fit: that decodes strips several times.
    """
    widest = None
    if not catalog.tiles:
        return wanted, widest
    for widest in WIDTHS:
        for count in range(wanted, 0, -1):
            if _least(catalog, count, widest, zones) <= limit:
                return count, widest
    return 0, widest


def _waiting_for_servers(processors: int, limit: int, needed: Callable[[int], int]) -> int:
    """Return how many workers read files on servers: those beyond one a processor take half of what is left at most.

    needed : returns the bytes of a run with so many workers.
    """
    least = needed(processors)
    counts = range(processors * FOR_SERVERS, processors, -1)
    return next((count for count in counts if needed(count) - least <= (limit - least) / 2), processors)


def _least(catalog: Catalog, workers: int, widest: int | None, zones: Mapping[str, Layers]) -> int:
    """Return the bytes that a run holds at most where zones are summed one at a time."""
    largest = max((of.largest for of in _bytes_of_zones(catalog, zones, workers, widest)), default=0)
    return max(_memory(catalog, workers, widest), _reading(catalog, workers, widest) + largest)


def _bytes_of_zones(
    catalog: Catalog, zones: Mapping[str, Layers], workers: int, widest: int | None
) -> Iterator[BytesOfZones]:
    for tile in catalog.tiles:
        if layers := zones.get(tile.name):
            yield bytes_of_zones(layers, tile, reading_for(tile, workers, widest), workers)


def _plan_of_zones(
    catalog: Catalog,
    zones: Mapping[str, Layers],
    readings: Mapping[str, Reading],
    workers: int,
    rooms: tuple[int, int],
) -> ZonesPlan:
    """Return how zones are summed: with their tile if they fit into the second room, otherwise in later passes.

    Zones of a pass take no more than the first room; one alone may need more.
    """
    tiles = {tile.name: tile for tile in catalog.tiles if zones.get(tile.name)}
    needs = {name: bytes_of_zones(zones[name], tile, readings[name], workers) for name, tile in tiles.items()}
    alongside = max((need.together for need in needs.values() if need.together <= rooms[1]), default=0)
    apart = {name: need for name, need in needs.items() if need.together > rooms[1]}
    most, largest = (max((need[i] for need in apart.values()), default=0) for i in (0, 1))
    room = min(max(rooms[0], largest), most)
    passes = [len(batches_of(zones[name], tiles[name], readings[name], workers, room)) for name in apart]
    names = {zone for name in tiles for layer in zones[name].values() for zone in layer.names}
    return ZonesPlan(len(names), max(passes, default=0), max(room, alongside), alongside)


def _memory(catalog: Catalog, workers: int, widest: int | None) -> int:
    """Return the largest number of bytes of a run without zones, while it sweeps or draws."""
    sums = len(catalog.variables) * (TAIL + _cells_at_most(catalog) * CELL)
    return max(_reading(catalog, workers, widest) + sums, FIGURES)


def _reading(catalog: Catalog, workers: int, widest: int | None) -> int:
    """Return the bytes of the program, and of workers that read."""
    return PROGRAM + workers * max((memory_of_worker(tile, widest) for tile in catalog.tiles), default=0)


def _bytes_of_views(catalog: Catalog, views: int, workers: int) -> int:
    """Bytes of so many corrected forecasts: of a tile under way, and of the pieces that are done before their turn."""
    readings = [reading_for(tile, workers) for tile in catalog.tiles]
    groups = max((own.height // SQUARE * max(1, own.width // BAND) for own in readings), default=0)
    return views * (_cells_at_most(catalog) * CELL + (slots(workers) + HELD) * groups * VIEW)


def _cells_at_most(catalog: Catalog) -> int:
    return max((_cells(tile) for tile in catalog.tiles), default=0)


def _cells(tile: Tile) -> int:
    """Return the number of cells of a large tile; those of smaller ones are as small as to be few."""
    return max(tile.grid.pixels // LARGEST_CELL**2, CELLS_IN_TILE)


def _too_much(catalog: Catalog, widest: int | None, limit: int, zones: Mapping[str, Layers]) -> str:
    if _memory(catalog, 1, widest) <= limit:
        need = _least(catalog, 1, widest, zones)
        return f"the largest of the regions from polygons and classes needs {need / MIB:.0f} MiB; give more memory"
    need, tile = _memory(catalog, 1, widest), max(catalog.tiles, key=memory_of_worker)
    raster = max(tile.rasters.values(), key=lambda raster: raster.block[0] * raster.block[1])
    return (
        f"reading {raster.path} ({_layout(raster)}) needs {need / MIB:.0f} MiB; give more memory, or rewrite the "
        "file in smaller blocks, for example with gdal_translate -co TILED=YES"
    )


def memory_of_worker(tile: Tile, widest: int | None = None) -> int:
    """Bytes that one worker holds at most: decoded blocks, one window of each layer, and the sums of its groups."""
    reading = reading_for(tile, 1, widest)
    pixels = min(reading.height, tile.grid.shape[0]) * min(reading.width, tile.grid.shape[1])
    windows = sum(pixels * _bytes_of_pixel(layer, tile) for layer in tile.rasters)
    groups = (reading.height // SQUARE) * max(1, reading.width // BAND)
    compressed = max(math.prod(raster.block) for raster in tile.rasters.values()) * 4
    aligning = ALIGNING if any(raster.aligned for raster in tile.rasters.values()) else 0
    sums = groups * len(tile.variables) * GROUP
    return reading.cache + min(compressed, 4 * tile.grid.pixels) + windows + aligning + sums


def _bytes_of_pixel(layer: str, tile: Tile) -> int:
    """Bytes that a pixel of a layer takes in a window, with the copies made of types that the kernel does not take."""
    raster = tile.rasters[layer]
    size = np.dtype(raster.bands[0].dtype).itemsize
    own = (one for one in tile.predictions.values() if isinstance(one, Layered) and raster in one.rasters.values())
    if prediction := next(own, None):
        return 2 * prediction.at_once(raster) * max(size, np.dtype(np.float32).itemsize) + 32
    numbers = {number_of_band(raster, layer, variable) for variable in tile.variables_of(layer)}
    bands = len(numbers) if raster.interleaved else 1
    normal = all(distribution.is_normal for distribution in tile.distributions.values())
    as_stored = raster.bands[0].dtype == "float32" and not tile.noisy_truth and _variances_alone(tile) and normal
    copies = 0 if as_stored else 16
    return bands * size + copies + (0 if normal or not is_predicted(layer) else CONVERTED)


def _variances_alone(tile: Tile) -> bool:
    return all(prediction.spread == "variance" for prediction in tile.predictions.values())


def parse_memory(text: str) -> int:
    """Return the bytes of a size such as 512MB, 4GB or 2GiB; decimal and binary prefixes alike count by 1024.

    >>> parse_memory("4GB") == 4 * 2**30
    True
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    if not match:
        raise ConfigError(f"--memory {text}: write a size such as 512MB or 4GB")
    return int(float(match[1]) * UNITS[match[2].upper()])


def describe(plan: Plan, catalog: Catalog, *, checksums: bool = False) -> list[str]:
    """Return the plan in lines for people; checksums : whether the run goes by those of files."""
    models = list(dict.fromkeys(v.model for v in catalog.variables if v.model))
    units = {v.variable: v.units for v in catalog.variables}
    names = ", ".join(f"{name} ({unit})" if unit else name for name, unit in units.items())
    lines = [
        f"tiles      {plan.tiles}",
        f"variables  {len(units)}: {names}",
        *([f"prediction {catalog.form.described()}"] if catalog.form != GAUSSIAN else []),
        *(f"prediction {told}" for told in distributions_of(catalog.variables)),
        *([f"models     {len(models)}: {', '.join(models)}; {_compared(catalog)}"] if models else []),
        f"pixels     {plan.pixels:,} in a variable, {plan.pixels * plan.variables:,} in all",
        f"files      {plan.bytes_on_disk / MIB:,.1f} MiB",
        *(f"layout     {layout}: {count} files" for layout, count in plan.layouts[:5]),
        f"memory     about {plan.memory / MIB:,.0f} MiB with {plan.workers} workers",
    ]
    if plan.zones.count:
        more = "once more" if plan.zones.passes == 1 else f"up to {plan.zones.passes} times more"
        how = f"whose windows are read {more}" if plan.zones.passes else "summed with their tiles"
        lines.append(
            f"zones      {plan.zones.count:,} from polygons and classes, {how}, in {plan.zones.room / MIB:,.0f} MiB"
        )
    if checksums:
        lines.append("checksums  of all files, which each run computes first")
    return lines + [f"note       {note}" for note in (*catalog.notes, *catalog.alignments)]


def _compared(catalog: Catalog) -> str:
    common = catalog.tiles[0].common
    return "on the pixels that count for all of them" if common else "each on the pixels that count for it"


def problems(catalog: Catalog) -> list[str]:
    """Return what cannot be evaluated, a line each; one for many tiles whose messages differ by their names alone."""
    alike: dict[str, list[Failure]] = {}
    for failure in catalog.failures:
        alike.setdefault(failure.message.replace(failure.tile, "{tile}"), []).append(failure)
    count = len(catalog.failures) + len(catalog.tiles)
    return [
        line
        for own in alike.values()
        for line in (
            [f"{len(own)} of {counted(count, 'tile')}, such as {own[0].tile}: {own[0].message}"]
            if len(own) > MOST_ALIKE
            else [f"tile {failure.tile}: {failure.message}" for failure in own]
        )
    ]


def slots(workers: int) -> int:
    """Return how many pieces of work are under way at once: one in hand and one waiting for each worker."""
    return 2 * workers


def _layout(raster: Raster) -> str:
    raster = raster.aligned.source if raster.aligned else raster
    order = "pixel" if raster.interleaved else "band"
    kind = f"{len(raster.bands)} bands {raster.bands[0].dtype}"
    return f"{kind}, blocks {raster.block[0]} x {raster.block[1]}, {raster.compression}, {order} order"
