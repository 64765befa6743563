"""Names of files and descriptions of bands: the configuration that `geouq init` writes finds the tiles."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geouq.config import load_experiment
from geouq.core.errors import ConfigError
from geouq.core.naming import reads_as_missing
from geouq.rasters.catalog import find_tiles
from geouq.starting import starter_config

ONE = np.ones((1, 4, 4), np.float32)


@pytest.fixture
def rasters(tmp_path, write_raster, monkeypatch):
    """Write rasters by name below the test's folder, which becomes the current one."""
    monkeypatch.chdir(tmp_path)

    def write(*names, **header):
        for name in names:
            write_raster(tmp_path / name, ONE, **header)
        return tmp_path

    return write


def text_for(*sources, folder=None):
    return starter_config([str(source) for source in sources], folder).text


def started(folder, predictions, truth):
    """The tiles that the written configuration finds."""
    config = folder / "started.yaml"
    config.write_text(text_for(predictions, truth, folder=folder), encoding="utf-8")
    return find_tiles(load_experiment(config))


@pytest.mark.parametrize(
    ("mean", "spread", "truth"),
    [
        ("p/{}_mean.tif", "p/{}_variance.tif", "t/{}.tif"),
        ("p/{}-mu.tif", "p/{}-std.tif", "t/{}_truth.tif"),
        ("p/{}.pred.TIF", "p/{}.sigma.TIF", "t/{}.tiff"),
        ("p/{}_mean.tif", "p/{}_var.tif", "p/{}.tif"),
    ],
)
def test_usual_names_are_understood(rasters, mean, spread, truth):
    folder = rasters(*(pattern.format(tile) for tile in ("e1", "e2", "e10") for pattern in (mean, spread, truth)))

    catalog = started(folder, *(folder.joinpath(path).parent.relative_to(folder) for path in (mean, truth)))

    assert [tile.name for tile in catalog.tiles] == ["e1", "e2", "e10"]
    assert (catalog.tiles[0].predictions[""].spread == "std") == ("std" in spread or "sigma" in spread)
    assert not catalog.failures


def test_other_files_of_a_tile_are_not_its_truth(rasters):
    names = ("e1_mean.tif", "e1_variance.tif", "e1.tif", "e1_members.tif", "e2_mean.tif", "e2_variance.tif", "e2.tif")
    folder = rasters(*names, "e2_members.tif", "e1_quality.tif")

    assert started(folder, folder, folder).tiles[0].truth.path.endswith("e1.tif")


def test_variance_is_preferred_to_std(rasters):
    folder = rasters("p/a_mean.tif", "p/a_variance.tif", "p/a_std.tif", "t/a.tif")

    assert started(folder, folder / "p", folder / "t").tiles[0].predictions[""].spread == "variance"


def test_an_absolute_folder_elsewhere_is_found_from_anywhere(rasters, tmp_path_factory):
    folder = rasters("p/a_mean.tif", "p/a_variance.tif", "t/a.tif")
    elsewhere = tmp_path_factory.mktemp("elsewhere")

    assert len(started(elsewhere, folder / "p", folder / "t").tiles) == 1


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(name=st.text(min_size=1, max_size=12), units=st.text(max_size=8))
def test_whatever_bands_are_called_the_configuration_loads(rasters, write_raster, name, units):
    """Descriptions such as `no`, `1e3`, `a: b` or `#x` stay what they are."""
    plain = "".join(c for c in name + units if c.isprintable() and c not in "\0<>&\"'" and ord(c) < 0xD800)
    shown, unit = plain[: len(name)].strip(), plain[len(name) :].strip()
    folder = rasters("p/a_variance.tif", "t/a.tif")
    write_raster(folder / "p/a_mean.tif", ONE, names=[shown], units=[unit])

    (variable,) = started(folder, folder / "p", folder / "t").variables

    assert (variable.name, variable.units) == ("band_1" if reads_as_missing(shown) else shown, unit)


