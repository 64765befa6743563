"""Shared fixtures: rasters, folders of tiles, and tiles that are swept already."""

import io
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

import hypothesis
import landscape
import numpy as np
import pytest
import two_models
from click.testing import CliRunner
from elsewhere import COUNTING, S3, serving_elsewhere
from matplotlib.figure import Figure

from geouq.cli import main
from geouq.config import Experiment, load_experiment
from geouq.pipeline.annotations import SERVICES
from geouq.rasters.catalog import Catalog, find_tiles
from geouq.sweep.settings import Settings
from geouq.sweep.tiles import sweep_tiles

SAVE = Figure.savefig
RENDERED = ("drawing", "figures", "pages")  # rooms of tests that look at pictures

# Each program that a test starts would otherwise compile all of geouq from source, which takes longer than most runs.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# No example fails because a machine is busy. On a server the examples are the same each time, so that a change is
# judged by what it changes.
hypothesis.settings.register_profile(
    "any speed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile(
    "ci", hypothesis.settings.get_profile("any speed"), derandomize=True, print_blob=True
)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "any speed")


@pytest.fixture(autouse=True)
def nothing_is_lost(request, monkeypatch):
    """Raise what a run would record as a missing item, so that no test passes without it; `loses_items` allows it."""
    if "loses_items" in request.keywords:
        return

    def raised(_, error):
        raise error

    monkeypatch.setattr("geouq.core.failures.record", raised)


@pytest.fixture(scope="session", autouse=True)
def _no_wait_for_the_disk():
    """Write without waiting for the disk: no test cuts the power. Programs of their own do wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(autouse=True)
def rendering(request, monkeypatch):
    """Return whether matplotlib lays out and rasterises the figures of this test.

    That takes most of the time of a run. Where pictures are not what a test is about, figures are composed as ever, and
    an empty one is written for each.
    """
    if request.path.parent.name in RENDERED or "renders" in request.keywords:
        return True

    def saved_empty(_, target, *, format, **_options):  # noqa: A002  the name that matplotlib gives it
        Path(target).write_bytes(empty_figure(format))

    monkeypatch.setattr(Figure, "savefig", saved_empty)
    return False


@cache
def empty_figure(kind):
    """A figure of nothing as PNG, PDF or SVG."""
    target = io.BytesIO()
    SAVE(Figure((1, 1)), target, format=kind)
    return target.getvalue()


@pytest.fixture
def write_raster():
    """Write a GeoTIFF: bands (bands, rows, columns), and whatever of the header a test is about."""
    return landscape.write_raster


@pytest.fixture
def tile_folder(tmp_path, monkeypatch):
    """A folder with predictions and truth of some tiles side by side, three bands each, and a configuration."""
    monkeypatch.chdir(tmp_path)  # results of tests that run at the same time have the same name
    return partial(landscape.write_tiles, tmp_path)


@pytest.fixture
def models_folder(tmp_path):
    """A folder with a tile of two models; gives its layers as arrays."""
    return partial(two_models.write_models, tmp_path)


@pytest.fixture
def geouq(tmp_path, monkeypatch):
    """Run a command in the test's folder; a traceback is never an answer."""
    monkeypatch.chdir(tmp_path)
    for variable, _ in SERVICES.values():  # of continuous integration, for which commands print more
        monkeypatch.delenv(variable, raising=False)

    def run(*arguments):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        assert "Traceback" not in result.output, result.output
        return result

    return run


@pytest.fixture(scope="session")
def made_by_rendering():
    return {True: {}, False: {}}


@pytest.fixture
def made(made_by_rendering, rendering):
    """Folders of what was made already, by what was asked for, as most tests ask for the same."""
    return made_by_rendering[rendering]


@pytest.fixture
def runs(tmp_path, tmp_path_factory, monkeypatch, made):
    """The runs `small` and others of the same truth, in a copy of their landscape; their folders."""
    monkeypatch.chdir(tmp_path)

    def make(*, text=landscape.SHORT + landscape.REGIONS, **others):
        if text not in made:
            made[text] = landscape.landscape_of(text, tmp_path_factory.mktemp("landscape"))
        shutil.copytree(made[text], tmp_path, dirs_exist_ok=True)
        for name, more in others.items():
            config = tmp_path / f"{name}.yaml"
            config.write_text(f"extends: experiment.yaml\nname: {name}\n{more}", encoding="utf-8")
            asked = (text, name, more)
            if asked not in made:
                made[asked] = landscape.evaluate(config, tmp_path_factory.mktemp("run"))
            shutil.copytree(made[asked], tmp_path / "results" / name)
        return [tmp_path / "results" / name for name in ("small", *others)]

    return make


@pytest.fixture
def sweep_one():
    """Sweep the tiles of a configuration, an experiment or a catalog: summaries and failures, by tile."""

    def sweep(source, **settings):
        experiment = load_experiment(source) if isinstance(source, Path) else source
        catalog = experiment if isinstance(experiment, Catalog) else find_tiles(experiment)
        levels = experiment.levels if isinstance(experiment, Experiment) else (0.5, 0.9)
        wanted = Settings(**{"levels": levels, "cell_size": 16} | settings)
        with ThreadPoolExecutor(2) as pool:
            return {outcome.tile: outcome for outcome in sweep_tiles(catalog.tiles, wanted, pool, 4)}

    return sweep


@pytest.fixture
def swept_tile(tile_folder, sweep_one):
    """The summary of one small tile of three variables."""
    return sweep_one(tile_folder(("a1",)))["a1"]


@pytest.fixture(scope="session")
def interval_demo():
    """A regression with noise that grows from left to right: mean, std and truth of two forecasts of it."""
    np.random.seed(0)  # noqa: NPY002  the published demo draws so
    x = np.linspace(0, 1, 200)
    mean, noise = np.sin(2 * np.pi * x), 0.5 * x
    truth = mean + np.random.normal(0, noise)  # noqa: NPY002
    halves = {"constant": np.full(200, 0.9593951783666362 / 2), "adaptive": 1.645 * noise}
    return {kind: (mean, np.maximum(half / 1.6448536269514722, 1e-6), truth) for kind, half in halves.items()}


@pytest.fixture
def tail_alone(monkeypatch):
    """Keep the pixels of the tail alone, as of more pixels than are all kept."""
    for module in ("sweep.group_sums", "sweep.accumulate", "summary.variance_profile"):
        monkeypatch.setattr(f"geouq.{module}.FEW", 0)


@pytest.fixture
def asked(tmp_path):
    """A file of the requests that the store answers."""
    return tmp_path / "asked"


@pytest.fixture
def bucket(monkeypatch, asked):
    """A bucket of a store that the environment names as other programs read it."""
    boto3 = pytest.importorskip("boto3")
    with serving_elsewhere(COUNTING + S3, asked) as endpoint:
        names = {"DEFAULT_REGION": "us-east-1", "ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b"}
        for name, value in (names | {"ENDPOINT_URL": f"http://{endpoint}"}).items():
            monkeypatch.setenv(f"AWS_{name}", value)
        client = boto3.client("s3")
        client.create_bucket(Bucket="bucket")
        yield client
