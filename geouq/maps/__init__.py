"""Cloud-optimised GeoTIFFs: a value for every pixel of a tile, or for every cell."""

from geouq.maps.cells import corners_on_lattice, write_cell_maps
from geouq.maps.pixels import PIXEL_VALUES, missing_maps, path_of_map, write_pixel_maps

__all__ = ["PIXEL_VALUES", "corners_on_lattice", "missing_maps", "path_of_map", "write_cell_maps", "write_pixel_maps"]