def test_a_description_that_reads_as_missing_is_no_name(rasters):
    folder = rasters("p/a_mean.tif", "p/a_variance.tif", "t/a.tif", names=["NULL"])

    (variable,) = started(folder, folder / "p", folder / "t").variables

    assert (variable.name, variable.band) == ("band_1", 1)


@pytest.mark.parametrize("name", ["no", "1e3", "0346", "a: b", "#x", "[1]", "{tile}", "'", '"', "~", "Ö %"])
def test_names_that_yaml_would_read_otherwise_stay_text(rasters, name):
    folder = rasters("p/a_mean.tif", "p/a_variance.tif", "t/a.tif", names=[name])

    (variable,) = started(folder, folder / "p", folder / "t").variables

    assert variable.name == name


@pytest.mark.parametrize(
    ("predicted", "true", "comment"),
    [
        (["height"], "height", ""),
        (["height"], "Height (m)", ""),
        (["height"], "", ""),
        (["height"], "age", "the only band of the truth is described as age: check that it is the truth of height"),
        (["height", "age"], "age", "the truth has one band (age): keep its variable alone, and add truth: 1"),
    ],
)
def test_a_comment_asks_to_check_a_single_band_of_another_name(tmp_path, write_raster, predicted, true, comment):
    for path in ("p/a_mean.tif", "p/a_std.tif"):
        write_raster(tmp_path / path, np.repeat(ONE, len(predicted), axis=0), names=predicted)
    write_raster(tmp_path / "t/a.tif", ONE, names=[true])

    (line,) = (line for line in text_for(tmp_path / "p", tmp_path / "t").splitlines() if line.startswith("variables:"))

    assert line == (f"variables:  # {comment}" if comment else "variables:")


def test_bands_of_one_name_all_become_variables(tmp_path, write_raster):
    for path in ("p/a_mean.tif", "p/a_std.tif", "t/a.tif"):
        write_raster(tmp_path / path, np.repeat(ONE, 2, axis=0), names=["height", "height"])

    assert [variable.name for variable in started(tmp_path, tmp_path / "p", tmp_path / "t").variables] == [
        "band_1",
        "band_2",
    ]


def settled(folder, tile=0):
    """The bands of each variable in the layers that the written configuration finds, by their keys."""
    catalog = started(folder, folder / "p", folder / "t")
    assert not catalog.failures
    found = catalog.tiles[tile]
    return {variable.name: found.bands_of(variable) for variable in found.variables}


def stacked(folder, write_raster, names, truth=("",), *, tiles=("a", "b"), ending=""):
    """Write files whose bands have these descriptions, and truth."""
    for i, tile in enumerate(tiles):
        write_raster(folder / f"p/{tile}{ending}.tif", np.repeat(ONE, len(names), 0) + i, names=names)
        write_raster(folder / f"t/{tile}.tif", np.repeat(ONE, len(truth), 0) + i, names=truth)


@pytest.mark.parametrize("ending", ["", "_pred", "_stack"])
@pytest.mark.parametrize(
    ("names", "truth", "bands"),
    [
        (("mean", "std"), ("height",), {"height": (1, 2, 1)}),
        (("sigma", "mu"), ("",), {"band_2": (2, 1, 1)}),
        (("predicted mean", "predicted std", "quality"), ("",), {"band_1": (1, 2, 1)}),
        (("m1", "sd1", "m2", "sd2"), ("height", "gini"), {"height": (1, 2, 1), "gini": (3, 4, 2)}),
        (("mean_2", "std_2", "mean_1", "std_1"), ("", ""), {"band_1": (1, 2, 2), "band_3": (3, 4, 1)}),
        (("height_mean", "gini_mean", "height_sd", "gini_sd"), ("gini", "height"),
         {"height": (1, 3, 2), "gini": (2, 4, 1)}),
        (("AGB mean (Mg/ha)", "AGB (std)"), ("AGB",), {"AGB": (1, 2, 1)}),
        (("height", "gini", "gini_sd", "height_sd"), ("height", "gini"), {"height": (1, 4, 1), "gini": (2, 3, 2)}),
        (("Elevation", "Uncertainty", "Contributor"), ("",), {"Elevation": (1, 2, 1)}),
    ],
)  # fmt: skip
def test_files_whose_bands_are_mean_and_std_get_a_band_of_each_layer(
    tmp_path, write_raster, names, truth, bands, ending
):
    stacked(tmp_path, write_raster, names, truth, ending=ending)

    found = settled(tmp_path)

    assert {name: (own["mean"], own["std"], own["truth"]) for name, own in found.items()} == bands


