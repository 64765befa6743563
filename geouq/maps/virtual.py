"""Virtual rasters of GDAL, which show the files of many tiles as one raster and copy no pixel."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from rasterio.crs import CRS

from geouq.core.atomic import atomic_write
from geouq.core.grid import Grid
from geouq.maps.geotiff import BLOCK, SMALLEST_BLOCK, BandLabel, Stored
from geouq.maps.lattice import Lattice, lattices_of
from geouq.maps.style import add_names
from geouq.summary import TilePlace

TYPES = {"float32": "Float32", "uint8": "Byte"}


@dataclass(frozen=True)
class VirtualBand:
    """A band: its label, data type and nodata value, and the names of its codes."""

    label: BandLabel
    stored: Stored
    codes: Sequence[str] = ()


@dataclass(frozen=True)
class Source:
    """A file and its place.

    Parameters
    ----------
    file : str
        Path relative to the virtual raster.
    shape : tuple of int
        Rows and columns of the file.
    used : tuple of float
        Rows and columns that are shown, from the upper left corner.
    corner, size : tuple of int
        Row and column of the corner, and number of rows and columns, in the virtual raster.
    """

    file: str
    shape: tuple[int, int]
    used: tuple[float, float]
    corner: tuple[int, int]
    size: tuple[int, int]


def write_virtual(
    path: Path, grid: Grid, tags: Mapping[str, str], bands: Sequence[VirtualBand], sources: Sequence[Source]
) -> Path:
    """Write a virtual raster with these tags."""
    with atomic_write(path) as part:
        part.write_text(virtual_text(grid, tags, bands, sources), encoding="utf-8")
    return path


def virtual_text(grid: Grid, tags: Mapping[str, str], bands: Sequence[VirtualBand], sources: Sequence[Source]) -> str:
    """Return the text of a virtual raster."""
    rows, columns = grid.shape
    root = ET.Element("VRTDataset", rasterXSize=str(columns), rasterYSize=str(rows))
    if grid.crs:
        ET.SubElement(root, "SRS").text = grid.crs
    t = grid.transform
    ET.SubElement(root, "GeoTransform").text = ", ".join(map(repr, map(float, (t.c, t.a, t.b, t.f, t.d, t.e))))
    _metadata(root, {"AREA_OR_POINT": "Area", **tags})
    for number, own in enumerate(bands, 1):
        band = _band(root, number, own)
        for source in sources:
            _source(band, source)
    return ET.tostring(root, encoding="unicode") + "\n"


def remove_virtual(folder: Path, name: str, tags: Mapping[str, str]) -> None:
    """Remove the virtual rasters of a map, and their styles, that an earlier run has written.

    Names do not suffice: `cells_cover_local.vrt` may belong to a variable `cover_local`.
    """
    for path in folder.glob("*.vrt"):
        if path.stem == name or (path.stem.startswith(f"{name}_") and tags.items() <= _tags_of(path).items()):
            path.unlink(missing_ok=True)
            path.with_suffix(".qml").unlink(missing_ok=True)


def sources_of(path: Path) -> set[str]:
    """Return the files that a virtual raster shows, as it names them."""
    root = ET.parse(path).getroot()  # noqa: S314  the run wrote it
    return {source.text or "" for source in root.iter("SourceFilename")}


def _tags_of(path: Path) -> dict[str, str]:
    """Return the tags of a virtual raster; none of a file that is not one."""
    try:
        metadata = ET.parse(path).getroot().find("Metadata")  # noqa: S314  a file that an earlier run wrote
    except ET.ParseError:
        return {}
    return {} if metadata is None else {item.get("key", ""): item.text or "" for item in metadata}


def lattices_by_suffix(places: Sequence[TilePlace]) -> Iterator[tuple[str, Lattice]]:
    """Yield the lattices of tiles without overlap, each with the end of its file name; none of a single tile."""
    names: list[str] = []
    lattices = lattices_of(places) if len(places) > 1 else []
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
    """Return the name of a CRS in file names, such as EPSG32633."""
    authority = CRS.from_wkt(wkt).to_authority() if wkt else None
    return "".join(authority) if authority else "local"


def _band(root: ET.Element, number: int, own: VirtualBand) -> ET.Element:
    band = ET.SubElement(root, "VRTRasterBand", dataType=TYPES[own.stored.dtype], band=str(number))
    _metadata(band, {"long_name": own.label.long_name, **own.label.tags})
    ET.SubElement(band, "Description").text = own.label.name
    ET.SubElement(band, "UnitType").text = own.label.units
    ET.SubElement(band, "NoDataValue").text = f"{own.stored.nodata:g}"
    ET.SubElement(band, "ColorInterp").text = "Gray" if number == 1 else "Undefined"
    if own.codes:
        add_names(band, own.codes)
    return band


def _metadata(element: ET.Element, tags: Mapping[str, str]) -> None:
    own = ET.SubElement(element, "Metadata")
    for key, value in tags.items():
        ET.SubElement(own, "MDI", key=key).text = value


def _source(band: ET.Element, source: Source) -> None:
    """Add a file with its properties and place, in full, so that no file has to be opened early."""
    rows, columns = source.shape
    side = str(min(BLOCK, max(SMALLEST_BLOCK, -(-max(rows, columns) // SMALLEST_BLOCK) * SMALLEST_BLOCK)))
    element = ET.SubElement(band, "SimpleSource")
    ET.SubElement(element, "SourceFilename", relativeToVRT="1").text = source.file
    ET.SubElement(element, "SourceBand").text = band.get("band")
    shape = {"RasterXSize": str(columns), "RasterYSize": str(rows)}
    blocks = {"DataType": band.get("dataType", ""), "BlockXSize": side, "BlockYSize": side}
    ET.SubElement(element, "SourceProperties", shape | blocks)
    for name, (row, column), (height, width) in (
        ("SrcRect", (0, 0), source.used),
        ("DstRect", source.corner, source.size),
    ):
        box = {"xOff": f"{column}", "yOff": f"{row}", "xSize": f"{width:.12g}", "ySize": f"{height:.12g}"}
        ET.SubElement(element, name, box)
