"""Names that programs which read tables take for missing values."""

import io

import numpy as np
import pandas as pd
import pytest
from pandas._libs.parsers import STR_NA_VALUES

from geouq.config import PolygonRegions, load_experiment
from geouq.core.errors import ConfigError, DataError
from geouq.core.naming import MISSING
from geouq.rasters.catalog import find_tiles
from geouq.rasters.vector import read_polygons

GEOJSON = """{"type": "FeatureCollection", "features": [
{"type": "Feature", "properties": {"iso": "ZA"}, "geometry": {"type": "Polygon", "coordinates": [[[0,0],[1,0],[1,1],[0,0]]]}},
{"type": "Feature", "properties": {"iso": "NA"}, "geometry": {"type": "Polygon", "coordinates": [[[2,0],[3,0],[3,1],[2,0]]]}}
]}"""  # noqa: E501


def test_the_names_are_those_that_pandas_reads_as_missing():
    assert MISSING == STR_NA_VALUES
    read = pd.read_csv(io.StringIO("name\n" + "\n".join(f'"{name}"' for name in sorted(MISSING - {""}))))
    assert read["name"].isna().all()


@pytest.mark.parametrize("name", ["NA", "null", "nan", "None", "N/A"])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("regions:\n  west: [a1]\n  'NAME': [a2]\n", 9),
        ("regions:\n  cover: {classes: 'c_{tile}.tif', names: {1: wood, 2: 'NAME'}}\n", 8),
        ("regions: {west: [a1]}\nregions2: 0\n", None),
        ("variables: [height, 'NAME']\n", 7),
    ],
)
def test_a_name_that_tables_lose_is_refused_at_its_line(tile_folder, name, text, line):
    if line is None:
        text, line = "regions:\n  'NAME': {of: all, without: west}\n  west: [a1]\n", 8
    config = tile_folder(text=text.replace("NAME", name))

    with pytest.raises(ConfigError) as caught:
        load_experiment(config)

    assert f"experiment.yaml:{line}: " in str(caught.value)
    assert f"{name!r} is read as a missing value by pandas" in str(caught.value)


def test_a_tile_that_tables_lose_is_refused(tile_folder):
    with pytest.raises(ConfigError, match="rename the files: 'nan' is read as a missing value"):
        find_tiles(load_experiment(tile_folder(("a1", "nan"))))


def test_a_polygon_that_tables_lose_is_refused_with_file_and_feature(tmp_path):
    path = tmp_path / "countries.geojson"
    path.write_text(GEOJSON, encoding="utf-8")

    with pytest.raises(DataError, match=r"name: .*countries\.geojson: feature 2 is called 'NA'"):
        read_polygons(PolygonRegions(polygons=str(path), name="iso"))
    assert read_polygons(PolygonRegions(polygons=str(path), name="iso", where="iso <> 'NA'")).names == ("ZA",)


def test_n_of_the_metrics_and_pixels_of_the_zones_have_two_names(tile_folder, geouq, tmp_path, write_raster):
    text = "variables: [height]\noutput: {maps: none, figures: none}\nintervals: {resamples: 100}\n"
    config = tile_folder(("a1",), text=text + "regions: {c: {classes: 'c_{tile}.tif', names: {1: wood}}}\n")
    write_raster(tmp_path / "c_a1.tif", np.ones((40, 50), np.uint8))

    assert geouq("run", config, "--quiet").exit_code == 0

    metrics = pd.read_csv(tmp_path / "results/small/tables/metrics.csv").query("name == 'wood' and metric == 'bias'")
    zones = pd.read_csv(tmp_path / "results/small/tables/zones.csv")
    assert zones.columns.tolist() == ["name", "layer", "tiles", "n_pixels"]
    assert zones["n_pixels"].item() == 2000
    assert metrics["n"].item() < 2000
