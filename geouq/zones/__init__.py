"""Regions that are no whole tiles: polygons, classes of rasters, and what is made of these, as masks of windows."""

from geouq.zones.masks import Part, Zones
from geouq.zones.regions import Regions, TileZones, open_regions, placed, polygons_without_pixels, without_pixels
from geouq.zones.vector import Polygons, read_polygons

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
