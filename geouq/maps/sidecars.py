"""What stands beside maps of pixels: a style for each, and mosaics over all tiles."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from geouq.config import Variable
from geouq.maps.pixel_maps import map_named
from geouq.maps.pixels import path_of_map
from geouq.maps.style import style_of_codes, style_of_scale, write_style
from geouq.maps.vrt import write_mosaics
from geouq.summary import Summary, TilePlace


def write_sidecars(
    name: str,
    places: Sequence[TilePlace],
    variables: Sequence[Variable],
    wholes: Mapping[str, Summary],
    folder: Path,
) -> list[Path]:
    """Write the mosaics of a map, and styles: beside each file of the first band, and of each band in `styles`.

    places : of the tiles that have the map. wholes : all pixels of each variable, which limits of colours follow from.
    """
    shown = map_named(name)
    styles = {
        variable: style_of_codes(shown.codes, band)
        if shown.scale is None
        else style_of_scale(shown.scale(wholes[variable.name]), shown.label(variable).units, band)
        for band, variable in enumerate(variables, 1)
    }
    mosaics = write_mosaics(name, places, variables, folder)
    maps = [*(path_of_map(place.tile, name, folder) for place in places), *mosaics]
    beside = [write_style(styles[variables[0]], path.with_suffix(".qml")) for path in maps]
    if len(variables) > 1:
        own = folder / "styles" / name
        beside += [write_style(text, own / f"{variable.file_name}.qml") for variable, text in styles.items()]
    return [*mosaics, *beside]
