"""The configuration: what its keys mean, and its schema."""

import re
from pathlib import Path

import pytest
import yaml
from configurations import SMALLEST, faults, loaded, written
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from geouq.config import (
    EQUAL_COUNT_10,
    EQUAL_WIDTH_10,
    Bins,
    BinScheme,
    Experiment,
    Gate,
    Variable,
    json_schema,
    load_experiment,
    model,
    preferred_first,
)
from geouq.config.regions import tile_lists

CONFIGS = Path(__file__).parents[2] / "configs"


def test_the_smallest_configuration_has_the_defaults(tmp_path):
    experiment = loaded(tmp_path)
    assert experiment.data.mean == f"{tmp_path}/{{tile}}_m.tif"
    assert experiment.data.truth == f"{tmp_path}/t/{{tile}}.tif"
    assert experiment.data.std is None
    assert experiment.variables is experiment.tiles is experiment.labels_mean is experiment.cell_size is None
    assert experiment.regions == {}
    assert [scheme.name for scheme in experiment.bins.schemes] == ["equal-width-10", "equal-count-10"]
    assert (experiment.bins.exact, experiment.bins.scope) == (False, "own")
    assert experiment.levels == (0.5, 0.8, 0.9, 0.95)
    assert experiment.calibration_levels == tuple(k / 20 for k in range(1, 20))
    assert experiment.calibration_weights == "equal"
    assert experiment.variance.negative == "error"
    assert experiment.fingerprint == "modified"
    assert experiment.output.maps == ("cells",)
    assert experiment.output_directory == Path("results/x")
    assert experiment.source == tmp_path / "x.yaml"


def test_variables_given_in_python_have_names_of_their_own():
    layers = {"mean": "{tile}", "std": "{tile}", "truth": "{tile}"}
    first = Variable(name="A", band=1)
    with pytest.raises(ValidationError, match="'A' is given twice"):
        Experiment(version=1, name="x", data=layers, variables=[first, Variable(name="A", band=2)])
    assert Experiment(version=1, name="x", data=layers, variables=[first]).variables == (first,)


def test_variables_come_from_a_list_or_a_mapping(tmp_path):
    from_list = loaded(tmp_path, "variables: [AGB, Clay]").variables
    assert from_list == (Variable(name="AGB", band=1), Variable(name="Clay", band=2))
    from_mapping = loaded(tmp_path, "variables: {AGB: , Clay: {band: 3, units: '%', reference_mean: 2}}").variables
    assert from_mapping == (
        Variable(name="AGB", band=1),
        Variable(name="Clay", band=3, units="%", reference_mean=2.0),
    )


def test_bins_are_a_list_of_schemes_or_settings(tmp_path):
    schemes = loaded(tmp_path, "bins: [{scheme: log-width, count: 8}, {edges: [0, 0.5, 2]}]").bins.schemes
    assert [scheme.name for scheme in schemes] == ["log-width-8", "edges-2"]
    assert schemes[1] == BinScheme(scheme="edges", count=2, edges=(0.0, 0.5, 2.0))
    assert loaded(tmp_path, "bins: {exact: yes}").bins == Bins(exact=True)
    shared = loaded(tmp_path, "bins: {scope: experiment, schemes: [{scheme: equal-count, count: 5}]}").bins
    assert shared == Bins(schemes=(BinScheme(scheme="equal-count", count=5),), scope="experiment")


def test_levels_are_sorted(tmp_path):
    assert loaded(tmp_path, "levels: [0.9, 0.5]").levels == (0.5, 0.9)


def test_calibration_levels_are_sorted_hundredths(tmp_path):
    assert loaded(tmp_path, "calibration_levels: [0.07, 0.29, 0.01]").calibration_levels == (0.01, 0.07, 0.29)
    layers = {"mean": "{tile}", "std": "{tile}", "truth": "{tile}"}
    summed = Experiment(version=1, name="x", data=layers, calibration_levels=[0.1 + 0.2])
    assert summed.calibration_levels == (0.3,)


@pytest.mark.parametrize("maps", ["none", "[]"])
def test_maps_can_be_none(tmp_path, maps):
    assert loaded(tmp_path, f"output: {{maps: {maps}}}").output.maps == ()


def test_std_takes_the_place_of_variance_but_not_beside_it(tmp_path):
    assert load_experiment(written(tmp_path, SMALLEST.replace("variance", "std"))).data.std
    both = SMALLEST.replace("variance:", "std: '{tile}.tif', variance:")
    assert faults(tmp_path, both) == ["x.yaml:3: data.std: give either variance or std, not both"]


