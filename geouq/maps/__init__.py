"""Cloud-optimised GeoTIFFs: a value for every pixel of a tile, or for every cell."""

from geouq.maps.cells import write_cell_maps
from geouq.maps.pixels import PIXEL_VALUES, write_pixel_maps

__all__ = ["PIXEL_VALUES", "write_cell_maps", "write_pixel_maps"]
