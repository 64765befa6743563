"""Which bands of a VRT are another file's band as it is, so that two names of one band are recognised."""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from typing import Any

from geouq.rasters.sources import beside

Origin = tuple[str, int]  # identity of a file, and the number of a band
# elements with which a source, or a band of a VRT, has other values than the band that it is made of
OF_SOURCE = ("ScaleOffset", "ScaleRatio", "Exponent", "LUT", "NODATA", "ColorTableComponent", "UseMaskBand")
OF_BAND = ("PixelFunctionType", "Scale", "Offset")


def origins_of(source: Any, identity: Callable[[str], str]) -> tuple[Origin | None, ...]:
    """Return the file and band that each band of an open VRT passes through as it is, None where it does not.

    Other rasters have none. A source that is a VRT itself is not looked into.
    """
    text = source.tags(ns="xml:VRT").get("xml:VRT", "") if source.driver == "VRT" else ""
    try:
        root = ET.fromstring(text) if text else None  # noqa: S314  GDAL has opened it
    except ET.ParseError:
        root = None
    if root is None:
        return ()
    bands = [_origin(band, source) for band in root.iter("VRTRasterBand")]
    return tuple(found and (identity(found[0]), found[1]) for found in bands)


def _origin(band: ET.Element, source: Any) -> Origin | None:
    sources = [child for child in band if child.tag.endswith("Source")]
    if band.get("subClass") or any(band.find(tag) is not None for tag in OF_BAND):
        return None
    if len(sources) != 1 or sources[0].tag not in ("SimpleSource", "ComplexSource") or len(set(_rects(sources[0]))) > 1:
        return None
    (one,) = sources
    name, number = one.find("SourceFilename"), one.findtext("SourceBand", "1")
    if name is None or not name.text or not number.isdecimal() or any(one.find(tag) is not None for tag in OF_SOURCE):
        return None
    path = name.text.strip()
    return (beside(source.name, path) if name.get("relativeToVRT") == "1" else path), int(number)


def _rects(source: ET.Element) -> Iterator[tuple[float, ...]]:
    """Yield the rectangles that are read and written."""
    for tag in ("SrcRect", "DstRect"):
        rect = source.find(tag)
        if rect is not None:
            yield tuple(float(rect.get(key, "0")) for key in ("xOff", "yOff", "xSize", "ySize"))
