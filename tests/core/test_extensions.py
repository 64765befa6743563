"""Modules of other packages are imported before a configuration is read."""

import os
import subprocess
import sys

import pytest

STATISTIC = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from geouq.metrics.record import metric
from geouq.summary.pixel_statistic import PixelStatistic


@dataclass(frozen=True)
class Cubes(PixelStatistic):
    sums: np.ndarray
    name: ClassVar[str] = "cubes"

    @classmethod
    def of_pixels(cls, pixels, cells):
        return cls(np.bincount(pixels.cell, pixels.weight * np.abs(pixels.mean - pixels.truth) ** 3, cells))


@metric("mean of |error|^3", unit="1", ideal="none", above="over-confident", source="a test")
def mean_cube(summary):
    """Mean of the cubes of the sizes of errors; unit 1."""
    return summary["cubes"].sums / summary.moments.weight
'''


@pytest.fixture
def with_extension(tmp_path, tile_folder):
    """Run an experiment where a package is installed whose module holds this text."""

    def run(text):
        packages, info = tmp_path / "packages", tmp_path / "packages" / "cubes-1.0.dist-info"
        info.mkdir(parents=True)
        (packages / "cubes.py").write_text(text)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: cubes\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[geouq]\ncubes = cubes\n")
        config = tile_folder(("a1",), text="variables: [height]\noutput: {maps: none, figures: none}\n")
        paths = os.pathsep.join([str(packages), *sys.path])
        return subprocess.run(
            [sys.executable, "-m", "geouq", "run", str(config)], env=os.environ | {"PYTHONPATH": paths},
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip

    return run


def test_the_command_line_finds_a_metric_and_its_statistic(with_extension, tmp_path):
    done = with_extension(STATISTIC)

    assert done.returncode == 0, done.stderr
    assert ",mean_cube," in next(tmp_path.rglob("metrics.csv")).read_text()


def test_an_extension_that_cannot_be_imported_is_named(with_extension):
    done = with_extension("import nowhere_at_all\n")

    assert done.returncode == 2
    assert "the extension cubes = cubes cannot be imported (ModuleNotFoundError: No module named" in done.stderr
    assert "Traceback" not in done.stderr
