"""Vector files with polygons."""

import json

from geouq.config import PolygonRegions
from geouq.rasters.vector import read_polygons


def square(left, bottom, side):
    return [[left, bottom], [left + side, bottom], [left + side, bottom + side], [left, bottom + side], [left, bottom]]


def feature(name, *rings, kind="Polygon"):
    geometry = {"type": kind, "coordinates": rings[0] if kind != "Polygon" else list(rings)} if rings else None
    return {"type": "Feature", "properties": {"NAME": name}, "geometry": geometry}


def geojson(path, *features, crs="EPSG:32633"):
    """Write features with coordinates in this CRS."""
    content = {"type": "FeatureCollection", "features": list(features)}
    if crs:
        content["crs"] = {"type": "name", "properties": {"name": f"urn:ogc:def:crs:{crs.replace(':', '::')}"}}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def polygons_of(path, name="NAME", **settings):
    return read_polygons(PolygonRegions(polygons=str(path), name=name, **settings))


def mask_of(zones, windows, shape):
    """Masks of whole tiles, by name of the zone, put together from windows."""
    import numpy as np

    masks = {name: np.zeros(shape, bool) for name in zones.names}
    for window in windows:
        for part in zones.zones_in(window):
            assert part.mask.shape == (part.box.height, part.box.width)
            assert part.mask.any()
            masks[zones.names[part.zone]][part.box.slices] |= part.mask
    return masks
