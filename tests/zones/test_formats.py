"""Which vector files are opened at all."""

import json
import os
import shutil
from pathlib import Path

import pytest
from faulty.servers import serving
from vectors import feature, geojson, polygons_of, square

from geouq.core.errors import DataError

OTHER = "it is no GPKG or GeoJSON or ESRI Shapefile or FlatGeobuf file; `drivers` there names the formats"


@pytest.fixture
def source(tmp_path):
    return geojson(tmp_path / "x.geojson", feature("a", square(0, 0, 1)))


def vrt_of(path, source):
    path.write_text(
        f'<OGRVRTDataSource><OGRVRTLayer name="x"><SrcDataSource>{source}</SrcDataSource></OGRVRTLayer>'
        "</OGRVRTDataSource>",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("name", ["x.vrt", "disguised.geojson", "disguised.gpkg"])
def test_a_vrt_of_polygons_is_read_only_where_it_is_asked_for_whatever_its_name(tmp_path, source, name):
    path = vrt_of(tmp_path / name, source)

    with pytest.raises(DataError, match=OTHER):
        polygons_of(path)
    if name == "x.vrt":
        assert polygons_of(path, drivers=["OGR_VRT"]).names == ("a",)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.geojson")

    with pytest.raises(DataError, match=r"^polygons: .*x\.geojson cannot be read: it is a pipe, a device or a socket"):
        polygons_of(tmp_path / "x.geojson")


def test_nothing_that_a_refused_file_refers_to_is_opened(tmp_path):
    with serving(tmp_path) as (address, asked):
        with pytest.raises(DataError, match=OTHER):
            polygons_of(vrt_of(tmp_path / "x.geojson", f"/vsicurl/{address}/secret.geojson"))
        assert asked == []


def test_json_of_another_format_is_refused(tmp_path):
    topology = {"type": "Topology", "objects": {"x": {"type": "GeometryCollection", "geometries": []}}, "arcs": []}
    (tmp_path / "x.geojson").write_text(json.dumps(topology), encoding="utf-8")

    with pytest.raises(DataError, match=r"x\.geojson cannot be read|" + OTHER):
        polygons_of(tmp_path / "x.geojson")


def test_blanks_and_a_mark_of_the_encoding_may_come_first(source):
    source.write_text("\ufeff \n\t" + source.read_text(encoding="utf-8"), encoding="utf-8")

    assert polygons_of(source).names == ("a",)


def test_a_zipped_shapefile_is_one_still(tmp_path):
    pyogrio = pytest.importorskip("pyogrio")
    import numpy as np
    import shapely

    folder = tmp_path / "shape"
    folder.mkdir()
    pyogrio.raw.write(
        folder / "x.shp", shapely.to_wkb([shapely.box(0, 0, 1, 1)]), [np.array(["a"], object)], ["NAME"],
        geometry_type="Polygon", crs="EPSG:4326", driver="ESRI Shapefile",
    )  # fmt: skip
    path = Path(shutil.make_archive(str(tmp_path / "x.shp"), "zip", folder))

    assert polygons_of(path).names == ("a",)
    assert polygons_of(f"/vsizip/{path}").names == ("a",)


def test_a_format_that_was_not_asked_for_is_refused(source):
    with pytest.raises(DataError, match="it is no GPKG file"):
        polygons_of(source, drivers=["GPKG"])
