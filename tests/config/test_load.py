"""Files that extend others, paths, training statistics, and the way back to YAML."""

from pathlib import Path

import pytest
import yaml
from configurations import SMALLEST, faults, loaded, written
from hypothesis import given, settings
from hypothesis import strategies as st

from geouq.config import Experiment, folder_of_run, load_experiment, to_yaml
from geouq.core.errors import ConfigError
from geouq.core.naming import reads_as_missing
from geouq.core.redaction import holds_secret


def test_a_file_that_is_not_there_and_a_folder_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.yaml: there is no such file"):
        load_experiment(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_experiment("a\0b.yaml")
    with pytest.raises(ConfigError, match="is a folder; give the YAML file inside it"):
        load_experiment(tmp_path)


@pytest.mark.parametrize(
    "path",
    ["/data/{tile}.tif", "/vsicurl/https://x.org/{tile}.tif", "s3://b/../{tile}.tif", "NETCDF:/{tile}.nc:v"],
)
def test_absolute_paths_urls_and_gdal_names_are_kept(tmp_path, path):
    assert load_experiment(written(tmp_path, SMALLEST.replace("t/{tile}.tif", path))).data.truth == path


def test_an_extending_file_gives_weights_and_takes_them_away(tmp_path):
    written(tmp_path, SMALLEST, "base.yaml")
    written(tmp_path, "extends: base.yaml\ndata: {weights: area}\n", "weighted.yaml")
    assert load_experiment(tmp_path / "weighted.yaml").data.area_weighted
    alike = written(tmp_path, "extends: weighted.yaml\ndata: {weights: ~}\n")
    assert load_experiment(alike).data.weights is None
    assert load_experiment(alike, overrides={"data": {"weights": "area"}}).data.area_weighted


def test_an_extending_file_merges_replaces_and_removes(tmp_path):
    (tmp_path / "below").mkdir()
    below = "tiles: [a, b]\nregions: {west: [a], east: [b]}\noutput: {maps: [z]}\nlevels: [0.5]\n"
    written(tmp_path / "below", SMALLEST + below, "base.yaml")
    top = "extends: below/base.yaml\nname: top\ndata: {truth: '{tile}.tif', variance: ~, std: 's/{tile}'}\n"
    experiment = load_experiment(written(tmp_path, top + "regions: {west: ~, north: [a, b]}\nlevels: [0.9]\n"))
    assert experiment.name == "top"
    assert experiment.data.mean == f"{tmp_path}/below/{{tile}}_m.tif"
    assert (experiment.data.truth, experiment.data.variance) == (f"{tmp_path}/{{tile}}.tif", None)
    assert experiment.regions == {"east": ("b",), "north": ("a", "b")}
    assert (experiment.levels, experiment.output.maps) == ((0.9,), ("z",))


def test_faults_of_a_base_name_the_base(tmp_path):
    written(tmp_path, SMALLEST + "levels: [2]\nlevels: [3]", "base.yaml")
    assert faults(tmp_path, "extends: base.yaml\nnaem: y\n") == [
        "base.yaml:4: levels.0: 2 is not between 0 and 1; write 0.02?",
        "base.yaml:5: levels: the key is written twice, first in line 4; remove one",
        "x.yaml:2: naem: unknown key; did you mean 'name'?",
    ]


def test_a_cycle_of_bases_is_named(tmp_path):
    written(tmp_path, "extends: x.yaml\n", "y.yaml")
    (fault,) = faults(tmp_path, "extends: y.yaml\n")
    x, y = tmp_path / "x.yaml", tmp_path / "y.yaml"
    assert fault == f"y.yaml:1: extends: files extend one another in a cycle: {x} -> {y} -> {x}"


def test_a_base_that_is_not_there_is_named(tmp_path):
    (fault,) = faults(tmp_path, "version: 1\nextends: none.yaml\n")
    assert fault == f"x.yaml:2: extends: there is no file {tmp_path}/none.yaml"
    (fault,) = faults(tmp_path, f"version: 1\nextends: {'a' * 300}\n")
    assert "extends: there is no file" in fault
    assert "x.yaml:1: extends: needs the path of one configuration" in faults(tmp_path, "extends: [a]")


def test_reference_means_come_from_the_training_statistics(tmp_path):
    written(tmp_path, "labels_mean: [10, 2.5, 7]\nlabels_std: [1, 1, 1]\n", "stats.yaml")
    experiment = loaded(
        tmp_path, "reference_mean: stats.yaml\nvariables: {A: {band: 2}, B: {reference_mean: 4, band: 9}}"
    )
    assert [variable.reference_mean for variable in experiment.variables] == [2.5, 4.0]
    assert loaded(tmp_path, "reference_mean: stats.yaml").labels_mean == (10.0, 2.5, 7.0)


def test_a_resolved_configuration_needs_no_training_statistics(tmp_path):
    statistics = written(tmp_path, "labels_mean: [10, 2.5]", "stats.yaml")
    experiment = loaded(tmp_path, "reference_mean: stats.yaml\nvariables: [A]")
    resolved = written(tmp_path, to_yaml(experiment), "config.yaml")
    statistics.unlink()
    assert load_experiment(resolved) == experiment


@pytest.mark.parametrize(
    ("statistics", "fault"),
    [
        (None, "x.yaml:4: reference_mean: there is no file {folder}/stats.yaml"),
        (
            "means: [1]",
            "stats.yaml:1: missing key 'labels_mean': the mean of each band's training labels, in band order",
        ),
        ("labels_mean:\n- 1\n- x", "stats.yaml:3: labels_mean.1: 'x' is not a number"),
        ("labels_mean: 3", "stats.yaml:1: labels_mean: needs a list, not '3'"),
        (
            "labels_mean: [1]",
            "x.yaml:5: variables.1: labels_mean of {folder}/stats.yaml has no entry for band 2; it has 1",
        ),
        ("labels_mean: [", "x.yaml:4: reference_mean: {folder}/stats.yaml:1: not valid YAML"),
    ],
)
def test_faulty_training_statistics_are_named(tmp_path, statistics, fault):
    if statistics:
        written(tmp_path, statistics, "stats.yaml")
    (found,) = faults(tmp_path, SMALLEST + "reference_mean: stats.yaml\nvariables: [A, B]\n")
    assert found.startswith(fault.format(folder=tmp_path))


def test_overrides_lie_on_top_and_resolve_against_the_current_folder(tmp_path, monkeypatch):
    file = written(tmp_path, SMALLEST + "tiles: [a]\n")
    monkeypatch.chdir("/")
    changes = {
        "output": {"directory": "out", "maps": ["z"]},
        "tiles": None,
        "data": {"truth": "new/{tile}.tif"},
    }
    experiment = load_experiment(file, overrides={**changes, "levels": [0.5], "bins": {"exact": True}})
    assert (experiment.output_directory, experiment.tiles) == (Path("out"), None)
    assert (experiment.data.truth, experiment.data.mean) == ("/new/{tile}.tif", f"{tmp_path}/{{tile}}_m.tif")
    assert (experiment.levels, experiment.bins.exact) == ((0.5,), True)
    with pytest.raises(ConfigError, match=r"^overrides: levels\.0: 2 is not between 0 and 1"):
        load_experiment(file, overrides={"levels": [2]})


FULL = """\
variables: {A: , B: {band: 4, units: 'm\u00b2', reference_mean: 1.0e-7}}
tiles: [a, 0346]
regions: {west: [0346]}
bins: {schemes: [{edges: [0, 1e-9, 3]}, {scheme: log-width}], exact: true, scope: experiment}
levels: [0.6827, 0.9]
variance: {negative: exclude}
cell_size: 64
fingerprint: checksum
output: {directory: "{name}/r", maps: [abs_error, std, cv]}
gates: [{metric: coverage_68.27, variable: A, region: west, bins: log-width-10, min: 0.1, max: 1}]
"""


@pytest.mark.parametrize("more", ["", FULL, "output: {maps: none}", "labels_mean: [1, 2]"])
@pytest.mark.parametrize("weights", ["~", "area", "'w/{tile}.tif'"])
def test_a_resolved_configuration_loads_as_the_same_experiment(tmp_path, more, weights):
    text = SMALLEST.replace("data: {", f"data: {{weights: {weights}, ")
    experiment = load_experiment(written(tmp_path, text + more))
    (tmp_path / "elsewhere").mkdir()
    assert load_experiment(written(tmp_path / "elsewhere", to_yaml(experiment))) == experiment


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda name: not (reads_as_missing(name) or holds_secret(name))
)


