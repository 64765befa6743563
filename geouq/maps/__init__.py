"""Maps that GIS programs open: a value for every pixel of a tile, or for every cell, with styles and mosaics."""

from geouq.maps.pixel_maps import PIXEL_MAPS, PixelMap, is_pixel_map, map_named, pixel_map

__all__ = ["PIXEL_MAPS", "PixelMap", "is_pixel_map", "map_named", "pixel_map"]
