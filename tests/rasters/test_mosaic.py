"""One mosaic cut into tiles: the same pixels as the whole, in parts."""

import csv
from pathlib import Path

import numpy as np
import pytest
import rasterio
import yaml

from geouq.config import load_experiment, to_yaml
from geouq.core.errors import ConfigError
from geouq.core.grid import Window
from geouq.rasters.catalog import find_tiles
from geouq.reading.stack import open_stack

SHAPE = (700, 900)
RNG = np.random.default_rng(0)
STD = RNG.uniform(1, 3, SHAPE).astype(np.float32)
MEAN = RNG.uniform(20, 40, SHAPE).astype(np.float32)
TRUTH = (MEAN + STD * RNG.standard_normal(SHAPE)).astype(np.float32)
TRUTH[:256, :256] = np.nan


@pytest.fixture
def folder(tmp_path, write_raster, monkeypatch):
    """A folder with a mosaic in blocks of 128 pixels, whose truth lacks the first square."""
    layout = {"tiled": True, "blockxsize": 128, "blockysize": 128}
    write_raster(tmp_path / "m.tif", np.stack([MEAN, STD]), interleave="pixel", **layout)
    write_raster(tmp_path / "y.tif", TRUTH, nodata=np.nan, sparse_ok=True, **layout)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def experiment(tiles=None, **more):
    data = {"mean": {"path": "m.tif", "band": 1}, "std": {"path": "m.tif", "band": 2}, "truth": "y.tif"}
    written = {"version": 1, "name": "country", "variables": ["v"], "data": data, "output": {"directory": "out"}}
    return load_experiment(written | ({} if tiles is None else {"tiles": tiles}) | more)


@pytest.mark.usefixtures("folder")
def test_squares_cover_the_mosaic_and_hold_its_pixels():
    whole = open_stack(experiment()).load(scheduler="synchronous")

    found = find_tiles(experiment({"grid": 256})).tiles

    assert [tile.name for tile in found] == [f"r{row}c{column}" for row in range(3) for column in range(4)]
    assert sum(tile.grid.pixels for tile in found) == whole["valid"].size
    for tile in found:
        part = open_stack(tile).load(scheduler="synchronous")
        own = whole.sel(x=part.x, y=part.y, method="nearest", tolerance=1e-6)
        for layer in ("mean", "variance", "truth", "valid"):
            read = slice(None) if layer in ("truth", "valid") or part["valid"].any() else slice(0)
            np.testing.assert_array_equal(part[layer][read], own[layer][read])


@pytest.mark.usefixtures("folder")
def test_a_run_of_squares_gives_the_numbers_of_the_whole(geouq):
    whole, squares = Path("whole.yaml"), Path("squares.yaml")
    whole.write_text(to_yaml(experiment(cell_size=32)), "utf-8")
    squares.write_text(to_yaml(experiment({"grid": 256}, cell_size=32, output={"directory": "parts"})), "utf-8")

    for config in (whole, squares):
        assert geouq("run", config).exit_code == 0

    one, other = (_of_all(f"{name}/tables/metrics.csv") for name in ("out", "parts"))
    assert one.keys() == other.keys()
    for key in one.keys() - set(BY_BLOCKS):
        value = one[key]
        assert other[key] == pytest.approx(value, rel=1e-12), key


BY_BLOCKS = [(name, bins, "") for name in ("ence_null", "ence_excess") for bins in ("equal-count-10", "equal-width-10")]


def _of_all(path):
    with Path(path).open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["level"] == "all" and row["value"]]
    return {(row["metric"], row["bins"], row["group"]): float(row["value"]) for row in rows}


@pytest.mark.usefixtures("folder")
def test_a_box_takes_the_squares_that_it_touches_and_keeps_their_names():
    (whole,) = find_tiles(experiment()).tiles
    t = whole.grid.transform
    left, top = t @ (300, 300)
    right, bottom = t @ (600, 512)

    found = find_tiles(experiment({"grid": 256, "bbox": [left, bottom, right, top]})).tiles

    assert [tile.name for tile in found] == ["r1c1", "r1c2"]
    assert [tile.grid.shape for tile in found] == [(212, 212), (212, 88)]
    assert found[0].truth.corner == (300, 300)


