"""What `geouq init` writes, says and refuses."""

import numpy as np
import published
import pytest
import yaml

from geouq.config import load_experiment
from geouq.core.errors import ConfigError
from geouq.rasters.catalog import find_tiles
from geouq.starting import starter_config, units_and_scales

SCALE = "the truth is about 0.1 times the stored values"


def written_for(layout, folder, monkeypatch, *sources):
    """Make a layout in a folder, which becomes the current one; the text of its configuration."""
    monkeypatch.chdir(folder)
    layout(folder)
    return starter_config(sources or ["."]).text


def lines_with_data(text):
    return [line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]


LAYOUTS = [
    *(published.biomass_tiles, published.global_grids, published.two_bands, published.tenths, published.percentiles),
    *(published.netcdf, published.archive, published.quantiles_in_tenths, published.member_files),
    published.class_probabilities,
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_a_configuration_has_at_most_ten_lines_and_a_reason_for_each_layer(tmp_path, monkeypatch, layout):
    lines = lines_with_data(written_for(layout, tmp_path, monkeypatch))

    assert len(lines) <= 10
    layers = [line for line in lines if line.startswith("  ") and any(end in line for end in (".tif", ".nc", ".h5"))]
    assert layers
    assert all("  # " in line for line in layers)


@pytest.mark.parametrize(
    ("layout", "line"),
    [
        (published.biomass_tiles, "std: 'agb/{tile}_ESACCI-L4-AGB_SD-MERGED-100m-2020-fv6.0.tif'  # named 'SD'"),
        (published.height_maps, "mean: 'eth/ETH_CanopyHeight_10m_2020_{tile}_Map.tif'  # named 'Map'"),
        (published.height_maps, "truth: 'reference/{tile}.tif'  # named 'reference'"),
        (published.folders_of_tiles, "mean: '{tile}/mean.tif'  # named 'mean'"),
        (published.two_bands, "std: 'boreal/agb_2020_{tile}.tif'  # band 2, described as 'sd'"),
        (published.two_bands, "AGB: {mean: 1, std: 2, truth: 1}"),
        (published.tenths, "scale: 0.1}  # named 'mean'; " + SCALE),
        (published.tenths, "scale: 0.1}  # named 'std'; as mean"),
        (published.percent_errors, "units: '%'}  # named 'CV' (relative std); values about "),
        (published.shares_as_std, "relative_std: 'nfi_{tile}_sd.tif'  # named 'sd'; its unit is per cent"),
        (published.percentiles, "level: 0.8  # between the quantiles 0.1 and 0.9"),
        (published.netcdf, "variable: agb_se}  # ancillary variable of agb, with the standard name"),
        (published.archive, "tiles: [N10W050, N10W060]  # tiles in an archive or on a server cannot be listed"),
        (published.vrts, "drivers: [GTiff, VRT]  # formats of the files; a VRT can name any file: read it only if you"),
        (published.quantiles_in_tenths, "0.5: {path: 'ocs_{tile}_Q0.5.tif', scale: 0.1}  # named 'Q0.5'; " + SCALE),
        (published.member_files, "members: 'pred/{tile}_member{member}.tif'  # 20 members, from 'member01' on"),
        (published.member_bands, "members: '{tile}_ensemble.tif'  # 20 bands of a file named 'ensemble'"),
        (published.class_probabilities, "probabilities: 'cover/{tile}_prob.tif'  # the 3 bands add up to 1"),
    ],
)  # fmt: skip
def test_each_guess_is_commented(tmp_path, monkeypatch, layout, line):
    text = written_for(layout, tmp_path, monkeypatch, *(["maps.zip"] if layout is published.archive else []))

    assert line in text


def test_guesses_are_printed_and_the_file_is_named(geouq, tmp_path):
    published.two_bands(tmp_path)

    done = geouq("init", "boreal", "field", "--out", "agb.yaml")

    assert done.stdout.splitlines() == [
        "layout      a band for each layer",
        "tiles       2, such as 0000004",
        "mean        boreal/agb_2020_{tile}.tif: band 1, described as 'mean'",
        "std         boreal/agb_2020_{tile}.tif: band 2, described as 'sd'",
        "truth       field/{tile}.tif: named like the tile",
        "variables   AGB",
        "wrote agb.yaml; geouq check agb.yaml",
    ]


def test_without_a_file_the_configuration_is_all_of_standard_output(geouq, tmp_path):
    published.two_bands(tmp_path)

    done = geouq("init", "boreal", "field")

    assert yaml.safe_load(done.stdout)["name"] == "boreal"
    assert done.stderr.startswith("layout      a band for each layer\n")


def test_a_file_is_not_overwritten_unless_that_is_said(geouq, tmp_path):
    published.two_bands(tmp_path)
    (tmp_path / "mine.yaml").write_text("precious", encoding="utf-8")

    refused = geouq("init", "boreal", "field", "--out", "mine.yaml")

    assert (refused.exit_code, (tmp_path / "mine.yaml").read_text(encoding="utf-8")) == (2, "precious")
    assert "mine.yaml exists; give --overwrite to replace it, or another name" in refused.stderr
    assert geouq("init", "boreal", "field", "--out", "mine.yaml", "--overwrite").exit_code == 0


def test_paths_are_relative_to_the_file(geouq, tmp_path):
    published.two_bands(tmp_path)
    (tmp_path / "configs").mkdir()

    geouq("init", "boreal", "field", "--out", "configs/agb.yaml")

    assert "truth: '../field/{tile}.tif'" in (tmp_path / "configs/agb.yaml").read_text(encoding="utf-8")
    assert geouq("check", "configs/agb.yaml").exit_code == 0


def test_a_missing_truth_is_refused_by_name_until_it_is_written(geouq, tmp_path):
    published.two_bands(tmp_path)
    config = tmp_path / "agb.yaml"

    done = geouq("init", "boreal", "--out", config)
    refused = geouq("check", config)

    assert "replace TODO of truth in it" in done.stdout
    assert refused.exit_code == 2
    assert refused.stderr == f"geouq: {config}:7: data.truth: replace TODO by the value\n"
    config.write_text(config.read_text().replace("truth: TODO", "truth: 'field/{tile}.tif'"), encoding="utf-8")
    assert geouq("check", config).exit_code == 0


def test_a_single_file_is_completed_by_those_in_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, layer in {"mean": published.mean, "std": published.std, "truth": published.truth}.items():
        published.each(tmp_path, "maps/{}_" + name + ".tif", layer)
    one = next(iter((tmp_path / "maps").glob("*_mean.tif")))

    found = starter_config([f"maps/{one.name}"])

    assert found.missing == ()
    assert yaml.safe_load(found.text)["data"] == {
        layer: "maps/{tile}_" + f"{layer}.tif" for layer in ("mean", "std", "truth")
    }
    assert any("files in the folder of" in line for line in found.said)


@pytest.mark.parametrize(
    ("names", "todo"),
    [
        (("{}_mean.tif",), ["std", "truth"]),
        (("{}_sd.tif", "{}_truth.tif"), ["mean"]),
        (("{}_mean.tif", "{}_lower.tif", "{}_upper.tif", "{}_ref.tif"), ["level"]),
        (("{}_pred.tif", "{}_als.tif"), ["std"]),
    ],
)
def test_what_is_missing_is_todo(tmp_path, monkeypatch, names, todo):
    monkeypatch.chdir(tmp_path)
    for name in names:
        published.each(tmp_path, name, published.mean)

    assert list(starter_config(["."]).missing) == todo


def test_a_large_file_is_cut_into_squares(tmp_path, monkeypatch):
    monkeypatch.setattr(units_and_scales, "LARGE", 90)

    text = written_for(published.global_grids, tmp_path, monkeypatch)

    assert "\ntiles: {grid: 4096}  # one file of 96 x 96 pixels, cut into squares\n" in text


def test_codes_of_classes_that_the_truth_does_not_show_are_todo(tmp_path, monkeypatch, write_raster):
    monkeypatch.chdir(tmp_path)
    published.class_probabilities(tmp_path)
    for path in (tmp_path / "cover_ref").iterdir():
        write_raster(path, np.full((1, 96, 96), 40, np.uint8))

    assert starter_config(["."]).missing == ("class_codes",)


def test_whole_numbers_without_a_truth_get_a_hint_and_no_scale(tmp_path, monkeypatch):
    text = written_for(published.tenths, tmp_path, monkeypatch, "soc_*.tif")

    assert "# named 'mean'; int16 without a scale: of tenths, add scale: 0.1" in text
    assert "path:" not in text


def test_whole_numbers_that_are_as_large_as_the_truth_get_no_hint(tmp_path, monkeypatch):
    text = written_for(published.biomass_tiles, tmp_path, monkeypatch)

    assert "AGB-MERGED-100m-2020-fv6.0.tif'  # named 'AGB'\n" in text


def test_each_step_of_an_array_with_time_is_a_tile_as_the_comment_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    published.netcdf(tmp_path, tiles=("a",), steps=3, with_truth=True)

    text = starter_config(["cci"]).text

    assert "variable: agb}  # has the ancillary variable agb_se; each of its 3 steps is a tile: choose some" in text
    assert "drivers" not in text
    assert len(find_tiles(load_experiment(yaml.safe_load(text))).tiles) == 3


def test_an_array_of_a_netcdf_file_is_the_truth_of_geotiffs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    published.two_bands(tmp_path)
    published.netcdf(tmp_path, tiles=("0000004", "0000005"), only="agb")

    starter = starter_config(["boreal", "cci"])

    assert (
        "truth: {path: 'cci/AGB-{tile}-2020.nc', variable: agb}  # named like the tile; its only array" in starter.text
    )


def test_a_thousand_tiles_are_recognised(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    published.two_bands(tmp_path)
    first = (tmp_path / "boreal/agb_2020_0000004.tif", tmp_path / "field/0000004.tif")
    for i in range(1000, 2000):
        for path, other in zip(first, (f"boreal/agb_2020_{i:07d}.tif", f"field/{i:07d}.tif"), strict=True):
            (tmp_path / other).symlink_to(path)

    assert "1002 tiles, such as 0000004" in starter_config(["boreal", "field"]).text


def test_a_bias_is_no_scale(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    published.each(tmp_path, "{}_mean.tif", published.mean, kind=np.int16, factor=3)
    published.each(tmp_path, "{}_std.tif", published.std, kind=np.int16, factor=3)
    published.each(tmp_path, "{}_truth.tif", published.truth)

    assert "scale: 0.1}" not in starter_config(["."]).text


@pytest.mark.parametrize("source", ["soc_*_*.tif", "soc_{tile}_mean.tif", "./"])
def test_patterns_folders_and_tiles_name_the_same_files(tmp_path, monkeypatch, source):
    text = written_for(published.tenths, tmp_path, monkeypatch, source, "soc_*_std.tif", "profiles")

    assert "truth: 'profiles/obs_{tile}.tif'" in text


def test_results_of_runs_and_hidden_files_are_no_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    published.two_bands(tmp_path)
    published.each(tmp_path, "results/x/maps/{}_mean.tif", published.mean)
    published.each(tmp_path, "results/x/maps/{}_std.tif", published.std)
    (tmp_path / "results/x/run.json").write_text("{}", encoding="utf-8")
    published.each(tmp_path, ".cache/{}_mean.tif", published.mean)

    assert starter_config(["."]).text == starter_config(["boreal", "field"]).text.replace(
        "name: boreal", f"name: {tmp_path.name}"
    )


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nowhere", "there is no folder or file nowhere"),
        ("broken.zip", "broken.zip cannot be read: File is not a zip file"),
        ("no_*.tif", r"no_\*.tif holds no raster"),
        ("broken.nc", "broken.nc cannot be read: "),
        ("names.nc", "names.nc: attributes and names of its arrays do not say which is a mean"),
    ],
)
def test_a_source_that_is_no_map_is_named(tmp_path, monkeypatch, source, said):
    monkeypatch.chdir(tmp_path)
    for name in ("broken.zip", "broken.nc"):
        (tmp_path / name).write_bytes(b"no such thing")
    published.netcdf(tmp_path, tiles=("a",))
    (tmp_path / "cci/AGB-a-2020.nc").rename(tmp_path / "names.nc")
    if source == "names.nc":
        monkeypatch.setattr("geouq.starting.layers_as_arrays._by_attributes", lambda _: {})
        monkeypatch.setattr("geouq.starting.layers_as_arrays._by_names", lambda _: {})

    with pytest.raises(ConfigError, match=said):
        starter_config([source])


def test_a_file_of_something_else_is_not_the_truth(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, layer in {"mean": published.mean, "std": published.std, "slope": published.truth}.items():
        published.each(tmp_path, "{}_" + name + ".tif", layer)

    found = starter_config(["."])

    assert found.missing == ("truth",)


def test_the_std_comes_before_the_standard_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, layer in {"mean": published.mean, "se": published.std, "std": published.std}.items():
        published.each(tmp_path, "{}_" + name + ".tif", layer)

    assert yaml.safe_load(starter_config(["."]).text)["data"]["std"] == "{tile}_std.tif"


def test_a_prediction_without_a_spread_is_completed_by_hand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    published.each(tmp_path, "agb_mean.tif", published.mean, tiles=("agb",))
    published.each(tmp_path, "truth/plots.tif", published.truth, tiles=("plots",))

    data = yaml.safe_load(starter_config(["."]).text)["data"]

    assert data == {"mean": "agb_mean.tif", "std": "TODO", "truth": "truth/plots.tif"}


@pytest.mark.parametrize(("factor", "units"), [(100, "%"), (1, "1"), (0.02, "1")])
def test_errors_tell_whether_a_relative_std_is_in_per_cent(tmp_path, monkeypatch, factor, units):
    """Of a small share, as of temperatures in kelvins, per cent are small numbers too."""
    monkeypatch.chdir(tmp_path)
    small = min(1, factor)
    layers = {
        "mean": published.mean,
        "cv": lambda own: factor * own.std / own.mean,
        "truth": lambda own: own.mean + small * (own.truth - own.mean),
    }
    for name, layer in layers.items():
        published.each(tmp_path, "{}_" + name + ".tif", layer)

    assert yaml.safe_load(starter_config(["."]).text)["data"]["relative_std"]["units"] == units


def test_a_small_relative_std_in_per_cent_is_known_by_the_errors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    layers = {
        "mean": published.mean,
        "cv": lambda own: 2 * own.std / own.mean,
        "truth": lambda own: own.mean + 0.02 * (own.truth - own.mean),
    }
    for name, layer in layers.items():
        published.each(tmp_path, "{}_" + name + ".tif", layer)

    assert yaml.safe_load(starter_config(["."]).text)["data"]["relative_std"]["units"] == "%"


def test_a_larger_truth_gives_a_hint_and_no_scale(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, layer in {"mean": published.mean, "std": published.std}.items():
        published.each(tmp_path, "{}_" + name + ".tif", layer, kind=np.int16)
    published.each(tmp_path, "{}_truth.tif", published.truth, factor=100)

    text = starter_config(["."]).text

    assert "the truth is about 100 times as large: write its unit, or a scale" in text
    assert "scale:" not in text


def test_shares_that_add_up_are_no_classes_if_the_truth_has_no_codes(tmp_path, monkeypatch, write_raster):
    monkeypatch.chdir(tmp_path)
    sand = np.random.default_rng(0).uniform(20, 40, published.SHAPE)
    soil = np.stack([sand, 60 - sand, np.full(published.SHAPE, 40.0)]).astype(np.float32)
    write_raster(tmp_path / "soil.tif", soil, names=("sand", "silt", "clay"))
    write_raster(tmp_path / "truth" / "soil.tif", soil + 0.5, names=("sand", "silt", "clay"))

    with pytest.raises(ConfigError, match="the truth holds no codes of classes"):
        starter_config(["soil.tif", "truth"])


def test_tiles_on_the_same_pixels_may_be_variables(tmp_path, monkeypatch, write_raster):
    monkeypatch.chdir(tmp_path)
    for name in ("agb", "height"):
        for layer in ("mean", "sd"):
            write_raster(tmp_path / f"{name}_{layer}.tif", np.ones((8, 8), np.float32))

    assert "tiles agb and height lie on the same pixels: if these are variables" in starter_config(["."]).text
