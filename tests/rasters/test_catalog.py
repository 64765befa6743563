"""Which files make which tile."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import rasterio
from affine import Affine
from hypothesis import given, settings
from hypothesis import strategies as st
from rasterio.enums import ColorInterp

from geouq.config import load_experiment
from geouq.core.errors import ConfigError
from geouq.core.failures import Failure
from geouq.rasters import catalog as catalog_of_rasters
from geouq.rasters.catalog import find_tiles
from geouq.rasters.tile_names import longer, match_names


def tiles_of(config):
    return find_tiles(load_experiment(config))


def test_all_finds_every_tile_in_natural_order(tile_folder):
    catalog = tiles_of(tile_folder(("t10", "t9", "t1")))

    assert [tile.name for tile in catalog.tiles] == ["t1", "t9", "t10"]
    assert [variable.name for variable in catalog.variables] == ["height", "cover", "gini"]
    assert [variable.units for variable in catalog.variables] == ["m", "%", "1"]
    assert not catalog.failures
    assert not catalog.notes


def test_names_that_look_like_numbers_stay_text(tile_folder):
    config = tile_folder(("0346", "1e3", "no"), text="tiles: [0346, 1e3, no]\nregions: {a: [no, 0346]}\n")

    assert [tile.name for tile in tiles_of(config).tiles] == ["0346", "1e3", "no"]


@pytest.mark.parametrize("missing", ["predictions/a2_variance.tif", "truth/a2.tif", "predictions/a2_mean.tif"])
def test_a_missing_layer_is_a_failure_that_names_the_file(tile_folder, tmp_path, missing):
    config = tile_folder()
    (tmp_path / missing).unlink()

    catalog = tiles_of(config)

    assert [tile.name for tile in catalog.tiles] == ["a1", "b1"]
    (failure,) = catalog.failures
    assert (failure.tile, failure.stage) == ("a2", "catalog")
    assert missing in failure.message


def test_truth_without_any_prediction_is_a_note(tile_folder, tmp_path):
    config = tile_folder()
    (tmp_path / "truth" / "a1.tif").rename(tmp_path / "truth" / "far.tif")
    for layer in ("mean", "variance"):
        (tmp_path / "predictions" / f"a1_{layer}.tif").unlink()

    catalog = tiles_of(config)

    assert not catalog.failures
    assert "1 truth files have no prediction" in catalog.notes[0]
    assert "far" in catalog.notes[0]


SERVER = "https://example.org/maps"


def test_predictions_on_a_server_need_the_names_of_the_tiles(tile_folder, geouq):
    config = tile_folder(("a1",))
    config.write_text(config.read_text().replace("predictions/", f"{SERVER}/"))

    for command in ("check", "run"):
        done = geouq(command, config)
        assert done.exit_code == 2
        assert "experiment.yaml:4: data.mean: names of tiles cannot be listed on a web server" in done.stderr
        assert "tiles: [t1, t2]" in done.stderr


def test_truth_on_a_server_takes_the_tiles_of_the_predictions(tile_folder):
    config = tile_folder(("a1", "b1"))
    config.write_text(config.read_text().replace("truth/{tile}", "/vsizip/truth.zip/{tile}"))

    assert [failure.tile for failure in tiles_of(config).failures] == ["a1", "b1"]


def test_tiles_whose_names_begin_with_a_dot_are_reported_and_evaluated_only_by_name(tile_folder):
    config = tile_folder(("a1", ".a1", "._b"))

    found = tiles_of(config)
    assert [tile.name for tile in found.tiles] == ["a1"]
    assert found.notes == (
        "tiles whose names begin with a dot are left out: 2 (._b, .a1); list the tiles in `tiles` to evaluate them",
    )
    config.write_text(config.read_text() + "tiles: [a1, .a1]\n")
    assert [tile.name for tile in tiles_of(config).tiles] == ["a1", ".a1"]


def test_files_that_are_all_hidden_are_no_run_without_tiles(tile_folder):
    with pytest.raises(ConfigError, match=r"there is no tile to evaluate; tiles whose names begin with a dot"):
        tiles_of(tile_folder((".a1", "._b")))


def test_all_layers_in_one_folder_are_told_apart(tmp_path, tile_folder):
    """With truth {tile}.tif, a file e1_mean.tif is no truth of a tile e1_mean."""
    config = tile_folder(("e1", "e2"))
    for path in [*(tmp_path / "predictions").iterdir(), *(tmp_path / "truth").iterdir()]:
        path.rename(tmp_path / path.name)
    (tmp_path / "e1_members.tif").write_bytes(b"another file of the tile")
    config.write_text(config.read_text().replace("predictions/", "./").replace("truth/", "./"))

    catalog = tiles_of(config)

    assert [tile.name for tile in catalog.tiles] == ["e1", "e2"]
    assert not catalog.failures
    assert not catalog.notes


def test_a_tile_may_be_a_folder(tmp_path):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}_mean.tif").touch()
    (tmp_path / "y" / "x_mean.tif").touch()

    assert match_names(f"{tmp_path}/{{tile}}/{{tile}}_mean.tif") == {"x", "y"}


def test_a_file_belongs_to_the_pattern_that_says_most(tmp_path):
    for name in ("a.tif", "a_var.tif"):
        (tmp_path / name).touch()
    patterns = {"mean": f"{tmp_path}/{{tile}}.tif", "variance": f"{tmp_path}/{{tile}}_var.tif"}

    assert match_names(patterns["mean"], longer(patterns.values(), patterns["mean"])) == {"a"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tiles: [a1, A2]\n", "experiment.yaml:7: tiles.1: no layer has a file for tile 'A2'; did you mean 'a2'?"),
        ("regions: {west: [b1, c9]}\n", "regions.west.1: no layer has a file for tile 'c9'"),
    ],
)
def test_an_unknown_tile_is_named_with_its_line(tile_folder, text, said):
    with pytest.raises(ConfigError) as caught:
        tiles_of(tile_folder(text=text))

    assert said in str(caught.value)


def test_patterns_that_match_nothing_are_all_named(tile_folder):
    config = tile_folder()
    config.write_text(config.read_text().replace("truth/{tile}", "truht/{tile}").replace("_mean.tif", "_mu.tif"))

    with pytest.raises(ConfigError) as caught:
        tiles_of(config)

    message = str(caught.value)
    assert "experiment.yaml:4: data.mean: no file matches" in message
    assert "a1_mean.tif" in message
    assert "experiment.yaml:6: data.truth" in message
    assert "there is no folder" in message


@pytest.mark.parametrize("content", [b"", b"no raster at all", b"II*\0" + bytes(50)])
def test_what_is_no_raster_fails_alone(tile_folder, tmp_path, content):
    config = tile_folder()
    (tmp_path / "truth" / "a2.tif").write_bytes(content)

    catalog = tiles_of(config)

    assert [tile.name for tile in catalog.tiles] == ["a1", "b1"]
    (failure,) = catalog.failures
    assert failure.stage == "header"
    assert "a2.tif cannot be read" in failure.message


def test_too_few_bands_and_complex_numbers_fail_alone(tile_folder, tmp_path, write_raster):
    config = tile_folder()
    write_raster(tmp_path / "predictions/a1_variance.tif", np.ones((2, 40, 50), np.float32))
    write_raster(tmp_path / "predictions/a2_variance.tif", np.ones((3, 40, 50), np.complex64))

    messages = {failure.tile: failure.message for failure in tiles_of(config).failures}

    assert "has 2 bands, but gini is band 3 of the variance" in messages["a1"]
    assert "complex" in messages["a2"]


def test_another_grid_fails_alone_and_shows_the_shift(tile_folder, tmp_path, write_raster):
    config = tile_folder()
    write_raster(tmp_path / "truth/a1.tif", np.ones((3, 40, 50), np.float32), crs="EPSG:32634")
    write_raster(tmp_path / "truth/a2.tif", np.ones((3, 40, 50), np.float32))

    messages = {failure.tile: failure.message for failure in tiles_of(config).failures}

    assert "EPSG:32634" in messages["a1"]
    assert "shifted by -50 columns and +0 rows" in messages["a2"]


def test_no_pixel_is_read(tile_folder, tmp_path):
    """Headers alone are enough: pixels that are cut off are not missed."""
    config = tile_folder()
    path = tmp_path / "predictions" / "a1_mean.tif"
    content = path.read_bytes()
    path.write_bytes(content[:8] + content[8:].replace(content[400:24000], b"\0" * 23600))

    assert len(tiles_of(config).tiles) == 3


def test_bands_that_describe_other_variables_fail_alone(tile_folder, tmp_path, write_raster):
    config = tile_folder()
    write_raster(
        tmp_path / "predictions/b1_mean.tif",
        np.ones((3, 40, 50), np.float32),
        names=["height", "gini", "cover"],
        transform=tiles_of(config).tiles[2].grid.transform,
    )

    (failure,) = tiles_of(config).failures

    assert failure.tile == "b1"
    assert "1 height, 2 gini, 3 cover" in failure.message


@pytest.mark.parametrize("workers", [1, 2])
def test_no_more_headers_are_read_at_a_time_than_there_are_workers(tile_folder, monkeypatch, workers):
    under_way, most, together = [], [], Barrier(workers)

    def opened(name, *_):
        under_way.append(name)
        together.wait(timeout=60)  # for as many as may be read at a time
        most.append(len(under_way))
        together.wait(timeout=60)
        under_way.remove(name)
        return Failure(name, "catalog", "Error", "none")

    monkeypatch.setattr(catalog_of_rasters, "_open_tile", opened)
    config = tile_folder(tuple(f"t{number}" for number in range(8)))

    assert len(find_tiles(load_experiment(config), workers).failures) == 8
    assert max(most) == workers


@pytest.mark.parametrize("text", ["", "variables: [height, cover, gini]\n"])
def test_all_tiles_share_their_variables(tile_folder, text):
    first, *others = tiles_of(tile_folder(text=text)).tiles

    assert others
    assert all(tile.variables is first.variables for tile in others)


def test_bands_of_one_name_are_all_variables_and_alpha_is_none(tile_folder, tmp_path, write_raster):
    config = tile_folder(("a1",))
    config.write_text(config.read_text() + "band_descriptions: ignore\n")
    path = tmp_path / "predictions" / "a1_mean.tif"
    write_raster(path, np.ones((3, 40, 50), np.float32), names=["height", "height", "visible"])
    with rasterio.open(path, "r+") as target:
        target.colorinterp = [ColorInterp.gray, ColorInterp.gray, ColorInterp.alpha]

    (tile,) = tiles_of(config).tiles

    assert [(variable.name, variable.band) for variable in tile.variables] == [("band_1", 1), ("band_2", 2)]


@pytest.mark.parametrize("bands", [1, 3])
def test_a_mask_has_a_band_for_all_or_one_each(tile_folder, tmp_path, write_raster, bands):
    config = tile_folder(("a1",))
    config.write_text(config.read_text() + "  mask: masks/{tile}.tif\n")
    write_raster(tmp_path / "masks" / "a1.tif", np.ones((bands, 40, 50), np.uint8))

    assert len(tiles_of(config).tiles) == 1


def test_a_mask_with_too_few_bands_or_on_another_grid_fails_alone(tile_folder, tmp_path, write_raster):
    config = tile_folder(("a1", "a2", "a3"))
    config.write_text(config.read_text() + "  mask: masks/{tile}.tif\n")
    write_raster(tmp_path / "masks" / "a1.tif", np.ones((2, 40, 50), np.uint8))
    write_raster(tmp_path / "masks" / "a2.tif", np.ones((1, 40, 51), np.uint8))

    messages = {failure.tile: failure.message for failure in tiles_of(config).failures}

    assert "masks/a1.tif has 2 bands, but gini is band 3 of the mask" in messages["a1"]
    assert "it has 40 x 51 pixels, not 40 x 50" in messages["a2"]
    assert "there is no file" in messages["a3"]
    assert "masks/a3.tif" in messages["a3"]


def with_weights(config, weights):
    config.write_text(f"{config.read_text()}  weights: {weights}\n")
    return config


@pytest.mark.parametrize("bands", [1, 3])
def test_weights_have_a_band_for_all_or_one_each_and_are_a_layer(tile_folder, tmp_path, write_raster, bands):
    config = with_weights(tile_folder(("a1",)), "weights/{tile}.tif")
    path = write_raster(tmp_path / "weights" / "a1.tif", np.ones((bands, 40, 50), np.float32))

    (tile,) = tiles_of(config).tiles

    assert list(tile.rasters) == ["mean", "variance", "truth", "weights"]
    assert tile.rasters["weights"].path == str(path)
    assert tile.weighted
    assert not tile.area_weighted


def test_unfit_weights_fail_alone(tile_folder, tmp_path, write_raster):
    config = tile_folder(("a1", "a2", "a3", "a4"))
    place = tiles_of(config).tiles[3].grid.transform
    with_weights(config, "weights/{tile}.tif")
    write_raster(tmp_path / "weights" / "a1.tif", np.ones((2, 40, 50), np.float32))
    write_raster(tmp_path / "weights" / "a2.tif", np.ones((1, 40, 51), np.float32))
    write_raster(tmp_path / "weights" / "a4.tif", np.ones((1, 40, 50), np.complex64), transform=place)

    catalog = tiles_of(config)
    messages = {failure.tile: failure.message for failure in catalog.failures}

    assert not catalog.tiles
    assert "weights/a1.tif has 2 bands, but gini is band 3 of the weights" in messages["a1"]
    assert "it has 40 x 51 pixels, not 40 x 50" in messages["a2"]
    assert "weights/a3.tif" in messages["a3"]
    assert "weights/a4.tif: band 1 holds complex numbers" in messages["a4"]


def test_area_is_no_file_and_the_grid_tells_it(tile_folder):
    config = tile_folder()
    plain = tiles_of(config).tiles
    by_area = tiles_of(with_weights(config, "area"))

    assert not by_area.failures
    assert all(tile.area_weighted and tile.weighted for tile in by_area.tiles)
    assert not any(tile.weighted for tile in plain)
    fingerprints = [
        [(layer, raster.fingerprint) for tile in tiles for layer, raster in tile.rasters.items()]
        for tiles in (by_area.tiles, plain)
    ]
    assert fingerprints[0] == fingerprints[1]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"crs": None}, "no CRS gives the size of a pixel"),
        ({"crs": "EPSG:4326"}, "row 0 lies beyond a pole"),
        ({"crs": "EPSG:4326", "transform": Affine.rotation(30)}, "rows do not run along parallels"),
    ],
)
def test_a_tile_without_known_areas_fails_alone(tile_folder, tmp_path, write_raster, header, said):
    config = with_weights(tile_folder(), "area")
    for path in ("predictions/a1_mean.tif", "predictions/a1_variance.tif", "truth/a1.tif"):
        write_raster(tmp_path / path, np.ones((3, 40, 50), np.float32), names=["height", "cover", "gini"], **header)

    catalog = tiles_of(config)

    assert [tile.name for tile in catalog.tiles] == ["a2", "b1"]
    (failure,) = catalog.failures
    assert (failure.tile, failure.stage, failure.error) == ("a1", "header", "DataError")
    assert failure.message.startswith(f"{tmp_path}/predictions/a1_mean.tif: {said}")


def test_a_turned_and_shifted_truth_fails_alone(tile_folder, tmp_path, write_raster):
    config = tile_folder()
    for path in ("predictions/a1_mean.tif", "truth/a1.tif"):
        place = Affine(0, 10, 0, 10, 0, 0) if path.startswith("p") else Affine(0, 0, 1, 0, 0, 1)
        write_raster(tmp_path / path, np.ones((3, 40, 50), np.float32), transform=place)

    catalog = tiles_of(config)

    assert [tile.name for tile in catalog.tiles] == ["a2", "b1"]
    assert catalog.failures[0].error == "GridError"


@settings(max_examples=60, deadline=None)
@given(names=st.sets(st.from_regex(r"[\w .+-]{1,8}", fullmatch=True), max_size=5))
def test_any_name_is_found_again(tmp_path_factory, names):
    """What a file is called after its tile, its tile is called after it; names with a dot in front are hidden files."""
    kept = {name for name in names if not name.startswith(".")}
    folder = tmp_path_factory.mktemp("names")
    for name in kept:
        (folder / f"{name}_mean.tif").touch()

    assert match_names(f"{folder}/{{tile}}_mean.tif") == kept


def test_folders_with_signs_of_patterns_are_taken_literally(tmp_path):
    folder = tmp_path / "[ab]*?"
    folder.mkdir()
    (folder / "x.tif").touch()
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "y.tif").touch()

    assert match_names(f"{folder}/{{tile}}.tif") == {"x"}


def test_patterns_and_tiles_are_told_at_once(tile_folder):
    config = tile_folder(text="regions: {west: [a1, c9]}\n")
    config.write_text(config.read_text().replace("truth/{tile}", "truht/{tile}"))

    with pytest.raises(ConfigError) as caught:
        tiles_of(config)

    assert "data.truth: no file matches" in str(caught.value)
    assert "regions.west.1: no layer has a file for tile 'c9'" in str(caught.value)


@pytest.mark.parametrize(("tiles", "threads"), [(2, 1), (11, 2), (200, 8)])
def test_few_local_files_are_read_by_few_threads(tile_folder, monkeypatch, tiles, threads):
    asked = []

    class Counted(ThreadPoolExecutor):
        def __init__(self, count, **options):
            asked.append(count)
            super().__init__(count, **options)

    monkeypatch.setattr(catalog_of_rasters, "ThreadPoolExecutor", Counted)
    config = tile_folder([f"t{i}" for i in range(tiles)])

    assert len(tiles_of(config).tiles) == tiles
    assert asked == [threads]