@pytest.mark.usefixtures("folder")
def test_regions_are_lists_of_squares():
    regions = {"north": ["r0c0", "r0c1"], "south": ["r2c0"]}

    assert experiment({"grid": 256}, regions=regions).tile_lists["north"] == ("r0c0", "r0c1")
    assert find_tiles(experiment({"grid": 256}, regions=regions)).tiles
    with pytest.raises(ConfigError, match="no layer has a file for tile 'r9c9'"):
        find_tiles(experiment({"grid": 256}, regions={"north": ["r9c9"]}))


@pytest.mark.usefixtures("folder")
def test_each_part_has_a_fingerprint_of_its_own():
    parts = find_tiles(experiment({"grid": 256})).tiles

    assert len({part.truth.fingerprint for part in parts}) == len(parts)


@pytest.mark.parametrize(
    ("tiles", "said"),
    [
        ({"grid": 100}, "tiles.grid: '100' is less than 256"),
        ({"gird": 512}, "tiles.gird: unknown key; did you mean 'grid'?"),
        ({"grid": 512, "bbox": [1, 2, 0, 3]}, "tiles.bbox: give left, bottom, right and top, in this order"),
        ({"grid": 512, "bbox": [1, 2, 3]}, "tiles.bbox: give left, bottom"),
    ],
)
def test_a_faulty_cut_is_told_with_its_key(tiles, said):
    with pytest.raises(ConfigError) as told:
        experiment(tiles)

    assert said in str(told.value)


def test_a_cut_needs_one_mosaic():
    files = {"mean": "{tile}_m.tif", "std": "{tile}_s.tif", "truth": "{tile}.tif"}
    with pytest.raises(ConfigError, match=r"tiles: one mosaic is cut, so paths have no \{tile\}"):
        load_experiment({"version": 1, "name": "x", "data": files, "tiles": {"grid": 512}})


@pytest.mark.usefixtures("folder")
def test_a_box_beside_the_mosaic_is_refused():
    with pytest.raises(ConfigError, match=r"tiles\.bbox: no pixel of the rasters lies in"):
        find_tiles(experiment({"grid": 256, "bbox": [-1e9, -1e9, -1e8, -1e8]}))


@pytest.mark.usefixtures("folder")
def test_a_cut_survives_being_written_and_read():
    first = experiment({"grid": 256, "bbox": [0, 0, 10, 10]})

    assert load_experiment(yaml.safe_load(to_yaml(first))) == first


@pytest.mark.usefixtures("folder")
def test_named_squares_alone_are_tiles():
    found = find_tiles(experiment({"grid": 256, "names": ["r1c0", "r0c2"]})).tiles

    assert [tile.name for tile in found] == ["r0c2", "r1c0"]
    with pytest.raises(ConfigError, match=r"tiles.*: no layer has a file for tile 'r0c9'"):
        find_tiles(experiment({"grid": 256, "names": ["r0c9"]}))


@pytest.mark.usefixtures("folder")
def test_a_run_of_some_squares_can_be_opened_again_from_its_folder(geouq):
    Path("squares.yaml").write_text(to_yaml(experiment({"grid": 256})), "utf-8")

    assert geouq("run", "squares.yaml", "--only", "r1c1", "--only", "r2c0").exit_code == 0

    again = find_tiles(load_experiment("out/config.yaml")).tiles
    assert [(tile.name, tile.truth.corner) for tile in again] == [("r1c1", (256, 256)), ("r2c0", (512, 0))]
    assert geouq("verify", "out").exit_code == 0


@pytest.mark.usefixtures("folder")
def test_squares_are_recalibrated_into_rasters_of_their_own(geouq):
    Path("squares.yaml").write_text(to_yaml(experiment({"grid": 256})), "utf-8")
    geouq("run", "squares.yaml")

    assert geouq("recalibrate", "out", "--method", "scale", "--apply", "all").exit_code == 0

    (whole,) = find_tiles(experiment()).tiles
    with rasterio.open("out/recalibration/rasters/r1c2_variance.tif") as source:
        assert source.transform == whole.grid.part(Window(256, 512, 256, 256)).transform
        assert source.shape == (256, 256)
    assert not Path("out/recalibration/evaluate.yaml").exists()
