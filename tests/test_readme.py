"""What the README says is so."""

import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import geouq
from geouq.cli import main
from geouq.config import load_experiment
from geouq.metrics import metrics_of
from geouq.metrics.record import as_markdown

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_metrics_is_that_of_the_records():
    _, _, rest = README.partition("<!-- metrics: generated from geouq.metrics.record -->\n")

    assert rest.partition("<!-- end of metrics -->")[0] == as_markdown(metrics_of(None))


def test_the_configuration_loads(tmp_path):
    text, *_ = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")

    experiment = load_experiment(tmp_path / "a.yaml")

    assert experiment.name == "amazon-biomass"
    assert yaml.safe_load(text)["levels"] == list(experiment.levels)


def test_the_configuration_of_several_models_loads(tmp_path):
    (text,) = (text for text in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL) if text.startswith("models:"))
    (tmp_path / "a.yaml").write_text(f"version: 1\nname: a\n{text}", encoding="utf-8")

    assert list(load_experiment(tmp_path / "a.yaml").predictions) == ["baseline", "ensemble"]


@pytest.mark.parametrize("command", sorted(main.commands))
def test_every_command_is_documented_and_has_help(command):
    assert f"`geouq {command}" in README
    result = CliRunner().invoke(main, [command, "--help"])
    assert result.exit_code == 0
    for option in re.findall(r"--[a-z]+", result.output):
        assert option in README or option == "--help"


def test_every_public_name_is_there():
    for name in set(geouq.__all__) - {"__version__"}:
        assert getattr(geouq, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = geouq.nothing


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
