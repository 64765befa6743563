"""The cells of all variables as GeoParquet, against the GeoPackages."""

import json

import numpy as np
import pyogrio.raw
import pytest
import rasterio
import shapely
from affine import Affine
from forecasts import heteroscedastic

from geouq.arrays.points import summarize_arrays
from geouq.config import Variable
from geouq.core.grid import Grid
from geouq.maps import geoparquet
from geouq.maps.cell_metrics import Cellwise
from geouq.maps.cells import write_cell_maps
from geouq.maps.geoparquet import write_geoparquet
from geouq.metrics import MetricOptions
from geouq.summary import TileSummary, add_all

pq = pytest.importorskip("pyarrow.parquet")

PLACE = Affine(10, 0, 500_000, 0, -10, 7_000_000)
UTM33, UTM34 = (rasterio.CRS.from_epsg(32600 + zone).to_wkt() for zone in (33, 34))


def packages_of(folder, systems, variables=("cover",)):
    """Cells of a tile in each CRS as GeoPackages, by the name of the variable."""
    found = {}
    for number, name in enumerate(variables):
        sums = [summarize_arrays(*heteroscedastic((40, 48), number), (0.5, 0.9), cell_size=16) for _ in systems]
        tiles = [
            TileSummary(f"t{i}", Grid((40, 48), PLACE @ Affine.translation(100 * i, 0), crs), 16, {name: own})
            for i, (crs, own) in enumerate(zip(systems, sums, strict=True))
        ]
        cells = {
            tile.tile: [(np.arange(len(tile.variables[name].cells)), tile.variables[name].cells)] for tile in tiles
        }
        whole = add_all(tile.variables[name].whole for tile in tiles)
        levels = (0.5, 0.9) if number == 0 else (0.5,)
        own = Cellwise(of_name(name), cells.pop, ("cells",), MetricOptions(levels, ()), whole)
        found[name] = next(p for p in write_cell_maps(tiles, own, folder, {}) if p.suffix == ".gpkg")
    return found, [of_name(name) for name in variables]


def of_name(name):
    return Variable(name=name, band=1, units="%")


def read(path):
    """Table, geometries, and what is said of these."""
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[b"geo"])
    assert (about["version"], about["primary_column"]) == ("1.1.0", "geometry")
    return table, shapely.from_wkb(table["geometry"].to_pylist()), about["columns"]["geometry"]


def test_geometries_and_values_are_those_of_the_packages(tmp_path, monkeypatch):
    monkeypatch.setattr(geoparquet, "TOGETHER", 4)  # several batches
    packages, variables = packages_of(tmp_path, [UTM33], ("cover", "height"))
    (path,) = write_geoparquet(packages, variables, tmp_path)
    table, shapes, about = read(path)

    assert path.name == "cells.parquet"
    assert about["encoding"] == "WKB"
    assert about["geometry_types"] == ["Polygon"]
    assert about["crs"]["id"] == {"authority": "EPSG", "code": 32633}
    names = np.array(table["variable"].to_pylist())
    assert set(table["model"].to_pylist()) == {""}
    for name, package in packages.items():
        info, _, wkb, columns = pyogrio.raw.read(package, layer=f"cells_{name}")
        assert shapely.equals(shapes[names == name], shapely.from_wkb(wkb)).all()
        for field, values in zip(info["fields"], columns, strict=True):
            own = np.array(table[field].to_pylist(), object)[names == name]
            assert [None if str(value) == "nan" else value for value in values] == list(own), field


def test_a_metric_that_a_variable_does_not_have_is_null(tmp_path):
    packages, variables = packages_of(tmp_path, [UTM33], ("cover", "height"))
    table, *_ = read(write_geoparquet(packages, variables, tmp_path)[0])
    values = zip(table["variable"].to_pylist(), table["coverage_90"].to_pylist(), strict=True)

    assert {(name, value is None) for name, value in values} == {("cover", False), ("height", True)}


def test_cells_of_several_crs_are_in_longitude_and_latitude(tmp_path):
    packages, variables = packages_of(tmp_path, [UTM33, UTM34])
    table, shapes, about = read(write_geoparquet(packages, variables, tmp_path)[0])

    assert "crs" not in about  # which means OGC:CRS84
    east = {}
    for tile, shape in zip(table["tile"].to_pylist(), shapes, strict=True):
        east.setdefault(tile, []).append(shape.centroid.x)
        assert shape.centroid.y == pytest.approx(63.1, abs=0.1)
    assert np.mean(east["t0"]) == pytest.approx(15, abs=0.1)
    assert np.mean(east["t1"]) == pytest.approx(21, abs=0.1)


def test_cells_without_a_crs_have_none(tmp_path):
    packages, variables = packages_of(tmp_path, [""])
    _, shapes, about = read(write_geoparquet(packages, variables, tmp_path)[0])

    assert about["crs"] is None
    assert min(shape.bounds[0] for shape in shapes) == 500_000


def test_without_pyarrow_the_file_of_an_earlier_run_goes(tmp_path, monkeypatch):
    packages, variables = packages_of(tmp_path, [UTM33])
    (path,) = write_geoparquet(packages, variables, tmp_path)
    monkeypatch.setattr(geoparquet, "find_spec", lambda name: None if name == "pyarrow" else name)

    assert write_geoparquet(packages, variables, tmp_path) == []
    assert not path.exists()
