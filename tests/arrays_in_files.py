"""Datasets in netCDF and Zarr files, and the same pixels in GeoTIFF, for tests."""

import numpy as np
import pandas as pd
import rasterio
import xarray as xr
from affine import Affine
from landscape import write_raster

from geouq.config import load_experiment

SHAPE = (300, 270)
DAYS = pd.date_range("2019-12-01", periods=12, freq="MS")
PLACE = Affine(10, 0, 500_000, 0, -10, 5_000_000)


def layers(*lead, shape=SHAPE, seed=0):
    """Mean, variance and truth with some pixels without a value, as float32 (..., rows, columns)."""
    rng = np.random.default_rng(seed)
    variance = rng.uniform(0.5, 2, (*lead, *shape))
    mean = rng.uniform(10, 20, (*lead, *shape))
    truth = mean + np.sqrt(variance) * rng.standard_normal((*lead, *shape))
    truth[..., :5, :3] = np.nan
    mean[..., 10, 8] = np.nan
    return {"mean": np.float32(mean), "variance": np.float32(variance), "truth": np.float32(truth)}


def on_map(arrays, place=PLACE, names=("y", "x"), dims=(), **attributes):
    """A Dataset of arrays whose last dimensions are those of the map, from north to south."""
    rows, columns = next(iter(arrays.values())).shape[-2:]
    coordinates = {
        names[1]: place.c + place.a * (np.arange(columns) + 0.5),
        names[0]: place.f + place.e * (np.arange(rows) + 0.5),
    }
    return xr.Dataset({name: ((*dims, *names), values, attributes) for name, values in arrays.items()}, coordinates)


def with_crs(dataset, crs="EPSG:32633"):
    """The Dataset with the CRS of its arrays, as rioxarray writes it."""
    for array in dataset.data_vars.values():
        array.attrs["grid_mapping"] = "spatial_ref"
    return dataset.assign_coords(spatial_ref=((), 0, {"crs_wkt": rasterio.crs.CRS.from_user_input(crs).to_wkt()}))


def save(dataset, path, chunks=None):
    """Write a Dataset as netCDF 4 or Zarr, by the ending of the path; in chunks by dimension."""
    encoding = {}
    for name, array in dataset.data_vars.items():
        sizes = [(chunks or {}).get(dim, size) for dim, size in array.sizes.items()]
        key = "chunks" if path.suffix == ".zarr" else "chunksizes"
        encoding[name] = {key: tuple(min(size, array.sizes[dim]) for size, dim in zip(sizes, array.dims, strict=True))}
    if path.suffix == ".zarr":
        dataset.to_zarr(path, consolidated=False, encoding=encoding)
    else:
        dataset.to_netcdf(path, engine="h5netcdf", encoding=encoding if chunks else None)
    return path


def experiment_of(path, more=None, **data):
    """The experiment whose layers are arrays of one file, of the same names."""
    files = {layer: {"path": str(path), "variable": layer} for layer in ("mean", "variance", "truth")} | data
    files = {key: own for key, own in files.items() if own is not None}
    return load_experiment({"version": 1, "name": "one", "variables": ["v"], "data": files, **(more or {})})


def geotiffs(folder, arrays, **profile):
    """The experiment of the same layers as GeoTIFF."""
    for name, values in arrays.items():
        write_raster(folder / f"{name}.tif", values, transform=PLACE, **profile)
    files = {name: str(folder / f"{name}.tif") for name in ("mean", "variance", "truth")}
    return load_experiment({"version": 1, "name": "one", "variables": ["v"], "data": files})
