"""How GIS programs show a map: QGIS styles of scales and codes, and names of codes for GDAL, in files next to it."""

from collections.abc import Sequence
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

from geouq.core.atomic import atomic_write, temporary
from geouq.maps.scales import Rgb, Scale, colours_of_codes, hexadecimal

DOCTYPE = "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n"
VERSION = "3.28.0"  # of QGIS, whose format this is; later ones read it too
FURTHEST = 1e300  # ends of the outermost classes
ORIGIN = {
    "limits": "None",  # those that stand here, not those of the file
    "extent": "WholeRaster",
    "statAccuracy": "Estimated",
    "cumulativeCutLower": "0.02",
    "cumulativeCutUpper": "0.98",
    "stdDevFactor": "2",
}


def style_of_scale(scale: Scale, units: str, band: int = 1) -> str:
    """Return the text of a .qml that shows a band in the colours of a scale."""
    low, high = (f"{value:.12g}" for value in (scale.values[0], scale.values[-1]))
    root, renderer = _renderer("singlebandpseudocolor", band)
    renderer.set("classificationMin", low)
    renderer.set("classificationMax", high)
    shader = ET.SubElement(
        ET.SubElement(renderer, "rastershader"),
        "colorrampshader",
        colorRampType="INTERPOLATED",
        classificationMode="1",
        clip="0",
        minimumValue=low,
        maximumValue=high,
        labelPrecision="4",
    )
    _ramp(shader, scale)
    unit = "" if units in ("", "1") else f" {units}"
    for value, colour in zip(scale.values, scale.colours, strict=True):
        number = f"{value:.12g}"
        ET.SubElement(shader, "item", value=number, color=hexadecimal(colour), label=f"{value:.4g}{unit}", alpha="255")
    return _text(root)


def style_of_codes(codes: Sequence[str], band: int = 1) -> str:
    """Return the text of a .qml that shows a band in a colour for each code."""
    root, renderer = _renderer("paletted", band)
    entries = ET.SubElement(renderer, "colorPalette")
    for number, (code, colour) in enumerate(zip(codes, colours_of_codes(codes), strict=True)):
        label = code.replace("_", " ")
        ET.SubElement(entries, "paletteEntry", value=str(number), color=hexadecimal(colour), label=label, alpha="255")
    return _text(root)


def style_of_polygons(attribute: str, scale: Scale) -> str:
    """Return the text of a .qml that fills polygons by an attribute, with a class around each value of a scale."""
    edges = [-FURTHEST, *((low + high) / 2 for low, high in pairwise(scale.values)), FURTHEST]
    ranges = "".join(
        f'<range lower="{low:.12g}" upper="{high:.12g}" label="{_label(low, high)}" symbol="{number}" render="true" />'
        for number, (low, high) in enumerate(pairwise(edges))
    )
    return (
        f'{DOCTYPE}<qgis version="{VERSION}" styleCategories="Symbology"><renderer-v2 type="graduatedSymbol" '
        f'attr="{escape(attribute)}" graduatedMethod="GraduatedColor" symbollevels="0">'
        f"<ranges>{ranges}</ranges><symbols>{_symbols(scale.colours)}</symbols></renderer-v2></qgis>\n"
    )


def _label(low: float, high: float) -> str:
    return f"above {low:.4g}" if high == FURTHEST else f"up to {high:.4g}"


@cache
def _symbols(colours: tuple[Rgb, ...]) -> str:
    """Return a fill for each colour; many styles have the same ones."""
    fills = (("style", "solid"), ("outline_style", "no"))
    option = '<Option type="QString" name="{}" value="{}" />'.format
    return "".join(
        f'<symbol type="fill" name="{number}" alpha="1" clip_to_extent="1">'
        '<layer class="SimpleFill" enabled="1" locked="0" pass="0"><Option type="Map">'
        f"{option('color', ','.join(map(str, (*colour, 255))))}{''.join(option(*fill) for fill in fills)}"
        "</Option></layer></symbol>"
        for number, colour in enumerate(colours)
    )


def write_style(text: str, path: Path) -> Path:
    """Write the text of a style; there may be thousands, so that the disk is not waited for."""
    with temporary(path) as part:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    return path


def _renderer(kind: str, band: int) -> tuple[ET.Element, ET.Element]:
    """Return a style and its renderer, to add colours to."""
    root = ET.Element("qgis", version=VERSION, styleCategories="Symbology", hasScaleBasedVisibilityFlag="0")
    pipe = ET.SubElement(root, "pipe")
    ET.SubElement(
        ET.SubElement(pipe, "provider"),
        "resampling",
        enabled="false",
        maxOversampling="2",
        zoomedInResamplingMethod="nearestNeighbour",
        zoomedOutResamplingMethod="nearestNeighbour",
    )
    renderer = ET.SubElement(pipe, "rasterrenderer", type=kind, band=str(band), opacity="1", alphaBand="-1")
    renderer.set("nodataColor", "")
    ET.SubElement(renderer, "rasterTransparency")
    origin = ET.SubElement(renderer, "minMaxOrigin")
    for key, value in ORIGIN.items():
        ET.SubElement(origin, key).text = value
    ET.SubElement(pipe, "brightnesscontrast", brightness="0", contrast="0", gamma="1")
    ET.SubElement(pipe, "huesaturation", saturation="0", grayscaleMode="0", colorizeOn="0", colorizeStrength="100")
    ET.SubElement(pipe, "rasterresampler", maxOversampling="2")
    ET.SubElement(root, "blendMode").text = "0"
    return root, renderer


def _ramp(shader: ET.Element, scale: Scale) -> None:
    """Add the colours as a ramp, from which QGIS makes other classes on request."""
    colours = [",".join(map(str, (*colour, 255))) for colour in scale.colours]
    low, span = scale.values[0], scale.values[-1] - scale.values[0]
    inner = zip(scale.values[1:-1], colours[1:-1], strict=True)
    stops = ":".join(f"{(value - low) / span:.6g};{colour}" for value, colour in inner)
    settings = {"color1": colours[0], "color2": colours[-1], "discrete": "0", "rampType": "gradient", "stops": stops}
    ramp = ET.SubElement(shader, "colorramp", name="[source]", type="gradient")
    options = ET.SubElement(ramp, "Option", type="Map")
    for name, value in settings.items():
        ET.SubElement(options, "Option", type="QString", name=name, value=value)


def _text(root: ET.Element) -> str:
    ET.indent(root)
    return DOCTYPE + ET.tostring(root, encoding="unicode") + "\n"


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
