"""GDAL's names of parts of files and of indices as paths of layers, and the drivers that they need."""

import json
import zipfile

import numpy as np
import pytest
import rasterio.shutil
from landscape import NORTH_UP, write_raster
from products import SHAPE, calibrated, numbers, write_features

from geouq.config import load_experiment
from geouq.rasters.catalog import find_tiles
from geouq.reading.stack import open_stack

CASES = {  # mean and std by the name of the driver that they need besides GTiff
    "netCDF quoted": ('NETCDF:"in/a.nc":Band1', 'NETCDF:"in/a.nc":Band2', "netCDF"),
    "netCDF bare": ("NETCDF:in/a.nc:Band1", "NETCDF:in/a.nc:Band2", "netCDF"),
    "vrt": ("vrt://in/a.tif?bands=1", "vrt://in/a.tif?bands=2", "VRT"),
    "GTI": ({"path": "GTI:in/a.gti.gpkg", "band": 1}, {"path": "GTI:in/a.gti.gpkg", "band": 2}, "GTI"),
    "index": ({"path": "in/a.gti.gpkg", "band": 1}, {"path": "in/a.gti.gpkg", "band": 2}, "GTI"),
}


@pytest.fixture
def layers(tmp_path, monkeypatch):
    """A map as GeoTIFF, netCDF, index and in an archive, in the folder of a configuration; geouq starts elsewhere."""
    shapely = pytest.importorskip("shapely")
    found = mean, std, truth = calibrated(1)
    write_raster(tmp_path / "c/in/a.tif", np.stack([mean, std]), nodata=np.nan)
    write_raster(tmp_path / "c/y.tif", truth, nodata=np.nan)
    rasterio.shutil.copy(tmp_path / "c/in/a.tif", tmp_path / "c/in/a.nc", driver="netCDF")
    with zipfile.ZipFile(tmp_path / "c/in/a.zip", "w") as archive:
        archive.write(tmp_path / "c/in/a.tif", "a.tif")
    (left, top), (right, bottom) = NORTH_UP @ (0, 0), NORTH_UP @ SHAPE[::-1]
    fields, box = {"location": [str(tmp_path / "c/in/a.tif")]}, [shapely.box(left, bottom, right, top)]
    write_features(tmp_path / "c/in/a.gti.gpkg", fields, box, crs="EPSG:32633")
    monkeypatch.chdir(tmp_path)
    return found


def experiment(folder, mean, std, drivers=("GTiff",), truth="y.tif"):
    data = {"mean": mean, "std": std, "truth": truth}
    written = {"version": 1, "name": "x", "variables": ["v"], "data": data, "drivers": list(drivers)}
    (folder / "c/x.yaml").write_text(json.dumps(written), "utf-8")
    return load_experiment(folder / "c/x.yaml")


def read(own):
    found = open_stack(own).load(scheduler="synchronous")
    return [found["mean"].values[0], np.sqrt(found["variance"].values[0]), found["truth"].values[0]]


@pytest.mark.parametrize("case", CASES)
def test_a_name_of_gdal_is_relative_to_the_file_and_reads_the_same_pixels(tmp_path, layers, case):
    mean, std, driver = CASES[case]

    found = read(experiment(tmp_path, mean, std, ("GTiff", driver)))

    assert numbers(*found) == pytest.approx(numbers(*layers), rel=1e-5)


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize("case", CASES)
def test_a_driver_that_is_not_allowed_is_named(tmp_path, case):
    mean, std, driver = CASES[case]

    (failure,) = find_tiles(experiment(tmp_path, mean, std)).failures

    assert f"it is a {driver} file" in failure.message
    assert f"write drivers: [GTiff, {driver}]" in failure.message


def test_a_member_of_an_archive_needs_no_other_driver(tmp_path, layers):
    path = f"/vsizip/{tmp_path}/c/in/a.zip/a.tif"

    found = read(experiment(tmp_path, {"path": path, "band": 1}, {"path": path, "band": 2}))

    assert numbers(*found) == pytest.approx(numbers(*layers), rel=1e-5)


@pytest.mark.usefixtures("layers")
def test_tiles_are_listed_by_the_file_in_a_name(tmp_path):
    names = ("vrt://in/{tile}.tif?bands=1", "vrt://in/{tile}.tif?bands=2")
    (tmp_path / "c/y.tif").rename(tmp_path / "c/y_a.tif")

    found = find_tiles(experiment(tmp_path, *names, ("GTiff", "VRT"), truth="y_{tile}.tif"))

    assert [tile.name for tile in found.tiles] == ["a"]
