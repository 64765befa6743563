"""Regions that are no whole tiles: polygons, classes of rasters, and what is made of these, as masks of windows."""

from geouq.rasters.vector import Polygons, read_polygons
from geouq.zones.masks import Part, Zones
from geouq.zones.regions import Regions, TileZones, open_regions, placed, polygons_without_pixels, without_pixels

__all__ = [
    "Part",
    "Polygons",
    "Regions",
    "TileZones",
    "Zones",
    "open_regions",
    "placed",
    "polygons_without_pixels",
    "read_polygons",
    "without_pixels",
]
