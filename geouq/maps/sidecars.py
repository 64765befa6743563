"""Files next to maps of pixels: styles, and virtual rasters of GDAL that show all tiles as one and copy nothing."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from geouq.config import Variable
from geouq.maps.pixel_maps import PixelMap, map_named
from geouq.maps.pixels import path_of_map
from geouq.maps.style import style_of_codes, style_of_scale, write_style
from geouq.maps.virtual import Source, VirtualBand, lattices_by_suffix, remove_virtual, write_virtual
from geouq.summary import Summary, TilePlace


def write_sidecars(
    name: str,
    places: Sequence[TilePlace],
    variables: Sequence[Variable],
    wholes: Mapping[str, Summary],
    folder: Path,
) -> list[Path]:
    """Write the mosaics of a map and its styles; return their paths.

    The style next to a mosaic shows the first band; without a mosaic it stands next to the file of each tile. The
    folder `styles` holds those of the bands that have other colours.

    Parameters
    ----------
    places : sequence of TilePlace
        The tiles that have the map.
    wholes : mapping
        All pixels of each variable, from which the limits of colours follow.
    """
    shown = map_named(name)
    mosaics = write_mosaics(name, places, variables, folder)
    files = [path_of_map(place.tile, name, folder) for place in places]
    first = _style(shown, variables[0], wholes, 1)
    written = [write_style(first, path.with_suffix(".qml")) for path in mosaics or files]
    for band, variable in enumerate(variables, 1):
        path = folder / "styles" / name / f"{variable.file_name}.qml"
        if _style(shown, variable, wholes, 1) == first:
            path.unlink(missing_ok=True)
        else:
            written.append(write_style(_style(shown, variable, wholes, band), path))
    return [*mosaics, *written]


def _style(shown: PixelMap, variable: Variable, wholes: Mapping[str, Summary], band: int) -> str:
    """Return the style of a band that holds a variable."""
    if shown.scale is None:
        return style_of_codes(shown.codes, band)
    return style_of_scale(shown.scale(wholes[variable.name]), shown.label(variable).units, band, shown.bounds)


def write_mosaics(name: str, places: Sequence[TilePlace], variables: Sequence[Variable], folder: Path) -> list[Path]:
    """Write `<map>.vrt` over the maps of all tiles; `<map>_<CRS>.vrt` for each CRS or lattice if there are several.

    The paths of the tiles are relative to the file. Tiles that overlap have none, and a single tile has none.
    Mosaics of an earlier run are removed.
    """
    remove_virtual(folder, name, {"GEOUQ_MAP": name})
    shown = map_named(name)
    grids = {place.tile: place.grid for place in places}
    bands = [VirtualBand(shown.label(variable), shown.stored, shown.codes) for variable in variables]
    return [
        write_virtual(
            folder / f"{name}{suffix}.vrt",
            lattice.grid,
            {"GEOUQ_MAP": name},
            bands,
            [
                Source(
                    path_of_map(tile, name, Path()).name,
                    grids[tile].shape,
                    grids[tile].shape,
                    corner,
                    grids[tile].shape,
                )
                for tile, corner in lattice.corners.items()
            ],
        )
        for suffix, lattice in lattices_by_suffix(places)
    ]
