"""Files for package indexes, conda, containers and hosts of repositories agree with the package."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import geouq

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONDA = {"dask": "dask-core", "isal": "python-isal", "matplotlib": "matplotlib-base"}
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def yaml_of(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def as_conda(requirements):
    """Requirements in the names of conda; those of some Pythons only are left to its solver."""
    found = (re.match(r"([\w-]+)(?:\[\w+\])?(.*)", each).groups() for each in requirements if ";" not in each)
    return {f"{CONDA.get(name, name)} {bound}" for name, bound in found}


def extras():
    optional = PROJECT["project"]["optional-dependencies"]
    return as_conda(each for name, listed in optional.items() if name != "all" for each in listed)


def required():
    return as_conda(PROJECT["project"]["dependencies"])


def test_the_environment_of_conda_has_all_dependencies_and_extras():
    listed = set(yaml_of("environment.yml")["dependencies"])

    assert listed == {f"python {PROJECT['project']['requires-python']}", "pip"} | required() | extras()


def test_the_recipe_of_conda_has_the_dependencies_extras_and_version():
    recipe = yaml_of("recipe/recipe.yaml")
    built_with = {re.sub(r"(?=>)", " ", each) for each in PROJECT["build-system"]["requires"]}

    assert recipe["context"]["version"] == geouq.__version__
    assert set(recipe["requirements"]["run"]) == {"python >=3.11"} | required()
    assert set(recipe["requirements"]["run_constraints"]) == extras()
    assert built_with <= set(recipe["requirements"]["host"])
    assert recipe["build"]["python"]["entry_points"] == ["geouq = geouq.__main__:main"]


def test_citation_and_codemeta_name_this_version_and_licence():
    citation, metadata = yaml_of("CITATION.cff"), json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    project = PROJECT["project"]

    assert citation["version"] == metadata["version"] == geouq.__version__
    assert citation["license"] == project["license"]
    assert metadata["license"].endswith(project["license"])
    assert sorted(citation["keywords"]) == sorted(metadata["keywords"]) == project["keywords"]
    assert metadata["description"] == project["description"]
    assert citation["authors"][0]["name"] == metadata["author"][0]["name"] == project["authors"][0]["name"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_scripts_and_tests_that_exist(path):
    for name in re.findall(r"\./(scripts/\w+)|(tests/[\w/.]+)", path.read_text(encoding="utf-8")):
        if "".join(name) != "scripts/docs":
            assert (ROOT / "".join(name)).exists(), name


def test_all_supported_pythons_are_tested():
    classifiers = [re.search(r":: (3\.\d+)$", each) for each in PROJECT["project"]["classifiers"]]
    pythons = [match[1] for match in classifiers if match]
    jobs = yaml_of(".github/workflows/tests.yml")["jobs"]
    script = (ROOT / "scripts" / "versions").read_text(encoding="utf-8")

    assert jobs["test"]["strategy"]["matrix"]["python"] == jobs["versions"]["strategy"]["matrix"]["python"] == pythons
    assert f"PYTHONS=({' '.join(pythons)})" in script


def test_the_quick_tests_of_all_versions_exist():
    script = (ROOT / "scripts" / "versions").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^TESTS=\((.*?)\)", script, re.DOTALL | re.MULTILINE)

    assert [name for name in listed.split() if not (ROOT / name).exists()] == []


def test_nox_has_the_tasks_of_the_page_for_contributors():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tasks = re.findall(r'^    "(\w+)": "', (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE)

    assert set(tasks) == set(re.findall(r"\./scripts/(\w+)", page))


@pytest.fixture
def without_pythons(tmp_path):
    """Run scripts/versions where no Python is found and uv fetches none."""
    (tmp_path / "uv").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    (tmp_path / "uv").chmod(0o755)
    for tool in ("dirname", "mktemp", "rm"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    bash, script = shutil.which("bash"), ROOT / "scripts" / "versions"
    environment = os.environ | {"PATH": str(tmp_path), "PYENV_ROOT": str(tmp_path)}
    return lambda *named: subprocess.run(
        [bash, script, *named], env=environment, capture_output=True, text=True, check=False
    )


def test_a_named_python_that_is_not_found_fails_the_script_of_versions(without_pythons):
    done = without_pythons("3.14", "lowest")

    assert done.stdout == "Python 3.14: not found, and cannot be fetched\n"
    assert done.returncode == 1


def test_pythons_that_are_not_found_are_skipped_if_none_is_named(without_pythons):
    done = without_pythons("lowest")

    assert done.stdout.count(": not found, and cannot be fetched\n") == len(done.stdout.splitlines()) > 1
    assert done.returncode == 0


def readme_on_an_index():
    """The README as the build joins it from its fragments, with links to files turned into text."""
    hook = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = "".join(map(text_of, hook["fragments"]))
    for rule in hook["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    return text


def text_of(fragment):
    if "text" in fragment:
        return fragment["text"]
    text = (ROOT / fragment["path"]).read_text(encoding="utf-8")
    start = text.index(fragment["start-at"]) if "start-at" in fragment else 0
    return text[start : text.index(fragment["end-before"])]


def test_no_link_of_the_readme_on_an_index_points_to_a_file():
    text = readme_on_an_index()

    assert "## Which tool when" in text
    assert "All keys: masks" in text
    assert [link for link in re.findall(r"\]\((.*?)\)", text) if not link.startswith("https://")] == []


def test_the_readme_on_an_index_installs_from_it_and_needs_no_folder_of_the_repository():
    text = readme_on_an_index()
    commands = [line.partition("#")[0].split() for line in text.splitlines() if line.startswith("    ")]

    assert ["pip", "install", '"geouq[all]"'] in commands
    assert ["geouq", "init", "FOLDER", "--out", "my_map.yaml"] in commands
    assert ["geouq", "run", "my_map.yaml"] in commands
    assert [each for each in ("scripts/", "environment.yml", "'.[all]'", "podman", ".venv") if each in text] == []
    assert text.count("## Try it") == text.count("## A configuration") == text.count("## Documentation") == 1
