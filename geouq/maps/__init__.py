"""Maps that GIS programs open: a value for every pixel of a tile, or for every cell, with styles and mosaics."""

from geouq.maps.cell_metrics import Cellwise
from geouq.maps.cells import paths_of_cells, write_cell_maps
from geouq.maps.geotiff import validate_source_date_epoch
from geouq.maps.lattice import corners_on_lattice
from geouq.maps.pixel_maps import PIXEL_MAPS, PixelMap, is_pixel_map, map_named, pixel_map
from geouq.maps.pixels import missing_maps, path_of_map, write_each_map, write_pixel_maps
from geouq.maps.sidecars import write_sidecars

__all__ = [
    "PIXEL_MAPS",
    "Cellwise",
    "PixelMap",
    "corners_on_lattice",
    "is_pixel_map",
    "map_named",
    "missing_maps",
    "path_of_map",
    "paths_of_cells",
    "pixel_map",
    "validate_source_date_epoch",
    "write_cell_maps",
    "write_each_map",
    "write_pixel_maps",
    "write_sidecars",
]