@pytest.mark.parametrize(
    ("weights", "resolved", "patterns"),
    [
        ("area", "area", {}),
        ("'w/{tile}.tif'", "{folder}/w/{{tile}}.tif", {"weights": "{folder}/w/{{tile}}.tif"}),
        ("'/w/{tile}'", "/w/{{tile}}", {"weights": "/w/{{tile}}"}),
        ("~", None, {}),
    ],
)
def test_weights_are_the_word_area_or_a_path(tmp_path, weights, resolved, patterns):
    experiment = load_experiment(written(tmp_path, SMALLEST.replace("data: {", f"data: {{weights: {weights}, ")))
    data = experiment.data

    assert data.weights == (resolved and resolved.format(folder=tmp_path))
    assert data.area_weighted == (weights == "area")
    assert {
        layer: path for layer, path in experiment.patterns.items() if layer not in {"mean", "variance", "truth"}
    } == {layer: path.format(folder=tmp_path) for layer, path in patterns.items()}


def test_an_experiment_is_frozen_and_knows_its_equals(tmp_path):
    experiment = loaded(tmp_path)
    with pytest.raises(ValidationError, match="frozen"):
        experiment.name = "y"
    assert experiment != loaded(tmp_path, "levels: [0.5]")
    with pytest.raises(ValidationError, match="needs min or max"):
        Gate(metric="uce", variable="A")


def test_the_schema_describes_every_key():
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(schema["properties"]) == {*Experiment.model_fields, "extends"}
    sections = [schema, *schema["$defs"].values()]
    keys = [(name, key) for section in sections for name, key in section["properties"].items()]
    assert [name for name, key in keys if not key.get("description")] == []


def test_examples_of_keys_are_accepted_and_stand_in_the_table_of_keys():
    schema = json_schema()
    keys = [key for section in (schema, *schema["$defs"].values()) for key in section["properties"].values()]
    examples = [(key, example) for key in keys for example in key.get("examples", ())]
    page = (CONFIGS.parent / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
    shown = [list(yaml.safe_load(text).values()) for text in re.findall(r" Example: `(.*?)`\.", page)]

    for key, example in examples:
        Draft202012Validator(key | {"$defs": schema["$defs"]}).validate(example)
        assert [example] in shown
    assert len(shown) > 25


def test_the_schema_knows_both_kinds_of_weights():
    word, path, nothing, mapping = json_schema()["$defs"]["Data"]["properties"]["weights"]["anyOf"]
    assert (word, nothing, mapping) == ({"const": "area"}, {"type": "null"}, {"$ref": "#/$defs/LayerFile"})
    assert re.search(path["pattern"], "w/{tile}.tif")
    assert not re.search(path["pattern"], "areas")


def test_the_shipped_sample_configuration_finds_its_samples():
    experiment = load_experiment(CONFIGS / "samples.yaml")
    assert experiment.data.mean == str(CONFIGS.parent.resolve() / "data_samples" / "{tile}_mean.tif")
    assert set(experiment.regions) == {"EAST", "WEST", "NORTH"}


def test_the_forest_configuration_reads_its_project_beside_it(tmp_path):
    text = (CONFIGS / "forest_structure.yaml").read_text()
    (fault,) = faults(tmp_path, text)
    assert fault.endswith(f"reference_mean: there is no file {tmp_path}/stats.yaml")
    written(tmp_path, "labels_mean: [10, 5, 60, 0.4, 50]", "stats.yaml")
    experiment = load_experiment(written(tmp_path, text))
    assert {name: len(tiles) for name, tiles in experiment.regions.items()} == {
        "EAST": 31,
        "WEST": 5,
        "NORTH": 3,
    }
    assert [variable.reference_mean for variable in experiment.variables] == [10, 5, 60, 0.4, 50]
    assert experiment.data.truth == f"{tmp_path}/data/preprocessed/{{tile}}.tif"


def test_people_see_equal_count_bins_first_whatever_the_order_of_the_schemes():
    schemes = [EQUAL_WIDTH_10, EQUAL_COUNT_10]

    assert preferred_first(schemes)[0] == preferred_first(reversed(schemes))[0] == EQUAL_COUNT_10
    assert preferred_first([EQUAL_WIDTH_10]) == (EQUAL_WIDTH_10,)


def test_layers_of_zones_are_told_from_lists_in_one_pass_over_the_regions(tmp_path, monkeypatch):
    lists = ", ".join(f"r{number}: [a1]" for number in range(50))
    experiment = loaded(tmp_path, f"tiles: [a1, b1]\nregions: {{{lists}, rest: {{of: all, without: r1}}}}")
    passes = []
    monkeypatch.setattr(model, "tile_lists", lambda own: passes.append(own) or tile_lists(own))

    assert experiment.zone_layers == ("rest",)
    assert len(passes) == 1
