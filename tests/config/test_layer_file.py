"""Layers that are written as mappings of a path and settings."""

import pytest
import yaml

from geouq.config import json_schema, load_experiment, to_yaml
from geouq.core.errors import ConfigError

FILES = {"mean": "{tile}_m.tif", "std": "{tile}_s.tif", "truth": "{tile}.tif"}


def experiment(**data):
    return load_experiment({"version": 1, "name": "one", "data": {**FILES, **data}})


def test_a_mapping_keeps_the_path_and_says_how_values_are_stored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    found = experiment(mean={"path": "{tile}_all.tif", "band": 2, "scale": 0.1, "nodata": -1, "units": "cm"})

    assert found.patterns["mean"] == str(tmp_path / "{tile}_all.tif")
    assert found.settings["mean"].settings == {"band": 2, "scale": 0.1, "nodata": -1, "units": "cm"}
    assert set(found.settings) == {"mean"}


def test_a_mapping_of_a_path_alone_is_that_path():
    assert experiment(mean={"path": FILES["mean"]}) == experiment()


def test_settings_survive_being_written_and_read():
    nested = {"classes": {"cover": {"path": "c/{tile}.tif", "nodata": 255}}, "truth": {"path": "t/{tile}", "scale": 2}}
    first = experiment(**nested)

    again = load_experiment(yaml.safe_load(to_yaml(first)))

    assert again == first
    assert again.settings == first.settings
    assert set(again.settings) == {"classes.cover", "truth"}


def test_another_scale_is_another_experiment():
    one, two = (experiment(mean={"path": "{tile}_m.tif", "scale": scale}) for scale in (1, 2))

    assert one != two


def test_quantiles_have_settings_by_their_level():
    files = {"quantiles": {"0.050": {"path": "a/{tile}", "scale": 0.1}, "0.5": "b/{tile}"}, "truth": "{tile}"}

    found = load_experiment({"version": 1, "name": "one", "data": files})

    assert found.settings["quantiles.0.05"].scale == 0.1
    assert set(found.settings) == {"quantiles.0.05"}


def test_quantiles_that_are_bands_of_one_file_share_its_settings():
    one = {"path": "q/{tile}", "scale": 0.1}
    files = {"quantiles": {"0.05": one, "0.5": one, "0.95": one}, "truth": "{tile}"}

    found = load_experiment({"version": 1, "name": "one", "data": files})

    assert found.settings["quantiles"].scale == 0.1


def test_members_share_the_settings_of_their_pattern():
    files = {"members": {"path": "{tile}_{member}.tif", "scale": 0.1}, "member_names": ["a", "b"], "truth": "{tile}"}

    found = load_experiment({"version": 1, "name": "one", "data": files})

    assert [found.settings[f"members.{name}"].scale for name in "ab"] == [0.1, 0.1]


def test_each_model_has_settings_of_its_own():
    own = {"mean": {"path": "{tile}_a.tif", "scale": 2}, "std": "{tile}_s.tif"}
    written = {
        "version": 1,
        "name": "one",
        "models": {"a": own, "b": FILES | {"truth": None}},
        "data": {"truth": "{tile}"},
    }
    del written["models"]["b"]["truth"]

    assert set(load_experiment(written).settings) == {"models.a.mean"}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("{tile}.nc", 'ARRAY:"{tile}.nc":agb'),
        ("{tile}.H5", 'HDF5:"{tile}.H5"://agb'),
        ("{tile}.zarr", 'ARRAY:"{tile}.zarr":agb'),
    ],
)
def test_an_array_of_a_file_has_a_name(tmp_path, monkeypatch, path, name):
    monkeypatch.chdir(tmp_path)

    found = experiment(truth={"path": path, "variable": "agb"})

    assert found.patterns["truth"] == name.replace("{tile}", f"{tmp_path}/{{tile}}")


@pytest.mark.parametrize(("other", "usual"), [("standard_error", "std"), ("cv", "relative_std")])
def test_other_names_of_the_uncertainty_are_known(other, usual):
    files = {"mean": FILES["mean"], "truth": FILES["truth"]}

    found = load_experiment({"version": 1, "name": "one", "data": {**files, other: "{tile}_s.tif"}})

    assert set(found.patterns) == {"mean", usual, "truth"}
    assert found.data.spread == usual


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"mean": {"path": "{tile}", "bnd": 1}}, "data.mean.bnd: unknown key; did you mean 'band'?"),
        ({"mean": {"path": "{tile}", "scale": 0}}, "data.mean.scale: every value times 0 is 0"),
        ({"mean": {"path": "{tile}", "band": 0}}, "data.mean.band: '0' is no band"),
        ({"mean": {"scale": 2}}, "data.mean: missing key 'path'"),
        ({"mean": {"path": "mean.tif", "scale": 2}}, "needs {tile} where the name of the tile stands"),
        ({"truth": {"path": "{tile}.tif", "variable": "x"}}, "data.truth.variable: names an array of a file, but"),
        ({"standard_error": "{tile}_e.tif"}, "data.standard_error: is another name of std, which is given too"),
        ({"relative_std": "{tile}_r.tif"}, "data.relative_std: give either std or relative_std, not both"),
        (
            {"truth_std": "{tile}_e", "truth_cv": "{tile}_c"},
            "data: give either truth_std or truth_relative_std, not both",
        ),
        ({"classes": {"cover": {"path": "{tile}", "scale": "x"}}}, "data.classes.cover.scale: 'x' is not a number"),
        ({"level": {"path": "{tile}"}}, "data.level: needs a number, not a mapping"),
    ],
)
def test_a_fault_is_told_with_its_key(data, said):
    with pytest.raises(ConfigError) as told:
        experiment(**data)

    assert said in str(told.value)


def test_the_schema_lets_a_layer_be_a_path_or_a_mapping():
    schema = json_schema()
    layers = schema["$defs"]["Data"]["properties"]
    named = layers["classes"]["additionalProperties"]["anyOf"]

    assert {"$ref": "#/$defs/LayerFile"} in layers["mean"]["anyOf"]
    assert {"$ref": "#/$defs/LayerFile"} in named
    assert layers["cv"] == layers["relative_std"]
    assert set(schema["$defs"]["LayerFile"]["properties"]) == {
        "path", "asset", "tiles", "variable", "select", "band", "scale", "offset", "nodata", "units", "keep", "bits",
        "align", "valid_share",
    }  # fmt: skip
