"""JUnit files, annotations of services, and the JSON Schema of results.json."""

import json
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from geouq.pipeline.annotations import annotations, service_of
from geouq.pipeline.junit import Case, write_junit
from geouq.pipeline.results_schema import results_schema

SHORT = "variables: [height]\noutput: {maps: none, figures: none}\n"
GATES = (
    SHORT
    + "gates:\n- {metric: coverage_90, variable: height, min: 0.999}\n"
    + "- {metric: rmse, variable: height, max: 1000}\n"
)


def junit_of(path):
    """Names and outcomes of the tests in a JUnit file, and its counts."""
    root = ET.parse(path).getroot()  # noqa: S314  the program wrote it
    found = {case.get("name"): [own.tag for own in case] for case in root.iter("testcase")}
    return found, {key: int(root.get(key)) for key in ("tests", "failures", "errors")}


def test_each_bound_of_a_gate_is_a_test_in_the_junit_file(tile_folder, geouq, tmp_path):
    done = geouq("run", tile_folder(text=GATES), "--quiet", "--junit", "junit.xml")

    assert done.exit_code == 1
    found, counts = junit_of(tmp_path / "junit.xml")
    assert found == {
        "coverage_90 of height in all >= 0.999": ["failure"],
        "rmse of height in all <= 1000": [],
        "all tiles and items are evaluated": [],
    }
    assert counts == {"tests": 3, "failures": 1, "errors": 0}


def test_a_tile_that_failed_is_an_error_in_the_junit_file(tile_folder, geouq, tmp_path):
    config = tile_folder(text=SHORT)
    broken = next(tmp_path.rglob("a1_mean.tif"))
    broken.write_bytes(broken.read_bytes()[:600])
    done = geouq("run", config, "--quiet", "--junit", "junit.xml")

    assert done.exit_code == 3
    found, counts = junit_of(tmp_path / "junit.xml")
    assert found == {"tile a1": ["error"]}
    assert counts == {"tests": 1, "failures": 0, "errors": 1}


def test_a_check_writes_problems_as_failures(tile_folder, geouq, tmp_path):
    config = tile_folder(text=SHORT)
    assert geouq("check", config, "--junit", "good.xml").exit_code == 0
    next(tmp_path.rglob("a1.tif")).write_bytes(b"no raster")
    assert geouq("check", config, "--junit", "bad.xml").exit_code == 3

    assert junit_of(tmp_path / "good.xml") == (
        {"all tiles can be evaluated": []},
        {"tests": 1, "failures": 0, "errors": 0},
    )
    assert junit_of(tmp_path / "bad.xml")[1]["failures"] == 1


def test_a_junit_file_has_no_character_that_xml_forbids_and_no_credentials(tmp_path):
    write_junit([("a\x00b", [Case("<&\x1b", "https://me:secret@host/a.tif is \ud800 gone")])], tmp_path / "x.xml")
    text = (tmp_path / "x.xml").read_text(encoding="utf-8")

    (case,) = ET.fromstring(text).iter("testcase")  # noqa: S314  the program wrote it
    assert (case.get("classname"), case.get("name")) == ("a?b", "<&?")
    assert "secret" not in text


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (
            {"GITHUB_ACTIONS": "true"},
            "::error title=geouq,file=small.yaml::coverage_90 of height in all >= 0.999: coverage_90 is ",
        ),
        (
            {"TF_BUILD": "True"},
            "##vso[task.logissue type=error;sourcepath=small.yaml;]coverage_90 of height in all >= 0.999: ",
        ),
        (
            {"TEAMCITY_VERSION": "2025.1"},
            "##teamcity[buildProblem description='small.yaml: coverage_90 of height in all >= 0.999: ",
        ),
    ],
)
def test_services_are_told_of_gates_that_fail(tile_folder, geouq, monkeypatch, variables, expected):
    config = tile_folder(text=GATES).rename("small.yaml")
    quiet = geouq("run", config.name, "--quiet").output
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    told = geouq("run", config.name, "--quiet").output

    (line,) = set(told.splitlines()) - set(quiet.splitlines())
    assert line.startswith(expected)
    assert geouq("run", config.name, "--quiet", "--annotate", "none").output == quiet


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ("github", "::error title=geouq,file=C%3A/a%2Cb.yaml::x: 5 %25%0Aof [b]; it's"),
        ("azure", "##vso[task.logissue type=error;sourcepath=C:/a,b.yaml;]x: 5 %AZP25%0Aof [b%5D%3B it's"),
        ("teamcity", "##teamcity[buildProblem description='C:/a,b.yaml: x: 5 %|nof |[b|]; it|'s']"),
    ],
)
def test_annotations_are_one_line_each_and_escaped_as_the_service_documents(service, expected):
    assert list(annotations(service, "C:/a,b.yaml", [Case("x", "5 %\nof [b]; it's"), Case("passed")])) == [expected]


def test_no_service_means_no_annotation():
    assert service_of({"PATH": "/bin", "GITHUB_ACTIONS": "false"}) == ""
    assert list(annotations("", "a.yaml", [Case("x", "failed")])) == []


@pytest.mark.parametrize(
    "text",
    [
        GATES + "regions: {west: [a1, a2]}\n",
        "gates: [{metric: ence, variable: height, bins: equal-count-10, max: 9, on: interval}]\n" + SHORT,
    ],
)
def test_results_agree_with_the_schema_that_is_printed(tile_folder, geouq, tmp_path, text):
    assert geouq("run", tile_folder(text=text), "--quiet").exit_code in (0, 1)
    printed = json.loads(geouq("schema", "--results").output)
    results = json.loads((tmp_path / "results/small/results.json").read_text(encoding="utf-8"))

    assert printed == results_schema()
    jsonschema.Draft202012Validator.check_schema(printed)
    jsonschema.Draft202012Validator(printed).validate(results)
    assert results["gates"]
    assert results["numbers"]
    assert results["verdicts"]


def test_failures_agree_with_the_schema(tile_folder, geouq, tmp_path):
    config = tile_folder(text=SHORT)
    broken = next(tmp_path.rglob("a1_mean.tif"))
    broken.write_bytes(broken.read_bytes()[:600])
    geouq("run", config, "--quiet")
    results = json.loads((tmp_path / "results/small/results.json").read_text(encoding="utf-8"))

    assert len(results["failures"]) == 1
    jsonschema.Draft202012Validator(results_schema()).validate(results)


@pytest.mark.parametrize("change", [{"success": "yes"}, {"more": 1}, {"numbers": [{"value": "0.9"}]}])
def test_the_schema_refuses_what_a_run_does_not_write(tile_folder, geouq, tmp_path, change):
    geouq("run", tile_folder(text=SHORT), "--quiet")
    results = json.loads((tmp_path / "results/small/results.json").read_text(encoding="utf-8"))

    assert not jsonschema.Draft202012Validator(results_schema()).is_valid(results | change)
