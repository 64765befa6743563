"""Miniature products in the layouts in which maps with uncertainty are published, with calibrated values."""

import csv
import json
from pathlib import Path

import numpy as np
from affine import Affine
from landscape import NORTH_UP, write_raster

SHAPE = (60, 70)
ALBERS = (  # of the ICESat-2 boreal maps; it has no code
    'PROJCS["unnamed",GEOGCS["GRS 1980(IUGG, 1980)",DATUM["unknown",SPHEROID["GRS80",6378137,298.257222101]],'
    'PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Albers_Conic_Equal_Area"],'
    'PARAMETER["latitude_of_center",40],PARAMETER["longitude_of_center",180],PARAMETER["standard_parallel_1",50],'
    'PARAMETER["standard_parallel_2",70],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1]]'
)
ORIGIN = Affine(30, 0, -2241478, 0, -30, 9333304)


def calibrated(seed, shape=SHAPE, missing=0.3):
    """Mean, std and truth, of which the std is right; NaN where there is no prediction, and elsewhere no truth."""
    rng = np.random.default_rng(seed)
    mean = rng.gamma(3, 20, shape)
    std = 1 + 0.2 * mean * rng.uniform(0.5, 1.5, shape)
    truth = mean + std * rng.standard_normal(shape)
    mean[rng.random(shape) < missing] = np.nan
    truth[rng.random(shape) < missing] = np.nan
    std[np.isnan(mean)] = np.nan
    return [layer.astype(np.float32) for layer in (mean, std, truth)]


def numbers(mean, std, truth, *, inside=True):
    """What plain numpy says of a forecast."""
    valid = np.isfinite(mean) & np.isfinite(truth) & inside
    m, s, y = (layer[valid].astype(np.float64) for layer in (mean, std, truth))
    z = (y - m) / s
    return {
        "n": len(z),
        "rmse": np.sqrt(np.mean((y - m) ** 2)),
        "zms": np.mean(z**2),
        "z_mean": z.mean(),
        "coverage_90": np.mean(np.abs(z) <= 1.6448536269514722),
    }


def numbers_of_run(folder, level="tile"):
    """The same numbers of each tile, or of the whole, from the table of a run."""
    wanted = {"rmse", "zms", "z_mean", "coverage_90"}
    found = {}
    with Path(folder, "tables/metrics.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["level"] == level and row["metric"] in wanted and not row["group"]:
                own = found.setdefault(row["name"], {"n": int(row["n"])})
                own[row["metric"]] = float(row["value"])
    return found


def item(name, assets, *, version="1.1.0", **properties):
    """An item of STAC."""
    return {
        "type": "Feature",
        "stac_version": version,
        "id": name,
        "geometry": None,
        "properties": {"datetime": "2020-07-01T00:00:00Z", **properties},
        "links": [{"rel": "root", "href": "../collection.json", "type": "application/json"}],
        "assets": assets,
    }


def write_items(path, *items):
    """Write an ItemCollection."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"type": "FeatureCollection", "features": list(items)}), encoding="utf-8")
    return path


def bluetopo(folder, names=("BH4QK58D", "BF2D52JP"), driver="GPKG", scheme="scheme.gpkg"):
    """BlueTopo: a tile index with links to GeoTIFFs of elevation, uncertainty and contributor; truth by tile."""
    layers, links = {}, []
    for place, name in enumerate(names):
        layers[name] = mean, std, truth = calibrated(10 + place)
        grid = {"transform": NORTH_UP @ Affine.translation(place * SHAPE[1], 0), "crs": "EPSG:26919"}
        bands = np.nan_to_num(np.stack([mean, std, np.full(SHAPE, 7, np.float32)]), nan=1e6)
        described = ("Elevation", "Uncertainty", "Contributor")
        write_raster(folder / f"UTM19/BlueTopo_{name}_20250101.tiff", bands, nodata=1e6, names=described, **grid)
        write_raster(folder / f"sonar/{name}.tif", truth, nodata=np.nan, **grid)
        links.append(f"UTM19/BlueTopo_{name}_20250101.tiff")
    fields = {
        "tile": [*names, "BH9ZZ999"],
        "GeoTIFF_Link": [*links, None],  # that is not delivered yet
        "RAT_Link": [*(f"{link}.aux.xml" for link in links), None],
        "Resolution": ["4m"] * 3,
        "UTM": ["19"] * 3,
    }
    write_features(folder / scheme, fields, driver=driver)
    return layers


def write_features(path, fields, shapes=None, driver="GPKG", crs="EPSG:4326"):
    """Write polygons with attributes; squares side by side if none are given."""
    import pyogrio
    import shapely

    columns = [np.array(own, object) for own in fields.values()]
    shapes = shapes or [shapely.box(-70 + place, 43, -69 + place, 44) for place in range(len(columns[0]))]
    wkb = np.array([shapely.to_wkb(shape) for shape in shapes], object)
    pyogrio.raw.write(path, wkb, columns, list(fields), geometry_type="Polygon", crs=crs, driver=driver)


def boreal_grid(place):
    """The header of a tile of that product."""
    return {"crs": ALBERS, "transform": ORIGIN @ Affine.translation(place * SHAPE[1], 0), "nodata": np.nan}


def boreal(folder, names=("0000004", "0000005"), *, items="items.json", nodata="nan"):
    """ICESat-2 boreal biomass: an item of STAC 1.1 for each COG of two bands, and lidar as truth; layers by tile."""
    layers, features = {}, []
    for place, number in enumerate(names):
        name = f"boreal_agb_2020_{number}"
        layers[name] = calibrated(place)
        grid = boreal_grid(place)
        write_raster(folder / f"cog/{name}.tif", np.stack(layers[name][:2]), **grid)
        write_raster(folder / f"lidar/{name}.tif", layers[name][2], **grid)
        band = {"data_type": "float32", "scale": 1.0, "offset": 0.0, "sampling": "area", "nodata": nodata}
        assets = {
            "cog": {"href": f"cog/{name}.tif", "title": "Gridded predictions", "bands": [band, band]},
            "training_data_csv": {"href": f"cog/{name}_train_data.csv", "type": "text/csv"},
        }
        pixels = {
            "proj:epsg": None,
            "proj:shape": list(SHAPE),
            "proj:transform": list(grid["transform"]),
            "proj:wkt2": ALBERS,
        }
        features.append(item(name, assets, **pixels))
    write_items(folder / items, *features)
    return layers
