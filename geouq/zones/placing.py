"""The regions of an experiment brought to all its tiles."""

from dataclasses import replace

from geouq.errors import GeouqError
from geouq.failures import Failure
from geouq.rasters.catalog import Catalog
from geouq.zones.regions import Regions, TileZones, without_pixels


def placed(regions: Regions, catalog: Catalog) -> tuple[dict[str, TileZones], Catalog]:
    """Return the zones of each tile by name; tiles on which a region has no place become failures.

    Notes of the catalog then tell of polygons that were mended or left out, and of regions without a pixel.
    """
    zones: dict[str, TileZones] = {}
    failures = []
    for tile in catalog.tiles:
        try:
            zones[tile.name] = regions.on(tile.name, tile.grid)
        except GeouqError as error:
            failures.append(Failure(tile.name, "regions", type(error).__name__, str(error)))
    return zones, replace(
        catalog,
        tiles=tuple(tile for tile in catalog.tiles if tile.name in zones),
        failures=(*catalog.failures, *failures),
        notes=(*catalog.notes, *regions.notes, *without_pixels(regions, zones.values())),
    )
