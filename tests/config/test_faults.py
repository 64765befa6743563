"""Faults of a configuration: all at once, in plain words, each at its place."""

import pytest
from configurations import SMALLEST, faults


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
        "x.yaml:1: missing key 'name': name of the experiment and of the folder of its results",
        "x.yaml:2: naem: unknown key; did you mean 'name'?",
        "x.yaml:3: data: missing key 'variance' (or 'std', or 'relative_std', or 'lower', 'upper' and 'level')",
        "x.yaml:4: data.mean: 'https://x.org/m.tif' needs {tile} where the name of the tile stands",
        "x.yaml:5: data.truth: '/t/{tile}/{band}.tif': the only placeholders are {tile}, {variable} and {time}",
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
        ("fingerprint: sha256", "4: fingerprint: 'sha256' is not known; known are modified, checksum"),
        ("levels: []", "4: levels: is too short; give 1 or more"),
        ("levels: [0.9, 0.90]", "4: levels.1: '0.9' is given twice; remove one"),
        ("levels: [0.9999999]", "4: levels.0: 0.9999999 is too near to 1; the highest level is 0.999999"),
        ("levels: [1]", "4: levels.0: 1 is not between 0 and 1"),
        ("calibration_levels: []", "4: calibration_levels: is too short; give 1 or more"),
        ("calibration_levels: [0.5, 0.50]", "4: calibration_levels.1: '0.5' is given twice; remove one"),
        ("calibration_levels: [5]", "4: calibration_levels.0: 5 is not between 0 and 1; write 0.05?"),
        ("calibration_levels: [0]", "4: calibration_levels.0: 0 is not between 0 and 1"),
        (
            "calibration_levels: [0.5, 0.125]",
            "4: calibration_levels.1: 0.125 is not a whole multiple of 0.01",
        ),
        (
            "calibration_levels: [1e-13]",
            "4: calibration_levels.0: 1e-13 is not a whole multiple of 0.01",
        ),
        (
            "calibration_levels: [0.9999999999999]",
            "4: calibration_levels.0: 0.9999999999999 is not a whole multiple of 0.01",
        ),
        ("calibration_weights: count", "4: calibration_weights: 'count' is not known; did you mean 'counts'?"),
        ("bins: {exact: perhaps}", "4: bins.exact: 'perhaps' is neither true nor false"),
        ("bins: [equal-width]", "4: bins.0: needs a mapping of keys and values, not 'equal-width'"),
        (
            "bins: [{count: 4}]",
            (
                "4: bins.0: missing key 'scheme': rule of the edges: equal-width, equal-count, equal-split, log-width "
                "or edges"
            ),
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
    ("weights", "fault"),
    [
        ("areas", "'areas' is not known; did you mean 'area'?"),
        ("Area", "'Area' is not known; did you mean 'area'?"),
        ("/w.tif", "'w.tif' needs {tile} where the name of the tile stands"),
        ("'/{tile}/{band}.tif'", "'/{tile}/{band}.tif': the only placeholders are {tile}, {variable} and {time}"),
        ("''", "must not be empty"),
        ("[area]", "needs text, not a list"),
    ],
)
def test_faulty_weights_are_told_with_a_suggestion(tmp_path, weights, fault):
    text = SMALLEST.replace("data: {", f"data: {{weights: {weights}, ")
    assert faults(tmp_path, text) == [f"x.yaml:3: data.weights: {fault}"]


def test_gates_are_not_held_against_sections_that_are_faulty_themselves(tmp_path):
    more = "bins: []\nregions: {a: 1}\ngates: [{metric: uce, variable: A, region: b, bins: c, min: 0}]"
    assert [fault.split(":")[1] for fault in faults(tmp_path, SMALLEST + more)] == ["4", "5"]


@pytest.mark.parametrize(
    ("line", "places"),
    [
        ("mask: m.tif", "`data` or `variables`"),
        ("figures: none", "`output`"),
        ("negative: exclude", "`variance`"),
        ("units: m", "`variables`"),
    ],
)
def test_a_key_that_belongs_elsewhere_is_told_its_place(tmp_path, line, places):
    (fault,) = faults(tmp_path, f"{SMALLEST}{line}\n")

    assert fault.endswith(f": unknown key here; it belongs below {places}")
