"""What the README and the pages of docs say is so."""

import re
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

import geouq
from geouq.cli import main
from geouq.config import load_experiment

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
REFERENCE = ROOT / "docs" / "reference"
COMMANDS = (REFERENCE / "commands.md").read_text(encoding="utf-8")
PAGES = sorted([README, *(ROOT / "docs").rglob("*.md")])


def examples(path, of):
    """The blocks of a page that are marked as yaml and hold a text."""
    return [
        text for text in re.findall(r"```yaml\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL) if of in text
    ]


def test_the_readme_is_short():
    assert README.read_text(encoding="utf-8").count("\n") <= 150


@pytest.mark.parametrize("page", [README, REFERENCE / "configuration.md"], ids=lambda page: page.stem)
def test_the_configuration_loads(page, tmp_path):
    (text,) = examples(page, "name: amazon-biomass")
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")

    experiment = load_experiment(tmp_path / "a.yaml")

    assert experiment.name == "amazon-biomass"
    assert yaml.safe_load(text)["levels"] == list(experiment.levels)


def test_the_configuration_of_several_models_loads(tmp_path):
    (text,) = examples(ROOT / "docs" / "how-to" / "compare.md", "models:")
    (tmp_path / "a.yaml").write_text(f"version: 1\nname: a\n{text}", encoding="utf-8")

    assert list(load_experiment(tmp_path / "a.yaml").predictions) == ["baseline", "ensemble"]


@pytest.mark.parametrize("command", sorted(main.commands))
def test_every_command_is_documented_and_has_help(command):
    assert f"\n## geouq {command}\n" in COMMANDS
    result = CliRunner().invoke(main, [command, "--help"])
    assert result.exit_code == 0
    assert {option for option in re.findall(r"--[a-z-]+", result.output) if option not in COMMANDS} <= {"--help"}
    assert all(option.help for option in main.commands[command].params if isinstance(option, click.Option))


def test_every_public_name_is_there():
    for name in set(geouq.__all__) - {"__version__"}:
        assert getattr(geouq, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = geouq.nothing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    assert [
        target for target in targets if not target.startswith("https://") and not (page.parent / target).exists()
    ] == []


def test_every_page_can_be_reached_from_the_readme():
    found, waiting = set(), [README]
    while waiting:
        page = waiting.pop()
        found.add(page)
        targets = re.findall(r"\]\(([^)#]+\.md)\)", page.read_text(encoding="utf-8"))
        linked = {(page.parent / target).resolve() for target in targets if not target.startswith("https://")}
        waiting += linked - found - set(waiting)
    assert set(PAGES) <= found
