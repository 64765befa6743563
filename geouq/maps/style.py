"""How GIS programs show a map: QGIS styles of scales and codes, and names of codes for GDAL, in files next to it."""

import math
from collections.abc import Sequence
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

from geouq.core.atomic import atomic_write, temporary
from geouq.core.wording import true_minus
from geouq.maps.scales import Rgb, Scale, colours_of_codes, hexadecimal

DOCTYPE = "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n"
VERSION = "3.28.0"  # of QGIS, whose format this is; later ones read it too
FURTHEST = 1e300  # ends of the outermost classes
UNBOUNDED = (-math.inf, math.inf)
FEWEST_DIGITS, MOST_DIGITS = 3, 13  # of labels; scales have twelve
LARGEST_PLAIN = 1e6  # number in digits alone
ORIGIN = {
    "limits": "None",  # those that stand here, not those of the file
    "extent": "WholeRaster",
    "statAccuracy": "Estimated",
    "cumulativeCutLower": "0.02",
    "cumulativeCutUpper": "0.98",
    "stdDevFactor": "2",
}


def style_of_scale(scale: Scale, units: str, band: int = 1, bounds: tuple[float, float] = UNBOUNDED) -> str:
    """Return the text of a .qml that shows a band in the colours of a scale.

    bounds : lowest and highest value that the band can have. Values beyond an end of the scale have the colour of this
    end, and its label says so.
    """
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
    for value, colour, label in zip(scale.values, scale.colours, _labels(scale, units, bounds), strict=True):
        ET.SubElement(shader, "item", value=f"{value:.12g}", color=hexadecimal(colour), label=label, alpha="255")
    # a legend of the values with their unit, in place of a ramp between two numbers
    ET.SubElement(shader, "rampLegendSettings", useContinuousLegend="0")
    return _text(root)


def _labels(scale: Scale, units: str, bounds: tuple[float, float]) -> list[str]:
    """Return a label with the unit for each value of a scale."""
    signs = [""] * len(scale.values)
    if bounds[0] < scale.values[0]:
        signs[0] = "≤ "
    if bounds[1] > scale.values[-1]:
        signs[-1] = "≥ "
    return [f"{sign}{number}{_unit(units)}" for sign, number in zip(signs, numbers(scale.values), strict=True)]


def numbers(values: Sequence[float]) -> list[str]:
    """Return numbers for people, with as many digits as tell them apart, three at least.

    >>> numbers([0.5, 0.666666, 1500.4]), numbers([286.0, 286.5, 287.0])
    (['0.5', '0.667', '1500'], ['286', '286.5', '287'])
    """
    for digits in range(FEWEST_DIGITS, MOST_DIGITS):
        texts = [_with_digits(value, digits) for value in values]
        if len(set(texts)) == len(texts):
            break
    return list(map(true_minus, texts))


def _with_digits(value: float, digits: int) -> str:
    """Return a number with so many significant digits, all of those before the point up to a million."""
    text = f"{value + 0.0:.{digits}g}"  # no sign before a zero
    return f"{value:.0f}" if 10**digits <= abs(value) < LARGEST_PLAIN else text


def _unit(units: str) -> str:
    return "" if units in ("", "1") else f" {units}"


def style_of_codes(codes: Sequence[str], band: int = 1) -> str:
    """Return the text of a .qml that shows a band in a colour for each code."""
    root, renderer = _renderer("paletted", band)
    entries = ET.SubElement(renderer, "colorPalette")
    for number, (code, colour) in enumerate(zip(codes, colours_of_codes(codes), strict=True)):
        label = code.replace("_", " ")
        ET.SubElement(entries, "paletteEntry", value=str(number), color=hexadecimal(colour), label=label, alpha="255")
    return _text(root)


def style_of_polygons(attribute: str, scale: Scale, units: str) -> str:
    """Return the text of a .qml that fills polygons by an attribute, with a class around each value of a scale."""
    inner = [(low + high) / 2 for low, high in pairwise(scale.values)]
    edges, labels = [-FURTHEST, *inner, FURTHEST], _labels_of_classes(numbers(inner), _unit(units))
    ranges = "".join(
        f'<range lower="{low:.12g}" upper="{high:.12g}" label="{escape(label)}" symbol="{number}" render="true" />'
        for number, ((low, high), label) in enumerate(zip(pairwise(edges), labels, strict=True))
    )
    return (
        f'{DOCTYPE}<qgis version="{VERSION}" styleCategories="Symbology"><renderer-v2 type="graduatedSymbol" '
        f'attr="{escape(attribute)}" graduatedMethod="GraduatedColor" symbollevels="0">'
        f"<ranges>{ranges}</ranges><symbols>{_symbols(scale.colours)}</symbols></renderer-v2></qgis>\n"
    )


def _labels_of_classes(edges: Sequence[str], unit: str) -> list[str]:
    """Return a label for each class between edges, and for those beyond the first and the last edge.

    >>> _labels_of_classes(["0.25", "0.5"], " m")
    ['below 0.25 m', '0.25 to 0.5 m', 'above 0.5 m']
    """
    inner = [f"{low} to {high}{unit}" for low, high in pairwise(edges)]
    return [f"below {edges[0]}{unit}", *inner, f"above {edges[-1]}{unit}"]


@cache
def _symbols(colours: tuple[Rgb, ...]) -> str:
    """Return a fill for each colour; many styles have the same ones.

    Cells have an outline of a pixel in their own colour: without, the background shines through between them.
    """
    fills = (("style", "solid"), ("outline_style", "solid"), ("outline_width", "0"))
    option = '<Option type="QString" name="{}" value="{}" />'.format
    return "".join(
        f'<symbol type="fill" name="{number}" alpha="1" clip_to_extent="1">'
        '<layer class="SimpleFill" enabled="1" locked="0" pass="0"><Option type="Map">'
        f"{option('color', _rgba(colour))}{option('outline_color', _rgba(colour))}"
        f"{''.join(option(*fill) for fill in fills)}"
        "</Option></layer></symbol>"
        for number, colour in enumerate(colours)
    )


def _rgba(colour: Rgb) -> str:
    return ",".join(map(str, (*colour, 255)))


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
    colours = list(map(_rgba, scale.colours))
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
