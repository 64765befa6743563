"""What codes of a map mean, in the file beside it in which GDAL and QGIS look for names of classes."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from geouq.atomic import atomic_write
from geouq.maps.palette import Rgb, colours_of_codes

COLUMNS = (("Value", 0, 5), ("Class", 2, 2), ("Red", 0, 6), ("Green", 0, 7), ("Blue", 0, 8))  # name, type, usage


def write_codes(path: Path, codes: Sequence[str], bands: int) -> None:
    """Write `<path>.aux.xml` with names of classes and a table of attributes for each band; nothing without codes."""
    if not codes:
        return
    root = ET.Element("PAMDataset")
    for band in range(1, bands + 1):
        own = ET.SubElement(root, "PAMRasterBand", band=str(band))
        add_names(own, codes)
        own.append(_attributes(codes, colours_of_codes(codes)))
    ET.indent(root)
    with atomic_write(path.with_name(f"{path.name}.aux.xml")) as part:
        part.write_text(ET.tostring(root, encoding="unicode") + "\n", encoding="utf-8")


def add_names(band: ET.Element, codes: Sequence[str]) -> None:
    """Add the names of classes to a band as GDAL describes it."""
    names = ET.SubElement(band, "CategoryNames")
    for code in codes:
        ET.SubElement(names, "Category").text = code


def _attributes(codes: Sequence[str], colours: Sequence[Rgb]) -> ET.Element:
    table = ET.Element("GDALRasterAttributeTable", tableType="thematic")
    for index, (name, kind, usage) in enumerate(COLUMNS):
        column = ET.SubElement(table, "FieldDefn", index=str(index))
        for key, value in (("Name", name), ("Type", kind), ("Usage", usage)):
            ET.SubElement(column, key).text = str(value)
    for number, (code, colour) in enumerate(zip(codes, colours, strict=True)):
        row = ET.SubElement(table, "Row", index=str(number))
        for value in (number, code, *colour):
            ET.SubElement(row, "F").text = str(value)
    return table
