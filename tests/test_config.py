"""The configuration: what loads, what is refused and how that is said."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from geouq.config import Bins, BinScheme, Experiment, Gate, Variable, json_schema, load_experiment, to_yaml
from geouq.errors import ConfigError

CONFIGS = Path(__file__).parent.parent / "configs"
SMALLEST = """\
version: 1
name: x
data: {mean: "{tile}_m.tif", variance: "{tile}_v.tif", truth: "t/{tile}.tif"}
"""


def written(folder, text, name="x.yaml"):
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def loaded(folder, more=""):
    return load_experiment(written(folder, SMALLEST + more))


def faults(folder, text):
    """The lines of the error, without the folder."""
    with pytest.raises(ConfigError) as caught:
        load_experiment(written(folder, text))
    return [line.removeprefix(f"{folder}/") for line in str(caught.value).splitlines()]


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
    assert experiment.variance.negative == "error"
    assert experiment.output.maps == ("cells",)
    assert experiment.output_directory == Path("results/x")
    assert experiment.source == tmp_path / "x.yaml"


def test_every_fault_is_told_at_once_with_its_line_and_a_suggestion(tmp_path):
    text = """\
version: 2
naem: x
data:
  mean: https://x.org/m.tif
  truth: "/t/{tile}/{band}.tif"
variables:
  AGB: {bnad: 1}
  AGB: {band: 2}
  Clay: {band: two}
tiles: [0346, no]
regions:
  west: [346]
  all: [no]
  east: []