def test_the_bands_are_written_below_the_variable_with_its_units(tmp_path, write_raster):
    write_raster(tmp_path / "p/a.tif", np.repeat(ONE, 2, 0), names=["mean", "std"], units=["m", "m"])
    write_raster(tmp_path / "t/a.tif", ONE, names=["height"])

    text = text_for(tmp_path / "p", tmp_path / "t")

    assert "\n  height: {mean: 1, std: 2, truth: 1, units: m}\n" in text


def test_a_variance_among_the_bands_is_preferred_to_a_std(tmp_path, write_raster):
    stacked(tmp_path, write_raster, ("mean", "std", "variance"), ("height",))

    assert settled(tmp_path) == {"height": {"mean": 1, "variance": 3, "truth": 1}}


@pytest.mark.parametrize(
    ("names", "truth", "said"),
    [
        (("", ""), ("",), "the descriptions of its bands do not say which are a mean and its variance or std"),
        (("height", "gini"), ("height", "gini"), "its bands are 1 height, 2 gini"),
        (("p05", "p50", "height"), ("",), "do not say which"),
        (("m1", "sd1", "m2"), ("", ""), "do not say which"),
        (("mean", "mu", "std"), ("",), "bands 1 and 2 may both be the mean"),
        (("mean", "std of the mean"), ("",), "do not say which"),
        (("mean", "std"), ("height", "gini"), "it is not clear which of its bands is the truth of the prediction"),
        (("height_mean", "height_std"), ("gini", "cover"), "it is not clear which of its bands is the truth of height"),
        (("a_mean", "a_std", "b_mean", "b_std"), ("", ""), "it is not clear which of its bands is the truth of a, b"),
    ],
)
def test_bands_that_do_not_say_what_they_are_are_not_guessed(tmp_path, write_raster, names, truth, said):
    stacked(tmp_path, write_raster, names, truth)

    with pytest.raises(ConfigError, match=said) as raised:
        text_for(tmp_path / "p", tmp_path / "t")

    assert "such as variables: {height: {mean: 1, std: 2, truth: 1}}" in str(raised.value)


def test_files_whose_bands_are_in_other_orders_are_refused(tmp_path, write_raster):
    stacked(tmp_path, write_raster, ("mean", "std"), tiles=("a",))
    stacked(tmp_path, write_raster, ("std", "mean"), tiles=("b",))

    with pytest.raises(ConfigError, match=r"b\.tif has the bands 1 std, 2 mean, but .*a\.tif 1 mean, 2 std"):
        text_for(tmp_path / "p", tmp_path / "t")


@pytest.mark.parametrize("folder", ["...", "-x-", "my maps (2)", "[a]", "100%", "a{b", "a}b"])
def test_whatever_the_folder_is_called_the_configuration_loads_or_says_why(rasters, folder):
    place = rasters(f"{folder}/a_mean.tif", f"{folder}/a_variance.tif", f"{folder}/a.tif")

    if "{" in folder or "}" in folder:
        with pytest.raises(ConfigError, match="placeholder"):
            started(place, place / folder, place / folder)
    else:
        assert len(started(place, place / folder, place / folder).tiles) == 1


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["t/a.tif"], "there is no folder"),
        (["p/readme.txt", "t/a.tif"], "holds no raster"),
        (["p/a.tif", "t/a.tif"], "NAME_mean.tif with NAME_variance.tif or NAME_std.tif among a.tif"),
    ],
)
def test_what_cannot_be_understood_is_said(rasters, names, said):
    folder = rasters(*names)

    with pytest.raises(ConfigError, match=said):
        text_for(folder / "p", folder / "t")
