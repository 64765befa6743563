"""Regions that are no whole tiles: polygons, classes of rasters, and what is made of these, as masks of windows."""

from geouq.zones.part import Part, Zones
from geouq.zones.placing import placed
from geouq.zones.regions import Regions, TileZones, open_regions, without_pixels

__all__ = ["Part", "Regions", "TileZones", "Zones", "open_regions", "placed", "without_pixels"]