@settings(deadline=None)
@given(names=st.lists(NAMES, min_size=1, unique_by=str.casefold))  # regions may not differ in case alone
def test_any_text_is_a_name_that_survives_the_round_trip(tmp_path_factory, names):
    folder = tmp_path_factory.mktemp("names")
    layers = {"mean": "/m{tile}", "std": "/s{tile}", "truth": "/t{tile}"}
    experiment = Experiment(
        version=1,
        name="x",
        data=layers,
        tiles=names,
        regions={name: [name] for name in names if name.casefold() != "all"},
        variables=names,
    )
    again = load_experiment(written(folder, to_yaml(experiment)))
    assert again == experiment
    assert again.tiles == tuple(names)


def test_a_mapping_is_a_configuration_whose_paths_are_relative_to_the_current_folder(tmp_path, monkeypatch):
    file = written(tmp_path, SMALLEST)
    monkeypatch.chdir(tmp_path)
    mapping = yaml.safe_load(file.read_text(encoding="utf-8"))

    assert load_experiment(mapping) == load_experiment(file)
    assert load_experiment({"extends": file.name, "name": "other"}).name == "other"
    with pytest.raises(ConfigError, match=r"configuration: data\.truht: unknown key; did you mean 'truth'"):
        load_experiment(mapping | {"data": {"mean": "{tile}_m.tif", "std": "{tile}_s.tif", "truht": "{tile}.tif"}})


def test_an_experiment_is_itself_unless_there_are_overrides(tmp_path):
    experiment = load_experiment(written(tmp_path, SMALLEST))

    assert load_experiment(experiment) is experiment
    other = load_experiment(experiment, overrides={"name": "other"})
    assert (other.name, other.data) == ("other", experiment.data)


def test_the_folder_of_a_run_follows_from_its_configuration(tmp_path):
    file = written(tmp_path, SMALLEST)
    experiment = load_experiment(file)

    assert folder_of_run("folder", tmp_path) == tmp_path
    assert folder_of_run("folder", file) == folder_of_run("folder", experiment) == experiment.output_directory
