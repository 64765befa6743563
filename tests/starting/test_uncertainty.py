"""A layer that is only called uncertainty is an explicit guess: a comment asks, and errors say what it may be."""

import published
import pytest
import yaml
from published import Z05, each, mean, std, truth

from geouq.starting import starter_config

QUESTION = "check that it is no variance, no half width of an interval and no share of the mean"


def started(folder, monkeypatch, uncertainty, *, name="{}_uncertainty.tif", with_truth=True):
    """Write a map whose uncertainty is something; its configuration as text and as data."""
    monkeypatch.chdir(folder)
    each(folder, "{}_mean.tif", mean)
    each(folder, name, uncertainty)
    if with_truth:
        each(folder, "truth/{}.tif", truth)
    text = starter_config(["."]).text
    return text, yaml.safe_load(text)["data"]


def comment_of(text, key):
    return next(line for line in text.splitlines() if line.strip().startswith(f"{key}:")).partition("# ")[2]


def test_a_std_stays_a_std_with_a_question_and_the_size_of_errors(tmp_path, monkeypatch):
    text, data = started(tmp_path, monkeypatch, std)

    assert data["std"] == "{tile}_uncertainty.tif"
    assert QUESTION in comment_of(text, "std")
    assert 0.9 < float(comment_of(text, "std").split("errors are ")[1].split()[0]) < 1.1


def test_the_question_is_printed_too(tmp_path, monkeypatch):
    started(tmp_path, monkeypatch, std)

    assert any(line.startswith("std ") and QUESTION in line for line in starter_config(["."]).said)


@pytest.mark.parametrize(
    ("uncertainty", "key", "units"),
    [
        (lambda own: own.std**2, "variance", None),
        (lambda own: own.std / own.mean, "relative_std", "1"),
        (lambda own: 3 + 0 * own.std, "std", None),
    ],
)
def test_the_errors_say_what_it_is_where_a_std_is_far_off(tmp_path, monkeypatch, uncertainty, key, units):
    text, data = started(tmp_path, monkeypatch, uncertainty)

    found = data[key]
    assert (found if isinstance(found, str) else found["path"]) == "{tile}_uncertainty.tif"
    assert units is None or found["units"] == units
    assert "only called uncertainty" in comment_of(text, key)


def test_half_widths_of_intervals_are_named_where_errors_are_small(tmp_path, monkeypatch):
    text, data = started(tmp_path, monkeypatch, lambda own: 1.96 * own.std)

    assert data["std"] == "{tile}_uncertainty.tif"
    assert "half widths of 95 % intervals are a std with scale: 0.51" in comment_of(text, "std")


def test_without_a_truth_the_question_is_asked(tmp_path, monkeypatch):
    text, _ = started(tmp_path, monkeypatch, lambda own: Z05 * own.std, with_truth=False)

    assert comment_of(text, "std").endswith(QUESTION)


def test_bands_with_that_name_are_questioned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    published.bathymetry(tmp_path)

    assert QUESTION in comment_of(starter_config(["UTM19", "sonar"]).text, "std")


@pytest.mark.parametrize("name", ["{}_uncertainty_sd.tif", "uncertainty/{}_std.tif"])
def test_a_word_for_a_certain_measure_leaves_no_question(tmp_path, monkeypatch, name):
    text, _ = started(tmp_path, monkeypatch, std, name=name)

    assert QUESTION not in text
