"""The shipped configurations load, and those of the sample data pass `geouq check`."""

import re
import shutil
from pathlib import Path

import pytest

from geouq.config import load_experiment, to_yaml

FOLDER = Path(__file__).parents[2] / "configs"
CONFIGS = sorted(FOLDER.glob("*.yaml"))
OF_SAMPLES = [config for config in CONFIGS if config.name.startswith("samples")]
NEEDS_POLYGONS = {"samples_regions.yaml"}
SHOWN = {
    "samples_models.yaml": ("models",),
    "samples_splits.yaml": ("splits",),
    "samples_regions.yaml": ("regions",),
    "samples_gates.yaml": ("gates",),
    "samples_intervals.yaml": ("intervals",),
}


def test_all_shipped_configurations_load_and_name_folders_of_their_own(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "configs")
    (tmp_path / "configs/stats.yaml").write_text("labels_mean: [9, 5, 30, 0.4, 60]\n")

    experiments = [load_experiment(tmp_path / "configs" / config.name) for config in CONFIGS]
    for experiment in experiments:
        again = tmp_path / "again.yaml"
        again.write_text(to_yaml(experiment), encoding="utf-8")
        assert load_experiment(again) == experiment

    names = [experiment.name for experiment in experiments]
    assert len({*names}) == len(CONFIGS) > len(OF_SAMPLES) > len(SHOWN)


@pytest.mark.parametrize("config", OF_SAMPLES, ids=lambda config: config.name)
def test_a_configuration_of_the_samples_can_be_run(config, geouq):
    if config.name in NEEDS_POLYGONS:
        pytest.importorskip("pyogrio")

    done = geouq("check", config)

    assert done.exit_code == 0
    assert re.search(r"tiles +9\b", done.stdout)
    assert "problem" not in done.stderr


@pytest.mark.parametrize(("name", "keys"), SHOWN.items())
def test_an_example_shows_what_it_is_about(name, keys):
    plain, experiment = load_experiment(FOLDER / "samples.yaml"), load_experiment(FOLDER / name)

    assert all(getattr(experiment, key) != getattr(plain, key) for key in keys)


def test_regions_of_every_kind_are_shown():
    kinds = {type(region).__name__ for region in load_experiment(FOLDER / "samples_regions.yaml").regions.values()}

    assert kinds == {"tuple", "PolygonRegions", "ClassRegions", "DerivedRegion"}


def test_all_configurations_are_listed():
    listed = re.findall(r"^- `([\w.]+)`", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert sorted(listed) == [config.name for config in CONFIGS]
