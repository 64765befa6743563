"""Files next to maps of pixels: styles, and virtual rasters of GDAL that show all tiles as one and copy nothing."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from rasterio.crs import CRS

from geouq.atomic import atomic_write
from geouq.config import Variable
from geouq.grid import Grid
from geouq.maps.geotiff import BLOCK, SMALLEST_BLOCK, BandLabel
from geouq.maps.lattice import Lattice, lattices_of
from geouq.maps.pixel_maps import PixelMap, map_named
from geouq.maps.pixels import path_of_map
from geouq.maps.style import add_names, style_of_codes, style_of_scale, write_style
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


KINDS = {"float32": "Float32", "uint8": "Byte"}


def write_mosaics(name: str, places: Sequence[TilePlace], variables: Sequence[Variable], folder: Path) -> list[Path]:
    """Write `<map>.vrt` over the maps of all tiles; `<map>_<CRS>.vrt` for each CRS or lattice where there are several.

    Sources are told relative to the file. There is none of tiles that lie on each other, or of one tile alone. Mosaics
    of an earlier run are removed.
    """
    for path in [folder / f"{name}.vrt", *folder.glob(f"{name}_*.vrt")]:
        path.unlink(missing_ok=True)
    lattices = lattices_of(places) if len(places) > 1 else []
    grids = {place.tile: place.grid for place in places}
    written = []
    for suffix, lattice in _named(lattices):
        path = folder / f"{name}{suffix}.vrt"
        text = mosaic_text(name, lattice, {tile: grids[tile] for tile in lattice.corners}, variables)
        with atomic_write(path) as part:
            part.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def mosaic_text(name: str, lattice: Lattice, grids: Mapping[str, Grid], variables: Sequence[Variable]) -> str:
    """Return the virtual raster of one map over tiles on a lattice."""
    rows, columns = lattice.grid.shape
    root = ET.Element("VRTDataset", rasterXSize=str(columns), rasterYSize=str(rows))
    if lattice.grid.crs:
        ET.SubElement(root, "SRS").text = lattice.grid.crs
    t = lattice.grid.transform
    ET.SubElement(root, "GeoTransform").text = ", ".join(map(repr, map(float, (t.c, t.a, t.b, t.f, t.d, t.e))))
    _metadata(root, {"AREA_OR_POINT": "Area", "GEOUQ_MAP": name})
    shown = map_named(name)
    for number, variable in enumerate(variables, 1):
        band = _band(root, number, shown, shown.label(variable))
        for tile, grid in grids.items():
            file = path_of_map(tile, name, Path()).name
            _source(band, file, grid, lattice.corners[tile])
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _named(lattices: Sequence[Lattice | None]) -> Iterator[tuple[str, Lattice]]:
    """Lattices without overlap, each with what its file name ends in."""
    names: list[str] = []
    for lattice in lattices:
        if lattice is None:
            continue
        if len(lattices) == 1:
            yield "", lattice
            continue
        crs = _crs_name(lattice.grid.crs)
        names.append(crs)
        count = names.count(crs)
        yield f"_{crs}" if count == 1 else f"_{crs}_{count}", lattice


def _crs_name(wkt: str) -> str:
    """Name of a CRS in file names, such as EPSG32633."""
    authority = CRS.from_wkt(wkt).to_authority() if wkt else None
    return "".join(authority) if authority else "local"


def _band(root: ET.Element, number: int, shown: PixelMap, label: BandLabel) -> ET.Element:
    band = ET.SubElement(root, "VRTRasterBand", dataType=KINDS[shown.stored.dtype], band=str(number))
    _metadata(band, {"long_name": label.long_name, **label.tags})
    ET.SubElement(band, "Description").text = label.name
    ET.SubElement(band, "UnitType").text = label.units
    ET.SubElement(band, "NoDataValue").text = f"{shown.stored.nodata:g}"
    ET.SubElement(band, "ColorInterp").text = "Gray" if number == 1 else "Undefined"
    if shown.codes:
        add_names(band, shown.codes)
    return band


def _metadata(element: ET.Element, tags: Mapping[str, str]) -> None:
    own = ET.SubElement(element, "Metadata")
    for key, value in tags.items():
        ET.SubElement(own, "MDI", key=key).text = value


def _source(band: ET.Element, file: str, grid: Grid, corner: tuple[int, int]) -> None:
    """Add the band of a tile with its file and place, in full, so that no file has to be opened early."""
    rows, columns = grid.shape
    side = str(min(BLOCK, max(SMALLEST_BLOCK, -(-max(rows, columns) // SMALLEST_BLOCK) * SMALLEST_BLOCK)))
    source = ET.SubElement(band, "SimpleSource")
    ET.SubElement(source, "SourceFilename", relativeToVRT="1").text = file
    ET.SubElement(source, "SourceBand").text = band.get("band")
    shape = {"RasterXSize": str(columns), "RasterYSize": str(rows)}
    ET.SubElement(
        source,
        "SourceProperties",
        shape | {"DataType": band.get("dataType", ""), "BlockXSize": side, "BlockYSize": side},
    )
    for name, (row, column) in (("SrcRect", (0, 0)), ("DstRect", corner)):
        box = {"xOff": str(column), "yOff": str(row), "xSize": str(columns), "ySize": str(rows)}
        ET.SubElement(source, name, box)