levels: [0.5, 0.8, 90]
bins: [{scheme: equal-widht, count: 1001}, {edges: [0, 2, 1]}]
output: {maps: [uec], directory: "r/{tile}"}
cell_size: 100
variance: {negative: drop}
"""
    assert faults(tmp_path, text) == [
        "x.yaml:1: version: version 2 is not known to this geouq; write 1, or update geouq",
        "x.yaml:1: missing key 'name': name of the experiment and of its folder",
        "x.yaml:2: naem: unknown key; did you mean 'name'?",
        "x.yaml:3: data: missing key 'variance' (or 'std')",
        "x.yaml:4: data.mean: 'https://x.org/m.tif' needs {tile} where the name of the tile stands",
        "x.yaml:5: data.truth: '/t/{tile}/{band}.tif': the only placeholder is {tile}",
        "x.yaml:7: variables.AGB.bnad: unknown key; did you mean 'band'?",
        "x.yaml:8: variables.AGB: the key is written twice, first in line 7; remove one",
        "x.yaml:9: variables.Clay.band: 'two' is not a whole number",
        "x.yaml:12: regions.west.0: '346' is not one of the tiles; did you mean '0346'?",
        "x.yaml:13: regions.all: the region 'all' always exists and holds all tiles; choose another name",
        "x.yaml:14: regions.east: a region needs a tile or more",
        "x.yaml:15: levels.2: 90 is not between 0 and 1; write 0.9?",
        "x.yaml:16: bins.0.scheme: 'equal-widht' is not known; did you mean 'equal-width'?",
        "x.yaml:16: bins.0.count: '1001' is more than 1000",
        "x.yaml:16: bins.1.edges.2: 1 is not above the edge before it, 2",
        "x.yaml:17: output.directory: 'r/{tile}': the only placeholder is {name}",
        "x.yaml:17: output.maps.0: 'uec' is not a map; did you mean 'uce'?",
        "x.yaml:18: cell_size: 100 is not one of 16, 32, 64, 128, 256",
        "x.yaml:19: variance.negative: 'drop' is not known; known are error, exclude",
    ]


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ("tiles: 0346", "4: tiles: needs a list, not '0346'"),
        ("tiles: []", "4: tiles: is too short; give 1 or more"),
        ("tiles: [a, b, a]", "4: tiles.2: 'a' is given twice; remove one"),
        ("tiles: [a, [b]]", "4: tiles.1: needs text, not a list"),
        ("tiles: [~]", "4: tiles.0: needs text, not nothing"),
        ("tiles: ['']", "4: tiles.0: must not be empty"),
        ("variables: [A, B, A]", "4: variables.2: 'A' is given twice; remove one"),
        ("variables: {A: {band: 2}, B: }", "4: variables.B: band 2 is given twice; remove one"),
        ("variables: {A: {band: 0}}", "4: variables.A.band: '0' is less than 1"),
        ("variables: {A: 3}", "4: variables.A: needs a mapping of keys and values, not '3'"),
        ("variables: {A: {reference_mean: .nan}}", "4: variables.A.reference_mean: '.nan' is not a number"),
        (
            "variables: {A: {reference_mean: 1e999}}",
            "4: variables.A.reference_mean: '1e999' is not a finite number",
        ),
        (
            "variables: []",
            "4: variables: names no variable; leave the key out to take the names from the bands",
        ),
        ("regions: [a]", "4: regions: needs a mapping of keys and values, not a list"),
        ("regions:\n  west:\n  - a\n  - a", "7: regions.west.1: 'a' is given twice; remove one"),
        ("variance: {negative: []}", "4: variance.negative: needs one of error, exclude, not a list"),
        ("levels: []", "4: levels: is too short; give 1 or more"),
        ("levels: [0.9, 0.90]", "4: levels.1: '0.9' is given twice; remove one"),
        ("levels: [0.9999999]", "4: levels.0: 0.9999999 is too near to 1; the highest level is 0.999999"),
        ("levels: [1]", "4: levels.0: 1 is not between 0 and 1"),
        ("bins: {exact: perhaps}", "4: bins.exact: 'perhaps' is neither true nor false"),
        ("bins: [equal-width]", "4: bins.0: needs a mapping of keys and values, not 'equal-width'"),
        (
            "bins: [{count: 4}]",
            "4: bins.0: missing key 'scheme': equal-width, equal-count, log-width or edges",
        ),
        ("bins: [{scheme: edges}]", "4: bins.0: scheme edges needs edges"),
        ("bins: [{scheme: log-width, edges: [0, 1]}]", "4: bins.0: scheme log-width has no edges"),
        ("bins: [{edges: [0, 1, 2], count: 3}]", "4: bins.0: 3 edges make 2 bins, not 3; leave count out"),
        ("bins: [{edges: [-1, 1]}]", "4: bins.0.edges: a variance is never below 0; the first edge is -1"),
        ("bins: [{edges: []}]", "4: bins.0.edges: is too short; give 2 or more"),
        ("bins: [{scheme: log-width, count: 1}]", "4: bins.0: count: 1 bin shows nothing; give 2 or more"),
        (
            "bins: [{scheme: log-width, count: 9}, {scheme: log-width, count: 9}]",
            "4: bins.1: 'log-width-9' is given twice; remove one",
        ),
        (
            "gates: [{metric: UCE, variable: A, min: 1}]",
            "4: gates.0.metric: 'UCE' is not the name of a metric, such as uce or coverage_90",
        ),
        ("gates: [{metric: uce, variable: A}]", "4: gates.0: needs min or max, or both"),
        (
            "gates: [{metric: uce, variable: A, min: 2, max: 1}]",
            "4: gates.0: min 2.0 is more than max 1.0: no value can pass",
        ),
        (
            "gates: [{metric: uce, variable: A, max: 1, bins: equal-width-9}]",
            "4: gates.0.bins: 'equal-width-9' is not known; did you mean 'equal-width-10'?",
        ),
        (
            "variables: [A]\nregions: {west: [a]}\ngates: [{metric: r, variable: A, region: wset, min: 1}]",
            "6: gates.0.region: 'wset' is not known; did you mean 'west'?",
        ),
        (
            "variables: [AGB]\ngates: [{metric: uce, variable: ABG, max: 1}]",
            "5: gates.0.variable: 'ABG' is not known; did you mean 'AGB'?",
        ),
        (
            "colour: red\n<<: {a: b}",
            "5: merge keys (<<) are not supported; write the keys out, or use extends",
        ),
        (
            "tiles: [!!python/name:os.system x]",
            "4: tiles.0: the tag '!!python/name:os.system' is not allowed; leave it out",
        ),
        ('tiles: ["\\ud800"]', "4: tiles.0: '\\ud800' is not valid Unicode text"),
    ],
)
def test_a_fault_is_told_in_plain_words(tmp_path, more, fault):
    assert fault in [line.removeprefix("x.yaml:") for line in faults(tmp_path, SMALLEST + more)]


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a\\b", "''", "'a '", "-a", "a" * 101, '"a\\n"'])
def test_a_name_that_is_no_folder_is_refused(tmp_path, name):
    (fault,) = faults(tmp_path, SMALLEST.replace("name: x", f"name: {name}"))
    assert fault.startswith("x.yaml:2: name: ")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "1: the file is empty"),
        ("# nothing\n", "1: the file is empty"),
        ("- a\n", "1: the file needs keys and values"),
        ("a: 1\nb: [1, 2\n", "3: not valid YAML: while parsing a flow sequence"),
        ("a:\n\tb: 1\n", "indent with blanks, not with tabs"),
        ("a: 1\nunits: %\n", "2: not valid YAML: while scanning for the next token"),
        ("data:\n  mean: {tile}_mean.tif\n", "put a path that begins with a placeholder in quotes"),
        ("a: 1\n---\nb: 2\n", "expected a single document"),
        (b"a: 1\nb: \xff\xfe\n", "2: is not UTF-8 text"),
        ("a: 1\nb: \x00\n", "2: holds the character"),
        ("a: " + "[" * 60 + "]" * 60, "1: not valid YAML: nested deeper than 50"),
        ("a: &a [*a]\n", "aliases expand to"),
        ("? [a]\n: b\n", "1: a key must be text"),
        ('a: "\\UFFFFFFFF"', "1: not valid YAML"),
    ],
)
def test_what_is_no_yaml_mapping_is_refused_with_its_line(tmp_path, text, fault):
    assert f"x.yaml:{fault}" in (found := faults(tmp_path, text)[0]) or fault in found


def test_gates_are_not_held_against_sections_that_are_faulty_themselves(tmp_path):
    more = "bins: []\nregions: {a: 1}\ngates: [{metric: uce, variable: A, region: b, bins: c, min: 0}]"
    assert [fault.split(":")[1] for fault in faults(tmp_path, SMALLEST + more)] == ["4", "5"]


def test_a_yaml_bomb_is_refused(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    (fault,) = faults(tmp_path, "\n".join(lines))
    assert "more than 100000 values" in fault


def test_a_file_too_large_for_a_configuration_is_refused(tmp_path):
    assert faults(tmp_path, b"#" * 10_000_001) == ["x.yaml:1: is larger than 10 MB: not a configuration"]


def test_variables_given_in_python_have_names_of_their_own():
    layers = {"mean": "{tile}", "std": "{tile}", "truth": "{tile}"}
    first = Variable(name="A", band=1)
    with pytest.raises(ValidationError, match="'A' is given twice"):
        Experiment(version=1, name="x", data=layers, variables=[first, Variable(name="A", band=2)])
    assert Experiment(version=1, name="x", data=layers, variables=[first]).variables == (first,)


def test_a_file_that_is_not_there_and_a_folder_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.yaml:1: there is no such file"):
        load_experiment(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_experiment("a\0b.yaml")
    with pytest.raises(ConfigError, match="is a folder; give the YAML file inside it"):
        load_experiment(tmp_path)


def test_names_stay_the_text_that_was_written(tmp_path):
    experiment = loaded(tmp_path, "tiles: [0346, 1e3, no, 2024-01-01, 0x1F, '~', 1_000]\nregions: {346: [no]}")
    assert experiment.tiles == ("0346", "1e3", "no", "2024-01-01", "0x1F", "~", "1_000")
    assert experiment.regions == {"346": ("no",)}


def test_aliases_stand_for_what_they_name(tmp_path):
    experiment = loaded(tmp_path, "regions: {west: &west [a, b], again: *west}")
    assert experiment.regions["again"] == ("a", "b")


def test_a_null_is_a_key_not_written(tmp_path):
    assert loaded(tmp_path, "regions:\nbins: ~\nlevels: null\nvariables:\ntiles:") == loaded(tmp_path)


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


@pytest.mark.parametrize("maps", ["none", "[]"])
def test_maps_can_be_none(tmp_path, maps):
    assert loaded(tmp_path, f"output: {{maps: {maps}}}").output.maps == ()


def test_std_takes_the_place_of_variance_but_not_beside_it(tmp_path):
    assert load_experiment(written(tmp_path, SMALLEST.replace("variance", "std"))).data.std
    both = SMALLEST.replace("variance:", "std: '{tile}.tif', variance:")
    assert faults(tmp_path, both) == ["x.yaml:3: data.std: give either variance or std, not both"]


@pytest.mark.parametrize(
    "path",
    ["/data/{tile}.tif", "/vsicurl/https://x.org/{tile}.tif", "s3://b/../{tile}.tif", "NETCDF:{tile}.nc:v"],
)
def test_absolute_paths_urls_and_gdal_names_are_kept(tmp_path, path):
    assert load_experiment(written(tmp_path, SMALLEST.replace("t/{tile}.tif", path))).data.truth == path


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
    data = load_experiment(written(tmp_path, SMALLEST.replace("data: {", f"data: {{weights: {weights}, "))).data

    assert data.weights == (resolved and resolved.format(folder=tmp_path))
    assert data.area_weighted == (weights == "area")
    assert {layer: path for layer, path in data.patterns.items() if layer not in {"mean", "variance", "truth"}} == {
        layer: path.format(folder=tmp_path) for layer, path in patterns.items()
    }


@pytest.mark.parametrize(
    ("weights", "fault"),
    [
        ("areas", "'areas' is not known; did you mean 'area'?"),
        ("Area", "'Area' is not known; did you mean 'area'?"),
        ("w.tif", "'w.tif' is not known; known are area, a path with {tile}"),
        ("'/{tile}/{band}.tif'", "'/{tile}/{band}.tif': the only placeholder is {tile}"),
        ("''", "must not be empty"),
        ("[area]", "needs text, not a list"),
    ],
)
def test_faulty_weights_are_told_with_a_suggestion(tmp_path, weights, fault):
    text = SMALLEST.replace("data: {", f"data: {{weights: {weights}, ")
    assert faults(tmp_path, text) == [f"x.yaml:3: data.weights: {fault}"]


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


def test_an_experiment_is_frozen_and_knows_its_equals(tmp_path):
    experiment = loaded(tmp_path)
    with pytest.raises(ValidationError, match="frozen"):
        experiment.name = "y"
    assert experiment != loaded(tmp_path, "levels: [0.5]")
    with pytest.raises(ValidationError, match="needs min or max"):
        Gate(metric="uce", variable="A")


FULL = """\
variables: {A: , B: {band: 4, units: 'm\u00b2', reference_mean: 1.0e-7}}
tiles: [a, 0346]
regions: {west: [0346]}
bins: {schemes: [{edges: [0, 1e-9, 3]}, {scheme: log-width}], exact: true, scope: experiment}
levels: [0.6827, 0.9]
variance: {negative: exclude}
cell_size: 64
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


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@settings(deadline=None)
@given(names=st.lists(NAMES, min_size=1, unique=True))
def test_any_text_is_a_name_that_survives_the_round_trip(tmp_path_factory, names):
    folder = tmp_path_factory.mktemp("names")
    layers = {"mean": "/m{tile}", "std": "/s{tile}", "truth": "/t{tile}"}
    experiment = Experiment(
        version=1,
        name="x",
        data=layers,
        tiles=names,
        regions={name: [name] for name in names if name != "all"},
        variables=names,
    )
    again = load_experiment(written(folder, to_yaml(experiment)))
    assert again == experiment
    assert again.tiles == tuple(names)


