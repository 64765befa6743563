"""The text of a configuration: strict YAML, in which names stay what was written."""

import subprocess
import sys

import pytest
import yaml
from configurations import faults, loaded, written
from hypothesis import given, settings
from hypothesis import strategies as st

from geouq.config import Experiment, load_experiment
from geouq.core.errors import ConfigError


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


def test_a_yaml_bomb_is_refused(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    (fault,) = faults(tmp_path, "\n".join(lines))
    assert "more than 100000 values" in fault


def test_aliases_of_a_long_text_are_refused_before_they_are_looked_through(tmp_path):
    """A megabyte named a hundred thousand times would be read for hours."""
    lines = [f"a0: &a0 {'x' * 1_000_000}"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 6)]
    (fault,) = faults(tmp_path, "\n".join(lines))
    assert "aliases expand to more than 2000000 characters" in fault


def test_more_values_than_a_configuration_has_are_not_all_composed(tmp_path, monkeypatch):
    monkeypatch.setattr("geouq.config.yaml_text.MOST_VALUES", 100)
    (fault,) = faults(tmp_path, f"a: [{'x,' * 300}]")
    assert "not valid YAML: more than 100 values" in fault


def test_a_hint_is_found_in_time_that_grows_with_the_text_alone():
    """A pattern that looks from every line to the end of the file takes hours, which the time-out ends."""
    search = (
        "from geouq.config.yaml_text import OPEN_PLACEHOLDER; assert not OPEN_PLACEHOLDER.search('x\\n' * 1_000_000)"
    )
    subprocess.run([sys.executable, "-c", search], check=True, timeout=600)


def test_a_file_too_large_for_a_configuration_is_refused(tmp_path):
    assert faults(tmp_path, b"#" * 2_000_001) == ["x.yaml:1: is larger than 2 MB: not a configuration"]


def test_names_stay_the_text_that_was_written(tmp_path):
    experiment = loaded(tmp_path, "tiles: [0346, 1e3, no, 2024-01-01, 0x1F, '~', 1_000]\nregions: {346: [no]}")
    assert experiment.tiles == ("0346", "1e3", "no", "2024-01-01", "0x1F", "~", "1_000")
    assert experiment.regions == {"346": ("no",)}


def test_aliases_stand_for_what_they_name(tmp_path):
    experiment = loaded(tmp_path, "regions: {west: &west [a, b], again: *west}")
    assert experiment.regions["again"] == ("a", "b")


def test_a_null_is_a_key_not_written(tmp_path):
    assert loaded(tmp_path, "regions:\nbins: ~\nlevels: null\nvariables:\ntiles:") == loaded(tmp_path)


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
