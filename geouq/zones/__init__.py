"""Regions that are no whole tiles: polygons, classes of rasters, and what is made of these, as masks of windows."""

from geouq.zones.derived import Derivation, TileZones
from geouq.zones.part import Part, Zones
from geouq.zones.regions import Regions, open_regions, without_pixels

__all__ = ["Derivation", "Part", "Regions", "TileZones", "Zones", "open_regions", "without_pixels"]