JUNK = st.one_of(
    st.binary(),
    st.text(),
    st.text(alphabet="abx:{}[]-&*!|>%@'\"#,?~< \n\t\\0123."),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(list(Experiment.model_fields)) | st.text(), inner)
        ),
    ).map(lambda value: yaml.safe_dump(value).encode("utf-8", "replace")),
    st.fixed_dictionaries(
        {},
        optional={
            key: st.recursive(
                st.none() | st.text() | st.integers() | st.floats(),
                lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
                max_leaves=8,
            )
            for key in (*Experiment.model_fields, "extends")
        },
    ).map(lambda value: yaml.safe_dump(value).encode("utf-8", "replace")),
)


@settings(deadline=None)
@given(junk=JUNK)
def test_junk_is_refused_with_nothing_but_a_config_error_of_whole_lines(tmp_path_factory, junk):
    folder = tmp_path_factory.mktemp("junk")
    with pytest.raises(ConfigError) as caught:
        load_experiment(written(folder, junk))
    assert all(line.startswith(f"{folder}/x.yaml:") for line in str(caught.value).splitlines())


def test_the_schema_describes_every_key():
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(schema["properties"]) == {*Experiment.model_fields, "extends"}
    sections = [schema, *schema["$defs"].values()]
    keys = [(name, key) for section in sections for name, key in section["properties"].items()]
    assert [name for name, key in keys if not key.get("description")] == []


def test_the_schema_knows_both_kinds_of_weights():
    word, path, nothing = json_schema()["$defs"]["Data"]["properties"]["weights"]["anyOf"]
    assert (word, nothing) == ({"const": "area"}, {"type": "null"})
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
